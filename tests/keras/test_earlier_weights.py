"""Weights of cuDNN's layers, of Keras 1 and of its Theano backend are those that layers compute the same with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import penstock as tf

L = tf.keras.layers
X = np.random.RandomState(1).randn(2, 4, 3).astype(np.float32)


def written(
    path: Path, layers: dict[str, list[Any]], version: bytes = b"2.2.5", backend: bytes = b"tensorflow"
) -> Path:
    """A file of weights as Keras writes it."""
    with h5py.File(path, "w") as file:
        file.attrs.update({"layer_names": np.array([*layers], "S"), "backend": backend})
        if version:
            file.attrs["keras_version"] = version
        for name, arrays in layers.items():
            group = file.create_group(name)
            group.attrs["weight_names"] = np.array([f"w{i}" for i in range(len(arrays))], "S")
            for i, array in enumerate(arrays):
                group[f"w{i}"] = array
    return path


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def of_cudnn(gates: int, units: int = 2) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Matrices [units, inputs] and [units, units] and two biases of each gate, and these as files have them."""
    random = np.random.RandomState(gates)
    w = [random.randn(units, 3) for _ in range(gates)]
    u = [random.randn(units, units) for _ in range(gates)]
    bias = random.randn(2 * gates * units)
    stored = [np.hstack([each.reshape(3, units) for each in w]), np.hstack([each.reshape(units, units) for each in u])]
    return w, u, [*stored, bias], bias.reshape(2, gates, units)


@pytest.mark.parametrize("make", [lambda: L.CuDNNLSTM(2), lambda: L.LSTM(2, recurrent_activation="sigmoid")])
def test_weights_of_cudnns_lstm(make: Any, tmp_path: Path) -> None:
    w, u, stored, bias = of_cudnn(4)
    model = tf.keras.Sequential([L.InputLayer((4, 3)), make()])
    model.load_weights(written(tmp_path / "w.h5", {"lstm": stored}))
    h = c = np.zeros((2, 2))
    for step in range(4):
        i, f, new, o = (X[:, step] @ w[g].T + h @ u[g].T + bias[0, g] + bias[1, g] for g in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
        h = sigmoid(o) * np.tanh(c)
    np.testing.assert_allclose(model.predict(X), h, rtol=1e-4, atol=1e-6)


def test_weights_of_cudnns_gru_within_another_layer(tmp_path: Path) -> None:
    w, u, stored, bias = of_cudnn(3)
    model = tf.keras.Sequential([L.InputLayer((4, 3)), L.Bidirectional(L.CuDNNGRU(2))])
    model.load_weights(written(tmp_path / "w.h5", {"both": [*stored, *stored]}))
    outputs = []
    for steps in (range(4), range(3, -1, -1)):
        h = np.zeros((2, 2))
        for step in steps:
            x, inner = ([value @ m[g].T + bias[k, g] for g in range(3)] for k, (value, m) in
                        enumerate([(X[:, step], w), (h, u)]))  # fmt: skip
            z, r = sigmoid(x[0] + inner[0]), sigmoid(x[1] + inner[1])
            h = z * h + (1 - z) * np.tanh(x[2] + r * inner[2])
        outputs.append(h)
    np.testing.assert_allclose(model.predict(X), np.hstack(outputs), rtol=1e-4, atol=1e-6)


def test_a_cudnn_layer_is_described_without_what_it_does_not_take() -> None:
    config = L.CuDNNLSTM(2, return_sequences=True).get_config()
    assert {"units", "kernel_initializer", "unit_forget_bias", "return_sequences", "stateful"} <= config.keys()
    assert not config.keys() & {"activation", "recurrent_activation", "dropout", "use_bias", "unroll"}
    assert L.CuDNNLSTM.from_config(config).cell.recurrent_activation is tf.keras.activations.sigmoid


def test_gates_of_keras_1_are_joined_in_the_order_of_now(tmp_path: Path) -> None:
    random = np.random.RandomState(2)
    i, c, f, o = ([random.randn(3, 2), random.randn(2, 2), random.randn(2)] for _ in range(4))
    model = tf.keras.Sequential([L.InputLayer((4, 3)), L.LSTM(2)])
    model.load_weights(written(tmp_path / "w.h5", {"lstm": [*i, *c, *f, *o]}, version=b""))
    for place, found in enumerate(model.get_weights()):
        np.testing.assert_allclose(found, np.concatenate([gate[place] for gate in (i, f, c, o)], -1), rtol=1e-6)


def test_kernels_of_theano_are_turned_round(tmp_path: Path) -> None:
    kernel, bias = np.random.RandomState(3).randn(3, 2, 1, 4), np.zeros(4)
    model = tf.keras.Sequential([L.InputLayer((5, 5, 1)), L.Conv2D(4, (3, 2))])
    model.load_weights(written(tmp_path / "w.h5", {"conv": [kernel, bias]}, backend=b"theano"))
    np.testing.assert_allclose(model.get_weights()[0], kernel[::-1, ::-1], rtol=1e-6)


def test_a_kernel_of_keras_1_over_a_sequence_loses_its_second_dim(tmp_path: Path) -> None:
    kernel, bias = np.random.RandomState(4).randn(3, 1, 2, 4), np.zeros(4)
    model = tf.keras.Sequential([L.InputLayer((5, 2)), L.Conv1D(4, 3)])
    model.load_weights(written(tmp_path / "w.h5", {"conv": [kernel, bias]}, version=b""))
    np.testing.assert_allclose(model.get_weights()[0], kernel[:, 0], rtol=1e-6)


def test_weights_of_a_model_within_a_model_are_in_files_with_those_that_are_trained_first(tmp_path: Path) -> None:
    within = tf.keras.Sequential([L.BatchNormalization(input_shape=(2,)), L.Dense(1)])
    model = tf.keras.Sequential([within])
    model.set_weights(
        [np.full(2, 1.0), np.full(2, 2.0), np.full(2, 3.0), np.full(2, 4.0), np.ones((2, 1)), np.zeros(1)]
    )
    model.save_weights(tmp_path / "w.h5")
    with h5py.File(tmp_path / "w.h5") as file:
        (name,) = file.attrs["layer_names"]
        group = file[name.decode()]
        arrays = [group[each.decode()][()].ravel().tolist() for each in group.attrs["weight_names"]]
    # As TensorFlow 1.15 and Keras 2.2.5 have them.
    assert arrays == [[1.0, 1.0], [2.0, 2.0], [1.0, 1.0], [0.0], [3.0, 3.0], [4.0, 4.0]]
    wanted = model.get_weights()
    model.set_weights([np.zeros_like(each) for each in wanted])
    model.load_weights(tmp_path / "w.h5")
    for found, each in zip(model.get_weights(), wanted, strict=True):
        np.testing.assert_array_equal(found, each)
