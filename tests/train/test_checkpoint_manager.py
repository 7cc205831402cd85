"""tf.train.CheckpointManager keeps the latest checkpoints of a directory, across programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as tf


def manager(folder: Path, **options: Any) -> Any:
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    made = tf.train.CheckpointManager(checkpoint, str(folder), **{"max_to_keep": 2, **options})
    checkpoint.restore(made.latest_checkpoint).initialize_or_restore()
    return made


def found(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.index"))


def test_the_latest_are_kept_and_numbered_by_the_counter(session: tf.Session, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    made = manager(folder)
    assert made.latest_checkpoint is None and made.checkpoints == []
    paths = [made.save() for _ in range(3)]
    assert paths == [str(folder / f"ckpt-{i}") for i in (1, 2, 3)]
    assert made.checkpoints == paths[1:] and made.latest_checkpoint == paths[2]
    assert found(folder) == ["ckpt-2.index", "ckpt-3.index"]
    assert tf.train.latest_checkpoint(folder) == paths[2]


def test_another_program_goes_on_with_the_directory(tmp_path: Path) -> None:
    for expected in (["ckpt-1.index"], ["ckpt-1.index", "ckpt-2.index"], ["ckpt-2.index", "ckpt-3.index"]):
        with tf.Graph().as_default(), tf.Session():
            manager(tmp_path).save()
        assert found(tmp_path) == expected


def test_a_program_gives_its_own_numbers_and_saves_again_under_one(session: tf.Session, tmp_path: Path) -> None:
    step = tf.Variable(40, dtype="int64")
    session.run(step.initializer)
    made = manager(tmp_path, max_to_keep=2, checkpoint_name="model")
    made.save(checkpoint_number=7)
    made.save(checkpoint_number=step)
    made.save(7)  # now the newest
    made.save(8)
    assert [Path(path).name for path in made.checkpoints] == ["model-7", "model-8"]
    assert session.run(made._checkpoint.save_counter) == 4


def test_one_of_those_that_are_too_many_stays_for_every_period(session: tf.Session, tmp_path: Path) -> None:
    made = manager(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=1e-9)
    for _ in range(3):
        made.save()
    assert len(found(tmp_path)) == 3
    assert [Path(path).name for path in made.checkpoints] == ["ckpt-3"]


def test_max_to_keep_is_positive_or_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="positive integer"):
        tf.train.CheckpointManager(tf.train.Checkpoint(), str(tmp_path), 0)
