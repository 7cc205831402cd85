"""Gradients against finite differences (TF: tf.test.compute_gradient), and Hessians."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.gradients.gradients import gradients
from penstock.graph.convert import convert_to_tensor
from penstock.graph.default_session import get_default_session
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope


@export("hessians")
def hessians(ys: Any, xs: Any, name: str = "hessians", **options: Any) -> list[Tensor]:
    """For each x, the matrix of second derivatives of the sum of `ys`: shape x.shape + x.shape.

    The static shape of each x must be known. `options` are those of `gradients`. Raises ValueError otherwise.
    """
    single = not isinstance(xs, list | tuple)
    found = []
    with name_scope(name, "hessians"):
        for x in [xs] if single else xs:
            shape = x.shape.as_list() if x.shape.is_fully_defined() else None
            if shape is None:
                raise ValueError(f"hessians needs the static shape of each x; {x.name} has {x.shape}")
            (first,) = gradients(ys, x, **options)
            if first is None:
                raise ValueError(f"ys do not depend on {x.name}")
            reshape, size = get_op("Reshape"), int(np.prod(shape))
            flat = reshape(convert_to_tensor(first), [size])
            rows = []
            for i in range(size):
                element = get_op("StridedSlice")(flat, [i], [i + 1], [1], shrink_axis_mask=1)
                (row,) = gradients(element, x, unconnected_gradients="zero", **options)
                rows.append(convert_to_tensor(row))
            found.append(reshape(get_op("Pack")(rows), shape + shape))
    return found


@export("test.compute_gradient")
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """The Jacobian dy/dx, by `gradients` and by central differences: two arrays [size of x, size of y].

    The real and imaginary parts of complex numbers count as separate, alternating numbers. Given lists, returns a list
    of such pairs. Runs in the default session. TF: tf.test.compute_gradient.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it inside `with sess.as_default():`")
    if init_targets is not None:
        session.run(init_targets)
    listed = isinstance(x, list | tuple)
    xs, shapes = (list(x), list(x_shape)) if listed else ([x], [x_shape])
    values = list(x_init_value) if listed and x_init_value is not None else [x_init_value] * len(xs)
    random = np.random.RandomState(0)
    start = [
        random.uniform(-1, 1, shape).astype(t.dtype.base_dtype.np)
        if v is None
        else np.array(v, t.dtype.base_dtype.np, order="C")
        for t, shape, v in zip(xs, shapes, values, strict=True)
    ]
    feeds = {**(extra_feed_dict or {}), **dict(zip(xs, start, strict=True))}
    pairs = [
        (_theoretical(session, y, y_shape, t, v, feeds), _numeric(session, y, y_shape, t, v, delta, feeds))
        for t, v in zip(xs, start, strict=True)
    ]
    return pairs if listed else pairs[0]


@export("test.compute_gradient_error")
def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> np.floating[Any]:
    """The largest difference between the two Jacobians of `compute_gradient`."""
    pairs = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = pairs if isinstance(pairs, list) else [pairs]
    return max((np.abs(a - b).max() for a, b in pairs if a.size), default=np.float64(0))


def _theoretical(session: Any, y: Tensor, y_shape: Any, x: Tensor, value: np.ndarray, feeds: Any) -> np.ndarray:
    with name_scope("compute_gradient"):
        seed = get_op("Placeholder")(dtype=y.dtype.base_dtype, shape=y_shape)
        (grad,) = gradients(y, x, grad_ys=[seed])
    one = np.zeros(y_shape, y.dtype.base_dtype.np)
    columns = _reals(one)
    jacobian = np.zeros((_reals(value).size, columns.size), value.real.dtype)
    if grad is None:
        return jacobian
    grad = convert_to_tensor(grad)
    for column in range(columns.size):
        columns[:] = 0
        columns[column] = 1
        jacobian[:, column] = _reals(session.run(grad, {**feeds, seed: one.copy()}))
    if not columns.size:
        shape = session.run(grad, {**feeds, seed: one}).shape
        if shape != value.shape:
            raise ValueError(f"Empty gradient has wrong shape: expected {value.shape}, got {shape}")
    return jacobian


def _numeric(
    session: Any, y: Tensor, y_shape: Any, x: Tensor, value: np.ndarray, delta: float, feeds: Any
) -> np.ndarray:
    rows = _reals(value).size
    jacobian = np.zeros((rows, _reals(np.zeros(y_shape, y.dtype.base_dtype.np)).size), value.real.dtype)
    for row in range(rows):
        ends = []
        for sign in (1, -1):
            moved = value.copy()
            _reals(moved)[row] += sign * delta
            ends.append(_reals(session.run(y, {**feeds, x: moved})))
        jacobian[row] = (ends[0] - ends[1]) / (2 * delta)
    return jacobian


def _reals(value: Any) -> np.ndarray:
    """A flat view of an array; for complex numbers, of alternating real and imaginary parts."""
    flat = np.asarray(value).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
