"""tf.contrib.training, util, losses, learn: hyperparameters, optimize_loss, old losses, the MNIST files."""

from __future__ import annotations

import gzip
import importlib
import logging
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.learn import mnist

HParams = tf.contrib.training.HParams
layers = tf.contrib.layers


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


# --- loops ---------------------------------------------------------------------------------------------


def _trained(directory: Path, steps: int) -> Any:
    with tf.Graph().as_default():
        loss = tf.get_variable("v", initializer=8.0) + 0.0
        op = tf.contrib.training.create_train_op(loss, tf.train.GradientDescentOptimizer(1.0))
        hooks = [tf.train.StopAtStepHook(last_step=steps)]
        return tf.contrib.training.train(op, str(directory), hooks=hooks, save_summaries_steps=None)


def test_training_runs_until_a_hook_stops_it(tmp_path: Path) -> None:
    assert _trained(tmp_path, 3) == 6.0
    assert _trained(tmp_path, 5) == 4.0
    assert tf.train.load_variable(str(tmp_path), "v") == 3.0
    for saving in ({"save_checkpoint_secs": None}, {"save_summaries_steps": None}):
        with pytest.raises(ValueError, match="logdir cannot be None"):
            tf.contrib.training.train(None, None, **saving)


def test_an_evaluation_counts_batches_and_gives_final_values(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _trained(tmp_path, 3)
    v = tf.get_variable("v", [])
    total, update = tf.metrics.mean(v)
    tf.summary.scalar("twice", 2 * v)
    training = tf.contrib.training
    with caplog.at_level(logging.INFO, "penstock"):
        found = training.evaluate_once(
            tf.train.latest_checkpoint(str(tmp_path)), eval_ops={"update": update},
            final_ops={"mean": total, "batches": training.get_or_create_eval_step()},
            hooks=[training.StopAfterNEvalsHook(3), training.SummaryAtEndHook(str(tmp_path / "eval"))],
        )  # fmt: skip
    assert found == {"mean": 5.0, "batches": 3}
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if line.startswith("Evaluation [")] == [f"Evaluation [{n}/3]" for n in (1, 2, 3)]
    (file,) = (tmp_path / "eval").iterdir()
    (value,) = [value for event in tf.train.summary_iterator(str(file)) for value in event.summary.value]
    assert (value.tag, value.simple_value) == ("twice", 10.0)


def test_evaluations_are_repeated_for_each_new_checkpoint(tmp_path: Path) -> None:
    _trained(tmp_path, 1)
    v = tf.get_variable("v", [])
    seen: list[Any] = []

    class Train(tf.train.SessionRunHook):
        def end(self, session: Any) -> None:
            seen.append(session.run(v))
            if len(seen) < 3:
                _trained(tmp_path, len(seen) + 1)

    repeat = tf.contrib.training.evaluate_repeatedly
    found = repeat(
        str(tmp_path),
        eval_ops=tf.no_op(),
        final_ops=v,
        hooks=[tf.contrib.training.StopAfterNEvalsHook(2), Train()],
        eval_interval_secs=0,
        max_number_of_evaluations=3,
    )
    assert (found, seen) == (5.0, [7.0, 6.0, 5.0])
    assert repeat(str(tmp_path / "none"), final_ops=v, timeout=0.01) is None


def test_the_eval_step_is_one_per_graph() -> None:
    step = tf.contrib.training.get_or_create_eval_step()
    assert step is tf.contrib.training.get_or_create_eval_step()
    assert (step.op.name, tf.local_variables()) == ("eval_step", [step])
    tf.add_to_collection(tf.GraphKeys.EVAL_STEP, step)
    with pytest.raises(ValueError, match="Multiple tensors"):
        tf.contrib.training.get_or_create_eval_step()


# --- HParams --------------------------------------------------------------------------------------------


def hparams() -> Any:
    return HParams(rate=0.5, units=3, name="a", sizes=[1, 2, 3], deep=True, nothing=None)


def test_hyperparameters_are_attributes_with_values_and_json() -> None:
    h = hparams()
    assert (h.rate, h.sizes, "rate" in h, "other" in h) == (0.5, [1, 2, 3], True, False)
    assert h.values() == {"rate": 0.5, "units": 3, "name": "a", "sizes": [1, 2, 3], "deep": True, "nothing": None}
    assert HParams(h).values() == h.values()
    assert h.to_json() == ('{"rate": 0.5, "units": 3, "name": "a", "sizes": [1, 2, 3], "deep": true, "nothing": null}')
    assert h.parse_json('{"rate": 2, "sizes": [7]}') is h
    assert (h.rate, type(h.rate), h.sizes) == (2.0, float, [7])
    h.add_hparam("late", 1)
    h.del_hparam("units")
    assert (h.late, h.get("units", 9), h.get("rate")) == (1, 9, 2.0)
    assert str(HParams(b=1, a="x")) == "[('a', 'x'), ('b', 1)]"
    assert repr(HParams(b=1, a="x")) == "HParams([('a', 'x'), ('b', 1)])"


def test_hyperparameters_are_set_from_text() -> None:
    h = hparams().parse("rate=1e-3, units=4,name=a/b c,sizes=[4,5],deep=false,nothing=some")
    assert h.values() == {
        "rate": 1e-3, "units": 4, "name": "a/b c", "sizes": [4, 5], "deep": False, "nothing": "some",
    }  # fmt: skip
    assert h.parse("sizes[1]=9,sizes[0]=8").sizes == [8, 9]
    assert h.parse("").units == 4


@pytest.mark.parametrize(
    "text, message",
    [
        ("units=1.5", "type 'int'"),
        ("units=x", "type 'int'"),
        ("deep=maybe", "type 'bool'"),
        ("other=1", "other"),
        ("units=1,units=2", "Multiple assignments"),
        ("sizes[0]=1,sizes[0]=2", "Multiple assignments"),
        ("sizes[3]=1", "3 elements"),
        ("sizes=3", "Must pass a list"),
        ("units=[3]", "not pass a list"),
        ("=3", "Malformed"),
    ],
)
def test_text_that_does_not_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hparams().parse(text)


def test_values_are_converted_only_where_nothing_is_lost() -> None:
    h = hparams()
    h.set_hparam("rate", 1)
    assert type(h.rate) is float
    for name, wrong in [("units", 1.0), ("units", True), ("deep", 1), ("name", 3), ("rate", "1"), ("sizes", [1.5])]:
        with pytest.raises(ValueError, match=name):
            h.set_hparam(name, wrong)
    with pytest.raises(KeyError):
        h.set_hparam("other", 1)
    with pytest.raises(ValueError, match="reserved: units"):
        h.add_hparam("units", 1)
    with pytest.raises(ValueError, match="reserved: parse"):
        HParams(parse=1)
    with pytest.raises(ValueError, match="empty: sizes"):
        HParams(sizes=[])
    with pytest.raises(ValueError, match="units"):
        h.get("units", "text")


# --- optimize_loss --------------------------------------------------------------------------------------


def loss_of(*values: float) -> tuple[Any, Any]:
    v = tf.get_variable("v", initializer=list(values))
    return tf.reduce_sum(v * v) / 2, v


def run(*fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(f) for f in fetches]


def test_optimize_loss_takes_a_step_of_the_decayed_rate_and_counts_it() -> None:
    loss, v = loss_of(3.0, 4.0)
    step = tf.train.get_or_create_global_step()
    op = layers.optimize_loss(
        loss, None, 0.5, "SGD", learning_rate_decay_fn=lambda rate, step: rate * 0.5 ** tf.to_float(step)
    )
    found = run(op, v, step, op, v, step)
    np.testing.assert_allclose(found[1], [1.5, 2.0])
    np.testing.assert_allclose(found[4], [1.125, 1.5])
    assert (found[0], found[2], found[5]) == (12.5, 1, 2)
    tags = {s.op.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES)}
    assert tags == {f"OptimizeLoss/{s}" for s in ("learning_rate_1", "loss", "global_norm/gradient_norm")}
    assert tf.get_default_graph().get_operation_by_name("OptimizeLoss/learning_rate").type == "VariableV2"


@pytest.mark.parametrize(
    "optimizer, rate",
    [
        (tf.train.GradientDescentOptimizer, 0.1),
        (lambda rate: tf.train.GradientDescentOptimizer(rate), 0.1),
        (lambda: tf.train.GradientDescentOptimizer(0.1), None),
        (tf.train.GradientDescentOptimizer(0.1), None),
        ("SGD", 0.1),
    ],
)
def test_optimizers_are_named_made_or_given(optimizer: Any, rate: float | None) -> None:
    loss, v = loss_of(1.0)
    op = layers.optimize_loss(loss, None, rate, optimizer, summaries=[])
    assert run(op, v)[1].tolist() == pytest.approx([0.9])


def test_gradients_are_multiplied_and_clipped() -> None:
    loss, v = loss_of(3.0, 4.0)
    op = layers.optimize_loss(loss, None, 1.0, "SGD", gradient_multipliers={"v:0": 0.5}, clip_gradients=1.0)
    np.testing.assert_allclose(run(op, v)[1], [3 - 0.6, 4 - 0.8], rtol=1e-5)


def test_clipping_may_adapt_to_the_norms_so_far() -> None:
    loss, v = loss_of(3.0, 4.0)
    clip = layers.adaptive_clipping_fn(static_max_norm=1.0, decay=0.0)
    op = layers.optimize_loss(loss, None, 0.1, "SGD", clip_gradients=clip)
    # Without memory the mean is this step's norm, 5: a gradient beyond the static limit is brought to it.
    np.testing.assert_allclose(run(op, v)[1], [3 - 0.3, 4 - 0.4], rtol=1e-4)


def test_optimize_loss_runs_updates_first() -> None:
    loss, _ = loss_of(1.0)
    counter = tf.get_variable("counter", initializer=0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counter, 1))
    assert run(layers.optimize_loss(loss, None, 0.1, "SGD"), counter)[1] == 1


def test_optimize_loss_takes_the_name_of_one_summary() -> None:
    """TensorFlow 1.0 looked for its own names in it."""
    layers.optimize_loss(loss_of(1.0)[0], None, 0.1, "SGD", summaries="gradient_norm")
    names = [summary.op.name for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert any("gradient_norm" in name for name in names) and "OptimizeLoss/loss" not in names


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"optimizer": "Best"}, "Best"),
        ({"optimizer": 3}, "optimizer"),
        ({"learning_rate": None}, "Learning rate is None"),
        ({"learning_rate": 1}, "0d Tensor or float"),
        ({"learning_rate": -1.0}, "Invalid"),
        ({"summaries": ["all"]}, "Summaries"),
        ({"clip_gradients": 1}, "clip_gradients"),
        ({"learning_rate_decay_fn": lambda rate, step: rate}, "global_step is required"),
        ({"loss": tf.ones}, "scalar"),
    ],
)
def test_optimize_loss_refuses_what_does_not_fit(kwargs: dict[str, Any], message: str) -> None:
    if "loss" in kwargs:
        kwargs = {"loss": kwargs["loss"]([2])}
    arguments = {"loss": loss_of(1.0)[0], "global_step": None, "learning_rate": 0.1, "optimizer": "SGD", **kwargs}
    with pytest.raises(ValueError, match=message):
        layers.optimize_loss(**arguments)


# --- losses with the predictions first ------------------------------------------------------------------


def test_old_losses_weigh_examples_and_join_the_collection() -> None:
    losses = tf.contrib.losses
    predictions, labels = tf.constant([[1.0, 2.0], [3.0, 5.0]]), tf.constant([[1.0, 1.0], [1.0, 1.0]])
    made = [
        losses.mean_squared_error(predictions, labels, weights=tf.constant([1.0, 0.0])),
        losses.absolute_difference(predictions, labels, weights=2.0),
        losses.softmax_cross_entropy(predictions, tf.constant([[1.0, 0.0], [0.0, 1.0]])),
        losses.mean_pairwise_squared_error(predictions, labels),
    ]
    assert losses.get_losses() == made
    cross = np.mean([np.log1p(np.exp(1)), np.log1p(np.exp(-2))])
    # Of each example the one pair differs by 1 and by 2: the mean of squares over the four ordered pairs, doubled.
    pairs = (2 * 1 / 2 - 2 * 1 / 4) + (2 * 20 / 2 - 2 * 36 / 4)
    want: Any = [0.5, 2 * 7 / 4, cross, pairs]
    np.testing.assert_allclose(run(*made), want, rtol=1e-5)
    hinge = losses.hinge_loss(tf.constant([0.5, 2.0]), tf.constant([0.0, 1.0]))
    assert run(hinge)[0].tolist() == [1.5, 0] and len(losses.get_losses()) == 4
    with pytest.raises(ValueError, match="more dims"):
        losses.absolute_difference(predictions, labels, weights=tf.ones([2, 2, 1]))


# --- small modules --------------------------------------------------------------------------------------


def test_util_makes_tensor_messages_and_reads_constants() -> None:
    proto = tf.contrib.util.make_tensor_proto([1.0, 2.0], shape=[2, 1])
    assert tf.contrib.util.make_ndarray(proto).tolist() == [[1], [2]]
    assert tf.contrib.util.constant_value(tf.constant(3)) == 3
    assert tf.contrib.util.constant_value(tf.placeholder(tf.int32)) is None
    tf.constant(1) + 2
    assert set(tf.contrib.util.ops_used_by_graph_def(tf.get_default_graph().as_graph_def())) >= {"Const", "AddV2"}


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    random = np.random.RandomState(0)
    for name, count in (("train", 20), ("t10k", 5)):
        images = random.randint(0, 256, (count, 28, 28), np.uint8).tobytes()
        labels = (np.arange(count, dtype=np.uint8) % 10).tobytes()
        with gzip.open(tmp_path / f"{name}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">IIII", 2051, count, 28, 28) + images)
        (tmp_path / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels)
    return tmp_path


def test_mnist_is_read_from_local_files(digits: Path) -> None:
    data = tf.contrib.learn.datasets.mnist.read_data_sets(digits, one_hot=True, validation_size=4)
    assert [d.num_examples for d in data] == [16, 4, 5]
    assert (data.train.images.shape, data.train.images.dtype, data.train.images.max() <= 1) == (
        (16, 784), np.float32, True,
    )  # fmt: skip
    assert data.validation.labels.argmax(1).tolist() == [0, 1, 2, 3]
    plain = mnist.read_data_sets(digits, dtype=tf.uint8, reshape=False, validation_size=0)
    assert (plain.train.images.shape, plain.train.images.dtype) == ((20, 28, 28, 1), np.uint8)
    assert plain.test.labels.tolist() == [0, 1, 2, 3, 4]
    with open(digits / "train-images-idx3-ubyte.gz", "rb") as file:
        assert mnist.extract_images(file).shape == (20, 28, 28, 1)


def test_mnist_is_a_data_set_with_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for load in (tf.contrib.learn.datasets.load_dataset, lambda name: tf.contrib.learn.datasets.DATASETS[name]()):
        with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte"):
            load("mnist")


def test_batches_go_through_every_example_once_an_epoch(digits: Path) -> None:
    train = mnist.read_data_sets(digits, validation_size=0, seed=1).train
    epoch = [train.next_batch(8)[1] for _ in range(5)]
    labels = np.concatenate(epoch)
    assert sorted(labels[:20]) == sorted(labels[20:]) == sorted(list(range(10)) * 2)
    assert labels[:20].tolist() != labels[20:].tolist()
    assert train.epochs_completed == 1
    fresh = mnist.read_data_sets(digits, validation_size=0).train
    assert fresh.next_batch(12, shuffle=False)[1].tolist() == [*range(10), 0, 1]
    fresh._index_in_epoch, fresh._labels = 1, fresh._labels + 10  # programs know these fields
    assert fresh.next_batch(2, shuffle=False)[1].tolist() == [11, 12] and fresh.labels[0] == 10


def test_mnist_that_is_not_there_says_what_to_do(digits: Path, tmp_path: Path) -> None:
    (digits / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError, match="does not download"):
        mnist.read_data_sets(digits)
    (digits / "t10k-labels-idx1-ubyte").write_bytes(b"\0" * 16)
    with pytest.raises(ValueError, match="Invalid magic number 0"):
        mnist.read_data_sets(digits)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("train-images-idx3-ubyte.gz", lambda data: data[:-2000], "is damaged: .* ended before"),
        ("train-images-idx3-ubyte.gz", lambda data: b"<html>", "is damaged: Not a gzipped file"),
        ("train-images-idx3-ubyte.gz", lambda data: data[:99] + bytes(9) + data[108:], "is damaged|ends"),
        (
            "train-images-idx3-ubyte.gz",
            lambda data: gzip.compress(struct.pack(">IIII", 2051, 20, 1 << 11, 1 << 11) + bytes(20 << 22)),
            "is refused: .* bytes of it become",
        ),
        ("train-labels-idx1-ubyte", lambda data: data[:-3], "ends 3 bytes too early"),
        ("train-labels-idx1-ubyte", lambda data: data[:4] + b"\xff" * 4 + data[8:], "ends 4,294,967,275 bytes"),
        ("train-labels-idx1-ubyte", lambda data: data[:-1] + b"\x0a", "has the label 10, and there are 10 classes"),
    ],
)
def test_mnist_that_is_damaged_is_refused_by_name(digits: Path, name: str, change: Any, said: str) -> None:
    (digits / name).write_bytes(change((digits / name).read_bytes()))
    with pytest.raises(ValueError, match=rf"^{name.removesuffix('.gz')} ({said})"):
        mnist.read_data_sets(digits, one_hot=True, validation_size=4)


def test_tutorials_find_the_mnist_module_where_they_look_for_it() -> None:
    input_data = importlib.import_module("penstock.examples.tutorials.mnist.input_data")
    assert input_data.read_data_sets is tf.contrib.learn.python.learn.datasets.mnist.read_data_sets
    assert tf.contrib.learn.ModeKeys.INFER == "infer"
    with pytest.raises(AttributeError, match=r"tf.layers"):
        tf.contrib.learn.SVM  # noqa: B018
