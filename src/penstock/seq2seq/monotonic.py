"""Monotonic attention moves along the memory and never back (https://arxiv.org/abs/1704.00784)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.client.initializers import constant_initializer
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import shape
from penstock.ops.cast import cast
from penstock.ops.clip import clip_by_value
from penstock.ops.control_flow.functional import scan
from penstock.ops.filling import one_hot, ones_like, zeros, zeros_like
from penstock.ops.joining import concat
from penstock.ops.layout import transpose
from penstock.ops.random import random_normal
from penstock.ops.scan import cumprod, cumsum
from penstock.ops.stacking import stack
from penstock.ops.unary import exp, log, sigmoid
from penstock.seq2seq.attention import (
    BaseAttentionMechanism,
    MemoryLayer,
    QueryLayer,
    bahdanau_score,
    luong_score,
)


@export("contrib.seq2seq.safe_cumprod")
def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Tensor:
    """`cumprod` of numbers in [0, 1], using logarithms, so that the gradient is finite even at 0."""
    with name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.np).tiny
        return exp(cumsum(log(clip_by_value(x, tiny, 1)), *args, **kwargs))


@export("contrib.seq2seq.monotonic_attention")
def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Tensor:
    """The next distribution over the memory, [batch, time], given the previous one.

    p_choose_i: the probability of stopping at each step, when coming from the previous one. mode: "recursive" (exact,
    step by step), "parallel" (at once, less precise for long memories) or "hard" (for probabilities that are 0 or 1).
    Raises ValueError for others.
    """
    p, previous = convert_to_tensor(p_choose_i, name="p_choose_i"), convert_to_tensor(previous_attention)
    if mode == "recursive":
        going_on = concat([ones_like(p[:, :1]), 1 - p[:, :-1]], 1)
        steps = [transpose(going_on), transpose(previous)]
        reached = scan(lambda before, now: now[0] * before + now[1], steps, zeros_like(p[:, 0]))
        found = p * transpose(reached)
        found.set_shape(p.shape)
        return found
    if mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * passed * cumsum(previous / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        p = p * cumsum(previous, axis=1)
        return p * cumprod(1 - p, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _probabilities(noise: float, mode: str, seed: int | None) -> Callable[[Any, Any], Tensor]:
    """A function from scores and previous alignments to the next ones; in training, normal noise is added to scores."""

    def function(score: Tensor, previous: Tensor) -> Tensor:
        if noise > 0:
            score = score + noise * random_normal(shape(score), dtype=score.dtype, seed=seed)
        p = cast(score > 0, score.dtype) if mode == "hard" else sigmoid(score)
        return monotonic_attention(p, previous, mode)

    return function


class MonotonicAttention(BaseAttentionMechanism):
    """Base class of both: attention starts at the first step of the memory."""

    _score_bias_init: float

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """1 at the first step, [batch_size, time]."""
        found = one_hot(zeros(stack([batch_size]), "int32"), self._alignments_size, dtype=dtype)
        found.set_shape(super().initial_alignments(batch_size, dtype).shape)
        return found

    def _aligned(self, score: Tensor, state: Any) -> tuple[Tensor, Tensor]:
        start = constant_initializer(self._score_bias_init, dtype=score.dtype)
        alignments = self._probability_fn(score + get_variable("attention_score_bias", [], score.dtype, start), state)
        return alignments, alignments


@export("contrib.seq2seq.BahdanauMonotonicAttention")
class BahdanauMonotonicAttention(MonotonicAttention):
    """Monotonic attention with `BahdanauAttention`'s scores and a bias that starts at `score_bias_init`.

    sigmoid_noise: the standard deviation of the noise added to scores. mode: see `monotonic_attention`.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=QueryLayer(num_units, use_bias=False, dtype=dtype),
            memory=memory,
            probability_fn=_probabilities(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length=memory_sequence_length,
            memory_layer=MemoryLayer(num_units, use_bias=False, dtype=dtype),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units, self._normalize, self._name = num_units, normalize, name
        self._score_bias_init = score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Tensor, Any]:
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            return self._aligned(bahdanau_score(self._query_layer(query), self._keys, self._normalize), state)


@export("contrib.seq2seq.LuongMonotonicAttention")
class LuongMonotonicAttention(MonotonicAttention):
    """Monotonic attention with `LuongAttention`'s scores and a bias that starts at `score_bias_init`."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=None,
            memory=memory,
            probability_fn=_probabilities(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length=memory_sequence_length,
            memory_layer=MemoryLayer(num_units, use_bias=False, dtype=dtype),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units, self._scale, self._name = num_units, scale, name
        self._score_bias_init = score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Tensor, Any]:
        with variable_scope(None, "luong_monotonic_attention", [query]):
            return self._aligned(luong_score(query, self._keys, self._scale), state)
