"""What traced steps teach the cost model."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

import penstock as tf
from penstock.placement.cost_model import typical


def two_devices(**graph_options: Any) -> tf.ConfigProto:
    return tf.ConfigProto(device_count={"CPU": 2}, graph_options=tf.GraphOptions(**graph_options))


def slowly(value: np.ndarray) -> np.ndarray:
    time.sleep(0.05)
    return value


def measured(session: tf.Session, name: str) -> float:
    """The seconds that count for a node of the session."""
    (times,) = (times for key, times in session._options.costs._measured.items() if key.endswith(f" {name}"))
    return typical(times)


def test_waiting_for_another_device_is_not_work() -> None:
    with tf.Graph().as_default(), tf.Session(config=two_devices()) as session:
        x = tf.placeholder(tf.float32, [4])
        with tf.device("/cpu:0"):
            late = tf.py_func(slowly, [x], tf.float32)
        with tf.device("/cpu:1"):
            sine = tf.sin(x, name="sine")
            total = late + sine
        metadata = tf.RunMetadata()
        for level in (tf.RunOptions.SOFTWARE_TRACE, tf.RunOptions.FULL_TRACE):
            session.run(total, {x: np.ones(4)}, tf.RunOptions(trace_level=level), metadata)
            device = next(d for d in metadata.step_stats.dev_stats if d.device.endswith("CPU:1"))
            node = next(n for n in device.node_stats if n.node_name == "sine")
            assert node.all_end_rel_micros < 25_000
        assert measured(session, "sine") < 0.025


def test_waiting_for_a_queue_is_not_work_but_seen_in_a_trace() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        filled = tf.FIFOQueue(1, tf.float32, [])
        taken = filled.dequeue(name="taken")
        later = session.make_callable(filled.enqueue(1.0))
        with tf.device("/cpu:0"):
            doubled = tf.add(taken, taken, name="doubled")
        timer = threading.Timer(0.05, later)
        timer.start()
        metadata = tf.RunMetadata()
        session.run(doubled, None, tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE), metadata)
        timer.join()
        node = next(n for n in metadata.step_stats.dev_stats[0].node_stats if n.node_name == "taken")
        assert node.all_end_rel_micros > 40_000
        assert measured(session, "taken") < 0.025


def test_what_runs_is_what_is_simulated() -> None:
    """Element-wise nodes are compiled to one, as in a session, and are not launched one by one."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 64])
        y = x
        for _ in range(10):
            y = tf.tanh(y) + 1.0
        timeline = tf.placement.simulate_step(y, [x])
        assert len(timeline.runs) == 1


def test_a_step_is_predicted_where_its_session_placed_it() -> None:
    with tf.Graph().as_default(), tf.Session(config=two_devices()) as session:
        x = tf.placeholder(tf.float32, [4])
        with tf.device("/cpu:0"):
            late = tf.py_func(slowly, [x], tf.float32)
        with tf.device("/cpu:1"):
            later = tf.py_func(slowly, [late], tf.float32)
        timeline = tf.placement.predict_step(session, later, {x: np.ones(4)}, steps=4)
        assert 0.1 < timeline.seconds < 0.15
        assert [run.device for run in timeline.runs if run.end - run.start > 0.01] == [0, 1]
