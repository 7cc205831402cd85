"""Keras' choices between tensors, the learning phase, and loops."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.keras.backend.state import learning_phase
from penstock.keras.backend.tensors import ndim
from penstock.layers.core import choose
from penstock.ops.array import expand_dims as expand_dims_op
from penstock.ops.basic import identity as identity_op
from penstock.ops.cast import cast as cast_op
from penstock.ops.compare import logical_and
from penstock.ops.control_flow.functional import foldl as foldl_op, foldr as foldr_op, map_fn as map_fn_op
from penstock.ops.filling import ones_like as ones_like_op
from penstock.ops.logging import Print
from penstock.ops.partition import where


@export("keras.backend.switch")
def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two tensors, or of two functions' results: for a scalar condition, or element by element."""
    if ndim(condition) == 0:
        then = then_expression if callable(then_expression) else lambda: then_expression
        other = else_expression if callable(else_expression) else lambda: else_expression
        return choose(condition, lambda: identity_op(then()), lambda: identity_op(other()))
    then = then_expression() if callable(then_expression) else then_expression
    other = else_expression() if callable(else_expression) else else_expression
    condition = cast_op(condition, "bool")
    while ndim(condition) < ndim(then):  # type: ignore[operator]
        condition = expand_dims_op(condition, -1)
    return where(logical_and(condition, ones_like_op(then, dtype="bool")), then, other)


@export("keras.backend.in_train_phase")
def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`x` in training, otherwise `alt`; each is a tensor or a function."""
    training = learning_phase() if training is None else training
    return choose(
        training,
        x if callable(x) else lambda: identity_op(x),
        alt if callable(alt) else lambda: identity_op(alt),
    )


@export("keras.backend.in_test_phase")
def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`alt` in training, otherwise `x`; each is a tensor or a function."""
    return in_train_phase(alt, x, training)


@export("keras.backend.map_fn")
def map_fn(fn: Any, elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    return map_fn_op(fn, elems, name=name, dtype=dtype)


@export("keras.backend.foldl")
def foldl(fn: Any, elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    return foldl_op(fn, elems, initializer, name=name)


@export("keras.backend.foldr")
def foldr(fn: Any, elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    return foldr_op(fn, elems, initializer, name=name)


@export("keras.backend.print_tensor")
def print_tensor(x: Any, message: str = "") -> Tensor:
    """`x`, printed whenever a step computes it."""
    return Print(x, [x], message)
