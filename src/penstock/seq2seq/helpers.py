"""Helpers choose a decoder's next inputs: given ones, or samples of its outputs (TF: tf.contrib.seq2seq)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import more_nodes, name_scope
from penstock.ops.arg_reductions import argmax
from penstock.ops.array import shape, size
from penstock.ops.cast import cast
from penstock.ops.compare import equal
from penstock.ops.control_flow.nest import flatten, map_structure
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.filling import fill, zeros_like
from penstock.ops.nn.embedding import embedding_lookup
from penstock.ops.partition import where
from penstock.ops.random import multinomial
from penstock.ops.reduce import reduce_all
from penstock.rnn.dynamic import swap_batch_and_time
from penstock.tensor.dtypes import as_dtype, int32
from penstock.tensor.shapes import TensorShape


@export("contrib.seq2seq.Helper")
class Helper:
    """Draws samples from a decoder's outputs and returns its next inputs; a `BasicDecoder` calls it."""

    @property
    def batch_size(self) -> Any:
        """The batch size, int32 []."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a row's sample."""
        raise NotImplementedError("sample_ids_shape has not been implemented")

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of samples."""
        raise NotImplementedError("sample_ids_dtype has not been implemented")

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """(finished, first inputs)."""
        raise NotImplementedError("initialize has not been implemented")

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The samples of `outputs`."""
        raise NotImplementedError("sample has not been implemented")

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """(finished, next inputs, next state)."""
        raise NotImplementedError("next_inputs has not been implemented")


class IdsHelper(Helper):
    """A helper whose samples are ids, int32 []."""

    _batch_size: Any = None

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        return int32


@export("contrib.seq2seq.CustomHelper")
class CustomHelper(Helper):
    """A helper made of functions.

    initialize_fn: () -> (finished, inputs). sample_fn: (time, outputs, state) -> ids. next_inputs_fn: (time, outputs,
    state, sample_ids) -> (finished, inputs, state).
    """

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize_fn, self._sample_fn, self._next_inputs_fn = initialize_fn, sample_fn, next_inputs_fn
        self._sample_ids_shape = TensorShape([] if sample_ids_shape is None else sample_ids_shape)
        self._sample_ids_dtype = as_dtype(sample_ids_dtype or int32)
        self._batch_size: Any = None

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with name_scope(name, "CustomHelperInitialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "CustomHelperSample", [time]):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "CustomHelperNextInputs", [time]):
            return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


@export("contrib.seq2seq.TrainingHelper")
class TrainingHelper(IdsHelper):
    """Reads the given inputs, [batch, time, ...] (with `time_major` [time, batch, ...]), whatever was sampled.

    sequence_length: int [batch]; a row is finished after that many steps. Samples are the argmax.
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None) -> None:
        with name_scope(name, "TrainingHelper", [*flatten(inputs), sequence_length]):
            inputs = map_structure(convert_to_tensor, inputs)
            self._inputs = inputs
            if not time_major:
                inputs = map_structure(swap_batch_and_time, inputs)
            self._input_tas = map_structure(unstacked, inputs)
            self._sequence_length = lengths = convert_to_tensor(sequence_length, name="sequence_length")
            if lengths.shape.ndims not in (None, 1):
                raise ValueError(f"Expected sequence_length to be a vector, but received shape: {lengths.shape}")
            self._zero_inputs = map_structure(lambda value: zeros_like(value[0]), inputs)
            self._batch_size = size(lengths)
            more_nodes(4)  # here and below: TensorFlow reads in branches of a cond, not by where

    @property
    def inputs(self) -> Any:
        return self._inputs

    @property
    def sequence_length(self) -> Tensor:
        return self._sequence_length

    def _read(self, time: Any, finished: Tensor) -> Any:
        """The inputs of step `time`, or zeros if all rows are finished, because there may be no more."""
        over = reduce_all(finished)
        time = where(over, zeros_like(time), time)
        return map_structure(
            lambda array, zero: where(over, zero, array.read(time)), self._input_tas, self._zero_inputs
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with name_scope(name, "TrainingHelperInitialize"):
            more_nodes(5)
            finished = equal(zeros_like(self._sequence_length), self._sequence_length)
            return finished, self._read(convert_to_tensor(0), finished)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "TrainingHelperSample", [time]):
            more_nodes(1)
            return argmax(outputs, -1, output_type=int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "TrainingHelperNextInputs", [time]):
            more_nodes(6)
            following = convert_to_tensor(time) + 1
            finished = cast(following, self._sequence_length.dtype) >= self._sequence_length
            return finished, self._read(following, finished), state


def unstacked(value: Tensor) -> TensorArray:
    """An array of the rows of `value`; a row may be read again, instead of the one after the last."""
    rows = value.shape.tuple[0] if value.shape.ndims is not None else None
    count = shape(value)[0] if rows is None else rows
    return TensorArray(value.dtype.base_dtype, count, clear_after_read=False).unstack(value)


@export("contrib.seq2seq.GreedyEmbeddingHelper")
class GreedyEmbeddingHelper(IdsHelper):
    """Reads the embedding of the id with the highest score; a row is finished with `end_token`.

    embedding: a function of ids, or the params of `embedding_lookup`. start_tokens: int32 [batch]. end_token: int32 [].
    Raises ValueError for other ranks.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens = convert_to_tensor(start_tokens, "int32", name="start_tokens")
        self._end_token = convert_to_tensor(end_token, "int32", name="end_token")
        if self._start_tokens.shape.ndims not in (None, 1):
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims not in (None, 0):
            raise ValueError("end_token must be a scalar")
        self._batch_size = size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        finished = fill([self._batch_size], False)
        finished.set_shape(self._start_tokens.shape)
        return finished, self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        _scores(outputs)
        return argmax(outputs, -1, output_type=int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        more_nodes(11)
        return equal(sample_ids, self._end_token), self._embedding_fn(sample_ids), state


@export("contrib.seq2seq.SampleEmbeddingHelper")
class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the embedding of an id sampled by the scores divided by `softmax_temperature`."""

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        _scores(outputs)
        if self._softmax_temperature is not None:
            outputs = outputs / self._softmax_temperature
        more_nodes(24)  # TensorFlow draws from a distribution
        found = drawn(outputs, self._seed)
        more_nodes(9)
        return found


@export("contrib.seq2seq.InferenceHelper")
class InferenceHelper(Helper):
    """Samples with `sample_fn(outputs)` and reads the sample, or `next_inputs_fn` of it.

    sample_shape, sample_dtype: those of a row's sample. end_fn: from samples to the rows that are finished, bool
    [batch].
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_shape, self._sample_dtype = TensorShape(sample_shape), as_dtype(sample_dtype)
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        finished = fill([self._batch_size], False)
        finished.set_shape(self._start_inputs.shape[:1])
        return finished, self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        following = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), following, state


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def _scores(outputs: Any) -> None:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")


def drawn(logits: Tensor, seed: int | None) -> Tensor:
    """A sampled id for each row, int32 [batch], by its logits [batch, classes]."""
    return multinomial(logits, 1, seed=seed, output_dtype=int32)[:, 0]
