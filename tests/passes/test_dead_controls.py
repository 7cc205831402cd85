"""Control edges that must stay: where variables are used in branches and loops, only edges order reads and writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import penstock as tf
from penstock.analysis.structure import structured
from penstock.graph.step_graph import Node, StepGraph
from penstock.passes.dead_controls import skip_dead_controls
from penstock.passes.prune import prune
from tests.graphs import COUNTER, step_graph


def _comes_before(graph: StepGraph, first: str, second: str) -> bool:
    """Whether an edge or a path leads from the one to the other, be it through a loop."""
    nodes = {node.name: node for node in graph.nodes}
    seen: set[Node] = set()
    pending = [nodes[second]]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending += [*(edge.node for edge in node.inputs), *node.controls]
    return nodes[first] in seen


def _read(v: tf.Variable) -> tf.Tensor:
    return tf.raw_ops.Identity(input=v._ref(), name="read") * 2.0


def _in_a_branch(v: tf.Variable) -> tf.Tensor:
    chosen = tf.placeholder_with_default(False, [])
    return tf.cond(chosen, lambda: _read(v), lambda: tf.constant([2.0]))


def _in_a_loop(v: tf.Variable) -> tf.Tensor:
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + _read(v)), [0, tf.ones([1])])[1]


def _read_before_a_write(reads: Callable[[tf.Variable], tf.Tensor]) -> StepGraph:
    """What is left of a graph in which a write waits for what `reads` makes of the variable."""
    with tf.Graph().as_default():
        v, u = (tf.Variable([x], use_resource=False) for x in (6.0, 7.0))
        seen = reads(v) + 1.0
        more = tf.identity(u) * 3.0
        with tf.control_dependencies([seen]):
            write = tf.raw_ops.AssignAdd(ref=v._ref(), value=more, name="write")
        return skip_dead_controls(prune([], [seen, write], []))


@pytest.mark.parametrize("reads", [_in_a_branch, _in_a_loop])
def test_a_write_waits_for_what_read_in_a_branch_or_a_loop(reads: Callable[[tf.Variable], tf.Tensor]) -> None:
    graph = _read_before_a_write(reads)
    (read,) = (node.name for node in graph.nodes if node.name.endswith("/read") and "Variable" not in node.name)
    assert _comes_before(graph, read, "write")


def test_a_write_does_not_wait_where_the_order_of_building_says_the_same() -> None:
    graph = _read_before_a_write(_read)
    assert not _comes_before(graph, "read", "write")


def test_identities_at_the_end_of_a_loop_go_as_tensorflows_gradients_of_loops_have_them() -> None:
    ends = """
        exit2 = NoOp(^switch)
        last = Identity(switch:0, ^exit2)
        left = Exit(last)
        fetch left
    """
    graph = skip_dead_controls(step_graph(COUNTER + ends))
    nodes = {node.name: node for node in graph.nodes}
    assert "last" not in nodes
    assert nodes["left"].inputs[0].node is nodes["switch"]
    structured(graph)
