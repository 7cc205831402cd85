"""TensorLists as ops: what programs of TensorFlow 2 rarely use (for the rest: graph/test_tensorflow2_functions.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op

FLOAT = {"element_dtype": tf.float32}


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def listed(*rows: Any) -> Any:
    return get_op("TensorListFromTensor")(tf.constant(rows, tf.float32), -1, **FLOAT)


def stacked(handle: Any) -> Any:
    return get_op("TensorListStack")(handle, -1, **FLOAT)


def test_a_change_leaves_the_old_list_as_it_was() -> None:
    before = listed(1, 2)
    after = get_op("TensorListSetItem")(before, 0, 5.0, **FLOAT)
    longer = get_op("TensorListPushBack")(after, 7.0, **FLOAT)
    rest, last = get_op("TensorListPopBack")(longer, -1, **FLOAT)
    found = run([stacked(each) for each in (before, after, longer, rest)] + [last])
    assert [each.tolist() for each in found] == [[1, 2], [5, 2], [5, 2, 7], [5, 2], 7]


def test_elements_that_were_not_set_are_zeros_of_the_shape_that_is_known() -> None:
    handle = get_op("TensorListReserve")([-1], 3, **FLOAT)
    one = get_op("TensorListSetItem")(handle, 1, [4.0, 5.0], **FLOAT)
    assert run(stacked(one)).tolist() == [[0, 0], [4, 5], [0, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not fully known"):
        run(stacked(handle))
    with pytest.raises(tf.errors.InvalidArgumentError, match="access element 3"):
        run(get_op("TensorListGetItem")(handle, 3, -1, **FLOAT))


def test_lists_are_joined_lengthened_and_measured() -> None:
    both = get_op("TensorListConcatLists")(listed(1, 2), listed(3), **FLOAT)
    longer = get_op("TensorListResize")(both, 4)
    shape = get_op("TensorListElementShape")(longer, shape_type="int64")
    length = get_op("TensorListLength")(longer)
    found = run([stacked(longer), length, shape])
    assert [np.asarray(each).tolist() for each in found] == [[1, 2, 3, 0], 4, []]


def test_rows_are_pushed_on_many_lists_at_once() -> None:
    handles = tf.stack([listed(1), listed(2, 3)])
    pushed = get_op("TensorListPushBackBatch")(handles, [8.0, 9.0], **FLOAT)
    assert [each.tolist() for each in run([stacked(each) for each in tf.unstack(pushed, 2)])] == [[1, 8], [2, 3, 9]]


@pytest.mark.parametrize("op", ["TensorListScatter", "TensorListScatterV2"])
def test_rows_are_scattered_to_a_new_list(op: str) -> None:
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    more = [5] if op == "TensorListScatterV2" else []
    y = stacked(get_op(op)(rows, [2, 0], -1, *more, **FLOAT))
    grad = tf.gradients(y, rows, tf.cumsum(tf.ones_like(y)))[0]
    found = run([y, grad])
    assert found[0][:3].tolist() == [[3, 4], [0, 0], [1, 2]]
    assert found[1].tolist() == [[3, 3], [1, 1]]


def test_rows_are_scattered_into_a_list() -> None:
    x, rows = tf.constant([1.0, 2.0]), tf.constant([5.0, 6.0])
    handle = get_op("TensorListFromTensor")(x, -1, **FLOAT)
    y = stacked(get_op("TensorListScatterIntoExistingList")(handle, rows, [1, 3], **FLOAT))
    found = run([y, *tf.gradients(y * y, [x, rows])])
    assert [each.tolist() for each in found] == [[1, 5, 0, 6], [2, 0], [10, 12]]


@pytest.mark.parametrize("op", ["TensorListConcat", "TensorListConcatV2"])
def test_parts_of_different_lengths_are_concatenated(op: str) -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    parts = get_op("TensorListSplit")(x, -1, np.int64([2, 1]), **FLOAT)
    more = [-1, np.zeros(0, np.int64)] if op == "TensorListConcatV2" else []
    y, lengths = get_op(op)(parts, *more, **FLOAT)
    found = run([y, lengths, tf.gradients(y * y, x)[0]])
    assert [each.tolist() for each in found] == [[1, 2, 3], [2, 1], [2, 4, 6]]


def test_a_row_that_is_gathered_twice_gets_both_gradients() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    handle = get_op("TensorListFromTensor")(x, -1, **FLOAT)
    y = get_op("TensorListGather")(handle, [2, 0, 2], -1, **FLOAT)
    assert [each.tolist() for each in run([y, tf.gradients(y, x, tf.constant([1.0, 10.0, 100.0]))[0]])] == [
        [3, 1, 3],
        [10, 0, 101],
    ]


def test_an_element_of_another_shape_or_an_impossible_split_is_refused() -> None:
    handle = get_op("TensorListReserve")([2], 3, **FLOAT)
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        run(get_op("TensorListLength")(get_op("TensorListSetItem")(handle, 1, [4.0], **FLOAT)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="lengths"):
        run(get_op("TensorListLength")(get_op("TensorListSplit")([1.0, 2.0], -1, np.int64([3]), **FLOAT)))


def test_texts_are_elements_too() -> None:
    handle = get_op("EmptyTensorList")(np.zeros(0, np.int32), -1, element_dtype=tf.string)
    handle = get_op("TensorListPushBack")(handle, b"a", element_dtype=tf.string)
    longer = get_op("TensorListResize")(handle, 2)
    assert run(get_op("TensorListStack")(longer, -1, element_dtype=tf.string)).tolist() == [b"a", b""]


def test_gradients_go_through_lists_in_lists_of_which_only_some_elements_are_used() -> None:
    a, b = tf.constant(2.0), tf.constant(5.0)
    empty = get_op("EmptyTensorList")
    push, pop = get_op("TensorListPushBack"), get_op("TensorListPopBack")
    inner = push(push(empty(-1, -1, **FLOAT), a, **FLOAT), b, **FLOAT)
    outer = empty(-1, -1, element_dtype=tf.variant)
    for _ in range(2):
        outer = push(outer, inner, element_dtype=tf.variant)
    _, taken = pop(pop(outer, -1, element_dtype=tf.variant)[0], -1, element_dtype=tf.variant)
    rest, last = pop(taken, -1, **FLOAT)
    y = last * pop(rest, -1, **FLOAT)[1] + 3.0 * pop(inner, -1, **FLOAT)[1]
    assert run(tf.gradients(y, [a, b])) == [5.0, 2.0 + 3.0]


def test_gradients_of_optionals_are_added_and_may_be_zeros() -> None:
    x, unused = tf.constant(3.0), tf.constant([4.0, 5.0])
    handle = get_op("TensorListFromTensor")(unused, -1, **FLOAT)
    some = get_op("OptionalFromValue")([x, handle])
    get, types = get_op("OptionalGetValue"), [tf.float32, tf.variant]
    one, other = (get(some, output_types=types, output_shapes=[[], []]) for _ in range(2))
    y = one[0] * other[0] + tf.reduce_sum(stacked(other[1])[:1])
    assert [each.tolist() for each in run(tf.gradients(y, [x, unused]))] == [6, [1, 0]]
    zeros = get_op("ZerosLike")
    assert run(get(zeros(some), output_types=types, output_shapes=[[], []])[0]) == 0
    none = get_op("OptionalNone")()
    assert not run(get_op("OptionalHasValue")(get_op("AddN")([zeros(none), none])))
    with pytest.raises(tf.errors.InvalidArgumentError, match="only one has a value"):
        run(get_op("OptionalHasValue")(get_op("AddN")([some, none])))


def test_an_optional_has_its_value_or_none() -> None:
    x = tf.constant(3.0)
    some, none = get_op("OptionalFromValue")([x * x]), get_op("OptionalNone")()
    value = get_op("OptionalGetValue")(some, output_types=[tf.float32], output_shapes=[[]])[0]
    fake = get_op("FakeParam")(dtype=tf.int32, shape=[2])
    has = get_op("OptionalHasValue")
    found = run([has(some), has(none), value, tf.gradients(value, x)[0]])
    assert [np.asarray(each).tolist() for each in found] == [True, False, 9, 6]
    assert run(fake).shape == (2,) and run(fake).dtype == np.int32  # a value that no one reads
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        run(get_op("OptionalGetValue")(none, output_types=[tf.float32], output_shapes=[[]])[0])
