"""Assertions about values: checked immediately if they are known, otherwise by an Assert node (TF: tf.assert_…)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.basic import no_op
from penstock.ops.logging import Assert
from penstock.tensor.shapes import broadcast_shape

Text = str | None
Count = int | None

# --- comparisons of two tensors -------------------------------------------------------------------------


def _compare(
    op: str,
    sign: str,
    static: Callable[[Any, Any], Any],
    x: Any,
    y: Any,
    data: Any,
    summarize: Count,
    message: Text,
    name: Text,
    default_name: str,
) -> Operation:
    """An operation that fails unless `x op y` holds for every pair of elements."""
    with name_scope(name, default_name, [x, y, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
        broadcast_shape(x.shape, y.shape)  # raises ValueError here before NumPy does
        condition_text = f"Condition x {sign} y did not hold element-wise:"
        known_x, known_y = constant_value(x), constant_value(y)
        if known_x is not None and known_y is not None:
            if np.all(static(known_x, known_y)):
                return no_op("static_checks_determined_all_ok")
            _fail(f"{condition_text}\nx ({x.name}) = \n{known_x}\ny ({y.name}) = \n{known_y}", message)
        if data is None:
            data = [condition_text, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            data = [message, *data] if message else data
        return Assert(all_of(get_op(op)(x, y)), data, summarize=summarize)


def _fail(text: str, message: Text) -> None:
    raise errors.InvalidArgumentError(None, None, f"{message}\n{text}" if message else text)


def all_of(condition: Tensor) -> Tensor:
    """Whether all elements hold, a bool scalar."""
    rank = condition.shape.ndims
    known = None if rank is None else constant(list(range(rank)), "int32")
    return get_op("All")(condition, get_op("Range")(0, get_op("Rank")(condition), 1) if known is None else known)


@export("assert_equal", "debugging.assert_equal")
def assert_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless `x == y` for all elements (broadcast). TF: tf.assert_equal."""
    return _compare("Equal", "==", np.equal, x, y, data, summarize, message, name, "assert_equal")


@export("assert_none_equal", "debugging.assert_none_equal")
def assert_none_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless `x != y` for all elements (broadcast)."""
    return _compare("NotEqual", "!=", np.not_equal, x, y, data, summarize, message, name, "assert_none_equal")


@export("assert_less", "debugging.assert_less")
def assert_less(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless `x < y` for all elements (broadcast)."""
    return _compare("Less", "<", np.less, x, y, data, summarize, message, name, "assert_less")


@export("assert_less_equal", "debugging.assert_less_equal")
def assert_less_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless `x <= y` for all elements (broadcast)."""
    return _compare("LessEqual", "<=", np.less_equal, x, y, data, summarize, message, name, "assert_less_equal")


@export("assert_greater", "debugging.assert_greater")
def assert_greater(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless `x > y` for all elements (broadcast)."""
    return _compare("Greater", ">", np.greater, x, y, data, summarize, message, name, "assert_greater")


@export("assert_greater_equal", "debugging.assert_greater_equal")
def assert_greater_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless `x >= y` for all elements (broadcast)."""
    return _compare(
        "GreaterEqual", ">=", np.greater_equal, x, y, data, summarize, message, name, "assert_greater_equal"
    )


@export("assert_near", "debugging.assert_near")
def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless `|x - y| <= atol + rtol * |y|` for all elements.

    Both tolerances default to ten times the machine epsilon of the dtype.
    """
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
        kind = x.dtype.base_dtype.real_dtype
        eps = 10 * torch.finfo(kind.torch).eps
        rtol = convert_to_tensor(eps if rtol is None else rtol, kind, name="rtol")
        atol = convert_to_tensor(eps if atol is None else atol, kind, name="atol")
        if data is None:
            text = f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}"
            data = [message or "", text, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        limit = get_op("AddV2")(atol, get_op("Mul")(rtol, abs(y)))
        return Assert(all_of(get_op("LessEqual")(abs(get_op("Sub")(x, y)), limit)), data, summarize=summarize)


# --- comparisons with zero ------------------------------------------------------------------------------


def _compare_with_zero(
    op: str,
    sign: str,
    static: Callable[[Any, Any], Any],
    x: Any,
    data: Any,
    summarize: Count,
    message: Text,
    name: Text,
    default_name: str,
) -> Operation:
    with name_scope(name, default_name, [x, data]):
        x = convert_to_tensor(x, name="x")
        if data is None:
            data = [message or "", f"Condition x {sign} 0 did not hold element-wise:", f"x ({x.name}) = ", x]
        known = constant_value(x)
        if known is not None and not np.all(static(known, 0)):
            _fail(f"Condition x {sign} 0 did not hold element-wise:\nx ({x.name}) = \n{known}", message)
        zero = constant(0, x.dtype.base_dtype)
        return _compare(op, sign, static, x, zero, data, summarize, None, None, "compare")


@export("assert_positive", "debugging.assert_positive")
def assert_positive(
    x: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless all elements are > 0. TF: tf.assert_positive."""
    return _compare_with_zero("Greater", ">", np.greater, x, data, summarize, message, name, "assert_positive")


@export("assert_negative", "debugging.assert_negative")
def assert_negative(
    x: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless all elements are < 0."""
    return _compare_with_zero("Less", "<", np.less, x, data, summarize, message, name, "assert_negative")


@export("assert_non_negative", "debugging.assert_non_negative")
def assert_non_negative(
    x: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless all elements are >= 0."""
    return _compare_with_zero(
        "GreaterEqual",
        ">=",
        np.greater_equal,
        x,
        data,
        summarize,
        message,
        name,
        "assert_non_negative",
    )


@export("assert_non_positive", "debugging.assert_non_positive")
def assert_non_positive(
    x: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails with InvalidArgumentError unless all elements are <= 0."""
    return _compare_with_zero(
        "LessEqual",
        "<=",
        np.less_equal,
        x,
        data,
        summarize,
        message,
        name,
        "assert_non_positive",
    )
