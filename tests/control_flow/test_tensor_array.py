"""Tensor arrays: what is written by index is read by index, with TensorFlow's rules, shapes and gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.ops import tensor_array as ops
from penstock.ops.control_flow.cond import cond
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.control_flow.while_loop import while_loop

Invalid = errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def array(size: Any = 2, **options: Any) -> TensorArray:
    return TensorArray(tf.float32, size, **options)


def after(op: Any, a: TensorArray) -> TensorArray:
    with tf.control_dependencies([op]):
        return a.identity()


def unknown(value: Any) -> Any:
    """A tensor whose shape is not known while the graph is built."""
    return tf.placeholder_with_default(tf.constant(value, tf.float32), None)


# --- writing and reading --------------------------------------------------------------------------------


def test_elements_are_read_where_they_were_written(session: tf.Session) -> None:
    a = array(3).write(2, [1.0, 2.0]).write(0, [3.0, 4.0])
    assert [v.tolist() for v in session.run([a.read(0), a.read(2)])] == [[3, 4], [1, 2]]
    for _ in range(2):  # each step has an array of its own
        assert session.run(a.stack()).tolist() == [[3, 4], [0, 0], [1, 2]]


@pytest.mark.parametrize("dtype", ["int32", "bool", "string", "uint16", "uint64", "complex64", "bfloat16", "half"])
def test_any_type_can_be_an_element(session: tf.Session, dtype: str) -> None:
    value = {"bool": [True, False, True], "string": [b"a", b"bc", b""]}.get(dtype, [1, 2, 3])
    a = TensorArray(dtype, 3, clear_after_read=False).unstack(tf.constant(value, dtype))
    assert session.run(a.stack()).tolist() == value
    assert session.run(a.gather([2, 0])).tolist() == [value[2], value[0]]
    assert session.run(a.read(1)) == value[1]
    b = TensorArray(dtype, 2, infer_shape=False).split(tf.constant(value, dtype), [1, 2])
    assert session.run(b.concat()).tolist() == value


def test_an_unwritten_element_is_zeros_when_its_shape_is_known(session: tf.Session) -> None:
    assert session.run(array(element_shape=[2]).read(0)).tolist() == [0, 0]
    assert session.run(array().write(0, [1.0]).stack()).tolist() == [[1], [0]]
    for a in (
        array(),
        array(infer_shape=False).write(0, [1.0]),
        array(element_shape=[None], infer_shape=False),
    ):
        with pytest.raises(Invalid, match=r"Could not read from TensorArray index 1(.|\n)*not fully defined"):
            session.run(a.read(1))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: array().write(0, 1.0).write(0, 1.0).flow, "index 0 because it has already been written to"),
        (lambda: array().scatter([0, 0], [1.0, 2.0]).flow, "index 0 because it has already been written to"),
        (lambda: array().write(2, 1.0).flow, "write to index 2 but array is not resizeable and size is: 2"),
        (lambda: array(dynamic_size=True).write(-1, 1.0).flow, "Tried to write to index -1"),
        (lambda: array().read(5), "Tried to read from index 5 but array size is: 2"),
        (lambda: array(dynamic_size=True).read(5), "Tried to read from index 5 but array size is: 2"),
        (lambda: array().unstack([1.0, 2.0]).gather([0, 3]), "Tried to read from index 3"),
        (lambda: array().unstack([1.0, 2.0]).gather([1, 1]), "Could not read index 1 twice"),
        (
            lambda: array().unstack(unknown([1.0, 2.0, 3.0])).flow,
            r"Max scatter index must be < array size \(2 vs. 2\)",
        ),
        (lambda: array().scatter([0, 1], unknown([1.0])).flow, "saw: 2 vs. 1"),
        (
            lambda: array(element_shape=[2]).write(0, unknown([1.0])).flow,
            r"\[1\] which is incompatible .*: \[2\]",
        ),
        (
            lambda: array().write(0, unknown([1.0])).write(1, unknown([1.0, 2.0])).flow,
            r"\[2\] which is incompatible .*: \[1\]",
        ),
        (
            lambda: array(infer_shape=False).write(0, [1.0]).write(1, 1.0).stack(),
            r"shape: \[1\] but index 1 .*\[\]",
        ),
        (
            lambda: array(infer_shape=False).write(0, [[1.0]]).write(1, [[1.0, 2.0]]).concat(),
            r"dimension 0\) shape: \[1\] but index 1 has .* \[2\]",
        ),
        (lambda: array().unstack([1.0, 2.0]).concat(), "scalar shape at index 0"),
        (lambda: array(infer_shape=False).split([1.0, 2.0, 3.0], [1, 1]).flow, "sum of lengths is 2"),
        (lambda: array(infer_shape=False).split([1.0, 2.0, 3.0], [1, 1, 1]).flow, r"\(2 vs. 3\)"),
        (lambda: array(infer_shape=False, dynamic_size=True).split([1.0], [1]).flow, r"\(2 vs. 1\)"),
        (lambda: array(infer_shape=False).split([1.0, 2.0, 3.0], [-1, 4]).flow, "lengths of at least 0"),
        (lambda: array(-1).flow, "Size should be >= 0"),
        (lambda: TensorArray(tf.string, 1, element_shape=[2]).read(0), "no zeros of type string"),
        (
            lambda: ops.TENSOR_ARRAY_WRITE_V3(array().handle, 0, tf.constant(1), 0.0),
            "dtype is float but Op is trying to write dtype int32",
        ),
        (
            lambda: ops.TENSOR_ARRAY_READ_V3(array().handle, 0, 0.0, dtype=tf.int32),
            "dtype is float but Op requested dtype int32",
        ),
    ],
)
def test_a_wrong_use_is_an_error_that_names_the_node(session: tf.Session, build: Any, message: str) -> None:
    fetch = build()
    with pytest.raises(Invalid, match=f"{message}(.|\n)*node {fetch.op.name.split('/')[0]}"):
        session.run(fetch)


def test_an_element_is_read_once_unless_it_is_kept(session: tf.Session) -> None:
    a = array().write(0, 1.0)
    first = a.read(0)
    with pytest.raises(Invalid, match="Could not read index 0 twice"):
        session.run(after(first, a).read(0))
    with pytest.raises(Invalid, match="index 0 because it has already been read"):
        session.run(after(first, a).write(0, 2.0).flow)
    kept = array(clear_after_read=False).write(0, 1.0)
    first = kept.read(0)
    assert session.run(after(first, kept).read(0)) == 1
    with pytest.raises(Invalid, match="index 0 because it has already been read"):
        session.run(after(first, kept).write(0, 2.0).flow)


def test_a_dynamic_array_grows(session: tf.Session) -> None:
    a = array(dynamic_size=True)
    assert session.run([a.size(), a.write(4, 1.0).size()]) == [2, 5]
    assert session.run(array(0, dynamic_size=True).unstack([1.0, 2.0, 3.0]).stack()).tolist() == [1, 2, 3]
    parts = array(0, dynamic_size=True, infer_shape=False).split([1.0, 2.0, 3.0], [2, 1])
    assert [v.tolist() for v in session.run([parts.read(0), parts.read(1)])] == [[1, 2], [3]]


def test_rows_go_to_indices_and_come_from_them(session: tf.Session) -> None:
    a = array(3, clear_after_read=False).scatter([0, 2], [1.0, 2.0]).scatter([1], [5.0])
    assert session.run(a.stack()).tolist() == [1, 5, 2]
    assert session.run(a.gather([2, 2, 0])).tolist() == [2, 2, 1]
    assert session.run(array().unstack([1.0]).stack()).tolist() == [1, 0]


def test_parts_of_any_length_are_joined_again(session: tf.Session) -> None:
    a = array(3, infer_shape=False, clear_after_read=False).split([[1.0], [2.0], [3.0]], [2, 0, 1])
    assert session.run(a.concat()).tolist() == [[1], [2], [3]]
    assert session.run(a.read(1)).shape == (0, 1)
    b = array(infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0])
    value, lengths = ops.TENSOR_ARRAY_CONCAT_V3(b.handle, b.flow, dtype=tf.float32)
    found = session.run([value, lengths])
    assert found[0].tolist() == [1, 1, 2]
    assert found[1].tolist() == [1, 2]


def test_an_array_without_elements_is_empty_if_their_shape_is_known(session: tf.Session) -> None:
    assert session.run(array(0, element_shape=[3]).stack()).shape == (0, 3)
    assert session.run(array(0, element_shape=[None, 3]).concat()).shape == (0, 3)
    assert session.run(array(element_shape=[3]).gather(tf.zeros([0], tf.int32))).shape == (0, 3)
    assert session.run(TensorArray(tf.string, 0, element_shape=[]).stack()).shape == (0,)
    for fetch in (array(0).stack(), array(0, element_shape=[None, 3]).stack(), array(0).concat()):
        with pytest.raises(errors.UnimplementedError, match="TensorArray has size zero"):
            session.run(fetch)


def test_a_closed_array_is_gone(session: tf.Session) -> None:
    a = array().write(0, 1.0)
    closed = after(after(a.flow, a).close(), a)
    for fetch in (closed.read(0), closed.write(1, 1.0).flow, closed.stack(), closed.grad("g").flow):
        with pytest.raises(Invalid, match="has already been closed"):
            session.run(fetch)


# --- memory ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_resource", [False, True])
def test_elements_keep_their_value_when_the_variable_changes(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    session.run(v.initializer)
    a = array().unstack(v.read_value())
    with tf.control_dependencies([a.flow]):
        changed = v.assign_add([10.0, 10.0])
    assert session.run(after(changed, a).read(1)) == 2


def test_what_is_read_and_fetched_is_the_callers_own(session: tf.Session) -> None:
    x = tf.constant([[1.0, 2.0]])
    element = array(1).unstack(x).read(0)
    session.run(element)[:] = 9
    assert session.run(element).tolist() == [1, 2]
    fed = np.array([[3.0, 4.0]], np.float32)
    session.run(element, {x: fed})[:] = 9
    assert fed.tolist() == [[3, 4]]


# --- the graph ------------------------------------------------------------------------------------------


def test_arguments_that_do_not_go_together_are_refused() -> None:
    a = array()
    refused = {"size": 2, "dynamic_size": True, "clear_after_read": False, "tensor_array_name": "x"}
    for options in ({key: value} for key, value in {**refused, "element_shape": [2]}.items()):
        with pytest.raises(ValueError, match=f"both a handle and {next(iter(options))}"):
            TensorArray(tf.float32, handle=a.handle, flow=a.flow, **options)
    with pytest.raises(ValueError, match="Size must be provided"):
        TensorArray(tf.float32)
    with pytest.raises(ValueError, match="flow"):
        TensorArray(tf.float32, 2, flow=a.flow)
    with pytest.raises(ValueError, match="float32"):
        a.write(0, tf.constant(1))


def test_shapes_are_inferred_for_all_handles_of_an_array() -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    a = array()
    b = a.unstack(x)
    assert a.element_shape == b.element_shape == [3]
    assert b.read(0).shape == [3]
    assert b.stack().shape == [2, 3]
    assert b.concat().shape == [6]
    assert b.gather(tf.placeholder(tf.int32, [None])).shape.as_list() == [None, 3]
    assert array(dynamic_size=True).unstack(x).stack().shape.as_list() == [None, 3]
    assert array(tf.placeholder(tf.int32, [])).unstack(x).stack().shape.as_list() == [None, 3]
    assert array(element_shape=[None, 3]).concat().shape.as_list() == [None, 3]
    assert array().split(x, [1, 1]).read(0).shape == [1, 3]
    assert array(infer_shape=False).write(0, x).read(0).shape.ndims is None
    with pytest.raises(ValueError, match=r"Inconsistent shapes: saw \(1,\) but expected \(\)"):
        array().write(0, 1.0).write(1, [1.0])
    with pytest.raises(ValueError, match="rank 1"):
        array().scatter([[0, 1]], [1.0, 2.0])
    with pytest.raises(ValueError, match="are 2 and 1"):
        array().scatter([0, 1], [1.0])


def test_nodes_have_tensorflows_names() -> None:
    a = array(name="a")
    assert (a.handle.name, a.flow.name, a.handle.shape, a.dtype) == ("a:0", "a:1", [2], tf.float32)
    assert a.write(0, 1.0).flow.name == "TensorArrayWrite/TensorArrayWriteV3:0"
    assert a.unstack([1.0]).flow.name == "TensorArrayUnstack/TensorArrayScatter/TensorArrayScatterV3:0"
    assert a.read(0).name == "TensorArrayReadV3:0"
    assert a.stack().name == "TensorArrayStack/TensorArrayGatherV3:0"
    assert a.grad("gradients").handle.name == "TensorArrayGrad/TensorArrayGradV3:0"
    assert a.grad("gradients", name="g").flow.name == "g/gradient_flow:0"


# --- control flow ---------------------------------------------------------------------------------------


def test_an_array_is_a_loop_variable(session: tf.Session) -> None:
    x, n = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    inputs = TensorArray(tf.float32, n).unstack(x)
    i, out = while_loop(
        lambda i, _: i < n,
        lambda i, a: (i + 1, a.write(i, [inputs.read(i), 1.0])),
        [0, TensorArray(tf.float32, n)],
    )
    assert isinstance(out, TensorArray)
    assert out.read(0).shape == [2]
    stacked = out.stack()
    assert stacked.shape.as_list() == [None, 2]
    assert session.run([i, stacked], {x: [5, 6], n: 2})[1].tolist() == [[5, 1], [6, 1]]
    with pytest.raises(Invalid, match=r"(?s)Tried to read from index 2.*iteration 2"):
        session.run(
            while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + inputs.read(i)), [0, 0.0]),
            {x: [5, 6], n: 2},
        )


def test_an_iteration_reads_what_the_one_before_wrote(session: tf.Session) -> None:
    a = array(6, clear_after_read=False).write(0, 1.0).write(1, 1.0)
    _, fibonacci = while_loop(
        lambda i, _: i < 6, lambda i, a: (i + 1, a.write(i, a.read(i - 1) + a.read(i - 2))), [2, a]
    )
    assert session.run(fibonacci.stack()).tolist() == [1, 1, 2, 3, 5, 8]


def test_an_array_of_a_nested_loop_is_new_in_each_iteration(session: tf.Session) -> None:
    def body(i: Any, total: Any) -> Any:
        _, a = while_loop(lambda j, _: j < 3, lambda j, a: (j + 1, a.write(j, tf.to_float(i * j))), [0, array(3)])
        return i + 1, total + tf.reduce_sum(a.stack())

    assert session.run(while_loop(lambda i, _: i < 4, body, [0, 0.0])[1]) == (0 + 1 + 2 + 3) * 3


def test_branches_use_an_array_from_outside(session: tf.Session) -> None:
    p = tf.placeholder(tf.bool, [])
    a = array().write(0, [1.0])
    value = cond(p, lambda: a.write(1, [2.0]).read(1), lambda: a.read(0))
    assert session.run(value, {p: True}) == 2
    assert session.run(value, {p: False}) == 1


def test_branches_give_an_array(session: tf.Session) -> None:
    p = tf.placeholder(tf.bool, [])
    a = array().write(0, [1.0])
    b = cond(p, lambda: a.write(1, [2.0]), lambda: a)
    assert isinstance(b, TensorArray)
    assert session.run(b.stack(), {p: True}).tolist() == [[1], [2]]
    assert session.run(b.stack(), {p: False}).tolist() == [[1], [0]]


# --- gradients ------------------------------------------------------------------------------------------


X = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: array().unstack(x).read(0), [[1, 1], [0, 0]]),
        (lambda x: _twice(array(clear_after_read=False).unstack(x)), [[3, 3], [0, 0]]),
        (lambda x: array(clear_after_read=False).unstack(x).gather([1, 1]), [[0, 0], [2, 2]]),
        (lambda x: array().unstack(x).stack() * X, X),
        (lambda x: array().unstack(x).concat() * [1.0, 2.0, 3.0, 4.0], X),
        (lambda x: array(infer_shape=False).split(x, [2, 0]).read(0) * x, 2 * X),
        (lambda x: array(infer_shape=False).split(x, [1, 1]).concat() * x, 2 * X),
        (lambda x: array().write(0, x).write(1, x * 2.0).read(1), [[2, 2], [2, 2]]),
        (lambda x: array(0, dynamic_size=True).write(0, x).write(3, x * 2.0).read(3), [[2, 2], [2, 2]]),
        (lambda x: array().scatter([1, 0], x).stack() * X, X[::-1]),
        (lambda x: array(1).unstack(x[:0]).stack()[:, :1] * 1.0 + x, [[2 - 1, 1], [1, 1]]),
        (lambda x: TensorArray(tf.float32, 0).unstack(x[:0]).stack(), [[0, 0], [0, 0]]),
    ],
)
def test_gradients_follow_the_elements(session: tf.Session, build: Any, expected: Any) -> None:
    """Of TensorArrayScatterV3 and Gather, TensorArraySplitV3 and TensorArrayConcatV3, of reads and writes."""
    x = tf.constant(X, tf.float32)
    (found,) = tf.gradients(build(x), x)
    assert found.shape == [2, 2]
    np.testing.assert_allclose(session.run(found), expected)


def _twice(a: TensorArray) -> Any:
    return a.read(0) + 2.0 * a.read(0)


def test_each_call_of_gradients_adds_up_its_own(session: tf.Session) -> None:
    x = tf.constant(X, tf.float32)
    y = array().unstack(x).stack()
    found = [tf.gradients(y * k, x)[0] for k in (1.0, 2.0)] + [tf.gradients(y, x, name="other")[0]]
    for k, grad in zip((1, 2, 1), session.run(found), strict=True):
        assert grad.tolist() == [[k, k], [k, k]]


def test_gradients_have_gradients(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0])
    y = array(clear_after_read=False).unstack(x**3)
    (first,) = tf.gradients(y.read(0) + 2.0 * y.read(1) + tf.reduce_sum(y.stack()), x)
    (second,) = tf.gradients(first, x)
    assert session.run(first).tolist() == [3 * 2, 12 * 3]
    assert session.run(second).tolist() == [6 * 2, 12 * 3]


def test_an_array_of_gradients_adds_what_is_written_to_an_index(session: tf.Session) -> None:
    grad = array(infer_shape=False).write(0, [1.0, 2.0]).grad("g")
    assert session.run(grad.write(0, [1.0, 1.0]).write(0, [2.0, 3.0]).read(0)).tolist() == [3, 4]
    assert session.run(grad.read(0)).tolist() == [0, 0]
    assert session.run(grad.size()) == 2
    with pytest.raises(Invalid, match="not fully defined"):
        session.run(grad.read(1))
    with pytest.raises(Invalid, match=r"existing shape is \[2\] but the new input shape is \[3\]"):
        session.run(grad.write(0, unknown([1.0, 1.0, 2.0])).flow)
    with pytest.raises(Invalid, match=r"existing shape is \[3\] but the new input shape is \[1\]"):
        session.run(grad.write(1, [1.0, 1.0, 2.0]).write(1, [1.0]).flow)
    written = grad.write(0, [1.0, 1.0])
    with pytest.raises(Invalid, match="index 0 because it has already been read"):
        session.run(after(written.read(0), written).write(0, [1.0, 1.0]).flow)


def test_an_array_does_not_grow_once_it_has_gradients(session: tf.Session) -> None:
    a = array(dynamic_size=True).write(0, 1.0)
    with pytest.raises(Invalid, match="not resizeable"):
        session.run(after(a.grad("g").flow, a).write(5, 2.0).flow)


def test_gradients_of_a_larger_shape(session: tf.Session) -> None:
    a = array().write(0, [1.0, 2.0])
    handle, flow = ops.TENSOR_ARRAY_GRAD_WITH_SHAPE(a.handle, a.flow, [3], source="s")
    assert session.run(ops.TENSOR_ARRAY_READ_V3(handle, 0, flow, dtype=tf.float32)).shape == (3, 2)


def test_gradients_through_branches(session: tf.Session) -> None:
    p, x = tf.placeholder(tf.bool, []), tf.constant([2.0, 3.0])
    a = array().unstack(x)
    (found,) = tf.gradients(cond(p, lambda: a.read(0) * 5.0, lambda: a.read(1) * 7.0), x)
    assert session.run(found, {p: True}).tolist() == [5, 0]
    assert session.run(found, {p: False}).tolist() == [0, 7]


def test_gradients_through_a_loop_that_reads_and_writes(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [3])
    inputs = array(3).unstack(x)
    _, out = while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, inputs.read(i) ** 2)), [0, array(3)])
    (found,) = tf.gradients(out.stack() * [1.0, 10.0, 100.0], x)
    assert session.run(found, {x: [1, 2, 3]}).tolist() == [2, 40, 600]


def test_gradients_through_elements_that_later_iterations_read(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    a = array(5, clear_after_read=False).write(0, x)
    _, powers = while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, a.read(i - 1) * x)), [1, a])
    (found,) = tf.gradients(powers.read(4), x)  # x ** 5
    assert session.run(found, {x: 2}) == 5 * 2**4


def test_gradients_of_an_element_that_every_iteration_reads(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2])
    a = array(2, clear_after_read=False).unstack(x)
    _, total = while_loop(lambda i, _: i < 4, lambda i, s: (i + 1, s + a.read(0) * a.read(1)), [0, 0.0])
    (found,) = tf.gradients(total, x)
    assert session.run(found, {x: [3, 5]}).tolist() == [20, 12]


def test_what_is_written_behind_the_parts_of_a_split_is_no_part_of_its_gradient(session: tf.Session) -> None:
    x = tf.constant([2.0, 5.0, 7.0])
    array = tf.TensorArray(tf.float32, 2, dynamic_size=True, infer_shape=False).split(x * x, [2, 1]).write(2, [9.0])
    assert session.run(array.concat()).tolist() == [4, 25, 49, 9]
    assert session.run(tf.gradients(array.concat(), x)[0]).tolist() == [4, 10, 14]


def test_lengths_of_a_split_must_be_a_vector(session: tf.Session) -> None:
    lengths = tf.placeholder(tf.int64)
    flow = tf.TensorArray(tf.float32, 1).split(tf.ones([3]), lengths).flow
    with pytest.raises(errors.InvalidArgumentError, match="lengths to be a vector"):
        session.run(flow, {lengths: 3})


@pytest.mark.parametrize("name", ["gradients", "derivative"])
def test_gradients_through_arrays_do_not_depend_on_names(name: str) -> None:
    """Each call of `gradients` has its own array of gradients, whatever it and the nodes on the way are called."""
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.name_scope("gradients_of_mine"):
        array = tf.TensorArray(tf.float32, 3)
        _, array = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, x * x)), (0, array))
        joined = array.concat()
    first = tf.gradients(tf.reduce_sum(joined**2), x, name=name)[0]
    second = tf.gradients(first, x, name=name)[0]
    with tf.Session() as session:
        found = session.run([first, second])
    np.testing.assert_allclose(found, [[12, 96, 324], [36, 144, 324]])


def test_elements_may_differ_in_what_is_not_known_of_their_shape(session: tf.Session) -> None:
    array = TensorArray("float32", 2, infer_shape=False, element_shape=[None, 3])
    array = array.write(0, tf.ones([5, 3])).write(1, tf.ones([1, 3]))
    assert array.element_shape.as_list() == array.read(0).shape.as_list() == [None, 3]
    np.testing.assert_array_equal(session.run(array.concat()), np.ones([6, 3]))
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        array.write(1, tf.ones([1, 4]))
