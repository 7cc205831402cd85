"""Branches that are never taken leave a graph, and what is left computes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.exporting.inference_graph import fold
from penstock.graph.primitives import MERGES, SWITCHES
from penstock.graph.step_graph import StepGraph
from penstock.passes.fold_branches import fold_branches
from penstock.passes.fold_constants import fold_constants
from penstock.passes.prune import prune
from penstock.runtime.reference import Reference


def _run(graph: StepGraph, values: list[np.ndarray]) -> list[Any]:
    reference = Reference(graph, tf.Session()._state)
    return reference.run(reference.feed(values))


X = np.array([1.0, 2.0, 4.0], np.float32)


def _if(chosen: bool, x: Any) -> Any:
    return tf.cond(tf.constant(chosen), lambda: tf.reduce_sum(x), lambda: x[0] * 10.0)


def _in_each_other(chosen: bool, x: Any) -> Any:
    yes = tf.constant(chosen)
    return tf.cond(yes, lambda: tf.cond(tf.logical_not(yes), lambda: x * 3.0, lambda: x * 5.0), lambda: x)


def _loop_in_a_branch(chosen: bool, x: Any) -> Any:
    def doubled() -> Any:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1]

    return tf.cond(tf.constant(chosen), doubled, lambda: -x)


CASES: list[tuple[Callable[[bool, Any], Any], Any, Any]] = [
    (_if, 7.0, 10.0),
    (_in_each_other, [5.0, 10.0, 20.0], [1.0, 2.0, 4.0]),
    (_loop_in_a_branch, [8.0, 16.0, 32.0], [-1.0, -2.0, -4.0]),
]


def _folded(build: Callable[[bool, Any], Any], chosen: bool) -> StepGraph:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        return fold(prune([x], [build(chosen, x)], []))


@pytest.mark.parametrize(("build", "taken", "other"), CASES)
def test_only_the_branch_that_is_taken_is_left(build: Callable[[bool, Any], Any], taken: Any, other: Any) -> None:
    for chosen, wanted in ((True, taken), (False, other)):
        graph = _folded(build, chosen)
        loops = chosen and build is _loop_in_a_branch
        assert loops or not {node.op.name for node in graph.nodes} & (SWITCHES | MERGES)
        assert loops or not any("while" in node.name for node in graph.nodes)
        np.testing.assert_array_equal(_run(graph, [X])[0], wanted)


def test_a_merge_says_which_input_it_had() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        no, yes = tf.raw_ops.Switch(data=x, pred=tf.constant(True))
        merged, index = tf.raw_ops.Merge(inputs=[no * 2.0, yes * 3.0])
        graph = fold_branches(fold_constants(prune([x], [merged, index], [])))
    found = _run(graph, [X])
    assert (found[0].tolist(), int(found[1])) == ([3.0, 6.0, 12.0], 1)


def test_what_is_fetched_from_a_branch_that_is_not_taken_stays_for_the_step_to_refuse() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        no, _ = tf.raw_ops.Switch(data=x, pred=tf.constant(True))
        graph = prune([x], [no * 2.0], [])
        assert fold_branches(graph) is graph


def test_a_predicate_that_is_computed_in_the_step_stays() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        graph = prune([x], [tf.cond(x[0] > 0.0, lambda: x, lambda: -x)], [])
        assert fold_branches(graph) is graph
