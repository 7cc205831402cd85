"""RunOptions.output_partition_graphs: what each device of a step runs, as GraphDefs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

WANTED = tf.RunOptions(output_partition_graphs=True)


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def graphs_of(session: tf.Session, fetches: Any, feeds: Any = None) -> list[dict[str, Any]]:
    """The nodes of each graph, by name."""
    metadata = tf.RunMetadata()
    session.run(fetches, feeds, options=WANTED, run_metadata=metadata)
    return [{node.name: node for node in graph.node} for graph in metadata.partition_graphs]


def test_a_step_on_one_device_has_one_graph() -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.multiply(tf.sin(x, name="s"), 3.0, name="y")
    with tf.Session() as session:
        (nodes,) = graphs_of(session, y, {x: [1.0, 2.0]})
    assert nodes["_arg_x_0_0"].op == "_Arg"
    assert list(nodes["s"].input) == ["_arg_x_0_0"]
    assert list(nodes["y"].input) == ["s", "y/y"]
    assert (nodes["_retval_y_0_0"].op, list(nodes["_retval_y_0_0"].input)) == ("_Retval", ["y"])
    assert {node.device for node in nodes.values()} == {"/job:localhost/replica:0/task:0/device:CPU:0"}
    assert nodes["y/y"].attr["value"].tensor.float_val[0] == 3.0


def test_nothing_is_recorded_unless_it_is_asked_for() -> None:
    with tf.Session() as session:
        metadata = tf.RunMetadata()
        session.run(tf.constant(1.0) + 2.0, options=tf.RunOptions(), run_metadata=metadata)
    assert len(metadata.partition_graphs) == 0


def test_a_step_on_two_devices_has_a_graph_for_each_with_sends_and_receives() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
        a = tf.sin(x + v, name="a")
    with tf.device("/cpu:1"):
        b = tf.cos(a, name="b")
        with tf.control_dependencies([tf.assign(v, [3.0, 3.0], name="changed")]):
            after = tf.random_uniform([2], name="after")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(v.initializer)
        graphs = graphs_of(session, [b, after], {x: np.zeros(2)})
    assert [next(iter(nodes.values())).device[-5:] for nodes in graphs] == ["CPU:0", "CPU:1"]
    sends, receives = (
        {op: [n for g in graphs for n in g.values() if n.op == op] for op in ("_Send", "_Recv")}
    ).values()
    sent, received = ({n.attr["tensor_name"].s: n for n in nodes} for nodes in (sends, receives))
    assert sent.keys() == received.keys()
    for name, send in sent.items():
        for field in ("send_device", "recv_device"):
            assert send.attr[field].s == received[name].attr[field].s
        assert send.attr["send_device"].s.decode() == send.device
        assert received[name].attr["recv_device"].s.decode() == received[name].device
        assert send.attr["T"].type == received[name].attr["tensor_type"].type
    tensor = next(n for n in receives if n.attr["tensor_name"].s.startswith(b"a:0"))
    assert list(graphs[1]["b"].input) == [tensor.name]


def test_functions_are_in_the_library() -> None:
    doubled = tf.map_fn(lambda x: x * 2.0, tf.constant([1.0, 2.0]))
    data = tf.data.Dataset.range(3).map(lambda x: x + 1).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        metadata = tf.RunMetadata()
        session.run([doubled, data], options=WANTED, run_metadata=metadata)
    (graph,) = metadata.partition_graphs
    names = {function.signature.name for function in graph.library.function}
    held = {value.func.name for node in graph.node for value in node.attr.values() if value.HasField("func")}
    assert held <= names


def test_nodes_that_are_compiled_together_are_named() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.reduce_sum(tf.square(tf.exp(x, name="e"), name="s") + 2.0, name="y")
    with tf.Session() as session:
        (nodes,) = graphs_of(session, y, {x: np.zeros(3)})
    listed = [text for node in nodes.values() for text in node.attr["_nodes"].list.s]
    assert {"e", "s", "y"} <= {*nodes, *(text.decode().partition(" = ")[0] for text in listed)}
