"""`Server`: a task of a cluster in this process, with its devices and state (TF: tf.train.Server)."""

from __future__ import annotations

import threading
from typing import Any, Self

from penstock import errors
from penstock.cluster.members import Members
from penstock.cluster.spec import LOOPBACK, ClusterSpec, ServerDef, host_and_port, task_name
from penstock.cluster.token import is_loopback, token_for
from penstock.cluster.wire.endpoint import Endpoint
from penstock.cluster.wire.identity import Identity, new_incarnation, quick_to_notice
from penstock.cluster.worker import Worker
from penstock.export import export
from penstock.runtime.at_exit import stop_at_exit
from penstock.version import PENSTOCK_VERSION

_here: dict[int, Server] = {}
"""The running servers of this process, by port. A program may drop a Server: it serves until the process ends."""

_EVERYWHERE = "0.0.0.0"


@export("train.Server")
class Server:
    """A task that runs its part of steps, and the target of sessions: `tf.Session(server.target)`.

    It listens from construction on, at its address in the cluster's ClusterSpec: on loopback only if all addresses are
    loopback ones; `start=False` makes others wait until `start()`. `job_name` and `task_index` may be left out if there
    is only one. `config` (a ConfigProto) sets the task's devices. TF: tf.train.Server.

    Raises InvalidArgumentError for a job or task that the cluster does not have, and AlreadyExistsError for a port in
    use.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
        *,
        cluster_id: str = "",
        token: bytes | None = None,
        dead_s: float = 10.0,
    ) -> None:
        """`cluster_id` keeps tasks of different clusters apart whose addresses are not fixed. Connections from which
        nothing came for `dead_s` seconds are lost."""
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        definition = self._server_def
        spec = ClusterSpec(definition.cluster)
        task = task_name(definition.job_name, definition.task_index)
        host, port = host_and_port(_address(spec, definition.job_name, definition.task_index))
        self.members = Members(spec, task)
        addresses = list(spec.addresses().values())
        self.token = token_for(addresses) if token is None else token
        self.identity = Identity(task, new_incarnation(), PENSTOCK_VERSION, cluster_id)
        self.worker = Worker(self.members, definition.default_session_config)
        self.endpoint = Endpoint(self.identity, self.token, self.worker.service(), quick_to_notice(dead_s))
        self.worker.endpoint = self.endpoint
        local = all(is_loopback(host_and_port(address)[0]) for address in addresses)
        self.port = self.endpoint.listen(LOOPBACK if local else _EVERYWHERE, port)
        self.members.update({task: f"{host}:{self.port}"})
        self._closed = threading.Event()
        _here[self.port] = self
        stop_at_exit(self)
        if start:
            self.start()

    def start(self) -> None:
        """Begin to serve."""
        self.worker.start()

    def join(self) -> None:
        """Wait until the server is closed: in most programs until the process is killed, or Ctrl-C."""
        while not self._closed.wait(3600):
            pass

    def close(self) -> None:
        """Stop serving: connections end, steps under way are aborted, and the state of this task is gone."""
        if not self._closed.is_set():
            _here.pop(self.port, None)
            self.endpoint.close()
            self.worker.close()
            self._closed.set()

    def stop_at_exit(self) -> None:
        """A program that has ended does not serve others any longer."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    @property
    def target(self) -> str:
        """What a session of this program connects to."""
        return f"grpc://localhost:{self.port}"

    @property
    def server_def(self) -> Any:
        """The ServerDef of this server, with the present addresses."""
        self._server_def.cluster.CopyFrom(self.members.spec.as_cluster_def())
        return self._server_def

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """A cluster of this process alone, at a free port (TF: tf.train.Server.create_local_server)."""
        return Server({"localhost": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def server_here(target: str) -> Server | None:
    """The server of this process that `target` ("grpc://host:port") names, by any name of this machine."""
    host, port = host_and_port(target)
    server = _here.get(port)
    if server is None or is_loopback(host):
        return server
    own = server.members.address(server.members.task)
    return server if host_and_port(own)[0] == host else None


def _server_def(given: Any, job: str | None, index: int | None, protocol: str | None, config: Any) -> Any:
    definition = ServerDef()
    if isinstance(given, ServerDef):
        definition.CopyFrom(given)
    else:
        try:
            spec = ClusterSpec(given)
        except TypeError as error:
            expected = f"a Server is made from a ServerDef, ClusterDef, ClusterSpec or dict: {error}"
            raise TypeError(expected) from None
        job = _only(spec.jobs, "job_name") if job is None else job
        index = _only(spec.task_indices(job), "task_index") if index is None else index
        definition.cluster.CopyFrom(spec.as_cluster_def())
        definition.protocol = "grpc"
    if job is not None:
        definition.job_name = job
    if index is not None:
        definition.task_index = index
    if protocol is not None:
        definition.protocol = protocol
    if not definition.protocol.startswith("grpc"):
        raise errors.NotFoundError(None, None, f"No server factory for protocol {definition.protocol!r}: use 'grpc'.")
    if config is not None:
        definition.default_session_config.MergeFrom(config)
    return definition


def _only(choices: list[Any], argument: str) -> Any:
    if len(choices) != 1:
        raise ValueError(f"Must specify an explicit `{argument}`: the cluster has {choices}.")
    return choices[0]


def _address(spec: ClusterSpec, job: str, index: int) -> str:
    try:
        return spec.task_address(job, index)
    except ValueError:
        known = ", ".join(spec.addresses()) or "no tasks"
        raise errors.InvalidArgumentError(
            None, None, f"{task_name(job, index)} was not defined in the cluster, which has {known}."
        ) from None
