"""What the scripts that exchange checkpoints have in common: their options, and their half that runs in TensorFlow."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def options(description: str | None, record: Path, variable: str = "CONFORMANCE_TENSORFLOW") -> argparse.Namespace:
    """tensorflow: a Python, or None; record: whether `record` is made anew; inside: what to do in TensorFlow, where.
    variable: of the environment, that names the Python where --tensorflow is not given."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--tensorflow", default=os.environ.get(variable), help="a Python that has it")
    parser.add_argument("--record", action="store_true", help=f"keep some in {record.relative_to(ROOT)}")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def run_inside(python: str, module: str, what: str, folder: Path) -> list[str]:
    """The lines that the module prints with --inside, in a process of a Python that has TensorFlow."""
    command = [python, "-m", module, "--inside", what, str(folder)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", env=environment)
    if done.returncode:
        raise RuntimeError(f"TensorFlow could not {what}:\n{done.stderr[-3000:]}")
    return [line for line in done.stdout.splitlines() if line]
