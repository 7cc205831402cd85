"""With how many threads a step runs, and what the client's own code sees of that."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import compiled
from penstock.graph.opdef import registered_ops
from penstock.graph.step_graph import StepGraph
from penstock.passes.prune import prune
from penstock.runtime.plan import Observer, Plan
from penstock.runtime.threads import LEAST, QUIET, WEIGHTS, suited, work_on

CPU = torch.device("cpu")
THREADS = 2
MEDIUM = LEAST // 2  # work for which threads would be used, and are not worth it


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    with tf.Graph().as_default():
        yield
    torch.set_num_threads(before)


def graph_of(*fetches: Any) -> StepGraph:
    return prune([], list(fetches), [])


def work(*fetches: Any) -> float:
    return work_on(graph_of(*fetches), CPU)


def constant(*shape: int) -> Any:
    return tf.constant(np.ones(shape, np.float32))


def plan_of(session: Any, fetches: Any, feeds: dict[Any, Any]) -> Plan:
    plan: Plan = session._make_plan(list(feeds), [fetches], [])
    return plan


class Counting(Observer):
    """Notes the number of threads that each node finds."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def __call__(self, node: Any) -> None:
        self.threads.add(torch.get_num_threads())


def threads_in_a_step(fetch: Any, feeds: dict[Any, Any]) -> set[int]:
    with tf.Session() as session:
        observer = Counting()
        plan_of(session, fetch, feeds).run_observed(list(feeds.values()), observer)
        return observer.threads


def test_a_step_of_small_nodes_runs_with_one_thread() -> None:
    x = tf.placeholder(tf.float32, [32, 32])
    value = np.ones((32, 32), np.float32)
    assert threads_in_a_step(tf.tanh(tf.matmul(x, x)), {x: value}) == {1}


def test_a_step_with_one_large_node_runs_with_all() -> None:
    x = tf.placeholder(tf.float32, [128, 128])
    value = np.ones((128, 128), np.float32)
    assert threads_in_a_step(tf.reduce_sum(tf.matmul(x, x)), {x: value}) == {THREADS}


def test_a_small_loop_on_the_dataflow_executor_runs_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "dataflow")
    x = tf.placeholder(tf.float32, [32, 32])
    looped = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.matmul(y, y)), [0, x])[1]
    assert threads_in_a_step(looped, {x: np.eye(32, dtype=np.float32)}) == {1}


@pytest.mark.parametrize(("side", "large"), [(40, False), (64, True)])
def test_products_gain_from_threads_from_64_cubed_on(side: int, large: bool) -> None:
    assert (work(tf.matmul(constant(side, side), constant(side, side))) >= LEAST) is large


@pytest.mark.parametrize("elements", [100, LEAST - 1, LEAST])
def test_sums_of_tensors_are_counted_by_their_elements(elements: int) -> None:
    assert work(constant(elements) + 1.0) == elements


def test_an_exponential_is_worth_sixteen_additions() -> None:
    assert work(tf.exp(constant(100))) == 16 * work(constant(100) + 1.0)


def test_views_and_names_are_no_work_and_updates_of_variables_are() -> None:
    assert work(tf.reshape(tf.identity(constant(LEAST)), [2, -1])) == 0
    variable = tf.Variable(np.ones(LEAST, np.float32))
    assert work(tf.assign_add(variable, variable)) >= LEAST


def test_a_node_of_unknown_shape_may_be_large_and_a_feed_is_no_work() -> None:
    x = tf.placeholder(tf.float32, [None])
    assert work_on(prune([x], [x + 1.0], []), CPU) == float("inf")
    assert work_on(prune([x], [tf.identity(x)], []), CPU) == 0


def test_what_the_clients_functions_do_is_not_known() -> None:
    assert work(tf.py_func(lambda: np.float32(1), [], tf.float32)) == float("inf")


def test_a_node_that_stands_for_others_is_as_large_as_the_largest_of_them() -> None:
    graph = compiled.apply(graph_of(tf.exp(tf.exp(constant(100) + 1.0))), "on")
    assert [node.op.name for node in graph.nodes].count("_Cluster") == 1
    assert work_on(graph, CPU) == 16 * 100


def test_nodes_on_other_devices_are_no_work_for_the_processor() -> None:
    graph = graph_of(tf.matmul(constant(64, 64), constant(64, 64)))
    assert work_on(graph, torch.device("meta")) == 0


def test_every_op_with_a_weight_is_there() -> None:
    internal = {name for name in WEIGHTS if name.startswith("_")}
    assert set(WEIGHTS) - internal <= set(registered_ops())


# --- what is around a step ------------------------------------------------------------------------------


def seen_by(work: float) -> int:
    found: int = suited(torch.get_num_threads, work)()
    return found


def test_one_thread_is_asked_for_where_threads_would_be_used_and_gain_nothing() -> None:
    assert [seen_by(work) for work in (0, QUIET - 1, QUIET, LEAST - 1, LEAST)] == [THREADS, THREADS, 1, 1, THREADS]


def test_the_caller_has_its_number_again_also_after_an_error() -> None:
    def fails() -> None:
        assert torch.get_num_threads() == 1
        raise ValueError

    with pytest.raises(ValueError):
        suited(fails, MEDIUM)()
    assert numbers() == {THREADS}


def test_openmp_and_mkl_both_use_one_thread() -> None:
    assert numbers() == {THREADS}
    assert suited(numbers, MEDIUM)() == {1}
    assert numbers() == {THREADS}


def test_steps_in_steps_find_one_thread_and_leave_it_so() -> None:
    inner = suited(torch.get_num_threads, MEDIUM)
    assert suited(lambda: (inner(), torch.get_num_threads()), MEDIUM)() == (1, 1)


def test_other_threads_keep_their_number_also_those_that_begin_during_the_step() -> None:
    assert in_a_thread(torch.get_num_threads) == THREADS
    during = suited(lambda: in_a_thread(torch.get_num_threads), MEDIUM)()
    assert during == THREADS


def in_a_thread(fn: Callable[[], int]) -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(fn()))
    thread.start()
    thread.join()
    return found[0]


def numbers() -> set[int]:
    """The numbers of threads that torch's libraries would use now."""
    return {
        int(number)
        for number in re.findall(r"(?:omp|mkl)_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info())
    }
