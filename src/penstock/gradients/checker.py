"""Gradients against finite differences (TF: tf.test.compute_gradient), and Hessians."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.gradients.gradients import gradients
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.session.session import get_default_session


def hessians(ys: Any, xs: Any, name: str = "hessians", **options: Any) -> list[Tensor]:
    """For each x, the matrix of second derivatives of the sum of `ys`: shape x.shape + x.shape.

    The static shape of each x must be known. `options` are those of `gradients`. ValueError otherwise.
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

    Given lists, a list of such pairs. Runs in the default session. TF: tf.test.compute_gradient.
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
        else np.asarray(v, t.dtype.base_dtype.np)
        for t, shape, v in zip(xs, shapes, values, strict=True)
    ]
    feeds = {**(extra_feed_dict or {}), **dict(zip(xs, start, strict=True))}
    pairs = [
        (_theoretical(session, y, y_shape, t, v, feeds), _numeric(session, y, y_shape, t, v, delta, feeds))
        for t, v in zip(xs, start, strict=True)
    ]
    return pairs if listed else pairs[0]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """The largest difference between the two Jacobians of `compute_gradient`."""
    pairs = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = pairs if isinstance(pairs, list) else [pairs]
    return max((float(np.abs(a - b).max()) for a, b in pairs if a.size), default=0.0)


def _theoretical(session: Any, y: Tensor, y_shape: Any, x: Tensor, value: np.ndarray, feeds: Any) -> np.ndarray:
    y_size = int(np.prod(y_shape))
    with name_scope("compute_gradient"):
        seed = get_op("Placeholder")(dtype=y.dtype.base_dtype, shape=y_shape)
        (grad,) = gradients(y, x, grad_ys=[seed])
    if grad is None:
        return np.zeros((value.size, y_size), value.dtype)
    grad = convert_to_tensor(grad)
    jacobian = np.zeros((value.size, y_size), value.dtype)
    for column in range(y_size):
        one = np.zeros(y_size, y.dtype.base_dtype.np)
        one[column] = 1
        jacobian[:, column] = session.run(grad, {**feeds, seed: one.reshape(y_shape)}).reshape(-1)
    return jacobian


def _numeric(
    session: Any, y: Tensor, y_shape: Any, x: Tensor, value: np.ndarray, delta: float, feeds: Any
) -> np.ndarray:
    jacobian = np.zeros((value.size, int(np.prod(y_shape))), value.dtype)
    for row in range(value.size):
        ends = []
        for sign in (1, -1):
            moved = value.copy()
            moved.reshape(-1)[row] += sign * delta
            ends.append(np.asarray(session.run(y, {**feeds, x: moved})).reshape(-1))
        jacobian[row] = (ends[0] - ends[1]) / (2 * delta)
    return jacobian
