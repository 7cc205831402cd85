"""Callbacks of `fit`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

import penstock as tf

C = tf.keras.callbacks
K = tf.keras.backend
X = np.random.RandomState(0).uniform(-1, 1, (20, 6)).astype(np.float32)
Y = X[:, :1] * 2


def small(rate: float = 0.1) -> Any:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(6,))])
    model.compile(tf.keras.optimizers.SGD(rate), "mse")
    return model


class Losses(C.Callback):
    """Puts given losses in place of those of epochs."""

    def __init__(self, losses: list[float]) -> None:
        self.losses = losses

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["val_loss"] = self.losses[epoch]


def test_a_callback_is_told_of_training_epochs_and_batches_in_order() -> None:
    told: list[Any] = []

    class Listener(C.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            told.append("begin")

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            told.append(f"epoch {epoch}")

        def on_batch_begin(self, batch: int, logs: Any = None) -> None:
            told.append((batch, logs["size"]))

        def on_batch_end(self, batch: int, logs: Any = None) -> None:
            assert logs["loss"] > 0

        def on_train_end(self, logs: Any = None) -> None:
            told.append(self.model.name)

    small().fit(X, Y, batch_size=16, epochs=3, initial_epoch=1, callbacks=[Listener()], verbose=0)
    assert told == ["begin", "epoch 1", (0, 16), (1, 4), "epoch 2", (0, 16), (1, 4), "sequential"]


def test_early_stopping_waits_for_its_patience_and_restores_the_best_weights() -> None:
    model = small()
    stop = C.EarlyStopping(patience=2, restore_best_weights=True)
    kept: list[Any] = []
    keep = C.LambdaCallback(on_epoch_end=lambda epoch, logs: kept.append(model.get_weights()[0]))
    history = model.fit(X, Y, epochs=9, callbacks=[Losses([3, 2, 5, 4, 1, 0]), keep, stop], verbose=0)
    assert history.epoch == [0, 1, 2, 3]
    assert stop.stopped_epoch == 3
    np.testing.assert_array_equal(model.get_weights()[0], kept[1])


def test_the_learning_rate_falls_on_plateaus_and_by_schedules() -> None:
    model = small()
    reduce = C.ReduceLROnPlateau(factor=0.5, patience=2, min_lr=0.03)
    history = model.fit(X, Y, epochs=7, callbacks=[Losses([1.0] * 7), reduce], verbose=0)
    np.testing.assert_allclose(history.history["lr"], [0.1, 0.1, 0.1, 0.05, 0.05, 0.03, 0.03], rtol=1e-5)
    schedule = C.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
    history = model.fit(X, Y, epochs=3, callbacks=[schedule], verbose=0)
    np.testing.assert_allclose(history.history["lr"], [0.1, 0.05, 0.1 / 3], rtol=1e-5)


def test_checkpoints_are_saved_each_epoch_or_only_for_the_best(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    model = small()
    every = C.ModelCheckpoint(str(tmp_path / "w.{epoch:02d}-{val_loss:.1f}.h5"), save_weights_only=True)
    best = C.ModelCheckpoint(str(tmp_path / "best.h5"), save_best_only=True)
    kept: list[Any] = []
    keep = C.LambdaCallback(on_epoch_end=lambda epoch, logs: kept.append(model.get_weights()))
    model.fit(X, Y, epochs=3, callbacks=[Losses([3, 1, 2]), keep, every, best], verbose=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.h5", "w.01-3.0.h5", "w.02-1.0.h5", "w.03-2.0.h5"]
    loaded = tf.keras.models.load_model(tmp_path / "best.h5")
    np.testing.assert_array_equal(loaded.get_weights()[0], kept[1][0])


def test_a_csv_log_has_a_row_for_each_epoch_and_goes_on(tmp_path: Path) -> None:
    model = small()
    for append in (False, True):
        model.fit(X, Y, epochs=2, callbacks=[C.CSVLogger(tmp_path / "log.csv", append=append)], verbose=0)
    with open(tmp_path / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1", "0", "1"]
    assert all(float(row["loss"]) > 0 for row in rows)


def test_tensorboard_files_have_the_graph_and_the_values_of_each_epoch(tmp_path: Path) -> None:
    model = small()
    history = model.fit(X, Y, epochs=2, callbacks=[C.TensorBoard(str(tmp_path), histogram_freq=1)], verbose=0)
    (path,) = tmp_path.iterdir()
    values: dict[str, list[float]] = {}
    graphs = 0
    for event in EventFileLoader(str(path)).Load():
        graphs += bool(event.graph_def)
        for value in event.summary.value:
            found = value.simple_value or (value.tensor.float_val[0] if value.tensor.float_val else 0.0)
            values.setdefault(value.tag, []).append(found)
    np.testing.assert_allclose(values["loss"], history.history["loss"], rtol=1e-5)
    assert len(values["dense/kernel_0"]) == 2
    assert graphs == 1


def test_training_stops_at_a_loss_that_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    history = small(1e30).fit(X, Y, epochs=9, callbacks=[C.TerminateOnNaN()], verbose=0)
    assert len(history.epoch) < 9
    assert "Invalid loss, terminating training" in capsys.readouterr().out


def test_a_monitored_value_that_is_not_logged_is_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="`val_acc` which is not available.*loss"):
        small().fit(X, Y, callbacks=[C.EarlyStopping("val_acc")], verbose=0)
