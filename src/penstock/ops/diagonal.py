"""Diagonals of tensors (Diag, DiagPart) and of the matrices in the last two axes (Matrix…)."""

from __future__ import annotations

import math
from typing import Any

import torch

from penstock import errors
from penstock.emit.registry import emits
from penstock.emit.site import Shape, Site, local
from penstock.emit.tools import copy, copy_all, fill, loop, row_major
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.filling import zeros_like
from penstock.ops.kernel_tools import TORCH_TYPES, as_signed
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape, shape_of

_DIAG_TYPES = "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"
DIAG = define_op("Diag", "diagonal: T", "output: T", attrs=[_DIAG_TYPES], work=0.5)
DIAG_PART = define_op("DiagPart", "input: T", "diagonal: T", attrs=[_DIAG_TYPES], aliases=True)


@DIAG.shape
def diag_shape(c: ShapeContext, x: TensorShape) -> TensorShape:
    return x.with_rank_at_least(1).concatenate(x)


@DIAG.kernel()
def diag_kernel(ctx: KernelContext) -> Any:
    if ctx.input_shape("diagonal").ndims == 1:
        return torch.diag_embed
    return lambda x: torch.diag_embed(x.reshape(-1)).reshape(x.shape + x.shape)


@DIAG.gradient
def diag_gradient(op: Operation, grad: Any) -> Tensor:
    return DIAG_PART(grad)


@DIAG_PART.shape
def diag_part_shape(c: ShapeContext, x: TensorShape) -> TensorShape:
    if x.ndims is None:
        return UNKNOWN
    half, odd = divmod(x.ndims, 2)
    if odd or not half:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {x.ndims}")
    return x[:half].merge_with(x[half:])


@DIAG_PART.kernel()
def diag_part_kernel(ctx: KernelContext) -> Any:
    def part(x: torch.Tensor) -> torch.Tensor:
        half = x.ndim // 2
        dims = x.shape[:half]
        if x.ndim != 2 * half or not half or dims != x.shape[half:]:
            raise errors.InvalidArgumentError(
                None, None, f"Invalid shape {list(x.shape)}: its two halves must be equal"
            )
        count = dims.numel()
        return x.reshape(count, count).diagonal().reshape(dims)

    return part


@DIAG_PART.gradient
def diag_part_gradient(op: Operation, grad: Any) -> Tensor:
    return DIAG(grad)


@export("diag", "linalg.tensor_diag")
def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """[d1…dk] -> [d1…dk, d1…dk], zero except where both halves of the index are equal (TF: tf.diag)."""
    return DIAG(diagonal, name=name)


@export("diag_part", "linalg.tensor_diag_part")
def diag_part(input: Any, name: str | None = None) -> Tensor:
    """[d1…dk, d1…dk] -> [d1…dk]: the inverse of `diag` (TF: tf.diag_part)."""
    return DIAG_PART(input, name=name)


# --- Matrices in the last two axes ----------------------------------------------------------------------

MATRIX_DIAG = define_op("MatrixDiag", "diagonal: T", "output: T", attrs=["T: type"], work=0.5)


@MATRIX_DIAG.kernel(T=TORCH_TYPES)
def matrix_diag_kernel(ctx: KernelContext) -> Any:
    if ctx.input_shape("diagonal").ndims:
        return torch.diag_embed

    def embed(x: torch.Tensor) -> torch.Tensor:
        if not x.dim():
            raise errors.InvalidArgumentError(None, None, "input must be at least 1-dim, received shape: []")
        return torch.diag_embed(x)

    return embed


@MATRIX_DIAG.shape
def matrix_diag_shape(c: ShapeContext, x: TensorShape) -> TensorShape:
    return x.with_rank_at_least(1).concatenate(x[-1:]) if x.ndims is not None else UNKNOWN


@MATRIX_DIAG.gradient
def matrix_diag_gradient(op: Operation, grad: Any) -> Tensor:
    return MATRIX_DIAG_PART(grad)


MATRIX_DIAG_PART = define_op("MatrixDiagPart", "input: T", "diagonal: T", attrs=["T: type"], aliases=True)


def _diagonal_shape(x: TensorShape) -> TensorShape:
    """The shape of the main diagonals of [..., m, n]: [..., min(m, n)]."""
    if x.with_rank_at_least(2).ndims is None:
        return UNKNOWN
    rows, columns = x.tuple[-2:]
    return shape_of((*x.tuple[:-2], None if rows is None or columns is None else min(rows, columns)))


@MATRIX_DIAG_PART.shape
def matrix_diag_part_shape(c: ShapeContext, x: TensorShape) -> TensorShape:
    return _diagonal_shape(x)


@MATRIX_DIAG_PART.kernel(T=TORCH_TYPES)
def matrix_diag_part_kernel(ctx: KernelContext) -> Any:
    return lambda x: _matrices(x).diagonal(0, -2, -1)


def _matrices(x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 2:
        raise errors.InvalidArgumentError(None, None, f"input must be at least 2-dim, received shape: {list(x.shape)}")
    return x


@MATRIX_DIAG_PART.gradient
def matrix_diag_part_gradient(op: Operation, grad: Any) -> Tensor:
    dims = op._inputs[0].shape.tuple
    if dims is not None and dims[-1] is not None and dims[-1] == dims[-2]:
        return MATRIX_DIAG(grad)
    return MATRIX_SET_DIAG(zeros_like(op._inputs[0]), grad)


MATRIX_SET_DIAG = define_op("MatrixSetDiag", "input: T, diagonal: T", "output: T", attrs=["T: type"], work=1.0)


@MATRIX_SET_DIAG.shape
@shape_rules.of_first
def matrix_set_diag_shape(c: ShapeContext, x: TensorShape, diagonal: TensorShape) -> TensorShape:
    _diagonal_shape(x).assert_is_compatible_with(diagonal.with_rank_at_least(1))
    return x


@MATRIX_SET_DIAG.kernel(T=TORCH_TYPES)
def matrix_set_diag_kernel(ctx: KernelContext) -> Any:
    def set_diag(x: torch.Tensor, diagonal: torch.Tensor) -> torch.Tensor:
        found = _matrices(x).clone(memory_format=torch.contiguous_format)
        place = found.diagonal(0, -2, -1)
        if place.shape != diagonal.shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"must have one element for each row of the shorter side, but received input shape: {_text(x.shape)} "
                f"and diagonal shape: {_text(diagonal.shape)}",
            )
        place.copy_(diagonal)
        return found

    return set_diag


def _text(shape: torch.Size) -> str:
    return f"[{','.join(map(str, shape))}]"


@MATRIX_SET_DIAG.gradient
def matrix_set_diag_gradient(op: Operation, grad: Any) -> list[Any]:
    grad = convert_to_tensor(grad)
    return [MATRIX_SET_DIAG(grad, zeros_like(op._inputs[1])), MATRIX_DIAG_PART(grad)]


MATRIX_BAND_PART = define_op(
    "MatrixBandPart",
    "input: T, num_lower: Tindex, num_upper: Tindex",
    "band: T",
    attrs=["T: type", "Tindex: indextype = int64"],
    aliases=True,
    work=8.0,
)
MATRIX_BAND_PART.shape(shape_rules.unchanged)


@MATRIX_BAND_PART.kernel(host=("num_lower", "num_upper"), T=TORCH_TYPES)
def matrix_band_part_kernel(ctx: KernelContext) -> Any:
    def band(x: torch.Tensor, num_lower: torch.Tensor, num_upper: torch.Tensor) -> torch.Tensor:
        lower, upper = int(num_lower.item()), int(num_upper.item())
        rows, columns = x.shape[-2:]
        if lower > rows or upper > columns:
            raise errors.InvalidArgumentError(
                None, None, f"num_lower {lower} and num_upper {upper} must not exceed {rows} and {columns}"
            )
        found = as_signed(x)
        if lower >= 0:
            found = found.triu(-lower)
        if upper >= 0:
            found = found.tril(upper)
        return found.view(x.dtype)

    return band


@MATRIX_BAND_PART.gradient
def matrix_band_part_gradient(op: Operation, grad: Any) -> list[Any]:
    return [MATRIX_BAND_PART(grad, *op._inputs[1:]), None, None]


@export("batch_matrix_diag", "matrix_diag", "linalg.diag")
def matrix_diag(
    diagonal: Any,
    name: str | None = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
) -> Tensor:
    """[..., n] -> [..., n, n] with the given diagonals, zero elsewhere (TF: tf.matrix_diag).

    k: which diagonal it is, positive above the main one; or (lowest, highest), and `diagonal` is [..., highest - lowest
    + 1, length of the longest] with the highest first, shorter ones from the left. num_rows, num_cols: of the matrices,
    -1 for the fewest. padding_value: elsewhere.
    """
    if _is_main(k) and num_rows == num_cols == -1 and _is_zero(padding_value):
        return MATRIX_DIAG(diagonal, name=name)
    diagonal = convert_to_tensor(diagonal, name="diagonal")
    padding = _padding(padding_value, diagonal)
    return get_op("MatrixDiagV2")(diagonal, k, num_rows, num_cols, padding, name=name)


def _padding(value: Any, beside: Tensor) -> Tensor:
    """`value` in the dtype of `beside`; a number beside bools is a bool."""
    number = isinstance(value, int | float)
    return convert_to_tensor(bool(value) if beside.dtype.is_bool and number else value, beside.dtype.base_dtype)


def _is_main(k: Any) -> bool:
    return isinstance(k, int) and k == 0


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0


@export("batch_matrix_diag_part", "matrix_diag_part", "linalg.diag_part")
def matrix_diag_part(input: Any, name: str | None = "diag_part", k: Any = 0, padding_value: Any = 0) -> Tensor:
    """[..., m, n] -> [..., min(m, n)]: the diagonals (TF: tf.matrix_diag_part).

    k: which, or (lowest, highest), as `matrix_diag` takes them; shorter ones are filled up with `padding_value`.
    """
    if _is_main(k):
        return MATRIX_DIAG_PART(input, name=name)
    input = convert_to_tensor(input, name="input")
    return get_op("MatrixDiagPartV2")(input, k, _padding(padding_value, input), name=name)


@export("batch_matrix_set_diag", "matrix_set_diag", "linalg.set_diag")
def matrix_set_diag(input: Any, diagonal: Any, name: str | None = "set_diag", k: Any = 0) -> Tensor:
    """`input` [..., m, n] with its diagonals replaced by `diagonal` (TF: tf.matrix_set_diag).

    k: which, or (lowest, highest), as `matrix_diag` takes them.
    """
    if _is_main(k):
        return MATRIX_SET_DIAG(input, diagonal, name=name)
    return get_op("MatrixSetDiagV2")(input, diagonal, k, name=name)


@export("batch_matrix_band_part", "matrix_band_part", "linalg.band_part")
def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """`input` [..., m, n], zero beyond `num_lower` diagonals below the main one and `num_upper` above it.

    A negative number keeps that whole triangle. TF: tf.matrix_band_part.
    """
    return MATRIX_BAND_PART(input, num_lower, num_upper, name=name)


# --- in C -----------------------------------------------------------------------------------------------


@emits("MatrixDiag", "Diag")
def matrix_diag_in_c(s: Site) -> str:
    (x,), (y,) = s.inputs, s.outputs
    dims, steps = _diagonal((x.size, x.size) if s.node.op.name == "Diag" else y.shape)
    return "\n".join([fill(y), copy(y, steps, x, row_major(dims), dims)])


@emits("MatrixDiagPart", "DiagPart")
def matrix_diag_part_in_c(s: Site) -> str | None:
    (x,), (y,) = s.inputs, s.outputs
    if s.node.op.name == "DiagPart" and x.shape != y.shape * 2:
        return None
    dims, steps = _diagonal((y.size, y.size) if s.node.op.name == "DiagPart" else x.shape)
    return copy(y, row_major(dims), x, steps, dims)


@emits("MatrixSetDiag")
def matrix_set_diag_in_c(s: Site) -> str | None:
    (x, diagonal), (y,) = s.inputs, s.outputs
    dims, steps = _diagonal(x.shape)
    if diagonal.shape != (*x.shape[:-2], dims[1]):
        return None
    return "\n".join([copy_all(y, x), copy(y, steps, diagonal, row_major(dims), dims)])


@emits("MatrixBandPart")
def matrix_band_part_in_c(s: Site) -> str | None:
    (x, *_), (y,), lower, upper = s.inputs, s.outputs, s.numbers(1), s.numbers(2)
    if lower is None or upper is None or len(x.shape) < 2:
        return None
    rows, columns = x.shape[-2:]
    if lower[0] > rows or upper[0] > columns:
        return None
    b, r, c = local("b"), local("r"), local("c")
    below = f"{r} - {c} <= {lower[0]}" if lower[0] >= 0 else "1"
    above = f"{c} - {r} <= {upper[0]}" if upper[0] >= 0 else "1"
    place = f"({b} * {rows} + {r}) * {columns} + {c}"
    one = f"{y.element(place)} = {below} && {above} ? {x.element(place)} : 0;"
    return loop(b, math.prod(x.shape[:-2]), loop(r, rows, loop(c, columns, one)))


def _diagonal(shape: Shape) -> tuple[list[int], list[int]]:
    """The dimensions of the main diagonals of matrices, and the stride of their elements."""
    rows, columns = shape[-2:]
    batch = math.prod(shape[:-2])
    return [batch, min(rows, columns)], [rows * columns, columns + 1]
