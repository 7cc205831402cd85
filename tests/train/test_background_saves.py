"""Saves in the background: a step waits only for the copy of the variables, and what depends on the files for them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.ops import checkpoint


class Gate:
    """Stands in front of the writing of checkpoints; `open` lets it go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.reached = threading.Event()
        self.writes: list[str] = []
        self.fails: Exception | None = None
        write = checkpoint.write_checkpoint

        def wait_and_write(prefix: Any, *args: Any, **kwargs: Any) -> None:
            self.reached.set()
            assert self.open.wait(30)
            if self.fails is not None:
                raise self.fails
            write(prefix, *args, **kwargs)
            self.writes.append(prefix)

        monkeypatch.setattr(checkpoint, "write_checkpoint", wait_and_write)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.open.set()
    tf.train.latest_checkpoint(".")


def opened_soon(gate: Gate) -> None:
    threading.Timer(0.1, gate.open.set).start()


def test_steps_go_on_while_a_checkpoint_is_written_and_it_has_the_values_of_the_save(
    tmp_path: Path, session: tf.Session, gate: Gate
) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    saver = tf.train.Saver()
    session.run(w.initializer)
    prefix = saver.save(session, str(tmp_path / "model"), global_step=1, background=True)
    assert prefix == str(tmp_path / "model-1")
    session.run(w.assign([7.0, 8.0]))
    assert gate.reached.wait(30)
    assert not (tmp_path / "checkpoint").exists()
    assert not gate.writes
    opened_soon(gate)
    assert tf.train.latest_checkpoint(str(tmp_path)) == prefix
    saver.restore(session, prefix)
    assert session.run(w).tolist() == [1.0, 2.0]
    assert (tmp_path / "model-1.meta").exists()


def test_a_saver_may_save_in_the_background_by_default(tmp_path: Path, session: tf.Session, gate: Gate) -> None:
    w = tf.Variable(1.0, name="w")
    saver = tf.train.Saver(background=True)
    session.run(w.initializer)
    saver.save(session, str(tmp_path / "model"))
    assert gate.reached.wait(30)
    assert not gate.writes
    gate.open.set()
    saver.save(session, str(tmp_path / "now"), background=False)
    assert gate.writes == [str(tmp_path / "model"), str(tmp_path / "now")]


@pytest.mark.parametrize("look", ["exists", "state", "read", "mtimes", "last_checkpoints"])
def test_whatever_looks_for_checkpoints_waits(look: str, tmp_path: Path, session: tf.Session, gate: Gate) -> None:
    w = tf.Variable(3.0, name="w")
    saver = tf.train.Saver()
    session.run(w.initializer)
    prefix = saver.save(session, str(tmp_path / "model"), background=True)
    opened_soon(gate)
    found = {
        "exists": lambda: tf.train.checkpoint_exists(prefix),
        "state": lambda: tf.train.get_checkpoint_state(str(tmp_path)).model_checkpoint_path == prefix,
        "read": lambda: tf.train.load_variable(prefix, "w") == 3.0,
        "mtimes": lambda: len(tf.train.get_checkpoint_mtimes([prefix])) == 1,
        "last_checkpoints": lambda: saver.last_checkpoints == [prefix],
    }
    assert found[look]()


def test_at_most_one_write_is_under_way_and_old_checkpoints_go_after_the_new_one_is_there(
    tmp_path: Path, session: tf.Session, gate: Gate
) -> None:
    w = tf.Variable(0.0, name="w")
    saver = tf.train.Saver(max_to_keep=2)
    session.run(w.initializer)
    opened_soon(gate)
    prefixes = [saver.save(session, str(tmp_path / "m"), global_step=i, background=True) for i in range(4)]
    assert gate.writes[:3] == prefixes[:3]
    assert saver.last_checkpoints == prefixes[2:]
    assert [tf.train.checkpoint_exists(prefix) for prefix in prefixes] == [False, False, True, True]


def test_an_error_is_raised_by_the_next_save_once_and_the_state_file_stays(
    tmp_path: Path, session: tf.Session, gate: Gate
) -> None:
    w = tf.Variable(0.0, name="w")
    saver = tf.train.Saver()
    session.run(w.initializer)
    gate.open.set()
    good = saver.save(session, str(tmp_path / "good"))
    gate.fails = errors.ResourceExhaustedError(None, None, "cannot save checkpoint: no space left on device")
    saver.save(session, str(tmp_path / "lost"), background=True)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="no space"):
        saver.save(session, str(tmp_path / "next"))
    gate.fails = None
    assert tf.train.latest_checkpoint(str(tmp_path)) == good
    assert saver.last_checkpoints == [good]
    again = saver.save(session, str(tmp_path / "next"))
    assert tf.train.latest_checkpoint(str(tmp_path)) == again


def test_an_error_is_raised_when_the_session_closes_but_not_instead_of_another(tmp_path: Path, gate: Gate) -> None:
    w = tf.Variable(0.0, name="w")
    saver = tf.train.Saver()
    gate.fails = errors.DataLossError(None, None, "input/output error")
    gate.open.set()
    session = tf.Session()
    session.run(w.initializer)
    saver.save(session, str(tmp_path / "m"), background=True)
    with pytest.raises(tf.errors.DataLossError, match="input/output"):
        session.close()
    session.close()
    with pytest.raises(KeyError, match="mine"), tf.Session() as session:
        session.run(w.initializer)
        saver.save(session, str(tmp_path / "m"), background=True)
        raise KeyError("mine")


def test_a_failed_write_does_not_keep_its_session(tmp_path: Path, gate: Gate) -> None:
    gate.fails = errors.DataLossError(None, None, "input/output error")
    gate.open.set()
    w = tf.Variable(0.0, name="w")
    saver = tf.train.Saver()
    session = tf.Session()
    session.run(w.initializer)
    saver.save(session, str(tmp_path / "m"), background=True)
    saver.last_checkpoints  # noqa: B018 - waits
    here = weakref.ref(session)
    del session
    gc.collect()
    assert here() is None


def test_the_end_of_the_process_waits_for_the_checkpoint(tmp_path: Path) -> None:
    program = """
import sys, time
import penstock as tf
from penstock.ops import checkpoint
w = tf.Variable([1.0] * 1000, name="w")
saver = tf.train.Saver()
session = tf.Session()
session.run(w.initializer)
write = checkpoint.write_checkpoint
def slowly(*args, **kwargs):
    time.sleep(0.5)
    write(*args, **kwargs)
checkpoint.write_checkpoint = slowly
saver.save(session, sys.argv[1], background=True)
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "m")], check=True, env=os.environ, timeout=120)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m")
    assert tf.train.load_variable(str(tmp_path / "m"), "w").sum() == 1000


def test_sharded_saves_are_merged_in_the_background(tmp_path: Path, session: tf.Session) -> None:
    a = tf.Variable(np.arange(4.0), name="a")
    tf.Variable(b"text", name="b", dtype=tf.string)
    saver = tf.train.Saver(sharded=True)
    session.run(tf.global_variables_initializer())
    prefix = saver.save(session, str(tmp_path / "m"), background=True)
    session.run(a.assign(a * 0))
    saver.restore(session, prefix)
    assert session.run(a).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert sorted(p.name for p in tmp_path.iterdir() if "temp" in p.name) == []


def test_a_finished_graphs_meta_graph_is_written_in_the_background_too(
    tmp_path: Path, session: tf.Session, gate: Gate
) -> None:
    w = tf.Variable(0.0, name="w")
    saver = tf.train.Saver()
    session.run(w.initializer)
    session.graph.finalize()
    for step in range(2):
        gate.open.clear()
        prefix = saver.save(session, str(tmp_path / "m"), global_step=step, background=True)
        assert not os.path.exists(prefix + ".meta")
        gate.open.set()
        assert tf.train.checkpoint_exists(prefix)
        with tf.Graph().as_default(), tf.Session() as other:
            tf.train.import_meta_graph(prefix + ".meta").restore(other, prefix)
            assert other.run("w:0") == 0.0
