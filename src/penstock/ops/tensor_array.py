"""TensorArrays: tensors by index, written and read one at a time, as in loops (TF: tf.TensorArray).

The array itself is an object that lives for a step. A float called flow connects each op on it to the next: it orders
them, gradients follow it, and it shows the planner where written values may be read.
"""

from __future__ import annotations

from typing import Any

import torch

from penstock.graph import shape_rules
from penstock.graph.constants import constant_value
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import get_default_graph
from penstock.graph.shape_context import SCALAR, UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.handles import maker_of
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.runtime.tensor_arrays import TensorArrayState
from penstock.tensor.shapes import TensorShape, merge_dim

HANDLE = TensorShape([2])
_GRADIENT = frozenset({"TensorArrayGradV3"})


def element_shape_of(handle: Tensor) -> TensorShape:
    """The static shape of the elements of the array that `handle` leads to; unknown if they may differ."""
    op = maker_of(handle, also=_GRADIENT)
    if op.type != "TensorArrayV3" or not op.attrs["identical_element_shapes"]:
        return UNKNOWN
    return op.attrs["element_shape"]


# --- the array ------------------------------------------------------------------------------------------

TENSOR_ARRAY_V3 = define_op(
    "TensorArrayV3",
    "size: int32",
    "handle: resource, flow: float",
    attrs=[
        "dtype: type",
        "element_shape: shape = unknown",
        "dynamic_size: bool = false",
        "clear_after_read: bool = true",
        "identical_element_shapes: bool = false",
        "tensor_array_name: string = ''",
    ],
    stateful=True,
    holds="array",
)
TENSOR_ARRAY_V3.not_differentiable()


@TENSOR_ARRAY_V3.shape
def tensor_array_shape(c: ShapeContext, size: TensorShape) -> list[TensorShape]:
    size.with_rank(0)
    return [HANDLE, SCALAR]


@TENSOR_ARRAY_V3.kernel(host=("size",))
def tensor_array_kernel(ctx: KernelContext) -> Kernel:
    """A new array each time the node runs."""
    name, dtype, device = ctx.text("tensor_array_name") or ctx.name, ctx["dtype"], ctx.device
    shape, dynamic, clear = ctx["element_shape"], ctx["dynamic_size"], ctx["clear_after_read"]
    identical, flow = ctx["identical_element_shapes"], torch.zeros((), device=device)

    def create(size: Any) -> tuple[TensorArrayState, torch.Tensor]:
        if size.ndim:
            raise invalid(f"TensorArray size must be scalar, but had shape: {list(size.shape)}")
        return TensorArrayState(name, dtype, size.item(), shape, dynamic, clear, identical, device), flow

    return create


TENSOR_ARRAY_SIZE_V3 = define_op(
    "TensorArraySizeV3", "handle: resource, flow_in: float", "size: int32", stateful=True, gives_back=True, work=SERIAL
)
TENSOR_ARRAY_SIZE_V3.shape(shape_rules.scalar)
TENSOR_ARRAY_SIZE_V3.not_differentiable()


@TENSOR_ARRAY_SIZE_V3.kernel(host=("size",))
def size_kernel(ctx: KernelContext) -> Kernel:
    return lambda array, flow: torch.tensor(array.size(), dtype=torch.int32)


TENSOR_ARRAY_CLOSE_V3 = define_op("TensorArrayCloseV3", "handle: resource", "", stateful=True)
TENSOR_ARRAY_CLOSE_V3.shape(shape_rules.no_outputs)
TENSOR_ARRAY_CLOSE_V3.kernel()(lambda n: TensorArrayState.close)
TENSOR_ARRAY_CLOSE_V3.not_differentiable()

# --- arrays of gradients --------------------------------------------------------------------------------

TENSOR_ARRAY_GRAD_V3 = define_op(
    "TensorArrayGradV3",
    "handle: resource, flow_in: float",
    "grad_handle: resource, flow_out: float",
    attrs=["source: string"],
    stateful=True,
    holds="array",
)
TENSOR_ARRAY_GRAD_WITH_SHAPE = define_op(
    "TensorArrayGradWithShape",
    "handle: resource, flow_in: float, shape_to_prepend: int32",
    "grad_handle: resource, flow_out: float",
    attrs=["source: string"],
    stateful=True,
    holds="array",
)
for _op in (TENSOR_ARRAY_GRAD_V3, TENSOR_ARRAY_GRAD_WITH_SHAPE):
    _op.shape(lambda c, *_: [HANDLE, SCALAR])
    _op.not_differentiable()


@TENSOR_ARRAY_GRAD_V3.kernel()
def grad_kernel(ctx: KernelContext) -> Kernel:
    source, out = ctx.text("source"), torch.zeros((), device=ctx.device)
    return lambda array, flow: (array.gradient(source), out)


@TENSOR_ARRAY_GRAD_WITH_SHAPE.kernel(host=("shape_to_prepend",))
def grad_with_shape_kernel(ctx: KernelContext) -> Kernel:
    source, out = ctx.text("source"), torch.zeros((), device=ctx.device)
    return lambda array, flow, shape: (array.gradient(source, tuple(shape.tolist())), out)


def gradient_array(op: Operation, flow: Tensor) -> Tensor:
    """The handle of the array of gradients for the array of `op`, in the current call of `gradients`.

    Each call sums its own gradients. `flow` comes after all writes to the array, so that the sizes match.
    """
    call = get_default_graph()._scopes.gradients or f"gradients of {op.name}"
    return TENSOR_ARRAY_GRAD_V3(op.inputs[0], flow, source=call)[0]


# --- one element ----------------------------------------------------------------------------------------

TENSOR_ARRAY_WRITE_V3 = define_op(
    "TensorArrayWriteV3",
    "handle: resource, index: int32, value: T, flow_in: float",
    "flow_out: float",
    attrs=["T: type"],
    stateful=True,
    keeps="value",
    aliases=True,
    work=1.0,
)
TENSOR_ARRAY_WRITE_V3.puts(lambda inputs: inputs[2])
TENSOR_ARRAY_READ_V3 = define_op(
    "TensorArrayReadV3",
    "handle: resource, index: int32, flow_in: float",
    "value: dtype",
    attrs=["dtype: type"],
    stateful=True,
    aliases=True,
    work=1.0,
)
TENSOR_ARRAY_READ_V3.takes(lambda element, inputs: element)


@TENSOR_ARRAY_WRITE_V3.shape
def write_shape(c: ShapeContext, handle: TensorShape, index: TensorShape, *others: TensorShape) -> TensorShape:
    index.with_rank(0)
    return SCALAR


@TENSOR_ARRAY_READ_V3.shape
def read_shape(c: ShapeContext, handle: TensorShape, index: TensorShape, flow: TensorShape) -> TensorShape:
    index.with_rank(0)
    return element_shape_of(c.op._inputs[0])


@TENSOR_ARRAY_WRITE_V3.kernel(host=("index",))
def write_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def write(array: TensorArrayState, index: Any, value: Any, flow: torch.Tensor) -> torch.Tensor:
        if array.dtype is not dtype:
            raise array.wrong_dtype("is trying to write", dtype)
        array.write(index.item(), value)
        return flow

    return write


@TENSOR_ARRAY_READ_V3.kernel(host=("index",))
def read_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["dtype"]

    def read(array: TensorArrayState, index: Any, flow: torch.Tensor) -> Any:
        if array.dtype is not dtype:
            raise array.wrong_dtype("requested", dtype)
        return array.read(index.item())

    return read


@TENSOR_ARRAY_READ_V3.gradient
def read_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Writes the gradient of the value that was read; returns the flow after that."""
    _, index, flow = op.inputs
    return [None, None, TENSOR_ARRAY_WRITE_V3(gradient_array(op, flow), index, grad, flow)]


@TENSOR_ARRAY_WRITE_V3.gradient
def write_gradient(op: Operation, flow: Tensor) -> list[Any]:
    """Reads the gradient of the value that was written; `flow` comes after the gradients of all reads."""
    _, index, value, _ = op.inputs
    grad = TENSOR_ARRAY_READ_V3(gradient_array(op, flow), index, flow, dtype=value.dtype.base_dtype)
    return [None, None, grad, flow]


# --- many elements of one shape -------------------------------------------------------------------------

TENSOR_ARRAY_GATHER_V3 = define_op(
    "TensorArrayGatherV3",
    "handle: resource, indices: int32, flow_in: float",
    "value: dtype",
    attrs=["dtype: type", "element_shape: shape = unknown"],
    stateful=True,
    work=1.0,
)
TENSOR_ARRAY_GATHER_V3.takes(lambda element, inputs: inputs[1].concatenate(element))
TENSOR_ARRAY_SCATTER_V3 = define_op(
    "TensorArrayScatterV3",
    "handle: resource, indices: int32, value: T, flow_in: float",
    "flow_out: float",
    attrs=["T: type"],
    stateful=True,
    keeps="value",
    aliases=True,
    work=1.0,
)
TENSOR_ARRAY_SCATTER_V3.puts(lambda inputs: inputs[2][1:])


@TENSOR_ARRAY_GATHER_V3.shape
def gather_shape(c: ShapeContext, handle: TensorShape, indices: TensorShape, flow: TensorShape) -> TensorShape:
    count = TensorShape(indices.with_rank(1).as_list())
    return count.concatenate(c.attrs["element_shape"].merge_with(element_shape_of(c.op._inputs[0])))


@TENSOR_ARRAY_SCATTER_V3.shape
def scatter_shape(
    c: ShapeContext, handle: TensorShape, indices: TensorShape, value: TensorShape, flow: TensorShape
) -> Any:
    count = indices.with_rank(1).as_list()[0]
    value.with_rank_at_least(1)
    if value.ndims is not None:
        merge_dim(count, value.as_list()[0], "the number of indices and of rows of value")
    return SCALAR


@TENSOR_ARRAY_GATHER_V3.kernel(host=("indices",))
def gather_kernel(ctx: KernelContext) -> Kernel:
    dtype, shape = ctx["dtype"], ctx["element_shape"]

    def gather(array: TensorArrayState, indices: torch.Tensor, flow: torch.Tensor) -> Any:
        if array.dtype is not dtype:
            raise array.wrong_dtype("requested", dtype)
        return array.gather(indices.tolist(), shape)

    return gather


@TENSOR_ARRAY_SCATTER_V3.kernel(host=("indices",))
def scatter_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def scatter(array: TensorArrayState, indices: torch.Tensor, value: Any, flow: torch.Tensor) -> torch.Tensor:
        if array.dtype is not dtype:
            raise array.wrong_dtype("is trying to write", dtype)
        array.scatter(indices.tolist(), value)
        return flow

    return scatter


@TENSOR_ARRAY_GATHER_V3.gradient
def gather_gradient(op: Operation, grad: Tensor) -> list[Any]:
    _, indices, flow = op.inputs
    return [None, None, TENSOR_ARRAY_SCATTER_V3(gradient_array(op, flow), indices, grad, flow)]


@TENSOR_ARRAY_SCATTER_V3.gradient
def scatter_gradient(op: Operation, flow: Tensor) -> list[Any]:
    _, indices, value, _ = op.inputs
    # The rows' shape is needed for the gradient of an array without elements.
    grad = TENSOR_ARRAY_GATHER_V3(
        gradient_array(op, flow), indices, flow, dtype=value.dtype.base_dtype, element_shape=value.shape[1:]
    )
    return [None, None, grad, flow]


# --- many elements that differ in their first dimension -------------------------------------------------

TENSOR_ARRAY_CONCAT_V3 = define_op(
    "TensorArrayConcatV3",
    "handle: resource, flow_in: float",
    "value: dtype, lengths: int64",
    attrs=["dtype: type", "element_shape_except0: shape = unknown"],
    stateful=True,
    work=1.0,
)
TENSOR_ARRAY_CONCAT_V3.takes(lambda element, inputs: TensorShape([None]).concatenate(element[1:]))
TENSOR_ARRAY_SPLIT_V3 = define_op(
    "TensorArraySplitV3",
    "handle: resource, value: T, lengths: int64, flow_in: float",
    "flow_out: float",
    attrs=["T: type"],
    stateful=True,
    keeps="value",
    aliases=True,
    work=1.0,
)
TENSOR_ARRAY_SPLIT_V3.puts(lambda inputs: TensorShape([None]).concatenate(inputs[1][1:]))


@TENSOR_ARRAY_CONCAT_V3.shape
def concat_shape(c: ShapeContext, handle: TensorShape, flow: TensorShape) -> list[TensorShape]:
    return [TensorShape([None]).concatenate(c.attrs["element_shape_except0"]), TensorShape([None])]


@TENSOR_ARRAY_SPLIT_V3.shape
def split_shape(
    c: ShapeContext, handle: TensorShape, value: TensorShape, lengths: TensorShape, flow: TensorShape
) -> Any:
    lengths.with_rank(1)
    return SCALAR


@TENSOR_ARRAY_CONCAT_V3.kernel(host=("lengths",))
def concat_kernel(ctx: KernelContext) -> Kernel:
    dtype, except0 = ctx["dtype"], ctx["element_shape_except0"]

    def concat(array: TensorArrayState, flow: torch.Tensor) -> tuple[Any, torch.Tensor]:
        if array.dtype is not dtype:
            raise array.wrong_dtype("requested", dtype)
        value, lengths = array.concat(except0)
        return value, torch.tensor(lengths, dtype=torch.int64)

    return concat


@TENSOR_ARRAY_SPLIT_V3.kernel(host=("lengths",))
def split_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def split(array: TensorArrayState, value: Any, lengths: torch.Tensor, flow: torch.Tensor) -> torch.Tensor:
        if array.dtype is not dtype:
            raise array.wrong_dtype("is trying to write", dtype)
        array.split(value, lengths.tolist())
        return flow

    return split


@TENSOR_ARRAY_CONCAT_V3.gradient
def concat_gradient(op: Operation, grad: Tensor, _: Any) -> list[Any]:
    flow = op.inputs[1]
    return [None, TENSOR_ARRAY_SPLIT_V3(gradient_array(op, flow), grad, op.outputs[1], flow)]


@TENSOR_ARRAY_SPLIT_V3.gradient
def split_gradient(op: Operation, flow: Tensor) -> list[Any]:
    value = op.inputs[1]
    grad, _ = TENSOR_ARRAY_CONCAT_V3(
        gradient_array(op, flow), flow, dtype=value.dtype.base_dtype, element_shape_except0=value.shape[1:]
    )
    created = op.inputs[0].op
    if created.type != "TensorArrayV3" or created.attrs["dynamic_size"]:  # it may have more elements than these
        shape = get_op("Shape")(value)
        grad = get_op("Slice")(grad, get_op("ZerosLike")(shape), shape)
    return [None, grad, None, flow]


def known_size(size: Any) -> int | None:
    """A size, given as a number or a tensor, if it is known while the graph is built."""
    value = constant_value(size) if isinstance(size, Tensor) else size
    return None if value is None else int(value)
