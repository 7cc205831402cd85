"""Programs of Keras as a package of its own: what its layers, tensors and models had that tf.keras has not."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import output_of

LAYER = """
import numpy as np
from keras import backend as K
from keras.engine.topology import Layer
from keras.layers import Input
from keras.models import Model

class Scale(Layer):
    def build(self, input_shape):
        self.gamma = K.variable(np.full(input_shape[-1], 2.0), name="gamma")
        self.trainable_weights = [self.gamma]
        super(Scale, self).build(input_shape)

    def call(self, x):
        print(x._keras_shape, x._uses_learning_phase, self.gamma._keras_shape)
        return x * self.gamma

x = Input((3,))
model = Model(x, Scale()(x))
model.compile("sgd", "mse")
print(model.predict(np.ones((1, 3))).tolist(), len(model.trainable_weights))
model.train_on_batch(np.ones((1, 3)), np.zeros((1, 3)))
print(np.float64(model.get_weights()[0]).round(4).tolist())
"""


def test_layers_name_their_trained_variables_and_tensors_tell_their_shapes(tmp_path: Path) -> None:
    # By hand: the mean of (2 - 0)^2 over 3 has the gradient 4/3 for each factor, of which SGD takes a hundredth.
    assert output_of(tmp_path, LAYER) == "(None, 3) False (3,)\n[[2.0, 2.0, 2.0]] 1\n[1.9867, 1.9867, 1.9867]\n"


UPDATES = """
import numpy as np
from keras import backend as K
from keras.optimizers import SGD

w = K.variable([3.0])
loss = K.sum(K.square(w))
train = K.function([], [], updates=SGD(0.1).get_updates([w], [], loss))
train([])
print(np.float64(K.get_value(w)).round(4).tolist())
_, total = K.control_flow_ops.while_loop(lambda i, t: i < 3, lambda i, t: [i + 1, t + i], [0, 0])
print(K.eval(total))
"""


def test_get_updates_takes_constraints_and_the_backend_has_the_modules_it_imports(tmp_path: Path) -> None:
    assert output_of(tmp_path, UPDATES) == "[2.4]\n3\n"


INNER = """
import numpy as np
from keras import backend as K
from keras.engine import InputSpec
from keras.engine.base_layer import _collect_input_shape, _collect_previous_mask
from keras.initializers import _compute_fans
from keras.layers import Input, Masking, SimpleRNN
from keras.layers.convolutional import _Conv
from keras.layers.pooling import _GlobalPooling2D
from keras.layers.recurrent import Recurrent
from keras.models import Model
from keras.optimizers import clip_norm

class Plain(Recurrent):
    def __init__(self, units, **kwargs):
        self.units = units
        super(Plain, self).__init__(**kwargs)
        self.state_spec = InputSpec(shape=(None, units))

    def build(self, input_shape):
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        self.states = [None]
        self.input_spec[0] = InputSpec(shape=(input_shape[0], None, input_shape[2]))
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel", initializer="glorot_uniform")
        self.inner = self.add_weight(shape=(self.units, self.units), name="inner", initializer="orthogonal")
        if self.stateful:
            self.reset_states()
        self.built = True

    def preprocess_input(self, inputs, training=None):
        return K.dot(inputs, self.kernel)

    def step(self, inputs, states):
        output = K.tanh(inputs + K.dot(states[0], self.inner))
        return output, [output]

x, s = Input((4, 3)), Input((2,))
masked = Masking()(x)
print(_collect_previous_mask([x, masked])[0], _collect_input_shape([x, s]))
several = dict(return_sequences=True, return_state=True)
own, theirs = Plain(2, **several), SimpleRNN(2, use_bias=False, **several)
model = Model(x, own(masked) + theirs(masked))
theirs.set_weights(own.get_weights())
values = np.random.rand(2, 4, 3)
values[0, 2:] = 0
a, b, c, d = model.predict(values)
print(np.allclose(a, c, atol=1e-6), np.allclose(b, d, atol=1e-6))
begun = [layer(x, initial_state=s) for layer in (Plain(2), SimpleRNN(2, use_bias=False))]
model = Model([x, s], begun)
for layer in model.layers[-2:]:
    layer.set_weights(own.get_weights())
print(np.allclose(*model.predict([values, np.ones((2, 2))]), atol=1e-6))
steps = Input(batch_shape=(2, 4, 3))
model = Model(steps, Plain(2, stateful=True)(steps))
first, second = (model.predict(values, batch_size=2) for _ in range(2))
model.layers[-1].reset_states()
print(np.allclose(first, second), np.allclose(first, model.predict(values, batch_size=2)))

class Twice(_Conv):
    def __init__(self, filters, kernel_size, **kwargs):
        super(Twice, self).__init__(rank=2, filters=filters, kernel_size=kernel_size, **kwargs)

    def call(self, inputs):
        return 2 * K.conv2d(inputs, self.kernel, self.strides, self.padding, self.data_format, self.dilation_rate)

class Least(_GlobalPooling2D):
    def call(self, inputs):
        return K.min(inputs, axis=[1, 2] if self.data_format == "channels_last" else [2, 3])

i = Input((5, 5, 2))
model = Model(i, Least()(Twice(3, 3, padding="same", kernel_initializer="ones")(i)))
print(model.predict(np.ones((1, 5, 5, 2))))
print(K.eval(clip_norm(K.constant([3.0, 4.0]), 1, K.constant(5.0))), _compute_fans((3, 3, 2, 4)))
model.layers[1].name = "mine"
print([layer.name for layer in model.layers], model.get_layer("mine").get_config()["name"])
"""


def test_layers_are_made_from_what_is_inside_keras(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    assert output_of(tmp_path, INNER).splitlines() == [
        "None [(None, 4, 3), (None, 2)]",
        "True True",
        "True",
        "False True",
        "[[16. 16. 16.]]",
        "[0.6 0.8] (18, 36)",
        "['input_4', 'mine', 'least_1'] mine",
    ]


NAMES = """
from keras.layers import Dense, Input, LSTM
from keras.models import Model, Sequential

model = Sequential([Dense(3, input_shape=(4,)), Dense(2, activation="softmax")])
print(model.name, [layer.name for layer in model.layers], [weight.name for weight in model.weights], model.output.name)
x = Input((5, 3))
print(Model(x, LSTM(2)(x)).name, model.get_layer("dense_1") is model.layers[0])
"""


def test_layers_are_numbered_from_one(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    assert output_of(tmp_path, NAMES).splitlines() == [
        "sequential_1 ['dense_1', 'dense_2'] ['dense_1/kernel:0', 'dense_1/bias:0', 'dense_2/kernel:0', "
        "'dense_2/bias:0'] dense_2/Softmax:0",
        "model_1 True",
    ]


SHAPES = """
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense, Input, Layer
from keras.layers.wrappers import Wrapper
from keras.models import Model

class Scaled(Layer):
    def build(self, input_shape):
        print(isinstance(input_shape, tuple), input_shape, 1.0 / input_shape[1], input_shape[0] is None)
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[1], 8), initializer="ones")
        super(Scaled, self).build(input_shape)

    def call(self, x):
        return K.dot(x, self.kernel)

    def compute_output_shape(self, input_shape):
        return input_shape[:-1] + (8,)

class Around(Wrapper):
    def build(self, input_shape):
        within = self.layer.compute_output_shape(input_shape)
        print(isinstance(within, tuple), within, 2.0 * within[1])
        self.layer.build(input_shape)
        super(Around, self).build(input_shape)

    def call(self, x):
        return self.layer.call(x)

x = Input((6,))
model = Model(x, Around(Dense(5))(Scaled()(x)))
print(model.output_shape, model.compute_output_shape((None, 6)), Dense(3).compute_output_shape((7, 2)))

class OfTensorFlow(tf.keras.layers.Layer):
    def build(self, input_shape):
        print(input_shape.as_list(), input_shape[-1].value, input_shape.ndims)
        self.built = True

    def call(self, x):
        return x

OfTensorFlow()(Input((6,)))
"""

# Keras 2.2.5 on TensorFlow 1.15 prints this for all but the last layer, and tf.keras of 1.15 for that.
OF_SHAPES = """\
True (None, 6) 0.16666666666666666 True
True (None, 5) 10.0
(None, 5) (None, 5) (7, 3)
[None, 6] 6 2
"""


def test_layers_get_shapes_as_tuples_and_tell_them_so(tmp_path: Path) -> None:
    assert output_of(tmp_path, SHAPES) == OF_SHAPES


WRONG_SHAPE = """
import numpy as np
import tensorflow as tf
from keras.layers import Input, Layer
from keras.models import Model

class First(Layer):
    def call(self, x):
        return tf.reshape(x[:, :2], tf.stack([tf.shape(x)[0], 2 * tf.shape(x)[0]]))

    def compute_output_shape(self, input_shape):
        return (None, 1)

x = Input((6,))
y = First()(x)
print(Model(x, y).predict(np.ones((1, 6))).shape, y.shape.as_list())
"""


def test_what_a_layer_says_of_its_output_does_not_change_the_graph(tmp_path: Path) -> None:
    """Keras takes the word of `compute_output_shape`; known programs say what is wrong, and run."""
    assert output_of(tmp_path, WRONG_SHAPE) == "(1, 2) [None, None]\n"


EPOCHS = """
import keras
import numpy as np

x = np.arange(11.0).reshape(11, 1)

class Order(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.seen = []

    def on_batch_end(self, batch, logs=None):
        self.seen.append((round(float(logs["loss"]), 3), round(float(logs["acc"]), 3)))

def told(y=x % 2, **options):
    np.random.seed(3)
    model = keras.models.Sequential([keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,))])
    model.compile(keras.optimizers.SGD(0.0), lambda true, found: found, metrics=["acc"])
    order = Order()
    history = model.fit(x, y, epochs=2, verbose=0, callbacks=[order], **options).history
    print(order.seen, list(history), np.random.get_state()[2])
    return model

told(batch_size=4)
told(batch_size=4, shuffle="batch")
told(batch_size=4, validation_split=0.4).fit(x, x, verbose=2)
"""


def test_epochs_shuffle_the_order_of_the_last_one_and_metrics_are_those_of_batches(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    *lines, header, last = output_of(tmp_path, EPOCHS).splitlines()
    assert lines == [
        "[(3.0, 0.25), (5.5, 0.25), (7.0, 0.0), (2.5, 0.25), (7.25, 0.0), (5.333, 0.333)] ['loss', 'acc'] 25",
        "[(5.5, 0.0), (1.5, 0.5), (9.0, 0.0), (1.5, 0.5), (5.5, 0.0), (9.0, 0.0)] ['loss', 'acc'] 2",
        "[(3.25, 0.25), (1.0, 0.5), (2.75, 0.25), (2.0, 0.5)] ['val_loss', 'val_acc', 'loss', 'acc'] 14",
    ]
    assert header == "Epoch 1/1" and last.startswith(" - ") and last.endswith("s - loss: 5.0000 - acc: 1.0000")


ACTIVITY = """
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model
from keras.regularizers import l1

x = Input((2,))
model = Model(x, Dense(2)(Dense(2, kernel_initializer="ones", activity_regularizer=l1(0.1))(x)))
model.compile("sgd", lambda y_true, y_pred: 0 * y_pred)
print(round(float(model.test_on_batch(np.ones((4, 2)), np.ones((4, 2)))), 4))
"""


def test_regularizers_of_activities_are_of_the_whole_batch(tmp_path: Path) -> None:
    """0.1 of 4 * 2 activities of 2, as Keras 2.2.5 gives it; TensorFlow's divide it by the samples."""
    assert output_of(tmp_path, ACTIVITY) == "1.6\n"
