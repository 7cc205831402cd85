"""Captured segments, on a device that records in host memory: what is captured, and that values are the same.

It records by remembering the call: a replay makes it again and copies into the tensors that it gave at first.
tests/devices/test_cuda.py has real graphs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import errors
from penstock.codegen.python import cuda_graphs as cuda_graphs, segment as segment_module
from penstock.codegen.python.cuda_graphs import MOST_RECORDINGS, RUNS_BEFORE, CapturedSegment
from penstock.devices import registry
from penstock.devices.device import Device, device_name
from penstock.graph.opdef import KernelDef, get_op
from penstock.runtime.resources import ResourceManager, VariableState
from penstock.tensor.dtypes import float32
from penstock.tensor.shapes import TensorShape


class HostRecorder:
    """Recording leaves variables as they were, as a GPU does, which runs nothing meanwhile.

    Those in `states`, that is, whose locks the segment holds: others may be changed by other threads.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.states: list[VariableState] = []
        self.recorded = 0
        self.replayed = 0
        self.at_once = 0

    def record(self, launch: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
        self.recorded += 1
        before = [(s, s.value, s.value.clone()) for s in self.states if s.lock._is_owned()]  # type: ignore[attr-defined]
        outputs = launch()
        for state, buffer, contents in before:
            if state.value is buffer:
                buffer.copy_(contents)

        def replay() -> None:
            self.at_once += 1
            assert self.at_once == 1
            for held, value in zip(outputs, launch(), strict=True):
                if isinstance(held, torch.Tensor):
                    held.copy_(value)
            self.replayed += 1
            self.at_once -= 1

        return replay, outputs


class HostGpu(Device):
    """A GPU in host memory, whose kernels are the CPU's."""

    def __init__(self) -> None:
        super().__init__(device_name("GPU", 0), "GPU", torch.device("cpu"), kernel_type="CPU")
        self.recorder = HostRecorder()

    @property
    def runs_anywhere(self) -> bool:
        return False


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> HostGpu:
    found = HostGpu()
    monkeypatch.setitem(registry._factories, "GPU", lambda config: [found])
    create = ResourceManager.variable

    def noted(self: ResourceManager, *args: Any) -> VariableState:
        state = create(self, *args)
        found.recorder.states.append(state)
        return state

    monkeypatch.setattr(ResourceManager, "variable", noted)
    return found


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        yield


STEPS = RUNS_BEFORE + 4


def training(optimizer: Any, resource: bool = False) -> tuple[Any, Any, list[dict[Any, Any]]]:
    """A step of a small network, its loss, and batches."""
    rng = np.random.default_rng(0)
    x, y = tf.placeholder(tf.float32, [8, 5]), tf.placeholder(tf.float32, [8, 3])
    with tf.variable_scope("net", use_resource=resource):
        hidden, shapes = x, [(5, 7), (7, 3)]
        for i, shape in enumerate(shapes):
            w = tf.get_variable(f"w{i}", initializer=rng.normal(size=shape).astype(np.float32))
            b = tf.get_variable(f"b{i}", initializer=np.zeros(shape[1], np.float32))
            hidden = tf.tanh(tf.matmul(hidden, w) + b)
    loss = tf.reduce_mean(tf.square(hidden - y))
    step = optimizer.minimize(loss)
    batches = [
        {x: rng.normal(size=(8, 5)).astype(np.float32), y: rng.normal(size=(8, 3)).astype(np.float32)}
        for _ in range(STEPS)
    ]
    return step, loss, batches


def losses(step: Any, loss: Any, batches: list[dict[Any, Any]]) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run([loss, step], batch)[0] for batch in batches]


OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.05),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01),
}


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_captured_training_step_gives_what_it_gives_uncaptured(
    name: str, resource: bool, gpu: HostGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, loss, batches = training(OPTIMIZERS[name](), resource)
    found = losses(step, loss, batches)
    assert gpu.recorder.recorded and gpu.recorder.replayed == gpu.recorder.recorded * (STEPS - RUNS_BEFORE)
    before = gpu.recorder.replayed
    monkeypatch.setenv("PENSTOCK_CUDA_GRAPHS", "off")
    assert found == losses(step, loss, batches)
    assert gpu.recorder.replayed == before and len(set(found)) == STEPS


def _run(session: tf.Session, fetch: Any, feed: dict[Any, Any] | None = None, times: int = STEPS) -> list[Any]:
    return [session.run(fetch, feed) for _ in range(times)]


def _source(session: tf.Session, fetch: Any, feeds: list[Any] | None = None) -> str:
    return session.explain(fetch, feeds or [])


def test_a_step_that_is_captured_whole_reads_its_variables_without_copying_them(
    gpu: HostGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_module, "copy_value", lambda value: pytest.fail("copied"))
    losses(*training(OPTIMIZERS["adam"]()))
    assert gpu.recorder.replayed


# --- what is captured -----------------------------------------------------------------------------------


def test_the_source_of_a_plan_says_which_segments_are_captured(gpu: HostGpu) -> None:
    x = tf.placeholder(tf.float32, [4, 4])
    y = tf.matmul(tf.matmul(x, x), x, name="before")
    z = tf.matmul(y, _draw([4, 4], name="draw"))
    z = tf.matmul(z, z, name="after")
    with tf.Session() as session:
        lines = [line.split(" -> ") for line in _source(session, z, [x]).splitlines() if line.startswith("segment")]
    assert [(gives, "(CUDA graph)" in head) for head, gives in lines] == [
        ("before:0", True), ("draw:0", False), ("after:0", True)
    ]  # fmt: skip


def _draw(shape: list[int], **kwargs: Any) -> Any:
    return get_op("RandomUniform")(tf.constant(shape), dtype=tf.float32, **kwargs)


def _uncaptured() -> dict[str, Callable[[], tuple[Any, dict[Any, Any]]]]:
    def random() -> tuple[Any, dict[Any, Any]]:
        return _draw([3]) + _draw([3]), {}

    def axis_fed() -> tuple[Any, dict[Any, Any]]:
        x, axis = tf.placeholder(tf.float32, [2, 2]), tf.placeholder(tf.int32, [])
        return tf.reduce_sum(tf.reduce_sum(x, axis, keepdims=True), axis), {x: np.ones((2, 2), np.float32), axis: 0}

    def client_code() -> tuple[Any, dict[Any, Any]]:
        once = tf.py_func(lambda: np.float32(1), [], tf.float32)
        return tf.py_func(lambda v: v, [once], tf.float32), {}

    def places() -> tuple[Any, dict[Any, Any]]:
        x = tf.placeholder(tf.bool, [3])
        return tf.where(tf.equal(tf.where(x), 1)), {x: np.array([True, False, True])}

    def text() -> tuple[Any, dict[Any, Any]]:
        x = tf.placeholder(tf.string, [2])
        return tf.reshape(tf.identity(tf.reshape(x, [2, 1])), [2]), {x: ["a", "b"]}

    def divisor_fed() -> tuple[Any, dict[Any, Any]]:
        x = tf.placeholder(tf.int32, [2])
        return (7 // x) // x, {x: np.array([1, 2], np.int32)}

    def branches() -> tuple[Any, dict[Any, Any]]:
        x = tf.placeholder(tf.bool, [])
        return tf.cond(x, lambda: tf.ones([2]) * 2.0, lambda: tf.zeros([2]) - 2.0), {x: True}

    return {f.__name__: f for f in (random, axis_fed, client_code, places, text, divisor_fed, branches)}


@pytest.mark.parametrize("name", _uncaptured())
def test_what_does_more_than_launch_is_not_captured(name: str, gpu: HostGpu) -> None:
    fetch, feed = _uncaptured()[name]()
    with tf.Session() as session:
        _run(session, fetch, feed)
        source = _source(session, fetch, list(feed))
    assert "GPU:0" in source and "(CUDA graph)" not in source
    assert not gpu.recorder.recorded


@pytest.mark.parametrize(
    ("kernel", "launches"),
    [
        (lambda n: lambda x: x + 1, True),
        (lambda n: lambda x: x + torch.scalar_tensor(1, device=x.device), True),
        (lambda n: lambda x: x + x.sum().item(), False),
        (lambda n: lambda x: x + 1 if x.sum() > 0 else x, False),
        (lambda n: lambda x: torch.from_numpy(x.numpy() + 1), False),
        (lambda n: lambda x: x + torch.tensor([1.0, 1.0], device=x.device), False),
        (lambda n: lambda x: torch.ones(2) + 0, False),
    ],
)
def test_a_kernel_that_reads_on_the_host_or_copies_from_it_is_not_captured(
    kernel: Any, launches: bool, gpu: HostGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(get_op("Sin"), "kernels", [KernelDef(("CPU", "GPU"), kernel, {}, frozenset())])
    x = tf.placeholder(tf.float32, [2])
    y = tf.sin(tf.sin(x))
    with tf.Session() as session:
        assert ("(CUDA graph)" in session.explain(y, [x])) == launches


def test_a_segment_is_captured_once_its_shapes_are_known(gpu: HostGpu) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.matmul(x, tf.matmul(x, x, transpose_a=True))
    rng = np.random.default_rng(0)
    with tf.Session() as session:
        for rows in (2, 5):  # the first shapes get a plan of their own, others the general one
            value = rng.normal(size=(rows, 3)).astype(np.float32)
            for found in _run(session, y, {x: value}):
                np.testing.assert_allclose(found, value @ (value.T @ value), rtol=1e-5)
    assert gpu.recorder.recorded == 1


def test_one_kernel_is_launched_as_it_is(gpu: HostGpu) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        _run(session, tf.sin(x), {x: [1.0, 2.0]})
    assert not gpu.recorder.recorded


def test_steps_on_a_cpu_have_nothing_of_it(gpu: HostGpu) -> None:
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [4, 4])
        y = tf.matmul(tf.matmul(x, x), x)
    with tf.Session() as session:
        _run(session, y, {x: np.eye(4)})
        assert "(CUDA graph)" not in _source(session, y, [x])
    assert not gpu.recorder.recorded


def test_what_comes_from_another_device_and_goes_there_is_copied_in_and_out(gpu: HostGpu) -> None:
    x = tf.placeholder(tf.float32, [3, 3])
    with tf.device("/cpu:0"):
        a = tf.reverse(x, [0])
    b = tf.matmul(tf.matmul(a, a), a)
    with tf.device("/cpu:0"):
        c = tf.reverse(b, [0])
    rng = np.random.default_rng(0)
    with tf.Session() as session:
        for _ in range(STEPS):
            value = rng.normal(size=(3, 3)).astype(np.float32)
            a_ = value[::-1]
            np.testing.assert_allclose(session.run(c, {x: value}), (a_ @ a_ @ a_)[::-1], rtol=1e-4)
    assert gpu.recorder.recorded == 1 and gpu.recorder.replayed == STEPS - RUNS_BEFORE


def test_a_mode_that_is_none_is_refused(gpu: HostGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CUDA_GRAPHS", "sometimes")
    with tf.Session() as session, pytest.raises(ValueError, match=r"one of auto, off, got 'sometimes'"):
        session.run(tf.random_uniform([2]))


# --- how it runs ----------------------------------------------------------------------------------------


def test_what_was_fetched_keeps_its_values(gpu: HostGpu) -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.matmul(tf.matmul(x, x), x)
    with tf.Session() as session:
        found = [session.run(y, {x: np.eye(2) * i}) for i in range(STEPS)]
    assert gpu.recorder.replayed
    for i, value in enumerate(found):
        np.testing.assert_array_equal(value, np.eye(2) * i**3)


def test_threads_take_turns_and_each_gets_its_own_values(gpu: HostGpu) -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.matmul(tf.matmul(x, x), x)
    count = tf.Variable(np.zeros((2, 2), np.float32), name="count")
    add = tf.assign_add(count, tf.matmul(tf.matmul(x, x), x), use_locking=True)
    wrong: list[Any] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(y, {x: np.eye(2)})  # threads that come at once for the first time would each make a plan
        session.run(add.op, {x: np.zeros((2, 2))})

        def work(seed: int) -> None:
            for i in range(40):
                value = np.eye(2) * (seed + i % 3)
                found = session.run(y, {x: value})
                session.run(add.op, {x: np.eye(2)})
                if not np.array_equal(found, value**3):
                    wrong.append((seed, i, found))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(session.run(count), np.eye(2) * 160)
    assert not wrong and gpu.recorder.recorded == 2 and gpu.recorder.replayed > 200


def test_a_replay_keeps_what_it_was_given_until_its_results_are_out() -> None:
    may_end, begun = threading.Event(), threading.Event()
    may_end.set()

    def run(x: torch.Tensor) -> tuple[Any, ...]:
        begun.set()
        may_end.wait(10)
        return (x + 1,)

    segment, recorder = _segment(run)
    for _ in range(STEPS):
        segment(torch.zeros(()))
    may_end.clear()
    begun.clear()
    found: dict[int, float] = {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: float(segment(torch.tensor(float(i)))[0])}))
        for i in (1, 2)
    ]
    threads[0].start()
    assert begun.wait(10)
    threads[1].start()
    threads[1].join(0.1)  # it waits for the first
    may_end.set()
    for thread in threads:
        thread.join()
    assert found == {1: 2, 2: 3} and recorder.recorded == 1


def test_traced_steps_and_those_with_a_deadline_run_node_by_node(gpu: HostGpu) -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.matmul(tf.matmul(x, x, name="first"), x)
    with tf.Session() as session:
        _run(session, y, {x: np.eye(2)})
        before, metadata = gpu.recorder.replayed, tf.RunMetadata()
        assert before
        full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: np.eye(2)}, options=full, run_metadata=metadata)
        session.run(y, {x: np.eye(2)}, options=tf.RunOptions(timeout_in_ms=60_000))
        assert gpu.recorder.replayed == before
    traced = [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert "first" in traced


def test_a_variable_without_a_value_is_the_same_error_and_may_get_one_later(gpu: HostGpu) -> None:
    v = tf.Variable(np.ones((2, 2), np.float32), name="v")
    y = tf.matmul(tf.matmul(v, v), v)
    with tf.Session() as session:
        for _ in range(RUNS_BEFORE + 2):
            with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v"):
                session.run(y)
        session.run(tf.global_variables_initializer())
        for found in _run(session, y):
            np.testing.assert_array_equal(found, np.full((2, 2), 4))


def test_a_variable_in_another_buffer_is_recorded_again_but_not_forever(gpu: HostGpu) -> None:
    v = tf.Variable(np.eye(2, dtype=np.float32), name="v")
    step = tf.assign_add(v, tf.matmul(tf.matmul(v, v), v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _run(session, step.op, times=RUNS_BEFORE)
        (state,) = {id(s): s for s in gpu.recorder.states}.values()
        for i in range(2 * MOST_RECORDINGS):
            state.value = torch.eye(2)
            session.run(step.op)
            session.run(step.op)
            np.testing.assert_array_equal(session.run(v), np.eye(2) * 10)
            assert gpu.recorder.recorded == min(i + 1, MOST_RECORDINGS)
        assert gpu.recorder.replayed == 2 * MOST_RECORDINGS


def test_where_recording_fails_the_segment_runs_as_before_for_good(
    gpu: HostGpu, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    record, tried = HostRecorder.record, []

    def fails(self: HostRecorder, launch: Callable[[], Any]) -> Any:
        tried.append(record(self, launch))
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(HostRecorder, "record", fails)
    v = tf.Variable(np.float32(0), name="v")
    step = tf.assign_add(v, tf.square(tf.sin(v) + 1.0))
    with tf.Session() as session, caplog.at_level(logging.WARNING, "penstock"):
        session.run(tf.global_variables_initializer())
        found = [float(session.run(step)) for _ in range(STEPS)]
    wanted = [np.float32(0)]
    for _ in range(STEPS):
        wanted.append(wanted[-1] + np.square(np.sin(wanted[-1]) + np.float32(1)))
    np.testing.assert_allclose(found, wanted[1:], rtol=1e-5)
    (message,) = [r.getMessage() for r in caplog.records]
    assert len(tried) == 1 and "runs without a CUDA graph: operation not permitted" in message


def _segment(run: Any, **given: Any) -> tuple[CapturedSegment, HostRecorder]:
    recorder = HostRecorder()
    recorder.states = list(given.get("states", ()))
    waiting = given.get("waiting", ())
    return CapturedSegment(run, recorder, torch.device("cpu"), recorder.states, waiting, "s"), recorder


def test_a_segment_that_replaces_a_buffer_is_not_captured_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    state = VariableState("v", float32, TensorShape([]))
    state.value = torch.zeros(())

    def run() -> tuple[Any, ...]:
        state.value = state.value + 1
        return (state.value,)

    segment, recorder = _segment(run, states=[state])
    with caplog.at_level(logging.WARNING, "penstock"):
        assert [float(segment()[0]) for _ in range(STEPS)] == list(range(1, STEPS + 1))
    assert recorder.recorded == 1 and len(caplog.records) == 1


def test_recording_waits_for_kernels_that_are_still_compiled() -> None:
    settled = [False]
    segment, recorder = _segment(lambda x: (x + 1,), waiting=[lambda: settled[0]])
    for _ in range(2 * RUNS_BEFORE):
        assert float(segment(torch.tensor(1.0))[0]) == 2
    assert not recorder.recorded
    settled[0] = True
    assert float(segment(torch.tensor(2.0))[0]) == 3 and recorder.replayed == 1


def test_values_of_other_shapes_and_places_run_as_they_are() -> None:
    segment, recorder = _segment(lambda x: (x + 1,))
    _ = [segment(torch.zeros(2)) for _ in range(STEPS)]
    before = recorder.replayed
    assert torch.equal(segment(torch.zeros(3))[0], torch.ones(3))
    assert segment(torch.zeros(2, dtype=torch.float64))[0].dtype == torch.float64
    assert segment(torch.zeros(2, device="meta"))[0].is_meta
    assert recorder.replayed == before and recorder.recorded == 1
    assert torch.equal(segment(torch.ones(2))[0], torch.full((2,), 2.0)) and recorder.replayed == before + 1


def test_clusters_are_captured_once_they_are_compiled(gpu: HostGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    x = tf.placeholder(tf.float32, [50])
    y = tf.reduce_sum(tf.exp(tf.sin(x) * x + 1.0))
    value = np.linspace(0, 1, 50, dtype=np.float32)
    with tf.Session() as session:
        for found in _run(session, y, {x: value}):
            np.testing.assert_allclose(found, np.exp(np.sin(value) * value + 1).sum(), rtol=1e-5)
        assert "compile_at_once" in _source(session, y, [x])
    assert gpu.recorder.recorded == 1


def test_the_least_number_of_kernels_counts_only_what_is_launched(gpu: HostGpu) -> None:
    assert cuda_graphs.LEAST == 2
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.identity(tf.identity(tf.matmul(x, tf.constant(np.eye(2, dtype=np.float32)))))
    with tf.Session() as session:
        _run(session, y, {x: np.eye(2)})
    assert not gpu.recorder.recorded
