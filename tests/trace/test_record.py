"""Trace files of steps: what ran, what waited, and how much of a step's time that is."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from bench.workloads import load
from penstock.codegen.c import compiler
from penstock.runtime.observer import Observer, Waiting
from penstock.runtime.resources import VariableState
from penstock.session.session import BaseSession
from penstock.trace import Recorder, TraceHook, record, run_program
from tests.allocator import allocated

Event = dict[str, Any]


def loaded(path: Path) -> tuple[list[Event], dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    found = json.loads(text)
    return found["traceEvents"], found["otherData"]["penstock"]


def slices(events: list[Event], *categories: str) -> list[Event]:
    return [e for e in events if e["ph"] == "X" and (not categories or e["cat"] in categories)]


def covered(events: list[Event], step: dict[str, Any]) -> float:
    """The share of a step's time in which something is shown to happen."""
    parts = [e for e in slices(events) if e.get("args", {}).get("step") == step["step"] and e["cat"] != "step"]
    total, last = 0.0, step["start"]
    for e in sorted(parts, key=lambda e: e["ts"]):
        total += max(0.0, e["ts"] + e["dur"] - max(e["ts"], last))
        last = max(last, e["ts"] + e["dur"])
    return total / (step["end"] - step["start"])


@pytest.fixture
def let_it_wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Returns 30 ms after a recorded step has begun to wait."""
    waits, now = threading.Event(), Observer.now

    def noticed(self: Observer, state: Any) -> None:
        now(self, state)
        if isinstance(state, Waiting):
            waits.set()

    def let_it_wait() -> None:
        assert waits.wait(30)
        time.sleep(0.03)

    monkeypatch.setattr(Observer, "now", noticed)
    return let_it_wait


def two_devices() -> Any:
    return tf.ConfigProto(device_count={"CPU": 2})


def test_a_step_is_shown_with_its_nodes_and_their_lines(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        y = tf.linalg.inv(tf.matmul(x, x, name="product"), name="y")
        with record(tmp_path / "steps.json.gz") as recorder:
            for _ in range(3):
                session.run(y, {x: np.eye(4)})
        assert recorder.steps == 3
    events, about = loaded(tmp_path / "steps.json.gz")
    nodes = slices(events, "node")
    assert [e["name"] for e in nodes] == ["product", "y"] * 3
    assert nodes[1]["args"]["op"] == "MatrixInverse"
    assert nodes[1]["args"]["inputs"] == ["product"]
    assert nodes[1]["args"]["line"].startswith(f"{__file__}:")
    assert [e["args"]["step"] for e in nodes] == [1, 1, 2, 2, 3, 3]
    assert [step["step"] for step in about["steps"]] == [1, 2, 3]
    assert min(covered(events, step) for step in about["steps"]) >= 0.95
    path = [each["node"] for each in about["critical_path"] if each["step"] == 2]
    assert [name for name in path if name in ("product", "y")] == ["product", "y"]


def test_names_of_processes_and_threads_come_before_their_events(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session, record(tmp_path / "a.json"):
        session.run(tf.py_func(lambda: np.float32(1), [], tf.float32))
    events, _ = loaded(tmp_path / "a.json")
    named: set[Any] = set()
    processes = {}
    for e in events:
        if e["ph"] == "M":
            named.add((e["name"], e["pid"], e.get("tid")))
            if e["name"] == "process_name":
                processes[e["pid"]] = e["args"]["name"]
        else:
            assert ("process_name", e["pid"], None) in named
            assert ("thread_name", e["pid"], e["tid"]) in named
    assert processes == {0: "client", 1: "/job:localhost/replica:0/task:0/device:CPU:0"}


def across_devices() -> tf.Tensor:
    """The third of three products of the placeholder "x", of which the second is computed on another device."""
    x = tf.placeholder(tf.float32, [64, 64], name="x")
    with tf.device("/cpu:0"):
        first = tf.matmul(x, x, name="first")
    with tf.device("/cpu:1"):
        second = tf.matmul(first, first, name="second")
    with tf.device("/cpu:0"):
        return tf.matmul(second, first, name="third")


def test_values_between_devices_are_arrows_and_waits_say_for_what(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session(config=two_devices()) as session:
        third = across_devices()
        session.run(third, {"x:0": np.eye(64)})
        with record(tmp_path / "a.json"):
            for _ in range(20):
                session.run(third, {"x:0": np.eye(64)})
    events, about = loaded(tmp_path / "a.json")
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert {(starts[i]["pid"], ends[i]["pid"]) for i in starts} == {(1, 2), (2, 1)}
    assert all(starts[i]["ts"] <= ends[i]["ts"] for i in starts)
    assert all(e["bp"] == "e" for e in ends.values())
    sent = [e for e in slices(events, "transfer") if e["name"].startswith("_send")]
    assert [e["args"]["bytes"] for e in sent] == [64 * 64 * 4] * 40
    awaited = {"first:0 from /device:CPU:0", "second:0 from /device:CPU:1", "the step's other devices"}
    assert {e["args"]["waits_for"] for e in slices(events, "wait")} <= awaited
    assert all(covered(events, step) >= 0.95 for step in about["steps"])


def test_the_critical_path_goes_from_device_to_device(tmp_path: Path) -> None:
    order = ["first", "second", "third"]
    with tf.Graph().as_default(), tf.Session(config=two_devices()) as session:
        third = across_devices()
        for attempt in range(30):  # on a busy machine, a thread may begin after what it needs is there
            with record(tmp_path / f"{attempt}.json"):
                for _ in range(20):
                    session.run(third, {"x:0": np.eye(64)})
            _, about = loaded(tmp_path / f"{attempt}.json")
            paths = [
                [node["node"] for node in about["critical_path"] if node["step"] == step["step"]]
                for step in about["steps"]
            ]
            if order in ([node for node in path if node in order] for path in paths):
                return
    raise AssertionError(paths)


def test_a_wait_for_a_queue_names_the_queue_and_the_line(tmp_path: Path, let_it_wait: Callable[[], None]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        filled = tf.FIFOQueue(1, tf.float32, [], name="filled")
        taken = filled.dequeue(name="taken")
        fill = session.make_callable(filled.enqueue(1.0))
        thread = threading.Thread(target=lambda: (let_it_wait(), fill()))
        thread.start()
        with record(tmp_path / "a.json"):
            session.run(taken)
        thread.join()
    events, about = loaded(tmp_path / "a.json")
    (wait,) = slices(events, "wait")
    assert wait["dur"] > 20_000
    assert "filled" in wait["args"]["waits_for"]
    assert wait["args"]["node"] == "taken"
    assert "wait" in [each["node"] for each in about["critical_path"]]  # nothing in the step ended it


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_a_wait_for_a_variables_lock_names_the_variable(
    mode: str, use_resource: bool, tmp_path: Path, let_it_wait: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", mode)
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.get_variable("total", [3], use_resource=use_resource)
        x = tf.placeholder(tf.float32, [3])
        train = tf.train.GradientDescentOptimizer(0.1, use_locking=True).minimize(tf.reduce_sum(total * tf.exp(x)))
        session.run(total.initializer)
        session.run(train, {x: [1, 2, 3]})
        state = session._state.resources.lookup("", VariableState, "total")
        assert state is not None
        with record(tmp_path / "a.json"):
            session.run(train, {x: [1, 2, 3]})
        holding = threading.Event()

        def hold() -> None:
            with state.lock:
                holding.set()
                let_it_wait()

        thread = threading.Thread(target=hold)
        thread.start()
        holding.wait(10)
        with record(tmp_path / "b.json"):
            session.run(train, {x: [1, 2, 3]})
        thread.join()
    assert not slices(loaded(tmp_path / "a.json")[0], "wait")
    (wait,) = slices(loaded(tmp_path / "b.json")[0], "wait")
    assert wait["dur"] > 20_000
    assert "waits for the lock of total" in wait["args"]["waits_for"]


def test_functions_that_run_beside_each_other_have_their_own_lanes(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = (tf.py_func(lambda: np.float32(1), [], tf.float32, name=name) for name in ("a", "b"))
        total = a + b
        with record(tmp_path / "a.json"):
            session.run(total)
    events, _ = loaded(tmp_path / "a.json")
    lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    beside = [e["name"] for e in slices(events, "node") if lanes[e["pid"], e["tid"]].startswith("beside")]
    assert sorted(beside) == ["a", "b"]


def test_compiled_code_is_shown_as_it_runs_with_its_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3])
        y = tf.exp(x, name="first") * tf.reduce_sum(tf.tanh(x, name="second"))
        session.run(y, {x: np.ones(3)})
        with record(tmp_path / "a.json"):
            session.run(y, {x: np.ones(3)})
    events, _ = loaded(tmp_path / "a.json")
    (region,) = slices(events, "region", "node")
    assert region["cat"] == "region"
    assert {"first", "second"} <= set(region["args"]["members"])


def test_the_memory_curve_ends_with_what_the_client_was_given(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [100, 100])
        y = tf.matmul(tf.matmul(x, x), x)
        session.run(y, {x: np.eye(100)})
        with record(tmp_path / "a.json", memory=True):
            kept = session.run(y, {x: np.eye(100)})
    events, _ = loaded(tmp_path / "a.json")
    curve = [e["args"]["bytes"] for e in events if e["ph"] == "C"]
    assert curve[0] == 0
    assert max(curve) == 2 * 40_000
    assert curve[-1] == kept.nbytes


def test_what_compiled_code_returns_is_counted_once_until_it_is_freed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [64])
        y = tf.exp(x) + 1.0
        fetches = [y, tf.tanh(y)]
        kept = session.run(fetches, {x: np.ones(64)})
        with record(tmp_path / "a.json", memory=True):
            kept = session.run(fetches, {x: np.ones(64)})
            del kept
            session.run(fetches, {x: np.ones(64)})
        metadata = tf.RunMetadata()
        session.run(fetches, {x: np.ones(64)}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    events, _ = loaded(tmp_path / "a.json")
    regions = slices(events, "region")
    assert len(regions) == 2 and {e["args"]["bytes"] for e in regions} <= {512, 576}  # and a block of C's
    (device,) = metadata.step_stats.dev_stats
    (memory,) = [memory for stats in device.node_stats for memory in stats.memory]
    assert memory.total_bytes == regions[0]["args"]["bytes"] and memory.live_bytes == 512


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", ["small_mlp", "conv_net"])
def test_the_memory_curve_is_the_allocators(name: str, tmp_path: Path) -> None:
    """Its peak in a training step; both begin with nothing, and neither counts what was there before."""
    with tf.Graph().as_default():
        step = load(name).programs["build"](tf)
    step()
    counted = allocated(step)
    with record(tmp_path / "a.json", memory=True):
        step()
    events, _ = loaded(tmp_path / "a.json")
    assert max(e["args"]["bytes"] for e in events if e["ph"] == "C") == counted


def test_hooks_and_the_program_between_steps_are_shown(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        train = tf.assign_add(step, 1)
        with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=4)]) as session:
            session.run(train)
            with record(tmp_path / "a.json"):
                session.run(train)
                session.run(train)
    events, _ = loaded(tmp_path / "a.json")
    names = [e["name"] for e in slices(events, "python")]
    assert names.count("hooks' before_run") == 2
    assert names.count("hooks' after_run") == 2
    assert names.count("program") == 1


def test_a_hook_writes_a_file_every_so_many_steps(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        train = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        hooks = [TraceHook(3, tmp_path), tf.train.StopAtStepHook(last_step=8)]
        with tf.train.MonitoredSession(hooks=hooks) as session:
            while not session.should_stop():
                session.run(train)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace-3.json.gz", "trace-6.json.gz"]
    _, about = loaded(tmp_path / "trace-6.json.gz")
    assert len(about["steps"]) == 1


def test_some_steps_of_a_program_are_recorded(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nimport tensorflow as tf\nx = tf.Variable(0.0)\nadd = x.assign_add(float(sys.argv[1]))\n"
        "with tf.Session() as session:\n    session.run(x.initializer)\n"
        "    for _ in range(9):\n        last = session.run(add)\n    assert last == 18.0\n"
    )
    assert run_program([str(program), "2"], range(4, 7), tmp_path / "a.json") == 3
    events, about = loaded(tmp_path / "a.json")
    assert len(about["steps"]) == 3
    assert about["program"] == [str(program), "2"]
    assert {e["args"]["line"] for e in slices(events, "node", "region")} <= {f"{program}:{n}" for n in range(1, 10)}


def test_programs_that_exit_are_recorded_and_errors_of_theirs_told(tmp_path: Path) -> None:
    """tf.app.run exits."""
    program = tmp_path / "program.py"
    text = "import sys\nimport tensorflow as tf\ndef main(_):\n    tf.Session().run(tf.constant(1))\n    sys.exit({})\n"
    program.write_text(text.format(0) + "tf.app.run()\n")
    assert run_program([str(program)], None, tmp_path / "a.json") == 1
    program.write_text(text.format(3) + "tf.app.run()\n")
    with pytest.raises(SystemExit, match="3"):
        run_program([str(program)], None, tmp_path / "b.json")


def test_chosen_steps_have_the_times_of_compiled_parts_from_the_first_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    recorder = Recorder(tmp_path / "a.json", memory=True, members=True, wanted=range(10, 13))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [8])
        _, y = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, tf.tanh(v) * 1.5), (tf.constant(0), x))
        recorder.start()
        for _ in range(20):
            session.run(y, {x: np.ones(8)})
    events, about = loaded(tmp_path / "a.json")
    assert [step["step"] for step in about["steps"]] == [1, 2, 3]
    regions = slices(events, "region")
    assert len(regions) == 3
    for region in regions:
        end = region["ts"] + region["dur"]
        assert [e for e in slices(events, "member") if region["ts"] <= e["ts"] <= end]


def test_a_recording_ends_with_its_program_and_there_is_one_at_a_time(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), record(tmp_path / "folder" / "a.json"):
        raise ZeroDivisionError
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["a.json"]  # of the steps before
    with record(tmp_path / "b.json"), pytest.raises(RuntimeError, match="one recording"), record(tmp_path / "c.json"):
        pass
    assert not (tmp_path / "c.json").exists()
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("name", ["small_mlp", "lstm_while", "lstm_unrolled"])
@pytest.mark.parametrize("mode", ["off", "on"])
def test_the_parts_of_benchmarks_steps_account_for_their_time(
    name: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", mode)
    with tf.Graph().as_default():
        step = load(name).programs["build"](tf)
    step()
    compiler.wait(60)
    step()
    with record(tmp_path / "a.json"):
        for _ in range(3):
            step()
    events, about = loaded(tmp_path / "a.json")
    assert [covered(events, each) >= 0.95 for each in about["steps"]] == [True] * 3
    assert bool(slices(events, "region")) == (mode == "on")


# --- members of compiled code ---------------------------------------------------------------------------


def _loop() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [20, 20])
    total = tf.Variable(np.zeros((20, 20), np.float32), name="total")

    def body(i: Any, value: Any) -> Any:
        return i + 1, tf.tanh(tf.matmul(value, x, name="product"), name="bounded")

    last = tf.while_loop(lambda i, _: i < 7, body, [0, x])[1]
    return x, tf.assign_add(total, tf.square(last, name="after"))


def _within(inner: Event, outer: Event) -> bool:
    early, late = inner["ts"] - outer["ts"], outer["ts"] + outer["dur"] - inner["ts"] - inner["dur"]
    return min(early, late) > -0.002  # microseconds are rounded to thousandths


@pytest.mark.parametrize("mode", ["on", "auto"])
def test_members_of_compiled_code_are_timed_inside_it(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", mode)
    with tf.Graph().as_default(), tf.Session() as session:
        x, summed = _loop()
        session.run(tf.global_variables_initializer())
        fed = {x: np.random.RandomState(0).rand(20, 20).astype(np.float32)}
        deadline = time.monotonic() + 60
        before = session.run(summed, fed)
        members: list[Event] = []
        steps = 1
        while not members and time.monotonic() < deadline:
            compiler.wait(60)
            with record(tmp_path / "a.json", members=True):
                found = session.run(summed, fed)
            steps += 1
            events, about = loaded(tmp_path / "a.json")
            members = slices(events, "member")
        (region,) = slices(events, "region")
        assert covered(events, about["steps"][0]) >= 0.95
    np.testing.assert_allclose(found, before * steps, rtol=1e-5)
    assert all(_within(each, region) for each in members)
    by_name = {each["name"]: each for each in members}
    product = by_name["while/product"]
    assert product["args"]["count"] == 7
    assert by_name["while/bounded"]["args"]["count"] == 7
    loop = next(each for each in members if _within(product, each) and each is not product)
    inside = [each for each in members if each is not loop and _within(each, loop)]
    assert sum(each["dur"] for each in inside) <= loop["dur"] + 0.002
    assert by_name["after"]["ts"] >= loop["ts"] + loop["dur"]


def test_members_of_compiled_code_in_a_task_are_timed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    with tf.Graph().as_default(), tf.Session(tf.train.Server.create_local_server().target) as session:
        x, summed = _loop()
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            with record(tmp_path / "a.json", members=True):
                session.run(summed, {x: np.eye(20)})
    members = {each["name"]: each for each in slices(loaded(tmp_path / "a.json")[0], "member")}
    assert members["while/product"]["args"]["count"] == 7
    assert "estimated" not in members["while/product"]["args"]


def test_clocks_change_neither_order_nor_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    with tf.Graph().as_default(), tf.Session() as session:
        step = load("lstm_while").programs["build"](tf)
        plain = [step() for _ in range(3)]
    with tf.Graph().as_default(), tf.Session() as session, record(tmp_path / "a.json", members=True):
        del session
        step = load("lstm_while").programs["build"](tf)
        assert [step() for _ in range(3)] == plain
    events, _ = loaded(tmp_path / "a.json")
    assert slices(events, "member")


@pytest.mark.parametrize("where", ["here", "in a task"])
def test_the_time_of_a_cluster_is_shared_among_its_members(
    where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    target = tf.train.Server.create_local_server().target if where == "in a task" else ""
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [None, 300])
        doubled = tf.multiply(x, 2.0, name="doubled")
        y = tf.sqrt(tf.abs(tf.tanh(tf.add(doubled, 1.0, name="more"), name="bounded"), name="positive"), name="root")
        fed = {x: np.zeros([1000, 300])}
        metadata = tf.RunMetadata()
        session.run(y, fed, tf.RunOptions(trace_level=tf.RunOptions.HARDWARE_TRACE), metadata)
        with record(tmp_path / "a.json", members=True):
            session.run(y, fed)
        with record(tmp_path / "plain.json"):
            session.run(y, fed)
    events, _ = loaded(tmp_path / "a.json")
    (cluster,), members = slices(events, "region"), slices(events, "member")
    assert [each["name"] for each in members] == ["doubled", "more", "bounded", "positive", "root"]
    assert all(each["args"]["estimated"] and _within(each, cluster) for each in members)
    assert sum(each["dur"] for each in members) == pytest.approx(cluster["dur"], abs=0.01)
    by_name = {each["name"]: each["dur"] for each in members}
    assert by_name["bounded"] > 4 * by_name["more"]
    assert not slices(loaded(tmp_path / "plain.json")[0], "member")
    (device,) = metadata.step_stats.dev_stats
    nanos = {each.node_name: each.op_end_rel_nanos for each in device.node_stats}
    assert nanos["bounded"] > 4 * nanos["more"] > 0


def test_a_hardware_trace_has_the_times_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    observed: list[Any] = []
    make = BaseSession._observer
    monkeypatch.setattr(
        BaseSession,
        "_observer",
        lambda *args: observed.append(found := make(*args)) or found,  # type: ignore[func-returns-value]
    )
    with tf.Graph().as_default(), tf.Session() as session:
        x, summed = _loop()
        session.run(tf.global_variables_initializer())
        for level in (tf.RunOptions.FULL_TRACE, tf.RunOptions.HARDWARE_TRACE):
            session.run(summed, {x: np.eye(20)}, tf.RunOptions(trace_level=level), tf.RunMetadata())
    assert [len(observer.clocks) for observer in observed] == [0, 1]
