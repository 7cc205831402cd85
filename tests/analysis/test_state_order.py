"""The order of reads and writes where no single segment keeps it."""

from __future__ import annotations

import pytest

import penstock as tf
from penstock.analysis.frames import find_frames
from penstock.analysis.state_order import build_order, order_state
from penstock.graph.step_graph import Node, StepGraph
from penstock.passes.prune import prune
from tests.anywhere import alarm as alarm


def ordered(*fetches: tf.Tensor) -> dict[str, Node]:
    graph: StepGraph = prune([], list(fetches), [])
    graph = order_state(graph, find_frames(graph)[1])
    return {node.name: node for node in graph.nodes}


def test_a_write_waits_for_reads_that_come_after_a_conditional() -> None:
    with tf.Graph().as_default():
        v = tf.Variable([6.0], name="v", use_resource=False)
        pred = tf.placeholder_with_default(False, [])
        merged = tf.cond(pred, lambda: tf.constant([1.0]), lambda: tf.constant([2.0]))
        with tf.control_dependencies([merged]):
            read = tf.raw_ops.Identity(input=v._ref(), name="late")
        write = tf.assign_add(v, merged, name="write")
        nodes = ordered(read * 2.0, write)
    assert nodes["late"] in nodes["write"].controls


def test_a_write_does_not_wait_for_what_may_be_dead() -> None:
    with tf.Graph().as_default():
        v = tf.Variable([6.0], name="v", use_resource=False)
        pred = tf.placeholder_with_default(False, [])

        def reads() -> tf.Tensor:
            return tf.raw_ops.Identity(input=v._ref(), name="sometimes") * 2.0

        merged = tf.cond(pred, reads, lambda: tf.constant([2.0]))
        write = tf.assign_add(v, [1.0], name="write")
        nodes = ordered(merged, write)
    in_branch = {node for name, node in nodes.items() if name.startswith("cond/")}
    assert in_branch
    assert not in_branch & set(nodes["write"].controls)


def test_a_write_waits_for_reads_that_come_after_a_loop() -> None:
    with tf.Graph().as_default():
        v = tf.Variable([6.0], name="v", use_resource=False)
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, tf.ones([1])])
        with tf.control_dependencies([y]):
            read = tf.raw_ops.Identity(input=v._ref(), name="late")
        write = tf.assign_add(v, [1.0], name="write")
        nodes = ordered(read * 2.0, write)
    assert nodes["late"] in nodes["write"].controls


def built_the_wrong_way_round() -> tuple[tf.Variable, list[tf.Tensor]]:
    """What comes after a loop, and a write that the loop waits for, but that was built later."""
    v = tf.Variable([6.0], name="v", use_resource=False)
    factor = tf.identity(tf.constant([2.0]), name="factor")
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * factor), [0, tf.ones([1])])
    with tf.control_dependencies([y]):
        read = tf.raw_ops.Identity(input=v._ref(), name="late")
    product = read * 2.0
    write = tf.assign_add(v, [1.0], name="write")
    factor.op._add_control_input(write.op)
    return v, [product, write]


def test_a_write_that_a_loop_waits_for_does_not_wait_for_what_comes_after_the_loop() -> None:
    with tf.Graph().as_default():
        _, fetches = built_the_wrong_way_round()
        nodes = ordered(*fetches)
    assert list(nodes).index("late") < list(nodes).index("write")
    assert nodes["late"] not in nodes["write"].controls


@pytest.mark.parametrize("executor", ["structured", "dataflow"])
def test_a_step_that_is_built_the_wrong_way_round_ends(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_EXECUTOR", executor)
    with tf.Graph().as_default(), tf.Session() as session:
        v, fetches = built_the_wrong_way_round()
        session.run(v.initializer)
        assert [value.tolist() for value in session.run(fetches)] == [[14.0], [7.0]]


def read_for_a_loop_that_writes() -> tuple[tf.Variable, list[tf.Tensor]]:
    """A loop that adds to a variable, and a read that the loop waits for, but that was built later."""
    v = tf.Variable([6.0], name="v", use_resource=False)
    more = tf.identity(tf.constant([2.0]), name="more")

    def body(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        written = tf.assign_add(v, [1.0], name="write")
        return i + 1, y + written + more

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, tf.zeros([1])])
    read = tf.raw_ops.Identity(input=v._ref(), name="read")
    more.op._add_control_input(read.op)
    return v, [y, read * 1.0]


def test_a_loop_that_writes_comes_after_a_read_that_it_waits_for() -> None:
    with tf.Graph().as_default():
        _, fetches = read_for_a_loop_that_writes()
        graph = prune([], fetches, [])
    pairs = [(first.name, second.name) for first, second in build_order(graph, find_frames(graph)[1])]
    assert [node.name for node in graph.nodes if node.name in ("while/write", "read")] == ["while/write", "read"]
    assert ("read", "while/write") in pairs and ("while/write", "read") not in pairs


def test_a_step_with_a_loop_that_writes_and_a_read_for_it_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    with tf.Graph().as_default(), tf.Session() as session:
        v, fetches = read_for_a_loop_that_writes()
        session.run(v.initializer)
        assert [value.tolist() for value in session.run(fetches)] == [[7.0 + 8.0 + 9.0 + 6.0], [6.0]]


def test_the_stacks_of_a_gradient_are_pushed_before_they_are_popped() -> None:
    """What the gradient needs is added to the forward loop while the backward loop is built."""
    with tf.Graph().as_default():
        x = tf.Variable([[1.0, 2.0]], name="x", use_resource=False)
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y * x) * y), [0, x * 2.0])
        graph = prune([], tf.gradients(y, [x]), [])
    pairs = build_order(graph, find_frames(graph)[1])
    assert {first.op.name for first, second in pairs if second.op.name == "StackPopV2"} == {"StackPushV2"}
