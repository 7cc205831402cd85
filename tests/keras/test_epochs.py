"""The order of samples in `fit`, what batches and epochs come to, and what is printed, as in TensorFlow 1.15."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import penstock as tf

L = tf.keras.layers
NUMBERS = np.arange(11.0).reshape(11, 1)


class Order(tf.keras.callbacks.Callback):
    """Keeps the loss and the accuracy that each batch is told of."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen.append((round(float(logs["loss"]), 3), round(float(logs["acc"]), 3)))


class Threes(tf.keras.utils.Sequence):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        return NUMBERS[3 * i : 3 * i + 3], NUMBERS[3 * i : 3 * i + 3] % 2


def told(generator: bool = False, **kwargs: Any) -> tuple[list[Any], dict[str, Any], Any]:
    """What two epochs tell of a model whose loss is the mean of its inputs, 0 to 10, and where NumPy's generator is."""
    np.random.seed(3)
    random.seed(3)
    model = tf.keras.Sequential([L.Dense(1, kernel_initializer="ones", input_shape=(1,))])
    model.compile(tf.keras.optimizers.SGD(0.0), lambda true, found: found, metrics=["acc"])
    order = Order()
    fit = model.fit_generator if generator else model.fit
    x = (Threes(),) if generator else (NUMBERS, NUMBERS % 2)
    history = fit(*x, epochs=2, verbose=0, callbacks=[order], **kwargs).history
    return order.seen, dict(history), np.random.get_state()[2]


def close(history: dict[str, Any], **wanted: list[float]) -> None:
    assert list(history) == list(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(history[name], values, rtol=1e-6)


def test_each_epoch_shuffles_and_accuracies_are_of_the_epoch_so_far() -> None:
    seen, history, drawn = told(batch_size=4)
    assert seen == [(3.0, 0.5), (5.5, 0.625), (7.0, 0.545), (3.5, 0.5), (4.75, 0.5), (7.333, 0.545)]
    close(history, loss=[5.0, 5.0], acc=[6 / 11] * 2)
    assert drawn == 25 and str(history["acc"][0]) == "0.54545456"
    # One batch of all is as it is given, though its order is drawn.
    assert told(batch_size=11)[0] == [(5.0, 0.545)] * 2 and np.random.get_state()[2] == 25


def test_whole_batches_change_places_and_the_last_stays() -> None:
    seen, _, drawn = told(batch_size=4, shuffle="batch")
    assert seen == [(5.5, 0.5), (1.5, 0.625), (9.0, 0.545)] * 2 and drawn == 2


def test_what_is_validated_on_is_drawn_too_and_comes_last_in_logs() -> None:
    seen, history, drawn = told(batch_size=4, validation_split=0.4)
    assert seen == [(3.25, 0.75), (1.0, 0.667), (2.5, 0.75), (2.5, 0.667)] and drawn == 22
    close(history, loss=[2.5, 2.5], acc=[2 / 3] * 2, val_loss=[8.0, 8.0], val_acc=[0.4, 0.4])


def test_sequences_are_shuffled_by_pythons_generator() -> None:
    seen, _, drawn = told(generator=True)
    first = [(9.5, 0.5), (1.0, 0.6), (7.0, 0.5), (4.0, 0.545)]
    assert seen == [*first, *first[:2], (4.0, 0.625), (7.0, 0.545)] and drawn == 624
    plain = [(1.0, 0.667), (4.0, 0.667), (7.0, 0.556), (9.5, 0.545)]
    assert told(generator=True, workers=0)[0] == plain * 2  # without a thread they come as they are


def test_an_epoch_of_fewer_steps_goes_on_in_the_sequence_and_validation_has_its_batch_size() -> None:
    seen, history, _ = told(generator=True, steps_per_epoch=3, validation_data=(NUMBERS, NUMBERS % 2))
    assert seen == [(9.5, 0.5), (1.0, 0.6), (7.0, 0.5), (4.0, 0.667), (9.5, 0.6), (1.0, 0.625)]
    # The losses of validation are means over its batches of 3, the last of which has 2.
    close(history, loss=[5.375, 4.25], acc=[0.5, 0.625], val_loss=[5.375] * 2, val_acc=[6 / 11] * 2)


def test_sequences_end_a_pass_before_the_next_one() -> None:
    ended: list[int] = []

    class Ending(Threes):
        def on_epoch_end(self) -> None:
            ended.append(1)

    model = tf.keras.Sequential([L.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse")
    model.fit_generator(Ending(), epochs=3, verbose=0)
    assert ended == [1, 1]


def test_an_empty_sequence_is_an_error() -> None:
    class Empty(Threes):
        def __len__(self) -> int:
            return 0

    model = tf.keras.Sequential([L.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="no batches"):
        model.fit_generator(Empty(), steps_per_epoch=1, verbose=0)


def test_losses_of_outputs_are_means_over_batches_and_metrics_over_elements() -> None:
    x, y = np.random.RandomState(0).rand(50, 6), np.random.RandomState(1).rand(50, 1)
    inputs = tf.keras.Input((6,))
    model = tf.keras.Model(inputs, [L.Dense(1, name="a")(inputs), L.Dense(1, name="b")(inputs)])

    def scalar(true: Any, found: Any) -> Any:
        return tf.reduce_mean(tf.square(true - found))

    def unlike(true: Any, found: Any) -> Any:
        return tf.reshape(tf.concat([true - found] * 2, 1), [-1])

    model.compile("sgd", "mse", loss_weights=[2.0, 0.5], metrics={"a": ["mae", scalar, unlike]})
    total, a, b, mae, mean, difference = model.evaluate(x, [y, y], verbose=0)
    errors = [(y - found)[:, 0] for found in model.predict(x)]
    of_batches = [[np.mean(error[rows] ** 2) for rows in (slice(32), slice(32, 50))] for error in errors]
    np.testing.assert_allclose([a, b, mean], [*np.mean(of_batches, 1), np.mean(of_batches[0])], rtol=1e-5)
    wanted = [
        2 * np.mean(errors[0] ** 2) + 0.5 * np.mean(errors[1] ** 2),
        np.mean(np.abs(errors[0])),
        np.mean(errors[0]),
    ]
    np.testing.assert_allclose([total, mae, difference], wanted, rtol=1e-5, atol=1e-7)


def test_a_masked_metric_counts_the_steps_of_the_epoch() -> None:
    """In batches of 2 and 1 samples, with 5 and 3 steps that count; weights are factors of the mask."""
    ids = np.array([[1, 2, 0], [1, 2, 3], [3, 2, 1]])
    weight = np.array([1.0, 2.0, 3.0])
    inputs = tf.keras.Input((3,))
    found = L.Lambda(lambda x: x, mask=lambda x, mask: mask)(L.Embedding(4, 1, mask_zero=True)(inputs))
    model = tf.keras.Model(inputs, found)
    model.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mae"])
    targets = np.arange(9.0).reshape(3, 3, 1)
    errors = np.abs(targets - model.predict(ids))[..., 0]
    kept = (ids > 0) * 1.0
    _, plain, weighted = model.evaluate(ids, targets, batch_size=2, sample_weight=weight, verbose=0)
    np.testing.assert_allclose(plain, np.average(errors, weights=kept), rtol=1e-5)
    np.testing.assert_allclose(weighted, np.average(errors, weights=kept * weight[:, None]), rtol=1e-5)


def test_datasets_count_steps_and_validation_begins_anew() -> None:
    data = tf.data.Dataset.from_tensor_slices((NUMBERS, NUMBERS * 0)).batch(4)
    model = tf.keras.Sequential([L.Dense(1, kernel_initializer="ones", input_shape=(1,))])
    model.compile(tf.keras.optimizers.SGD(0.0), "mae")
    fit = model.fit(
        data.repeat(), epochs=2, steps_per_epoch=3, verbose=0, validation_data=data.repeat(), validation_steps=2
    )
    close(fit.history, loss=[(1.5 + 5.5 + 9) / 3] * 2, val_loss=[3.5, 3.5])


def test_lines_are_those_of_tensorflow(capsys: pytest.CaptureFixture[str]) -> None:
    model = tf.keras.Sequential([L.Dense(1, kernel_initializer="ones", input_shape=(1,))])
    model.compile(tf.keras.optimizers.SGD(0.0), "mse", metrics=["cosine_proximity"])

    def printed(function: Any, *args: Any, **kwargs: Any) -> list[str]:
        function(*args, **kwargs)
        return [line for line in capsys.readouterr().out.splitlines() if line]

    shown = "loss: 0.0000e+00 - cosine_proximity: -9.0909e-01"
    train, *lines = printed(model.fit, NUMBERS, NUMBERS, verbose=2)
    assert train == "Train on 11 samples" and len(lines) == 1  # one epoch is not numbered
    assert lines[0].startswith("11/11 - ") and lines[0].endswith(f"s - {shown}")
    (line,) = printed(model.evaluate, NUMBERS, NUMBERS)
    assert "/sample - loss: 0.0000e+00 - cosine_proximity: " in line
    data = tf.data.Dataset.from_tensor_slices((NUMBERS, NUMBERS)).batch(4).repeat()
    train, *_ = printed(model.fit, data, steps_per_epoch=2, validation_data=data, validation_steps=1)
    assert train == "Train on 2 steps, validate on 1 steps"
    assert printed(model.fit_generator, Threes(), epochs=2)[0] == "Epoch 1/2"
