"""The Levenshtein distance of sequences (TF: EditDistance)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.elementwise import NATIVE
from penstock.ops.kernel_tools import TORCH_LACKS, invalid
from penstock.ops.sparse_tools import as_sparse, check_bounds, check_parts, strides_of
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime
from penstock.tensor.shapes import TensorShape, merge_dim

EDIT_DISTANCE = define_op(
    "EditDistance",
    "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64",
    "output: float",
    attrs=["normalize: bool = true", "T: type"],
    work=SERIAL,
)
EDIT_DISTANCE.not_differentiable()


@EDIT_DISTANCE.shape
def edit_distance_shape(c: ShapeContext, *parts: TensorShape) -> TensorShape:
    """The dimensions before the last, each the larger of the two."""
    for indices, values, shape in (parts[:3], parts[3:]):
        indices.assert_has_rank(2)
        values.assert_has_rank(1)
        shape.assert_has_rank(1)
    known = [c.constant_shape(name).tuple for name in ("hypothesis_shape", "truth_shape")]
    if None not in known:
        merge_dim(len(known[0]), len(known[1]), "ranks of hypothesis and truth")
    if None in known or any(None in dims for dims in known):
        return UNKNOWN
    return TensorShape([max(pair) for pair in zip(*(dims[:-1] for dims in known), strict=True)])


def levenshtein(a: Sequence[Any], b: Sequence[Any]) -> int:
    """The least number of insertions, deletions and substitutions that turn `a` into `b`.

    Myers (1999): a column of the distance table is stored in integers, as the bits where it increases and decreases.
    """
    if len(a) < len(b):
        a, b = b, a
    if not b:
        return len(a)
    where: dict[Any, int] = {}
    for i, item in enumerate(a):
        where[item] = where.get(item, 0) | 1 << i
    full, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    grows, falls, distance = full, 0, len(a)
    for item in b:
        match = where.get(item, 0)
        crossed = (((match & grows) + grows) ^ grows) | match
        row_grows = falls | (full & ~(crossed | grows))
        row_falls = grows & crossed
        distance += bool(row_grows & last) - bool(row_falls & last)
        row_grows = row_grows << 1 | 1
        crossed = match | falls
        grows = full & (row_falls << 1 | ~(crossed | row_grows))
        falls = full & row_grows & crossed
    return distance


def _sequences(indices: torch.Tensor, values: Any, dims: list[int]) -> dict[int, list[Any]]:
    """The elements of each sequence, by its position in a tensor of `dims`."""
    places = (indices.numpy()[:, :-1] @ strides_of(dims)).tolist()
    found: dict[int, list[Any]] = {}
    for place, value in zip(places, values, strict=True):
        found.setdefault(place, []).append(value)
    return found


@EDIT_DISTANCE.kernel("CPU", T=f"{NATIVE} {TORCH_LACKS} bool string")
def edit_distance_kernel(ctx: KernelContext) -> Kernel:
    normalize, dtype = ctx["normalize"], ctx["T"]

    def distances(
        indices: torch.Tensor,
        values: Any,
        shape: torch.Tensor,
        truth_indices: torch.Tensor,
        truth_values: Any,
        truth_shape: torch.Tensor,
    ) -> torch.Tensor:
        check_parts(indices, values, shape, "hypothesis")
        check_parts(truth_indices, truth_values, truth_shape, "truth")
        sizes, truth_sizes = shape.tolist(), truth_shape.tolist()
        if len(sizes) != len(truth_sizes) or not sizes:
            raise invalid(
                f"hypothesis and truth should have the same rank, 1 or more, but have shapes {sizes} and {truth_sizes}"
            )
        check_bounds(indices[:, :-1], sizes[:-1])  # the position of an element in its sequence does not matter
        check_bounds(truth_indices[:, :-1], truth_sizes[:-1])
        dims = [max(pair) for pair in zip(sizes[:-1], truth_sizes[:-1], strict=True)]
        hypotheses = _sequences(indices, from_runtime(values, dtype).tolist(), dims)
        truths = _sequences(truth_indices, from_runtime(truth_values, dtype).tolist(), dims)
        found = np.zeros(math.prod(dims), np.float32)
        for place in hypotheses.keys() | truths.keys():
            truth = truths.get(place, [])
            distance = float(levenshtein(truth, hypotheses.get(place, [])))
            if normalize:
                distance = distance / len(truth) if truth else math.inf
            found[place] = distance
        return torch.from_numpy(found.reshape(dims))

    return distances


@export("edit_distance")
def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """The Levenshtein distance of the sequences along the last dimension of two sparse tensors, float32 [...].

    With `normalize`, divided by the length of the truth (infinite if that is empty and the hypothesis is not). Raises
    TypeError unless both are sparse. A step raises InvalidArgumentError for indices out of bounds. TF:
    tf.edit_distance.
    """
    hypothesis, truth = as_sparse(hypothesis, "hypothesis"), as_sparse(truth, "truth")
    return EDIT_DISTANCE(
        hypothesis.indices,
        hypothesis.values,
        hypothesis.dense_shape,
        truth.indices,
        truth.values,
        truth.dense_shape,
        normalize=normalize,
        name=name,
    )
