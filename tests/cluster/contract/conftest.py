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


@pytest.fixture(scope="package")
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
def step_executor() -> str:
    """Which tests of control flow ask for."""
    return "auto"


@pytest.fixture
def in_cluster(sessions: str) -> bool:
    return sessions == "cluster"


__all__ = ["alarm", "anywhere", "in_cluster", "servers", "sessions", "tf"]


_NOT_IN_CLUSTERS = {
    "test_parts_run_on_several_devices": "asks for two devices of a task",
    "test_a_device_that_is_not_there_is_an_error_or_with_soft_placement_the_cpu": "asks for /job:localhost",
}


@pytest.fixture(autouse=True)
def _differs(request: pytest.FixtureRequest, sessions: str) -> None:
    if request.node.originalname == "test_a_reset_of_containers_empties_and_reopens_queues":
        pytest.skip("names its target, whose state the test before has left")
    why = _NOT_IN_CLUSTERS.get(request.node.originalname)
    if why is not None and sessions == "cluster":
        kinds = (tf.errors.UnimplementedError, tf.errors.InvalidArgumentError)
        request.applymarker(pytest.mark.xfail(reason=why, strict=True, raises=kinds))
