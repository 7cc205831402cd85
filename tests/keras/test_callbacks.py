"""Callbacks of `fit`."""

from __future__ import annotations

import csv
import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

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


def tags_in(folder: Path) -> set[str]:
    paths = [path for path in folder.iterdir() if "tfevents" in path.name]
    events = [event for path in paths for event in EventFileLoader(str(path)).Load()]
    return {value.tag for event in events for value in event.summary.value}


def test_tensorboard_files_have_gradients_outputs_and_images_of_weights(tmp_path: Path) -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Reshape((3, 2, 1), input_shape=(6,)),
            tf.keras.layers.Conv2D(3, 2, name="conv"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dropout(0.5),
            tf.keras.layers.Dense(1, name="dense"),
        ]
    )
    model.compile("sgd", "mse")
    board = C.TensorBoard(str(tmp_path), histogram_freq=2, write_grads=True, write_images=True)
    model.fit(X, Y, epochs=1, validation_data=(X, Y), callbacks=[board], verbose=0)
    tags = tags_in(tmp_path)
    assert {"conv/kernel_0", "conv/kernel_0_grad", "dense/bias_0_grad", "dense_out", "conv_out"} <= tags
    assert {"conv/kernel_0_1/image/0", "conv/kernel_0_1/image/2", "dense/kernel_0_1/image/0"} <= tags
    without = C.TensorBoard(str(tmp_path), histogram_freq=1, write_grads=True)
    with pytest.raises(ValueError, match="validation_data must be provided"):
        model.fit(X, Y, callbacks=[without], verbose=0)


def test_tensorboards_projector_finds_embeddings_and_their_labels(tmp_path: Path) -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Embedding(7, 3, input_length=4, name="words"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(2, name="dense"),
        ]
    )
    model.compile("sgd", "mse")
    numbers = np.random.RandomState(0).randint(0, 7, (10, 4))
    of_weights = C.TensorBoard(str(tmp_path / "a"), embeddings_freq=1, embeddings_metadata="labels.tsv")
    of_outputs = C.TensorBoard(
        str(tmp_path / "b"), embeddings_freq=1, embeddings_layer_names=["dense"], embeddings_data=numbers, batch_size=4
    )
    model.fit(numbers, np.zeros((10, 2)), epochs=2, callbacks=[of_weights, of_outputs], verbose=0)
    read = tf.train.NewCheckpointReader(str(tmp_path / "a" / "keras_embedding.ckpt-1"))
    np.testing.assert_array_equal(read.get_tensor("words/embeddings"), model.layers[0].get_weights()[0])
    described = (tmp_path / "a" / "projector_config.pbtxt").read_text()
    assert 'tensor_name: "words/embeddings:0"' in described
    assert 'metadata_path: "labels.tsv"' in described
    read = tf.train.NewCheckpointReader(str(tmp_path / "b" / "keras_embedding.ckpt-1"))
    np.testing.assert_allclose(read.get_tensor("dense_embedding"), model.predict(numbers), rtol=1e-6)


def test_callbacks_see_the_arrays_that_are_evaluated_on() -> None:
    seen: list[Any] = []
    keep = C.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.extend(keep.validation_data))
    small().fit(X, Y, validation_data=(X[:5], Y[:5]), callbacks=[keep], verbose=0)
    np.testing.assert_array_equal(seen[0], X[:5])
    np.testing.assert_array_equal(seen[1], Y[:5])
    np.testing.assert_array_equal(seen[2], np.ones(5))


def test_a_server_is_told_of_each_epoch(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Any] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            told.append((self.path, self.headers["X-Run"], body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    root = f"http://127.0.0.1:{server.server_port}"
    monitors = [C.RemoteMonitor(root, headers={"X-Run": "7"}), C.RemoteMonitor(root, "/json/", send_as_json=True)]
    history = small().fit(X, Y, epochs=1, callbacks=monitors, verbose=0)
    server.shutdown()
    thread.join()
    server.server_close()
    expected = {"epoch": 0, "loss": pytest.approx(history.history["loss"][0])}
    (path, run, form), (other, _, plain) = told
    assert (path, run, other) == ("/publish/epoch/end/", "7", "/json/")
    assert json.loads(parse_qs(form)["data"][0]) == expected
    assert json.loads(plain) == expected
    small().fit(X, Y, epochs=1, callbacks=monitors[:1], verbose=0)  # nobody answers: training goes on
    assert "could not reach RemoteMonitor root server" in caplog.text
    with pytest.raises(ValueError, match="http"):
        C.RemoteMonitor("file:///etc")


def test_training_stops_at_a_loss_that_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    history = small(1e30).fit(X, Y, epochs=9, callbacks=[C.TerminateOnNaN()], verbose=0)
    assert len(history.epoch) < 9
    assert "Invalid loss, terminating training" in capsys.readouterr().out


def test_a_monitored_value_that_is_not_logged_is_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="`val_acc` which is not available.*loss"):
        small().fit(X, Y, callbacks=[C.EarlyStopping("val_acc")], verbose=0)


def test_metrics_have_the_names_of_tensorflow_1_and_are_found_by_later_ones(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(6,))])
    model.compile("sgd", "mse", metrics=["accuracy", "mae"], weighted_metrics=["mae"])
    names = ["acc", "mean_absolute_error", "weighted_mean_absolute_error"]
    assert model.metrics_names == ["loss", *names]
    seen: list[Any] = []
    path = str(tmp_path / "{epoch}-{val_accuracy:.2f}-{val_mae:.1f}.h5")
    told = [
        C.ModelCheckpoint(path, monitor="val_accuracy", save_best_only=True),
        C.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append((logs["val_accuracy"], logs.get("accuracy")))),
    ]
    history = model.fit(X, Y, epochs=1, validation_split=0.5, callbacks=told, verbose=0).history
    assert len(list(tmp_path.iterdir())) == 1
    assert seen == [(history["val_acc"][0], history["acc"][0])]
    assert history["accuracy"] is history["acc"] and history["val_mae"] is history["val_mean_absolute_error"]
    assert "accuracy" in history and "mape" not in history and history.get("mape") is None
    assert sorted(history) == sorted(["loss", *names, "val_loss", *(f"val_{name}" for name in names)])
    assert json.loads(json.dumps(history, default=float))["acc"] == history["acc"]
    assert type(pickle.loads(pickle.dumps(history))) is dict
    with pytest.raises(KeyError):
        history["val_mape"]


class Heard(C.Callback):
    """Keeps the names of what it is told."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.losses: list[float] = []

    def on_test_begin(self, logs: Any = None) -> None:
        self.events.append("test begins")

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self.events.append(f"test batch {batch} of {logs['size']}")
        self.losses.append(logs["loss"])

    def on_test_end(self, logs: Any = None) -> None:
        super().on_test_end(logs)
        self.events.append("test ends")

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.events.append(f"predicts {batch}")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.events.append(f"epoch {epoch}" + (" validated" if "val_loss" in logs else ""))


TEST = ["test begins", "test batch 0 of 5", "test ends"]


def test_evaluation_and_prediction_tell_callbacks() -> None:
    heard, model = Heard(), small()
    loss = model.evaluate(X[:5], Y[:5], callbacks=[heard], verbose=0)
    assert heard.events == TEST and heard.losses == [pytest.approx(loss)] and heard.model is model
    heard.events.clear()
    model.predict(X, batch_size=10, callbacks=[heard])
    assert heard.events == ["predicts 0", "predicts 1"]


@pytest.mark.parametrize("often", [2, [2]])
def test_validation_tells_callbacks_in_the_epochs_that_it_is_due(often: Any) -> None:
    heard = Heard()
    small().fit(X, Y, 10, 3, validation_data=(X[:5], Y[:5]), validation_freq=often, callbacks=[heard], verbose=0)
    assert heard.events == ["epoch 0", *TEST, "epoch 1 validated", "epoch 2"]


def test_functions_of_a_lambda_callback_get_logs_by_position() -> None:
    told: list[Any] = []
    callback = tf.keras.callbacks.LambdaCallback(
        on_train_begin=lambda info: told.append(info), on_train_end=lambda info: told.append(info)
    )
    model = tf.keras.models.Sequential([tf.keras.layers.Dense(1, input_dim=1)])
    model.compile("sgd", "mse")
    model.fit(np.ones([2, 1]), np.ones([2, 1]), verbose=0, callbacks=[callback])
    assert told == [None, None]  # as TensorFlow 1.15 has nothing to tell
