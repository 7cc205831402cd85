"""Sequence-to-sequence models over lists of steps (TF: tf.contrib.legacy_seq2seq, before that tf.nn.seq2seq).

Everywhere: encoder_inputs and decoder_inputs are lists over steps; `feed_previous` (a bool or a bool scalar) makes the
decoder use its own last output instead of all inputs except the first; `output_projection` is a pair (W, b) that turns
outputs into scores. Functions return (outputs, final state).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from penstock.client.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.arg_reductions import argmax
from penstock.ops.control_flow.cond import cond
from penstock.ops.control_flow.nest import flatten, pack_like
from penstock.ops.nn.bias import xw_plus_b
from penstock.ops.nn.embedding import embedding_lookup
from penstock.ops.passing import stop_gradient
from penstock.rnn.projection import EmbeddingWrapper, OutputProjectionWrapper
from penstock.rnn.sequence_loss import legacy_sequence_loss, sequence_loss_by_example
from penstock.rnn.static import static_rnn
from penstock.tensor.dtypes import float32

Loop = Callable[[Any, int], Any]


def _argmax_and_embed(embedding: Any, output_projection: Any, update_embedding: bool) -> Loop:
    """A loop function: the embedding of the symbol with the highest score."""

    def loop_function(previous: Tensor, _: int) -> Tensor:
        if output_projection is not None:
            previous = xw_plus_b(previous, output_projection[0], output_projection[1])
        found = embedding_lookup(embedding, argmax(previous, 1))
        return found if update_embedding else stop_gradient(found)

    return loop_function


def next_input(given: Any, previous: Any, step: int, loop_function: Loop | None) -> Any:
    """The decoder's input: the given one, or `loop_function` of its previous output."""
    if loop_function is None or previous is None:
        return given
    with variable_scope("loop_function", reuse=True):
        return loop_function(previous, step)


@export("contrib.legacy_seq2seq.rnn_decoder")
def rnn_decoder(
    decoder_inputs: list[Any], initial_state: Any, cell: Any, loop_function: Loop | None = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """The cell over `decoder_inputs`; `loop_function(previous output, step)` replaces all inputs except the first."""
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, previous = initial_state, [], None
        for step, given in enumerate(decoder_inputs):
            given = next_input(given, previous, step, loop_function)
            if step > 0:
                get_variable_scope().reuse_variables()
            previous, state = cell(given, state)
            outputs.append(previous)
    return outputs, state


@export("contrib.legacy_seq2seq.basic_rnn_seq2seq")
def basic_rnn_seq2seq(
    encoder_inputs: list[Any], decoder_inputs: list[Any], cell: Any, dtype: Any = float32, scope: Any = None
) -> tuple[list[Any], Any]:
    """An encoder, and a decoder that starts at its final state; two copies of one cell."""
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


@export("contrib.legacy_seq2seq.embedding_rnn_decoder")
def embedding_rnn_decoder(
    decoder_inputs: list[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`rnn_decoder` for ids, which are embedded by a variable "embedding" [num_symbols, embedding_size]."""
    with variable_scope(scope or "embedding_rnn_decoder"):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop = _argmax_and_embed(embedding, output_projection, update_embedding_for_previous)
        embedded = [embedding_lookup(embedding, ids) for ids in decoder_inputs]
        return rnn_decoder(embedded, initial_state, cell, loop if feed_previous else None)


def either_way(feed_previous: Any, decode: Callable[[bool, bool], tuple[list[Any], Any]]) -> tuple[list[Any], Any]:
    """decode(feed_previous, update_embedding): once for a bool, otherwise both ways on shared variables in a `cond`."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous, True)
    made: list[tuple[list[Any], Any]] = []

    def branch(feed: bool) -> list[Any]:
        with variable_scope(get_variable_scope(), reuse=None if feed else True):
            outputs, state = decode(feed, False)
        made.append((outputs, state))
        return [*outputs, *flatten(state)]

    found = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    outputs, state = made[0]
    return list(found[: len(outputs)]), pack_like(state, list(found[len(outputs) :]))


@export("contrib.legacy_seq2seq.embedding_rnn_seq2seq")
def embedding_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`basic_rnn_seq2seq` for ids, with embeddings on both sides; outputs are scores unless there is an
    `output_projection`."""
    with variable_scope(scope or "embedding_rnn_seq2seq") as opened:
        if dtype is not None:
            opened.set_dtype(dtype)
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return either_way(
            feed_previous,
            lambda feed, update: embedding_rnn_decoder(
                decoder_inputs, state, cell, num_decoder_symbols, embedding_size, output_projection, feed, update
            ),
        )


@export("contrib.legacy_seq2seq.model_with_buckets")
def model_with_buckets(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    targets: list[Any],
    weights: list[Any],
    buckets: list[tuple[int, int]],
    seq2seq: Callable[[list[Any], list[Any]], tuple[list[Any], Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Tensor]]:
    """(outputs, losses), one of each per bucket (encoder length, decoder length), on shared variables.

    `seq2seq(encoder inputs, decoder inputs)` returns (outputs, state). per_example_loss: losses are [batch], not [].
    Raises ValueError if the lists are shorter than the last bucket.
    """
    for what, given, side in (
        ("encoder_inputs", encoder_inputs, 0),
        ("targets", targets, 1),
        ("weights", weights, 1),
    ):
        if len(given) < buckets[-1][side]:
            raise ValueError(f"Length of {what} ({len(given)}) must be at least that of last bucket ({buckets[-1]}).")
    loss = sequence_loss_by_example if per_example_loss else legacy_sequence_loss
    outputs, losses = [], []
    with name_scope(name, "model_with_buckets", [*encoder_inputs, *decoder_inputs, *targets, *weights]):
        for number, (source, target) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if number > 0 else None):
                found, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(found)
                losses.append(
                    loss(found, targets[:target], weights[:target], softmax_loss_function=softmax_loss_function)
                )
    return outputs, losses
