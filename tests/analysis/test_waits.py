"""What comes before and after the waits of a step."""

from __future__ import annotations

from typing import Any

import penstock as tf
from penstock.analysis.frames import find_frames
from penstock.analysis.waits import in_turn, waits_before
from penstock.graph.step_graph import StepGraph
from penstock.passes.prune import prune


def _graph(fetches: list[Any], targets: list[Any] | None = None) -> StepGraph:
    return prune([], fetches, targets or [])


def _before(graph: StepGraph) -> dict[str, int]:
    return {node.name: waits.bit_count() for node, waits in waits_before(graph, find_frames(graph)[1]).items()}


def test_a_trifle_comes_as_late_as_those_that_need_it_and_an_update_as_early_as_it_can() -> None:
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
        v = tf.Variable(1.0, name="v", use_resource=False)
        take = queue.dequeue(name="take")
        early = tf.assign_add(v, 1.0, name="early")
        late = tf.multiply(take, tf.exp(v.read_value(), name="exp"), name="late")
        before = _before(_graph([late], [early.op]))
    assert before["take"] == before["early"] == 0
    assert before["late"] == before["exp"] == 1


def test_what_may_fail_and_what_takes_time_does_not_wait_with_those_that_need_it() -> None:
    with tf.Graph().as_default():
        taken = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
        i = tf.placeholder(tf.int32, [])
        fails = tf.gather([1.0, 2.0], i, name="fails")
        large = tf.exp(tf.zeros([1 << 20]) * taken.shape.rank, name="large")
        small = tf.exp(fails, name="small")
        x: Any = tf.ones([8])
        for k in range(200):
            x = tf.tanh(x, name=f"chain_{k}")
        before = _before(prune([i], [small * taken, large * taken, x * taken], []))
    assert before["fails"] == before["large"] == before["chain_0"] == 0
    assert before["small"] == before["chain_199"] == 1


def test_nodes_are_put_in_an_order_in_which_each_wait_comes_last() -> None:
    with tf.Graph().as_default():
        a, b = tf.FIFOQueue(1, tf.float32, shapes=[[]]), tf.FIFOQueue(1, tf.float32, shapes=[[]])
        take = a.dequeue(name="take")
        put = b.enqueue(take * 2.0, name="put")
        shown = tf.Print(tf.constant(1.0), [], name="shown")
        graph = in_turn(_graph([shown], [put]))
    assert graph is not None
    names = [node.name for node in graph.nodes]
    assert names.index("shown") < names.index("take") < names.index("mul") < names.index("put")


def test_waits_that_must_be_under_way_at_once_have_no_turn() -> None:
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
        at_once = _graph([queue.dequeue(), queue.dequeue()])
        in_loop = _graph([tf.while_loop(lambda i: i < 3, lambda i: i + queue.dequeue(), [0])])
        either = _graph([tf.cond(tf.equal(queue.size(), 0), queue.dequeue, lambda: queue.dequeue() + 1)])
    assert in_turn(at_once) is None
    assert in_turn(in_loop) is None
    assert in_turn(either) is not None
