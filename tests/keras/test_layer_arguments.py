"""What layers take and say beside their values, as in TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

L = tf.keras.layers


def test_a_layer_that_a_program_has_built_is_not_built_again() -> None:
    for layer, shape in ((L.Dense(3), (2, 4)), (L.Conv1D(3, 2), (2, 5, 4)), (tf.layers.Dense(3), (2, 4))):
        layer.build(tf.TensorShape(shape))
        assert layer.built and len(layer.weights) == 2
        kernel = layer.weights[0]
        layer(tf.ones(shape))
        assert len(layer.weights) == 2 and layer.weights[0] is kernel

    class Ours(L.Layer):
        def build(self, input_shape: tf.TensorShape) -> None:
            self.inner = L.Dense(2)
            self.inner.build(input_shape)
            super().build(input_shape)

        def call(self, inputs: tf.Tensor) -> tf.Tensor:
            return self.inner(inputs)

    ours = Ours()
    ours.build(tf.TensorShape((2, 4)))
    assert ours.built
    ours(tf.ones((2, 4)))
    assert len(ours.weights) == 2


def test_output_padding_says_how_long_a_transposed_convolution_is() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    made = {"kernel_initializer": "ones", "strides": 2}
    same = L.Conv2DTranspose(1, 3, padding="same", output_padding=1, **made)
    valid = L.Conv2DTranspose(1, 3, padding="valid", output_padding=(1, 0), **made)
    assert tf.keras.backend.eval(same(tf.constant(x))).shape == (1, 4, 4, 1)
    # Row 5 is beyond what the 2 x 2 inputs reach.
    found = tf.keras.backend.eval(valid(tf.constant(x)))[0, :, :, 0]
    np.testing.assert_array_equal(found[4:], [[2, 2, 5, 3, 3], [0, 0, 0, 0, 0]])
    assert L.Conv3DTranspose(1, 3, 2, "same", 0)(tf.ones((1, 3, 3, 3, 1))).shape.as_list() == [1, 5, 5, 5, 1]
    with pytest.raises(ValueError, match="must be greater than output padding"):
        L.Conv2DTranspose(1, 3, output_padding=2, **made)


def test_signatures_of_outputs_have_shape_and_dtype() -> None:
    found = L.Dense(3).compute_output_signature(tf.TensorSpec((None, 2), tf.float32))
    assert (found.shape.as_list(), found.dtype) == ([None, 3], tf.float32)
    with pytest.raises(TypeError, match="TensorSpec"):
        L.Dense(3).compute_output_signature((None, 2))


def test_recurrent_layers_compute_in_their_dtype() -> None:
    for kind in (L.LSTM, L.GRU, L.SimpleRNN):
        layer = kind(2, dtype="float64", dropout=0.1, recurrent_dropout=0.1)
        output = layer(tf.ones((1, 3, 2), tf.float64))
        assert output.dtype == tf.float64 and {w.dtype.base_dtype for w in layer.weights} == {tf.float64}


def test_variables_that_a_lambda_layer_makes_are_its_weights() -> None:
    layer = L.Lambda(lambda x: x * tf.Variable(2.0, name="scale"))
    model = tf.keras.Sequential([layer, layer])
    model.compile("sgd", "mse")
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(model.predict(x), 4 * x)
    assert len(layer.trainable_weights) == 1
    model.train_on_batch(x, x)  # 2 - 0.01 * d/ds (s^2 - 1)^2 = 2 - 0.01 * 4 * 2 * 3
    np.testing.assert_allclose(layer.get_weights()[0], 1.76, rtol=1e-6)


def test_lambda_layers_compute_shapes_from_what_they_are_told() -> None:
    assert L.Lambda(lambda x: x, output_shape=(9,)).compute_output_shape([(2, 3), (2, 4)]).as_list() == [2, 9]
    assert L.Lambda(lambda x: x, output_shape=lambda shape: (shape[0], 8)).compute_output_shape((2, 3)) == (2, 8)
    assert L.Lambda(lambda x: x[:, 1:]).compute_output_shape((2, 3)).as_list() == [2, 2]


def test_compiling_takes_how_tensorflow_2_would_run_the_steps() -> None:
    model = tf.keras.Sequential([L.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse", run_eagerly=False, experimental_run_tf_function=False)
    assert np.isfinite(model.train_on_batch(np.ones((2, 2)), np.ones((2, 1))))
    with pytest.raises(tf.errors.UnimplementedError, match="run_eagerly"):
        model.compile("sgd", "mse", run_eagerly=True)


def test_nodes_say_which_layers_and_tensors_they_connect() -> None:
    x = tf.keras.Input((3,), name="x")
    first, second = L.Dense(4, name="first"), L.Dense(2, name="second")
    y = second(first(x))
    (node,) = second._inbound_nodes
    assert (node.inbound_layers, node.outbound_layer) == ([first], second)
    assert (node.input_tensors, node.output_tensors) == ([first.output], [y])
    assert (node.node_indices, node.tensor_indices, node.output_shapes) == ([0], [0], [(None, 2)])
    assert first.outbound_nodes == [node] and second._outbound_nodes == []
    first.outbound_nodes = []
    assert first._outbound_nodes == []


def test_masks_given_by_position_are_those_of_the_output() -> None:
    class Ours(L.Layer):
        supports_masking = True

        def call(self, inputs: tf.Tensor, mask: tf.Tensor = None) -> tf.Tensor:
            return inputs * tf.cast(mask, tf.float32)

    mask = tf.constant([True, False])
    output = Ours()(tf.ones((2,)), mask)
    assert output._keras_mask is mask
    np.testing.assert_array_equal(tf.keras.backend.eval(output), [1, 0])


def test_layers_that_are_told_a_dtype_take_whole_numbers() -> None:
    output = L.Dense(2, dtype="float32", kernel_initializer="ones")(tf.constant([[1, 2]]))
    np.testing.assert_array_equal(tf.keras.backend.eval(output), [[3, 3]])


def test_copies_of_lambda_layers_have_their_masks() -> None:
    layer = L.Lambda(lambda x: x + 1, mask=lambda x, mask: x[:, 0] > 0, output_shape=lambda shape: shape)
    again = L.Lambda.from_config(layer.get_config())
    mask = again(tf.constant([[1.0], [-1.0]]))._keras_mask
    np.testing.assert_array_equal(tf.keras.backend.eval(mask), [True, False])
    assert again.compute_output_shape((2, 1)) == (2, 1)


def test_masks_go_through_layers_that_are_applied_to_each_step() -> None:
    model = tf.keras.Sequential(
        [
            L.TimeDistributed(L.Embedding(5, 3, mask_zero=True), input_shape=(None, 2)),
            L.TimeDistributed(L.SimpleRNN(2, return_sequences=True)),
            L.TimeDistributed(L.LSTM(2)),
            L.TimeDistributed(L.Dense(2)),
        ]
    )
    words = np.array([[[1, 2], [3, 0], [0, 0]]])
    masks = [layer.output._keras_mask for layer in model.layers]
    found = tf.keras.backend.function([model.input], masks)([words])
    for mask, wanted in zip(found, (words > 0, words > 0, (words > 0).any(-1), (words > 0).any(-1)), strict=True):
        np.testing.assert_array_equal(mask, wanted)
    shorter = tf.keras.Sequential([L.LSTM(2, input_shape=(None, 2))])
    shorter.set_weights(model.layers[2].get_weights())
    before = tf.keras.backend.function([model.input], [model.layers[1].output, model.layers[2].output])
    steps, last = before([words])
    np.testing.assert_allclose(last[0, 1], shorter.predict(steps[0, 1:2, :1])[0], rtol=1e-5)  # not of the second word


def test_copies_of_models_have_layers_of_the_program() -> None:
    class Doubling(L.Layer):
        def call(self, inputs: tf.Tensor) -> tf.Tensor:
            return 2 * inputs

    assert L.TimeDistributed(Doubling()).compute_output_shape((2, 3, 4)).as_list() == [2, 3, 4]
    x = tf.keras.Input((2,))
    copy = tf.keras.models.clone_model(tf.keras.Model(x, tf.keras.Sequential([Doubling(input_shape=(2,))])(x)))
    np.testing.assert_array_equal(copy.predict(np.ones((1, 2))), [[2, 2]])


def test_layers_of_programs_pass_the_windows_of_convolutions_to_the_backend() -> None:
    K = tf.keras.backend

    class Depthwise(L.Conv2D):  # as in implementations of MobileNet that were written for Keras 2.0
        def __init__(self, kernel_size: int, **kwargs: object) -> None:
            super().__init__(None, kernel_size, **kwargs)

        def build(self, input_shape: tf.TensorShape) -> None:
            self.depthwise_kernel = self.add_weight("kernel", (*self.kernel_size, int(input_shape[3]), 1))
            self.built = True

        def call(self, inputs: tf.Tensor) -> tf.Tensor:
            return K.depthwise_conv2d(
                inputs, self.depthwise_kernel, strides=self.strides, padding=self.padding, data_format=self.data_format
            )

    class Pool(L.AveragePooling2D):
        def call(self, inputs: tf.Tensor) -> tf.Tensor:
            return K.pool2d(inputs, self.pool_size, self.strides, self.padding, self.data_format, pool_mode="avg")

    x = tf.ones((1, 4, 4, 2))
    assert Depthwise(3, padding="same", strides=2)(x).shape.as_list() == [1, 2, 2, 2]
    assert Pool(padding="same")(x).shape.as_list() == [1, 2, 2, 2]
    assert L.Conv1D(3, 2, padding="causal").padding == "causal"
    assert L.Conv2D(3, 2).get_config()["data_format"] == "channels_last"


def test_initializers_of_programs_may_take_the_shape_alone() -> None:
    """Keras called them so until 2.2.4; tf.keras also passes a dtype to those that take it."""
    given = []

    def by_dtype(shape: list[int], dtype: tf.DType) -> np.ndarray:
        given.append(dtype)
        return np.full(shape, 3.0, np.float32)

    layer = L.Dense(2, kernel_initializer=lambda shape: np.full(shape, 2.0, np.float32), bias_initializer=by_dtype)
    layer.build((None, 3))
    kernel, bias = (tf.keras.backend.get_value(weight) for weight in layer.weights)
    assert kernel.tolist() == [[2.0, 2.0]] * 3 and bias.tolist() == [3.0, 3.0] and given[0] == tf.float32


def test_recurrent_layers_of_programs_set_their_states_in_build() -> None:
    class Own(L.LSTM):
        def build(self, input_shape: tf.TensorShape) -> None:
            super().build(input_shape)
            self.states = [None, None]

    layer = Own(2)
    assert layer(tf.ones((1, 3, 2))).shape.as_list() == [1, 2] and layer.states == [None, None]


def test_weights_of_a_layer_for_each_step_have_the_outer_layers_name() -> None:
    """The names of TensorFlow 1.15, where Sequential names its layers itself."""
    tf.keras.backend.clear_session()
    layers = tf.keras.layers
    found = []
    for inner, shape in ((layers.Dense(2), (5, 4)), (layers.LSTM(2), (5, 3, 4)), (layers.Conv2D(1, 3), (2, 6, 6, 1))):
        around = layers.TimeDistributed(inner)
        around(layers.Input(shape))
        found.append([weight.name for weight in around.weights])
    weights = ["kernel:0", "recurrent_kernel:0", "bias:0"]
    assert found == [
        ["time_distributed/kernel:0", "time_distributed/bias:0"],
        [f"time_distributed_1/{name}" for name in weights],
        ["time_distributed_2/kernel:0", "time_distributed_2/bias:0"],
    ]


_ZEROS = {"class_name": "Zeros", "config": {"dtype": "float32"}}
_GLOROT = {"class_name": "GlorotUniform", "config": {"seed": None, "dtype": "float32"}}
_NONE = dict.fromkeys(
    ("kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint")
)


@pytest.mark.parametrize(
    ("layer", "config"),
    [
        (lambda: L.Dense(3), {"units": 3, "activation": "linear", "use_bias": True, "kernel_initializer": _GLOROT,
                              "bias_initializer": _ZEROS, **_NONE}),
        (lambda: L.Conv2D(4, 3, dilation_rate=2), {
            "filters": 4, "kernel_size": (3, 3), "strides": (1, 1), "padding": "valid",
            "data_format": "channels_last", "dilation_rate": (2, 2), "activation": "linear", "use_bias": True,
            "kernel_initializer": _GLOROT, "bias_initializer": _ZEROS, **_NONE}),
        (lambda: L.MaxPooling2D(), {
            "pool_size": (2, 2), "padding": "valid", "strides": (2, 2), "data_format": "channels_last"}),
        (lambda: L.ZeroPadding2D((1, 2)), {"padding": ((1, 1), (2, 2)), "data_format": "channels_last"}),
        (lambda: L.SimpleRNN(2, dropout=0.5), {
            "units": 2, "activation": "tanh", "use_bias": True, "kernel_initializer": _GLOROT,
            "recurrent_initializer": {
                "class_name": "Orthogonal", "config": {"gain": 1.0, "seed": None, "dtype": "float32"}
            },
            "bias_initializer": _ZEROS, **_NONE, "recurrent_regularizer": None, "recurrent_constraint": None,
            "dropout": 0.5, "recurrent_dropout": 0.0, "return_sequences": False, "return_state": False,
            "go_backwards": False, "stateful": False, "unroll": False}),
    ],
    ids=["Dense", "Conv2D", "MaxPooling2D", "ZeroPadding2D", "SimpleRNN"],
)  # fmt: skip
def test_layers_describe_themselves_with_what_arguments_stand_for(layer: Any, config: dict[str, Any]) -> None:
    """As TensorFlow 1.15's do, but for `time_major`."""
    found = layer().get_config()
    assert found.pop("name") and found.pop("trainable")
    assert found.pop("dtype") is None
    assert found == config
