"""One step of a beam search: which beams continue, and with which ids."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.arithmetic import minimum
from penstock.ops.array import expand_dims, reshape, shape
from penstock.ops.broadcasting import broadcast_to
from penstock.ops.cast import cast
from penstock.ops.compare import equal, logical_not, logical_or
from penstock.ops.control_flow.nest import map_structure
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.division import floordiv, floormod
from penstock.ops.filling import one_hot, ones_like
from penstock.ops.gather import gather
from penstock.ops.joining import concat
from penstock.ops.nn.softmax import log_softmax
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_mean, reduce_sum
from penstock.ops.sequences import range as range_
from penstock.ops.sorting import top_k
from penstock.ops.stacking import stack
from penstock.ops.unary import log
from penstock.seq2seq.attention_wrapper import AttentionWrapperState


@export("contrib.seq2seq.BeamSearchDecoderState")
class BeamSearchDecoderState(
    namedtuple(
        "BeamSearchDecoderState", ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs")
    )
):
    """The state of a beam search, [batch, beam, ...] each."""

    __slots__ = ()


@export("contrib.seq2seq.BeamSearchDecoderOutput")
class BeamSearchDecoderOutput(namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))):
    """A step's output, [batch, beam] each: the beams' scores, their new ids, and their parent beams."""

    __slots__ = ()


def beam_step(
    logits: Tensor,
    cell_state: Any,
    state: BeamSearchDecoderState,
    batch_size: Any,
    beam_width: int,
    end_token: Tensor,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    """(output, next state): the best combinations of beams and ids, by `logits` [batch, beam, vocab]."""
    known_vocab = logits.shape.tuple[-1] if logits.shape.ndims is not None else None
    vocab = shape(logits)[-1] if known_vocab is None else known_vocab
    going_on = logical_not(state.finished)
    totals = expand_dims(state.log_probs, 2) + _ends_go_on(log_softmax(logits), state.finished, end_token, vocab)
    # Unfinished beams grow by each id except the end token, which is counted when it is chosen.
    grows = reshape(one_hot(end_token, vocab, 0, 1, dtype="int64"), [1, 1, -1])
    lengths = expand_dims(state.lengths, 2) + grows * expand_dims(cast(going_on, "int64"), 2)
    attended = attention_probs(cell_state, coverage_penalty_weight)
    covered = None
    if attended is not None:
        now = attended * expand_dims(cast(going_on, attended.dtype), 2)
        covered = state.accumulated_attention_probs + now
    scores = _scores(totals, lengths, length_penalty_weight, coverage_penalty_weight, state.finished, covered)

    chosen_scores, chosen = top_k(reshape(scores, [batch_size, -1]), beam_width)
    rows = [batch_size if isinstance(batch_size, int) else None, beam_width]
    chosen.set_shape(rows)
    chosen_scores.set_shape(rows)
    ids, beams = floormod(chosen, vocab), floordiv(chosen, vocab)
    first = expand_dims(range_(batch_size), 1)  # the offsets of rows in flat tensors
    log_probs = gather(reshape(totals, [-1]), chosen + first * (vocab * beam_width))
    places = beams + first * beam_width

    def of_chosen(value: Any) -> Any:
        """The rows of [batch, beam, ...] of the chosen beams' parents; values without beams are unchanged."""
        if isinstance(value, TensorArray) or (value.shape.ndims is not None and value.shape.ndims < 2):
            return value
        found = gather(reshape(value, concat([[-1], shape(value)[2:]], 0)), places)
        found.set_shape(value.shape)
        return found

    had_finished = of_chosen(state.finished)
    following = BeamSearchDecoderState(
        cell_state=map_structure(of_chosen, cell_state),
        log_probs=log_probs,
        finished=logical_or(had_finished, equal(ids, end_token)),
        lengths=of_chosen(state.lengths) + cast(logical_not(had_finished), "int64"),
        accumulated_attention_probs=() if covered is None else of_chosen(covered),
    )
    return BeamSearchDecoderOutput(scores=chosen_scores, predicted_ids=ids, parent_ids=beams), following


def _ends_go_on(log_probs: Tensor, finished: Tensor, end_token: Tensor, vocab: Any) -> Tensor:
    """The log probabilities; a finished beam continues with the end token with certainty."""
    dtype, dims = log_probs.dtype.base_dtype, shape(log_probs)
    certain = broadcast_to(one_hot(end_token, vocab, 0.0, dtype.min, dtype=dtype), dims)
    return where(broadcast_to(expand_dims(finished, 2), dims), certain, log_probs)


def _scores(
    totals: Tensor, lengths: Tensor, length_weight: Any, coverage_weight: Any, finished: Tensor, covered: Tensor | None
) -> Tensor:
    """The scores that beams are chosen by: log probabilities over the length penalty, plus the coverage penalty."""
    scores = totals / length_penalty(lengths, length_weight, totals.dtype)
    weight = convert_to_tensor(coverage_weight, totals.dtype, name="coverage_penalty_weight")
    if weight.shape.ndims != 0:
        raise ValueError(f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}")
    if covered is None:
        return scores
    # Positions beyond the memory's length get no attention: log 1 there.
    covered = where(equal(covered, 0.0), ones_like(covered), covered)
    penalty = reduce_sum(log(minimum(covered, 1.0)), 2) * cast(finished, totals.dtype)
    return scores + expand_dims(penalty * weight, 2)


def length_penalty(lengths: Tensor, weight: Any, dtype: Any) -> Any:
    """((5 + length) / 6) to the power of `weight`; 1 for a weight of 0 (https://arxiv.org/abs/1609.08144)."""
    weight = convert_to_tensor(weight, dtype, name="penalty_factor")
    weight.set_shape([])
    if constant_value(weight) == 0:
        return 1.0
    return (5.0 + cast(lengths, dtype)) ** weight / 6.0**weight


def attention_probs(cell_state: Any, coverage_weight: Any) -> Tensor | None:
    """The alignments in a state, [batch, beam, time], their mean if there are several; None for a weight of 0.

    Raises ValueError for a state without alignments.
    """
    if not isinstance(coverage_weight, Tensor) and coverage_weight == 0:
        return None
    states = [cell_state] if isinstance(cell_state, AttentionWrapperState) else list(_parts(cell_state))
    found = [_mean(s.alignments) for s in states if isinstance(s, AttentionWrapperState)]
    if not found:
        raise ValueError(
            "coverage_penalty_weight must be 0.0 if no cell is attention wrapper, or attention wrappers are not at the "
            f"top of the state: {cell_state}"
        )
    return _mean(tuple(found))


def _parts(state: Any) -> Any:
    return state if isinstance(state, list | tuple) else ()


def _mean(alignments: Any) -> Tensor:
    if not isinstance(alignments, tuple):
        return alignments
    return alignments[0] if len(alignments) == 1 else reduce_mean(stack(list(alignments), -1), -1)
