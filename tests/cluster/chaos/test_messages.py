"""Single messages between client and tasks that are lost, late, or come twice."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest

import penstock as tf
from penstock import errors
from penstock.cluster.master import tasks
from penstock.cluster.wire import Endpoint, Identity, WireOptions
from penstock.cluster.wire.faults import Fault, Sending
from penstock.cluster.wire.identity import new_incarnation
from tests.anywhere import alarm as alarm
from tests.cluster.servers import outside as outside, running

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"

Injected = dict[str, Fault]
"""By "kind method" of what the client sends to a parameter server, or "kind method task"; each once."""


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def injected(monkeypatch: pytest.MonkeyPatch, outside: None) -> Iterator[Injected]:
    faults: Injected = {}

    def fault(sending: Sending) -> Fault | None:
        keys = f"{sending.kind} {sending.method}", f"{sending.kind} {sending.method} {sending.to.task}"
        return next((faults.pop(key) for key in keys if key in faults), None) if "ps" in sending.to.task else None

    made: list[Endpoint] = []

    def endpoint(token: bytes, cluster_id: str) -> Endpoint:
        identity = Identity("client", new_incarnation(), spec=cluster_id)
        made.append(Endpoint(identity, token, {}, WireOptions(faults=fault)))
        return made[-1]

    monkeypatch.setattr(tasks, "client_endpoint", endpoint)
    yield faults
    for each in made:
        each.close()


@pytest.fixture
def target(injected: Injected) -> Iterator[str]:
    with running(worker=1, ps=1) as servers:
        yield servers["worker:0"].target


def _counter() -> tuple[Any, Any, Any]:
    with tf.device(PS):
        count = tf.get_variable("count", initializer=0)
        add = count.assign_add(1)
    with tf.device(WORKER):
        return count, add, tf.identity(add) * 10


WITHIN = tf.RunOptions(timeout_in_ms=300)


def test_a_step_that_is_asked_for_twice_runs_once(target: str, injected: Injected) -> None:
    count, add, _ = _counter()
    with tf.Session(target) as session:
        session.run([count.initializer])
        session.run(add)
        injected["call run"] = Fault(times=2)
        with contextlib.suppress(errors.AbortedError):  # the second may be faster to say that it does not run
            session.run(add)
        time.sleep(0.1)
        assert session.run(count) == 2


def test_a_step_that_is_asked_for_after_its_end_does_not_run(target: str, injected: Injected) -> None:
    count, _, tens = _counter()
    with tf.Session(target) as session:
        session.run([count.initializer])
        session.run(tens)
        injected["call run"] = Fault(delay_s=0.8)
        with pytest.raises(errors.DeadlineExceededError):
            session.run(tens, options=WITHIN)
        time.sleep(1)
        assert session.run(count) == 1


def test_a_lost_step_ends_at_its_deadline(target: str, injected: Injected) -> None:
    count, _, tens = _counter()
    with tf.Session(target) as session:
        session.run([count.initializer])
        session.run(tens)
        injected["call run"] = Fault(times=0)
        began = time.monotonic()
        with pytest.raises(errors.DeadlineExceededError):
            session.run(tens, options=WITHIN)
        assert time.monotonic() - began < 0.3 + 5
        assert session.run(tens) == 20


def test_a_runner_that_loses_a_task_leaves_its_queue_to_the_next_session(injected: Injected, outside: None) -> None:
    with tf.device("/job:ps/task:1"):
        count = tf.get_variable("count", initializer=0)
        add = count.assign_add(1)
    with tf.device(PS):
        queue = tf.FIFOQueue(1, [tf.int32], shapes=[[]], shared_name="counts")
        take = queue.dequeue()
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(add)]))
    with (
        running(worker=1, ps=2) as servers,
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=servers["worker:0"].target)) as session,
    ):
        assert [int(session.run(take)) for _ in range(3)] == [1, 2, 3]
        injected["call run /job:ps/replica:0/task:1"] = Fault(cut=True)
        found = [int(session.run(take)) for _ in range(6)]
        assert not injected
        assert 1 in found, "it began once more"


@pytest.mark.parametrize("method", ["describe", "open_session", "register"])
def test_a_session_whose_beginning_is_lost_ends_at_its_deadline(method: str, target: str, injected: Injected) -> None:
    count, _, _ = _counter()
    config = tf.ConfigProto(operation_timeout_in_ms=2000)
    injected[f"call {method}"] = Fault(times=0)
    began = time.monotonic()
    with pytest.raises(errors.DeadlineExceededError, match="/job:ps"), tf.Session(target, config=config) as session:
        session.run(count.initializer)
    assert time.monotonic() - began < 2 + 5
    with tf.Session(target) as session:
        session.run(count.initializer)
