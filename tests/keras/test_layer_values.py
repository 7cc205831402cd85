"""Layers with given weights against what Keras 3 computes with them (recorded in tests/data/keras_layers.npz)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

L = tf.keras.layers
EXPECTED = np.load(Path(__file__).parent.parent / "data" / "keras_layers.npz")
IMAGE, SEQUENCE, VIDEO = (5, 6, 4), (5, 3), (4, 5, 6, 2)


def one(layer: Any, shape: Any) -> Any:
    return tf.keras.Sequential([L.InputLayer(shape), layer])


def masked(layer: Any) -> Any:
    return tf.keras.Sequential([L.InputLayer(SEQUENCE), L.Masking(), layer])


MODELS: dict[str, Callable[[], Any]] = {
    "dense": lambda: one(L.Dense(4, activation="relu"), (3,)),
    "dense3": lambda: one(L.Dense(4, activation="softmax"), SEQUENCE),
    "conv1": lambda: one(L.Conv1D(4, 3, padding="causal", dilation_rate=2), (7, 3)),
    "conv2": lambda: one(L.Conv2D(4, (3, 2), strides=2, padding="same", activation="elu"), IMAGE),
    "conv3": lambda: one(L.Conv3D(2, 2), (4, 4, 4, 2)),
    "convT": lambda: one(L.Conv2DTranspose(3, 3, strides=2, padding="same"), IMAGE),
    "sep": lambda: one(L.SeparableConv2D(3, 3, depth_multiplier=2), IMAGE),
    "dw": lambda: one(L.DepthwiseConv2D(3, depth_multiplier=2, padding="same"), IMAGE),
    "mp": lambda: one(L.MaxPooling2D(2), IMAGE),
    "ap1": lambda: one(L.AveragePooling1D(2, strides=1, padding="same"), SEQUENCE),
    "gap": lambda: one(L.GlobalAveragePooling2D(), IMAGE),
    "gmp1": lambda: one(L.GlobalMaxPooling1D(), SEQUENCE),
    "zp": lambda: one(L.ZeroPadding2D(((1, 0), (2, 1))), IMAGE),
    "crop": lambda: one(L.Cropping2D(((1, 0), (0, 2))), IMAGE),
    "up": lambda: one(L.UpSampling2D((2, 3)), IMAGE),
    "up1": lambda: one(L.UpSampling1D(3), SEQUENCE),
    "up3": lambda: one(L.UpSampling3D((1, 2, 2)), (2, 3, 2, 2)),
    "bn": lambda: one(L.BatchNormalization(), IMAGE),
    "bn2": lambda: one(L.BatchNormalization(), (4,)),
    "ln": lambda: one(L.LayerNormalization(), SEQUENCE),
    "ln2": lambda: one(L.LayerNormalization(axis=[1, -1], epsilon=1e-5, scale=False), IMAGE),
    "prelu": lambda: one(L.PReLU(shared_axes=[1]), SEQUENCE),
    "flat": lambda: one(L.Flatten(), IMAGE),
    "perm": lambda: one(L.Permute((2, 1)), SEQUENCE),
    "resh": lambda: one(L.Reshape((-1, 5)), SEQUENCE),
    "rep": lambda: one(L.RepeatVector(3), (4,)),
    "td": lambda: one(L.TimeDistributed(L.Dense(4)), SEQUENCE),
    "tdconv": lambda: one(L.TimeDistributed(L.Conv2D(2, 3)), (3, 5, 6, 4)),
    "convlstm": lambda: one(L.ConvLSTM2D(3, 3, padding="same", recurrent_activation="sigmoid"), VIDEO),
    "convlstmseq": lambda: one(
        L.ConvLSTM2D(3, (3, 2), 2, return_sequences=True, go_backwards=True, recurrent_activation="sigmoid"), VIDEO
    ),
    "convlstmdil": lambda: one(
        L.ConvLSTM2D(
            2,
            2,
            dilation_rate=2,
            activation="relu",
            return_sequences=True,
            recurrent_activation="sigmoid",
            use_bias=False,
        ),
        VIDEO,
    ),
    "GRUra": lambda: one(L.GRU(4, reset_after=True, return_sequences=True, recurrent_activation="sigmoid"), SEQUENCE),
}


def _recurrent(kind: str, arguments: dict[str, Any]) -> None:
    def layer(**kwargs: Any) -> Any:
        return getattr(L, kind)(4, **arguments, **kwargs)

    MODELS[kind] = lambda: one(layer(), SEQUENCE)
    MODELS[f"{kind}seq"] = lambda: one(layer(return_sequences=True, go_backwards=True), SEQUENCE)
    MODELS[f"{kind}bi"] = lambda: one(L.Bidirectional(layer(return_sequences=True)), SEQUENCE)
    MODELS[f"{kind}mask"] = lambda: masked(layer(return_sequences=True))
    MODELS[f"{kind}masklast"] = lambda: masked(L.Bidirectional(layer()))


_recurrent("SimpleRNN", {})
_recurrent("GRU", {"recurrent_activation": "sigmoid"})
_recurrent("LSTM", {"recurrent_activation": "sigmoid"})


def _several_inputs() -> Any:
    a, b = tf.keras.Input((4,)), tf.keras.Input((3,))
    x, y = L.Dense(5, activation="tanh")(a), L.Dense(5)(b)
    total = L.Add()([L.Multiply()([x, y]), x, y])
    joined = L.Concatenate()([total, L.Average()([x, y]), L.Maximum()([x, y])])
    return tf.keras.Model([a, b], [L.Dense(2)(joined), L.Dot(axes=1)([x, y])])


def _states() -> Any:
    a = tf.keras.Input(SEQUENCE)
    o, h, c = L.LSTM(4, return_state=True, recurrent_activation="sigmoid")(a)
    again = L.LSTM(4, return_sequences=True, recurrent_activation="sigmoid")(a, initial_state=[h, c])
    return tf.keras.Model(a, [o, again])


def _attending(kind: str, keys: bool = False, masked: bool = False, **kwargs: Any) -> Any:
    given = [tf.keras.Input(shape) for shape in [SEQUENCE, (7, 3), (7, 3)][: 3 if keys else 2]]
    there = [L.Masking()(x) for x in given[:2]] + given[2:] if masked else given
    return tf.keras.Model(given, getattr(L, kind)(**kwargs)(there))


MODELS |= {
    "multi": _several_inputs,
    "state": _states,
    "attend": lambda: _attending("Attention"),
    "attendkeys": lambda: _attending("Attention", keys=True, use_scale=True),
    "attendmask": lambda: _attending("Attention", masked=True),
    "attendsum": lambda: _attending("AdditiveAttention", keys=True),
    "attendsummask": lambda: _attending("AdditiveAttention", masked=True, use_scale=False),
}


def weights_for(shapes: list[Any], name: str) -> list[np.ndarray]:
    random = np.random.RandomState(len(name))
    return [
        random.uniform(0.1, 0.9, s).astype("float32") * (1 if len(s) == 1 else random.choice([-1, 1], s))
        for s in shapes
    ]


def inputs_for(shapes: list[Any]) -> list[np.ndarray]:
    random = np.random.RandomState(5)
    arrays = [random.uniform(-1, 1, (3, *shape[1:])).astype("float32") for shape in shapes]
    for x in arrays:
        if x.shape[1:] == SEQUENCE:  # steps that masks exclude
            x[0, 3:] = 0
            x[1, 0] = 0
    return arrays


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", MODELS)
def test_a_layer_computes_what_keras_computes_and_so_does_one_made_from_its_description(name: str) -> None:
    model = MODELS[name]()
    weights = weights_for([w.shape for w in model.get_weights()], name)
    model.set_weights(weights)
    inputs = inputs_for([x.shape.as_list() for x in model.inputs])
    given = inputs if len(inputs) > 1 else inputs[0]
    outputs = listed(model.predict(given))
    for i, output in enumerate(outputs):
        np.testing.assert_allclose(output, EXPECTED[f"{name}.{i}"], rtol=2e-5, atol=2e-6)
        assert model.outputs[i].shape.is_compatible_with(output.shape)
    again = tf.keras.models.model_from_json(model.to_json())
    again.set_weights(weights)
    for output, other in zip(outputs, listed(again.predict(given)), strict=True):
        np.testing.assert_array_equal(output, other)


def test_every_recorded_model_is_tested() -> None:
    assert {key.rsplit(".", 1)[0] for key in EXPECTED.files} == set(MODELS)


def test_a_transposed_convolution_has_a_dilation() -> None:
    x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    wanted = np.zeros((5, 5), np.float32)  # each pixel times the kernel, whose two rows and columns are two apart
    for i in (0, 2):
        for j in (0, 2):
            wanted[i : i + 3, j : j + 3] += x[0, :, :, 0]
    layer = tf.keras.layers.Conv2DTranspose(1, 2, dilation_rate=2, kernel_initializer="ones")
    y = layer(tf.constant(x))
    first = tf.keras.layers.Conv2DTranspose(
        1, 2, dilation_rate=2, kernel_initializer="ones", data_format="channels_first"
    )(tf.constant(x.transpose(0, 3, 1, 2)))
    assert y.shape.as_list() == [1, 5, 5, 1]
    assert first.shape.as_list() == [1, 1, 5, 5]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, found_first = session.run([y, first])
    np.testing.assert_allclose(found[0, :, :, 0], wanted)
    np.testing.assert_allclose(found_first[0, 0], wanted)
    with pytest.raises(ValueError, match="must be the same twice"):
        tf.keras.backend.conv2d_transpose(tf.constant(x), layer.kernel, (1, 5, 5, 1), dilation_rate=(1, 2))
