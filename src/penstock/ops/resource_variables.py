"""Resource variables: variables accessed by a handle; every read is a separate node.

A read returns a value that later assignments do not change. White paper section 2; TF: ResourceVariable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.graph import shape_rules
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import constant
from penstock.graph.node_kernel import NodeKernel
from penstock.graph.opdef import Bound, Kernel, OpDef, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.array import reshape, squeeze
from penstock.ops.cast import cast
from penstock.ops.gather import out_of_range, take
from penstock.ops.gather_nd import scatter_nd
from penstock.ops.handles import maker_of
from penstock.ops.joining import concat
from penstock.ops.kernel_tools import TORCH_LACKS, as_signed
from penstock.ops.state import (
    NUMBERS,
    accumulator,
    assignment,
    counter,
    is_initialized,
    locked,
    mismatch,
    signed_accumulator,
)
from penstock.runtime.kernels import KernelContext
from penstock.runtime.resources import VariableState
from penstock.tensor.dtypes import opdef_name
from penstock.tensor.shapes import TensorShape, merge_dim

# --- handles --------------------------------------------------------------------------------------------

VAR_HANDLE_OP = define_op(
    "VarHandleOp",
    "",
    "resource: resource",
    attrs=[
        "container: string = ''",
        "shared_name: string = ''",
        "debug_name: string = ''",
        "dtype: type",
        "shape: shape",
        "allowed_devices: list(string) = []",
    ],
    stateful=True,
    holds="variable",
    launches=True,
)
VAR_HANDLE_OP.shape(shape_rules.scalar)
VAR_HANDLE_OP.kernel()(lambda n: Bound(n.variable()))
VAR_HANDLE_OP.not_differentiable()


def handle_shape(handle: Tensor) -> TensorShape:
    """The static shape of the variable that `handle` leads to; unknown if the graph does not show it."""
    op = maker_of(handle)
    return op.attrs["shape"] if op.type == "VarHandleOp" else UNKNOWN


def _shape_of(c: ShapeContext) -> TensorShape:
    return handle_shape(c.op._inputs[0])


VAR_IS_INITIALIZED_OP = define_op(
    "VarIsInitializedOp",
    "resource: resource",
    "is_initialized: bool",
    stateful=True,
    reads="resource",
    work=SERIAL,
    sets_up=True,
)
VAR_IS_INITIALIZED_OP.shape(shape_rules.scalar)
VAR_IS_INITIALIZED_OP.kernel(host=("is_initialized",))(lambda n: is_initialized)
VAR_IS_INITIALIZED_OP.not_differentiable()

DESTROY_RESOURCE_OP = define_op(
    "DestroyResourceOp",
    "resource: resource",
    "",
    attrs=["ignore_lookup_error: bool = true"],
    stateful=True,
)
DESTROY_RESOURCE_OP.shape(shape_rules.no_outputs)
DESTROY_RESOURCE_OP.not_differentiable()


@DESTROY_RESOURCE_OP.kernel()
def destroy_resource_kernel(ctx: KernelContext) -> Kernel:
    ignore = ctx["ignore_lookup_error"]

    def destroy(state: Any) -> None:
        if not ignore and getattr(state, "value", state) is None:
            raise errors.NotFoundError(None, None, f"Resource {state.name} does not exist.")
        state.clear()

    return destroy


DISABLE_COPY_ON_READ = define_op("DisableCopyOnRead", "resource: resource", "", stateful=True)
"""Tells TensorFlow's variables how to be read by savers; here all reads are alike."""
DISABLE_COPY_ON_READ.shape(shape_rules.no_outputs)
DISABLE_COPY_ON_READ.kernel()(lambda n: lambda state: None)
DISABLE_COPY_ON_READ.not_differentiable()


# --- reads ----------------------------------------------------------------------------------------------

READ_VARIABLE_OP = define_op(
    "ReadVariableOp",
    "resource: resource",
    "value: dtype",
    attrs=["dtype: type"],
    stateful=True,
    aliases=True,
    reads="resource",
    work=1.0,
    view="value",
    launches=True,
)
READ_VARIABLE_OP.shape(lambda c, handle: _shape_of(c))
READ_VARIABLE_OP.kernel()(lambda n: VariableState.read)


@READ_VARIABLE_OP.gradient
def read_variable_gradient(op: Operation, grad: Any) -> Any:
    return grad


VARIABLE_SHAPE = define_op(
    "VariableShape",
    "input: resource",
    "output: out_type",
    attrs=["out_type: indextype = int32"],
    stateful=True,
    reads="input",
    work=1.0,
)
VARIABLE_SHAPE.not_differentiable()


@VARIABLE_SHAPE.shape
def variable_shape_shape(c: ShapeContext, handle: TensorShape) -> TensorShape:
    return TensorShape([_shape_of(c).ndims])


@VARIABLE_SHAPE.value
def variable_shape_value(op: Operation, handle: Any) -> np.ndarray | None:
    dims = handle_shape(op._inputs[0]).tuple
    return None if dims is None else np.array(dims, object)


@VARIABLE_SHAPE.kernel(host=("output",))
def variable_shape_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.torch_dtype("out_type")
    return lambda state: torch.tensor(state.read().shape, dtype=dtype)


def variable_shape(handle: Tensor) -> Tensor:
    """The shape of the variable behind `handle`, an int32 vector; a constant if it is known now."""
    known = handle_shape(handle)
    return constant(known.as_list(), "int32") if known.is_fully_defined() else VARIABLE_SHAPE(handle)


# --- gathers --------------------------------------------------------------------------------------------


def check_indices(indices: torch.Tensor, limit: int) -> None:
    """Raises InvalidArgumentError, naming the first culprit, unless all `indices` are in [0, limit)."""
    if indices.numel():
        low, high = torch.aminmax(indices)
        if low < 0 or high >= limit:
            raise out_of_range(indices, limit)


def take_rows(rows: Any, indices: torch.Tensor) -> Any:
    """`rows[indices]` for one-dimensional indices; always a copy."""
    if isinstance(rows, np.ndarray):
        check_indices(indices, rows.shape[0])
        return rows[indices.numpy()]
    return take(as_signed(rows), indices, 0).view(rows.dtype)


RESOURCE_GATHER = define_op(
    "ResourceGather",
    "resource: resource, indices: Tindices",
    "output: dtype",
    attrs=["batch_dims: int = 0", "validate_indices: bool = true", "dtype: type", "Tindices: indextype"],
    stateful=True,
    reads="resource",
    work=1.0,
    part=True,
)


@RESOURCE_GATHER.shape
def resource_gather_shape(c: ShapeContext, handle: TensorShape, indices: TensorShape) -> TensorShape:
    params, batch = _shape_of(c), c.attrs["batch_dims"]
    if params.ndims is None or indices.ndims is None:
        return UNKNOWN
    if not 0 <= batch <= min(indices.ndims, params.ndims - 1):
        raise ValueError(f"batch_dims {batch} does not fit params {params} and indices {indices}")
    for i in range(batch):
        merge_dim(params.as_list()[i], indices.as_list()[i], f"dimension {i} of params and indices")
    return TensorShape([*indices.as_list(), *params.as_list()[batch + 1 :]])


@RESOURCE_GATHER.kernel()
def resource_gather_kernel(ctx: KernelContext) -> Kernel:
    batch = ctx["batch_dims"]

    def gather(state: VariableState, indices: torch.Tensor) -> Any:
        params = state.read()
        shape = params.shape
        if not params.ndim:
            raise errors.InvalidArgumentError(None, None, f"params must be at least 1 dimensional: {state.name}")
        out = (*indices.shape, *shape[batch + 1 :])
        if batch:  # the batches stacked, so that a row of each is found by an offset
            check_indices(indices, shape[batch])
            sizes, count = shape[: batch + 1], int(np.prod(shape[:batch]))
            offsets = torch.arange(count, device=indices.device) * sizes[batch]
            indices = indices + offsets.reshape([*sizes[:batch], *[1] * (indices.ndim - batch)])
            params = params.reshape((count * sizes[batch], *shape[batch + 1 :]))
        return take_rows(params, indices.reshape(-1)).reshape(out)

    return gather


@RESOURCE_GATHER.gradient
def resource_gather_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """The rows that were gathered, as slices of the variable."""
    if op.get_attr("batch_dims"):
        raise NotImplementedError("the gradient of ResourceGather with batch_dims; use tf.gather on a read")
    handle, indices = op.inputs
    shape = variable_shape(handle)
    flat = reshape(indices, [-1])
    if handle_shape(handle).ndims == 1:
        return [IndexedSlices(reshape(grad, [-1]), flat, shape), None]
    rows = concat([[-1], shape[1:]], 0)
    return [IndexedSlices(reshape(grad, rows), flat, shape), None]


RESOURCE_GATHER_ND = define_op(
    "ResourceGatherNd",
    "resource: resource, indices: Tindices",
    "output: dtype",
    attrs=["dtype: type", "Tindices: indextype"],
    stateful=True,
    reads="resource",
    work=1.0,
    part=True,
)


@RESOURCE_GATHER_ND.shape
def resource_gather_nd_shape(c: ShapeContext, handle: TensorShape, indices: TensorShape) -> TensorShape:
    params = _shape_of(c)
    depth = None if indices.ndims is None else indices.with_rank_at_least(1).as_list()[-1]
    if params.ndims is None or depth is None:
        return UNKNOWN
    if depth > params.ndims:
        raise ValueError(f"indices.shape[-1] is {depth}, but params have {params.ndims} dimensions: {params}")
    return TensorShape([*indices.as_list()[:-1], *params.as_list()[depth:]])


def flat_rows(shape: Any, indices: torch.Tensor, name: str = "indices") -> torch.Tensor:
    """Indices [..., depth] into the first `depth` dimensions of `shape`, as numbers of flattened rows [n]."""
    depth = indices.shape[-1]
    if depth > len(shape):
        raise errors.InvalidArgumentError(
            None, None, f"{name}.shape[-1] is {depth}, but the variable has shape {list(shape)}"
        )
    sizes = torch.tensor(shape[:depth], dtype=indices.dtype, device=indices.device)
    wrong = ((indices < 0) | (indices >= sizes)).any(-1)
    if wrong.any():
        where = tuple(wrong.nonzero()[0].tolist())
        at = f"[{','.join(map(str, where))}]" if where else ""
        raise errors.InvalidArgumentError(
            None, None, f"{name}{at} = {indices[where].tolist()} does not index into shape {list(shape)}"
        )
    flat = indices.new_zeros(indices.shape[:-1])
    for axis in range(depth):
        flat = flat * shape[axis] + indices[..., axis]
    return flat.reshape(-1)


@RESOURCE_GATHER_ND.kernel()
def resource_gather_nd_kernel(ctx: KernelContext) -> Kernel:
    def gather(state: VariableState, indices: torch.Tensor) -> Any:
        params = state.read()
        depth = indices.shape[-1]
        rows = flat_rows(params.shape, indices)
        count = int(np.prod(params.shape[:depth]))
        found = take_rows(params.reshape((count, *params.shape[depth:])), rows)
        return found.reshape((*indices.shape[:-1], *params.shape[depth:]))

    return gather


@RESOURCE_GATHER_ND.gradient
def resource_gather_nd_gradient(op: Operation, grad: Tensor) -> list[Any]:
    handle, indices = op.inputs
    shape = variable_shape(handle)
    if indices.shape.ndims == 2 and indices.shape.as_list()[-1] == 1:
        return [IndexedSlices(grad, squeeze(indices, [-1]), shape), None]
    return [scatter_nd(indices, grad, cast(shape, indices.dtype)), None]


# --- assignments ----------------------------------------------------------------------------------------

ASSIGN_VARIABLE_OP = define_op(
    "AssignVariableOp",
    "resource: resource, value: dtype",
    "",
    attrs=["dtype: type", "validate_shape: bool = false"],
    stateful=True,
    work=1.0,
    assigns=True,
    launches=True,
)
ASSIGN_VARIABLE_OP.not_differentiable()


def _update_shape(c: ShapeContext, handle: TensorShape, value: TensorShape) -> list[TensorShape]:
    """No outputs; the value must have the variable's shape."""
    op = maker_of(c.op._inputs[0])
    if op.type == "VarHandleOp" and op.attrs["dtype"] != c.attrs["dtype"]:
        wanted, given = opdef_name(op.attrs["dtype"]), opdef_name(c.attrs["dtype"])
        raise ValueError(f"Trying to assign variable with wrong dtype. Expected {wanted} got {given}")
    _shape_of(c).merge_with(value)
    return []


ASSIGN_VARIABLE_OP.shape(_update_shape)


@ASSIGN_VARIABLE_OP.kernel()
def assign_variable_kernel(ctx: KernelContext) -> NodeKernel:
    validate = ctx["validate_shape"]

    def assign(put: Callable[..., None], state: VariableState, value: Any) -> None:
        buffer = state.value
        if validate and (
            not state.shape.is_compatible_with(value.shape) if buffer is None else buffer.shape != value.shape
        ):
            raise mismatch("AssignVariableOp", state, value)
        put(state, value)

    return assignment(assign)


def _define_accumulation(name: str, method: Callable[[Any, Any], Any]) -> OpDef:
    op = define_op(
        name, "resource: resource, value: dtype", "", attrs=["dtype: type"], stateful=True, work=1.0, launches=True
    )
    op.shape(_update_shape)
    op.kernel(dtype=NUMBERS)(lambda n: locked(accumulator(name, method)))
    op.kernel(dtype=TORCH_LACKS)(lambda n: locked(signed_accumulator(name, method)))
    op.not_differentiable()
    return op


ASSIGN_ADD_VARIABLE_OP = _define_accumulation("AssignAddVariableOp", torch.Tensor.add_)
ASSIGN_SUB_VARIABLE_OP = _define_accumulation("AssignSubVariableOp", torch.Tensor.sub_)

RESOURCE_COUNT_UP_TO = define_op(
    "ResourceCountUpTo",
    "resource: resource",
    "output: T",
    attrs=["limit: int", "T: indextype"],
    stateful=True,
    work=SERIAL,
)
RESOURCE_COUNT_UP_TO.shape(shape_rules.scalar)
RESOURCE_COUNT_UP_TO.kernel()(counter)
RESOURCE_COUNT_UP_TO.not_differentiable()
