"""Attention: how much each step of a memory matters to a query (TF: tf.contrib.seq2seq)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.client.initializers import constant_initializer, ones_initializer, zeros_initializer
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, counted_as, more_nodes, name_scope
from penstock.layers.core import Dense
from penstock.ops.array import expand_dims, reshape, shape, squeeze
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.checks import assert_positive
from penstock.ops.control_flow.nest import flatten, map_structure
from penstock.ops.filling import fill, sequence_mask, zeros
from penstock.ops.joining import concat
from penstock.ops.matrix import matmul
from penstock.ops.nn.softmax import softmax
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_sum
from penstock.ops.stacking import stack
from penstock.ops.unary import rsqrt, square, tanh


@export("contrib.seq2seq.AttentionMechanism")
class AttentionMechanism:
    """Returns alignments of a query with a memory."""

    @property
    def alignments_size(self) -> Any:
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        raise NotImplementedError


# Layers named after their purpose, made unique in their scope: "memory_layer", "memory_layer_1".
class MemoryLayer(Dense):
    """Makes keys from the memory."""


class QueryLayer(Dense):
    """Makes queries from the cell's outputs."""


class BaseAttentionMechanism(AttentionMechanism):
    """A memory [batch, time, ...] with `values` (it, zero beyond its length) and `keys` (a layer of it).

    probability_fn: from (score, state) [batch, time] to alignments. Scores beyond the length are first set to
    `score_mask_value` (-inf). Raises ValueError for a memory whose inner dimensions are unknown.
    """

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        self._query_layer, self._memory_layer = query_layer, memory_layer
        self.dtype = memory_layer.dtype if memory_layer is not None and memory_layer.dtype else None
        with name_scope(name, "BaseAttentionMechanismInit", flatten(memory)):
            self._values = _prepared(memory, memory_sequence_length, check_inner_dims_defined)
            self._keys = self._values if memory_layer is None else memory_layer(self._values)
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self.dtype = self.dtype or self._keys.dtype.base_dtype
            dims = self._keys.shape.tuple
            self._batch_size = _known(dims, 0, self._keys)
            self._alignments_size = _known(dims, 1, self._keys)
            with counted_as(0):  # TensorFlow makes the mask anew in each step
                masked = _score_mask(self._keys, memory_sequence_length, score_mask_value)
            self._probability_fn: Callable[[Any, Any], Any] = lambda score, state: probability_fn(masked(score), state)

    @property
    def memory_layer(self) -> Any:
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        return self._query_layer

    @property
    def values(self) -> Any:
        return self._values

    @property
    def keys(self) -> Any:
        return self._keys

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """Zeros [batch_size, time]."""
        known = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
        found = zeros(stack([batch_size, self._alignments_size]), dtype)
        length = self._alignments_size
        found.set_shape([None if known is None else int(known), length if isinstance(length, int) else None])
        return found

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first query: `initial_alignments`."""
        return self.initial_alignments(batch_size, dtype)

    def __call__(self, query: Any, state: Any) -> tuple[Tensor, Any]:
        """(alignments [batch, time], next state) of a query [batch, n]."""
        raise NotImplementedError


def _known(dims: Any, axis: int, value: Tensor) -> Any:
    return dims[axis] if dims is not None and dims[axis] is not None else shape(value)[axis]


def _prepared(memory: Any, lengths: Any, check_inner_dims_defined: bool) -> Any:
    """The memory as tensors, zero beyond `lengths`."""
    memory = map_structure(lambda value: convert_to_tensor(value, name="memory"), memory)
    if check_inner_dims_defined:
        for value in flatten(memory):
            if not value.shape[2:].is_fully_defined():
                raise ValueError(
                    f"Expected memory {value.name} to have fully defined inner dims, but saw shape: {value.shape}"
                )
    if lengths is None:
        return memory
    more_nodes(2)
    first = flatten(memory)[0]
    mask = sequence_mask(convert_to_tensor(lengths, name="memory_sequence_length"), shape(first)[1], first.dtype)

    def masked(value: Tensor) -> Tensor:
        extra = [1] * (value.shape.ndims - 2)
        found = value * reshape(cast(mask, value.dtype), concat([shape(mask), extra], 0) if extra else shape(mask))
        found.set_shape(value.shape)
        return found

    return map_structure(masked, memory)


def _score_mask(keys: Tensor, lengths: Any, score_mask_value: Any) -> Callable[[Tensor], Tensor]:
    """A function that masks scores beyond `lengths`; the mask is computed once, outside the loop."""
    if lengths is None:
        return lambda score: score
    lengths = convert_to_tensor(lengths)
    positive = assert_positive(lengths, message="All values in memory_sequence_length must greater than zero.")
    value = -math.inf if score_mask_value is None else score_mask_value
    with control_dependencies([positive]):
        mask = identity(sequence_mask(lengths, shape(keys)[1]))
    other = fill(shape(mask), convert_to_tensor(value, keys.dtype.base_dtype))
    return lambda score: where(mask, score, other if other.dtype == score.dtype else cast(other, score.dtype))


def _softmax_of(probability_fn: Callable[[Any], Any] | None) -> Callable[[Any, Any], Any]:
    chosen = softmax if probability_fn is None else probability_fn
    return lambda score, _: chosen(score)


def luong_score(query: Any, keys: Any, scale: bool) -> Tensor:
    """query . key, [batch, time]; with `scale` times a variable "attention_g". Raises ValueError if depths differ."""
    depth, key_units = query.shape[-1].value, keys.shape[-1].value
    if depth != key_units:
        raise ValueError(
            f"Incompatible or unknown inner dimensions between query and keys. Query ({query.name}) has units: "
            f"{depth}. Keys ({keys.name}) have units: {key_units}. Perhaps you need to set num_units to the keys' "
            f"dimension ({key_units})?"
        )
    score = squeeze(matmul(expand_dims(query, 1), keys, transpose_b=True), [1])
    if scale:
        score = get_variable("attention_g", [], query.dtype, ones_initializer(dtype=query.dtype)) * score
    return score


@export("contrib.seq2seq.LuongAttention")
class LuongAttention(BaseAttentionMechanism):
    """Scores by products of the query and the keys (https://arxiv.org/abs/1508.04025).

    num_units: the size of the query, and of the keys made by `memory_layer`. scale: use a learned factor.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        super().__init__(
            query_layer=None,
            memory=memory,
            probability_fn=_softmax_of(probability_fn),
            memory_sequence_length=memory_sequence_length,
            memory_layer=MemoryLayer(num_units, use_bias=False, dtype=dtype),
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units, self._scale, self._name = num_units, scale, name

    def __call__(self, query: Any, state: Any) -> tuple[Tensor, Any]:
        with variable_scope(None, "luong_attention", [query]):
            alignments = self._probability_fn(luong_score(query, self._keys, self._scale), state)
        return alignments, alignments


def bahdanau_score(processed_query: Any, keys: Any, normalize: bool) -> Tensor:
    """sum(v tanh(key + query)), [batch, time], with a variable "attention_v".

    With `normalize`, v is g v / |v|, and a bias is added in the tanh: variables "attention_g", "attention_b".
    """
    dtype, units = processed_query.dtype.base_dtype, keys.shape[2].value or shape(keys)[2]
    v = get_variable("attention_v", [units], dtype)
    total = keys + expand_dims(processed_query, 1)
    if normalize:
        start = constant_initializer(math.sqrt(1 / units), dtype=dtype)
        g = get_variable("attention_g", [], dtype, start)
        b = get_variable("attention_b", [units], dtype, zeros_initializer(dtype=dtype))
        v, total = g * v * rsqrt(reduce_sum(square(v))), total + b
    return reduce_sum(v * tanh(total), [2])


@export("contrib.seq2seq.BahdanauAttention")
class BahdanauAttention(BaseAttentionMechanism):
    """Scores by a layer of tanh of the query and the keys (https://arxiv.org/abs/1409.0473).

    num_units: the size of that layer. normalize: use weight normalization (https://arxiv.org/abs/1602.07868).
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        super().__init__(
            query_layer=QueryLayer(num_units, use_bias=False, dtype=dtype),
            memory=memory,
            probability_fn=_softmax_of(probability_fn),
            memory_sequence_length=memory_sequence_length,
            memory_layer=MemoryLayer(num_units, use_bias=False, dtype=dtype),
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def __call__(self, query: Any, state: Any) -> tuple[Tensor, Any]:
        with variable_scope(None, "bahdanau_attention", [query]):
            processed = query if self._query_layer is None else self._query_layer(query)
            alignments = self._probability_fn(bahdanau_score(processed, self._keys, self._normalize), state)
        return alignments, alignments
