"""Decoders that attend to the encoder's outputs, over lists of steps (TF: tf.contrib.legacy_seq2seq)."""

from __future__ import annotations

import copy
from typing import Any

from penstock.client.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.array import reshape, shape
from penstock.ops.control_flow.nest import flatten, is_sequence
from penstock.ops.filling import zeros
from penstock.ops.joining import concat
from penstock.ops.nn.conv_functions import conv2d
from penstock.ops.nn.embedding import embedding_lookup
from penstock.ops.nn.softmax import softmax
from penstock.ops.reduce import reduce_sum
from penstock.ops.stacking import stack
from penstock.ops.unary import tanh
from penstock.rnn.legacy_seq2seq import Loop, _argmax_and_embed, either_way, next_input
from penstock.rnn.linear import last_size, linear
from penstock.rnn.projection import EmbeddingWrapper, OutputProjectionWrapper
from penstock.rnn.static import static_rnn


@export("contrib.legacy_seq2seq.attention_decoder")
def attention_decoder(
    decoder_inputs: list[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Loop | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`rnn_decoder` that also sees, at each step, mixtures of `attention_states` [batch, length, size].

    num_heads: how many mixtures. output_size: the size of the outputs, None for the cell's. With
    `initial_state_attention` the first step also sees mixtures instead of zeros. Raises ValueError without inputs or
    heads, and if the size of the states is unknown.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    states = convert_to_tensor(attention_states)
    if states.shape.ndims != 3 or states.shape.tuple[2] is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {states.shape}")
    size = states.shape.tuple[2]
    length = states.shape.tuple[1] if states.shape.tuple[1] is not None else shape(states)[1]
    with variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        dtype = opened.dtype
        # The encoder's part of the scores is a product with each of its outputs: a 1 by 1 convolution.
        hidden = reshape(states, [-1, length, 1, size])
        heads = range(num_heads)
        kernels = [get_variable(f"AttnW_{a}", [1, 1, size, size], dtype) for a in heads]
        features = [conv2d(hidden, kernel, [1, 1, 1, 1], "SAME") for kernel in kernels]
        weights = [get_variable(f"AttnV_{a}", [size], dtype) for a in heads]

        def attention(query: Any) -> list[Tensor]:
            query = concat(flatten(query), 1) if is_sequence(query) else query
            mixtures = []
            for a in heads:
                with variable_scope(f"Attention_{a}"):
                    y = reshape(linear(query, size, True), [-1, 1, 1, size])
                    share = softmax(reduce_sum(weights[a] * tanh(features[a] + y), [2, 3]))
                    mixed = reduce_sum(reshape(share, [-1, length, 1, 1]) * hidden, [1, 2])
                    mixtures.append(reshape(mixed, [-1, size]))
            return mixtures

        # None: for steps that a loop function gives their inputs.
        inputs = [given if given is None else convert_to_tensor(given) for given in decoder_inputs]
        if initial_state_attention:
            seen = attention(initial_state)
        else:
            seen = [zeros(stack([shape(inputs[0])[0], size]), dtype) for _ in heads]
            for mixture in seen:
                mixture.set_shape([None, size])
        state, outputs, previous = initial_state, [], None
        for step, given in enumerate(inputs):
            if step > 0:
                get_variable_scope().reuse_variables()
            given = next_input(given, previous, step, loop_function)
            output, state = cell(linear([given, *seen], last_size(given), True), state)
            again = True if step == 0 and initial_state_attention else None
            with variable_scope(get_variable_scope(), reuse=again):
                seen = attention(state)
            with variable_scope("AttnOutputProjection"):
                previous = linear([output, *seen], output_size or cell.output_size, True)
            outputs.append(previous)
    return outputs, state


@export("contrib.legacy_seq2seq.embedding_attention_decoder")
def embedding_attention_decoder(
    decoder_inputs: list[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`attention_decoder` for ids, which are embedded by a variable "embedding" [num_symbols, embedding_size]."""
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop = _argmax_and_embed(embedding, output_projection, update_embedding_for_previous)
        return attention_decoder(
            [embedding_lookup(embedding, ids) for ids in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size,
            num_heads,
            loop if feed_previous else None,
            initial_state_attention=initial_state_attention,
        )


@export("contrib.legacy_seq2seq.embedding_attention_seq2seq")
def embedding_attention_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`embedding_rnn_seq2seq` whose decoder attends to the encoder's outputs."""
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        encoded, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        states = concat([reshape(output, [-1, 1, cell.output_size]) for output in encoded], 1)
        output_size = None
        if output_projection is None:
            cell, output_size = OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols
        return either_way(
            feed_previous,
            lambda feed, update: embedding_attention_decoder(
                decoder_inputs,
                state,
                states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads,
                output_size,
                output_projection,
                feed,
                update,
                initial_state_attention=initial_state_attention,
            ),
        )
