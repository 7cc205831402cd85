"""What layers of programs are tested with, as in Keras 2.0 to 2.2 (`keras.utils.test_utils`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from penstock.keras import backend as K
from penstock.keras.engine.input_layer import Input
from penstock.keras.engine.model import Model
from penstock.keras.engine.sequential import Sequential
from penstock.keras.utils.inner import has_arg


def keras_test(func: Callable[..., Any]) -> Callable[..., Any]:
    """A test after which Keras's graph is empty."""

    @functools.wraps(func)
    def tested(*args: Any, **kwargs: Any) -> Any:
        output = func(*args, **kwargs)
        K.clear_session()
        return output

    return tested


def layer_test(
    layer_cls: Any,
    kwargs: Any = None,
    input_shape: Any = None,
    input_dtype: Any = None,
    input_data: Any = None,
    expected_output: Any = None,
    expected_output_dtype: Any = None,
    fixed_batch_size: bool = False,
) -> np.ndarray:
    """Raises AssertionError unless a layer with one input and one output has the shape that it says, the dtype and
    values that are expected, and is the same when made again from its description and weights; in a Model and in a
    Sequential, which are also trained for a step. Returns what the layer made of the data, which are random by default.
    """
    data, shape, dtype = _data(input_shape, input_dtype, input_data)
    options = dict(kwargs or {})
    layer = layer_cls(**options)
    weights = layer.get_weights()
    layer.set_weights(weights)
    if weights and has_arg(layer_cls.__init__, "weights"):
        layer = layer_cls(**options, weights=weights)
    x = Input(batch_shape=shape, dtype=dtype) if fixed_batch_size else Input(shape=shape[1:], dtype=dtype)
    y = layer(x)
    assert K.dtype(y) == (expected_output_dtype or dtype), f"{layer.name} makes {K.dtype(y)}"
    sizes = layer.compute_output_shape(shape)
    _check(Model(x, y), Model, data, sizes, expected_output)
    config = {**layer.get_config(), "batch_input_shape": shape}
    model = Sequential()
    model.add(type(layer).from_config(config))
    return _check(model, Sequential, data, sizes, expected_output)


def _data(shape: Any, dtype: Any, data: Any) -> tuple[np.ndarray, Any, Any]:
    if data is not None:
        return data, data.shape if shape is None else shape, np.dtype(dtype or data.dtype).name
    assert shape, "layer_test needs input_shape or input_data"
    dtype = dtype or K.floatx()
    known = [np.random.randint(1, 4) if size is None else size for size in shape]
    return (10 * np.random.random(known)).astype(dtype), shape, dtype


def _check(model: Any, kind: Any, data: np.ndarray, sizes: Any, expected: Any) -> np.ndarray:
    output: np.ndarray = model.predict(data)
    for size, actual in zip(sizes, output.shape, strict=False):
        assert size is None or size == actual, f"the layer says {sizes}, but makes {output.shape}"
    if expected is not None:
        assert_allclose(output, expected, rtol=1e-3)
    again = kind.from_config(model.get_config())
    if model.weights:
        again.set_weights(model.get_weights())
        assert_allclose(again.predict(data), output, rtol=1e-3)
    model.compile("rmsprop", "mse")
    model.train_on_batch(data, output)
    return output
