"""Values rounded to the integers of a range, which is that of the last step or a moving average over steps."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import Constant, Zeros
from penstock.client.variable import Variable
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_default_graph, name_scope
from penstock.ops.reduce import reduce_max, reduce_min
from penstock.tensor.dtypes import int64
from penstock.train.moving_averages import assign_moving_average

_STEP = "fake_quantization_step"


def rounded(
    inputs: Tensor,
    prefix: str,
    is_training: bool,
    *,
    moving: bool,
    init_min: float,
    decay: float,
    bits: int,
    symmetric: bool,
    narrow_range: bool,
) -> Tensor:
    """`inputs` rounded to 2**bits numbers between the variables `prefix`/min and `prefix`/max.

    While training, the range follows `inputs`: at once, or with `moving` as an average with `decay`. Zero is always in
    it. symmetric: the range reaches as far below zero as above. narrow_range: one number less.
    """
    with variable_scope(None, default_name=prefix, values=[inputs]) as scope:
        scope.set_partitioner(None)
        low, high = _variable("min", init_min), _variable("max", 6.0)
        ends: tuple[Any, Any] = (low, high)
        if is_training:
            seen = _range(inputs, bits, symmetric, narrow_range)
            names = ("AssignMinEma", "AssignMaxEma") if moving else ("AssignMinLast", "AssignMaxLast")
            updates = [
                assign_moving_average(variable, value, decay, name=name)
                if moving
                else variable.assign(value, name=name)
                for variable, value, name in zip(ends, seen, names, strict=True)
            ]
            ends = (updates[0], updates[1])
        rounding = get_op("FakeQuantWithMinMaxVars")
        return rounding(inputs, ends[0], ends[1], num_bits=bits, narrow_range=narrow_range)


def _range(inputs: Tensor, bits: int, symmetric: bool, narrow_range: bool) -> tuple[Tensor, Tensor]:
    low, high = reduce_min(inputs, name="BatchMin"), reduce_max(inputs, name="BatchMax")
    minimum, maximum = get_op("Minimum"), get_op("Maximum")
    if not symmetric:
        return minimum(low, 0.0), maximum(high, 0.0)
    # Of all numbers of two's complement, one more is below zero than above.
    ratio = -1.0 if narrow_range else -((1 << bits) - 2) / (1 << bits)
    return minimum(low, high / ratio), maximum(high, low * ratio)


def _variable(name: str, start: float) -> Variable:
    return get_variable(name, shape=[], initializer=Constant(start), trainable=False)


def quantization_step() -> Tensor:
    """The number of steps that the rewritten graph has run, which each step increases."""
    graph = get_default_graph()
    found = graph._by_name.get(f"{_STEP}/Identity")
    if found is not None:
        return found._outputs[0]
    with name_scope(None):
        step = get_variable(
            _STEP,
            shape=[],
            dtype=int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )
        with name_scope(f"{step.op.name}/"):
            return get_op("Identity")(step.assign_add(1))
