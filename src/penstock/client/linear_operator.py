"""Matrices by what is known of them: LinearOperator and its classes (TF: tf.linalg.LinearOperator).

An operator is a matrix [batch…, m, n] that can be multiplied, solved and made dense. Here the general class computes
with the dense matrix, and classes replace what they do better with less.
"""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.complex_numbers import conj
from penstock.ops.diagonal import matrix_band_part, matrix_diag, matrix_diag_part
from penstock.ops.filling import ones
from penstock.ops.layout import matrix_transpose
from penstock.ops.linalg import matrix_determinant, matrix_inverse, mm, slogdet
from penstock.ops.linalg_solve import cholesky, matrix_solve, matrix_triangular_solve
from penstock.ops.reduce import reduce_prod, reduce_sum
from penstock.ops.unary import abs as absolute, log
from penstock.tensor.dtypes import DType, float32
from penstock.tensor.shapes import Dimension, TensorShape


@export("linalg.LinearOperator", "contrib.linalg.LinearOperator")
class LinearOperator:
    """A matrix, or a batch of them. Classes say what it is by `_to_dense`, and what they know better.

    The hints (`is_non_singular`, `is_self_adjoint`, `is_positive_definite`, `is_square`) are what the program promises:
    nothing checks them.
    """

    def __init__(
        self,
        dtype: DType,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.dtype = dtype
        self.graph_parents = list(graph_parents or [])
        self.is_non_singular = is_non_singular or is_positive_definite
        self.is_self_adjoint = is_self_adjoint
        self.is_positive_definite = is_positive_definite
        self._is_square = is_square or self.is_non_singular or is_self_adjoint
        self.name = name or type(self).__name__

    def _to_dense(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what its matrix is: it needs _to_dense()")

    @property
    def shape(self) -> TensorShape:
        """[batch…, m, n]."""
        return self._to_dense().shape

    @property
    def batch_shape(self) -> TensorShape:
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        return self.shape.ndims

    @property
    def range_dimension(self) -> Dimension:
        """m."""
        return self.shape[-2]

    @property
    def domain_dimension(self) -> Dimension:
        """n."""
        return self.shape[-1]

    @property
    def is_square(self) -> bool | None:
        rows, columns = (self.shape.tuple or (None, None))[-2:]
        return self._is_square if rows is None or columns is None else rows == columns

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        with name_scope(self.name), name_scope(name):
            return get_op("Shape")(self._to_dense())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        return self.shape_tensor(name)[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        return get_op("Size")(self.shape_tensor(name))

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """m, as a tensor."""
        return self.shape_tensor(name)[-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """n, as a tensor."""
        return self.shape_tensor(name)[-1]

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrix [batch…, m, n]."""
        with name_scope(self.name), name_scope(name):
            return self._to_dense()

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Tensor:
        """The product with x [batch…, n, k]: [batch…, m, k]. adjoint: of the conjugate transpose; adjoint_arg: of x."""
        with name_scope(self.name), name_scope(name, values=[x]):
            x = convert_to_tensor(x, self.dtype)
            return self._matmul(matrix_transpose(x, conjugate=True) if adjoint_arg else x, adjoint)

    apply = matmul  # its name until TensorFlow 1.3

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The product with vectors x [batch…, n]: [batch…, m]."""
        with name_scope(self.name), name_scope(name, values=[x]):
            column = get_op("ExpandDims")(convert_to_tensor(x, self.dtype), -1)
            return get_op("Squeeze")(self._matmul(column, adjoint), squeeze_dims=[-1])

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Tensor:
        """x [batch…, n, k] of which the product is rhs [batch…, m, k]; the matrix must be square and not singular."""
        with name_scope(self.name), name_scope(name, values=[rhs]):
            self._require_square("solve")
            rhs = convert_to_tensor(rhs, self.dtype)
            return self._solve(matrix_transpose(rhs, conjugate=True) if adjoint_arg else rhs, adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """x [batch…, n] of which the product is rhs [batch…, m]."""
        with name_scope(self.name), name_scope(name, values=[rhs]):
            self._require_square("solvevec")
            column = get_op("ExpandDims")(convert_to_tensor(rhs, self.dtype), -1)
            return get_op("Squeeze")(self._solve(column, adjoint), squeeze_dims=[-1])

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonal [batch…, min(m, n)]."""
        with name_scope(self.name), name_scope(name):
            return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the diagonal [batch…]."""
        with name_scope(self.name), name_scope(name):
            return reduce_sum(self._diag_part(), -1)

    def determinant(self, name: str = "det") -> Tensor:
        with name_scope(self.name), name_scope(name):
            self._require_square("determinant")
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        with name_scope(self.name), name_scope(name):
            self._require_square("log_abs_determinant")
            return self._log_abs_determinant()

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """The matrix plus x [batch…, m, n]."""
        with name_scope(self.name), name_scope(name, values=[x]):
            return self._to_dense() + convert_to_tensor(x, self.dtype)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The conjugate transpose."""
        with name_scope(self.name), name_scope(name):
            return LinearOperatorFullMatrix(matrix_transpose(self._to_dense(), conjugate=True))

    def inverse(self, name: str = "inverse") -> LinearOperator:
        with name_scope(self.name), name_scope(name):
            self._require_square("inverse")
            return LinearOperatorFullMatrix(matrix_inverse(self._to_dense()), is_non_singular=True)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangle whose product with its adjoint is this matrix, which must be positive definite."""
        with name_scope(self.name), name_scope(name):
            return LinearOperatorLowerTriangular(cholesky(self._to_dense()), is_non_singular=True)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return mm(self._to_dense(), x, adj_x=adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return matrix_solve(*_same_batch(self._to_dense(), rhs), adjoint=adjoint)

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self._to_dense())

    def _determinant(self) -> Tensor:
        return matrix_determinant(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        return slogdet(self._to_dense())[1]

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(f"{self.name}: `{what}` is for square matrices, and this is {self.shape}")


@export("linalg.LinearOperatorFullMatrix", "contrib.linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """The matrix [batch…, m, n] that is given."""

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        with name_scope(name, values=[matrix]):
            self._matrix = convert_to_tensor(matrix, name="matrix")
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(self._matrix.dtype, [self._matrix], *hints, name)

    def _to_dense(self) -> Tensor:
        return self._matrix


@export("linalg.LinearOperatorLowerTriangular", "contrib.linalg.LinearOperatorLowerTriangular")
@export("contrib.linalg.LinearOperatorTriL")  # its name until TensorFlow 1.4
class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of `tril` [batch…, n, n], whatever is above it."""

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        with name_scope(name, values=[tril]):
            self._tril = matrix_band_part(convert_to_tensor(tril, name="tril"), -1, 0)
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(self._tril.dtype, [self._tril], *hints, name)

    def _to_dense(self) -> Tensor:
        return self._tril

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return matrix_triangular_solve(*_same_batch(self._tril, rhs), lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag_part(), -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(absolute(self._diag_part())), -1)


@export("linalg.LinearOperatorDiag", "contrib.linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """The diagonal matrix of `diag` [batch…, n]."""

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorDiag",
    ) -> None:
        with name_scope(name, values=[diag]):
            self._diag = convert_to_tensor(diag, name="diag")
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(self._diag.dtype, [self._diag], *hints, name)

    @property
    def diag(self) -> Tensor:
        return self._diag

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return get_op("ExpandDims")(conj(self._diag) if adjoint else self._diag, -1) * x

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return rhs / get_op("ExpandDims")(conj(self._diag) if adjoint else self._diag, -1)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(absolute(self._diag)), -1)


@export("linalg.LinearOperatorScaledIdentity", "contrib.linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """`multiplier` [batch…] times the identity of `num_rows` rows."""

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        with name_scope(name, values=[multiplier]):
            self.multiplier = convert_to_tensor(multiplier, name="multiplier")
            column = get_op("ExpandDims")(self.multiplier, -1)
            diag = column * ones([num_rows], self.multiplier.dtype)
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(diag, *hints, name)


@export("linalg.LinearOperatorIdentity", "contrib.linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(LinearOperatorDiag):
    """The identity of `num_rows` rows, or a batch of it."""

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        with name_scope(name):
            diag = ones([*([] if batch_shape is None else batch_shape), num_rows], dtype or float32)
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(diag, *hints, name)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return x if self.batch_shape.as_list() == [] else super()._matmul(x, adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(rhs, adjoint)


def _same_batch(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Matrices x [b…, m, m] and y [c…, m, k] with the batch dimensions that both broadcast to."""
    batch = x.shape[:-2]
    if batch.is_fully_defined() and batch.as_list() == y.shape[:-2].as_list():
        return x, y
    zeros = get_op("ZerosLike")
    return x + zeros(y[..., :1, :1]), y + zeros(x[..., :1, :1])
