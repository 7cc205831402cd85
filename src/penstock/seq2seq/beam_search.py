"""Beam search: the best few sequences, not one (TF: tf.contrib.seq2seq.BeamSearchDecoder)."""

from __future__ import annotations

import logging
from collections import namedtuple
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import expand_dims, reshape, shape, size
from penstock.ops.cast import cast
from penstock.ops.control_flow.nest import flatten, map_structure, pack_like, same_structure
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.filling import one_hot, zeros
from penstock.ops.gather_tree import gather_tree
from penstock.ops.joining import concat
from penstock.ops.reduce import reduce_max
from penstock.ops.reversing import tile
from penstock.ops.stacking import stack
from penstock.rnn.base import like_cell
from penstock.seq2seq.beam_arrays import along_beams
from penstock.seq2seq.beam_step import BeamSearchDecoderOutput, BeamSearchDecoderState, attention_probs, beam_step
from penstock.seq2seq.decoder import Decoder
from penstock.seq2seq.helpers import embedding_function
from penstock.tensor.shapes import TensorShape


@export("contrib.seq2seq.FinalBeamSearchDecoderOutput")
class FinalBeamSearchDecoderOutput(
    namedtuple("FinalBeamDecoderOutput", ("predicted_ids", "beam_search_decoder_output"))
):
    """What `dynamic_decode` returns: the ids [batch, time, beam], the best beam first, and the steps' outputs."""

    __slots__ = ()


@export("contrib.seq2seq.BeamSearchDecoder")
class BeamSearchDecoder(Decoder):
    """Keeps the `beam_width` best sequences of each row, step by step.

    embedding: a function of ids, or the params of `embedding_lookup`. start_tokens: int32 [batch]. end_token: int32
    []. initial_state: the cell's, with each row repeated `beam_width` times (`tile_batch`). output_layer: makes scores
    [..., vocab] from the cell's outputs. length_penalty_weight: how much longer sequences are favoured;
    coverage_penalty_weight: how much sequences whose attention covers the memory are favoured. reorder_tensor_arrays:
    reorders alignment histories by the final beams. Raises ValueError for tokens of other ranks.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        like_cell(cell)
        if output_layer is not None and not hasattr(output_layer, "compute_output_shape"):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._output_layer, self._beam_width = cell, output_layer, beam_width
        self._length_penalty, self._coverage_penalty = length_penalty_weight, coverage_penalty_weight
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens = convert_to_tensor(start_tokens, "int32", name="start_tokens")
        if self._start_tokens.shape.ndims not in (None, 1):
            raise ValueError("start_tokens must be a vector")
        self._end_token = convert_to_tensor(end_token, "int32", name="end_token")
        if self._end_token.shape.ndims not in (None, 0):
            raise ValueError("end_token must be a scalar")
        rows = self._start_tokens.shape.tuple
        self._static_batch_size = rows[0] if rows else None
        self._batch_size = size(self._start_tokens) if self._static_batch_size is None else self._static_batch_size
        same_structure(cell.state_size, initial_state)
        self._initial_cell_state = map_structure(lambda leaf: self._split(_leaf(leaf)), initial_state)
        self._start_inputs = self._embedding_fn(tile(expand_dims(self._start_tokens, 1), [1, beam_width]))
        self._finished = self._first_beam(on=False, off=True, dtype="bool")

    def _first_beam(self, on: Any, off: Any, dtype: Any) -> Tensor:
        """[batch, beam]: `on` in the first beam, `off` in the others, which would be equal at the start."""
        rows = zeros(stack([self._batch_size]), "int32")
        rows.set_shape([self._static_batch_size])
        return one_hot(rows, self._beam_width, on, off, dtype=dtype)

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        row = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(scores=row, predicted_ids=row, parent_ids=row)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        dtype = flatten(self._initial_cell_state)[0].dtype
        return BeamSearchDecoderOutput(scores=dtype, predicted_ids="int32", parent_ids="int32")

    @property
    def tracks_own_finished(self) -> bool:
        """True: beams are reordered, so a beam may become unfinished again."""
        return True

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        dtype = flatten(self._initial_cell_state)[0].dtype
        lengths = zeros(stack([self._batch_size, self._beam_width]), "int64")
        lengths.set_shape([self._static_batch_size, self._beam_width])
        attended = attention_probs(self._initial_cell_state, self._coverage_penalty)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=self._first_beam(on=0.0, off=-np.inf, dtype=dtype),
            finished=self._finished,
            lengths=lengths,
            accumulated_attention_probs=() if attended is None else attended,
        )
        return self._finished, self._start_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        with name_scope(name, "BeamSearchDecoderStep", [time, *flatten(inputs)]):
            cell_state = map_structure(self._merge, state.cell_state)
            outputs, after = self._cell(map_structure(self._merge, inputs), cell_state)
            outputs = map_structure(self._split, outputs)
            after = pack_like(state.cell_state, [self._split(leaf) for leaf in flatten(after)])
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, following = beam_step(
                logits=outputs,
                cell_state=after,
                state=state,
                batch_size=self._batch_size,
                beam_width=self._beam_width,
                end_token=self._end_token,
                length_penalty_weight=self._length_penalty,
                coverage_penalty_weight=self._coverage_penalty,
            )
            return output, following, self._embedding_fn(output.predicted_ids), following.finished

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        longest = cast(reduce_max(final_state.lengths, 1), "int32")
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder_tensor_arrays:
            cell_state = map_structure(
                lambda leaf: self._sorted(leaf, outputs.parent_ids, final_state.lengths), final_state.cell_state
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(predicted_ids=ids, beam_search_decoder_output=outputs), final_state

    # --- rows and beams ---------------------------------------------------------------------------------

    def _merge(self, value: Any) -> Any:
        """[batch, beam, ...] as [batch beam, ...]; values without rows are unchanged."""
        if isinstance(value, TensorArray) or value.shape.ndims == 0:
            return value
        known = self._static_batch_size
        merged = reshape(value, concat([stack([self._batch_size * self._beam_width]), shape(value)[2:]], 0))
        rows = None if known is None else known * self._beam_width
        merged.set_shape(TensorShape([rows]).concatenate(value.shape[2:]))
        return merged

    def _split(self, value: Any) -> Any:
        """[batch beam, ...] as [batch, beam, ...]. Raises ValueError if the number of rows does not match."""
        if isinstance(value, TensorArray) or value.shape.ndims == 0:
            return value
        known, rows = self._static_batch_size, value.shape.tuple[0] if value.shape.ndims is not None else None
        if known is not None and rows is not None and rows != known * self._beam_width:
            raise ValueError(
                f"The first dimension of {value.name}, {rows}, is not batch_size * beam_width, {known} * "
                f"{self._beam_width}. Perhaps you forgot to create a zero_state with batch_size * beam_width rows, or "
                "to tile the encoder's outputs by tf.contrib.seq2seq.tile_batch?"
            )
        split = reshape(value, concat([stack([self._batch_size, self._beam_width]), shape(value)[1:]], 0))
        split.set_shape(TensorShape([known, self._beam_width]).concatenate(value.shape[1:]))
        return split

    def _sorted(self, value: Any, parent_ids: Tensor, lengths: Tensor) -> Any:
        """A stacked TensorArray of beams, reordered to each beam's own history; other values are unchanged."""
        if not isinstance(value, TensorArray):
            return value
        if not value.element_shape.ndims:
            logging.getLogger("penstock").warning(
                "The TensorArray %s in the cell state cannot be sorted by the beams: its elements have no known rows, "
                "their shape is %s",
                value.handle.name,
                value.element_shape,
            )
            return value
        # A step writes before beams are chosen, at the positions of their parents.
        return along_beams(value.stack(), parent_ids, parent_ids, lengths)


def _leaf(value: Any) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


@export("contrib.seq2seq.tile_batch")
def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Repeats each row of `t` (a nest of tensors) `multiplier` times: [batch multiplier, ...]. Raises ValueError for
    scalars.

    For the encoder's outputs, lengths and final state before a beam search (TF: tf.contrib.seq2seq.tile_batch).
    """
    with name_scope(name, "tile_batch", [*flatten(t), multiplier]):
        return map_structure(lambda value: _tiled(convert_to_tensor(value, name="t"), multiplier), t)


def _tiled(value: Tensor, multiplier: int) -> Tensor:
    if not value.shape.ndims:
        raise ValueError("t must have statically known rank, and at least 1 dimension")
    ones = [1] * (value.shape.ndims - 1)
    repeated = tile(expand_dims(value, 1), [1, multiplier, *ones])
    merged = reshape(repeated, concat([[shape(value)[0] * multiplier], shape(value)[1:]], 0))
    rows = value.shape.tuple[0]
    known = rows * multiplier if rows is not None and isinstance(multiplier, int) else None
    merged.set_shape(TensorShape([known]).concatenate(value.shape[1:]))
    return merged
