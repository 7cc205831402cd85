"""From the scores of frames to label sequences (TF: CTCGreedyDecoder, CTCBeamSearchDecoder)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape, merge_dim

CTC_GREEDY_DECODER = define_op(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int32",
    "decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T",
    attrs=["merge_repeated: bool = false", "blank_index: int = -1", "T: {float, double} = float"],
    work=SERIAL,
)
CTC_BEAM_SEARCH_DECODER = define_op(
    "CTCBeamSearchDecoder",
    "inputs: T, sequence_length: int32",
    "decoded_indices: top_paths * int64, decoded_values: top_paths * int64, decoded_shape: top_paths * int64, "
    "log_probability: T",
    attrs=[
        "beam_width: int >= 1",
        "top_paths: int >= 1",
        "merge_repeated: bool = true",
        "T: {float, double} = float",
    ],
    work=SERIAL,
)
CTC_GREEDY_DECODER.not_differentiable()
CTC_BEAM_SEARCH_DECODER.not_differentiable()


@CTC_GREEDY_DECODER.shape
def ctc_greedy_decoder_shape(c: ShapeContext, inputs: TensorShape, lengths: TensorShape) -> list[TensorShape]:
    return [TensorShape([None, 2]), TensorShape([None]), TensorShape([2]), TensorShape([_batch(inputs, lengths), 1])]


@CTC_BEAM_SEARCH_DECODER.shape
def ctc_beam_search_decoder_shape(c: ShapeContext, inputs: TensorShape, lengths: TensorShape) -> list[TensorShape]:
    count, batch = c.attrs["top_paths"], _batch(inputs, lengths)
    return [
        *[TensorShape([None, 2])] * count,
        *[TensorShape([None])] * count,
        *[TensorShape([2])] * count,
        TensorShape([batch, count]),
    ]


def _batch(inputs: TensorShape, lengths: TensorShape) -> int | None:
    return merge_dim(inputs.with_rank(3).tuple[1], lengths.with_rank(1).tuple[0], "batch sizes")


def _check(inputs: torch.Tensor, lengths: torch.Tensor) -> list[int]:
    """The lengths; raises FailedPreconditionError for one that is out of range."""
    if inputs.dim() != 3:
        raise invalid(f"inputs is not a 3-Tensor, got shape {list(inputs.shape)}")
    if not inputs.shape[0]:
        raise invalid("max_time is 0")
    if lengths.shape != (inputs.shape[1],):
        raise invalid(
            f"len(sequence_length) != batch_size. len(sequence_length): {lengths.numel()} batch_size: {inputs.shape[1]}"
        )
    found: list[int] = lengths.tolist()
    for b, length in enumerate(found):
        if not 0 <= length <= inputs.shape[0]:
            raise errors.FailedPreconditionError(None, None, f"sequence_length({b}) <= {inputs.shape[0]}, got {length}")
    return found


def _sparse(sequences: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sequences as the rows of a sparse matrix."""
    indices = [(b, i) for b, labels in enumerate(sequences) for i in range(len(labels))]
    values = [label for labels in sequences for label in labels]
    shape = [len(sequences), max(map(len, sequences), default=0)]
    return (
        torch.tensor(indices, dtype=torch.int64).reshape(-1, 2),
        torch.tensor(values, dtype=torch.int64),
        torch.tensor(shape, dtype=torch.int64),
    )


# --- greedy ---------------------------------------------------------------------------------------------


@CTC_GREEDY_DECODER.kernel("CPU")
def ctc_greedy_decoder_kernel(ctx: KernelContext) -> Kernel:
    merge, blank_index = ctx["merge_repeated"], ctx["blank_index"]

    def decode(inputs: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, ...]:
        steps = _check(inputs, lengths)
        classes = inputs.shape[2]
        blank = blank_index + classes if blank_index < 0 else blank_index
        if not 0 <= blank < classes:
            raise invalid(f"blank_index expected to be between {-classes} and {classes - 1}, got {blank_index}")
        scores = inputs.numpy()
        best = scores.argmax(2)
        there = np.arange(len(scores))[:, None] < np.array(steps, np.int64)
        total = np.where(there, scores.max(2), 0).sum(0, keepdims=True, dtype=scores.dtype)
        kept = there & (best != blank)
        if merge:
            kept[1:] &= best[1:] != best[:-1]
        sequences = [best[kept[:, b], b].tolist() for b in range(best.shape[1])]
        return (*_sparse(sequences), torch.from_numpy(np.ascontiguousarray(-total.T)))

    return decode


@export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
) -> tuple[list[SparseTensor], Tensor]:
    """The best class of each frame, without blanks and (with `merge_repeated`) repeats (TF: tf.nn.ctc_greedy_decoder).

    inputs: logits [time, batch, classes], the last class the blank unless `blank_index` says otherwise;
    sequence_length: int32 [batch]. Returns a list of one SparseTensor, int64 [batch, longest], and minus the sums
    of the best logits, [batch, 1].
    """
    *parts, score = CTC_GREEDY_DECODER(
        inputs, sequence_length, merge_repeated=merge_repeated, blank_index=-1 if blank_index is None else blank_index
    )
    return [SparseTensor(*parts)], score


# --- beam search ----------------------------------------------------------------------------------------


class _Prefixes:
    """Label sequences as a tree: each extends another one by a label. The first is empty."""

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._ids: dict[int, int] = {}
        self.parents, self.labels = [-1], [-1]

    def child(self, prefix: int, label: int) -> int:
        key = prefix * self._classes + label
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.parents)
            self.parents.append(prefix)
            self.labels.append(label)
        return found

    def sequence(self, prefix: int, merge_repeated: bool) -> list[int]:
        labels: list[int] = []
        before = -1
        while prefix:
            label = self.labels[prefix]
            if not merge_repeated or label != before:
                labels.append(label)
            before, prefix = label, self.parents[prefix]
        return labels[::-1]


def beam_search(scores: np.ndarray, width: int) -> tuple[_Prefixes, list[int], np.ndarray]:
    """The `width` likeliest prefixes, best first, and their log probabilities.

    scores: log probabilities [time, classes], the last class the blank. A prefix has two: that of paths that end with a
    blank, and of those that end with its last label (Graves 2012; Hannun et al. 2014).
    """
    tree = _Prefixes(scores.shape[1] - 1)
    beam = [0]
    blank, label_end = np.zeros(1), np.full(1, -np.inf)
    total = np.zeros(1)
    for frame in scores:
        last = np.array([tree.labels[p] for p in beam])
        where = {prefix: i for i, prefix in enumerate(beam)}
        parent = np.array([where.get(tree.parents[p], -1) for p in beam])
        # A repeated label is a new one only after a blank.
        grown = np.where(last[:, None] == np.arange(scores.shape[1] - 1), blank[:, None], total[:, None]) + frame[:-1]
        inside = (parent >= 0).nonzero()[0]
        extended = np.full(len(beam), -np.inf)
        at = parent[inside], last[inside]
        extended[inside] = grown[at]
        grown[at] = -np.inf  # they are in the beam as separate prefixes
        label_end = np.logaddexp(label_end + np.where(last >= 0, frame[last], 0), extended)
        blank = total + frame[-1]
        kept_up = np.logaddexp(blank, label_end)
        _leave_unextended(kept_up, grown, parent, last, width)
        totals = np.concatenate([kept_up, grown.reshape(-1)])
        chosen = _largest(totals, width)
        old = chosen < len(beam)
        parents, labels = np.divmod(chosen - len(beam), max(grown.shape[1], 1))
        blank = np.where(old, blank[np.where(old, chosen, 0)], -np.inf)
        label_end = np.where(old, label_end[np.where(old, chosen, 0)], totals[chosen])
        total = totals[chosen]
        beam = [
            beam[c] if kept else tree.child(beam[p], label)
            for c, kept, p, label in zip(chosen.tolist(), old.tolist(), parents.tolist(), labels.tolist(), strict=True)
        ]
    return tree, beam, total


def _leave_unextended(kept_up: np.ndarray, grown: np.ndarray, parent: np.ndarray, last: np.ndarray, width: int) -> None:
    """Remove from `grown` what TensorFlow's search omits.

    TensorFlow extends one prefix after another. If a prefix has dropped out of the beam by the time its parent is
    extended by its label, and its own turn has not come yet, it is reset and not extended in this frame.
    """
    if kept_up.size + grown.size <= width:
        return
    everything = np.concatenate([kept_up, grown.reshape(-1)])
    limit = np.partition(everything, everything.size - width)[everything.size - width]
    skipped = np.zeros(len(kept_up), bool)
    for j in ((kept_up < limit) & (parent >= 0) & (parent < np.arange(len(kept_up)))).nonzero()[0]:
        i, score = parent[j], kept_up[j]
        better = np.count_nonzero(kept_up > score) + np.count_nonzero(grown[:i] > score)
        if not skipped[i] and better + np.count_nonzero(grown[i, : last[j]] > score) >= width:
            skipped[j] = True
            grown[j] = -np.inf


def _largest(totals: np.ndarray, width: int) -> np.ndarray:
    """The positions of the `width` largest, in order; the first of equal ones; no impossible ones."""
    if len(totals) > 4 * width:
        limit = np.partition(totals, len(totals) - width)[len(totals) - width]
        candidates = (totals >= limit).nonzero()[0]
    else:
        candidates = np.arange(len(totals))
    candidates = candidates[totals[candidates] > -np.inf]
    return candidates[np.argsort(-totals[candidates], kind="stable")[:width]]


@CTC_BEAM_SEARCH_DECODER.kernel("CPU")
def ctc_beam_search_decoder_kernel(ctx: KernelContext) -> Kernel:
    width, top_paths, merge = ctx["beam_width"], ctx["top_paths"], ctx["merge_repeated"]

    def decode(inputs: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, ...]:
        steps = _check(inputs, lengths)
        if top_paths > width:
            raise invalid(f"Requesting more top_paths than the beam_width: {top_paths} > {width}")
        scores = torch.log_softmax(inputs.double(), 2).numpy()
        paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
        found = np.zeros((len(steps), top_paths))
        for b, length in enumerate(steps):
            tree, beam, total = beam_search(scores[:length, b], width)
            if len(beam) < top_paths:
                raise invalid(f"Less leaves in the beam search than requested: {len(beam)} < {top_paths}")
            for k in range(top_paths):
                paths[k].append(tree.sequence(beam[k], merge))
            found[b] = total[:top_paths]
        parts = [_sparse(path) for path in paths]
        return (*(part[i] for i in range(3) for part in parts), torch.from_numpy(found).to(inputs.dtype))

    return decode


@export("nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The `top_paths` likeliest label sequences among `beam_width` (TF: tf.nn.ctc_beam_search_decoder).

    inputs: logits [time, batch, classes], the last class the blank; sequence_length: int32 [batch]. Returns a
    SparseTensor for each path, int64 [batch, longest], and their log probabilities [batch, top_paths]. With
    `merge_repeated` consecutive equal labels in a found path are merged, as in TF, even if there were blanks between
    them.
    """
    indices, values, shapes, scores = CTC_BEAM_SEARCH_DECODER(
        inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated
    )
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes, strict=True)], scores


@export("nn.ctc_beam_search_decoder_v2")
def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """Like `ctc_beam_search_decoder`, without merging repeats (TF: tf.nn.ctc_beam_search_decoder_v2)."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)
