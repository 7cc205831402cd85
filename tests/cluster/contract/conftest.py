"""What every session must do, done by sessions on several devices and in a cluster of 2 workers and 2 parameter
servers: the modules here are those of local sessions once more, with other sessions.

Nodes are thrown on devices by dice, so that most edges are transfers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as tf
from penstock.cluster.master import tasks
from penstock.cluster.server import Server
from penstock.session.session import BaseSession
from tests.anywhere import Anywhere, alarm as alarm, anywhere as anywhere
from tests.cluster.servers import running


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, Server]]:
    with running(worker=2, ps=2) as found:
        yield found


@pytest.fixture(autouse=True, params=["devices", "cluster"])
def sessions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, anywhere: Anywhere) -> str:
    """Where the sessions of a test run that say nothing about it."""
    kind: str = request.param
    target = ""
    if kind == "cluster":
        target = request.getfixturevalue("servers")["worker:0"].target
        monkeypatch.setattr(tasks, "server_here", lambda target: None)
    made = BaseSession.__init__

    def make(self: BaseSession, given: str = "", graph: Any = None, config: Any = None) -> None:
        spread = anywhere.config(4)
        spread.isolate_session_state = True
        if config is not None:
            spread.MergeFrom(config)
        made(self, given or target, graph, config if given else spread)

    monkeypatch.setattr(BaseSession, "__init__", make)
    return kind


@pytest.fixture
def in_cluster(sessions: str) -> bool:
    return sessions == "cluster"


__all__ = ["alarm", "anywhere", "in_cluster", "servers", "sessions", "tf"]
