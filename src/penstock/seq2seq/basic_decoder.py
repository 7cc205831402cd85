"""A decoder made of a cell and a helper that chooses its inputs (TF: tf.contrib.seq2seq.BasicDecoder)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from penstock.export import export
from penstock.graph.scopes import name_scope
from penstock.ops.control_flow.nest import flatten, map_structure
from penstock.rnn.base import like_cell
from penstock.seq2seq.decoder import Decoder
from penstock.seq2seq.helpers import Helper
from penstock.tensor.shapes import TensorShape


@export("contrib.seq2seq.BasicDecoderOutput")
class BasicDecoderOutput(namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    """A step's output: that of the cell (or the output layer), and what the helper sampled from it."""

    __slots__ = ()


@export("contrib.seq2seq.BasicDecoder")
class BasicDecoder(Decoder):
    """The cell, step by step; `helper` draws samples from its outputs and returns the next inputs.

    initial_state: the cell's. output_layer: a layer (with `compute_output_shape`) applied to the outputs before samples
    are drawn. Raises TypeError for an invalid helper or layer.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        like_cell(cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not hasattr(output_layer, "compute_output_shape"):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._helper, self._initial_state = cell, helper, initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        return BasicDecoderOutput(rnn_output=self._rnn_output_size(), sample_id=self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """That of the state for the cell's outputs."""
        dtype = flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(
            rnn_output=map_structure(lambda _: dtype, self._rnn_output_size()), sample_id=self._helper.sample_ids_dtype
        )

    def _rnn_output_size(self) -> Any:
        size = self._cell.output_size
        if self._output_layer is None:
            return size

        def of_layer(one: Any) -> TensorShape:
            row = one if isinstance(one, TensorShape) else TensorShape([one])
            return self._output_layer.compute_output_shape(TensorShape([None]).concatenate(row))[1:]

        return map_structure(of_layer, size)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        with name_scope(name, "BasicDecoderStep", [time, *flatten(inputs)]):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, following, state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), state, following, finished
