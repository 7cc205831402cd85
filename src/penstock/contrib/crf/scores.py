"""Probabilities of sequences of tags in a linear-chain conditional random field.

`inputs` [batch, time, tags] scores each tag at each time, `transition_params` [tags, tags] each pair of a tag and the
next one. What is beyond a sequence's length does not count.
"""

from __future__ import annotations

import math
from typing import Any

from penstock.client.variable_scope import get_variable
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.arithmetic import maximum
from penstock.ops.array import expand_dims, reshape, shape
from penstock.ops.cast import cast
from penstock.ops.compare import less_equal
from penstock.ops.filling import fill, sequence_mask, zeros_like
from penstock.ops.gather import gather
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_logsumexp, reduce_sum
from penstock.ops.sequences import range as range_
from penstock.rnn.base import RNNCell
from penstock.rnn.dynamic import dynamic_rnn
from penstock.tensor.dtypes import bool as bool_dtype, int32, int64


@export("contrib.crf.crf_log_likelihood")
def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Tensor, Any]:
    """The log of each sequence's probability, [batch], and the transitions: by default a new variable "transitions".

    TF: tf.contrib.crf.crf_log_likelihood.
    """
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        count = inputs.shape[2].value
        transition_params = get_variable("transitions", [count, count])
    scores = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return scores - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


@export("contrib.crf.crf_sequence_score")
def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The sum of the scores of the tags of each sequence, [batch], not normalised (TF:
    tf.contrib.crf.crf_sequence_score)."""
    tags, lengths = _ints(tag_indices), _ints(sequence_lengths)
    unary = crf_unary_score(tags, lengths, inputs)
    return unary + crf_binary_score(tags, lengths, transition_params)


@export("contrib.crf.crf_multitag_sequence_score")
def crf_multitag_sequence_score(inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The log of the sum over all sequences that `tag_bitmap`, bool [batch, time, tags], allows (TF:
    tf.contrib.crf.crf_multitag_sequence_score)."""
    inputs = convert_to_tensor(inputs)
    never = fill(shape(inputs), convert_to_tensor(-math.inf, inputs.dtype))
    allowed = where(cast(convert_to_tensor(tag_bitmap), bool_dtype), inputs, never)
    return crf_log_norm(allowed, sequence_lengths, transition_params)


@export("contrib.crf.crf_unary_score")
def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Tensor:
    """The sum over time of the scores of single tags, [batch] (TF: tf.contrib.crf.crf_unary_score)."""
    tags, inputs = _ints(tag_indices), convert_to_tensor(inputs)
    dims = shape(inputs)
    places = reshape(range_(dims[0] * dims[1]) * dims[2], dims[:2]) + tags
    scores = gather(reshape(inputs, [-1]), places)
    return reduce_sum(scores * sequence_mask(_ints(sequence_lengths), dims[1], inputs.dtype), 1)


@export("contrib.crf.crf_binary_score")
def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The sum over time of the scores of pairs of tags, [batch] (TF: tf.contrib.crf.crf_binary_score)."""
    tags, transitions = _ints(tag_indices), convert_to_tensor(transition_params)
    pairs = tags[:, :-1] * shape(transitions)[0] + tags[:, 1:]
    scores = gather(reshape(transitions, [-1]), pairs)
    mask = sequence_mask(_ints(sequence_lengths), shape(tags)[1], transitions.dtype.base_dtype)
    return reduce_sum(scores * mask[:, 1:], 1)


@export("contrib.crf.crf_log_norm")
def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The log of the sum over all sequences of tags, [batch]; 0 for empty ones (TF: tf.contrib.crf.crf_log_norm)."""
    inputs, lengths = convert_to_tensor(inputs), _ints(sequence_lengths)
    cell = CrfForwardRnnCell(convert_to_tensor(transition_params))
    _, alphas = dynamic_rnn(cell, inputs[:, 1:], maximum(lengths - 1, 0), inputs[:, 0], inputs.dtype)
    norm = reduce_logsumexp(alphas, [1])
    return where(less_equal(lengths, 0), zeros_like(norm), norm)


class TransitionCell(RNNCell):
    """A cell whose state has a number for each tag."""

    def __init__(self, transition_params: Any) -> None:
        transitions = convert_to_tensor(transition_params)
        self._transitions = expand_dims(transitions, 0)
        self._count: Any = transitions.shape[0].value

    @property
    def state_size(self) -> Any:
        return self._count

    @property
    def output_size(self) -> Any:
        return self._count


@export("contrib.crf.CrfForwardRnnCell")
class CrfForwardRnnCell(TransitionCell):
    """The forward algorithm: its state is, for each tag, the log of the sum over all sequences that end in it (TF:
    tf.contrib.crf.CrfForwardRnnCell)."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        alphas = inputs + reduce_logsumexp(expand_dims(state, 2) + self._transitions, [1])
        return alphas, alphas


def _ints(values: Any) -> Tensor:
    tensor = convert_to_tensor(values)
    return cast(tensor, int32) if tensor.dtype == int64 else tensor
