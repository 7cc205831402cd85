"""Scheduled sampling: training that sometimes uses the model's own samples as inputs (TF: tf.contrib.seq2seq)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import more_nodes, name_scope
from penstock.ops.arithmetic import maximum
from penstock.ops.array import shape
from penstock.ops.cast import cast
from penstock.ops.compare import logical_and, logical_not
from penstock.ops.control_flow.nest import flatten, map_structure
from penstock.ops.filling import fill, zeros_like
from penstock.ops.joining import concat
from penstock.ops.partition import where
from penstock.ops.random import random_uniform
from penstock.ops.reduce import reduce_all
from penstock.rnn.dynamic import swap_batch_and_time
from penstock.seq2seq.helpers import TrainingHelper, drawn, embedding_function, unstacked


@export("contrib.seq2seq.ScheduledEmbeddingTrainingHelper")
class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A `TrainingHelper` that, with `sampling_probability`, reads the embedding of an id sampled by the scores.

    embedding: a function of ids, or the params of `embedding_lookup`. sampling_probability: float [] or [batch].
    scheduling_seed: for whether to sample; `seed`: for the samples. Samples are -1 where the given inputs are read.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper", [sampling_probability]):
            self._embedding_fn = embedding_function(embedding)
            self._sampling_probability = _probability(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs]):
            more_nodes(13)  # here and below: TensorFlow draws from distributions
            chosen = _chosen(self._sampling_probability, shape(outputs)[:1], self._scheduling_seed)
            more_nodes(32)
            ids = drawn(outputs, self._seed)
            more_nodes(9)
            return where(chosen, ids, fill(shape(ids), -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", [time, outputs]):
            finished, given, state = super().next_inputs(time, outputs, state, sample_ids)
            more_nodes(16)  # TensorFlow's has a cond, and scatters what was sampled
            chosen = logical_and(sample_ids > -1, logical_not(reduce_all(finished)))
            return finished, where(chosen, self._embedding_fn(maximum(sample_ids, 0)), given), state


@export("contrib.seq2seq.ScheduledOutputTrainingHelper")
class ScheduledOutputTrainingHelper(TrainingHelper):
    """A `TrainingHelper` that, with `sampling_probability`, reads its own output, or `next_inputs_fn` of it.

    auxiliary_inputs: [batch, time, ...] like the inputs, concatenated to whatever is read. Samples are 1 where the
    output is read, otherwise 0.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "ScheduledOutputTrainingHelper", [sampling_probability]):
            self._sampling_probability = _probability(sampling_probability)
            self._seed, self._next_inputs_fn, self._auxiliary = seed, next_inputs_fn, None
            if auxiliary_inputs is not None:
                extra = map_structure(convert_to_tensor, auxiliary_inputs)
                inputs = map_structure(lambda x, y: concat([x, y], -1), inputs, extra)
                self._auxiliary = map_structure(lambda x: unstacked(x if time_major else swap_batch_and_time(x)), extra)
            super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "ScheduledOutputTrainingHelperSample", [time]):
            rows = shape(flatten(outputs)[0])[:1]
            more_nodes(12)
            chosen = _chosen(self._sampling_probability, rows, self._seed)
            more_nodes(8)
            return cast(chosen, "int32")

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs", [time]):
            finished, given, state = super().next_inputs(time, outputs, state, sample_ids)
            more_nodes(11)
            over = reduce_all(finished)
            own = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)
            if self._auxiliary is not None:
                following = convert_to_tensor(time) + 1
                following = where(over, zeros_like(following), following)
                own = map_structure(lambda x, array: concat([x, array.read(following)], -1), own, self._auxiliary)
            chosen = logical_and(cast(sample_ids, "bool"), logical_not(over))
            return finished, map_structure(lambda x, y: where(chosen, x, y), own, given), state


def _probability(given: Any) -> Tensor:
    found = convert_to_tensor(given, name="sampling_probability")
    if found.shape.ndims not in (None, 0, 1):
        raise ValueError(f"sampling_probability must be either a scalar or a vector. saw shape: {found.shape}")
    return found


def _chosen(probability: Tensor, size: Tensor, seed: int | None) -> Tensor:
    """True with `probability`, bool of `size`."""
    return random_uniform(size, dtype=probability.dtype.base_dtype, seed=seed) < probability
