"""Training that is killed at any moment, and goes on, ends with the weights of training that never was."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from tests.training_loop import kill_program

Program = Callable[[Path, float], None]

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["penstock", "tests.training_loop.kill_program"])


def weights(directory: Path) -> dict[str, np.ndarray]:
    reader = tf.train.load_checkpoint(str(directory))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def run(program: Program, directory: Path, kill_after: float | None) -> bool:
    """Whether the program ended by itself. `kill_after`: seconds from its first step."""
    directory.mkdir(exist_ok=True)
    started = directory / "started"
    started.unlink(missing_ok=True)
    process = SERVER.Process(target=program, args=(directory, 0.0 if kill_after is None else 0.002))
    process.start()
    if kill_after is not None:
        while not started.exists() and process.is_alive():
            time.sleep(0.001)
        process.join(kill_after)
        process.kill()
    process.join()
    return process.exitcode == 0


@pytest.fixture(autouse=True)
def deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the programs; their server gets the variables that are there when it starts."""
    monkeypatch.setenv("TF_DETERMINISTIC_OPS", "1")
    monkeypatch.setenv("PENSTOCK_COMPILE", "auto")  # as users have it


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", [kill_program.train, kill_program.train_estimator])
def test_killed_training_ends_with_the_weights_of_training_that_was_not(
    program: Program, kills: int, tmp_path: Path
) -> None:
    assert run(program, tmp_path / "whole", None)
    chance = random.Random(kills)
    for kill in range(kills):
        if run(program, tmp_path / "killed", chance.uniform(0, 0.0075 * kill_program.STEPS / kills)):
            (tmp_path / "killed").rename(tmp_path / f"ended{kill}")  # and the next one begins anew
    assert run(program, tmp_path / "killed", None)
    expected, found = weights(tmp_path / "whole"), weights(tmp_path / "killed")
    assert expected["global_step"] == kill_program.STEPS and found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
