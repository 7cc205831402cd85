"""Sampling a few classes to train against instead of all (TF: tf.nn.log_uniform_candidate_sampler and related ops).

Each sampler returns the drawn classes, [num_sampled] int64, and the expected counts of each class of `true_classes`
[batch, num_true] int64 and of each drawn class. With seeds, UniformCandidateSampler and LogUniformCandidateSampler draw
TensorFlow's classes; the others differ from its, which picks by trees and tables.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from penstock.export import export
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import get_seed
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.candidate_distributions import (
    Distribution,
    Learned,
    LogUniform,
    OfTensorFlow,
    OfTorch,
    Source,
    Uniform,
    Weighted,
    fixed_weights,
    sample,
)
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

# --- the ops --------------------------------------------------------------------------------------------

_OUTPUTS = "sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float"
_COUNTS = ["num_true: int >= 1", "num_sampled: int >= 1", "unique: bool"]
_RANGE = ["range_max: int >= 1"]
_SEEDS = ["seed: int = 0", "seed2: int = 0"]
_BLOCKS = 512
"""Blocks by which a node's stream advances for each class drawn, as in TensorFlow."""


def sampler_shape(c: ShapeContext, true_classes: TensorShape) -> list[TensorShape]:
    drawn = TensorShape([c.attrs["num_sampled"]])
    batch = true_classes.with_rank(2).merge_with([None, c.attrs["num_true"]])
    return [drawn, batch, drawn]


def _check(true_classes: torch.Tensor, num_true: int) -> np.ndarray:
    if true_classes.ndim != 2:
        raise invalid(f"true_classes must be a matrix, got shape {list(true_classes.shape)}")
    if true_classes.shape[1] != num_true:
        raise invalid(f"true_classes must have num_true = {num_true} columns, got {true_classes.shape[1]}")
    return true_classes.numpy()


def _define_sampler(name: str, attrs: list[str]) -> OpDef:
    op = define_op(name, "true_classes: int64", _OUTPUTS, attrs=[*_COUNTS, *attrs, *_SEEDS], stateful=True, work=SERIAL)
    op.shape(sampler_shape)
    op.not_differentiable()
    return op


def _sampling(ctx: KernelContext, distribution: Distribution) -> Kernel:
    """A kernel that draws from the node's distribution with the node's random stream."""
    count, unique, num_true = ctx["num_sampled"], ctx["unique"], ctx["num_true"]
    numbers = _numbers(ctx, count)
    possible = distribution.possible
    lock = ctx.state.keep(("sampler lock", ctx.name), threading.Lock)

    def draw(true_classes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        classes = _check(true_classes, num_true)
        if unique and count > possible:
            raise invalid(f"Sampler's range is too small: {count} different ones of {possible} classes")
        with lock:
            return sample(distribution, count, unique, classes, numbers())

    return draw


def _numbers(ctx: KernelContext, count: int) -> Callable[[], Source]:
    """Makes the numbers for a run of a node that draws `count` classes."""
    stream = ctx.stream()
    if stream is not None:
        return lambda: OfTensorFlow(stream.take(_BLOCKS * count))
    torchs = OfTorch(ctx.generator())
    return lambda: torchs


UNIFORM = _define_sampler("UniformCandidateSampler", _RANGE)
UNIFORM.kernel("CPU")(lambda n: _sampling(n, Uniform(n["range_max"])))

LOG_UNIFORM = _define_sampler("LogUniformCandidateSampler", _RANGE)
LOG_UNIFORM.kernel("CPU")(lambda n: _sampling(n, LogUniform(n["range_max"])))

LEARNED_UNIGRAM = _define_sampler("LearnedUnigramCandidateSampler", _RANGE)
THREAD_UNSAFE_UNIGRAM = _define_sampler("ThreadUnsafeUnigramCandidateSampler", _RANGE)


@LEARNED_UNIGRAM.kernel("CPU")
@THREAD_UNSAFE_UNIGRAM.kernel("CPU")
def learned_kernel(ctx: KernelContext) -> Kernel:
    """What was learned is kept for the session's life, like the random stream."""
    return _sampling(ctx, ctx.state.keep(("learned unigrams", ctx.name), lambda: Learned(ctx["range_max"])))


FIXED_UNIGRAM = _define_sampler(
    "FixedUnigramCandidateSampler",
    [
        *_RANGE,
        "vocab_file: string = ''",
        "distortion: float = 1.0",
        "num_reserved_ids: int = 0",
        "num_shards: int >= 1 = 1",
        "shard: int >= 0 = 0",
        "unigrams: list(float) = []",
    ],
)
FIXED_UNIGRAM.kernel("CPU")(lambda n: _sampling(n, Weighted(fixed_weights(n))))

ALL = _define_sampler("AllCandidateSampler", [])


@ALL.kernel("CPU")
def all_kernel(ctx: KernelContext) -> Kernel:
    """Every class, each once."""
    count, num_true = ctx["num_sampled"], ctx["num_true"]

    def every(true_classes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        _check(true_classes, num_true)
        return torch.arange(count), torch.ones(true_classes.shape), torch.ones(count)

    return every


COMPUTE_ACCIDENTAL_HITS = define_op(
    "ComputeAccidentalHits",
    "true_classes: int64, sampled_candidates: int64",
    "indices: int32, ids: int64, weights: float",
    attrs=["num_true: int", *_SEEDS],
    work=SERIAL,
)
COMPUTE_ACCIDENTAL_HITS.not_differentiable()


@COMPUTE_ACCIDENTAL_HITS.shape
def accidental_hits_shape(c: ShapeContext, true_classes: TensorShape, sampled: TensorShape) -> list[TensorShape]:
    true_classes.with_rank(2).merge_with([None, c.attrs["num_true"]])
    sampled.with_rank(1)
    return [TensorShape([None])] * 3


@COMPUTE_ACCIDENTAL_HITS.kernel()
def accidental_hits_kernel(ctx: KernelContext) -> Kernel:
    num_true, device = ctx["num_true"], ctx.device
    lowest = torch.finfo(torch.float32).min

    def hits(true_classes: torch.Tensor, sampled: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
            raise invalid(
                f"true_candidates must be a matrix of num_true = {num_true} columns, got {list(true_classes.shape)}"
            )
        if sampled.ndim != 1:
            raise invalid(f"sampled_candidates must be a vector, got shape {list(sampled.shape)}")
        same = true_classes.unsqueeze(2) == sampled
        # If a class was drawn several times, the last draw is the hit.
        later = (sampled.unsqueeze(1) == sampled).triu(1).any(1)
        rows, _, places = (same & ~later).nonzero(as_tuple=True)
        return rows.int(), places, torch.full((len(rows),), lowest, device=device)

    return hits


# --- functions ------------------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """What a sampler returns: classes [num_sampled], and expected counts [batch, num_true] and [num_sampled]."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class AccidentalHits(NamedTuple):
    """What `compute_accidental_hits` returns: three vectors of the same length."""

    indices: Tensor
    ids: Tensor
    weights: Tensor


@export("nn.uniform_candidate_sampler", "random.uniform_candidate_sampler")
def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes in [0, range_max), all equally likely (TF: tf.nn.uniform_candidate_sampler).

    unique: no class is drawn twice; a step raises InvalidArgumentError if there are too few.
    """
    return Candidates(*_call(UNIFORM, true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max))


@export("nn.log_uniform_candidate_sampler", "random.log_uniform_candidate_sampler")
def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Class c of [0, range_max) with probability log((c + 2) / (c + 1)) / log(range_max + 1).

    For classes in the order of descending frequency. TF: tf.nn.log_uniform_candidate_sampler.
    """
    return Candidates(*_call(LOG_UNIFORM, true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max))


@export("nn.learned_unigram_candidate_sampler", "random.learned_unigram_candidate_sampler")
def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes in [0, range_max) in proportion to how often they have been true in the session so far, plus one.

    TF: tf.nn.learned_unigram_candidate_sampler.
    """
    return Candidates(
        *_call(LEARNED_UNIGRAM, true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max)
    )


@export("nn.fixed_unigram_candidate_sampler", "random.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Any = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes of [0, range_max) in proportion to weights ** distortion (TF: tf.nn.fixed_unigram_candidate_sampler).

    The weights are `unigrams`, or the last of the comma-separated fields of each line of `vocab_file`; before them come
    `num_reserved_ids` classes that are never drawn. Of several shards, this is every num_shards-th class from `shard`
    on, and `range_max` their number.
    """
    return Candidates(
        *_call(
            FIXED_UNIGRAM, true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max,
            vocab_file=vocab_file, distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards,
            shard=shard, unigrams=[float(weight) for weight in unigrams],
        )
    )  # fmt: skip


@export("nn.all_candidate_sampler", "random.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """All classes in [0, num_sampled), each with an expected count of one (TF: tf.nn.all_candidate_sampler)."""
    return Candidates(*_call(ALL, true_classes, num_true, num_sampled, unique, seed, name))


def _call(
    op: OpDef, true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: int | None, name: str | None,
    **attrs: Any,
) -> Any:  # fmt: skip
    seed1, seed2 = get_seed(seed)
    return op(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, seed=seed1, seed2=seed2, name=name,
        **attrs,
    )  # fmt: skip


@export("nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: int, seed: int | None = None, name: str | None = None
) -> AccidentalHits:
    """The true classes that were also drawn: row, index among the drawn classes, and a weight of -FLT_MAX.

    true_classes [batch, num_true] int64, sampled_candidates [num_sampled] int64. TF: tf.nn.compute_accidental_hits.
    """
    seed1, seed2 = get_seed(seed)
    return AccidentalHits(
        *COMPUTE_ACCIDENTAL_HITS(
            true_classes, sampled_candidates, num_true=num_true, seed=seed1, seed2=seed2, name=name
        )
    )
