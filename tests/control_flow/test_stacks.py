"""Stacks: last in, first out, for one step; by resource and by reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.ops.control_flow.cond import cond
from penstock.ops.control_flow.while_loop import while_loop
from penstock.ops.stacks import (
    STACK,
    STACK_CLOSE,
    STACK_CLOSE_V2,
    STACK_POP,
    STACK_POP_V2,
    STACK_PUSH,
    STACK_PUSH_V2,
    STACK_V2,
)
from penstock.runtime.stacks import Stack
from penstock.tensor.dtypes import float32


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def after(op: Any, build: Any) -> Any:
    with tf.control_dependencies([op]):
        return build()


def pop(handle: Any, dtype: Any = tf.float32) -> Any:
    return STACK_POP_V2(handle, elem_type=dtype)


def test_values_come_back_last_first(session: tf.Session) -> None:
    handle = STACK_V2(-1, elem_type=tf.float32)
    first = STACK_PUSH_V2(handle, [1.0, 2.0])
    second = after(first, lambda: STACK_PUSH_V2(handle, 3.0))
    a = after(second, lambda: pop(handle))
    b = after(a, lambda: pop(handle))
    assert [v.tolist() for v in session.run([a, b, first])] == [3.0, [1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize("dtype", ["int32", "bool", "string", "uint16", "complex64", "bfloat16"])
def test_any_type_can_be_kept(session: tf.Session, dtype: str) -> None:
    value = {"bool": [True, False], "string": [b"a", b"bc"]}.get(dtype, [1, 2])
    handle = STACK_V2(-1, elem_type=dtype)
    pushed = STACK_PUSH_V2(handle, tf.constant(value, dtype))
    assert session.run(after(pushed, lambda: pop(handle, dtype))).tolist() == value


def test_each_step_has_a_stack_of_its_own(session: tf.Session) -> None:
    handle = STACK_V2(1, elem_type=tf.float32)
    pushed = STACK_PUSH_V2(handle, 1.0)
    for _ in range(3):
        assert session.run(pushed) == 1.0
    with pytest.raises(errors.InvalidArgumentError, match="empty"):
        session.run(pop(handle))


def test_a_pop_of_an_empty_stack_names_stack_and_node(session: tf.Session) -> None:
    found = STACK_POP_V2(STACK_V2(-1, elem_type=tf.float32, stack_name="s"), elem_type=tf.float32, name="here")
    with pytest.raises(errors.InvalidArgumentError, match=r"Stack\[s\] is empty when calling Pop(.|\n)*node here"):
        session.run(found)


@pytest.mark.parametrize("size", [0, 1])
def test_a_push_beyond_max_size_is_an_error(session: tf.Session, size: int) -> None:
    handle = STACK_V2(tf.placeholder_with_default(size, []), elem_type=tf.float32)
    pushed = STACK_PUSH_V2(handle, 1.0)
    for _ in range(size):
        pushed = after(pushed, lambda: STACK_PUSH_V2(handle, 2.0))
    with pytest.raises(errors.InvalidArgumentError, match=rf"overflowed its max_size \({size}\)"):
        session.run(pushed)


def test_a_closed_stack_takes_and_gives_nothing(session: tf.Session) -> None:
    handle = STACK_V2(-1, elem_type=tf.float32)
    closed = after(STACK_PUSH_V2(handle, 1.0), lambda: STACK_CLOSE_V2(handle))
    for fetch in (after(closed, lambda: STACK_PUSH_V2(handle, 2.0)), after(closed, lambda: pop(handle))):
        with pytest.raises(errors.InvalidArgumentError, match="has already been closed"):
            session.run(fetch)


def test_another_dtype_is_an_error(session: tf.Session) -> None:
    handle = STACK_V2(-1, elem_type=tf.float32)
    with pytest.raises(errors.InvalidArgumentError, match="holds float32, but the op is for int32"):
        session.run(STACK_PUSH_V2(handle, tf.constant(1)))
    pushed = STACK_PUSH_V2(handle, 1.0)
    with pytest.raises(errors.InvalidArgumentError, match="holds float32, but the op is for int32"):
        session.run(after(pushed, lambda: pop(handle, tf.int32)))


def test_static_shapes() -> None:
    handle = STACK_V2(-1, elem_type=tf.float32)
    assert handle.shape == [2]
    assert STACK_PUSH_V2(handle, [[1.0]]).shape == [1, 1]
    assert pop(handle).shape.ndims is None
    with pytest.raises(ValueError, match="rank 0"):
        STACK_V2([1], elem_type=tf.float32)


def test_what_is_popped_and_fetched_is_the_callers_own(session: tf.Session) -> None:
    handle = STACK_V2(-1, elem_type=tf.float32)
    x = tf.constant([1.0, 2.0])
    popped = after(STACK_PUSH_V2(handle, x), lambda: pop(handle))
    session.run(popped)[:] = 9
    assert session.run(popped).tolist() == [1, 2]
    fed = np.array([3.0, 4.0], np.float32)
    session.run(popped, {x: fed})[:] = 9
    assert fed.tolist() == [3, 4]


@pytest.mark.parametrize("use_resource", [False, True])
def test_what_was_pushed_keeps_its_value_when_the_variable_changes(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    session.run(v.initializer)
    handle = STACK_V2(-1, elem_type=tf.float32)
    pushed = STACK_PUSH_V2(handle, tf.reshape(v.read_value(), [2, 1]))
    changed = after(pushed, lambda: v.assign_add([10.0, 10.0]))
    popped = after(changed, lambda: pop(handle))
    assert session.run(popped).tolist() == [[1], [2]]


def test_a_loop_leaves_what_another_takes_back(session: tf.Session) -> None:
    n = tf.placeholder(tf.int32, [])
    handle = STACK_V2(-1, elem_type=tf.int32)

    def push(i: Any) -> Any:
        with tf.control_dependencies([STACK_PUSH_V2(handle, i * i)]):
            return i + 1

    def take(i: Any, digits: Any) -> Any:
        with tf.control_dependencies([i]):
            top = STACK_POP_V2(handle, elem_type=tf.int32)
        top.set_shape([])
        return i - 1, digits * 100 + top

    count = while_loop(lambda i: i < n, push, [tf.constant(0)])
    _, digits = while_loop(lambda i, _: i > 0, take, [count, tf.constant(0)])
    assert session.run(digits, {n: 4}) == 9040100
    assert session.run(digits, {n: 0}) == 0


def test_a_push_in_a_branch_happens_only_there(session: tf.Session) -> None:
    p = tf.placeholder(tf.bool, [])
    handle = STACK_V2(-1, elem_type=tf.float32)
    bottom = STACK_PUSH_V2(handle, 1.0)
    pushed = after(bottom, lambda: cond(p, lambda: STACK_PUSH_V2(handle, 2.0), lambda: tf.constant(0.0)))
    top = after(pushed, lambda: pop(handle))
    assert session.run(top, {p: True}) == 2
    assert session.run(top, {p: False}) == 1


def test_the_older_ops_work_by_reference(session: tf.Session) -> None:
    handle = STACK(elem_type=tf.float32)
    first = STACK_PUSH(handle, 1.0)
    second = after(first, lambda: STACK_PUSH(handle, 2.0))
    a = after(second, lambda: STACK_POP(handle, elem_type=tf.float32))
    b = after(a, lambda: STACK_POP(handle, elem_type=tf.float32))
    closed = after(b, lambda: STACK_CLOSE(handle))
    assert session.run([a, b, closed]) == [2, 1, None]
    late = after(closed, lambda: STACK_PUSH(handle, 3.0))
    with pytest.raises(errors.InvalidArgumentError, match="closed"):
        session.run(late)


def test_tensors_on_the_host_are_not_swapped() -> None:
    import torch

    stack, value = Stack("s", float32), torch.zeros(10000)
    assert stack.swap_out(value) is value
    assert stack.pop() is value


def test_nothing_is_copied_where_updates_come_after_the_pop(session: tf.Session) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=True)
    handle = STACK_V2(-1, elem_type=tf.float32)
    popped = after(STACK_PUSH_V2(handle, v.read_value()), lambda: pop(handle))
    doubled = popped * 2.0
    update = after(doubled, lambda: v.assign_add([1.0, 1.0]).op)
    session.run(v.initializer)
    assert "copy" not in session._runner([doubled, update], {})[0].source
    assert session.run([doubled, update])[0].tolist() == [2, 4]
