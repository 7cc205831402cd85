"""tf.contrib.slim: a model trained, resumed, evaluated, and taken over into another."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors

slim = tf.contrib.slim


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


X = np.random.RandomState(0).normal(size=(16, 4, 4, 1)).astype(np.float32)
Y = (X.mean((1, 2, 3)) > 0).astype(np.int64)


def network(is_training: bool = True) -> Any:
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(1e-4)):  # noqa: SIM117
        with slim.arg_scope([slim.batch_norm, slim.dropout], is_training=is_training):
            net = slim.conv2d(tf.constant(X), 4, 3, normalizer_fn=slim.batch_norm, scope="conv1")
            net = slim.dropout(slim.flatten(slim.avg_pool2d(net, 2)), 0.9)
            return slim.fully_connected(net, 2, activation_fn=None, scope="logits")


def train_op(**kwargs: Any) -> Any:
    slim.losses.softmax_cross_entropy(network(), slim.one_hot_encoding(Y, 2))
    loss = slim.losses.get_total_loss()
    tf.summary.scalar("loss", loss)
    return slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.05), **kwargs)


def events(directory: Path) -> list[Any]:
    return [e for path in sorted(directory.glob("events*")) for e in tf.train.summary_iterator(str(path))]


# --- the loop -------------------------------------------------------------------------------------------


def test_training_stops_at_a_step_and_leaves_checkpoints_and_summaries(tmp_path: Path) -> None:
    tf.set_random_seed(3)
    loss = slim.learning.train(train_op(), tmp_path, number_of_steps=30)
    assert loss < 0.6
    state: Any = tf.train.get_checkpoint_state(tmp_path)
    assert Path(state.model_checkpoint_path).name == "model.ckpt-30"
    assert len(state.all_model_checkpoint_paths) == 2  # the first is a thread's
    tags = {value.tag for event in events(tmp_path) for value in event.summary.value}
    assert tags == {"loss", "global_step/sec"}


def test_training_goes_on_from_the_latest_checkpoint(tmp_path: Path) -> None:
    slim.learning.train(train_op(), tmp_path, number_of_steps=3)
    asked: list[Any] = []
    with tf.Graph().as_default():
        slim.learning.train(train_op(), tmp_path, number_of_steps=5, init_fn=asked.append)
    assert asked == []  # only where nothing was restored
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-5")
    assert tf.train.load_variable(str(tmp_path), "global_step") == 5


def test_init_fn_has_the_last_word_on_initial_values(tmp_path: Path) -> None:
    op = train_op(variables_to_train=None)
    biases = slim.get_unique_variable("logits/biases")
    assign, feeds = slim.assign_from_values({"logits/biases": np.array([7.0, 8.0])})
    seen = []

    def step(session: Any, train_op: Any, global_step: Any, kwargs: dict[str, Any]) -> tuple[float, bool]:
        seen.append(session.run(biases).tolist())
        return 0.5, len(seen) == 2

    loss = slim.learning.train(op, None, train_step_fn=step, init_fn=lambda session: session.run(assign, feeds))
    assert (seen, loss) == ([[7, 8], [7, 8]], 0.5)


def test_the_end_of_the_data_ends_training(tmp_path: Path) -> None:
    left = tf.get_variable("left", initializer=0, trainable=False)
    with tf.control_dependencies([tf.count_up_to(left, 3)]):
        loss = tf.reduce_sum(tf.get_variable("w", [1]) ** 2)
    op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
    slim.learning.train(op, tmp_path)
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-3")


def test_synchronous_replicas_get_their_tokens_and_queue_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hasty(tf.train.Supervisor):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, stop_grace_secs=0.1, **kwargs)  # the runner's thread waits for gradients

    monkeypatch.setattr(slim.learning.supervisor, "Supervisor", Hasty)
    w = tf.get_variable("w", initializer=8.0)
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.25), 1)
    op = slim.learning.create_train_op(w * w, optimizer)
    slim.learning.train(op, tmp_path, number_of_steps=3, sync_optimizer=optimizer, ignore_live_threads=True)
    values = tf.train.load_variable(str(tmp_path), "w"), tf.train.load_variable(str(tmp_path), "global_step")
    assert values[0] == 8.0 / 2.0 ** values[1]
    assert values[1] >= 3


def test_traced_steps_are_written_for_tensorboard_and_for_chrome(tmp_path: Path) -> None:
    slim.learning.train(train_op(), str(tmp_path), number_of_steps=4, trace_every_n_steps=2)
    assert sorted(path.name for path in tmp_path.glob("tf_trace-*.json")) == ["tf_trace-1.json", "tf_trace-3.json"]
    assert "traceEvents" in (tmp_path / "tf_trace-1.json").read_text()
    tags = [event.tagged_run_metadata.tag for event in events(tmp_path)]
    assert [tag for tag in tags if tag] == ["run_metadata-1", "run_metadata-3"]
    with pytest.raises(ValueError, match="logdir must be present"):
        slim.learning.train_step(None, None, None, {"should_trace": True})


def test_a_lost_worker_restarts_training_from_the_latest_checkpoint(tmp_path: Path) -> None:
    op, calls = train_op(), []

    def step(session: Any, train_op: Any, global_step: Any, kwargs: dict[str, Any]) -> tuple[Any, bool]:
        calls.append(session)
        if len(calls) == 2:
            raise tf.errors.AbortedError(None, None, "lost")
        return slim.learning.train_step(session, train_op, global_step, kwargs)

    slim.learning.train(op, tmp_path, step, number_of_steps=3)
    assert len(set(calls)) == 2
    assert tf.train.load_variable(str(tmp_path), "global_step") == 3


def test_the_loop_refuses_arguments_that_do_not_fit(tmp_path: Path) -> None:
    op = train_op()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"logdir": None, "saver": tf.train.Saver()}, "Cannot provide saver because logdir=None"),
        (
            {"logdir": tmp_path, "sync_optimizer": tf.train.AdamOptimizer()},
            r"must be a tf\.train\.SyncReplicasOptimizer",
        ),
        ({"logdir": tmp_path, "number_of_steps": 0}, "positive"),
        ({"logdir": tmp_path, "train_op": None}, "train_op"),
    ]
    for kwargs, message in wrong:
        with pytest.raises(ValueError, match=message):
            slim.learning.train(**{"train_op": op, **kwargs})
    with pytest.raises(RuntimeError, match=r"not initialized: .*conv1/weights"):
        slim.learning.train(op, None, init_op=tf.no_op(), number_of_steps=1)


# --- train ops ------------------------------------------------------------------------------------------


def test_a_train_op_runs_updates_counts_steps_and_gives_the_loss() -> None:
    op = train_op(summarize_gradients=True)
    step, moving = tf.train.get_global_step(), slim.get_unique_variable("conv1/BatchNorm/moving_mean")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(moving)
        assert session.run(op) > 0
        assert session.run(step) == 1
        assert np.abs(session.run(moving) - before).min() > 0
        tags = {v.tag for v in tf.summary.Summary.FromString(session.run(tf.summary.merge_all())).value}
    assert "summarize_grads/conv1/weights/gradient_norm" in tags
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP)[-1] is op


def test_gradients_are_multiplied_then_clipped() -> None:
    a = tf.get_variable("a", initializer=[3.0, 4.0])
    b = tf.get_variable("b", initializer=2.0)
    loss = tf.reduce_sum(a * a) / 2 + 3 * b
    op = slim.learning.create_train_op(
        loss, tf.train.GradientDescentOptimizer(1.0), global_step=None, clip_gradient_norm=1.0,
        gradient_multipliers={"b": 0.1, a: 2.0},
    )  # fmt: skip
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(op)
        np.testing.assert_allclose(session.run(a), [3 - 0.6, 4 - 0.8], rtol=1e-6)
        np.testing.assert_allclose(session.run(b), 2 - 0.3, rtol=1e-6)


def test_a_loss_that_is_not_finite_stops_the_step() -> None:
    v = tf.get_variable("v", initializer=0.0)
    op = slim.learning.create_train_op(tf.log(v), tf.train.GradientDescentOptimizer(1.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match="LossTensor is inf or nan"):
            session.run(op)


def test_variables_that_are_not_trainable_are_refused() -> None:
    v = tf.get_variable("v", initializer=0.0, trainable=False)
    w = tf.get_variable("w", initializer=0.0)
    with pytest.raises(ValueError, match="v:0"):
        slim.learning.create_train_op(w + v, tf.train.GradientDescentOptimizer(1.0), variables_to_train=[w, v])


# --- evaluation -----------------------------------------------------------------------------------------


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    with tf.Graph().as_default():
        slim.learning.train(train_op(), tmp_path / "model", number_of_steps=2)
    return tmp_path / "model"


def test_evaluation_restores_runs_and_writes_summaries(trained: Path, tmp_path: Path) -> None:
    tf.train.get_or_create_global_step()
    logits = network(is_training=False)
    counted = tf.get_variable("counted", initializer=0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    share = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), Y)))
    tf.summary.scalar("share", share)
    found = slim.evaluation.evaluate_once(
        "", tf.train.latest_checkpoint(trained), str(tmp_path / "eval"), num_evals=3,
        eval_op=tf.assign_add(counted, 1), final_op=[counted, share],
        variables_to_restore=slim.get_variables_to_restore(),
    )  # fmt: skip
    assert found[0] == 3 and 0 <= found[1] <= 1
    (event,) = [e for e in events(tmp_path / "eval") if e.HasField("summary")]
    assert (event.step, event.summary.value[0].simple_value) == (2, found[1])


def test_the_evaluation_loop_takes_each_new_checkpoint_once(trained: Path, tmp_path: Path) -> None:
    network(is_training=False)
    seen = []
    step = tf.train.get_or_create_global_step()
    found = slim.evaluation.evaluation_loop(
        "", trained, str(tmp_path / "eval"), final_op=step, summary_op=None, eval_interval_secs=0, timeout=0.01,
        init_fn=lambda session: seen.append(session.run(step)),
    )  # fmt: skip
    assert (found, seen) == (2, [2])
    assert slim.evaluation.wait_for_new_checkpoint(trained, str(trained / "model.ckpt-2"), 0.01, 0.01) is None


def test_a_trained_network_is_taken_over_without_its_last_layer(trained: Path) -> None:
    network()
    checkpoint = tf.train.latest_checkpoint(trained)
    restore = slim.assign_from_checkpoint_fn(checkpoint, slim.get_variables_to_restore(exclude=["logits"]))
    weights = slim.get_variables_by_name("weights")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        restore(session)
        first, last = session.run(weights)
    np.testing.assert_array_equal(first, tf.train.load_variable(checkpoint, "conv1/weights"))
    assert np.abs(last - tf.train.load_variable(checkpoint, "logits/weights")).max() > 0


# --- the rest -------------------------------------------------------------------------------------------


def test_slim_has_the_names_of_layers_and_framework() -> None:
    for name in ("conv2d", "conv2d_transpose", "fully_connected", "batch_norm", "max_pool2d", "repeat", "stack"):
        assert getattr(slim, name) is getattr(tf.contrib.layers, name) is getattr(slim.layers, name)
    assert slim.arg_scope is tf.contrib.framework.arg_scope
    assert slim.get_or_create_global_step is tf.contrib.framework.get_or_create_global_step
    assert slim.metrics is tf.contrib.metrics
    assert importlib.import_module("penstock.contrib.slim.python.slim.learning").train is slim.learning.train


def test_the_model_analyzer_counts_elements_and_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    tf.get_variable("a", [2, 3])
    tf.get_variable("b", [], tf.float64)
    assert slim.model_analyzer.analyze_vars(tf.global_variables(), print_info=True) == (7, 32)
    text = capsys.readouterr().out
    assert "a:0 (float32 2x3) [6, bytes: 24]" in text and "Total bytes of variables: 32" in text
    with tf.Graph().as_default() as other:
        tf.constant([[1, 2]])
        assert slim.model_analyzer.analyze_ops(other) == 2


def test_summaries_are_named_after_their_tensors() -> None:
    x = tf.constant([0.0, 1.0, 0.0, 2.0], name="x")
    slim.summaries.add_zero_fraction_summary(x, prefix="p")
    slim.summaries.add_scalar_summary(tf.constant(3.0, name="y"), print_summary=True)
    slim.summaries.add_histogram_summaries([x])
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 3
    with tf.Session() as session:
        values = tf.summary.Summary.FromString(session.run(tf.summary.merge_all())).value
    assert [(v.tag, v.simple_value) for v in values] == [
        ("p/x/Fraction_of_Zero_Values", 0.5), ("y_1", 3.0), ("x_1", 0.0),
    ]  # fmt: skip


def test_modules_that_slims_modules_import_are_names_of_slim() -> None:
    """`import *` made them so; programs say slim.init_ops.zeros_initializer() and slim.nn.relu."""
    slim = tf.contrib.slim
    assert slim.init_ops.zeros_initializer is tf.zeros_initializer
    assert slim.nn.relu is tf.nn.relu
    assert slim.vs.get_variable is slim.variable_scope.get_variable is tf.get_variable
    assert slim.ops.GraphKeys is tf.GraphKeys
    assert slim.nest.flatten([[1], 2]) == [1, 2]
