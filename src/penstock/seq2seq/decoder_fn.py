"""Decoders as functions, TF 1.0's way: `dynamic_rnn_decoder` (TF: tf.contrib.seq2seq, until 1.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.client.variable_scope import get_variable, variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.arg_reductions import argmax
from penstock.ops.array import expand_dims, reshape, shape
from penstock.ops.cast import cast
from penstock.ops.compare import equal, logical_or
from penstock.ops.control_flow.nest import flatten
from penstock.ops.filling import fill, zeros, zeros_like
from penstock.ops.gather import gather
from penstock.ops.joining import concat
from penstock.ops.matrix import matmul
from penstock.ops.nn.softmax import softmax
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import tanh
from penstock.rnn.dynamic import swap_batch_and_time
from penstock.rnn.raw import raw_rnn
from penstock.rnn.steps import batch_size_of
from penstock.seq2seq.helpers import unstacked
from penstock.tensor.dtypes import int32

DecoderFn = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any, Any, Any, Any]]


@export("contrib.seq2seq.dynamic_rnn_decoder")
def dynamic_rnn_decoder(
    cell: Any,
    decoder_fn: DecoderFn,
    inputs: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Any, Any]:
    """(outputs, final state, final context) of the cell, controlled by `decoder_fn` at each step.

    decoder_fn: from (time, cell state, cell input, cell output, context) to (done, next state, next input, value to
    emit, next context); state and output are None at first, the input if there are no `inputs`; a `done` of None means
    that `sequence_length` decides. inputs, outputs: [batch, time, ...], with `time_major` [time, batch, ...].
    """
    with name_scope(name, "dynamic_rnn_decoder"), variable_scope(scope, "decoder") as opened:
        steps, array = None, None
        if inputs is not None:
            value = convert_to_tensor(inputs)
            if value.shape.ndims is not None and value.shape.ndims < 2:
                raise ValueError("Inputs must have at least two dimensions")
            value = value if time_major else swap_batch_and_time(value)
            array, steps = unstacked(value), shape(value)[0]
            blank = zeros_like(value[0])

        def read(time: Tensor) -> Tensor:
            assert array is not None
            over = time >= steps
            return where(over, blank, array.read(where(over, zeros_like(time), time)))

        def loop_fn(time: Any, cell_output: Any, cell_state: Any, loop_state: Any) -> Any:
            context = loop_state[1] if isinstance(loop_state, tuple) else None
            given = None if array is None else read(time)
            done, state, following, emitted, context = decoder_fn(time, cell_state, given, cell_output, context)
            if done is None:
                done = time >= convert_to_tensor(sequence_length)
            return done, following, state, emitted, done if context is None else (done, context)

        arrays, state, last = raw_rnn(cell, loop_fn, parallel_iterations, swap_memory, scope=opened)
        outputs = arrays.stack()
        return (
            outputs if time_major else swap_batch_and_time(outputs),
            state,
            last[1] if isinstance(last, tuple) else None,
        )


@export("contrib.seq2seq.simple_decoder_fn_train")
def simple_decoder_fn_train(encoder_state: Any, name: str | None = None) -> DecoderFn:
    """Starts at `encoder_state`, and reads the inputs."""

    def decoder_fn(time: Any, cell_state: Any, cell_input: Any, cell_output: Any, context_state: Any) -> Any:
        with name_scope(name, "simple_decoder_fn_train"):
            return None, encoder_state if cell_state is None else cell_state, cell_input, cell_output, context_state

    return decoder_fn


@export("contrib.seq2seq.simple_decoder_fn_inference")
def simple_decoder_fn_inference(
    output_fn: Callable[[Any], Any],
    encoder_state: Any,
    embeddings: Any,
    start_of_sequence_id: Any,
    end_of_sequence_id: Any,
    maximum_length: Any,
    num_decoder_symbols: int,
    dtype: Any = int32,
    name: str | None = None,
) -> DecoderFn:
    """Starts at `encoder_state`, and reads the embedding of the id with the highest score.

    output_fn: makes scores [batch, num_decoder_symbols] from the cell's outputs. embeddings: [num_decoder_symbols, n].
    Rows end with `end_of_sequence_id`, or after `maximum_length`.
    """
    choose = _greedy(
        encoder_state, embeddings, start_of_sequence_id, end_of_sequence_id, maximum_length, num_decoder_symbols, dtype
    )

    def decoder_fn(time: Any, cell_state: Any, cell_input: Any, cell_output: Any, context_state: Any) -> Any:
        with name_scope(name, "simple_decoder_fn_inference"):
            if cell_input is not None:
                raise ValueError(f"Expected cell_input to be None, but saw: {cell_input}")
            scores = None if cell_output is None else output_fn(cell_output)
            done, following, emitted = choose(time, scores)
            return done, encoder_state if cell_state is None else cell_state, following, emitted, context_state

    return decoder_fn


def _greedy(
    encoder_state: Any, embeddings: Any, start: Any, end: Any, maximum_length: Any, num_symbols: int, dtype: Any
) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
    """A function from (time, scores or None at first) to (done, the embedding of the id, the value to emit)."""
    rows = batch_size_of(flatten(encoder_state), 0)

    def choose(time: Any, scores: Any) -> tuple[Any, Any, Any]:
        if scores is None:
            ids = fill([rows], cast(convert_to_tensor(start), dtype))
            done, scores = fill([rows], False), zeros([num_symbols], "float32")
        else:
            ids = cast(argmax(scores, 1), dtype)
            done = equal(ids, cast(convert_to_tensor(end), dtype))
        over = convert_to_tensor(time) > maximum_length
        return logical_or(done, over), gather(embeddings, ids), scores

    return choose


# --- with attention -------------------------------------------------------------------------------------


@export("contrib.seq2seq.prepare_attention")
def prepare_attention(
    attention_states: Any, attention_option: str, num_units: int, reuse: bool = False
) -> tuple[Tensor, Tensor, Callable[..., Tensor], Callable[..., Tensor]]:
    """(keys, values, function of scores, function of attention) of `attention_states` [batch, time, n].

    attention_option: "bahdanau" or "luong". Raises ValueError for others.
    """
    states = convert_to_tensor(attention_states)
    size = states.shape.tuple[-1]
    with variable_scope("attention_keys", reuse=reuse):
        weights = get_variable("weights", [size, num_units], states.dtype)
        keys = reshape(matmul(reshape(states, [-1, size]), weights), concat([shape(states)[:-1], [num_units]], 0))
        keys.set_shape([*states.shape.tuple[:-1], num_units])
    score_fn = _score_fn(num_units, attention_option, reuse, states.dtype)
    return keys, states, score_fn, _construct_fn(num_units, score_fn, reuse)


def _score_fn(num_units: int, option: str, reuse: bool, dtype: Any) -> Callable[..., Tensor]:
    """A function from (query, keys, values) to the mean of the values, weighted by the scores."""
    if option not in ("bahdanau", "luong"):
        raise ValueError(f"Unknown attention option {option}!")
    with variable_scope("attention_score", reuse=reuse):
        if option == "bahdanau":
            query_w = get_variable("attnW", [num_units, num_units], dtype)
            score_v = get_variable("attnV", [num_units], dtype)

    def attention_score_fn(query: Any, keys: Any, values: Any) -> Tensor:
        if option == "bahdanau":
            scores = reduce_sum(score_v * tanh(keys + reshape(matmul(query, query_w), [-1, 1, num_units])), [2])
        else:
            scores = reduce_sum(keys * reshape(query, [-1, 1, num_units]), [2])
        return reduce_sum(expand_dims(softmax(scores), 2) * values, [1])

    return attention_score_fn


def _construct_fn(num_units: int, score_fn: Callable[..., Tensor], reuse: bool) -> Callable[..., Tensor]:
    """A function from (query, keys, values) to a layer of the query and the context."""
    with variable_scope("attention_construct", reuse=reuse) as opened:
        pass

    made: list[Any] = []  # its weights, which training and inference share

    def construct_fn(query: Any, keys: Any, values: Any) -> Tensor:
        joined = concat([query, score_fn(query, keys, values)], 1)
        if not made:
            with variable_scope(opened, auxiliary_name_scope=False):
                made.append(get_variable("weights", [joined.shape.tuple[1], num_units], joined.dtype))
        return matmul(joined, made[0])

    return construct_fn


def _first_attention(encoder_state: Any) -> Tensor:
    """Zeros like the output of the last layer."""
    while isinstance(encoder_state, tuple):
        encoder_state = encoder_state[-1]  # the top one of stacked layers; the output of an LSTM's state
    return zeros_like(encoder_state)


@export("contrib.seq2seq.attention_decoder_fn_train")
def attention_decoder_fn_train(
    encoder_state: Any,
    attention_keys: Any,
    attention_values: Any,
    attention_score_fn: Callable[..., Any],
    attention_construct_fn: Callable[..., Any],
    name: str | None = None,
) -> DecoderFn:
    """`simple_decoder_fn_train` whose outputs are attentions, which are also inputs of the cell."""

    def decoder_fn(time: Any, cell_state: Any, cell_input: Any, cell_output: Any, context_state: Any) -> Any:
        with name_scope(name, "attention_decoder_fn_train"):
            if cell_state is None:
                cell_state, attention = encoder_state, _first_attention(encoder_state)
            else:
                attention = cell_output = attention_construct_fn(cell_output, attention_keys, attention_values)
            return None, cell_state, concat([cell_input, attention], 1), cell_output, context_state

    return decoder_fn


@export("contrib.seq2seq.attention_decoder_fn_inference")
def attention_decoder_fn_inference(
    output_fn: Callable[[Any], Any],
    encoder_state: Any,
    attention_keys: Any,
    attention_values: Any,
    attention_score_fn: Callable[..., Any],
    attention_construct_fn: Callable[..., Any],
    embeddings: Any,
    start_of_sequence_id: Any,
    end_of_sequence_id: Any,
    maximum_length: Any,
    num_decoder_symbols: int,
    dtype: Any = int32,
    name: str | None = None,
) -> DecoderFn:
    """`simple_decoder_fn_inference` with scores computed from attentions, which are also inputs of the cell."""
    choose = _greedy(
        encoder_state, embeddings, start_of_sequence_id, end_of_sequence_id, maximum_length, num_decoder_symbols, dtype
    )

    def decoder_fn(time: Any, cell_state: Any, cell_input: Any, cell_output: Any, context_state: Any) -> Any:
        with name_scope(name, "attention_decoder_fn_inference"):
            if cell_input is not None:
                raise ValueError(f"Expected cell_input to be None, but saw: {cell_input}")
            if cell_output is None:
                scores, cell_state, attention = None, encoder_state, _first_attention(encoder_state)
            else:
                attention = attention_construct_fn(cell_output, attention_keys, attention_values)
                scores = output_fn(attention)
            done, following, emitted = choose(time, scores)
            return done, cell_state, concat([following, attention], 1), emitted, context_state

    return decoder_fn
