"""Optionals: some tensors, or none, as one value of dtype variant; and FakeParam, which stands for a value that is not
used. TensorFlow 2 passes them from the branches of a conditional to its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import SCALAR, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.runtime.kernels import KernelContext
from penstock.runtime.tensor_lists import sum_of_variants, wrapped, zeros_like_variant
from penstock.tensor.dtypes import string, variant
from penstock.tensor.shapes import TensorShape

OPTIONAL_NONE = define_op("OptionalNone", "", "optional: variant", work=SERIAL)
OPTIONAL_FROM_VALUE = define_op(
    "OptionalFromValue",
    "components: Toutput_types",
    "optional: variant",
    attrs=["Toutput_types: list(type) >= 1"],
    keeps="components",
    aliases=True,
    work=SERIAL,
)
OPTIONAL_HAS_VALUE = define_op("OptionalHasValue", "optional: variant", "has_value: bool", work=SERIAL)
OPTIONAL_GET_VALUE = define_op(
    "OptionalGetValue",
    "optional: variant",
    "components: output_types",
    attrs=["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    aliases=True,
    work=SERIAL,
)
FAKE_PARAM = define_op("FakeParam", "", "output: dtype", attrs=["dtype: type", "shape: shape"], work=SERIAL)


@dataclass(frozen=True, slots=True, eq=False)
class _Optional:
    values: tuple[Any, ...] | None

    def zeros_like(self) -> _Optional:
        return self if self.values is None else _Optional(tuple([_zeros(value) for value in self.values]))

    def plus(self, other: _Optional) -> _Optional:
        if self.values is None or other.values is None:
            if self.values is other.values:
                return self
            raise errors.InvalidArgumentError(None, None, "Cannot add optionals of which only one has a value.")
        return _Optional(tuple([_sum(a, b) for a, b in zip(self.values, other.values, strict=True)]))


def _zeros(value: Any) -> Any:
    """Zeros like a tensor, or like a value of dtype variant; texts are empty."""
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    is_text = value.ndim or isinstance(value[()], bytes)
    return np.full(value.shape, b"", object) if is_text else zeros_like_variant(value)


def _sum(a: Any, b: Any) -> Any:
    return a + b if isinstance(a, torch.Tensor) else sum_of_variants(a, b)


def _scalar(c: ShapeContext, *_: Any) -> TensorShape:
    return SCALAR


for _op in (OPTIONAL_NONE, OPTIONAL_FROM_VALUE, OPTIONAL_HAS_VALUE):
    _op.shape(_scalar)
OPTIONAL_HAS_VALUE.not_differentiable()
OPTIONAL_NONE.not_differentiable()
FAKE_PARAM.shape(shape_rules.from_attr)
FAKE_PARAM.not_differentiable()


@OPTIONAL_GET_VALUE.shape
def get_value_shape(c: ShapeContext, optional: TensorShape) -> list[TensorShape]:
    return list(c.attrs["output_shapes"])


@OPTIONAL_NONE.kernel("CPU")
def none_kernel(ctx: KernelContext) -> Kernel:
    return lambda: _wrapped(None)


@OPTIONAL_FROM_VALUE.kernel("CPU")
def from_value_kernel(ctx: KernelContext) -> Kernel:
    return lambda components: _wrapped(tuple(components))


@OPTIONAL_HAS_VALUE.kernel("CPU")
def has_value_kernel(ctx: KernelContext) -> Kernel:
    def has_value(optional: Any) -> torch.Tensor:
        return torch.tensor(optional[()].values is not None)

    return has_value


@OPTIONAL_GET_VALUE.kernel("CPU")
def get_value_kernel(ctx: KernelContext) -> Kernel:
    def get(optional: Any) -> tuple[Any, ...]:
        values: tuple[Any, ...] | None = optional[()].values
        if values is None:
            raise errors.InvalidArgumentError(None, None, "The given optional does not have a value.")
        return values

    return get


@FAKE_PARAM.kernel("CPU")
def fake_param_kernel(ctx: KernelContext) -> Kernel:
    """Its value is passed on, but nothing computes with it."""
    dtype, sizes = ctx["dtype"], [size or 0 for size in ctx["shape"].tuple or ()]
    if dtype == variant:
        return lambda: _wrapped(None)
    if dtype == string:
        return lambda: np.full(sizes, b"", object)
    kind = ctx.torch_dtype("dtype")
    return lambda: torch.zeros(sizes, dtype=kind)


def _wrapped(values: tuple[Any, ...] | None) -> np.ndarray:
    return wrapped(_Optional(values))


@OPTIONAL_FROM_VALUE.gradient
def from_value_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    types = op.attrs["Toutput_types"]
    shapes = [tensor.shape for tensor in op._inputs]
    return list(OPTIONAL_GET_VALUE(grad, output_types=types, output_shapes=shapes))


@OPTIONAL_GET_VALUE.gradient
def get_value_gradient(op: Operation, *grads: Tensor) -> Tensor:
    zeros = [get_op("ZerosLike")(t) if g is None else g for g, t in zip(grads, op._outputs, strict=True)]
    return OPTIONAL_FROM_VALUE(zeros)
