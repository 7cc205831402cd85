"""Numbers in programs of Keras as a package of its own: `np.random.seed` fixes weights; optimizers are of 2.2."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.programs.running import output_of

WEIGHTS = """
import numpy as np
np.random.seed(7)
from keras.layers import Dense, Dropout, LSTM
from keras.models import Sequential

model = Sequential([Dense(2, input_shape=(3, 2)), Dropout(0.5), LSTM(1), Dense(2, kernel_initializer="he_normal")])
for w in model.get_weights():
    print(np.float64(w).ravel()[:3].round(5).tolist())
"""


def test_initial_weights_are_those_of_numpys_seed(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    assert output_of(tmp_path, WEIGHTS) == (
        "[0.4399, 0.46108, -0.43596]\n[0.0, 0.0]\n[-0.33547, -0.54456, -0.31137]\n[-0.02532, 0.27263, -0.74625]\n"
        "[0.0, 1.0, 0.0]\n[0.5021, 0.65789]\n[0.0, 0.0]\n"
    )


OPTIMIZERS = """
import numpy as np
from keras import optimizers
from keras.layers import Dense
from keras.models import Sequential

for name in ("Adagrad", "Adadelta", "Adamax", "Nadam"):
    print(sorted((k, round(v, 6)) for k, v in getattr(optimizers, name)().get_config().items() if k != "epsilon"))
x = np.arange(12).reshape(4, 3) / 4.0
for make in (lambda: optimizers.SGD(0.1, 0.0, 0.0, False, clipnorm=0.5), lambda: optimizers.Adam(0.1),
             lambda: "rmsprop", lambda: "adagrad", lambda: "nadam", lambda: "adadelta"):
    model = Sequential([Dense(2, input_shape=(3,))])
    model.set_weights([np.full((3, 2), 0.5), np.array([0.5, -0.5])])
    model.compile(make(), "mse")
    model.train_on_batch(x, np.ones((4, 2)))
    print(np.float64(model.get_weights()[1]).round(5).tolist(), [w.shape for w in model.optimizer.get_weights()])
"""


def test_optimizers_have_defaults_state_and_clipping_of_keras_alone(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same; its norm is that of all gradients together.
    assert output_of(tmp_path, OPTIMIZERS) == (
        "[('decay', 0.0), ('lr', 0.01)]\n"
        "[('decay', 0.0), ('lr', 1.0), ('rho', 0.95)]\n"
        "[('beta_1', 0.9), ('beta_2', 0.999), ('decay', 0.0), ('lr', 0.002)]\n"
        "[('beta_1', 0.9), ('beta_2', 0.999), ('lr', 0.002), ('schedule_decay', 0.004)]\n"
        "[0.48821, -0.50424] [(), (3, 2), (2,)]\n"
        "[0.4, -0.6] [(), (3, 2), (2,), (3, 2), (2,), (1,), (1,)]\n"
        "[0.49684, -0.50316] [(3, 2), (2,)]\n"
        "[0.49, -0.51] [(3, 2), (2,)]\n"
        "[0.49789, -0.50211] [(), (3, 2), (2,), (3, 2), (2,)]\n"
        "[0.49859, -0.50141] [(3, 2), (2,), (3, 2), (2,)]\n"
    )


NOISE = """
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import AlphaDropout, GaussianDropout, GaussianNoise
from keras.models import Sequential

for kind in (GaussianNoise, GaussianDropout, AlphaDropout):
    K.clear_session()
    np.random.seed(3)
    tf.set_random_seed(5)
    model = Sequential([kind(0.5, input_shape=(4,))])
    noised = K.function([model.input, K.learning_phase()], [model.output])
    print(np.float64(noised([np.ones((2, 4)), 1])[0]).ravel()[:4].round(4).tolist(), np.random.randint(1000))
"""


def test_noise_is_that_of_numpys_seed_and_the_graphs(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    assert output_of(tmp_path, NOISE) == (
        "[1.1241, 0.7867, 3.126, 1.308] 664\n[1.2482, 0.5734, 5.252, 1.6161] 664\n"
        "[1.6656, -0.7792, -0.7792, -0.7792] 664\n"
    )


MASKED = """
import numpy as np
from keras.layers import Masking, TimeDistributed, Dense
from keras.models import Sequential

model = Sequential([Masking(input_shape=(4, 1)), TimeDistributed(Dense(1, use_bias=False))])
model.set_weights([np.ones((1, 1))])
model.compile("sgd", "mse")
x = np.array([[1, 2, 0, 0], [3, 0, 0, 0]]).reshape(2, 4, 1)
print(round(float(model.train_on_batch(x, np.zeros((2, 4, 1)))), 4))
"""


def test_a_masked_loss_is_the_mean_of_what_the_mask_keeps(tmp_path: Path) -> None:
    assert output_of(tmp_path, MASKED) == f"{round((1 + 4 + 9) / 3, 4)}\n"


NORMALIZED = """
import numpy as np
from keras.layers import BatchNormalization
from keras.models import Sequential

for shape in [(8, 3), (2, 4, 4, 2)]:
    x = np.float32(np.arange(np.prod(shape)).reshape(shape) % 7)
    model = Sequential([BatchNormalization(input_shape=shape[1:], momentum=0.9, center=False, scale=False)])
    model.compile("sgd", "mse")
    model.fit(x, x * 0, batch_size=len(x) // 2, epochs=2, shuffle=False, verbose=0)
    print(*np.concatenate(model.get_weights()), model.evaluate(x, x * 0, verbose=0))
"""


def test_moving_statistics_are_means_of_the_first_steps_without_where_they_began(tmp_path: Path) -> None:
    found = [[float(number) for number in line.split()] for line in output_of(tmp_path, NORMALIZED).splitlines()]
    # Keras 2.2.5 prints the same.
    np.testing.assert_allclose(found[0], [2.61842, 2.78947, 2.86842, 5.94496, 4.56292, 4.87004, 0.78609], rtol=1e-5)
    np.testing.assert_allclose(found[1], [3.01316, 2.90789, 4.62253, 4.59305, 0.88390], rtol=1e-5)
