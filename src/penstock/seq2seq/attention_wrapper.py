"""A cell that attends to a memory at each step (TF: tf.contrib.seq2seq.AttentionWrapper)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, more_nodes, name_scope
from penstock.layers.core import Dense
from penstock.ops.arg_reductions import argmax
from penstock.ops.array import expand_dims, shape, squeeze
from penstock.ops.basic import identity
from penstock.ops.checks import assert_equal
from penstock.ops.control_flow.nest import flatten, map_structure, pack_like
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.filling import one_hot, zeros
from penstock.ops.joining import concat
from penstock.ops.matrix import matmul
from penstock.rnn.base import RNNCell, like_cell, zeros_of
from penstock.seq2seq.attention import AttentionMechanism
from penstock.tensor.shapes import TensorShape


@export("contrib.seq2seq.AttentionWrapperState")
class AttentionWrapperState(
    namedtuple(
        "AttentionWrapperState",
        ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"),
    )
):
    """The state of an `AttentionWrapper`.

    cell_state: of the cell inside. attention: the last attention, [batch, size]. time: int32 []. alignments: the last
    ones, [batch, memory time]. alignment_history: a TensorArray of all of them, or (). attention_state: the
    mechanism's. The last three are tuples if there are several mechanisms.
    """

    __slots__ = ()

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """A copy with other parts. Raises ValueError for tensors whose shapes differ from the old ones'."""

        def checked(old: Any, new: Any) -> Any:
            if isinstance(old, Tensor) and isinstance(new, Tensor):
                new.shape.assert_is_compatible_with(old.shape)
            return new

        return map_structure(checked, self, self._replace(**kwargs))


class AttentionLayer(Dense):
    """Makes the attention from the cell's output and the context; its name is made unique in its scope."""


def compute_attention(
    attention_mechanism: Any, cell_output: Any, attention_state: Any, attention_layer: Any
) -> tuple[Tensor, Tensor, Any]:
    """(attention, alignments, next state of the mechanism): a layer of the mean of the values, weighted by the
    alignments."""
    alignments, following = attention_mechanism(cell_output, state=attention_state)
    context = squeeze(matmul(expand_dims(alignments, 1), attention_mechanism.values), [1])
    if attention_layer is None:
        return context, alignments, following
    return attention_layer(concat([cell_output, context], 1)), alignments, following


@export("contrib.seq2seq.AttentionWrapper", "contrib.seq2seq.DynamicAttentionWrapper")
class AttentionWrapper(RNNCell):
    """Runs `cell` on its inputs and the last attention, then computes the attention from its output by
    `attention_mechanism`.

    attention_mechanism: one, or a list whose attentions are concatenated. attention_layer_size: the size of the
    attention, a layer of the cell's output and the context (None: the context itself); attention_layer: that layer;
    each a list for several mechanisms. alignment_history: whether the state keeps all alignments. cell_input_fn: from
    (inputs, attention) to the cell's inputs, by default both concatenated. output_attention: whether the output is the
    attention, otherwise the cell's output. initial_cell_state: for `zero_state`. attention_fn: replaces
    `compute_attention`. Raises TypeError or ValueError for invalid or conflicting arguments.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        like_cell(cell)
        self._is_multi = isinstance(attention_mechanism, list | tuple)
        mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(f"attention_mechanism must be an AttentionMechanism, not {type(mechanism).__name__}")
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._cell, self._attention_mechanisms = cell, mechanisms
        self._attention_layers = _layers(attention_layer_size, attention_layer, mechanisms)
        self._attention_layer_size = _total_size(self._attention_layers, mechanisms, cell)
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: concat([inputs, attention], -1))
        self._attention_fn = attention_fn or compute_attention
        self._output_attention, self._alignment_history = output_attention, alignment_history
        with name_scope(name, "AttentionWrapperInit"):
            self._initial_cell_state = None
            if initial_cell_state is not None:
                self._initial_cell_state = map_structure(convert_to_tensor, initial_cell_state)

    def _item_or_tuple(self, found: Any) -> Any:
        items = tuple(found)
        return items if self._is_multi else items[0]

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        mechanisms = self._attention_mechanisms
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(m.alignments_size for m in mechanisms),
            attention_state=self._item_or_tuple(m.state_size for m in mechanisms),
            alignment_history=self._item_or_tuple(
                m.alignments_size if self._alignment_history else () for m in mechanisms
            ),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """The state before the first step. The step raises InvalidArgumentError if the memory has a different batch
        size."""
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            checks = [
                assert_equal(
                    mechanism.batch_size,
                    batch_size,
                    message="When calling zero_state of AttentionWrapper: the batch size of the memory is not that of "
                    "the state. With a BeamSearchDecoder, tile the encoder's outputs by tf.contrib.seq2seq.tile_batch "
                    "and give zero_state batch_size * beam_width.",
                )
                for mechanism in self._attention_mechanisms
            ]
            self._count_checks(batch_size)
            with control_dependencies(checks):
                cell_state = map_structure(lambda s: identity(s, name="checked_cell_state"), cell_state)
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._attention_mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=zeros([], "int32"),
                attention=zeros_of(self._attention_layer_size, batch_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(
                    m.initial_state(batch_size, dtype) for m in self._attention_mechanisms
                ),
                alignment_history=self._item_or_tuple(
                    TensorArray(dtype, size=0, dynamic_size=True, element_shape=found.shape)
                    if self._alignment_history
                    else ()
                    for found in alignments
                ),
            )

    def call(self, inputs: Any, state: Any) -> tuple[Any, AttentionWrapperState]:
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(f"Expected state to be instance of AttentionWrapperState. Received type {type(state)}.")
        cell_output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        self._check_batch(cell_output)
        states = state.attention_state if self._is_multi else [state.attention_state]
        histories = state.alignment_history if self._is_multi else [state.alignment_history]
        layers = self._attention_layers or [None] * len(self._attention_mechanisms)
        attentions, all_alignments, all_states, all_histories = [], [], [], []
        for mechanism, before, history, layer in zip(
            self._attention_mechanisms, states, histories, layers, strict=True
        ):
            attention, alignments, after = self._attention_fn(mechanism, cell_output, before, layer)
            attentions.append(attention)
            all_alignments.append(alignments)
            all_states.append(after)
            all_histories.append(history.write(state.time, alignments) if self._alignment_history else ())
        more_nodes(2)
        attention = concat(attentions, 1) if len(attentions) > 1 else attentions[0]
        following = AttentionWrapperState(
            time=state.time + 1,
            cell_state=pack_like(state.cell_state, flatten(cell_state)),
            attention=attention,
            attention_state=self._item_or_tuple(all_states),
            alignments=self._item_or_tuple(all_alignments),
            alignment_history=self._item_or_tuple(all_histories),
        )
        return attention if self._output_attention else cell_output, following

    def _count_checks(self, batch_size: Any) -> None:
        """TensorFlow compares sizes in the step that are known here, if they are tensors."""
        for mechanism in self._attention_mechanisms:
            known = isinstance(mechanism.batch_size, int)
            if not isinstance(batch_size, Tensor):
                more_nodes(8 if known else 10)
            elif batch_size.op.type in ("StridedSlice", "Const") and known:
                more_nodes(23 if batch_size.op.type == "StridedSlice" else 27)
            else:
                more_nodes(12)

    def _check_batch(self, output: Tensor) -> None:
        """Raises ValueError if the output's batch size is known to differ from the memory's; otherwise the step has
        checked it."""
        known = output.shape.tuple[0] if output.shape.ndims is not None else None
        more_nodes(1)
        for mechanism in self._attention_mechanisms:
            size = mechanism.batch_size
            more_nodes(1 if isinstance(size, int) and known is not None else 18)  # TensorFlow compares them again
            if isinstance(size, int) and known is not None and size != known:
                raise ValueError(f"the memory's batch size is {size}, that of the cell's output {known}")


def _layers(sizes: Any, given: Any, mechanisms: Any) -> tuple[Any, ...] | None:
    """A layer for each mechanism, or None."""
    if sizes is None and given is None:
        return None
    what, found = ("attention_layer_size", sizes) if sizes is not None else ("attention_layer", given)
    found = tuple(found) if isinstance(found, list | tuple) else (found,)
    if len(found) != len(mechanisms):
        raise ValueError(
            f"If provided, {what} must contain exactly one integer per attention_mechanism, saw: {len(found)} vs "
            f"{len(mechanisms)}"
        )
    if sizes is None:
        return found
    return tuple(AttentionLayer(size, use_bias=False, dtype=m.dtype) for size, m in zip(found, mechanisms, strict=True))


def _total_size(layers: tuple[Any, ...] | None, mechanisms: Any, cell: Any) -> int:
    """The total size of all attentions."""
    widths = [int(mechanism.values.shape[-1].value) for mechanism in mechanisms]
    if layers is None:
        return sum(widths)
    if all(isinstance(layer, Dense) for layer in layers):
        return sum(layer.units for layer in layers)
    found = [
        layer.compute_output_shape(TensorShape([None, cell.output_size + width]))[-1].value
        for layer, width in zip(layers, widths, strict=True)
    ]
    return sum(found)


@export("contrib.seq2seq.hardmax")
def hardmax(logits: Any, name: str | None = None) -> Tensor:
    """1 where the last axis has its (first) maximum, otherwise 0; shape and dtype of `logits`."""
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        last = logits.shape.tuple[-1] if logits.shape.ndims else None
        return one_hot(argmax(logits, -1), shape(logits)[-1] if last is None else last, dtype=logits.dtype)
