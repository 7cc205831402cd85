"""Batch normalization in Keras as a package of its own: moving averages without the bias of where they began.

Facts from Keras 2.2.5 (`keras.layers.BatchNormalization.call`, `K.moving_average_update`).
"""

from __future__ import annotations

from typing import Any

from penstock.graph.convert import convert_to_tensor
from penstock.keras import backend as K
from penstock.keras.layers.normalization import BatchNormalization
from penstock.layers.core import known_truth
from penstock.ops.cast import cast
from penstock.train.moving_averages import assign_moving_average


def take_averages() -> None:
    """Moving statistics are means of what there was from the first step on, with the variance of a sample."""
    backend: Any = K
    backend.moving_average_update = moving_average_update
    kind: Any = BatchNormalization
    kind._follow = _follow


def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    """The mean of the values so far, of which the last has the weight 1 - momentum, assigned to x."""
    return assign_moving_average(x, cast(convert_to_tensor(value), x.dtype.base_dtype), momentum, zero_debias=True)


def _follow(layer: Any, inputs: Any, training: Any, mean: Any, variance: Any) -> None:
    """In training, update the moving statistics. Keras corrects the variance, also where the fused op has done so."""
    if known_truth(training) is False:
        return
    sizes = K.shape(inputs)
    axis = layer.axis % inputs.shape.rank
    count = K.cast(K.prod(sizes), "float32") / K.cast(sizes[axis], "float32")
    variance *= K.cast(count / (count - (1.0 + layer.epsilon)), variance.dtype)
    for moving, value in ((layer.moving_mean, mean), (layer.moving_variance, variance)):
        layer.add_update(moving_average_update(moving, value, layer.momentum))
