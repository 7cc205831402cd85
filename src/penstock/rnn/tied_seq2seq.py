"""An encoder and a decoder that are one cell, and one encoder for several decoders, over lists of steps
(TF: tf.contrib.legacy_seq2seq). Arguments and results are those of `penstock.rnn.legacy_seq2seq`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.client.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.ops.nn.embedding import embedding_lookup
from penstock.rnn.base import RNNCell
from penstock.rnn.legacy_seq2seq import Loop, _argmax_and_embed, either_way, embedding_rnn_decoder, rnn_decoder
from penstock.rnn.projection import EmbeddingWrapper, OutputProjectionWrapper
from penstock.rnn.static import static_rnn
from penstock.tensor.dtypes import float32


@export("contrib.legacy_seq2seq.tied_rnn_seq2seq")
def tied_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    loop_function: Loop | None = None,
    dtype: Any = float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`basic_rnn_seq2seq` whose encoder and decoder share the cell's variables."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


@export("contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq")
def embedding_tied_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`tied_rnn_seq2seq` for ids, with one embedding for both sides.

    num_decoder_symbols: the decoder's symbols are the first ones of num_symbols. Raises ValueError if
    `output_projection` is not for num_symbols.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        if output_projection is not None:
            for part, shape in zip(output_projection, ([None, num_symbols], [num_symbols]), strict=True):
                convert_to_tensor(part, dtype=opened.dtype).get_shape().assert_is_compatible_with(shape)
        else:
            cell = OutputProjectionWrapper(cell, num_symbols if num_decoder_symbols is None else num_decoder_symbols)
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=opened.dtype)
        encoded, decoded = ([embedding_lookup(embedding, x) for x in side] for side in (encoder_inputs, decoder_inputs))

        def decode(feed: bool, update: bool) -> tuple[list[Any], Any]:
            loop = _argmax_and_embed(embedding, output_projection, update) if feed else None
            return tied_rnn_seq2seq(encoded, decoded, cell, loop_function=loop, dtype=opened.dtype)

        return either_way(feed_previous, decode)


@export("contrib.legacy_seq2seq.one2many_rnn_seq2seq")
def one2many_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs_dict: Mapping[Any, list[Any]],
    enc_cell: Any,
    dec_cells_dict: Mapping[Any, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: Mapping[Any, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """`embedding_rnn_seq2seq` with several decoders, each with cell, inputs and symbols of its name: dicts of outputs
    and of final states by name. Raises TypeError for what is no RNNCell, ValueError if the names differ.
    """
    for cell in (enc_cell, *dec_cells_dict.values()):
        if not isinstance(cell, RNNCell):
            raise TypeError(f"enc_cell and the values of dec_cells_dict must be RNNCells, not {type(cell)}.")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError(f"dec_cells_dict has {set(dec_cells_dict)}, decoder_inputs_dict {set(decoder_inputs_dict)}.")
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                decoder = OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decode(
                    feed: bool, _: bool, inputs: Any = inputs, decoder: Any = decoder, symbols: int = symbols
                ) -> tuple[list[Any], Any]:
                    return embedding_rnn_decoder(inputs, state, decoder, symbols, embedding_size, feed_previous=feed)

                outputs[name], states[name] = either_way(feed_previous, decode)
    return outputs, states
