"""Reads of reference variables show the updates that the graph orders before their consumers, as TensorFlow's do.

PENSTOCK_EXAMPLES is the number of random programs, of the 20,000 that TensorFlow has run, or FIRST:END for those
between. `PENSTOCK_EXAMPLES=20000 pytest tests/engine/test_reads.py -k random_programs -rP` prints how many are equal.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.passes.prune import prune
from penstock.passes.see_updates import see_updates
from tests.anywhere import SECONDS, Anywhere, alarm as alarm, anywhere as anywhere
from tests.control_flow.reference import run_reference
from tests.engine.random_reads import STEPS, build, read_values
from tests.engine.read_programs import GIVES, PROGRAMS

WAYS = ("plain", "dataflow", "compiled", "devices", "structured")


def _session(way: str, monkeypatch: pytest.MonkeyPatch) -> tf.Session:
    if way in ("structured", "dataflow"):
        monkeypatch.setenv("PENSTOCK_EXECUTOR", way)
    if way == "structured":  # a region that gives a condition under two names leaves the step to dataflow
        monkeypatch.setenv("PENSTOCK_COMPILE", "off")
    if way == "compiled":
        monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    return tf.Session(config=Anywhere().config(2 if way == "devices" else 1))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_tensorflow_gives(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.Graph().as_default(), _session(way, monkeypatch) as session:
        fetches = PROGRAMS[name](tf)
        session.run(tf.global_variables_initializer())
        for step, expected in enumerate(GIVES[name]):
            _same(session.run(fetches), expected, f"step {step}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_reference_executor_gives_what_tensorflow_gives(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = PROGRAMS[name](tf)
        session.run(tf.global_variables_initializer())
        for step, expected in enumerate(GIVES[name]):
            found = run_reference(session, fetches if isinstance(fetches, list) else [fetches])
            _same(found, expected if isinstance(fetches, list) else [expected], f"step {step}")
            session.run(fetches)


def _training(optimizer: Any, rnn: bool) -> tuple[list[Any], list[Any]]:
    x = tf.placeholder(tf.float32, [4, 3, 2])
    if rnn:
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(5), x, dtype=tf.float32)
    else:
        outputs = tf.layers.dense(tf.layers.batch_normalization(x, training=True), 5, tf.nn.relu)
    loss = tf.reduce_mean(tf.square(outputs))
    step = tf.train.get_or_create_global_step()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, tf.trainable_variables()), 1.0)
    train = optimizer.apply_gradients(zip(gradients, tf.trainable_variables(), strict=True), step)
    return [x], [loss, train]


@pytest.mark.parametrize("rnn", [False, True])
@pytest.mark.parametrize("kind", ["GradientDescentOptimizer", "AdamOptimizer"])
def test_a_training_step_stays_the_object_that_it_is(kind: str, rnn: bool) -> None:
    with tf.Graph().as_default():
        feeds, (loss, train) = _training(getattr(tf.train, kind)(0.1), rnn)
        graph = prune(feeds, [loss], [train])
        assert see_updates(graph) is graph


def test_consumers_of_one_moment_share_a_read() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        update = tf.assign_add(v, 1.0)
        with tf.control_dependencies([update]):
            fetches = [v + 1.0, v * 2.0, tf.identity(v)]
        names = [node.name for node in see_updates(prune([], fetches, [])).nodes if node.op.name == "Identity"]
        assert len(names) == 2  # theirs, and the one that was asked for


def test_resource_variables_are_left_alone() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0, use_resource=True)
        read = v.read_value()
        with tf.control_dependencies([v.assign_add(2.0)]):
            graph = prune([], [read + 0.0, tf.identity(v)], [])
        assert see_updates(graph) is graph


def _same(found: Any, expected: Any, where: str) -> None:
    if not isinstance(found, list):
        found, expected = [found], [expected]
    for i, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, err_msg=f"{where}, fetch {i}")


# --- random programs ------------------------------------------------------------------------------------


_RECORDED = read_values(Path(__file__).parents[1] / "data" / "read_values.npz")
_WENT_ROUND_FOR_EVER = (8, 48, 77, 172, 315, 392)
_WROTE_BEFORE_AN_EARLIER_READ = (1088, 4523, 5226)
_NEVER_PLANNED = (239, 1359, 1826)
_TOGETHER = 100
"""Programs in one test."""


def _chosen() -> list[int]:
    asked = os.environ.get("PENSTOCK_EXAMPLES", "120")
    if ":" in asked:
        first, end = map(int, asked.split(":"))
        return [seed for seed in _RECORDED if first <= seed < end]
    some = list(_RECORDED)[:: max(1, len(_RECORDED) // int(asked))]
    return sorted({*some, *_WENT_ROUND_FOR_EVER, *_WROTE_BEFORE_AN_EARLIER_READ, *_NEVER_PLANNED})


_SEEDS = _chosen()
_PARTS = [_SEEDS[i : i + _TOGETHER] for i in range(0, len(_SEEDS), _TOGETHER)]


def _case(seeds: list[int], way: str) -> Any:
    slow = way == "compiled" and seeds is not _PARTS[-1]
    return pytest.param(seeds, way, id=f"{seeds[0]} to {seeds[-1]}-{way}", marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("seeds", "way"), [_case(seeds, way) for seeds in _PARTS for way in WAYS])
def test_random_programs_give_what_tensorflow_gives(
    seeds: list[int], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {}
    for seed in seeds:
        signal.alarm(SECONDS)
        with monkeypatch.context() as patch:
            try:
                _compare(seed, way, patch)
            except Exception as error:
                wrong[seed] = error
    print(f"{way}: {len(seeds) - len(wrong)} programs equal")
    assert not wrong


def _compare(seed: int, way: str, patch: pytest.MonkeyPatch) -> None:
    with tf.Graph().as_default(), _session(way, patch) as session:
        fetches, start = build(tf, seed)
        session.run(start)
        for step, expected in enumerate(np.split(_RECORDED[seed], STEPS)):
            if way == "plain":
                _flat(run_reference(session, fetches), expected, f"program {seed}, step {step}, by reference")
            _flat(session.run(fetches), expected, f"program {seed}, step {step}, {way}")


def _flat(found: list[np.ndarray], expected: np.ndarray, where: str) -> None:
    np.testing.assert_array_equal(np.concatenate([np.ravel(value) for value in found]), expected, where)
