"""Exchange checkpoints of objects with TensorFlow, both ways: `python -m conformance.object_checkpoints`.

TensorFlow 1.15 (under the Python named by --tensorflow or CONFORMANCE_TENSORFLOW_1) saves objects, which are restored
here into the same ones, with nothing left over on either side; and what is saved here it restores. Without it, the
checkpoints recorded in tests/data are restored. `--record` makes these anew.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from conformance.inside import ROOT, options, run_inside
from conformance.object_models import MODELS

MODULE = "conformance.object_checkpoints"
RECORD = ROOT / "tests" / "data" / "object_checkpoints"
_SETTINGS = ("beta_1", "beta_2", "rho", "momentum", "decay", "learning_rate")
"""Numbers that are in variables in TensorFlow, and in some optimizers here in the graph: they keep their values."""
_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def main() -> int:
    args = options(__doc__, RECORD, "CONFORMANCE_TENSORFLOW_1")
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
            found = run_inside(args.tensorflow, MODULE, "save", theirs)
            found += _all(tf, "check", theirs)
            found += _all(tf, "save", ours)
            found += run_inside(args.tensorflow, MODULE, "check", ours)
            if args.record:
                shutil.rmtree(RECORD, ignore_errors=True)
                shutil.copytree(theirs, RECORD)
    print("\n".join([f"{len(MODELS)} sets of objects, {len(found)} differences.", *found]))
    return len(found) > 0


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
