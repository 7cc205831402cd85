"""The most probable sequence of tags of a linear-chain conditional random field, by Viterbi's algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib.crf.scores import TransitionCell
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.arg_reductions import argmax
from penstock.ops.arithmetic import maximum
from penstock.ops.array import expand_dims, squeeze
from penstock.ops.cast import cast
from penstock.ops.gather import gather
from penstock.ops.joining import concat
from penstock.ops.reduce import reduce_max
from penstock.ops.reversing import reverse_sequence
from penstock.rnn.base import RNNCell
from penstock.rnn.dynamic import dynamic_rnn
from penstock.tensor.dtypes import int32


@export("contrib.crf.viterbi_decode")
def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], float]:
    """The best tags of one sequence, and their score; takes and returns values, not tensors (TF:
    tf.contrib.crf.viterbi_decode).

    score: [time, tags].
    """
    score, transitions = np.asarray(score), np.asarray(transition_params)
    best, pointers = score[0], []
    for at_this_time in score[1:]:
        ways = best[:, None] + transitions
        pointers.append(ways.argmax(0))
        best = at_this_time + ways.max(0)
    tags = [int(best.argmax())]
    for before in reversed(pointers):
        tags.append(int(before[tags[-1]]))
    return tags[::-1], best.max()


@export("contrib.crf.crf_decode")
def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Tensor, Tensor]:
    """The best tags of each sequence, int32 [batch, time], and their scores, [batch] (TF: tf.contrib.crf.crf_decode).

    potentials: [batch, time, tags].
    """
    potentials, lengths = convert_to_tensor(potentials), cast(convert_to_tensor(sequence_length), int32)
    steps = maximum(lengths - 1, 0)
    forward = CrfDecodeForwardRnnCell(transition_params)
    pointers, scores = dynamic_rnn(
        forward, potentials[:, 1:], steps, potentials[:, 0], int32, scope="crf_decode_forward"
    )
    last = expand_dims(cast(argmax(scores, 1), int32), 1)
    backward = CrfDecodeBackwardRnnCell(forward.output_size)
    pointers = reverse_sequence(pointers, steps, 1)
    tags, _ = dynamic_rnn(backward, pointers, steps, last, int32, scope="crf_decode_backward")
    tags = concat([last, squeeze(tags, [2])], 1)
    return reverse_sequence(tags, lengths, 1), reduce_max(scores, 1)


@export("contrib.crf.CrfDecodeForwardRnnCell")
class CrfDecodeForwardRnnCell(TransitionCell):
    """Its state is the best score of a sequence that ends in each tag, its output the tag before (TF:
    tf.contrib.crf.CrfDecodeForwardRnnCell)."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        ways = expand_dims(state, 2) + self._transitions
        return cast(argmax(ways, 1), int32), inputs + reduce_max(ways, 1)


@export("contrib.crf.CrfDecodeBackwardRnnCell")
class CrfDecodeBackwardRnnCell(RNNCell):
    """Its inputs say which tag comes before each tag; state and output are the tags of the best sequences, from the end
    (TF: tf.contrib.crf.CrfDecodeBackwardRnnCell)."""

    def __init__(self, num_tags: int) -> None:
        self._count = num_tags

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return 1

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        before = gather(inputs, state, batch_dims=1)
        return before, before
