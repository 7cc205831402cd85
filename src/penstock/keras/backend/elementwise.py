"""Keras' functions of each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.arithmetic import maximum as maximum_op, minimum as minimum_op, pow as pow_op
from penstock.ops.basic import identity as identity_op
from penstock.ops.clip import clip_by_value
from penstock.ops.compare import (
    equal as equal_op,
    greater as greater_op,
    greater_equal as greater_equal_op,
    less as less_op,
    less_equal as less_equal_op,
    not_equal as not_equal_op,
)
from penstock.ops.passing import stop_gradient as stop_gradient_op
from penstock.ops.rounding import round as round_op
from penstock.ops.trigonometry import cos as cos_op, sin as sin_op
from penstock.ops.unary import (
    abs as abs_op,
    exp as exp_op,
    log as log_op,
    sign as sign_op,
    sqrt as sqrt_op,
    square as square_op,
)


@export("keras.backend.clip")
def clip(x: Any, min_value: Any, max_value: Any) -> Tensor:
    """`x` within the two limits."""
    if max_value is not None and isinstance(max_value, int | float) and max_value < min_value:
        max_value = min_value
    return clip_by_value(x, min_value, np.inf if max_value is None else max_value)


@export("keras.backend.pow")
def pow(x: Any, a: Any) -> Tensor:
    return pow_op(x, a)


@export("keras.backend.sqrt")
def sqrt(x: Any) -> Tensor:
    """The square root, 0 for negative numbers."""
    return sqrt_op(maximum_op(x, 0.0))


def _elementwise(name: str, function: Any) -> Any:
    def apply(*tensors: Any) -> Tensor:
        return function(*tensors)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = function.__doc__
    return apply


abs = export("keras.backend.abs")(_elementwise("abs", abs_op))
square = export("keras.backend.square")(_elementwise("square", square_op))
exp = export("keras.backend.exp")(_elementwise("exp", exp_op))
log = export("keras.backend.log")(_elementwise("log", log_op))
round = export("keras.backend.round")(_elementwise("round", round_op))
sign = export("keras.backend.sign")(_elementwise("sign", sign_op))
sin = export("keras.backend.sin")(_elementwise("sin", sin_op))
cos = export("keras.backend.cos")(_elementwise("cos", cos_op))
equal = export("keras.backend.equal")(_elementwise("equal", equal_op))
not_equal = export("keras.backend.not_equal")(_elementwise("not_equal", not_equal_op))
greater = export("keras.backend.greater")(_elementwise("greater", greater_op))
greater_equal = export("keras.backend.greater_equal")(_elementwise("greater_equal", greater_equal_op))
less = export("keras.backend.less")(_elementwise("less", less_op))
less_equal = export("keras.backend.less_equal")(_elementwise("less_equal", less_equal_op))
maximum = export("keras.backend.maximum")(_elementwise("maximum", maximum_op))
minimum = export("keras.backend.minimum")(_elementwise("minimum", minimum_op))


@export("keras.backend.stop_gradient")
def stop_gradient(variables: Any) -> Any:
    """A tensor, or each of a list, as a constant for gradients."""
    if isinstance(variables, list | tuple):
        return map(stop_gradient, variables)
    return stop_gradient_op(variables)


identity = export("keras.backend.identity")(_elementwise("identity", identity_op))
