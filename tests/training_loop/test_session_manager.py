"""`SessionManager`: when it restores, initialises and waits, and what it says when a session is not ready."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import penstock as tf


def _manager(**given) -> tf.train.SessionManager:  # type: ignore[no-untyped-def]
    ready = tf.report_uninitialized_variables()
    return tf.train.SessionManager(**{"ready_op": ready, "recovery_wait_secs": 0.05} | given)


def _saved(directory: Path, value: float, path: str = "model") -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(value, name="v")
        session.run(v.initializer)
        return tf.train.Saver({"v": v}).save(session, str(directory / path))


def test_a_session_without_a_checkpoint_is_initialised(tmp_path: Path) -> None:
    fed = tf.placeholder(tf.float32, [])
    v, w = tf.Variable(fed, name="v"), tf.Variable(2.0, name="w")
    with _manager().prepare_session(
        "", v.initializer, tf.train.Saver(), str(tmp_path), init_feed_dict={fed: 5.0},
        init_fn=lambda session: session.run(w.initializer),
    ) as session:  # fmt: skip
        assert session.run([v, w]) == [5.0, 2.0]


def test_the_latest_checkpoint_of_a_directory_replaces_initialisation(tmp_path: Path) -> None:
    _saved(tmp_path, 7.0)
    v = tf.Variable(1.0, name="v")
    called: list[object] = []
    saver = tf.train.Saver()
    with _manager().prepare_session("", v.initializer, saver, str(tmp_path), init_fn=called.append) as session:
        assert session.run(v) == 7.0
    assert not called
    assert saver.last_checkpoints == [str(tmp_path / "model")]


def test_a_checkpoint_can_be_given_by_its_path_but_not_with_a_directory(tmp_path: Path) -> None:
    path = _saved(tmp_path, 7.0)
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with _manager().prepare_session("", saver=saver, checkpoint_filename_with_path=path) as session:
        assert session.run(v) == 7.0
    with pytest.raises(ValueError, match="Can not provide both checkpoint_dir and checkpoint_filename_with_path"):
        _manager().prepare_session("", None, saver, str(tmp_path), path)


def test_a_session_waits_for_a_checkpoint_as_long_as_it_is_told(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    manager, saver = _manager(), tf.train.Saver()
    late = threading.Timer(0.3, _saved, (tmp_path, 7.0))
    late.start()
    arguments = (v.initializer, saver, str(tmp_path), None, True)
    with manager.prepare_session("", *arguments) as session:
        assert session.run(v) == 7.0
    late.join()
    arguments = (v.initializer, saver, str(tmp_path / "none"), None, True, 0.1)
    with manager.prepare_session("", *arguments) as session:
        assert session.run(v) == 1.0


def test_what_is_not_ready_after_initialisation_is_named() -> None:
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")
    with pytest.raises(RuntimeError, match=r"did not make model ready.*Init op: v/Assign.*not initialized: w"):
        _manager().prepare_session("", v.initializer)
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        _manager().prepare_session("")
    manager = _manager(local_init_op=w.initializer, ready_for_local_init_op=tf.report_uninitialized_variables([v, w]))
    with pytest.raises(RuntimeError, match=r"did not make model ready for local_init.*not initialized: w"):
        manager.prepare_session("", v.initializer)
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        _manager(ready_for_local_init_op=manager)


def test_the_local_initialisation_runs_in_each_session_that_is_ready_for_it(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(v + 1.0, name="w", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    manager = _manager(local_init_op=w.initializer, ready_for_local_init_op=tf.report_uninitialized_variables([v]))
    with manager.prepare_session("", v.initializer) as session:
        assert session.run(w) == 2.0
    _saved(tmp_path, 7.0)
    with manager.prepare_session("", v.initializer, tf.train.Saver([v]), str(tmp_path)) as session:
        assert session.run(w) == 8.0


def test_recovering_says_whether_a_checkpoint_made_the_session_ready(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver([v])
    session, ready = _manager().recover_session("", saver, str(tmp_path))
    assert not ready
    session.close()
    _saved(tmp_path, 7.0)
    session, ready = _manager().recover_session("", saver, str(tmp_path))
    assert ready
    assert session.run(v) == 7.0
    session.close()
    tf.Variable(1.0, name="w")
    session, ready = _manager().recover_session("", saver, str(tmp_path))
    assert not ready
    session.close()


def test_a_waiting_session_is_there_when_another_has_initialised_its_variables() -> None:
    v = tf.Variable(3.0, name="v")
    manager, target = _manager(), "inproc://waiting"
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"not ready after waiting 0.1 secs"):
        manager.wait_for_session(target, max_wait_secs=0.1)
    chief = tf.Session(target)
    late = threading.Timer(0.3, chief.run, (v.initializer,))
    late.start()
    with manager.wait_for_session(target, max_wait_secs=60) as session:
        assert session.run(v) == 3.0
    late.join()
    chief.close()


def test_a_session_that_cannot_be_prepared_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    close = tf.Session.close
    monkeypatch.setattr(tf.Session, "close", lambda session: (closed.append(session), close(session)))

    def fail(session: tf.Session) -> None:
        raise KeyError("no data")

    tf.Variable(1.0)
    with pytest.raises(KeyError, match="no data"):
        _manager().prepare_session("", init_fn=fail)
    assert len(closed) == 1
