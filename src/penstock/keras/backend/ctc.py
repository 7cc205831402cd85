"""Connectionist temporal classification of batches of probabilities."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import epsilon
from penstock.ops.array import expand_dims, reshape, shape
from penstock.ops.cast import cast
from penstock.ops.filling import sequence_mask
from penstock.ops.gather_nd import gather_nd
from penstock.ops.layout import transpose
from penstock.ops.partition import where
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.ops.unary import log


@export("keras.backend.ctc_label_dense_to_sparse")
def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> SparseTensor:
    """The first `label_lengths` [n] of each row of `labels` [n, longest]."""
    labels = convert_to_tensor(labels)
    kept = where(sequence_mask(label_lengths, shape(labels)[1]))
    return SparseTensor(kept, gather_nd(labels, kept), cast(shape(labels), "int64"))


@export("keras.backend.ctc_batch_cost")
def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Tensor:
    """The CTC loss [n, 1] of labels [n, longest], for probabilities [n, time, classes] of which the last is the blank.

    input_length, label_length: [n, 1], how many steps and labels count.
    """
    lengths = cast(reshape(label_length, [-1]), "int32")
    labels = cast(ctc_label_dense_to_sparse(y_true, lengths), "int32")
    steps = cast(reshape(input_length, [-1]), "int32")
    return expand_dims(nn.ctc_loss(labels, _logs(y_pred), steps), 1)


@export("keras.backend.ctc_decode")
def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Tensor], Tensor]:
    """The likeliest labels for probabilities [n, time, classes]: the best of each step, or `top_paths` of a search.

    Returns labels [n, longest], with -1 after the last, and log probabilities [n, top_paths].
    """
    steps = cast(reshape(input_length, [-1]), "int32")
    if greedy:
        found, scores = nn.ctc_greedy_decoder(_logs(y_pred), steps)
    else:
        found, scores = nn.ctc_beam_search_decoder(_logs(y_pred), steps, beam_width, top_paths, merge_repeated=False)
    return [sparse_tensor_to_dense(labels, default_value=-1) for labels in found], scores


def _logs(probabilities: Any) -> Tensor:
    """Logarithms [time, n, classes]."""
    return log(transpose(probabilities, [1, 0, 2]) + epsilon())
