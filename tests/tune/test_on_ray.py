"""Trials on a Ray that is started for the search."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

if importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed (pip install 'penstock[cluster]')", allow_module_level=True)

PROGRAM = """
import argparse, os
import penstock.tune

parser = argparse.ArgumentParser()
parser.add_argument("--how")
how = parser.parse_args().how
if how == "raises":
    raise ValueError("too large")
if how == "killed":
    os.kill(os.getpid(), 9)
for step in range(5):
    penstock.tune.report(step + 0.5, step)
"""


def test_trials_run_on_ray_as_they_do_in_processes(tmp_path: Path) -> None:
    """In a process of its own: Ray cannot be told to use tokens once it is imported."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "space.yaml").write_text("how: [raises, killed, well]\n")
    words = ["tune", "program.py", "--space", "space.yaml", "--trials", "5", "--parallel", "2", "--on", "ray"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    found = subprocess.run(
        [sys.executable, "-m", "penstock", *words, "--sampler", "random", "--seed", "1"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    study = optuna.load_study(study_name="program", storage=f"sqlite:///{tmp_path}/tune/program/study.db")
    assert {trial.params["how"] for trial in study.trials} == {"raises", "killed", "well"}
    for trial in study.trials:
        error = {"raises": "ValueError: too large", "killed": "was killed by SIGKILL"}.get(trial.params["how"])
        assert trial.user_attrs.get("error") == error
        assert (trial.value, len(trial.intermediate_values)) == ((None, 0) if error else (4.5, 5))
        log = Path(trial.user_attrs["folder"]) / "log.txt"
        assert ("too large" in log.read_text()) == (trial.params["how"] == "raises")
