"""GraphDef out and in: bytes that TensorFlow reads, and bytes that TensorFlow wrote."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import penstock as tf
from penstock.graph.codec import attr_from_proto, attr_proto, tensor_array, tensor_proto
from penstock.passes.nodes import frozen

ALL = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
ALL += ["uint64", "bool", "complex64", "complex128"]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 2)])
def test_arrays_survive_the_message(dtype: str, shape: tuple[int, ...]) -> None:
    array = (np.arange(np.prod(shape, dtype=int)).reshape(shape) - 1).astype(tf.as_dtype(dtype).as_numpy_dtype)
    proto = TensorProto.FromString(tensor_proto(array).SerializeToString())
    back = tensor_array(proto)
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_strings_survive_the_message() -> None:
    array = np.array([[b"a", b"\x00\xff"]], object)
    assert tensor_array(tensor_proto(array)).tolist() == [[b"a", b"\x00\xff"]]


def test_the_last_value_of_a_short_message_repeats() -> None:
    proto = TensorProto(dtype=1, float_val=[1.0, 2.0])
    proto.tensor_shape.dim.add(size=4)
    assert tensor_array(proto).tolist() == [1, 2, 2, 2]
    empty = TensorProto(dtype=3)
    empty.tensor_shape.dim.add(size=2)
    assert tensor_array(empty).tolist() == [0, 0]


@pytest.mark.parametrize("size", [3, -1])
def test_a_message_that_contradicts_itself_is_refused(size: int) -> None:
    proto = TensorProto(dtype=1, tensor_content=b"\0" * 8)
    proto.tensor_shape.dim.add(size=size)
    with pytest.raises(ValueError, match="tensor message"):
        tensor_array(proto)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int", -3), ("float", 0.5), ("bool", True), ("string", b"s"), ("type", tf.float32),
     ("shape", tf.TensorShape([None, 3])),
     ("shape", tf.TensorShape(None)), ("list(int)", [1, 2]), ("list(int)", []), ("list(type)", [tf.int8]),
     ("list(shape)", [tf.TensorShape([1]), tf.TensorShape([2])])],
)  # fmt: skip
def test_attributes_survive_the_message(kind: str, value: object) -> None:
    back = attr_from_proto(AttrValue.FromString(attr_proto(kind, value).SerializeToString()))
    assert frozen(back) == frozen(value)


def build() -> tf.Tensor:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.name_scope("layer"), tf.device("/cpu:0"):
        w = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2), name="w")
        y = tf.nn.relu(tf.matmul(x, w) - 5.0, name="y")
    total = tf.reduce_sum(y, axis=[1])
    with tf.control_dependencies([tf.no_op("first")]):
        return tf.identity(total, name="total")


def test_a_graph_imported_again_is_the_same_graph(graph: tf.Graph) -> None:
    total = build()
    proto = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default() as other:
        tf.import_graph_def(proto, name="")
        assert other.as_graph_def() == graph.as_graph_def()
        assert other.get_tensor_by_name("total:0").shape.as_list() == total.shape.as_list()
        with tf.Session() as session:
            assert session.run("total:0", {"x:0": [[1, 1, 1]]}).tolist() == [5.0]


def test_an_import_is_prefixed_mapped_and_returns_elements(graph: tf.Graph) -> None:
    build()
    proto = graph.as_graph_def()
    with tf.Graph().as_default():
        mine = tf.constant([[1.0, 1.0, 1.0]])
        total, op = tf.import_graph_def(proto, {"x:0": mine}, ["total:0", "layer/y"], name="in")
        assert total.name == "in/total:0"
        assert op.type == "Relu"
        assert op.device == "/device:CPU:0"
        assert [control.name for control in total.op.control_inputs] == ["in/first"]
        with tf.Session() as session:
            assert session.run(total).tolist() == [5.0]
        again = tf.import_graph_def(proto, {"x": mine}, ["total:0"], name="in")
        assert again[0].name == "in_1/total:0"


def test_a_bad_graph_is_refused_by_name_and_leaves_nothing_behind(graph: tf.Graph) -> None:
    build()
    good = graph.as_graph_def()
    cases = []
    for change, message in [
        (lambda g: g.node[-1].input.append("nowhere"), "nowhere"),
        (lambda g: g.node[1].ClearField("attr"), "w"),
        (lambda g: setattr(g.node[-1], "op", "NoSuchOp"), "NoSuchOp"),
        (lambda g: g.node.add(name="x", op="NoOp"), "twice"),
        (lambda g: g.node[0].attr["bogus"].CopyFrom(AttrValue(i=1)), "bogus"),
        (lambda g: g.node[0].attr["dtype"].CopyFrom(AttrValue(i=1)), "dtype"),
    ]:
        bad = tf.GraphDef()
        bad.CopyFrom(good)
        change(bad)  # type: ignore[no-untyped-call]
        cases.append((bad, message))
    for bad, message in cases:
        with tf.Graph().as_default() as other:
            with pytest.raises(ValueError, match=message):
                tf.import_graph_def(bad)
            assert other.get_operations() == []
    with tf.Graph().as_default() as other:
        unused = tf.constant(1.0)
        with pytest.raises(ValueError, match=r"not found in graph_def: \[unused:0\]"):
            tf.import_graph_def(good, {"unused:0": unused})
        with pytest.raises(TypeError, match="GraphDef"):
            tf.import_graph_def("no graph")
        assert other.get_operations() == [unused.op]


@pytest.mark.parametrize(
    ("values", "dtype", "shape", "field", "expected"),
    [
        (1 - 2j, tf.complex64, None, "scomplex_val", [1, -2]),
        ([1 + 2j, 3 - 4j], tf.complex128, None, "dcomplex_val", [1, 2, 3, -4]),
        ([True, False], tf.bool, None, "bool_val", [True, False]),
        (1.5, tf.float16, None, "half_val", [15872]),
        (np.int16(4), None, None, "int_val", [4]),
        (7.0, None, [2, 2], "float_val", [7]),
        ([1, 2], None, [5], "int_val", [1, 2]),
        ("a", None, [3], "string_val", [b"a"]),
        ([1, 2], tf.int16, None, "tensor_content", b"\1\0\2\0"),
        ([(5,), (6,)], tf.qint8, None, "tensor_content", b"\5\6"),
    ],
)
def test_values_go_where_tensorflow_puts_them(
    values: object, dtype: object, shape: object, field: str, expected: object
) -> None:
    """Recorded from TensorFlow 2.21: several values that fill the shape are bytes, others stand one by one."""
    proto = tf.make_tensor_proto(values, dtype, shape)
    filled = [f.name for f, _ in proto.ListFields() if f.name not in ("dtype", "tensor_shape")]
    assert filled == [field]
    assert (getattr(proto, field) if field == "tensor_content" else list(getattr(proto, field))) == expected
    if shape is not None:
        assert tf.make_ndarray(proto).shape == tuple(shape)  # type: ignore[arg-type]


def test_what_says_how_it_becomes_an_array_keeps_its_width() -> None:
    class Column:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return np.array([1, 2], np.int64)

    assert tf.convert_to_tensor(Column()).dtype == tf.int64


@pytest.mark.parametrize(("producer", "rank"), [(0, None), (23, None), (24, 0)])
def test_a_placeholder_of_an_old_graph_has_any_shape(graph: tf.Graph, producer: int, rank: int | None) -> None:
    """Graphs before version 24 write "not known" as they write a scalar's shape."""
    tf.placeholder(tf.float32, [], name="x")
    message = graph.as_graph_def()
    message.versions.producer = producer
    (again,) = tf.import_graph_def(message, return_elements=["x:0"], name="old") or []
    assert again.shape.ndims == rank


def test_a_scope_of_attributes_takes_messages_and_takes_back(graph: tf.Graph) -> None:
    with graph._attr_scope({"_mark": AttrValue(s=b"here"), "_compiled": AttrValue(b=True)}):
        both = tf.constant(1).op
        with graph._attr_scope({"_mark": None}):
            one = tf.constant(1).op
    assert (both.get_attr("_mark"), both.get_attr("_compiled"), one.get_attr("_compiled")) == (b"here", True, True)
    with pytest.raises(ValueError, match="_mark"):
        one.get_attr("_mark")


def test_one_value_stands_for_many_without_their_memory() -> None:
    proto = TensorProto(dtype=1, float_val=[2.5])
    for size in (1 << 14, 1 << 14):
        proto.tensor_shape.dim.add(size=size)
    array = tensor_array(proto)
    assert (array.shape, array.strides, array[-1, -1]) == ((1 << 14, 1 << 14), (0, 0), 2.5)
    assert tensor_proto(array) == proto


def test_a_constant_of_one_value_is_its_whole_shape_when_it_runs(graph: tf.Graph) -> None:
    message = graph.as_graph_def()
    node = message.node.add(name="c", op="Const")
    node.attr["dtype"].type = 3
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(7, tf.int32, [2, 3]))
    (c,) = tf.import_graph_def(message, return_elements=["c:0"], name="") or []
    with tf.Session() as session:
        assert session.run([c, tf.reshape(c, [3, 2]) * 2])[1].tolist() == [[14, 14]] * 3
        assert session.run(c).tolist() == [[7] * 3] * 2
    assert graph.as_graph_def().node[0] == node


def test_a_small_graph_whose_constants_repeat_their_last_value_very_often_is_refused(graph: tf.Graph) -> None:
    message = graph.as_graph_def()
    for i in range(20):
        node = message.node.add(name=f"c{i}", op="Const")
        node.attr["dtype"].type = 1
        node.attr["value"].tensor.CopyFrom(TensorProto(dtype=1, float_val=[1.0, 2.0]))
        node.attr["value"].tensor.tensor_shape.dim.add(size=1 << 20)
    with pytest.raises(ValueError, match="leave out 79 MiB of repeated values"):
        tf.import_graph_def(message)
    del message.node[2:]
    tf.import_graph_def(message)


@pytest.mark.parametrize(("name", "kind"), [("_class", "list\\(string\\)"), ("component_types", "list\\(type\\)")])
def test_a_list_of_another_type_is_refused(graph: tf.Graph, name: str, kind: str) -> None:
    tf.FIFOQueue(3, [tf.float32], name="q")
    message = graph.as_graph_def()
    message.node[0].attr[name].Clear()
    message.node[0].attr[name].list.i.append(1)
    with pytest.raises(ValueError, match=f"node 'q': attribute '{name}' of FIFOQueueV2 is not a valid {kind}"):
        tf.import_graph_def(message)


def test_attributes_that_tensorflow_1_lacks_are_written_only_where_they_say_something(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [1, 4, 4, 1], name="x")
    tf.matmul(tf.reshape(x, [4, 4]), tf.eye(4), name="product")
    tf.nn.max_pool(x, 2, 2, "VALID", name="pool")
    tf.raw_ops.MaxPool(
        input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 0, 1, 0, 0, 0], name="padded",
    )  # fmt: skip
    written = {node.name: node for node in graph.as_graph_def().node}
    assert set(written["product"].attr) == {"T", "transpose_a", "transpose_b"}  # as TensorFlow 1.15 writes it
    assert set(written["pool"].attr) == {"T", "data_format", "ksize", "padding", "strides"}
    assert list(written["padded"].attr["explicit_paddings"].list.i) == [0, 0, 1, 0, 1, 0, 0, 0]
    with tf.Graph().as_default() as read:
        tf.import_graph_def(graph.as_graph_def(), name="")
    assert read.get_operation_by_name("product").get_attr("grad_a") is False
