"""Names that functions had before TensorFlow 1.0, for programs of that time."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.fft import (
    fft as batch_fft,
    fft2d as batch_fft2d,
    fft3d as batch_fft3d,
    ifft as batch_ifft,
    ifft2d as batch_ifft2d,
    ifft3d as batch_ifft3d,
)
from penstock.ops.joining import concat
from penstock.ops.linalg import (
    cholesky as batch_cholesky,
    matrix_determinant as batch_matrix_determinant,
    matrix_inverse as batch_matrix_inverse,
    matrix_solve as batch_matrix_solve,
    matrix_triangular_solve as batch_matrix_triangular_solve,
)
from penstock.ops.linalg_spectra import self_adjoint_eig as batch_self_adjoint_eig, svd as batch_svd
from penstock.ops.matrix import matmul
from penstock.ops.unary import abs as complex_abs

__all__ = [
    "batch_cholesky", "batch_fft", "batch_fft2d", "batch_fft3d", "batch_ifft", "batch_ifft2d", "batch_ifft3d",
    "batch_matmul", "batch_matrix_determinant", "batch_matrix_inverse", "batch_matrix_solve",
    "batch_matrix_triangular_solve", "batch_self_adjoint_eig", "batch_svd", "complex_abs", "concat_v2", "select",
]  # fmt: skip


@export("batch_matmul")
def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """tf.matmul of batches (TF 0.x)."""
    return matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)


@export("concat_v2")
def concat_v2(values: Any, axis: Any, name: str = "concat_v2") -> Tensor:
    """tf.concat while TensorFlow changed the order of its arguments."""
    return concat(values, axis, name=name)


@export("select")
def select(condition: Any, t: Any, e: Any, name: str | None = None) -> Tensor:
    """tf.where with three arguments (TF 0.x)."""
    from penstock.ops.compare import SELECT

    return SELECT(condition, t, e, name=name)
