from __future__ import annotations

import glob
import io
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
import penstock.logging
from penstock.checkpoint.writer import write_checkpoint


@pytest.fixture(autouse=True)
def messages(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What was logged so far."""
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", True)
    monkeypatch.setattr(penstock.logging, "_counts", Counter())  # of what is logged only a few times in a process
    caplog.set_level(logging.INFO, "penstock")
    return lambda: [record.getMessage() for record in caplog.records]


def counting() -> tf.Operation:
    """A step that counts."""
    step = tf.train.get_or_create_global_step()
    return tf.assign_add(step, 1)


def run(hooks: list[Any], steps: int | None, fetch: Any) -> None:
    with tf.train.MonitoredSession(hooks=hooks) as session:
        done = 0
        while not session.should_stop() and done != steps:
            session.run(fetch)
            done += 1


def events(directory: Path) -> list[Any]:
    tf.summary.FileWriterCache.clear()
    (path,) = glob.glob(str(directory / "events*"))
    return list(tf.train.summary_iterator(path))


def summaries(directory: Path) -> list[tuple[int, str, float]]:
    return [(event.step, v.tag, v.simple_value) for event in events(directory) for v in event.summary.value]


# --- timers ---------------------------------------------------------------------------------------------


def test_a_timer_triggers_after_so_many_steps() -> None:
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(5) and timer.last_triggered_step() is None
    assert timer.update_last_triggered_step(5) == (None, None)
    assert [timer.should_trigger_for_step(step) for step in (5, 6, 7, 8, 9)] == [False, False, False, True, True]
    assert timer.update_last_triggered_step(9)[1] == 4
    timer.reset()
    assert timer.should_trigger_for_step(9)


def test_a_timer_triggers_after_so_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    timer = tf.train.SecondOrStepTimer(every_secs=2)
    timer.update_last_triggered_step(1)
    monkeypatch.setattr(time, "time", lambda: 1001.9)
    assert not timer.should_trigger_for_step(2)
    monkeypatch.setattr(time, "time", lambda: 1002.0)
    assert timer.should_trigger_for_step(2) and not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(3) == (2.0, 2)


@pytest.mark.parametrize("arguments", [{}, {"every_secs": 1.0, "every_steps": 1}])
def test_a_timer_takes_seconds_or_steps(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="provide"):
        tf.train.SecondOrStepTimer(**arguments)


# --- logging --------------------------------------------------------------------------------------------


def test_values_are_logged_every_n_iterations(messages: Callable[[], list[str]]) -> None:
    step = tf.train.get_or_create_global_step()
    half = tf.assign_add(step, 1) / 2
    run([tf.train.LoggingTensorHook({"step": step, "half": half}, every_n_iter=2)], 5, half)
    found = [message for message in messages() if message.startswith("half")]
    assert [re.sub(r"\d\.\d{3} sec", "T", message) for message in found] == [
        "half = 0.5, step = 1",
        "half = 1.5, step = 3 (T)",
        "half = 2.5, step = 5 (T)",
    ]


def test_tensors_can_be_given_by_name_and_logged_at_the_end_only(messages: Callable[[], list[str]]) -> None:
    tf.constant(42.0, name="answer")
    run([tf.train.LoggingTensorHook(["answer:0", "answer"], at_end=True)], 3, counting())
    assert [message for message in messages() if "answer" in message] == ["answer:0 = 42.0, answer = 42.0"]


def test_logged_numbers_have_the_digits_of_their_type(messages: Callable[[], list[str]]) -> None:
    run([tf.train.LoggingTensorHook({"tenth": tf.constant(0.1)}, at_end=True)], 1, counting())
    assert messages().count("tenth = 0.1") == 1


def test_a_formatter_makes_the_message(messages: Callable[[], list[str]]) -> None:
    hook = tf.train.LoggingTensorHook({"x": tf.constant(0.5)}, every_n_secs=100, formatter=lambda v: f"{v['x']:.0%}")
    run([hook], 3, counting())
    assert messages().count("50%") == 1


def test_arguments_of_logging_hooks_are_checked() -> None:
    for wrong in ({}, {"every_n_iter": 1, "every_n_secs": 1.0}, {"every_n_iter": 0}):
        with pytest.raises(ValueError, match=r"exactly one of|invalid every_n_iter=0"):
            tf.train.LoggingTensorHook(["x"], **wrong)
    tf.split(tf.zeros([2]), 2, name="parts")
    with pytest.raises(ValueError, match="parts is ambiguous"):
        tf.train.LoggingTensorHook(["parts"], every_n_iter=1).begin()
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="graph attribute that is equal to current graph"):
        tf.train.LoggingTensorHook([other], every_n_iter=1).begin()


# --- stopping -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "last"), [({"last_step": 7}, 7), ({"num_steps": 3}, 8)])
def test_a_loop_stops_at_a_step(arguments: dict[str, int], last: int) -> None:
    step = tf.train.get_or_create_global_step()
    scaffold = tf.train.Scaffold(init_fn=lambda scaffold, session: step.load(5, session))
    creator = tf.train.ChiefSessionCreator(scaffold)
    fetch = tf.assign_add(step, 1)
    with tf.train.MonitoredSession(creator, [tf.train.StopAtStepHook(**arguments)]) as session:
        while not session.should_stop():
            found = session.run(fetch)
    assert found == last


def test_runs_that_do_not_train_do_not_count_towards_the_last_step() -> None:
    step = tf.train.get_or_create_global_step()
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=1)]) as session:
        for _ in range(3):
            session.run(step)
        assert not session.should_stop()


def test_a_stop_hook_needs_one_argument_and_a_global_step() -> None:
    for wrong in ({}, {"num_steps": 1, "last_step": 1}):
        with pytest.raises(ValueError, match="num_steps"):
            tf.train.StopAtStepHook(**wrong)
    with pytest.raises(RuntimeError, match="Global step should be created to use StopAtStepHook"):
        tf.train.StopAtStepHook(last_step=1).begin()


def test_nan_ends_a_loop_with_an_error_or_without() -> None:
    loss = tf.constant(np.nan)
    fetch = counting()
    with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
        run([tf.train.NanTensorHook(loss)], None, fetch)
    run([tf.train.NanTensorHook(loss, fail_on_nan_loss=False)], None, fetch)


def test_a_worker_waits_for_the_global_step(monkeypatch: pytest.MonkeyPatch) -> None:
    step = tf.train.get_or_create_global_step()
    with tf.train.SingularMonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(2)]) as session:
        raw, slept = session.raw_session(), []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            step.load(len(slept), raw)

        monkeypatch.setattr(time, "sleep", sleep)
        session.run(step)
        session.run(step)
    assert len(slept) == 2


# --- steps per second -----------------------------------------------------------------------------------


def test_steps_per_second_are_logged_and_summarised(messages: Callable[[], list[str]], tmp_path: Path) -> None:
    run([tf.train.StepCounterHook(every_n_steps=3, output_dir=tmp_path)], 10, counting())
    found = [float(message.removeprefix("global_step/sec: ")) for message in messages() if "/sec" in message]
    assert len(found) == 3
    assert [(step, tag) for step, tag, _ in summaries(tmp_path)] == [(step, "global_step/sec") for step in (4, 7, 10)]
    assert [value for *_, value in summaries(tmp_path)] == pytest.approx(found, rel=1e-4)


def test_a_global_step_that_stands_still_is_reported(messages: Callable[[], list[str]]) -> None:
    step = tf.train.get_or_create_global_step()
    run([tf.train.StepCounterHook()], 3, step)
    assert any("It seems that global step" in message for message in messages())


# --- final ops, feeds -----------------------------------------------------------------------------------


def test_final_ops_run_at_the_end() -> None:
    step, x = tf.train.get_or_create_global_step(), tf.placeholder(tf.int64)
    hook = tf.train.FinalOpsHook({"sum": step + x}, final_ops_feed_dict={x: 10})
    run([hook], 3, tf.assign_add(step, 1))
    assert hook.final_ops_values == {"sum": 13}


def test_a_final_op_that_needs_more_input_is_explained(messages: Callable[[], list[str]]) -> None:
    element = tf.data.Dataset.range(2).make_one_shot_iterator().get_next()
    with pytest.raises(tf.errors.OutOfRangeError):
        run([tf.train.FinalOpsHook(element)], None, element)
    assert any("read more input" in message for message in messages())


def test_a_feed_function_feeds_each_step() -> None:
    x = tf.placeholder(tf.float32)
    double = x * 2
    values = iter([1.0, 2.0])
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: next(values)})]) as session:
        assert [session.run(double), session.run(double)] == [2, 4]


# --- checkpoints ----------------------------------------------------------------------------------------


class Listener(tf.train.CheckpointSaverListener):
    def __init__(self, stop_at: int | None = None) -> None:
        self.calls: list[tuple[str, int]] = []
        self.stop_at = stop_at

    def begin(self) -> None:
        self.calls.append(("begin", -1))

    def before_save(self, session: tf.Session, global_step_value: int) -> None:
        self.calls.append(("before", global_step_value))

    def after_save(self, session: tf.Session, global_step_value: int) -> bool:
        self.calls.append(("after", global_step_value))
        return global_step_value == self.stop_at

    def end(self, session: tf.Session, global_step_value: int) -> None:
        self.calls.append(("end", global_step_value))


def test_checkpoints_are_saved_at_the_start_every_n_steps_and_at_the_end(tmp_path: Path) -> None:
    listener = Listener()
    saver = tf.train.Saver([counting_step()])
    hook = tf.train.CheckpointSaverHook(tmp_path, save_steps=2, saver=saver, listeners=[listener])
    run([hook], 3, counting())
    saves = [(what, step) for step in (0, 2, 3) for what in ("before", "after")]
    assert listener.calls == [("begin", -1), *saves, ("end", 3)]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-3")
    assert tf.train.load_variable(str(tmp_path / "model.ckpt-2"), "global_step") == 2
    assert (tmp_path / "graph.pbtxt").exists() and (tmp_path / "model.ckpt-2.meta").exists()
    kinds = [kind for event in events(tmp_path) if (kind := event.WhichOneof("what")) != "file_version"]
    graph = ["graph_def", "meta_graph_def"]
    # as in TensorFlow: the graph when the writer is made, and when it has been finished
    assert kinds == [*graph, *graph, "session_log", "session_log", "session_log"]


def counting_step() -> Any:
    return tf.train.get_or_create_global_step()


def test_the_last_step_is_not_saved_twice(tmp_path: Path) -> None:
    listener = Listener()
    hook = tf.train.CheckpointSaverHook(
        tmp_path, save_steps=2, saver=tf.train.Saver([counting_step()]), listeners=[listener], save_graph_def=False
    )
    run([hook], 2, counting())
    assert [step for what, step in listener.calls if what == "after"] == [0, 2]
    assert not (tmp_path / "graph.pbtxt").exists() and not list(tmp_path.glob("*.meta"))


def test_a_listener_can_end_the_loop(tmp_path: Path) -> None:
    step = counting_step()
    hook = tf.train.CheckpointSaverHook(
        tmp_path, save_steps=1, saver=tf.train.Saver([step]), listeners=[Listener(stop_at=4)]
    )
    run([hook], None, counting())
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-4")


def test_a_checkpoint_hook_finds_the_only_saver(tmp_path: Path) -> None:
    counting_step()
    hook = tf.train.CheckpointSaverHook(tmp_path, save_steps=1)
    with pytest.raises(RuntimeError, match="No items in collection savers"):
        hook._get_saver()
    run([hook], 1, counting())  # the scaffold adds one
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item in collection savers"):
        tf.train.CheckpointSaverHook(tmp_path, save_steps=1)._get_saver()


def test_a_checkpoint_hook_takes_a_saver_or_a_scaffold(tmp_path: Path) -> None:
    saver = tf.train.Saver([counting_step()])
    with pytest.raises(ValueError, match="both saver and scaffold"):
        tf.train.CheckpointSaverHook(tmp_path, save_steps=1, saver=saver, scaffold=tf.train.Scaffold())


class OwnCheckpointSaver(tf.train.CheckpointSaverHook):
    """As programs write them: with a copy of TensorFlow's first `__init__`, and parts of what it does."""

    def __init__(self, checkpoint_dir: str, saver: Any) -> None:
        self._saver, self._scaffold, self._listeners = saver, None, []
        self._checkpoint_dir = checkpoint_dir
        self._save_path = f"{checkpoint_dir}/own.ckpt"
        self._timer = tf.train.SecondOrStepTimer(every_steps=2)

    def begin(self) -> None:
        self._summary_writer = tf.summary.FileWriterCache.get(self._checkpoint_dir)
        self._global_step_tensor = tf.train.get_global_step()


def test_hooks_can_be_subclassed_by_what_they_are_made_of(tmp_path: Path) -> None:
    run([OwnCheckpointSaver(str(tmp_path), tf.train.Saver([counting_step()]))], 3, counting())
    assert tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths == [
        str(tmp_path / f"own.ckpt-{n}") for n in (0, 2, 3)
    ]


# --- summaries ------------------------------------------------------------------------------------------


def test_summaries_are_saved_every_n_steps(tmp_path: Path) -> None:
    step = counting_step()
    train = tf.assign_add(step, 1)
    ops = [tf.summary.scalar("a", train), tf.summary.scalar("b", -train)]
    run([tf.train.SummarySaverHook(save_steps=8, output_dir=tmp_path, summary_op=ops)], 20, train)
    expected = [(n, tag, value) for n in (1, 9, 17) for tag, value in (("a", n), ("b", -n))]
    assert summaries(tmp_path) == expected
    starts = [event.step for event in events(tmp_path) if event.session_log.status == tf.SessionLog.START]
    assert starts == [1]


def test_a_summary_hook_takes_the_scaffolds_summaries(tmp_path: Path) -> None:
    train = counting()
    tf.summary.scalar("a", train)
    scaffold = tf.train.Scaffold()
    hook = tf.train.SummarySaverHook(save_secs=1000, output_dir=tmp_path, scaffold=scaffold)
    with tf.train.SingularMonitoredSession([hook], scaffold) as session:
        session.run(train)
        session.run(train)
    assert summaries(tmp_path) == [(1, "a", 1)]
    for wrong in ({}, {"scaffold": scaffold, "summary_op": train}):
        with pytest.raises(ValueError, match="Exactly one of scaffold or summary_op"):
            tf.train.SummarySaverHook(save_steps=1, **wrong)


def test_summaries_at_the_end_of_an_evaluation(tmp_path: Path) -> None:
    step = counting_step()
    tf.summary.scalar("at_end", step)
    hook = tf.contrib.training.SummaryAtEndHook(tmp_path)
    run([hook], 4, tf.assign_add(step, 1))
    assert summaries(tmp_path) == [(4, "at_end", 4)]


def test_an_evaluation_stops_after_n_batches(messages: Callable[[], list[str]]) -> None:
    batch = tf.Variable(0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    hook = tf.contrib.training.StopAfterNEvalsHook(40)
    hook._set_evals_completed_tensor(tf.assign_add(batch, 1))
    run([hook], None, tf.constant(0))
    assert [m for m in messages() if "Evaluation" in m] == [f"Evaluation [{n}/40]" for n in range(4, 41, 4)]


# --- traces ---------------------------------------------------------------------------------------------


def test_a_profiler_hook_writes_timelines(tmp_path: Path) -> None:
    x = tf.Variable(tf.ones([4, 4]))
    train = tf.group(tf.assign(x, tf.matmul(x, x, name="square") / 4), counting())
    run([tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path), show_memory=True)], 6, train)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [f"timeline-{n}.json" for n in (2, 4, 6)]
    trace = json.loads((tmp_path / "timeline-4.json").read_text())["traceEvents"]
    (square,) = (event for event in trace if event.get("args", {}).get("name") == "square")
    assert square["name"] == "MatMul" and square["ph"] == "X" and square["dur"] >= 1
    lives = {"N", "O", "D"}  # with show_memory, TensorFlow's timelines have those of tensors
    assert {event["ph"] for event in trace} == {"M", "X", "s", "t", "C"} | lives
    assert [event.tagged_run_metadata.tag for event in events(tmp_path) if event.HasField("tagged_run_metadata")] == [
        "step_2",
        "step_4",
        "step_6",
    ]


def test_timelines_go_to_the_current_directory_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run([tf.train.ProfilerHook(save_steps=2)], 2, counting())
    assert (tmp_path / "timeline-2.json").exists() and len(events(tmp_path)) > 1


# --- progress -------------------------------------------------------------------------------------------


def test_a_progress_hook_shows_steps_and_values() -> None:
    file = io.StringIO()
    train = counting()
    hook = tf.train.ProgressHook({"loss": 1 / tf.cast(train, tf.float32)}, total_steps=4, seconds=0, file=file)
    run([hook], 4, train)
    lines = file.getvalue().splitlines()
    assert [re.sub(r"[\d.e+]+ steps/s, .*(left|in all)", "R", line) for line in lines] == [
        "step 1/4 (25%), R, loss = 1",
        "step 2/4 (50%), R, loss = 0.5",
        "step 3/4 (75%), R, loss = 0.3333",
        "step 4/4 (100%), R, loss = 0.25",
        "step 4/4 (100%), R, loss = 0.25",
    ]


def test_a_progress_hook_asks_for_nothing_between_displays() -> None:
    train = counting()
    hook = tf.train.ProgressHook([train], seconds=1000, file=io.StringIO())
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(train)
        assert hook.before_run(None) is None


# --- writing in the background --------------------------------------------------------------------------


@pytest.mark.parametrize(("bad_step", "last_step"), [(2, 3), (6, 6)])
def test_a_checkpoint_that_was_not_written_is_reported_by_the_next_save_or_the_end(
    bad_step: int, last_step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(prefix: Any, *args: Any, **kwargs: Any) -> None:
        if str(prefix).endswith(f"-{bad_step}"):
            raise tf.errors.ResourceExhaustedError(None, None, "the disk is full")
        write_checkpoint(prefix, *args, **kwargs)

    monkeypatch.setattr("penstock.ops.checkpoint.write_checkpoint", write)
    train = counting()
    hook = tf.train.CheckpointSaverHook(tmp_path, save_steps=2, saver=tf.train.Saver([counting_step()]))
    done = []
    with (
        pytest.raises(tf.errors.ResourceExhaustedError, match="the disk is full"),
        tf.train.MonitoredSession(hooks=[hook]) as session,
    ):
        for _ in range(6):
            done.append(int(session.run(train)))
    assert done == list(range(1, last_step + 1))
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / f"model.ckpt-{bad_step - 2}")


def test_the_last_checkpoint_has_been_written_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*args: Any, **kwargs: Any) -> None:
        time.sleep(0.2)
        write_checkpoint(*args, **kwargs)

    monkeypatch.setattr("penstock.ops.checkpoint.write_checkpoint", write)
    hook = tf.train.CheckpointSaverHook(tmp_path, save_steps=2, saver=tf.train.Saver([counting_step()]))
    run([hook], 2, counting())
    assert (tmp_path / "model.ckpt-2.index").exists()
    assert "model.ckpt-2" in (tmp_path / "checkpoint").read_text()
