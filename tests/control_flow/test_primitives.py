"""Graphs of the primitives themselves: made by hand, by TensorFlow, malformed, without structure; kernels that wait."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import errors
from penstock.analysis.guards import Unstructured
from penstock.graph import opdef
from penstock.graph.node_kernel import asynchronous
from penstock.graph.opdef import define_op, get_op
from tools import make_tensorflow_loop

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "tests" / "data"
TENSORFLOW = os.environ.get("PENSTOCK_TENSORFLOW_PYTHON") or (
    sys.executable if importlib.util.find_spec("tensorflow") else None
)
Invalid = errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def switch(data: Any, pred: Any, **options: Any) -> Any:
    return get_op("Switch")(data, pred, **options)


def merge(*inputs: Any, **options: Any) -> Any:
    return get_op("Merge")(list(inputs), **options)


def enter(value: Any, frame: str = "loop", constant: bool = False, **options: Any) -> Any:
    return get_op("Enter")(value, frame_name=frame, is_constant=constant, **options)


def exit_(value: Any, **options: Any) -> Any:
    return get_op("Exit")(value, **options)


def following(merged: Any, value: Any, **options: Any) -> None:
    """Make `value` what the loop's Merge gets in the next iteration."""
    merged.op._update_input(1, get_op("NextIteration")(value, **options))


def flag(name: str | None = None) -> Any:
    return tf.placeholder(tf.bool, [], name)


def number(name: str | None = None) -> Any:
    return tf.placeholder(tf.int32, [], name)


# --- made by hand ---------------------------------------------------------------------------------------


def test_a_switch_gives_its_value_on_one_side(session: tf.Session) -> None:
    p, x = flag(), tf.constant(3.0)
    on_false, on_true = switch(x, p)
    for taken, given, dead in [(True, on_true, on_false), (False, on_false, on_true)]:
        assert session.run(given * 2.0, {p: taken}) == 6
        with pytest.raises(Invalid, match="does not have value"):
            session.run(dead * 2.0, {p: taken})


def test_a_merge_gives_the_live_value_and_its_index(session: tf.Session) -> None:
    p, x = flag(), tf.constant(3.0)
    on_false, on_true = switch(x, p)
    found = merge(on_true + 1.0, on_false * 10.0)
    assert session.run(list(found), {p: True}) == [4, 0]
    assert session.run(list(found), {p: False}) == [30, 1]
    assert session.run(found[1], {p: False}) == 1


def test_both_outputs_of_one_switch_merge_to_its_input(session: tf.Session) -> None:
    p, x = flag(), tf.constant(3.0)
    value, index = merge(*switch(x, p))
    assert [session.run([value, index], {p: side}) for side in (True, False)] == [[3, 1], [3, 0]]


def hand_made_loop(start: Any, limit: Any) -> Any:
    """Doubles `start` until it is `limit` or more."""
    bound, factor = enter(limit, constant=True), enter(tf.constant(2), constant=True)
    entered = enter(start)
    merged = merge(entered, entered)[0]
    done, again = switch(merged, get_op("LoopCond")(merged < bound))
    following(merged, again * factor)
    return exit_(done)


def test_a_loop_of_primitives(session: tf.Session) -> None:
    start, limit = number(), number()
    y = hand_made_loop(start, limit)
    assert [session.run(y, {start: a, limit: b}) for a, b in [(1, 100), (3, 3), (3, 4)]] == [128, 3, 6]


@pytest.mark.parametrize("dtype", [tf.int32, tf.float32])
def test_a_loops_merge_says_what_came(session: tf.Session, dtype: tf.DType) -> None:
    """0 when it is what entered, 1 when it is what went round."""
    bound, factor = enter(tf.constant(10, dtype), constant=True), enter(tf.constant(2, dtype), constant=True)
    entered = enter(tf.constant(1, dtype))
    merged, index = merge(entered, entered)
    done, again = switch(merged, get_op("LoopCond")(merged < bound))
    following(merged, again * factor + (index if dtype == tf.int32 else tf.cast(index, dtype)))
    assert session.run(exit_(done)) == (1 * 2 + 0) * 4 + 3  # 1, 2, 5, 11


def test_a_loop_survives_a_round_trip_through_a_graph_def(session: tf.Session) -> None:
    n = number("n")
    x = tf.constant(2.0)
    tf.identity(
        tf.while_loop(
            lambda i, v: i < n, lambda i, v: (i + 1, tf.cond(v > 5.0, lambda: v - 5.0, lambda: v * x)), (0, x)
        )[1],
        name="y",
    )
    text = tf.get_default_graph().as_graph_def().SerializeToString()
    with tf.Graph().as_default(), tf.Session() as again:
        tf.import_graph_def(tf.GraphDef.FromString(text), name="")
        for count, expected in [(0, 2), (1, 4), (2, 8), (3, 3)]:
            assert session.run("y:0", {n: count}) == expected
            assert again.run("y:0", {"n:0": count}) == expected


@pytest.mark.uncompiled
@pytest.mark.one_executor("dataflow")
def test_a_step_that_cannot_go_on_says_who_waits_for_what(session: tf.Session) -> None:
    start, limit = number(), number()
    y = hand_made_loop(start, limit)
    total = tf.add(y, start, name="total")
    plan: Any = session._make_plan([start, limit], [total], [])
    leaves = next(unit for unit in plan._program.units if unit.name.startswith("Exit"))
    leaves.consumers = [[] for _ in leaves.consumers]  # what no graph does that the session takes
    with pytest.raises(errors.InternalError, match=r"cannot go on.* no total:0(.|\n)*total waits for Exit:0"):
        plan.run([torch.tensor(1, dtype=torch.int32), torch.tensor(9, dtype=torch.int32)])


# --- made by TensorFlow ---------------------------------------------------------------------------------


def check_numbers(folder: Path, found: dict[str, np.ndarray]) -> None:
    expected = np.load(folder / "tensorflow_loop.npz")
    assert set(expected) == set(found)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def load(folder: Path) -> Any:
    return tf.GraphDef.FromString((folder / "tensorflow_loop.pb").read_bytes())


def test_loops_made_by_tensorflow_give_tensorflows_numbers(session: tf.Session) -> None:
    tf.import_graph_def(load(DATA), name="")
    check_numbers(DATA, make_tensorflow_loop.run(session))


def test_loops_made_by_tensorflow_run_in_a_name_scope(session: tf.Session) -> None:
    fetches = ["grad_x:0", "looped:0"]
    found = tf.import_graph_def(load(DATA), return_elements=[*fetches, "x:0", "w:0", "n:0"])
    feeds = dict(zip(found[2:], make_tensorflow_loop.feeds(5).values(), strict=True))
    expected = np.load(DATA / "tensorflow_loop.npz")
    for name, value in zip(fetches, session.run(found[:2], feeds), strict=True):
        np.testing.assert_allclose(value, expected[f"{name[:-2]}_5"], rtol=1e-4)


def test_the_same_loops_built_here_give_tensorflows_numbers(session: tf.Session) -> None:
    make_tensorflow_loop.build(tf)
    check_numbers(DATA, make_tensorflow_loop.run(session))


def test_the_gradients_of_loops_made_by_tensorflow_are_those_that_tensorflow_made(session: tf.Session) -> None:
    tf.import_graph_def(load(DATA), name="")
    loss, x, w = (tf.get_default_graph().get_tensor_by_name(f"{name}:0") for name in ("loss", "x", "w"))
    grads = tf.gradients(loss, [x, w])
    expected = np.load(DATA / "tensorflow_loop.npz")
    for n in (0, 1, 2, 5):
        for name, value in zip("xw", session.run(grads, make_tensorflow_loop.feeds(n)), strict=True):
            np.testing.assert_allclose(value, expected[f"grad_{name}_{n}"], rtol=1e-4, atol=1e-6)


def test_a_loop_that_while_loop_cannot_have_built_has_no_gradient() -> None:
    x = tf.constant([1.0, 2.0])
    entered = enter(x)
    merged = merge(entered, entered)[0]
    following(merged, get_op("Sin")(merged))
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        x, y = tf.import_graph_def(graph_def, return_elements=["Const:0", "Sin:0"])
        with pytest.raises(LookupError, match="of the form that"):
            tf.gradients(y, x)


@pytest.mark.one_executor("auto")
@pytest.mark.skipif(TENSORFLOW is None, reason="TensorFlow is not installed")
def test_tensorflow_makes_the_kept_loops_and_numbers(session: tf.Session, tmp_path: Path) -> None:
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"
    }  # fmt: skip
    script = str(ROOT / "tools" / "make_tensorflow_loop.py")
    subprocess.run([str(TENSORFLOW), script, str(tmp_path)], check=True, env=environment, timeout=300)
    tf.import_graph_def(load(tmp_path), name="")
    check_numbers(tmp_path, make_tensorflow_loop.run(session))


# --- malformed ------------------------------------------------------------------------------------------


def test_a_value_that_enters_a_loop_without_enter_is_refused(session: tf.Session) -> None:
    n, x = number(), number("x")
    entered = enter(n)
    merged = merge(entered, entered)[0]
    done, again = switch(merged, get_op("LoopCond")(merged < enter(tf.constant(10), constant=True)))
    following(merged, get_op("AddV2")(again, x, name="stray"))
    with pytest.raises(Invalid, match=r"inputs from different frames(.|\n)*stray = AddV2(.|\n)*test_primitives.py"):
        session.run(exit_(done), {n: 1, x: 1})


def test_a_value_that_leaves_a_loop_without_exit_is_refused(session: tf.Session) -> None:
    n, x = number(), number("x")
    inside = enter(n, name="inside") + enter(n, constant=True)
    with pytest.raises(Invalid, match=r"inputs from different frames(.|\n)*stray = AddV2"):
        session.run(get_op("AddV2")(inside, x, name="stray"), {n: 1, x: 1})


def test_a_fetch_of_a_value_in_a_loop_is_refused(session: tf.Session) -> None:
    n = number()
    with pytest.raises((Invalid, ValueError), match=r"loop|frame"):
        session.run(enter(n, name="inside") + enter(n, constant=True), {n: 1})


def test_an_exit_outside_any_loop_is_refused(session: tf.Session) -> None:
    with pytest.raises(Invalid, match=r"an Exit outside any loop(.|\n)*out = Exit"):
        session.run(exit_(tf.constant(1), name="out"))


def test_a_next_iteration_outside_any_loop_is_refused(session: tf.Session) -> None:
    x = tf.constant(1)
    merged = merge(x, x, name="front")[0]
    following(merged, merged + 1)
    with pytest.raises(Invalid, match=r"a NextIteration outside any loop(.|\n)*front = Merge"):
        session.run(merged)


def test_a_next_iteration_that_leads_nowhere_is_refused(session: tf.Session) -> None:
    with pytest.raises(Invalid, match=r"NextIteration outside any loop(.|\n)*next = NextIteration"):
        session.run(get_op("NextIteration")(tf.constant(1), name="next"))


def test_a_loop_cond_outside_any_loop_is_refused(session: tf.Session) -> None:
    with pytest.raises(Invalid, match=r"LoopCond outside any loop(.|\n)*test = LoopCond"):
        session.run(get_op("LoopCond")(tf.constant(True), name="test"))


@pytest.mark.one_executor("dataflow", "auto")
def test_a_loop_needs_no_loop_cond(session: tf.Session) -> None:
    entered = enter(number(), frame="mine")
    merged = merge(entered, entered, name="front")[0]
    done, again = switch(merged, merged < enter(tf.constant(10), frame="mine", constant=True))
    following(merged, again + again)
    assert session.run(exit_(done), {entered.op.inputs[0]: 1}) == 16


@pytest.mark.one_executor("dataflow", "auto")
def test_a_frame_that_is_no_loop_passes_values_through(session: tf.Session) -> None:
    x = number()
    entered, five = enter(x), enter(tf.constant(5))
    assert session.run(exit_(entered * five), {x: 3}) == 15
    assert session.run(exit_(merge(entered)[0] + 1), {x: 3}) == 4
    for value in (merge(entered, entered)[0], merge(entered, five)[0]):
        assert session.run(exit_(value * 2), {x: 3}) in (6, 10)
    stay, _ = switch(merge(entered)[0], get_op("LoopCond")(merge(enter(tf.constant(False)))[0]))
    assert session.run(exit_(stay), {x: 3}) == 3


@pytest.mark.one_executor("dataflow", "auto")
def test_a_loop_whose_condition_is_no_variable_ends_at_once(session: tf.Session) -> None:
    entered = enter(number())
    merged = merge(entered, entered)[0]
    done, _ = switch(merged, enter(tf.constant(False)))
    following(merged, done)
    assert session.run(exit_(done), {entered.op.inputs[0]: 10}) == 10


@pytest.mark.one_executor("dataflow", "auto")
def test_a_merge_of_two_live_values_passes_one_on_once(session: tf.Session) -> None:
    x, counter = number(), tf.Variable(0)
    session.run(counter.initializer)
    merged = merge(x, x + 1)[0]
    with tf.control_dependencies([merged]):
        counted = tf.assign_add(counter, 1)
    assert session.run([merged, counted], {x: 4})[1] == 1


def test_a_second_loop_cond_is_refused(session: tf.Session) -> None:
    entered = enter(number())
    merged = merge(entered, entered)[0]
    below = merged < enter(tf.constant(10), constant=True)
    done, again = switch(merged, get_op("LoopCond")(below))
    following(merged, switch(again, get_op("LoopCond")(below, name="second"))[1])
    with pytest.raises(Invalid, match=r"a second LoopCond(.|\n)*second = LoopCond"):
        session.run(exit_(done), {entered.op.inputs[0]: 1})


def test_a_back_edge_into_another_loop_is_refused(session: tf.Session) -> None:
    n = number()
    entered = enter(n, frame="a")
    merged = merge(entered, entered, name="front")[0]
    done, _ = switch(merged, get_op("LoopCond")(merged < enter(tf.constant(10), frame="a", constant=True)))
    other = enter(n, frame="b")
    following(merged, other + other, name="back")
    with pytest.raises(Invalid, match=r"different frames(.|\n)*front = Merge(.|\n)*back = NextIteration"):
        session.run(exit_(done), {n: 1})


def test_a_cycle_without_next_iteration_is_refused(session: tf.Session) -> None:
    x = number()
    first = get_op("AddV2")(x, x, name="first")
    second = get_op("AddV2")(first, x, name="second")
    first.op._update_input(1, second)
    with pytest.raises(ValueError, match=r"cycle(.|\n)*first, second"):
        session.run(second, {x: 1})


def test_a_malformed_graph_def_is_refused_and_leaves_the_graph_alone() -> None:
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [], name="a")
        tf.identity(tf.identity(a, name="b"), name="c")
        message = graph.as_graph_def()
    {node.name: node for node in message.node}["b"].input[0] = "c"
    with pytest.raises(ValueError, match="cycle"):
        tf.import_graph_def(message, name="")
    assert tf.get_default_graph().get_operations() == []


@pytest.mark.one_executor("auto")
def test_a_session_is_usable_after_a_malformed_graph(session: tf.Session) -> None:
    x = tf.constant(2)
    with pytest.raises(Invalid):
        session.run(exit_(x))
    assert session.run(x * 3) == 6


# --- valid, but without structure -------------------------------------------------------------------------


def three_ways(p: Any, q: Any, x: Any) -> Any:
    """A Merge of three: x + 1 if p, else x * 10 if q, else -x."""
    otherwise, on_p = switch(x, p)
    on_neither, on_q = switch(otherwise, q)
    return merge(on_p + 1.0, on_q * 10.0, -on_neither)


@pytest.mark.one_executor("dataflow", "auto")
def test_a_merge_of_three_sides(session: tf.Session) -> None:
    p, q = flag(), flag()
    found = three_ways(p, q, tf.constant(3.0))
    for a, b, expected in [
        (True, True, [4, 0]),
        (True, False, [4, 0]),
        (False, True, [30, 1]),
        (False, False, [-3, 2]),
    ]:
        assert session.run(list(found), {p: a, q: b}) == expected


@pytest.mark.one_executor("structured")
def test_what_has_no_structure_says_why_when_it_must_have_one(session: tf.Session) -> None:
    with pytest.raises(Unstructured, match="merges 3 inputs"):
        session.run(three_ways(flag("p"), flag("q"), tf.constant(3.0))[0], {"p:0": True, "q:0": True})


@pytest.mark.one_executor("dataflow", "auto")
def test_a_merge_of_one_side_is_dead_with_it(session: tf.Session) -> None:
    p, x = flag(), tf.constant(3.0)
    found = merge(switch(x, p)[1] * 2.0)[0]
    assert session.run(found + 1.0, {p: True}) == 7
    with pytest.raises(Invalid, match="does not have value"):
        session.run(found + 1.0, {p: False})


@pytest.mark.one_executor("dataflow", "auto")
def test_a_merge_of_switches_of_different_predicates(session: tf.Session) -> None:
    p, q = flag(), flag()
    found = merge(switch(tf.constant(1.0), p)[1], switch(tf.constant(2.0), q)[1])
    assert session.run(list(found), {p: True, q: False}) == [1, 0]
    assert session.run(list(found), {p: False, q: True}) == [2, 1]
    with pytest.raises(Invalid, match="does not have value"):
        session.run(found[0], {p: False, q: False})


@pytest.mark.one_executor("dataflow", "auto")
def test_what_needs_both_sides_never_runs(session: tf.Session) -> None:
    p, x = flag(), tf.constant(3.0)
    on_false, on_true = switch(x, p)
    v = tf.Variable(0.0)
    never = v.assign_add(on_false + on_true)
    found = merge(never + 0.0, on_true)
    session.run(v.initializer)
    assert session.run(list(found), {p: True}) == [3, 1]
    assert session.run(v) == 0


@pytest.mark.one_executor("dataflow", "auto")
def test_a_loop_with_two_ways_out(session: tf.Session) -> None:
    start = number()
    entered = enter(start)
    merged = merge(entered, entered)[0]
    limit, five, one = (enter(tf.constant(k), constant=True) for k in (100, 5, 1))
    done, again = switch(merged, get_op("LoopCond")(merged < limit))
    on, broken = switch(again, tf.equal(again, five))
    following(merged, on + one)
    found = merge(exit_(done), exit_(broken))
    assert session.run(list(found), {start: 0}) == [5, 1]
    assert session.run(list(found), {start: 6}) == [100, 0]


@pytest.mark.one_executor("dataflow", "auto")
def test_parts_without_structure_in_a_loop(session: tf.Session) -> None:
    def body(i: Any, x: Any) -> Any:
        return i + 1, three_ways(tf.equal(i % 3, 0), tf.equal(i % 3, 1), x)[0]

    n, x = number(), 1.0
    y = tf.while_loop(lambda i, _: i < n, body, (0, tf.constant(x)), shape_invariants=(tf.TensorShape([]), None))[1]
    for i in range(7):
        x = [x + 1, x * 10, -x][i % 3]
    assert session.run(y, {n: 7}) == x


# --- kernels that wait ------------------------------------------------------------------------------------


class Delay:
    """A kernel whose result comes from a timer; `started` notes the thread of each start.

    together: the timer begins when so many of all that are under way have started; if they do not wait together, they
    wait forever.
    """

    under_way: ClassVar[list[threading.Timer]] = []

    def __init__(
        self, seconds: float, fail: bytes, together: int, started: list[int], timers: list[threading.Timer]
    ) -> None:
        self._seconds, self._fail, self._started, self._timers = seconds, fail.decode(), started, timers
        self._together = together

    def start(self, done: Callable[[Any], None], value: Any) -> None:
        self._started.append(threading.get_ident())
        if self._fail == "start":
            raise ValueError("it cannot even start")
        result = ValueError("it failed later") if self._fail else value
        if not self._seconds:
            done(result)
            return
        timer = threading.Timer(self._seconds, done, [result])
        timer.daemon = True
        self._timers.append(timer)
        self.under_way.append(timer)
        if len(self.under_way) >= self._together:
            waiting, self.under_way[:] = self.under_way[:], []
            for each in waiting:
                each.start()


@pytest.fixture
def started() -> list[int]:
    return []


_DELAY_ATTRS = ["T: type", "seconds: float = 0.0", "fail: string = ''", "together: int = 1"]


@pytest.fixture
def delay(started: list[int]) -> Iterator[Any]:
    """An op `delay(x, seconds=…, fail=…)`, registered for the test only."""
    timers: list[threading.Timer] = []
    op = define_op("TestDelay", "x: T", "y: T", attrs=_DELAY_ATTRS)
    op.shape(lambda c, x: x)
    op.kernel()(lambda n: asynchronous(Delay(n["seconds"], n["fail"], n["together"], started, timers).start))
    yield op
    del opdef._ops["TestDelay"]
    Delay.under_way.clear()
    for timer in timers:
        timer.cancel()
        if timer.ident is not None:
            timer.join()


IN_TIME = tf.RunOptions(timeout_in_ms=60_000)
"""Ends a step that waits forever."""


@pytest.mark.one_executor("auto", "dataflow")
def test_kernels_wait_together_and_no_thread_waits_for_them(
    session: tf.Session, delay: Any, started: list[int]
) -> None:
    x = tf.constant(1.0)
    y = tf.add_n([delay(x * float(k), seconds=0.01, together=50) for k in range(50)])
    assert session.run(y, options=IN_TIME) == sum(range(50))
    assert started == [threading.get_ident()] * 50


@pytest.mark.one_executor("auto")
def test_a_kernel_may_be_done_at_once(session: tf.Session, delay: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    y = delay(delay(x) * 2.0) + 1.0
    for _ in range(2):
        assert session.run(y, {x: [1, 2]}).tolist() == [3, 5]


@pytest.mark.one_executor("auto")
def test_other_work_goes_on_while_a_kernel_waits(session: tf.Session, delay: Any) -> None:
    slow = delay(tf.constant(1.0), seconds=0.1)
    v = tf.Variable(0.0)
    with tf.control_dependencies([slow]):
        after = v.assign_add(10.0)
    with tf.control_dependencies([after]):
        y = v.read_value() + slow
    session.run(v.initializer)
    assert session.run([y, tf.constant(2.0) * 3.0]) == [11, 6]


@pytest.mark.one_executor("auto")
@pytest.mark.parametrize("fail", ["later", "start"])
@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_the_error_of_a_kernel_that_waited_names_its_node(
    session: tf.Session, delay: Any, fail: str, seconds: float
) -> None:
    y = delay(tf.constant(1.0), seconds=seconds, fail=fail, name="slow") + delay(tf.constant(2.0), seconds=seconds)
    message = "it failed later" if fail == "later" else "it cannot even start"
    with pytest.raises(Invalid, match=rf"{message}(.|\n)*node slow = TestDelay(.|\n)*test_primitives.py") as caught:
        session.run(y)
    assert caught.value.op.name == "slow"
    assert session.run(delay(tf.constant(3.0), seconds=seconds)) == 3


@pytest.mark.one_executor("auto")
def test_an_error_in_a_loop_names_the_iteration_of_a_kernel_that_waited(session: tf.Session, delay: Any) -> None:
    def body(i: Any) -> Any:
        return tf.cond(i < 3, lambda: delay(i, seconds=0.01), lambda: delay(i, seconds=0.01, fail="later")) + 1

    y = tf.while_loop(lambda i: i < 9, body, [0], name="while")
    with pytest.raises(Invalid, match=r"it failed later(.|\n)*iteration 3 of while"):
        session.run(y)


@pytest.mark.one_executor("auto")
def test_iterations_overlap_while_kernels_wait(session: tf.Session, delay: Any) -> None:
    y = tf.while_loop(
        lambda i, t: i < 40,
        lambda i, t: (i + 1, t + delay(i, seconds=0.01, together=10)),
        (0, 0),
        parallel_iterations=10,
    )[1]
    assert session.run(y, options=IN_TIME) == sum(range(40))


@pytest.mark.one_executor("auto")
def test_no_more_iterations_than_allowed_are_under_way(session: tf.Session, delay: Any, started: list[int]) -> None:
    y = tf.while_loop(
        lambda i, t: i < 12, lambda i, t: (i + 1, t + delay(i, seconds=300.0)), (0, 0), parallel_iterations=4
    )[1]
    timeout, before = 150, -1
    while before < len(started) < 4:  # a busy machine may not come so far at once
        before, timeout = len(started), 4 * timeout
        started.clear()
        with pytest.raises(errors.DeadlineExceededError):
            session.run(y, options=tf.RunOptions(timeout_in_ms=timeout))
    assert len(started) == 4


@pytest.mark.one_executor("auto")
def test_a_kernel_in_a_branch_not_taken_does_not_start(session: tf.Session, delay: Any, started: list[int]) -> None:
    p = flag()
    y = tf.cond(p, lambda: delay(tf.constant(1.0), seconds=0.01), lambda: tf.constant(2.0))
    assert session.run(y, {p: False}) == 2
    assert not started
    assert session.run(y, {p: True}) == 1
    assert len(started) == 1


@pytest.mark.one_executor("auto")
def test_kernels_wait_in_nested_loops(session: tf.Session, delay: Any) -> None:
    def outer(i: Any, t: Any) -> Any:
        inner = tf.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, u + delay(j, seconds=0.002)), (0, 0))
        return i + 1, t + inner[1]

    y = tf.while_loop(lambda i, t: i < 5, outer, (0, 0))[1]
    assert session.run(y) == sum(j for i in range(5) for j in range(i))


@pytest.mark.one_executor("auto")
def test_a_deadline_passes_while_a_kernel_waits(session: tf.Session, delay: Any) -> None:
    y = delay(tf.constant(1.0), seconds=3000.0)
    with pytest.raises(errors.DeadlineExceededError, match="timeout_in_ms=100"):
        session.run(y, options=tf.RunOptions(timeout_in_ms=100))
    assert session.run(tf.constant(1.0) + 1.0) == 2


@pytest.mark.one_executor("auto")
def test_closing_the_session_ends_a_step_that_waits(delay: Any, started: list[int]) -> None:
    other = tf.Session()
    y = delay(tf.constant(1.0), seconds=3000.0)
    caught: list[BaseException] = []

    def step() -> None:
        try:
            other.run(y)
        except errors.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=step)
    thread.start()
    while not started:
        time.sleep(0.001)
    other.close()
    thread.join(60)
    assert not thread.is_alive()
    assert [type(error) for error in caught] == [errors.CancelledError]


@pytest.mark.one_executor("auto")
def test_a_result_that_comes_after_its_step_has_ended_goes_nowhere(session: tf.Session, delay: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    y = delay(x, seconds=0.2)
    with pytest.raises(errors.DeadlineExceededError):
        session.run(y, {x: 1}, options=tf.RunOptions(timeout_in_ms=50))
    assert session.run(y, {x: 2}) == 2


@pytest.mark.one_executor("auto")
def test_steps_of_several_threads_wait_apart(session: tf.Session, delay: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    y = delay(x, seconds=0.01, together=8) * 2.0
    found: dict[int, float] = {}
    threads = [
        threading.Thread(target=lambda k=k: found.update({k: session.run(y, {x: k}, IN_TIME)})) for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: 2.0 * k for k in range(8)}
