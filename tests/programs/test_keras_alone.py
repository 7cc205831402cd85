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
