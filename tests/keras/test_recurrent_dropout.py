"""Dropout in recurrent layers: NumPy's generator draws the seeds of masks, one for each gate. Values are those of
TensorFlow 1.15."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

L, K = tf.keras.layers, tf.keras.backend


def begin() -> None:
    K.clear_session()
    tf.set_random_seed(3)
    np.random.seed(5)


def trained_output(layer: Any, sizes: list[int]) -> Any:
    """The output for random inputs [2, 3, sizes] and weights, in training."""
    outputs = layer(tf.keras.Input((3, *sizes)), training=True)
    generator = np.random.RandomState(0)
    layer.set_weights([generator.rand(*w.shape) * 0.5 for w in layer.get_weights()])
    x = generator.rand(2 if len(sizes) == 1 else 1, 3, *sizes)
    return K.function([layer.input], [outputs])([x])[0].ravel()


@pytest.mark.parametrize(
    ("kind", "arguments", "wanted"),
    [
        ("LSTM", {"implementation": 1}, [0.53772, 0.44921, 0.59023, 0.44704, 0.60951, 0.50619, 0.54233, 0.53109]),
        ("LSTM", {"implementation": 2}, [0.58522, 0.52191, 0.58837, 0.50272, 0.70707, 0.70636, 0.6264, 0.5592]),
        ("GRU", {"implementation": 1}, [0.45621, 0.56473, 0.22482, 0.49861, 0.45024, 0.53735, 0.29208, 0.49675]),
        ("GRU", {"implementation": 2}, [0.18905, 0.22992, 0.11325, 0.83715, 0.1966, 0.9729, 0.82976, 0.28032]),
        ("GRU", {"reset_after": True}, [0.4646, 0.43524, 0.30979, 0.43653, 0.50925, 0.47424, 0.26688, 0.49685]),
        (
            "GRU", {"reset_after": True, "implementation": 2},
            [0.21428, 0.19908, 0.14229, 0.90915, 0.10871, 1.04929, 0.86123, 0.16397],
        ),
        ("SimpleRNN", {}, [0.58316, 0.70663, 0.39731, 0.5937, 0.85355, 0.943, 0.63532, 0.96351]),
    ],
)  # fmt: skip
def test_gates_have_masks_of_their_own_or_with_one_product_the_first(kind: str, arguments: Any, wanted: Any) -> None:
    begin()
    layer = getattr(L, kind)(4, dropout=0.5, recurrent_dropout=0.5, **arguments)
    np.testing.assert_allclose(trained_output(layer, [4]), wanted, atol=1e-5)


@pytest.mark.parametrize("implementation", [1, 2])
def test_seeds_of_all_gates_are_drawn(implementation: int) -> None:
    """Those of inputs and of states, whether their masks are used or not: what a program draws then is the same."""
    begin()
    L.GRU(4, dropout=0.5, recurrent_dropout=0.5, implementation=implementation)(tf.keras.Input((3, 4)))
    drawn = np.random.rand()
    np.random.seed(5)
    np.random.randint(10_000_000, size=6)
    assert drawn == np.random.rand()


def test_masks_of_convolutional_recurrent_layers_are_of_each_pixel() -> None:
    begin()
    layer = L.ConvLSTM2D(2, 3, dropout=0.5, recurrent_dropout=0.5)
    wanted = [0.87848, 0.99405, 0.91489, 0.995, 0.9929, 0.99323, 0.99371, 0.99372]
    np.testing.assert_allclose(trained_output(layer, [4, 4, 2]), wanted, atol=1e-5)


def test_cells_above_one_another_drop_the_same_in_all_steps_and_only_in_training() -> None:
    begin()
    x = tf.keras.Input((3, 4))
    layer = L.RNN([L.LSTMCell(3, dropout=0.5), L.GRUCell(2, dropout=0.5, recurrent_dropout=0.5)])
    outputs = layer(x)
    generator = np.random.RandomState(0)
    layer.set_weights([generator.rand(*w.shape) * 0.5 for w in layer.get_weights()])
    function, data = K.function([x, K.learning_phase()], [outputs]), generator.rand(2, 3, 4)
    np.testing.assert_allclose(function([data, 1])[0].ravel(), [0.32835, 0.24245, 0.63539, 0.4047], atol=1e-5)
    np.testing.assert_allclose(function([data, 0])[0].ravel(), [0.54071, 0.38131, 0.56223, 0.39696], atol=1e-5)
