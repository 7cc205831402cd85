"""Tests and benchmarks of graphs (TF: tf.test.TestCase, tf.test.Benchmark)."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
import torch
from absl.testing import absltest

from penstock.client.checked_threads import CapturedWrites, CheckedThread, captured
from penstock.client.comparisons import Comparisons
from penstock.export import export
from penstock.graph.default_session import get_default_session
from penstock.graph.default_stacks import default_graphs
from penstock.graph.graph import Graph
from penstock.graph.scopes import DEFAULT_GRAPH_SEED, get_default_graph, reset_default_graph, set_random_seed
from penstock.ops.control_flow.nest import flatten
from penstock.session.session import Session


@export("test.TestCase")
class TestCase(Comparisons):
    """A test case with a fresh graph, and the same seeds, for each test, and comparisons of arrays (TF:
    tf.test.TestCase)."""

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._cached: dict[Graph, Session] = {}

    def setUp(self) -> None:
        super().setUp()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        default_graphs.stack.clear()  # of graphs that an earlier test made the default and failed in
        reset_default_graph()
        set_random_seed(DEFAULT_GRAPH_SEED)

    @contextlib.contextmanager
    def session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, **_: Any
    ) -> Iterator[Session]:
        """A default session on `graph` (the default graph), closed at the end."""
        graph = graph or get_default_graph()
        with graph.as_default(), Session(graph=graph, config=config) as opened:
            yield opened

    @contextlib.contextmanager
    def cached_session(self, graph: Graph | None = None, config: Any = None, **_: Any) -> Iterator[Session]:
        """As `session`, but the session of a graph stays open, with its variables, until the test ends."""
        graph = graph or get_default_graph()
        if graph not in self._cached:
            self._cached[graph] = Session(graph=graph, config=config)
            self.addCleanup(self._cached[graph].close)
        with graph.as_default(), self._cached[graph].as_default():
            yield self._cached[graph]

    def test_session(self, graph: Graph | None = None, config: Any = None, **_: Any) -> Any:
        """`cached_session` without a graph, and `session` with one. (unittest takes the name for that of a test.)"""
        if self._testMethodName == "test_session":
            self.skipTest("not a test")
        return self.cached_session(config=config) if graph is None else self.session(graph, config)

    def get_temp_dir(self) -> str:
        """A directory for this test, deleted after it."""
        if not hasattr(self, "_temp_dir"):
            self._temp_dir = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, self._temp_dir, ignore_errors=True)
        return self._temp_dir

    def evaluate(self, tensors: Any) -> Any:
        """The value of `tensors` in the default session, or else in that of `cached_session`."""
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as session:
            return session.run(tensors)

    def captureWritesToStream(self, stream: Any) -> AbstractContextManager[CapturedWrites]:
        """What the block, and what it starts, writes to a file such as sys.stdout: `.contents()` has it after it."""
        return captured(stream, self.get_temp_dir())

    def checkedThread(
        self, target: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> CheckedThread:
        """A thread whose error fails the test that joins it (TF's method)."""
        thread = CheckedThread(self, target, args, kwargs or {})
        self.addCleanup(thread.check_joined)
        return thread


@export("test.Benchmark")
class Benchmark:
    """A class whose methods `benchmark…` time something, run by `main` with --benchmarks (TF: tf.test.Benchmark)."""

    _classes: ClassVar[list[type[Benchmark]]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Benchmark._classes.append(cls)

    def _caller(self) -> str:
        """Class and method of the benchmark that is running."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_locals.get("self") is self and frame.f_code.co_name.startswith("benchmark"):
                return f"{type(self).__name__}.{frame.f_code.co_name}"
            frame = frame.f_back  # type: ignore[assignment]
        return type(self).__name__

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: Any = None,
    ) -> None:
        """Print one line of JSON with the given values; times in seconds for one iteration, throughput in MB/s."""
        entry: dict[str, Any] = {"name": name or self._caller(), "iters": iters, "cpu_time": cpu_time}
        entry |= {"wall_time": wall_time, "throughput": throughput, "extras": extras, "metrics": metrics}
        print(json.dumps({key: value for key, value in entry.items() if value is not None}), flush=True)

    def run_op_benchmark(
        self,
        sess: Session,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run `op_or_tensor` `min_iters` times after `burn_iters` others, report the median, and return it.

        mbs: megabytes that one run handles, for the throughput. For tensors, only the computation is timed, not the
        transfer of values to the client. Traces and memory are not stored.
        """
        fetched = flatten(op_or_tensor)
        operations = [getattr(item, "op", item) for item in fetched]
        for _ in range(burn_iters):
            sess.run(operations, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(operations, feed_dict)
            times.append(time.perf_counter() - start)
        median = statistics.median(times) if times else 0.0
        found: dict[str, Any] = {"iters": min_iters, "wall_time": median, "extras": extras or {}}
        if mbs and median:
            found["throughput"] = mbs / median
        found["name"] = name or self._caller()
        self.report_benchmark(**found)
        return found

    def evaluate(self, tensors: Any) -> Any:
        """The value of `tensors` in the default session."""
        session = get_default_session()
        if session is None:
            raise ValueError("evaluate() needs a default session")
        return session.run(tensors)


def _run_benchmarks(pattern: str) -> None:
    """Run each `benchmark…` method whose "Class.method" matches, each in a new graph."""
    for kind in Benchmark._classes:
        for method in sorted(dir(kind)):
            if method.startswith("benchmark") and re.search(pattern, f"{kind.__name__}.{method}"):
                with Graph().as_default():
                    getattr(kind(), method)()


@export("test.main")
def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program's main module, its flags parsed, and end the process (TF: tf.test.main).

    With --benchmarks=REGEX among the arguments, run the matching benchmarks ("all": every one) instead.
    """
    given = sys.argv if argv is None else argv
    wanted = [argument.removeprefix("--benchmarks=") for argument in given if argument.startswith("--benchmarks=")]
    if wanted:
        _run_benchmarks("" if wanted[-1] == "all" else wanted[-1])
    else:
        absltest.main(**({} if argv is None else {"argv": argv}))


@export("test.get_temp_dir")
def get_temp_dir() -> str:
    """A new directory for the files of a test (TF: tf.test.get_temp_dir)."""
    return tempfile.mkdtemp()


@export("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Whether the installed torch was built with CUDA (TF: tf.test.is_built_with_cuda)."""
    return torch.backends.cuda.is_built()


@export("test.is_gpu_available")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Whether there is a CUDA device of at least that capability (TF: tf.test.is_gpu_available)."""
    if not torch.cuda.is_available():
        return False
    return min_cuda_compute_capability is None or torch.cuda.get_device_capability() >= min_cuda_compute_capability


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """ "/device:GPU:0", or "" without one (TF: tf.test.gpu_device_name)."""
    return "/device:GPU:0" if is_gpu_available() else ""
