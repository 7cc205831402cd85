"""Where sessions' targets lead: `grpc://host:port`, and `penstock://NAME` for a cluster started by name, or
`penstock://NAME/job:worker/task:1` for a task of it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock import errors
from penstock.cluster.spec import full_name, host_and_port
from penstock.cluster.token import token_for

_BY_NAME = "penstock://"


@dataclass(frozen=True)
class Destination:
    """`address` ("host:port") of the task that a session connects to; the `token` of its cluster, whose `cluster_id` is
    the `spec` of its members' identities ("" where the user wrote the addresses)."""

    address: str
    token: bytes
    cluster_id: str = ""


def is_remote(target: str) -> bool:
    return target.startswith(("grpc://", _BY_NAME))


def resolve(target: str) -> Destination:
    """Raises NotFoundError for a cluster that does not run, and InvalidArgumentError for what is no target."""
    if target.startswith(_BY_NAME):
        return _named(target.removeprefix(_BY_NAME))
    if not target.startswith("grpc://"):
        raise errors.InvalidArgumentError(
            None, None, f"A target is '', 'inproc://NAME', 'grpc://host:port' or 'penstock://CLUSTER', not {target!r}."
        )
    host, port = host_and_port(target)
    address = f"{host}:{port}"
    return Destination(address, token_for([address]))


def _named(path: str) -> Destination:
    from penstock.cluster.launch.control import Control

    name, _, task = path.partition("/")
    with Control.of(name) as control:
        try:
            status = control.ask("status")
        except errors.UnavailableError as error:  # it will not be there again, so that nobody should try again
            raise errors.FailedPreconditionError(None, None, error.message) from None
    wanted = full_name(task) if task else status["leader"]
    for found in status["tasks"]:
        if found["task"] == wanted:
            if not found["address"]:
                raise errors.UnavailableError(None, None, f"{wanted} of cluster {name!r} is {found['state']}.")
            return Destination(found["address"], bytes.fromhex(status["token"]), status["cluster_id"])
    known = ", ".join(found["task"] for found in status["tasks"])
    raise errors.NotFoundError(None, None, f"{wanted} is not a task of cluster {name!r}. It has {known}.")
