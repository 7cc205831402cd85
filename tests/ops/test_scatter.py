"""Updates of some rows of a variable, by reference and by handle, against loops in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.client.variable import Variable
from penstock.graph.convert import constant
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.ops import scatter
from penstock.ops.basic import identity, placeholder
from penstock.ops.resource_variables import READ_VARIABLE_OP, VAR_HANDLE_OP
from penstock.ops.state import ASSIGN, VARIABLE_V2
from penstock.session.session import Session
from penstock.tensor.dtypes import as_dtype

KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "Update": lambda x, y: y,
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Mul": lambda x, y: x * y,
    "Div": lambda x, y: np.trunc(x / y) if np.asarray(x).dtype.kind in "iu" else x / y,
    "Min": np.minimum,
    "Max": np.maximum,
}
SMALL = ["float16", "bfloat16", "float32", "float64", "int32", "int64"]
REAL = [*SMALL, "uint8", "int8", "int16", "uint16", "uint32", "uint64"]
NUMBERS = [*REAL, "complex64", "complex128"]


def run(op: str, initial: np.ndarray, indices: Any, updates: Any, fed: bool = False, **attrs: Any) -> np.ndarray:
    """The variable's contents after one `op`."""
    dtype = as_dtype(initial.dtype)
    with Graph().as_default(), Session() as session:
        feeds: dict[Any, Any] = {}
        arguments = [np.asarray(indices), np.asarray(updates, initial.dtype)]
        if fed:
            tensors = [placeholder(as_dtype(a.dtype)) for a in arguments]
            feeds.update(zip(tensors, arguments, strict=True))
        else:
            tensors = [constant(a) for a in arguments]
        if op.startswith("Resource"):
            variable = VAR_HANDLE_OP(shape=initial.shape, dtype=dtype, shared_name="v")
            session.run(get_op("AssignVariableOp")(variable, constant(initial)))
            value = READ_VARIABLE_OP(variable, dtype=dtype)
        else:
            variable = VARIABLE_V2(shape=initial.shape, dtype=dtype)
            session.run(ASSIGN(variable, initial).op)
            value = identity(variable)
        node = get_op(op)(variable, *tensors, **attrs)
        session.run(getattr(node, "op", node), feeds)
        return session.run(value)


def expected_rows(kind: str, initial: np.ndarray, indices: Any, updates: Any) -> np.ndarray:
    result = initial.copy()
    indices = np.asarray(indices)
    updates = np.broadcast_to(updates, indices.shape + initial.shape[1:])
    for where in np.ndindex(indices.shape):
        result[indices[where]] = KINDS[kind](result[indices[where]], updates[where].astype(initial.dtype))
    return result


def types_of(prefix: str, kind: str) -> list[str]:
    if kind in ("Min", "Max"):
        return SMALL if prefix == "Scatter" else REAL
    return NUMBERS


ROWS = [
    (prefix, kind, dtype)
    for prefix in ("Scatter", "ResourceScatter")
    for kind in KINDS
    for dtype in types_of(prefix, kind)
]


@pytest.mark.parametrize(("prefix", "kind", "dtype"), ROWS)
def test_rows_are_updated_in_every_type(prefix: str, kind: str, dtype: str) -> None:
    initial = np.array([[8, 2], [4, 6], [9, 3], [12, 10]]).astype(as_dtype(dtype).np)
    updates = np.array([[2, 4], [1, 5]]).astype(initial.dtype)
    for fed in (False, True):
        found = run(prefix + kind, initial, [2, 0], updates, fed)
        want = expected_rows(kind, initial, [2, 0], updates)
        np.testing.assert_allclose(found.astype(complex), want.astype(complex), rtol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prefix", ["Scatter", "ResourceScatter"])
def test_a_row_that_is_named_twice_gets_both_updates_in_order(prefix: str, kind: str) -> None:
    initial = np.array([[8, 2], [4, 6], [9, 3]], "f4")
    indices = np.array([[2, 0], [2, 2]], "i8")
    updates = np.arange(1, 9, dtype="f4").reshape(2, 2, 2)
    found = run(prefix + kind, initial, indices, updates)
    np.testing.assert_allclose(found, expected_rows(kind, initial, indices, updates), rtol=1e-6)


def test_of_many_updates_of_one_row_the_last_wins() -> None:
    random = np.random.RandomState(0)
    indices = random.randint(0, 5, 50_000)
    updates = np.arange(50_000, dtype="f4")
    found = run("ScatterUpdate", np.zeros(5, "f4"), indices, updates)
    np.testing.assert_array_equal(found, expected_rows("Update", np.zeros(5, "f4"), indices, updates))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prefix", ["Scatter", "ResourceScatter"])
def test_a_scalar_update_goes_to_every_row(prefix: str, kind: str) -> None:
    initial = np.array([[8, 2], [4, 6], [9, 3]], "f4")
    np.testing.assert_allclose(run(prefix + kind, initial, [0, 2], 2.0), expected_rows(kind, initial, [0, 2], 2.0))


@pytest.mark.parametrize("prefix", ["Scatter", "ResourceScatter"])
def test_no_indices_change_nothing(prefix: str) -> None:
    initial = np.array([[8, 2], [4, 6]], "f4")
    for kind in KINDS:
        found = run(prefix + kind, initial, np.zeros(0, "i4"), np.zeros((0, 2)))
        np.testing.assert_array_equal(found, initial)


def test_a_scalar_index_names_one_row() -> None:
    found = run("ScatterAdd", np.array([[8, 2], [4, 6]], "f4"), np.int32(1), [1.0, 2.0])
    assert found.tolist() == [[8, 2], [5, 8]]


def test_integers_are_divided_towards_zero() -> None:
    assert run("ScatterDiv", np.array([-7, 7], "i4"), [0, 1], [2, 2]).tolist() == [-3, 3]


def test_strings_and_bools_are_updated() -> None:
    strings = np.array([b"a", b"b", b"c"], object)
    assert run("ScatterUpdate", strings, [2, 0], [b"x", b"yz"]).tolist() == [b"yz", b"b", b"x"]
    assert run("ResourceScatterNdUpdate", strings, [[1]], [b"x"]).tolist() == [b"a", b"x", b"c"]
    assert run("ScatterUpdate", np.array([True, True]), [1], [False]).tolist() == [True, False]


# --- indices of elements and slices ---------------------------------------------------------------------

ND = [(p, k) for p in ("ScatterNd", "ResourceScatterNd") for k in ("Update", "Add", "Sub", "Min", "Max")]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("prefix", "kind"), ND)
def test_elements_are_updated_in_every_type(prefix: str, kind: str, dtype: str) -> None:
    initial = (np.arange(6) + 10).reshape(3, 2).astype(as_dtype(dtype).np)
    updates = np.array([1, 2, 3]).astype(initial.dtype)
    expected = initial.copy()
    for index, update in zip([(2, 1), (0, 0), (2, 1)], updates, strict=True):
        expected[index] = KINDS[kind](expected[index], update)
    found = run(prefix + kind, initial, [[2, 1], [0, 0], [2, 1]], updates)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("prefix", "kind"), ND)
def test_slices_are_updated(prefix: str, kind: str) -> None:
    initial = np.arange(12, dtype="f4").reshape(2, 3, 2)
    updates = np.arange(1, 5, dtype="f4").reshape(1, 2, 2)
    expected = initial.copy()
    for index, update in zip([(1, 2), (0, 1)], updates[0], strict=True):
        expected[index] = KINDS[kind](expected[index], update)
    np.testing.assert_array_equal(run(prefix + kind, initial, [[[1, 2], [0, 1]]], updates, fed=True), expected)


def test_bad_indices_are_left_out_where_the_policy_says_so() -> None:
    initial = np.zeros((2, 2), "f4")
    indices, updates = [[0, 1], [2, 0], [-1, 0], [1, 0]], [1, 2, 3, 4]
    found = run("ScatterNdAdd", initial, indices, updates, bad_indices_policy="IGNORE")
    assert found.tolist() == [[0, 1], [4, 0]]
    with pytest.raises(errors.InvalidArgumentError, match=r"indices\[1\] = \[2, 0\] does not index into shape"):
        run("ScatterNdAdd", initial, indices, updates)


# --- errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["Scatter", "ResourceScatter"])
@pytest.mark.parametrize("bad", [2, -1])
def test_an_index_out_of_range_is_named_and_nothing_is_written(prefix: str, bad: int) -> None:
    for kind in KINDS:
        with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[0,1\] = {bad} is not in \[0, 2\)"):
            run(prefix + kind, np.zeros(2, "f4"), [[0, bad]], [[1.0, 2.0]])


def test_updates_must_fit_the_indices() -> None:
    with pytest.raises(ValueError, match=r"Must have updates\.shape = indices\.shape"):
        run("ScatterAdd", np.zeros((3, 2), "f4"), [0, 1], [1.0, 2.0])
    with pytest.raises(errors.InvalidArgumentError, match=r"Must have updates\.shape = indices\.shape"):
        run("ResourceScatterAdd", np.zeros((3, 2), "f4"), [0, 1], [1.0, 2.0], fed=True)
    with pytest.raises(ValueError, match="updates must have the shape"):
        run("ScatterNdAdd", np.zeros((3, 2), "f4"), [[0, 1]], [1.0, 2.0])
    with pytest.raises(errors.InvalidArgumentError, match=r"updates\.shape must be"):
        run("ResourceScatterNdAdd", np.zeros((3, 2), "f4"), [[0, 1]], [1.0, 2.0], fed=True)


# --- functions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_scatter_functions_give_the_new_contents(kind: str, use_resource: bool) -> None:
    initial = np.array([[8, 2], [4, 6], [9, 3]], "f4")
    with Graph().as_default(), Session() as session:
        v = Variable(initial, use_resource=use_resource)
        session.run(v.initializer)
        result = getattr(scatter, f"scatter_{kind.lower()}")(v, [1, 0], [[2.0, 4.0], [1.0, 5.0]])
        want = expected_rows(kind, initial, [1, 0], [[2.0, 4.0], [1.0, 5.0]])
        np.testing.assert_allclose(session.run(result), want)
        np.testing.assert_allclose(session.run(v), want)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kind", ["Update", "Add", "Sub"])
def test_scatter_nd_functions_give_the_new_contents(kind: str, use_resource: bool) -> None:
    with Graph().as_default(), Session() as session:
        v = Variable([[8.0, 2.0], [4.0, 6.0]], use_resource=use_resource)
        session.run(v.initializer)
        result = getattr(scatter, f"scatter_nd_{kind.lower()}")(v, [[0, 1]], [5.0])
        assert session.run(result).tolist() == [[8, KINDS[kind](2, 5)], [4, 6]]


# --- slices of variables --------------------------------------------------------------------------------


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("dtype", [*REAL, "string"])
def test_a_slice_of_a_variable_is_assigned_to(dtype: str, use_resource: bool) -> None:
    array = np.arange(12).reshape(3, 4)
    expected = array.copy()
    expected[1:3, ::-2] = [[50, 51], [52, 53]]
    with Graph().as_default(), Session() as session:

        def typed(values: Any) -> Any:
            values = np.asarray(values)
            return constant(values.astype(str).astype(object) if dtype == "string" else values, dtype)

        v = Variable(typed(array), use_resource=use_resource)
        session.run(v.initializer)
        found = session.run(v[1:3, ::-2].assign(typed([[50, 51], [52, 53]])))
        assert found.astype(int).tolist() == expected.tolist()
        found = session.run(v[2, 1].assign(typed(60)))
        expected[2, 1] = 60
        assert found.astype(int).tolist() == expected.tolist()


def test_a_slice_takes_only_values_of_its_shape() -> None:
    with Graph().as_default(), Session() as session:
        v = Variable([1.0, 2.0, 3.0])
        session.run(v.initializer)
        fed = placeholder("float32")
        update = v[0:2].assign(fed)
        with pytest.raises(errors.InvalidArgumentError, match=r"l-value shape \[2\] does not match .* \[3\]"):
            session.run(update, {fed: [1, 2, 3]})
        assert session.run(update, {fed: 7}).tolist() == [7, 7, 3]


@pytest.mark.parametrize("use_resource", [False, True])
def test_rows_of_each_batch_are_set(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.zeros([2, 3, 2], np.float32), use_resource=use_resource)
        w = tf.Variable(tf.zeros([2, 3]), use_resource=use_resource)
        fed = tf.placeholder(tf.int64, [None, None])
        new_v = tf.batch_scatter_update(v, [[0, 2], [1, 1]], tf.reshape(tf.range(8.0), [2, 2, 2]))
        new_w = tf.batch_scatter_update(w, fed, [[5.0], [6.0]])
        session.run(tf.global_variables_initializer())
        assert session.run(new_v).tolist() == [[[0, 1], [0, 0], [2, 3]], [[0, 0], [6, 7], [0, 0]]]
        assert session.run(new_w, {fed: [[2], [0]]}).tolist() == [[0, 0, 5], [6, 0, 0]]
        assert session.run(tf.batch_scatter_update(w, [[1], [1]], [[7.0], [8.0]])).tolist() == [
            [0, 7, 5],
            [6, 8, 0],
        ]
        by_method = v.batch_scatter_update(tf.IndexedSlices([[[9.0, 9.0]], [[8.0, 8.0]]], [[1], [2]]))
        assert session.run(by_method).tolist() == [[[0, 1], [9, 9], [2, 3]], [[0, 0], [6, 7], [8, 8]]]
        with pytest.raises(ValueError, match="unknown shape"):
            tf.batch_scatter_update(v, tf.placeholder(tf.int32), 1.0)
