"""What programs take of Keras's inside: kernels turned, layouts changed, sparse products, convolutions of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

import penstock as tf
from penstock.keras.utils.inner import convert_all_kernels_in_model, convert_dense_weights_data_format

K, L = tf.keras.backend, tf.keras.layers


def test_all_kernels_of_convolutions_are_turned_and_others_left() -> None:
    model = tf.keras.Sequential([L.Conv2D(1, (2, 3), input_shape=(2, 3, 1)), L.Flatten(), L.Dense(2)])
    kernel, _, dense, _ = model.get_weights()
    convert_all_kernels_in_model(model)
    np.testing.assert_array_equal(model.get_weights()[0], kernel[::-1, ::-1])
    np.testing.assert_array_equal(model.get_weights()[2], dense)


def test_rows_of_a_dense_layer_follow_the_images_to_the_other_layout() -> None:
    model = tf.keras.Sequential([L.Dense(2, input_shape=(24,))])
    image = np.random.RandomState(0).rand(2, 3, 4).astype("f")  # height, width, channels
    before = model.predict(image.reshape(1, -1))
    convert_dense_weights_data_format(model.layers[0], (4, 2, 3), "channels_first")
    np.testing.assert_allclose(model.predict(image.transpose(2, 0, 1).reshape(1, -1)), before, rtol=1e-5)
    convert_dense_weights_data_format(model.layers[0], (2, 3, 4), "channels_last")
    np.testing.assert_allclose(model.predict(image.reshape(1, -1)), before, rtol=1e-5)


def test_the_product_of_a_sparse_tensor_is_that_of_its_elements() -> None:
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [2.0, 3.0], [3, 2])
    assert K.eval(K.dot(sparse, K.constant([[1.0], [10.0]]))).tolist() == [[20.0], [0.0], [3.0]]


def test_a_convolution_of_ones_own_may_have_no_filters() -> None:
    class Each(L.Conv2D):
        def __init__(self, **options: Any) -> None:
            super().__init__(filters=None, kernel_size=2, **options)

        def build(self, shape: Any) -> None:
            self.each = self.add_weight("each", (*self.kernel_size, int(shape[-1]), 1), initializer="ones")
            self.built = True

        def call(self, inputs: Any) -> Any:
            return K.depthwise_conv2d(inputs, self.each)

    layer = Each()
    assert layer.filters is None
    assert K.eval(layer(K.constant(np.ones((1, 2, 2, 3))))).tolist() == [[[[4.0, 4.0, 4.0]]]]


def test_settings_are_also_where_tensorflow_keeps_them_inside() -> None:
    from penstock.python.keras import backend_config

    assert backend_config.epsilon() == K.epsilon()
    assert backend_config.image_data_format() == "channels_last"


def test_a_sparse_input_takes_matrices_of_scipy() -> None:
    import scipy.sparse

    class Product(L.Layer):
        def call(self, inputs: Any) -> Any:
            return K.dot(inputs[0], inputs[1])

    a, x = L.Input(batch_shape=(None, None), sparse=True), L.Input((2,))
    model = tf.keras.Model([a, x], L.Dense(1, kernel_initializer="ones")(Product()([a, x])))
    model.compile("sgd", "mse")
    matrix, values = np.array([[0.0, 2.0], [1.0, 0.0]]), np.array([[1.0, 2.0], [3.0, 5.0]])
    expected = (matrix @ values).sum(1, keepdims=True)
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.coo_matrix):
        np.testing.assert_allclose(model.predict([kind(matrix), values]), expected)
        assert model.evaluate([kind(matrix), values], expected, batch_size=2, verbose=0) == 0.0
