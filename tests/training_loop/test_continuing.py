"""What a session that continues needs beside variables: the input's position, and random streams."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import penstock as tf


def estimator(directory: Path) -> Any:
    """What the hook needs of one."""
    config = SimpleNamespace(
        save_checkpoints_steps=2, save_checkpoints_secs=None, num_worker_replicas=1, keep_checkpoint_max=5
    )
    return SimpleNamespace(model_dir=str(directory), config=config)


class StartIterator(tf.train.SessionRunHook):
    def __init__(self, iterator: tf.data.Iterator) -> None:
        self.iterator = iterator

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self.iterator.initializer)


class LoseSession(tf.train.SessionRunHook):
    """Loses the session once, after `step`."""

    def __init__(self, step: int | None) -> None:
        self.step = step

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self.step is not None:
            self.step -= 1
            if self.step == 0:
                raise tf.errors.AbortedError(None, None, "lost")


def elements(directory: Path, steps: int, lose_at: int | None = None) -> list[int]:
    """The elements that `steps` more steps take."""
    with tf.Graph().as_default():
        iterator = tf.data.Dataset.range(100).shuffle(100, seed=1).make_initializable_iterator()
        element = iterator.get_next()
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([tf.assign_add(step, 1)]):
            fetch = tf.identity(element)
        hooks = [StartIterator(iterator), tf.data.experimental.CheckpointInputPipelineHook(estimator(directory))]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(directory), hooks=[*hooks, LoseSession(lose_at)], save_checkpoint_steps=2
        ) as session:
            return [int(session.run(fetch)) for _ in range(steps)]


def test_input_continues_where_the_checkpoint_was_written(tmp_path: Path) -> None:
    whole = elements(tmp_path / "whole", 20)
    assert elements(tmp_path / "parts", 7) + elements(tmp_path / "parts", 13) == whole
    assert (tmp_path / "parts" / "checkpoint_input").exists()


def test_input_of_a_lost_session_continues_from_its_checkpoint(tmp_path: Path) -> None:
    whole = elements(tmp_path / "whole", 20)
    # Step 7 was run, and the checkpoint is that of step 6: its element is taken again.
    assert elements(tmp_path / "lost", 19, lose_at=7) == whole[:19]


def test_a_position_of_another_step_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", True)
    elements(tmp_path, 4)
    for file in tmp_path.glob("input.ckpt-4.*"):
        file.unlink()
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        elements(tmp_path, 1)
    assert "There is no input position of step 4" in caplog.text


def draws(directory: Path, steps: int, lose_at: int | None = None, seed: int | None = 5) -> list[list[float]]:
    """The random numbers that `steps` more steps draw."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([tf.assign_add(step, 1)]):
            fetch = tf.concat([tf.random_normal([2], seed=seed), tf.nn.dropout(tf.ones([8]), 0.5, seed=seed)], 0)
        hooks = [tf.train.RandomStateHook(directory), LoseSession(lose_at)]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(directory), hooks=hooks, save_checkpoint_steps=2
        ) as session:
            return [session.run(fetch).tolist() for _ in range(steps)]


def test_random_streams_continue_where_the_checkpoint_was_written(tmp_path: Path) -> None:
    whole = draws(tmp_path / "whole", 20)
    assert draws(tmp_path / "parts", 7) + draws(tmp_path / "parts", 13) == whole
    assert draws(tmp_path / "lost", 19, lose_at=7) == whole[:19]
    assert len({tuple(numbers) for numbers in whole}) == 20


def test_random_streams_without_seeds_continue_too(tmp_path: Path) -> None:
    first = draws(tmp_path, 4, seed=None)
    for file in tmp_path.glob("*-4.*"):  # go back two steps
        file.unlink()
    tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "model.ckpt-2"))
    assert draws(tmp_path, 2, seed=None) == first[2:]


def test_no_more_random_states_are_kept_than_asked_for(tmp_path: Path) -> None:
    draws(tmp_path, 20)
    assert len(list(tmp_path.glob("random.ckpt-*.index"))) == 5
    draws(tmp_path, 2)
    assert len(list(tmp_path.glob("random.ckpt-*.index"))) == 5


def test_missing_and_damaged_random_states_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", True)
    first = draws(tmp_path, 4)
    for file in tmp_path.glob("random.ckpt-4.*"):
        file.unlink()
    assert draws(tmp_path, 2) == first[:2]
    assert "There are no random streams of step 4" in caplog.text
    with tf.Graph().as_default():
        wrong = tf.Variable(np.zeros(3, np.uint8), name="cpu/random_normal/RandomStandardNormal")
        with tf.Session() as session:
            session.run(wrong.initializer)
            tf.train.Saver([wrong]).save(session, str(tmp_path / "random.ckpt-6"), write_state=False)
    with pytest.raises(tf.errors.DataLossError, match="random stream of 'random_normal/RandomStandardNormal' cannot"):
        draws(tmp_path, 1)
