"""Pooling with windows of two randomly mixed sizes, so that an image shrinks by any factor (Graham 2014).

TF: FractionalMaxPool, FractionalAvgPool. Windows are all pairs of a range of rows and a range of columns, so rows and
columns are pooled one after another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int64
from penstock.tensor.shapes import TensorShape

_SEQUENCES = "row_pooling_sequence: int64, col_pooling_sequence: int64"
_ATTRS = [
    "pooling_ratio: list(float) >= 4",
    "pseudo_random: bool = false",
    "overlapping: bool = false",
    "deterministic: bool = false",
    "seed: int = 0",
    "seed2: int = 0",
    "T: {float, double, int32, int64}",
]
_GRAD_ATTRS = ["overlapping: bool = false", "T: {float, double, int32, int64}"]

FRACTIONAL_MAX_POOL = define_op("FractionalMaxPool", "value: T", f"output: T, {_SEQUENCES}", attrs=_ATTRS, work=SERIAL)
FRACTIONAL_AVG_POOL = define_op("FractionalAvgPool", "value: T", f"output: T, {_SEQUENCES}", attrs=_ATTRS, work=SERIAL)
FRACTIONAL_MAX_POOL_GRAD = define_op(
    "FractionalMaxPoolGrad",
    f"orig_input: T, orig_output: T, out_backprop: T, {_SEQUENCES}",
    "output: T",
    attrs=_GRAD_ATTRS,
    work=SERIAL,
)
FRACTIONAL_AVG_POOL_GRAD = define_op(
    "FractionalAvgPoolGrad",
    f"orig_input_tensor_shape: int64, out_backprop: T, {_SEQUENCES}",
    "output: T",
    attrs=_GRAD_ATTRS,
    work=SERIAL,
)
FRACTIONAL_MAX_POOL_GRAD.not_differentiable()
FRACTIONAL_AVG_POOL_GRAD.not_differentiable()

# --- shapes ---------------------------------------------------------------------------------------------


def fractional_pool_shape(c: ShapeContext, x: TensorShape) -> list[TensorShape]:
    ratios = c.attrs["pooling_ratio"]
    if len(ratios) != 4:
        raise ValueError("pooling_ratio field must specify 4 dimensions")
    for ratio in ratios:
        if ratio < 1:
            raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {ratio}")
    dims = x.with_rank(4).as_list()
    outs = [None if d is None else int(d / ratio) for d, ratio in zip(dims, ratios, strict=True)]
    ends = [None if out is None else out + 1 for out in outs[1:3]]  # TensorFlow infers one less than the actual number
    return [TensorShape(outs), *(TensorShape([end]) for end in ends)]


FRACTIONAL_MAX_POOL.shape(fractional_pool_shape)
FRACTIONAL_AVG_POOL.shape(fractional_pool_shape)


@FRACTIONAL_MAX_POOL_GRAD.shape
@shape_rules.of_first
def fractional_max_pool_grad_shape(c: ShapeContext, x: TensorShape, *_: TensorShape) -> TensorShape:
    return x.with_rank(4)


@FRACTIONAL_AVG_POOL_GRAD.shape
def fractional_avg_pool_grad_shape(c: ShapeContext, shape: TensorShape, *_: TensorShape) -> TensorShape:
    return c.constant_shape("orig_input_tensor_shape").with_rank(4)


# --- windows --------------------------------------------------------------------------------------------


def _sequence(size: int, out: int, pseudo_random: bool, generator: torch.Generator) -> list[int]:
    """The starts of the windows, and the end of the last: `out` steps of two sizes that differ by one, from 0 to
    `size`."""
    step, larger = divmod(size, out)
    if not larger:
        return list(range(0, size + 1, step))
    if not pseudo_random:
        order = torch.randperm(out, generator=generator, device=generator.device).tolist()
        starts = [0]
        for place in order:
            starts.append(starts[-1] + step + (place < larger))
        return starts
    alpha = size / out
    # The largest offset for which the first and last step also have these two sizes.
    most = min((step + 2) / alpha - 1, (size + 1 - step) / alpha - (out - 1))
    u = torch.rand((), generator=generator, dtype=torch.float64, device=generator.device).item() * most
    return [0, *(math.ceil(alpha * (i + u)) - 1 for i in range(1, out)), size]


def _ranges(sequence: Sequence[int], size: int, overlapping: bool) -> list[tuple[int, int]]:
    """The windows along one axis: each ends where the next starts, or one later if they overlap."""
    return [(start, min(stop + overlapping, size)) for start, stop in pairwise(sequence)]


class _Draw:
    """The pooling sequences of one node: new ones for each step, or always the first ones."""

    def __init__(self, n: Any) -> None:
        self._ratios = n["pooling_ratio"]
        if self._ratios[0] != 1 or self._ratios[3] != 1:
            raise errors.UnimplementedError(
                None, None, "Fractional pooling is not yet supported on the batch nor channel dimension."
            )
        self._pseudo_random, self._deterministic = n["pseudo_random"], n["deterministic"]
        self._generator = n.generator()
        self._kept: dict[Any, Any] = n.state.keep(("fractional_pool", n.name), dict)

    def __call__(self, x: torch.Tensor) -> tuple[list[int], list[int]]:
        if x.ndim != 4:
            raise errors.InvalidArgumentError(None, None, f"value must be 4-dimensional, got shape {list(x.shape)}")
        sizes = tuple(x.shape[1:3])
        if sizes in self._kept:
            return self._kept[sizes]
        outs = [int(size / ratio) for size, ratio in zip(x.shape, self._ratios, strict=True)]
        if min(outs) < 1:
            raise errors.InvalidArgumentError(
                None, None, f"an image of {list(x.shape)} is too small for a pooling_ratio of {list(self._ratios)}"
            )
        rows, columns = (
            _sequence(size, out, self._pseudo_random, self._generator)
            for size, out in zip(sizes, outs[1:3], strict=True)
        )
        if self._deterministic:
            self._kept[sizes] = (rows, columns)
        return rows, columns


# --- kernels --------------------------------------------------------------------------------------------


@FRACTIONAL_MAX_POOL.kernel()
def fractional_max_pool_kernel(ctx: KernelContext) -> Kernel:
    draw, overlapping = _Draw(ctx), ctx["overlapping"]

    def pool(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows, columns = draw(x)
        found = torch.stack([x[:, a:b].amax(1) for a, b in _ranges(rows, x.shape[1], overlapping)], 1)
        found = torch.stack([found[:, :, a:b].amax(2) for a, b in _ranges(columns, x.shape[2], overlapping)], 2)
        return found, torch.tensor(rows, device=x.device), torch.tensor(columns, device=x.device)

    return pool


def _sizes(ranges: list[tuple[int, int]], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor([b - a for a, b in ranges], dtype=like.dtype, device=like.device)


@FRACTIONAL_AVG_POOL.kernel()
def fractional_avg_pool_kernel(ctx: KernelContext) -> Kernel:
    draw, overlapping = _Draw(ctx), ctx["overlapping"]

    def pool(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows, columns = draw(x)
        tops, lefts = _ranges(rows, x.shape[1], overlapping), _ranges(columns, x.shape[2], overlapping)
        total = torch.stack([x[:, a:b].sum(1, dtype=x.dtype) for a, b in tops], 1)
        total = torch.stack([total[:, :, a:b].sum(2, dtype=x.dtype) for a, b in lefts], 2)
        counts = (_sizes(tops, x)[:, None] * _sizes(lefts, x))[..., None]
        mean = total / counts if x.is_floating_point() else total.div(counts, rounding_mode="trunc")
        return mean, torch.tensor(rows, device=x.device), torch.tensor(columns, device=x.device)

    return pool


class _Best(NamedTuple):
    values: torch.Tensor
    at: torch.Tensor


def _first_largest(x: torch.Tensor, ranges: list[tuple[int, int]], axis: int) -> _Best:
    """The largest of each range along `axis`, and the position of the first of equal ones."""
    parts = [x.narrow(axis, a, b - a).max(axis) for a, b in ranges]
    at = torch.stack([part.indices + a for part, (a, _) in zip(parts, ranges, strict=True)], axis)
    return _Best(torch.stack([part.values for part in parts], axis), at)


@FRACTIONAL_MAX_POOL_GRAD.kernel(host=("row_pooling_sequence", "col_pooling_sequence"))
def fractional_max_pool_grad_kernel(ctx: KernelContext) -> Kernel:
    """The gradient goes to the first maximum of each window, row by row."""
    overlapping = ctx["overlapping"]

    def backprop(x: Any, y: Any, g: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        tops, lefts = (
            _ranges(rows.tolist(), x.shape[1], overlapping),
            _ranges(columns.tolist(), x.shape[2], overlapping),
        )
        if tuple(g.shape) != (x.shape[0], len(tops), len(lefts), x.shape[3]):
            raise errors.InvalidArgumentError(
                None, None, f"out_backprop of shape {list(g.shape)} does not fit windows of {list(x.shape)}"
            )
        across = _first_largest(x, lefts, 2)
        down = _first_largest(across.values, tops, 1)
        at = down.at * x.shape[2] + across.at.gather(1, down.at)
        found = x.new_zeros((x.shape[0], x.shape[1] * x.shape[2], x.shape[3]))
        found.scatter_add_(1, at.flatten(1, 2), g.flatten(1, 2))
        return found.view(x.shape)

    return backprop


@FRACTIONAL_AVG_POOL_GRAD.kernel(host=("orig_input_tensor_shape", "row_pooling_sequence", "col_pooling_sequence"))
def fractional_avg_pool_grad_kernel(ctx: KernelContext) -> Kernel:
    overlapping = ctx["overlapping"]

    def backprop(shape: torch.Tensor, g: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        batch, height, width, depth = shape.tolist()
        tops, lefts = _ranges(rows.tolist(), height, overlapping), _ranges(columns.tolist(), width, overlapping)
        if tuple(g.shape) != (batch, len(tops), len(lefts), depth):
            raise errors.InvalidArgumentError(
                None, None, f"out_backprop of shape {list(g.shape)} does not fit windows of {shape.tolist()}"
            )
        exact = g.double()
        share = exact / (_sizes(tops, exact)[:, None] * _sizes(lefts, exact))[..., None]
        spread = share.new_zeros((batch, height, len(lefts), depth))
        for i, (a, b) in enumerate(tops):
            spread[:, a:b] += share[:, i : i + 1]
        found = share.new_zeros((batch, height, width, depth))
        for i, (a, b) in enumerate(lefts):
            found[:, :, a:b] += spread[:, :, i : i + 1]
        return found.to(g.dtype)

    return backprop


@FRACTIONAL_MAX_POOL.gradient
def fractional_max_pool_gradient(op: Operation, grad: Any, *_: Any) -> Tensor:
    y, rows, columns = op.outputs
    return FRACTIONAL_MAX_POOL_GRAD(op.inputs[0], y, grad, rows, columns, overlapping=op.attrs["overlapping"])


@FRACTIONAL_AVG_POOL.gradient
def fractional_avg_pool_gradient(op: Operation, grad: Any, *_: Any) -> Tensor:
    rows, columns = op.outputs[1:]
    shape = get_op("Shape")(op.inputs[0], out_type=int64)
    return FRACTIONAL_AVG_POOL_GRAD(shape, grad, rows, columns, overlapping=op.attrs["overlapping"])


# --- functions ------------------------------------------------------------------------------------------


class FractionalPool(NamedTuple):
    """What fractional pooling returns: the sequences are the starts of windows, and the end of the last."""

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


@export("nn.fractional_max_pool")
def fractional_max_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """The largest value of each window; the image shrinks by `pooling_ratio`, [1, rows, columns, 1], at least 1.

    value [n, h, w, c] -> [n, h / ratio, w / ratio, c] and the windows. TF: tf.nn.fractional_max_pool.
    """
    return FractionalPool(
        *FRACTIONAL_MAX_POOL(
            value,
            pooling_ratio=pooling_ratio,
            pseudo_random=pseudo_random,
            overlapping=overlapping,
            deterministic=deterministic,
            seed=seed,
            seed2=seed2,
            name=name,
        )
    )


@export("nn.fractional_avg_pool")
def fractional_avg_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """The mean of each window; see `fractional_max_pool` (TF: tf.nn.fractional_avg_pool)."""
    return FractionalPool(
        *FRACTIONAL_AVG_POOL(
            value,
            pooling_ratio=pooling_ratio,
            pseudo_random=pseudo_random,
            overlapping=overlapping,
            deterministic=deterministic,
            seed=seed,
            seed2=seed2,
            name=name,
        )
    )
