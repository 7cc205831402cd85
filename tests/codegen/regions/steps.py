"""Sessions whose regions are compiled at once, and the regions of their steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import penstock as tf
from penstock.engine.pipeline import BEFORE_PLACING, prepare
from penstock.graph.step_graph import Node
from penstock.session.fetches import FetchPlan

AT_ONCE = frozenset({*BEFORE_PLACING, "form_regions_at_once"})


def session_with(passes: frozenset[str] = AT_ONCE, config: Any = None) -> tf.Session:
    session = tf.Session(config=config)
    session._options = dataclasses.replace(session._options, passes=passes)
    return session


def started(passes: frozenset[str] = AT_ONCE) -> tf.Session:
    """A session whose variables have their first values."""
    session = session_with(passes)
    session.run(tf.global_variables_initializer())
    return session


def regions_of(session: tf.Session, fetches: list[Any], feeds: Iterable[Any] = ()) -> list[Node]:
    """The regions of a step, which is not run."""
    wanted = FetchPlan(session.graph, fetches)
    graph = prepare(list(feeds), wanted.tensors, wanted.targets, session._options).graph
    return [node for node in graph.nodes if node.op.name == "_Region"]


def ops_of(region: Node) -> list[str]:
    return [node.op.name for node in region.attrs["body"].nodes]


def loop(x: Any, rounds: Any) -> Any:
    """A loop of small values, float32 of the shape of `x`."""
    return tf.while_loop(lambda i, a: i < rounds, lambda i, a: (i + 1, tf.tanh(a) * 1.5), [0, x])[1]
