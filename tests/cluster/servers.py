"""Clusters of servers in the tests' own process, over real sockets, with clients that are outside of them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping

import pytest

from penstock.cluster.master import tasks
from penstock.cluster.server import Server


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextlib.contextmanager
def running(**jobs: int) -> Iterator[dict[str, Server]]:
    """A server for each task, by "job:index"."""
    ports = iter(free_ports(sum(jobs.values())))
    spec: Mapping[str, list[str]] = {
        job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs.items()
    }
    servers = {f"{job}:{i}": Server(spec, job, i) for job, count in jobs.items() for i in range(count)}
    try:
        yield servers
    finally:
        for server in servers.values():
            server.close()


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of the test reach the servers of this process as if they were in others."""
    monkeypatch.setattr(tasks, "server_here", lambda target: None)
