"""Where sessions' targets lead: `grpc://host:port`, and `penstock://NAME` for a cluster started by name."""

from __future__ import annotations

from dataclasses import dataclass

from penstock import errors
from penstock.cluster.spec import host_and_port
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


def _named(name: str) -> Destination:
    from penstock.cluster.launch.control import Control

    with Control.of(name) as control:
        status = control.ask("status")
    leader = next(task for task in status["tasks"] if task["task"] == status["leader"])
    if not leader["address"]:
        raise errors.UnavailableError(None, None, f"{leader['task']} of cluster {name!r} is {leader['state']}.")
    return Destination(leader["address"], bytes.fromhex(status["token"]), status["cluster_id"])
