"""`dynamic_decode`: a decoder run step by step until it is finished (TF: tf.contrib.seq2seq)."""

from __future__ import annotations

import contextlib
from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import counted_as, more_nodes
from penstock.ops.array import shape
from penstock.ops.cast import cast
from penstock.ops.compare import logical_not, logical_or
from penstock.ops.control_flow.nest import flatten, map_structure, pack_like, same_structure
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.control_flow.while_loop import while_loop
from penstock.ops.filling import fill, zeros_like
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_all
from penstock.rnn.base import zeros_of
from penstock.rnn.dynamic import swap_batch_and_time
from penstock.tensor.shapes import TensorShape


@export("contrib.seq2seq.Decoder")
class Decoder:
    """What `dynamic_decode` runs. Its outputs, inputs and states are nests of tensors.

    `output_size` and `output_dtype` have the structure of one step's outputs, without the batch.
    """

    @property
    def batch_size(self) -> Any:
        """The batch size, int32 []."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of a step's outputs: ints or TensorShapes."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The dtypes of a step's outputs."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """(finished, first inputs, initial state); finished is a bool [batch]."""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """(outputs, next state, next inputs, finished) of step `time`, int32 []."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """(outputs, final state) after the last step; outputs are [time, batch, ...]."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether `step` returns all finished rows, not only those that have finished in this step."""
        return False


@export("contrib.seq2seq.dynamic_decode")
def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Tensor]:
    """Runs the decoder until all rows are finished; returns (outputs, final state, lengths).

    outputs: [batch, time, ...] each, with `output_time_major` [time, batch, ...]. lengths: int32 [batch], the number of
    steps of each row, including the last. impute_finished: rows that have finished emit zeros and keep their state.
    There are at most `maximum_iterations` steps. Raises TypeError for an invalid decoder, ValueError for a maximum that
    is not a scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder"):
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, "int32", name="maximum_iterations")
            if maximum_iterations.shape.ndims not in (None, 0):
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        if maximum_iterations is not None:
            finished = logical_or(finished, maximum_iterations <= 0)
        written, results, final, lengths = _loop(
            decoder, finished, inputs, state, impute_finished, maximum_iterations, parallel_iterations, swap_memory
        )
        outputs = pack_like(written, [array.stack() for array in results])
        with contextlib.suppress(NotImplementedError):
            outputs, final = decoder.finalize(outputs, final, lengths)
        if not output_time_major:
            outputs = map_structure(swap_batch_and_time, outputs)
    return outputs, final, lengths


def _loop(
    decoder: Decoder,
    finished: Any,
    inputs: Any,
    state: Any,
    impute_finished: bool,
    maximum_iterations: Any,
    parallel_iterations: int,
    swap_memory: bool,
) -> tuple[Any, list[Any], Any, Tensor]:
    """(the structure of outputs, their TensorArrays, final state, lengths)."""
    sizes, dtypes, batch_size = decoder.output_size, decoder.output_dtype, decoder.batch_size
    known_batch = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
    known_batch = None if known_batch is None else int(known_batch)
    arrays, blank = [], []
    for size, dtype in zip(flatten(sizes), flatten(dtypes), strict=True):
        element = TensorShape([known_batch]).concatenate(TensorShape(size if isinstance(size, TensorShape) else [size]))
        arrays.append(TensorArray(dtype, 0, dynamic_size=True, element_shape=element))
        with counted_as(10):  # TensorFlow makes zeros in any case
            if impute_finished:
                blank.append(zeros_of(size, batch_size, dtype))
    start = map_structure(_loop_value, (finished, inputs, state))

    def body(time: Tensor, written: Any, before: Any, given: Any, ended: Tensor, lengths: Tensor) -> Any:
        outputs, after, following, now_ended = decoder.step(time, given, before)
        more_nodes(1)
        same_structure(sizes, outputs)
        same_structure(before, after)
        same_structure(given, following)
        counted = None
        if decoder.tracks_own_finished:
            counted = getattr(after, "lengths", None)
        else:
            now_ended = logical_or(now_ended, ended)
        if counted is None:
            lengths = where(ended, lengths, fill(shape(lengths), time + 1))
        else:
            lengths = cast(counted, "int32")
        emitted = [convert_to_tensor(output) for output in flatten(outputs)]
        new_leaves = flatten(after)
        if impute_finished:
            emitted = [where(ended, zero, output) for zero, output in zip(blank, emitted, strict=True)]
            new_leaves = [_kept(ended, old, new) for old, new in zip(flatten(before), new_leaves, strict=True)]
        after = pack_like(before, [_as_before(o, n) for o, n in zip(flatten(before), new_leaves, strict=True)])
        following = pack_like(
            given, [_as_before(o, n) for o, n in zip(flatten(given), flatten(following), strict=True)]
        )
        written = [array.write(time, output) for array, output in zip(written, emitted, strict=True)]
        return time + 1, written, after, following, _as_before(ended, now_ended), _as_before(ended, lengths)

    _, arrays, final, _, _, lengths = while_loop(
        lambda time, written, before, given, ended, lengths: logical_not(reduce_all(ended)),
        body,
        (convert_to_tensor(0, name="time"), arrays, start[2], start[1], start[0], zeros_like(start[0], "int32")),
        parallel_iterations=parallel_iterations,
        swap_memory=swap_memory,
        maximum_iterations=maximum_iterations,
    )
    return sizes, arrays, final, lengths


def _loop_value(value: Any) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _kept(ended: Tensor, old: Any, new: Any) -> Any:
    """`new`, with the rows of `old` where `ended`; TensorArrays and scalars are unchanged."""
    if isinstance(old, TensorArray) or old.shape.ndims == 0:
        return new
    return where(ended, old, new)


def _as_before(old: Any, new: Any) -> Any:
    """`new` with the static shape of `old`: shapes must not change in loops."""
    if not isinstance(old, TensorArray):
        new = convert_to_tensor(new)
        new.set_shape(old.shape)
    return new
