"""tf.contrib.learn.train, evaluate, infer, run_n and run_feeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

learn = tf.contrib.learn


def model(graph: tf.Graph) -> dict[str, Any]:
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.Variable(1.0, name="w")
        loss = tf.reduce_mean(tf.square(w * x - 3.0 * x))
        step = tf.train.get_or_create_global_step()
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        tf.summary.scalar("loss", loss)
        return {"x": x, "w": w, "loss": loss, "train_op": train_op}


def trained(folder: Path, **options: Any) -> Any:
    graph = tf.Graph()
    parts = model(graph)
    feeds = {parts["x"]: [1.0, 2.0]}
    return learn.train(graph, str(folder), parts["train_op"], parts["loss"], feed_fn=lambda: feeds, **options)


def test_train_goes_on_from_its_checkpoint_to_the_limit(tmp_path: Path) -> None:
    first = trained(tmp_path, steps=3)
    assert tf.train.load_variable(str(tmp_path), "global_step") == 3
    second = trained(tmp_path, max_steps=5)
    assert second < first
    assert tf.train.load_variable(str(tmp_path), "global_step") == 5
    assert trained(tmp_path, max_steps=5) is None
    assert list(tmp_path.glob("events*"))


def test_train_needs_a_folder_a_global_step_and_one_limit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="non-empty"):
        learn.train(tf.Graph(), "", None, None)
    with pytest.raises(ValueError, match="steps and max_steps"):
        learn.train(tf.Graph(), str(tmp_path), None, None, steps=1, max_steps=1)
    with pytest.raises(ValueError, match="global_step"):
        learn.train(tf.Graph(), str(tmp_path), None, None)


def test_init_fn_is_called_with_the_session(tmp_path: Path) -> None:
    graph = tf.Graph()
    parts = model(graph)
    feeds = {parts["x"]: [1.0]}
    with graph.as_default():
        change = parts["w"].assign(3.0)
    loss = learn.train(
        graph, str(tmp_path), parts["train_op"], parts["loss"], init_fn=lambda session: session.run(change),
        feed_fn=lambda: feeds, steps=1,
    )  # fmt: skip
    assert loss == 0.0


def test_evaluate_returns_and_writes_values_of_a_checkpoint(tmp_path: Path) -> None:
    trained(tmp_path, steps=3)
    graph = tf.Graph()
    parts = model(graph)
    with graph.as_default():
        mean, update = tf.metrics.mean(parts["x"])
    batches = iter([{parts["x"]: [1.0]}, {parts["x"]: [3.0, 5.0]}])
    folder = tmp_path / "eval"
    results, step = learn.evaluate(
        graph,
        str(folder),
        tf.train.latest_checkpoint(str(tmp_path)),
        {"mean": mean},
        update,
        feed_fn=lambda: next(batches),
    )
    assert (results, step) == ({"mean": 3.0}, 3)
    (events,) = folder.glob("events*")
    values = [(v.tag, v.simple_value, e.step) for e in tf.train.summary_iterator(str(events)) for v in e.summary.value]
    assert values == [("mean", 3.0, 3)]


def test_steps_run_with_initial_or_restored_variables(tmp_path: Path) -> None:
    trained(tmp_path, steps=3)
    graph = tf.Graph()
    parts = model(graph)
    feeds = {parts["x"]: np.ones(2, np.float32)}
    with graph.as_default():
        count = tf.Variable(0.0, name="count", collections=[tf.GraphKeys.LOCAL_VARIABLES])
        counted = tf.assign_add(count, 1.0)
    assert [found["n"] for found in learn.run_n({"n": counted}, n=3)] == [1.0, 2.0, 3.0]
    assert learn.run_n({"loss": parts["loss"]}, feeds) == [{"loss": 4.0}]
    path = tf.train.latest_checkpoint(str(tmp_path))
    assert learn.infer(path, {"w": parts["w"]})["w"] == tf.train.load_variable(str(tmp_path), "w")
    losses = learn.run_feeds({"loss": parts["loss"]}, [{parts["x"]: [1.0]}, {parts["x"]: [2.0]}])
    assert [found["loss"] for found in losses] == [4.0, 16.0]
    with pytest.raises(ValueError, match="output_dict"):
        learn.run_n({})


def test_queues_are_filled_while_steps_run() -> None:
    with tf.Graph().as_default():
        value = tf.train.input_producer(tf.constant([1.0, 2.0]), shuffle=False).dequeue()
        assert [found["value"] for found in learn.run_n({"value": value}, n=3)] == [1.0, 2.0, 1.0]
