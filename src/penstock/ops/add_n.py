"""Sums of any number of tensors (TF: tf.add_n, tf.accumulate_n)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from penstock.analysis.in_place import register_in_place
from penstock.emit.expressions import C_TYPES, SAME, UNSIGNED, Expression, expresses
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.shape_context import ShapeContext
from penstock.graph.step_graph import Node
from penstock.ops.basic import identity
from penstock.ops.elementwise import NATIVE
from penstock.ops.kernel_tools import TORCH_LACKS, via_numpy
from penstock.runtime.kernels import KernelContext
from penstock.runtime.tensor_lists import sum_of_variants
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape

ADD_N = define_op(
    "AddN",
    "inputs: N * T",
    "sum: T",
    attrs=[
        "N: int >= 1",
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
        "qint16, quint16, uint16, complex128, half, uint32, uint64, variant}",
    ],
    commutative=True,
    aggregate=True,
    shape=shape_rules.same,
    work=1.0,
    bits16="infer",
)
ACCUMULATE_N_V2 = define_op(
    "AccumulateNV2",
    "inputs: N * T",
    "sum: T",
    attrs=["N: int >= 1", "T: numbertype", "shape: shape"],
    commutative=True,
    aggregate=True,
    work=1.0,
    launches=True,
)


@ACCUMULATE_N_V2.shape
@shape_rules.of_first
def accumulate_n_v2_shape(c: ShapeContext, inputs: list[TensorShape]) -> TensorShape:
    return shape_rules.same(c, inputs).merge_with(c.attrs["shape"])


@ADD_N.kernel(T=NATIVE)
@ACCUMULATE_N_V2.kernel(T=NATIVE)
def add_n_kernel(ctx: KernelContext) -> Any:
    return {1: _one, 2: _two}.get(ctx["N"], _many)


@ADD_N.kernel("CPU", T=TORCH_LACKS)
@ACCUMULATE_N_V2.kernel("CPU", T=TORCH_LACKS)
def add_n_numpy_kernel(ctx: KernelContext) -> Any:
    def add_all(inputs: list[np.ndarray]) -> Any:
        return np.sum(np.stack(inputs), axis=0, dtype=inputs[0].dtype)

    return via_numpy(add_all, ctx["T"])


@ADD_N.kernel("CPU", T="variant")
def add_n_lists_kernel(ctx: KernelContext) -> Any:
    """Lists of tensors are added element by element."""
    return lambda inputs: functools.reduce(sum_of_variants, inputs)


def _one(inputs: list[torch.Tensor]) -> torch.Tensor:
    return inputs[0].clone()


def _two(inputs: list[torch.Tensor]) -> torch.Tensor:
    x, y = inputs
    if x.shape != y.shape:
        raise _unequal(inputs)
    return torch.add(x, y)


def _many(inputs: list[torch.Tensor]) -> torch.Tensor:
    return _add_into([_two(inputs[:2]), *inputs[2:]])


def _add_into(inputs: list[torch.Tensor]) -> torch.Tensor:
    total, *others = inputs
    if any(value.shape != total.shape for value in others):
        raise _unequal(inputs)
    for value in others:
        total.add_(value)
    return total


register_in_place(_two, {0: _add_into})
register_in_place(_many, {0: _add_into})


def _unequal(inputs: list[torch.Tensor]) -> ValueError:
    return ValueError(f"Inputs must all have the same shape, got {', '.join(str(list(x.shape)) for x in inputs)}")


@ADD_N.gradient
@ACCUMULATE_N_V2.gradient
def add_n_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad] * len(op._inputs)


@export("add_n", "math.add_n")
@of_ragged("elements")
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of the same shape and dtype (TF: tf.add_n). Raises ValueError for an empty list."""
    tensors = _tensors(inputs)
    if len(tensors) == 1:
        return tensors[0] if name is None else identity(tensors[0], name=name)
    return ADD_N(tensors, name=name)


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """`add_n`, with optional checks of the shape and dtype (TF: tf.accumulate_n)."""
    tensors = _tensors(inputs)
    if tensor_dtype is not None and tensors[0].dtype.base_dtype != as_dtype(tensor_dtype):
        raise TypeError(f"tensor_dtype is {as_dtype(tensor_dtype).name}, but input is of type {tensors[0].dtype.name}")
    merged = TensorShape(shape)
    for tensor in tensors:
        merged = merged.merge_with(tensor.shape)
    if len(tensors) == 1:
        return tensors[0] if name is None else identity(tensors[0], name=name)
    return ACCUMULATE_N_V2(tensors, shape=merged, name=name)


def _tensors(inputs: Any) -> list[Tensor]:
    if not isinstance(inputs, list | tuple):
        inputs = [inputs]
    if not inputs:
        raise ValueError("inputs must be a list of at least one tensor")
    tensors = [convert_to_tensor(value) for value in inputs]
    if any(t.dtype.base_dtype != tensors[0].dtype.base_dtype for t in tensors):
        raise ValueError(f"inputs must have the same dtype, got {', '.join(t.dtype.name for t in tensors)}")
    return tensors


@expresses("AddN", "AccumulateNV2")
def add_n_expression(node: Node) -> Expression | None:
    """The sum from left to right, like the kernel's."""
    ctype = C_TYPES[node.dtypes[0]]
    if ctype == "u8":
        return None
    unsigned = UNSIGNED.get(ctype, ctype)
    text = " + ".join(f"({unsigned}){{{i}}}" for i in range(len(node.inputs)))
    return Expression(f"({ctype})({text})", ctype, SAME, len(node.inputs) - 1)
