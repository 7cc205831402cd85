"""Exchange checkpoints of objects with TensorFlow, both ways: `python -m conformance.object_checkpoints`.

TensorFlow 1.15 (under the Python named by --tensorflow or CONFORMANCE_TENSORFLOW) saves objects, which are restored
here into the same ones, with nothing left over on either side; and what is saved here it restores. Without it, the
checkpoints recorded in tests/data are restored. `--record` makes these anew.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from conformance.object_models import MODELS

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "data" / "object_checkpoints"
_SETTINGS = ("beta_1", "beta_2", "rho", "momentum", "decay", "learning_rate")
"""Numbers that are in variables in TensorFlow, and in some optimizers here in the graph: they keep their values."""
_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tensorflow", default=os.environ.get("CONFORMANCE_TENSORFLOW"), help="a Python that has it")
    parser.add_argument("--record", action="store_true", help=f"keep them in {RECORD.relative_to(ROOT)}")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)  # what TensorFlow is to do, and where
    args = parser.parse_args()
    if args.inside:
        import tensorflow as tf

        print("\n".join(_all(tf, *args.inside)))
        return 0
    import penstock as tf

    if not args.tensorflow:
        found = _all(tf, "check", RECORD)
    else:
        with tempfile.TemporaryDirectory() as folder:
            theirs, ours = Path(folder) / "theirs", Path(folder) / "ours"
            found = _inside(args.tensorflow, "save", theirs)
            found += _all(tf, "check", theirs)
            found += _all(tf, "save", ours)
            found += _inside(args.tensorflow, "check", ours)
            if args.record:
                shutil.rmtree(RECORD, ignore_errors=True)
                shutil.copytree(theirs, RECORD)
    print("\n".join([f"{len(MODELS)} sets of objects, {len(found)} differences.", *found]))
    return len(found) > 0


def _inside(python: str, what: str, folder: Path) -> list[str]:
    """What this script finds under TensorFlow."""
    command = [python, "-m", "conformance.object_checkpoints", "--inside", what, str(folder)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"TensorFlow could not {what}:\n{done.stderr[-3000:]}")
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def _all(tf: Any, what: str, folder: Any) -> list[str]:
    found = []
    for build in MODELS:
        prefix = Path(folder) / build.__name__
        found += save(tf, build, prefix) if what == "save" else check(tf, build, prefix)
    return found


def save(tf: Any, build: Any, prefix: Path) -> list[str]:
    """Save the objects, with a different value in each variable."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        checkpoint = tf.train.Checkpoint(**build(tf))
        session.run(tf.global_variables_initializer())
        _fill(tf, session, 1.5)
        checkpoint.save(str(prefix))
        (prefix.parent / "checkpoint").unlink()
    return []


def check(tf: Any, build: Any, prefix: Path) -> list[str]:
    """What differs when the objects are restored from a checkpoint of the other system, and saved again."""
    with tf.Graph().as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        tf.keras.backend.set_session(session)
        checkpoint = tf.train.Checkpoint(**build(tf))
        session.run(tf.global_variables_initializer())
        _fill(tf, session, 100.5)
        try:
            checkpoint.restore(f"{prefix}-1").assert_consumed().run_restore_ops()
        except Exception as error:
            return [f"{build.__name__}: {type(error).__name__}: {error}"]
        again = checkpoint.write(os.path.join(folder, "again"))
        old, new = (dict(_values(tf, path)) for path in (f"{prefix}-1", again))
    found = [f"{build.__name__}: {key} is on one side only" for key in sorted(old.keys() ^ new.keys())]
    common = sorted(old.keys() & new.keys())
    return found + [f"{build.__name__}: {key}" for key in common if not np.array_equal(old[key], new[key])]


def _fill(tf: Any, session: Any, start: float) -> None:
    for i, variable in enumerate(tf.global_variables()):
        if not any(name in variable.name for name in _SETTINGS):
            dtype = variable.dtype.base_dtype.as_numpy_dtype
            variable.load(np.full(variable.shape.as_list(), start + i, dtype), session)


def _values(tf: Any, prefix: str) -> Any:
    reader = tf.train.load_checkpoint(prefix)
    for key in reader.get_variable_to_shape_map():
        if key != _GRAPH:
            yield key, reader.get_tensor(key)


if __name__ == "__main__":
    sys.exit(main())
