"""Shapes in programs of Keras as a package of its own: tuples, and as layers say."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import output_of

TUPLES = """
import numpy as np
from keras import backend as K
from keras.layers import *
from keras.models import Model

class Product(Layer):
    def build(self, input_shape):
        print("build", input_shape, input_shape[0] is None)
        self.w = self.add_weight(name="w", shape=(input_shape[-1], 2), initializer="ones")
        super(Product, self).build(input_shape)

    def call(self, x):
        return K.dot(x, self.w)

    def compute_output_shape(self, input_shape):
        return input_shape[:-1] + (2,)

class Both(Layer):
    def build(self, input_shape):
        print("build", input_shape)
        super(Both, self).build(input_shape)

    def call(self, inputs):
        return inputs[0]

class Wide(Dense):
    def compute_output_shape(self, input_shape):
        return super(Wide, self).compute_output_shape(input_shape)[:-1] + (self.units,)

x = Input((3,))
y = Wide(4)(Product()(x))
Both()([x, Input((5,))])
print(Model(x, y).output_shape, Wide(4).compute_output_shape((None, 3)))
print(Conv2D(3, 2).compute_output_shape((None, 5, 5, 1)), Flatten().compute_output_shape((None, 2, 2)))
print(LSTM(2, return_state=True).compute_output_shape((None, 4, 3)))
print(Concatenate().compute_output_shape([(None, 3), (None, 4)]))
"""


def test_layers_are_built_with_tuples_and_compute_them(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    assert output_of(tmp_path, TUPLES) == (
        "build (None, 3) True\nbuild [(None, 3), (None, 5)]\n(None, 4) (None, 4)\n"
        "(None, 4, 4, 3) (None, 4)\n[(None, 2), (None, 2), (None, 2)]\n(None, 7)\n"
    )


BOTH = """
import keras
import tensorflow as tf

class Product(tf.keras.layers.Layer):
    def build(self, input_shape):
        self.size = input_shape.as_list()[-1] + input_shape[-1].value
        super(Product, self).build(input_shape)

    def call(self, x):
        return x * self.size

print(Product()(tf.keras.layers.Input((3,))).shape)
"""


def test_a_layer_that_asks_tensorflows_shapes_gets_them_beside_keras(tmp_path: Path) -> None:
    assert output_of(tmp_path, BOTH) == "(?, 3)\n"


COMPUTED = """
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import *
from keras.models import Model

def doubled(x):
    return tf.py_func(lambda a: a * 2, [x], tf.float32)

class Twice(Layer):
    def call(self, inputs):
        return [doubled(inputs), inputs]

    def compute_output_shape(self, input_shape):
        return [input_shape, input_shape]

    def compute_mask(self, inputs, mask=None):
        return [None, None]

x = Input((3,))
a, b = Twice()(x)
c = Lambda(doubled, output_shape=(3,))(x)
d = Lambda(doubled, output_shape=lambda shape: (shape[0], 3))(x)
print([K.int_shape(each) for each in (a, b, c, d)])
model = Model(x, Dense(1, kernel_initializer="ones")(concatenate([a, b, c, d])))
print(model.output_shape, model.predict(np.ones((1, 3))).tolist())
"""


def test_results_have_the_shapes_that_layers_compute(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    assert output_of(tmp_path, COMPUTED) == "[(None, 3), (None, 3), (None, 3), (None, 3)]\n(None, 1) [[21.0]]\n"


UNKNOWN = """
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense, Flatten, Input, Lambda, Layer, LSTM, Reshape, TimeDistributed
from keras.models import Model

def in_pairs(x):
    return tf.reshape(x, tf.stack([tf.shape(x)[0], tf.shape(x)[1] // 4, -1]))

class Grouped(Layer):
    def call(self, x):
        return tf.reshape(x, tf.stack([tf.shape(x)[0], tf.shape(x)[1], -1]))

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[1], 4)

x = Input((8,))
y = Lambda(in_pairs, output_shape=(2, 4))(x)
print(K.int_shape(y), y._keras_shape)
t = TimeDistributed(Dense(6))(y)
r = Reshape((K.int_shape(t)[1], 3, 2))(t)
print(K.int_shape(t), K.int_shape(r))
model = Model(x, Dense(5)(Flatten()(y)))
print(model.output_shape, model.layers[-1].get_weights()[0].shape)
z = Grouped()(Input((None, 4)))
print(K.int_shape(z), K.int_shape(LSTM(3)(z)))
"""


def test_layers_go_by_the_shapes_that_layers_before_them_say(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    assert output_of(tmp_path, UNKNOWN) == (
        "(None, 2, 4) (None, 2, 4)\n(None, 2, 6) (None, 2, 3, 2)\n(None, 5) (8, 5)\n(None, None, 4) (None, 3)\n"
    )
