"""Models go from TensorFlow to Penstock and back, by meta graph and checkpoint, and train on as where they came from.

`python -m conformance.meta_graphs --tensorflow PYTHON`, where that Python has TensorFlow. `--record` keeps what
TensorFlow wrote for the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "data" / "meta_graphs.tar.gz"
STEPS = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tensorflow", default=os.environ.get("CONFORMANCE_TENSORFLOW"), help="a Python that has it")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.relative_to(ROOT)}")
    parser.add_argument("--do", nargs=3, metavar=("WHAT", "FRAMEWORK", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.do:
        what, framework, folder = args.do
        (write if what == "write" else go_on)(framework, Path(folder))
        return 0
    if not args.tensorflow:
        print("No --tensorflow given: tests/train/test_meta_graphs_of_tensorflow.py reads what it wrote once.")
        return 0
    pythons = {"tensorflow": args.tensorflow, "penstock": sys.executable}
    different = 0
    for here, there in (("tensorflow", "penstock"), ("penstock", "tensorflow")):
        with tempfile.TemporaryDirectory() as folder:
            for what, framework in (("write", here), ("go_on", here), ("go_on", there)):
                _in_process(pythons[framework], what, framework, folder)
            for model in sorted(Path(folder).iterdir()):
                expected, found = (json.loads((model / f"{name}.json").read_text()) for name in (here, there))
                same = np.allclose(expected, found, rtol=1e-4)
                different += not same
                print(f"{here} to {there}: {model.name}: {'the same' if same else f'{found} instead of {expected}'}")
                (model / f"{there}.json").unlink()
            if args.record and here == "tensorflow":
                with tarfile.open(RECORD, "w:gz") as archive:
                    archive.add(folder, "")
    return int(different > 0)


def _in_process(python: str, what: str, framework: str, folder: str) -> None:
    command = [python, "-m", "conformance.meta_graphs", "--do", what, framework, folder]
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=str(ROOT))
    if framework == "penstock":
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", str(ROOT))
    subprocess.run(command, check=True, env=environment, stderr=subprocess.DEVNULL, cwd=ROOT)


def _framework(name: str) -> Any:
    if name == "penstock":
        import penstock

        return penstock
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    return tensorflow


def write(framework: str, folder: Path) -> None:
    """Train each model for some steps and write it, in TensorFlow's format, with what to feed."""
    from conformance.meta_graph_models import MODELS

    tf = _framework(framework)
    for name, build in MODELS.items():
        prefix = folder / name / "model"
        prefix.parent.mkdir()
        with tf.Graph().as_default(), tf.Session() as session:
            feeds = build(tf)
            options: dict[str, Any] = {"sharded": name.startswith("sharded")}
            if framework == "penstock":
                options["write_version"] = "tensorflow"
            saver = tf.train.Saver(**options)
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            if _has_training(tf):
                _train(tf, session, feeds)
            saver.save(session, str(prefix), write_state=False)
        text = {key: [np.asarray(value).dtype.str, np.asarray(value).tolist()] for key, value in feeds.items()}
        prefix.with_name("feeds.json").write_text(json.dumps(text, default=bytes.decode))


def go_on(framework: str, folder: Path) -> None:
    """Train each model on, without its code, and write the losses."""
    tf = _framework(framework)
    for model in sorted(folder.iterdir()):
        (model / f"{framework}.json").write_text(json.dumps(losses(tf, model)))


def losses(tf: Any, model: Path) -> list[float]:
    """Those of further steps of a model in a folder."""
    given = json.loads((model / "feeds.json").read_text())
    feeds = {key: np.array(value, dtype) for key, (dtype, value) in given.items()}
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(model / "model.meta"))
        saver.restore(session, str(model / "model"))
        session.run(tf.tables_initializer())
        if not _has_training(tf):
            loss = tf.get_default_graph().get_tensor_by_name("loss:0")
            tf.train.GradientDescentOptimizer(0.01).minimize(loss, name="train")
        return _train(tf, session, feeds)


def _has_training(tf: Any) -> bool:
    return any(op.name == "train" for op in tf.get_default_graph().get_operations())


def _train(tf: Any, session: Any, feeds: dict[str, Any]) -> list[float]:
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    found = []
    for _ in range(STEPS):
        found.append(float(session.run("loss:0", feeds)))  # by itself: TensorFlow does not order it and the updates
        session.run("train", feeds)
    coordinator.request_stop()
    for thread in threads:
        thread.join(5)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
