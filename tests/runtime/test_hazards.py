"""The order of reads and writes where no single segment keeps it."""

from __future__ import annotations

import penstock as tf
from penstock.graph.step_graph import Node, StepGraph
from penstock.passes.prune import prune
from penstock.runtime.frames import find_frames
from penstock.runtime.hazards import order_state


def ordered(*fetches: tf.Tensor) -> dict[str, Node]:
    graph: StepGraph = prune([], list(fetches), [])
    order_state(graph, find_frames(graph)[1])
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


def test_what_comes_after_a_loop_is_left_to_the_program() -> None:
    """A graph may be built the wrong way round: with a loop after what takes its result."""
    with tf.Graph().as_default():
        v = tf.Variable([6.0], name="v", use_resource=False)
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, tf.ones([1])])
        with tf.control_dependencies([y]):
            read = tf.raw_ops.Identity(input=v._ref(), name="late")
        write = tf.assign_add(v, [1.0], name="write")
        nodes = ordered(read * 2.0, write)
    assert nodes["late"] not in nodes["write"].controls
