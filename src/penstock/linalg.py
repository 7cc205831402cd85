"""Linear algebra (TF: tf.linalg): each function is written where its op is, and listed here."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.ops.clip import global_norm as global_norm
from penstock.ops.diagonal import (
    diag as tensor_diag,
    diag_part as tensor_diag_part,
    matrix_band_part as band_part,
    matrix_diag as diag,
    matrix_diag_part as diag_part,
    matrix_set_diag as set_diag,
)
from penstock.ops.einsum import einsum as einsum, tensordot as tensordot
from penstock.ops.filling import eye as eye
from penstock.ops.layout import matrix_transpose as matrix_transpose
from penstock.ops.linalg import (
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    logdet as logdet,
    matrix_determinant as det,
    matrix_inverse as inv,
    matrix_solve as solve,
    matrix_solve_ls as lstsq,
    matrix_triangular_solve as triangular_solve,
    slogdet as slogdet,
)
from penstock.ops.linalg_cross import cross as cross
from penstock.ops.linalg_functions import (
    adjoint as adjoint,
    expm as expm,
    matrix_rank as matrix_rank,
    matvec as matvec,
    normalize as normalize,
    pinv as pinv,
)
from penstock.ops.linalg_lu import (
    lu as lu,
    lu_matrix_inverse as lu_matrix_inverse,
    lu_reconstruct as lu_reconstruct,
    lu_solve as lu_solve,
)
from penstock.ops.linalg_spectra import (
    qr as qr,
    self_adjoint_eig as eigh,
    self_adjoint_eigvals as eigvalsh,
    svd as svd,
)
from penstock.ops.matrix import matmul as matmul, trace as trace
from penstock.ops.nn.normalization import l2_normalize as l2_normalize
from penstock.ops.reduce import norm as norm

transpose = matrix_transpose
__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
]

_absent.tell_in(__name__)
