"""Locally connected layers, constants of recurrent layers, and convolutional LSTMs with unknown sizes and states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

K = tf.keras.backend
L = tf.keras.layers
R = np.random.RandomState(4)


def values(*shape: int) -> np.ndarray:
    return R.uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("first", [False, True])
def test_a_locally_connected_layer_has_a_kernel_for_each_place(first: bool) -> None:
    layout = "channels_first" if first else "channels_last"
    layer = L.LocallyConnected2D(3, (2, 3), strides=(1, 2), activation="relu", data_format=layout)
    x = values(2, 2, 4, 7) if first else values(2, 4, 7, 2)
    model = tf.keras.Sequential([L.InputLayer(x.shape[1:]), layer])
    kernel, bias = values(9, 12, 3), values(3, 3, 3)
    model.set_weights([kernel, bias])
    expected = np.zeros((2, 3, 3, 3), np.float32)
    for row in range(3):
        for column in range(3):
            rows, columns = slice(row, row + 2), slice(2 * column, 2 * column + 3)
            patch = x[:, :, rows, columns] if first else x[:, rows, columns]
            of_place = bias.reshape(3, 3, 3)[:, row, column] if first else bias[row, column]  # in Keras' memory
            expected[:, row, column] = patch.reshape(2, -1) @ kernel[3 * row + column] + of_place
    expected = np.maximum(expected, 0)
    np.testing.assert_allclose(model.predict(x), expected.transpose(0, 3, 1, 2) if first else expected, atol=1e-5)
    assert model.output_shape == (None, 3, 3, 3)


def test_a_locally_connected_layer_over_sequences() -> None:
    x, kernel = values(2, 7, 2), values(3, 6, 4)
    model = tf.keras.Sequential([L.LocallyConnected1D(4, 3, strides=2, use_bias=False, input_shape=(7, 2))])
    model.set_weights([kernel])
    expected = np.stack([x[:, 2 * i : 2 * i + 3].reshape(2, -1) @ kernel[i] for i in range(3)], 1)
    np.testing.assert_allclose(model.predict(x), expected, atol=1e-5)
    with pytest.raises(ValueError, match="fully-defined"):
        L.LocallyConnected1D(4, 3)(tf.keras.Input((None, 2)))
    with pytest.raises(ValueError, match="Invalid border mode"):
        L.LocallyConnected2D(4, 3, padding="same")


class Attending(L.Layer):
    """A cell whose steps also see a constant."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, input_shape: Any) -> None:
        assert isinstance(input_shape, list)
        inputs, constant = input_shape
        self.kernel = self.add_weight("kernel", [int(inputs[-1]), self.units])
        self.of_constant = self.add_weight("of_constant", [int(constant[-1]), self.units])

    def call(self, inputs: Any, states: Any, constants: Any) -> Any:
        output = tf.matmul(inputs, self.kernel) + 0.5 * states[0] + tf.matmul(constants[0], self.of_constant)
        return output, [output]


@pytest.mark.parametrize("stacked", [False, True])
def test_the_steps_of_a_recurrent_layer_see_its_constants(stacked: bool) -> None:
    x, constant = tf.keras.Input((4, 3)), tf.keras.Input((2,))
    cells: Any = [Attending(5), Attending(5)] if stacked else Attending(5)
    model = tf.keras.Model([x, constant], L.RNN(cells, return_sequences=True)(x, constants=constant))
    given = [values(2, 4, 3), values(2, 2)]
    weights = model.get_weights()
    expected = given[0]
    for kernel, of_constant in zip(weights[::2], weights[1::2], strict=True):
        state, outputs = np.zeros((2, 5)), []
        for t in range(4):
            state = expected[:, t] @ kernel + 0.5 * state + given[1] @ of_constant
            outputs.append(state)
        expected = np.stack(outputs, 1)
    np.testing.assert_allclose(model.predict(given), expected, atol=1e-5)
    again = tf.keras.Model.from_config(model.get_config(), {"Attending": Attending})
    again.set_weights(weights)
    np.testing.assert_array_equal(again.predict(given), model.predict(given))
    around = tf.keras.Model([x, constant], model([x, constant]))
    np.testing.assert_array_equal(around.predict(given), model.predict(given))


def test_both_directions_see_the_constants() -> None:
    x, constant = tf.keras.Input((4, 3)), tf.keras.Input((2,))
    with tf.keras.utils.CustomObjectScope({"Attending": Attending}):
        both = L.Bidirectional(L.RNN(Attending(5)))
    model = tf.keras.Model([x, constant], both(x, constants=constant))
    given = [values(2, 4, 3), values(2, 2)]
    weights = model.get_weights()
    model.set_weights([*weights[:2], *weights[:2]])
    one, other = np.split(model.predict(given), 2, 1)
    np.testing.assert_allclose(model.predict([given[0][:, ::-1], given[1]]), np.concatenate([other, one], 1), atol=1e-6)


def test_a_cell_without_constants_says_so() -> None:
    with pytest.raises(ValueError, match="does not support constants"):
        L.LSTM(3)(tf.keras.Input((4, 3)), constants=tf.keras.Input((2,)))


def test_a_convolutional_lstm_takes_images_of_any_size_and_keeps_its_states() -> None:
    layer = L.ConvLSTM2D(2, 3, strides=2, return_sequences=True, dropout=0.3, recurrent_dropout=0.2)
    model = tf.keras.Sequential([L.InputLayer((None, None, None, 1)), layer])
    x = values(2, 3, 9, 7, 1)
    outputs = model.predict(x)
    assert outputs.shape == (2, 3, 4, 3, 2)
    weights = model.get_weights()
    model.compile("sgd", "mse")
    model.fit(x, outputs, verbose=0)  # with dropout
    stateful = tf.keras.Sequential(
        [L.ConvLSTM2D(2, 3, strides=2, return_sequences=True, stateful=True, batch_input_shape=(2, 1, 9, 7, 1))]
    )
    stateful.set_weights([*weights])
    by_step = np.concatenate([stateful.predict(x[:, t : t + 1]) for t in range(3)], 1)
    np.testing.assert_allclose(by_step, outputs, atol=1e-6)
    stateful.reset_states()
    np.testing.assert_allclose(stateful.predict(x[:, :1]), outputs[:, :1], atol=1e-6)


def test_a_convolutional_lstm_with_channels_first_computes_the_same() -> None:
    x = values(2, 3, 6, 5, 2)
    last = tf.keras.Sequential([L.ConvLSTM2D(2, 3, input_shape=x.shape[1:])])
    first = tf.keras.Sequential([L.ConvLSTM2D(2, 3, data_format="channels_first", input_shape=(3, 2, 6, 5))])
    first.set_weights(last.get_weights())
    found = first.predict(x.transpose(0, 1, 4, 2, 3))
    np.testing.assert_allclose(found.transpose(0, 2, 3, 1), last.predict(x), atol=1e-6)


def test_ctc_of_batches_agrees_with_the_sum_over_all_alignments() -> None:
    """Labels are given with padding and lengths; with 3 steps all alignments can be listed."""
    probabilities = R.dirichlet(np.ones(3), (2, 4)).astype(np.float32)
    labels, label_lengths = np.array([[0, 1], [1, 0]]), np.array([[2], [1]])
    input_lengths = np.array([[4], [3]])

    def collapsed(path: tuple[int, ...]) -> list[int]:
        return [c for i, c in enumerate(path) if c != 2 and (i == 0 or path[i - 1] != c)]

    expected = []
    for row in range(2):
        steps, wanted = input_lengths[row, 0], list(labels[row, : label_lengths[row, 0]])
        paths = np.ndindex(*([3] * steps))
        total = sum(
            np.prod([probabilities[row, t, c] for t, c in enumerate(path)])
            for path in paths
            if collapsed(path) == wanted
        )
        expected.append([-np.log(total)])
    cost = K.eval(K.ctc_batch_cost(labels, probabilities, input_lengths, label_lengths))
    np.testing.assert_allclose(cost, expected, rtol=1e-4)


def test_ctc_decodes_the_likeliest_labels() -> None:
    probabilities = np.full((2, 5, 3), 0.05, np.float32)
    for row, best in enumerate(([0, 0, 2, 0, 1], [1, 1, 1, 2, 0])):
        probabilities[row, np.arange(5), best] = 0.9
    lengths = np.array([5, 4])
    (greedy,), score = K.ctc_decode(probabilities, lengths)
    np.testing.assert_array_equal(K.eval(greedy), [[0, 0, 1], [1, -1, -1]])
    np.testing.assert_allclose(K.eval(score), -np.log(0.9 + 1e-7) * np.array([[5], [4]]), rtol=1e-5)
    paths, scores = K.ctc_decode(probabilities, lengths, greedy=False, beam_width=20, top_paths=2)
    np.testing.assert_array_equal(K.eval(paths[0]), [[0, 0, 1], [1, -1, -1]])
    assert K.eval(scores).shape == (2, 2)


def test_a_layer_says_what_its_inputs_must_be() -> None:
    class Rows(L.Layer):
        def build(self, input_shape: Any) -> None:
            self.input_spec = L.InputSpec(ndim=2, axes={-1: input_shape[-1]})

        def call(self, inputs: Any) -> Any:
            return inputs * 2.0

    layer = Rows()
    assert layer(tf.keras.Input((3,))).shape.as_list() == [None, 3]
    with pytest.raises(ValueError, match="expected ndim=2, found ndim=3"):
        layer(tf.keras.Input((3, 3)))
    with pytest.raises(ValueError, match="expected axis -1 to have value 3, found 4"):
        layer(tf.keras.Input((4,)))


def test_backend_functions_of_images_and_volumes() -> None:
    x, kernel = values(2, 4, 5, 3), values(2, 2, 3, 2)
    summed = np.zeros((2, 3, 4, 6), np.float32)
    for i in range(3):
        for j in range(4):
            summed[:, i, j] = np.einsum("nhwc,hwcm->ncm", x[:, i : i + 2, j : j + 2], kernel).reshape(2, 6)
    np.testing.assert_allclose(K.eval(K.depthwise_conv2d(x, kernel)), summed, atol=1e-5)
    mix = values(1, 1, 6, 4)
    np.testing.assert_allclose(K.eval(K.separable_conv2d(x, kernel, mix)), summed @ mix[0, 0], atol=1e-5)
    y = values(2, 3, 4, 2)
    back = K.eval(K.conv2d_transpose(y, values(2, 2, 3, 2), (None, 4, 5, 3)))
    assert back.shape == (2, 4, 5, 3)
    volumes = values(1, 2, 4, 2, 1)
    pooled = K.eval(K.pool3d(volumes, (2, 2, 2), (2, 2, 2)))
    np.testing.assert_array_equal(pooled.ravel(), volumes.reshape(2, 2, 2, 2).max((0, 2, 3)))
    assert K.eval(K.spatial_3d_padding(volumes, ((1, 0), (0, 2), (1, 1)))).shape == (1, 3, 6, 4, 1)
    larger = K.eval(K.resize_volumes(volumes, 2, 1, 3, "channels_last"))
    np.testing.assert_array_equal(larger, volumes.repeat(2, 1).repeat(3, 3))
    assert K.eval(K.foldr(lambda a, b: a - b, np.array([1.0, 2.0, 4.0]))) == 1.0
    drawn = K.get_value(K.random_uniform_variable((200,), 2, 3))
    assert 2 <= drawn.min() < drawn.max() <= 3
    assert K.get_value(K.random_normal_variable((2, 2), 0, 1)).shape == (2, 2)
