"""Several servers in one process, for tests of programs (TF: tf.test.create_local_cluster)."""

from __future__ import annotations

from typing import Any

from penstock.cluster.server import Server
from penstock.cluster.spec import LOOPBACK
from penstock.export import export


@export("test.create_local_cluster")
def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> tuple[list[Server], list[Server]]:
    """Servers of the jobs "worker" and "ps" at free ports, all in this process: `(workers, ps)`.

    worker_config, ps_config: ConfigProtos, for their devices. They have no state in common but what sessions on them
    share. `server.close()` ends one, `Server(server.server_def)` starts it again.
    """
    servers = make_servers({"worker": num_workers, "ps": num_ps}, protocol, {"worker": worker_config, "ps": ps_config})
    return servers["worker"], servers["ps"]


def make_servers(jobs: dict[str, int], protocol: str = "grpc", configs: Any = None) -> dict[str, list[Server]]:
    """Servers of one cluster, by job, with `configs[job]`."""
    spec = {job: [f"{LOOPBACK}:0"] * count for job, count in jobs.items() if count}
    servers = {
        job: [Server(spec, job, index, protocol, (configs or {}).get(job), start=False) for index in range(count)]
        for job, count in jobs.items()
    }
    every = [server for group in servers.values() for server in group]
    addresses = {server.members.task: server.members.address(server.members.task) for server in every}
    for server in every:
        server.members.update(addresses)
        server.start()
    return servers
