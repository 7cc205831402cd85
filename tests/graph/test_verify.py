"""The checker of step graphs finds what passes could break."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

import penstock as tf
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.verify import verify
from penstock.passes.prune import prune


def step_graph() -> StepGraph:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, name="x")
        with tf.control_dependencies([tf.no_op("first")]):
            y = tf.identity(x, name="y")
        z = tf.add(y, y, name="z")
        return prune([x], [z], [])


def find(graph: StepGraph, name: str) -> int:
    return next(i for i, node in enumerate(graph.nodes) if node.name == name)


def replace(graph: StepGraph, name: str, **changes: object) -> None:
    i = find(graph, name)
    graph.nodes[i] = dataclasses.replace(graph.nodes[i], **changes)


def move_last_first(graph: StepGraph) -> None:
    graph.nodes.insert(0, graph.nodes.pop())


def wrong_port(graph: StepGraph) -> None:
    y = graph.nodes[find(graph, "y")]
    replace(graph, "z", inputs=(Edge(y, 0), Edge(y, 1)))


def wrong_dtype(graph: StepGraph) -> None:
    replace(graph, "z", attrs={"T": tf.float64})


def lost_control(graph: StepGraph) -> None:
    del graph.nodes[find(graph, "first")]


def lost_fetch(graph: StepGraph) -> None:
    graph.nodes.pop()


def twice(graph: StepGraph) -> None:
    graph.nodes.append(graph.nodes[0])


def too_few_inputs(graph: StepGraph) -> None:
    z: Node = graph.nodes[find(graph, "z")]
    replace(graph, "z", inputs=z.inputs[:1])


@pytest.mark.parametrize(
    ("damage", "message"),
    [(move_last_first, "does not come before"), (wrong_port, "no output of y"), (wrong_dtype, "float64"),
     (lost_control, "control input first"), (lost_fetch, "fetched but not in the graph: z"), (twice, "second node"),
     (too_few_inputs, "takes")],
)  # fmt: skip
def test_a_damaged_graph_is_named_with_its_neighbours(damage: Callable[[StepGraph], None], message: str) -> None:
    graph = step_graph()
    verify(graph, "prune")
    damage(graph)
    with pytest.raises(AssertionError, match=message):
        verify(graph, "damage")
