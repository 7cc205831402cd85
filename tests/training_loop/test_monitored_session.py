from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf


class Recorder(tf.train.SessionRunHook):
    """Records its calls; requests and raises what it is told to."""

    def __init__(self, request: Any = None, fail: list[Exception | None] | None = None) -> None:
        self.calls: list[str] = []
        self.request = request
        self.fail = fail or []
        self.values: list[Any] = []
        self.sessions: list[Any] = []

    def begin(self) -> None:
        self.calls.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.calls.append("created")
        self.sessions.append(session)

    def before_run(self, run_context: Any) -> Any:
        self.calls.append("before")
        return self.request

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls.append("after")
        self.values.append(run_values)
        if self.fail and (error := self.fail.pop(0)) is not None:
            raise error

    def end(self, session: Any) -> None:
        self.calls.append("end")


def aborted() -> tf.errors.AbortedError:
    return tf.errors.AbortedError(None, None, "preempted")


def counting() -> Any:
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


# --- hooks beside steps ---------------------------------------------------------------------------------


def test_hooks_are_called_in_order() -> None:
    x, hook = tf.constant(1), Recorder()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(x) == 1
        assert session.graph is tf.get_default_graph() and session.graph.finalized
    assert hook.calls == ["begin", "created", "before", "after", "end"]
    assert session.should_stop() and session.graph is None and not tf.get_default_graph().finalized


def test_hooks_get_the_values_that_they_ask_for() -> None:
    x = tf.placeholder(tf.float32)
    y = x + 1
    asking = Recorder(tf.train.SessionRunArgs({"y": y, "both": [x, y]}))
    feeding = Recorder(tf.train.SessionRunArgs(None, feed_dict={x: 2.0}))
    with tf.train.MonitoredSession(hooks=[asking, feeding]) as session:
        assert session.run([y]) == [3]
    assert asking.values[0].results == {"y": 3, "both": [2, 3]} and feeding.values[0].results is None


def test_a_tensor_is_fed_once() -> None:
    x = tf.placeholder(tf.float32)
    feeding = Recorder(tf.train.SessionRunArgs(None, feed_dict={x: 2.0}))
    with (
        tf.train.MonitoredSession(hooks=[feeding]) as session,
        pytest.raises(RuntimeError, match="Same tensor is fed by a SessionRunHook and user"),
    ):
        session.run(x, feed_dict={x: 1.0})
    other = Recorder(tf.train.SessionRunArgs(None, feed_dict={x: 2.0}))
    with (
        tf.train.MonitoredSession(hooks=[feeding, other]) as session,
        pytest.raises(RuntimeError, match="Same tensor is fed by two hooks"),
    ):
        session.run(x)


def test_options_of_hooks_and_the_caller_are_merged() -> None:
    x = tf.Variable(1.0)
    tracing = Recorder(tf.train.SessionRunArgs(None, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)))
    plain = Recorder()
    given = tf.RunOptions(timeout_in_ms=60000)
    with tf.train.MonitoredSession(hooks=[tracing, plain]) as session:
        session.run(x, options=given)
    for hook in (tracing, plain):
        assert hook.values[0].options.timeout_in_ms == 60000
        assert hook.values[0].options.trace_level == tf.RunOptions.FULL_TRACE
        assert hook.values[0].run_metadata.step_stats.dev_stats
    assert given.trace_level == 0


def test_hooks_that_ask_for_no_trace_get_empty_metadata() -> None:
    x, hook = tf.constant(1), Recorder()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(x)
    assert not hook.values[0].run_metadata.ByteSize() and not hook.values[0].options.ByteSize()


def test_a_hook_ends_the_loop() -> None:
    class Stop(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            assert run_context.original_args.fetches is x and run_context.session.run(x) == 1
            run_context.request_stop()

    x = tf.constant(1)
    with tf.train.MonitoredSession(hooks=[Stop()]) as session:
        session.run(x)
        assert session.should_stop()
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
            session.run(x)


def test_hooks_that_ask_for_nothing_leave_the_step_as_it_is() -> None:
    x = tf.Variable(1.0)
    y = x + 1
    with tf.train.SingularMonitoredSession(hooks=[Recorder()]) as session:
        raw = session.raw_session()
        before = len(raw._runners)
        for _ in range(3):
            session.run(y)
        assert len(raw._runners) == before + 1  # one plan for all steps
        (plan, _) = list(raw._runners.values())[-1]
        assert plan.source == raw._runner(y, None)[0].source


# --- the end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "over"), StopIteration()])
def test_the_end_of_the_input_ends_the_block(error: Exception) -> None:
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]):
        raise error
    assert hook.calls[-1] == "end"


def test_other_errors_leave_the_block_and_hooks_are_not_ended() -> None:
    hook = Recorder()
    with pytest.raises(ValueError, match="mine"), tf.train.MonitoredSession(hooks=[hook]) as session:
        raise ValueError("mine")
    assert "end" not in hook.calls and session.should_stop()
    assert not tf.get_default_graph().finalized


def test_the_session_is_closed_once() -> None:
    session = tf.train.MonitoredSession()
    session.close()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.close()


def test_an_error_of_a_queue_runner_reaches_the_client() -> None:
    queue = tf.FIFOQueue(10, tf.float32)
    bad = queue.enqueue(tf.check_numerics(tf.Variable(np.inf), "broken input"))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [bad]))
    element = queue.dequeue()
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match="broken input"),
        tf.train.MonitoredSession() as session,
    ):
        while not session.should_stop():
            session.run(element)


def test_the_end_of_a_queue_ends_the_loop() -> None:
    (item,) = tf.train.slice_input_producer([tf.range(5)], num_epochs=2, shuffle=False)
    found = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop():
            found.append(int(session.run(item)))
    assert found == [0, 1, 2, 3, 4] * 2


def test_threads_have_a_grace_period_to_end() -> None:
    release = threading.Event()

    class Starter(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            self.thread = threading.Thread(target=release.wait, args=(60,))
            coord.register_thread(self.thread)
            self.thread.start()

    hook = Starter()
    with tf.train.MonitoredSession(hooks=[hook], stop_grace_period_secs=0.05):
        pass
    assert hook.thread.is_alive()
    release.set()
    hook.thread.join()


# --- recovery -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_session_continues_from_the_latest_checkpoint(kind: Callable[..., Exception], tmp_path: Path) -> None:
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)
    losing = Recorder(fail=[None, None, None, kind(None, None, "lost"), None, None])
    found = []
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), hooks=[losing], save_checkpoint_steps=2, save_checkpoint_secs=None
    ) as session:
        for _ in range(6):
            found.append(int(session.run(train)))
    # the step that lost the session had been saved as 4, and is run again
    assert found == [1, 2, 3, 5, 6, 7]
    assert losing.calls.count("created") == 2 and losing.calls.count("begin") == 1
    assert losing.sessions[0] is not losing.sessions[1]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-7")


def test_without_a_checkpoint_a_lost_session_begins_anew() -> None:
    train = counting()
    with tf.train.MonitoredSession(hooks=[Recorder(fail=[None, aborted()])]) as session:
        assert [session.run(train), session.run(train)] == [1, 1]


def test_a_singular_session_does_not_recover() -> None:
    train = counting()
    with (
        pytest.raises(tf.errors.AbortedError, match="preempted"),
        tf.train.SingularMonitoredSession(hooks=[Recorder(fail=[aborted()])]) as session,
    ):
        session.run(train)


def test_a_session_lost_while_it_is_created_is_created_again() -> None:
    failures = [aborted(), tf.errors.UnavailableError(None, None, "not yet")]

    def init_fn(scaffold: Any, session: Any) -> None:
        if failures:
            raise failures.pop()

    creator = tf.train.ChiefSessionCreator(tf.train.Scaffold(init_fn=init_fn))
    train = counting()
    with tf.train.MonitoredSession(creator) as session:
        assert session.run(train) == 1
    assert not failures


def test_a_session_lost_by_a_thread_is_made_anew() -> None:
    coordinators = []

    class Coordinators(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            coordinators.append(coord)

    train = counting()
    with tf.train.MonitoredSession(hooks=[Coordinators()]) as session:
        assert session.run(train) == 1
        coordinators[0].request_stop(aborted())
        assert not session.should_stop()
        assert session.run(train) == 1
    assert len(coordinators) == 2


# --- step functions -------------------------------------------------------------------------------------


def test_a_step_function_runs_steps_with_hooks_and_without() -> None:
    train, hook = counting(), Recorder()

    def step_fn(step_context: Any) -> Any:
        step_context.session.run(train)
        return step_context.run_with_hooks(train)

    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run_step_fn(step_fn) == 2
    assert hook.calls.count("before") == 1


def test_a_step_function_ends_the_loop() -> None:
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            session.run_step_fn(lambda step_context: step_context.request_stop())
    assert hook.calls[-1] == "end"


def test_a_step_function_gets_the_new_session_after_a_failure() -> None:
    failures, sessions = [aborted()], []

    def step_fn(step_context: Any) -> Any:
        sessions.append(step_context.session)
        if failures:
            raise failures.pop()
        return step_context.session.run(train)

    train = counting()
    with tf.train.MonitoredSession() as session:
        assert session.run_step_fn(step_fn) == 1
    assert sessions[0] is not sessions[1]


def test_a_step_function_takes_a_step_context() -> None:
    with tf.train.MonitoredSession() as session, pytest.raises(ValueError, match="`step_fn` may either have one"):
        session.run_step_fn(lambda context: None)


# --- training sessions ----------------------------------------------------------------------------------


def hooks_of(**arguments: Any) -> list[Any]:
    tf.train.get_or_create_global_step()
    with tf.train.MonitoredTrainingSession(**arguments) as session:
        return [type(hook).__name__ for hook in session._hooks]


def test_a_training_session_has_the_usual_hooks(tmp_path: Path) -> None:
    usual = ["StepCounterHook", "SummarySaverHook", "CheckpointSaverHook"]
    mine = Recorder()
    assert hooks_of(checkpoint_dir=str(tmp_path), hooks=[mine], chief_only_hooks=[mine]) == [
        "Recorder",
        *usual,
        "Recorder",
    ]
    assert hooks_of() == []
    assert hooks_of(checkpoint_dir=str(tmp_path), save_checkpoint_secs=None) == usual[:2]
    assert hooks_of(checkpoint_dir=str(tmp_path), save_summaries_steps=0, log_step_count_steps=None) == usual[2:]
    assert hooks_of(summary_dir=str(tmp_path)) == usual[:2]


def test_a_training_session_continues_where_the_last_one_ended(tmp_path: Path) -> None:
    weight = tf.Variable(1.0)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(weight * weight, step)
    for last in (5, 10):
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), hooks=[tf.train.StopAtStepHook(last_step=last)]
        ) as session:
            while not session.should_stop():
                session.run(train)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-10")
    assert tf.train.load_variable(str(tmp_path), "Variable") == pytest.approx(0.8**10)


def test_a_worker_waits_for_the_chief() -> None:
    train = counting()
    target = "inproc://waiting_worker"
    tf.Session.reset(target)
    found = []

    def work(graph: tf.Graph) -> None:
        with graph.as_default(), tf.train.MonitoredTrainingSession(target, is_chief=False) as session:
            found.append(int(session.run(train)))

    with tf.train.MonitoredTrainingSession(target):
        worker = threading.Thread(target=work, args=(tf.get_default_graph(),))
        worker.start()
        worker.join()
    assert found == [1]


def test_a_worker_does_not_wait_forever() -> None:
    tf.train.get_or_create_global_step()
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"not ready after waiting 0\.01 secs"):
        tf.train.MonitoredTrainingSession("inproc://no_chief_here", is_chief=False, max_wait_secs=0.01)


# --- scaffolds and creators -----------------------------------------------------------------------------


def test_a_scaffold_creates_what_is_missing_once() -> None:
    tf.Variable(1)
    first, second = tf.train.Scaffold().finalize(), None
    assert tf.get_default_graph().finalized
    second = tf.train.Scaffold().finalize()
    for piece in ("init_op", "ready_op", "ready_for_local_init_op", "local_init_op", "saver"):
        assert getattr(first, piece) is getattr(second, piece) is not None
    assert first.summary_op is first.init_fn is first.init_feed_dict is None
    assert tf.get_collection(tf.GraphKeys.INIT_OP) == [first.init_op]


def test_a_scaffold_takes_pieces_from_another() -> None:
    x = tf.placeholder(tf.int32, [])
    variable = tf.Variable(x)
    calls: list[Any] = []
    first = tf.train.Scaffold(
        init_op=variable.initializer, init_feed_dict={x: 7}, init_fn=lambda scaffold, session: calls.append(scaffold)
    )
    second = tf.train.Scaffold(copy_from_scaffold=first, summary_op=x)
    assert second.init_op is first.init_op and second.summary_op is x
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(second)) as session:
        assert session.run(variable) == 7
    assert calls == [second]
    with pytest.raises(TypeError, match="not a Scaffold"):
        tf.train.Scaffold(copy_from_scaffold=7)


def test_a_scaffold_does_not_choose_between_several() -> None:
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    with pytest.raises(RuntimeError, match='More than one item in the collection "init_op"'):
        tf.train.Scaffold().finalize()


def test_a_session_creator_restores_a_given_checkpoint(tmp_path: Path) -> None:
    variable = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(variable.assign(5.0))
        path = tf.train.Saver().save(session, str(tmp_path / "given"))
    with tf.train.SingularMonitoredSession(checkpoint_filename_with_path=path) as session:
        assert session.run(variable) == session.raw_session().run(variable) == 5


def test_a_session_creator_must_create() -> None:
    with pytest.raises(NotImplementedError, match="create_session is not implemented"):
        tf.train.SessionCreator().create_session()


# --- basic loops ----------------------------------------------------------------------------------------


def test_a_basic_loop_calls_a_function_until_the_supervisor_stops(tmp_path: Path) -> None:
    train = counting()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path))
    found, failures = [], [aborted()]

    def step(session: Any, scale: int, offset: int = 0) -> None:
        if failures:
            raise failures.pop()
        found.append(int(session.run(train)) * scale + offset)
        if len(found) == 3:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, step, args=[10], kwargs={"offset": 1})
    assert found == [11, 21, 31]


def test_a_queue_that_outlives_a_lost_session_stays_open() -> None:
    """As one on a parameter server does when a worker is lost: the next session fills it again."""
    queue = tf.FIFOQueue(2, tf.int32, shared_name="outlives")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)]))
    taken = queue.dequeue()
    tf.train.get_or_create_global_step()
    lost = iter([True])

    class _Loses(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            if next(lost, False):
                raise aborted()

    with tf.train.MonitoredTrainingSession("inproc://outlives", hooks=[_Loses()], log_step_count_steps=None) as session:
        assert [session.run(taken) for _ in range(5)] == [7] * 5
