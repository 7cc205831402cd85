"""Wrappers of cells (TF: tf.nn.rnn_cell.DropoutWrapper and others); they do not open a scope."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.client.trackable import TrackableReference
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import device, name_scope, seed_count, set_seed_count
from penstock.ops.control_flow.nest import flatten, map_structure, pack_like, same_structure
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.nn.dropout import dropout
from penstock.ops.random import random_uniform
from penstock.ops.rounding import floor
from penstock.rnn.base import RNNCell, like_cell
from penstock.rnn.cells import LSTMStateTuple
from penstock.tensor.shapes import TensorShape


class CellWrapper(RNNCell):
    """A wrapper with the sizes, the zero state and the variables of its cell."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        like_cell(cell)
        self._cell = cell

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        return [TrackableReference("cell", self._cell)]

    @property
    def wrapped_cell(self) -> Any:
        """The cell that is wrapped."""
        return self._cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    @property
    def variables(self) -> list[Any]:
        return list(self._cell.variables)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


def _drops_state(state: Any) -> Any:
    """Which parts of a state are dropped out by default: all except the memory of LSTMs and TensorArrays."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


@export("rnn_cell.DropoutWrapper", "contrib.rnn.DropoutWrapper")
class DropoutWrapper(CellWrapper):
    """Dropout of a cell's inputs, outputs and state.

    *_keep_prob: floats or scalar tensors. variational_recurrent: the same mask for all steps of a run (and all
    rows); then `dtype` is required, and `input_size` with an input_keep_prob. dropout_state_filter_visitor: returns,
    for a part of the state, what to drop of it. Raises TypeError or ValueError for invalid arguments.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(cell)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _drops_state
        self._variational, self._seed = variational_recurrent, seed
        self._input = _checked_prob("input", input_keep_prob)
        self._state = _checked_prob("state", state_keep_prob)
        self._output = _checked_prob("output", output_keep_prob)
        given = (input_keep_prob, output_keep_prob, state_keep_prob)
        set_seed_count(seed_count() + sum(isinstance(prob, numbers.Real) for prob in given))  # TensorFlow's constants
        if not variational_recurrent:
            return
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        self._noise_dtype = dtype
        if _drops(self._input):
            if input_size is None:
                raise ValueError("When variational_recurrent=True and input_keep_prob < 1.0, input_size is required")
            self._input_noise = self._noise("input", input_size)
        self._state_noise = self._noise("state", cell.state_size)
        self._output_noise = self._noise("output", cell.output_size)

    def _noise(self, what: str, sizes: Any) -> Any:
        made = []
        for number, size in enumerate(flatten(sizes)):
            dims = [1, *(TensorShape(size).as_list() if isinstance(size, TensorShape | tuple) else [int(size)])]
            made.append(random_uniform(dims, seed=self._seed_of(what, number), dtype=self._noise_dtype))
        return pack_like(sizes, made)

    def _seed_of(self, what: str, number: int) -> int | None:
        """A separate seed for each use."""
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{what}_{number}".encode()).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF

    def _dropped(self, values: Any, what: str, keep: Any, noise: Any, filtered: Any = None) -> Any:
        leaves = flatten(values)
        if filtered is None:
            wanted = [True] * len(leaves)
        else:
            wanted = [flag for flags, value in _pairs(filtered, values) for flag in _spread(flags, value)]
        noises = flatten(noise) if self._variational else [None] * len(leaves)
        done = []
        for number, (leaf, want, mask) in enumerate(zip(leaves, wanted, noises, strict=True)):
            if not want:
                done.append(leaf)
            elif self._variational:
                done.append(_masked(leaf, keep, mask))
            else:
                done.append(dropout(leaf, keep_prob=keep, seed=self._seed_of(what, number)))
        return pack_like(values, done)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        if _drops(self._input):
            inputs = self._dropped(inputs, "input", self._input, getattr(self, "_input_noise", None))
        output, new_state = self._cell(inputs, state, scope)
        if _drops(self._state):
            which = _filtered(self._filter, new_state)
            new_state = self._dropped(new_state, "state", self._state, getattr(self, "_state_noise", None), which)
        if _drops(self._output):
            output = self._dropped(output, "output", self._output, getattr(self, "_output_noise", None))
        return output, new_state


def _checked_prob(what: str, prob: Any) -> Any:
    if not isinstance(prob, numbers.Real | np.ndarray):
        prob = convert_to_tensor(prob)
        prob.shape.assert_is_compatible_with([])
        known = constant_value(prob)
        value = None if known is None else float(known)
    else:
        value = prob = float(prob)
    if value is not None and not 0 < value <= 1:
        raise ValueError(f"Parameter {what}_keep_prob must be between 0 (not included) and 1: {value}")
    return prob


def _drops(prob: Any) -> bool:
    return not isinstance(prob, float) or prob < 1


def _masked(value: Tensor, keep: Any, noise: Tensor) -> Tensor:
    """`value` / keep where floor(keep + noise) is 1, otherwise 0."""
    keep = convert_to_tensor(keep, value.dtype.base_dtype)
    masked = (value / keep) * floor(keep + noise)
    masked.set_shape(value.shape)
    return masked


def _filtered(which: Callable[[Any], Any], state: Any) -> Any:
    """The result of `which` for the state: LSTMStateTuples are passed whole, other nests part by part."""
    if isinstance(state, LSTMStateTuple) or not isinstance(state, list | tuple):
        return which(state)
    return [_filtered(which, part) for part in state]


def _pairs(flags: Any, values: Any) -> list[tuple[Any, Any]]:
    if isinstance(flags, bool):
        return [(flags, values)]
    return [pair for flag, value in zip(flags, values, strict=True) for pair in _pairs(flag, value)]


def _spread(flag: bool, value: Any) -> list[bool]:
    return [flag] * len(flatten(value))


@export("rnn_cell.ResidualWrapper", "contrib.rnn.ResidualWrapper")
class ResidualWrapper(CellWrapper):
    """output = inputs + the cell's output, or `residual_fn(inputs, output)`."""

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        outputs, new_state = self._cell(inputs, state, scope)
        return (self._residual_fn or _sum)(inputs, outputs), new_state


def _sum(inputs: Any, outputs: Any) -> Any:
    """inputs + outputs, leaf by leaf. Raises ValueError if their structures or shapes differ."""
    same_structure(inputs, outputs)
    for one, other in zip(flatten(inputs), flatten(outputs), strict=True):
        one.shape.assert_is_compatible_with(other.shape)
    return map_structure(lambda one, other: one + other, inputs, outputs)


@export("rnn_cell.DeviceWrapper", "contrib.rnn.DeviceWrapper")
class DeviceWrapper(CellWrapper):
    """The cell, on a device."""

    def __init__(self, cell: Any, device: Any) -> None:
        super().__init__(cell)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope("DeviceWrapperZeroState", values=[batch_size]), device(self._device):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        with device(self._device):
            return self._cell(inputs, state, scope)
