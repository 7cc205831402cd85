"""Plans are kept as long as memory allows, however many kinds of steps a program has."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as tf
from penstock.session import session as sessions


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []
    make = sessions.BaseSession._plan_for

    def counting(*args: Any) -> Any:
        made.append(args)
        return make(*args)

    monkeypatch.setattr(sessions.BaseSession, "_plan_for", counting)
    return made


def test_a_second_round_through_many_fetches_plans_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _counted(monkeypatch)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        fetches = [x + float(i) for i in range(600)]
        for _ in range(2):
            for fetch in fetches:
                session.run(fetch, {x: [1.0]})
    assert len(made) == 600


def test_the_oldest_plans_go_where_they_would_take_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _counted(monkeypatch)
    monkeypatch.setattr(sessions, "PLAN_MEMORY", 100 * 16_000)
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = [tf.constant(float(i)) for i in range(300)]
        for fetch in fetches:
            session.run(fetch)
        assert len(session._runners) < 150
        session.run(fetches[-1])
        assert len(made) == 300
        assert session.run(fetches[0]) == 0
        assert len(made) == 301
