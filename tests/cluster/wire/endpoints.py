"""Endpoints for tests, closed at the test's end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping

from penstock.cluster.wire.endpoint import Endpoint
from penstock.cluster.wire.identity import Identity, WireOptions, new_incarnation
from penstock.cluster.wire.peer import Handler, Peer

WORKER = "/job:wired/replica:0/task:0"
PS = "/job:wired/replica:0/task:1"
"""Servers that other tests keep running have other names."""
TOKEN = b"a token of tests"
QUICK = WireOptions(ping_s=0.1, dead_s=0.5, connect_s=10.0, handshake_s=0.5)
"""Silent peers are noticed within half a second."""

ECHO = {
    "echo": Handler(lambda peer, *args: args),
    "echo inline": Handler(lambda peer, *args: args, inline=True),
}


def endpoint(
    task: str = "client",
    service: Mapping[str, Handler] = ECHO,
    options: WireOptions | None = None,
    token: bytes = TOKEN,
    spec: str = "",
) -> Endpoint:
    return Endpoint(Identity(task, new_incarnation(), spec=spec), token, service, options)


@contextlib.contextmanager
def two(
    service: Mapping[str, Handler] = ECHO,
    options: WireOptions | None = None,
    client_service: Mapping[str, Handler] = ECHO,
    client_options: WireOptions | None = None,
) -> Iterator[Peer]:
    """A worker with the service, and a client's connection to it."""
    with (
        endpoint(WORKER, service, options) as worker,
        endpoint("client", client_service, client_options or options) as client,
    ):
        yield client.peer(f"127.0.0.1:{worker.listen('127.0.0.1')}")


def in_thread(fn: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=fn, daemon=True)
    thread.start()
    return thread
