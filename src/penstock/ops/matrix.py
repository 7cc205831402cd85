"""Products of matrices, and of batches of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from penstock.emit.products import product
from penstock.emit.registry import emits
from penstock.emit.site import Site
from penstock.emit.tools import nest, offset, row_major
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.operators import operator_function
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.complex_numbers import conj
from penstock.ops.elementwise import COMPLEX, FLOATS, INTEGERS, conjugate, sum_to
from penstock.ops.kernel_tools import TORCH_LACKS, via_numpy
from penstock.ops.reductions import SUM
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import bfloat16, float32
from penstock.tensor.shapes import TensorShape, broadcast_shape, merge_dim, unknown_shape

MATMUL = define_op(
    "MatMul",
    "a: T, b: T",
    "product: T",
    attrs=[
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}",
        "grad_a: bool = false",
        "grad_b: bool = false",
    ],
    bits16="allow",
    launches=True,
)


@MATMUL.shape
def matmul_shape(c: ShapeContext, a: TensorShape, b: TensorShape) -> TensorShape:
    rows, inner = _dims(a.with_rank(2), c.attrs["transpose_a"])
    inner_b, columns = _dims(b.with_rank(2), c.attrs["transpose_b"])
    merge_dim(inner, inner_b, "inner dimensions of a and b")
    return TensorShape([rows, columns])


def _dims(matrix: TensorShape, transposed: bool) -> tuple[int | None, int | None]:
    assert matrix.tuple is not None
    rows, columns = matrix.tuple[-2:]
    return (columns, rows) if transposed else (rows, columns)


@MATMUL.flops
def matmul_flops(node: Any, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> float:
    turned = node.attrs.get("transpose_a") or node.attrs.get("adj_x")
    inner = inputs[0][-2 if turned else -1] if len(inputs[0]) > 1 else 1
    return 2.0 * math.prod(outputs[0]) * inner


@MATMUL.kernel("CPU", T=f"{FLOATS} {COMPLEX} {INTEGERS}")
@MATMUL.kernel("GPU", T=f"{FLOATS} {COMPLEX}")  # CUDA does not multiply integer matrices
def matmul_kernel(ctx: KernelContext) -> Any:
    mm = torch.mm
    return {
        (False, False): mm,
        (False, True): lambda a, b: mm(a, b.t()),
        (True, False): lambda a, b: mm(a.t(), b),
        (True, True): lambda a, b: mm(a.t(), b.t()),
    }[ctx["transpose_a"], ctx["transpose_b"]]


@MATMUL.kernel("CPU", T=TORCH_LACKS)
def matmul_numpy_kernel(ctx: KernelContext) -> Any:
    turn_a, turn_b = ctx["transpose_a"], ctx["transpose_b"]
    return via_numpy(lambda a, b: np.matmul(a.T if turn_a else a, b.T if turn_b else b), ctx["T"])


@MATMUL.gradient
def matmul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a, b = conjugate(op._inputs[0]), conjugate(op._inputs[1])
    ta, tb = op.attrs["transpose_a"], op.attrs["transpose_b"]
    if ta:
        grad_a = MATMUL(b, grad, transpose_a=tb, transpose_b=True)
    else:
        grad_a = MATMUL(grad, b, transpose_b=not tb)
    if tb:
        grad_b = MATMUL(grad, a, transpose_a=True, transpose_b=ta)
    else:
        grad_b = MATMUL(a, grad, transpose_a=not ta)
    return [grad_a, grad_b]


# --- batches --------------------------------------------------------------------------------------------


def _batch_op(name: str, types: str, broadcasts: bool) -> OpDef:
    """Define BatchMatMul or BatchMatMulV2, which also broadcasts batch dimensions. `adj` is the adjoint."""
    op = define_op(
        name,
        "x: T, y: T",
        "output: T",
        attrs=[
            f"T: {types}",
            "adj_x: bool = false",
            "adj_y: bool = false",
            "grad_x: bool = false",
            "grad_y: bool = false",
        ],
        launches=True,
        bits16="allow",
    )

    @op.shape
    def batch_matmul_shape(c: ShapeContext, x: TensorShape, y: TensorShape) -> TensorShape:
        x.with_rank_at_least(2)
        y.with_rank_at_least(2)
        if x.ndims is None or y.ndims is None:
            return unknown_shape()
        rows, inner = _dims(x, c.attrs["adj_x"])
        inner_y, columns = _dims(y, c.attrs["adj_y"])
        merge_dim(inner, inner_y, "inner dimensions of x and y")
        batch = broadcast_shape(x[:-2], y[:-2]) if broadcasts else x[:-2].merge_with(y[:-2])
        return batch.concatenate([rows, columns])

    op.flops(matmul_flops)

    @op.kernel("CPU", T=f"{FLOATS} {COMPLEX} {INTEGERS}")
    @op.kernel("GPU", T=f"{FLOATS} {COMPLEX}")
    def batch_matmul_kernel(ctx: KernelContext) -> Any:
        matmul, turn_x, turn_y = torch.matmul, ctx["adj_x"], ctx["adj_y"]
        multiply = {
            (False, False): matmul,
            (False, True): lambda x, y: matmul(x, y.mH),
            (True, False): lambda x, y: matmul(x.mH, y),
            (True, True): lambda x, y: matmul(x.mH, y.mH),
        }[turn_x, turn_y]
        ranks = ctx.input_shape("x").ndims, ctx.input_shape("y").ndims
        if None not in ranks and min(ranks) >= 2 and (broadcasts or ranks[0] == 2):
            return multiply

        def checked(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            if x.dim() < 2 or y.dim() < 2 or (not broadcasts and x.shape[:-2] != y.shape[:-2]):
                raise ValueError(f"{name} takes batches of matrices, got shapes {list(x.shape)} and {list(y.shape)}")
            return multiply(x, y)

        return checked

    @op.kernel("CPU", T=TORCH_LACKS)
    def batch_matmul_numpy_kernel(ctx: KernelContext) -> Any:
        def multiply(x: np.ndarray, y: np.ndarray) -> Any:
            return np.matmul(x.swapaxes(-1, -2) if ctx["adj_x"] else x, y.swapaxes(-1, -2) if ctx["adj_y"] else y)

        return via_numpy(multiply, ctx["T"])

    @op.gradient
    def batch_matmul_gradient(op: Operation, grad: Tensor) -> list[Any]:
        x, y = op._inputs
        adj_x, adj_y, multiply = op.attrs["adj_x"], op.attrs["adj_y"], op.op_def
        if broadcasts:
            multiply = BATCH_MATMUL_V2
        if adj_x:
            grad_x = multiply(y, grad, adj_x=adj_y, adj_y=True)
        else:
            grad_x = multiply(grad, y, adj_y=not adj_y)
        if adj_y:
            grad_y = multiply(grad, x, adj_x=True, adj_y=adj_x)
        else:
            grad_y = multiply(x, grad, adj_x=not adj_x)
        if not broadcasts or (x.shape.ndims == 2 and y.shape.ndims == 2):
            return [grad_x, grad_y]
        return [sum_to(grad_x, x), sum_to(grad_y, y)]

    return op


BATCH_MATMUL = _batch_op(
    "BatchMatMul", "{bfloat16, half, float, double, int32, int64, complex64, complex128}", broadcasts=False
)
BATCH_MATMUL_V2 = _batch_op(
    "BatchMatMulV2",
    "{bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}",
    broadcasts=True,
)


# --- functions ------------------------------------------------------------------------------------------


@export("matmul", "linalg.matmul")
@operator_function
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product of a [..., m, k] and b [..., k, n]: [..., m, n] (TF: tf.matmul).

    Batch dimensions broadcast. `transpose` and `adjoint` (transposed and conjugated) act on the last two
    dimensions. The `sparse` flags, hints that many elements are 0, only have the effect that one input may be float32
    and the other bfloat16, with a float32 product. Raises ValueError if inner dimensions differ, or if both flags of
    one input are set.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        if (a_is_sparse or b_is_sparse) and _mixed(a, b):
            return get_op("SparseMatMul")(
                a,
                b,
                transpose_a=transpose_a or adjoint_a,
                transpose_b=transpose_b or adjoint_b,
                a_is_sparse=a_is_sparse,
                b_is_sparse=b_is_sparse,
                name=scope,
            )
        a = convert_to_tensor(a, dtype=b.dtype.base_dtype if isinstance(b, Tensor) else None, name="a")
        b = convert_to_tensor(b, dtype=a.dtype.base_dtype, name="b")
        if a.shape.ndims == 2 and b.shape.ndims == 2:
            a = conj(a) if adjoint_a else a
            b = conj(b) if adjoint_b else b
            ta, tb = transpose_a or adjoint_a, transpose_b or adjoint_b
            return MATMUL(a, b, transpose_a=ta, transpose_b=tb, name=scope)
        # The batch op only supports adjoints.
        a = conj(a) if transpose_a else a
        b = conj(b) if transpose_b else b
        return BATCH_MATMUL_V2(a, b, adj_x=transpose_a or adjoint_a, adj_y=transpose_b or adjoint_b, name=scope)


def _mixed(a: Any, b: Any) -> bool:
    return {getattr(x, "dtype", None) for x in (a, b)} == {float32, bfloat16}


def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """The products of two batches of matrices with equal batch dimensions (TF 0.x: tf.batch_matmul)."""
    return BATCH_MATMUL(x, y, adj_x=adj_x, adj_y=adj_y, name=name)


@export("trace", "linalg.trace")
def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the main diagonals of x [..., m, n]: [...] (TF: tf.trace)."""
    with name_scope(name, "Trace", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return SUM(get_op("MatrixDiagPart")(x), np.array([-1], np.int32), name=scope)


# --- in C -----------------------------------------------------------------------------------------------


@emits("MatMul", large=True)
def mat_mul_in_c(s: Site) -> str | None:
    a, b = s.inputs
    return product(a, b, s.outputs[0], s.node.attrs["transpose_a"], s.node.attrs["transpose_b"])


@emits("BatchMatMul", "BatchMatMulV2", large=True)
def batch_mat_mul_in_c(s: Site) -> str | None:
    a, b, to = *s.inputs, s.outputs[0]
    batch = to.shape[:-2]
    if s.node.op.name == "BatchMatMul" and not a.shape[:-2] == b.shape[:-2] == batch:
        return None
    steps = []
    for v in (a, b, to):
        lead = (1,) * (len(to.shape) - len(v.shape)) + v.shape
        steps.append([0 if d == 1 else step for d, step in zip(lead, row_major(lead), strict=True)][:-2])
    problem = False

    def one(indices: list[str]) -> str:
        nonlocal problem
        places = tuple(offset(indices, step) for step in steps)
        text = product(a, b, to, s.node.attrs["adj_x"], s.node.attrs["adj_y"], places=places)  # type: ignore[arg-type]
        problem = text is None
        return text or ";"

    text = nest(batch, one)
    return None if problem else text
