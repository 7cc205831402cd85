"""Names that functions had before TensorFlow 1.0, for programs of that time."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.compare import SELECT
from penstock.ops.joining import concat
from penstock.ops.matrix import matmul


@export("batch_matmul")
def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """tf.matmul of batches (TF 0.x)."""
    return matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)


@export("concat_v2")
def concat_v2(values: Any, axis: Any, name: str = "concat_v2") -> Tensor:
    """tf.concat during TensorFlow's change of argument order."""
    return concat(values, axis, name=name)


@export("select")
def select(condition: Any, t: Any, e: Any, name: str | None = None) -> Tensor:
    """tf.where with three arguments (TF 0.x)."""
    return SELECT(condition, t, e, name=name)
