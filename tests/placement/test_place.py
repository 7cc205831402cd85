"""Where nodes go: constraints, conflicts, the greedy simulation, memory, strategies of one's own."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import errors
from penstock.devices.device import Device
from penstock.passes.planned_memory import PlannedMemory
from penstock.passes.prune import prune
from penstock.placement import Choice, Hardware, Link, SimulatedDevice, simulate
from penstock.placement.calibration import Speeds
from penstock.placement.place import Placement, place
from penstock.placement.strategies import _strategies, best_of, greedy_strategy, one_device_each

TWO = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


_LINK = Link(1e-6, 1e9)


def _hardware(count: int = 2, memory: float = 0.0, link: Link = _LINK) -> Hardware:
    speeds = Speeds(1e9, 1e9, 1e-6)
    names = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(count)]
    return Hardware([SimulatedDevice(name, "CPU", speeds, memory) for name in names], link)


def _session(strategy: str = "greedy", devices: int = 2, **options: Any) -> tf.Session:
    config = tf.ConfigProto(device_count={"CPU": devices}, **options)
    return tf.Session(config=tf.placement.configure(config, strategy))


def _placed(session: tf.Session, fetches: Any) -> dict[str, str]:
    return {node.name: node.device for node in session._runner(fetches, None)[0].graph.nodes}


@pytest.mark.uncompiled  # a node by its name
def test_a_node_goes_where_its_device_says() -> None:
    with tf.device("/cpu:1"):
        x = tf.constant(2.0) + tf.random_uniform([])
    with tf.device("/device:CPU:0"):
        y = x * 3.0
    with _session() as session:
        placed = _placed(session, y)
        assert placed[x.op.name] == TWO[1] and placed[y.op.name] == TWO[0]
        assert 6.0 <= session.run(y) < 9.0


def test_an_unknown_device_is_an_error_that_names_node_line_and_devices_or_a_wish_with_soft_placement() -> None:
    with tf.device("/gpu:7"):
        x = tf.random_uniform([], name="there")
    with pytest.raises(errors.InvalidArgumentError, match=r"operation there/.*GPU:7.*CPU:0, .*CPU:1.*test_place.py"):
        _session().run(x)
    assert 0.0 <= _session(allow_soft_placement=True).run(x) < 1.0


def test_what_must_be_together_is_and_a_conflict_names_every_line() -> None:
    with tf.device("/cpu:1"):
        v = tf.Variable(tf.zeros([2]), name="v")
    with tf.colocate_with(v.op):
        near = tf.random_uniform([2], name="near")
    with tf.device("/cpu:0"):
        other = tf.random_uniform([], name="other")
    with tf.colocate_with(v.op), tf.colocate_with(other.op):
        torn = tf.exp(tf.random_uniform([]), name="torn")
    with _session() as session:
        assert {d for n, d in _placed(session, near).items() if n.startswith("near")} == {TWO[1]}
        both = r"(?s)v = VariableV2: asks for /device:CPU:1 \(built at .*test_place.*torn = Exp: asks for /device:CPU:0"
        with pytest.raises(errors.InvalidArgumentError, match=both):
            session.run([torn, v])
        session.run(v.initializer)  # the session stays usable


def test_a_variable_stays_where_an_earlier_step_put_it() -> None:
    with tf.variable_scope("a"):
        v = tf.get_variable("v", initializer=np.ones((64, 64), np.float32))
    update = v.assign(tf.matmul(v, v) / 64.0)
    with _session() as session:
        session.run(tf.global_variables_initializer())
        homes = {_placed(session, fetch)["a/v"] for fetch in (v, update, tf.reduce_sum(v))}
        assert len(homes) == 1
        np.testing.assert_allclose(session.run(update), np.ones((64, 64)), rtol=1e-6)


@pytest.mark.uncompiled  # a node by its name
def test_users_write_strategies_and_a_wrong_one_is_told_so() -> None:
    def last(choice: Choice) -> list[int]:
        return choice.spread([feasible[-1] for feasible in choice.feasible])

    tf.placement.register_strategy("test: last")(last)
    tf.placement.register_strategy("test: off")(lambda choice: [7] * len(choice.groups))
    try:
        x = tf.random_uniform([3]) + 1.0
        session = _session("test: last")
        assert _placed(session, x)[x.op.name] == TWO[1] and session.run(x).shape == (3,)
        with pytest.raises(errors.InvalidArgumentError, match=r"strategy put .* on 7"):
            _session("test: off").run(x)
        with pytest.raises(ValueError, match=r"no placement strategy 'nonsense': there are .*greedy"):
            _session("nonsense")
    finally:
        del _strategies["test: last"], _strategies["test: off"]


def _layers(dice: random.Random, layers: int, width: int, size: int) -> tuple[Any, list[Any]]:
    """A random layered graph of products."""
    feeds = [tf.placeholder(tf.float32, [size, size]) for _ in range(width)]
    now: list[Any] = list(feeds)
    for _ in range(layers):
        now = [tf.matmul(dice.choice(now), dice.choice(now)) for _ in range(width)]
    return tf.add_n(now), feeds


@pytest.mark.parametrize("seed", range(8))
def test_greedy_is_close_to_the_best_of_all_placements_and_never_worse_than_one_device(seed: int) -> None:
    fetch, feeds = _layers(random.Random(seed), 3, 3, 32)
    choice = tf.placement.step_choice(fetch, feeds, _hardware())
    found = simulate(choice.problem, greedy_strategy(choice))
    movable = [i for i in range(len(choice.feasible)) if choice.problem.seconds[0][choice.groups.index(i)]]
    everything = []
    for devices in itertools.product(range(2), repeat=len(movable)):
        where = dict(zip(movable, devices, strict=True))
        everything.append(choice.spread([where.get(g, 0) for g in range(len(choice.feasible))]))
    best = best_of(choice.problem, everything)[1]
    assert found.seconds <= 1.25 * best.seconds
    assert found.seconds <= min(simulate(choice.problem, p).seconds for p in one_device_each(choice))


def test_memory_limits_are_kept_where_that_can_be() -> None:
    variables = [tf.Variable(tf.zeros([256, 256])) for _ in range(4)]  # 256 KiB each
    x = tf.placeholder(tf.float32, [1, 256])
    fetch = tf.add_n([tf.matmul(x, v) for v in variables])
    choice = tf.placement.step_choice(fetch, [x], _hardware(2, memory=600e3))
    timeline = simulate(choice.problem, greedy_strategy(choice))
    assert timeline.fits and max(timeline.peak) <= 600e3
    roomy = tf.placement.step_choice(fetch, [x], _hardware(2, link=Link(1.0, 1e9)))  # sending takes a second
    assert max(simulate(roomy.problem, greedy_strategy(roomy)).peak) > 1e6


def test_simulated_memory_is_that_of_the_plan_where_views_keep_what_they_show() -> None:
    x = tf.placeholder(tf.float32, [64, 64])
    shown = tf.reshape(tf.matmul(x, x), [32, 128])  # alone keeps the product
    other = x
    for _ in range(3):
        other = tf.matmul(other, tf.matmul(x, other))
    fetch = tf.matmul(tf.matmul(other, tf.reshape(shown, [64, 64])), other)
    choice = tf.placement.step_choice([fetch, shown], [x], _hardware(1))
    (peak,) = simulate(choice.problem, [0] * len(choice.groups)).peak
    assert peak == 4 * 64 * 64 * 4 == PlannedMemory().of(choice.problem.graph).peak


def test_the_simulated_run_of_a_chain_and_a_fork_takes_the_time_that_one_counts_by_hand() -> None:
    x = tf.placeholder(tf.float32, [1000])
    a = tf.exp(x)  # reads and writes 8,000 bytes: 8 µs, and 1 µs to launch
    b, c = tf.sin(a), tf.cos(a)
    d = b + c  # 12,000 bytes
    choice = tf.placement.step_choice(d, [x], _hardware(2, link=Link(2e-6, 1e9)))
    place = {x.op.name: 0, a.op.name: 0, b.op.name: 0, c.op.name: 1, d.op.name: 0}
    alone = simulate(choice.problem, [0] * len(choice.groups))
    split = simulate(choice.problem, [place.get(n.name, 0) for n in choice.problem.nodes])
    assert alone.seconds == pytest.approx(9e-6 * 3 + 13e-6)
    # a, its way over (2 + 4 µs), cos there, the way back, and the sum
    assert split.seconds == pytest.approx(9e-6 + 6e-6 + 9e-6 + 6e-6 + 13e-6)
    assert len(split.transfers) == 2 and split.critical_path() == [a.op.name, c.op.name, d.op.name]
    assert "critical path, 3 nodes" in split.text() and split.chrome_trace()["traceEvents"]


def test_hardware_is_read_from_yaml_and_nonsense_in_it_is_named(tmp_path: Any) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        "devices:\n"
        "  - {name: '/cpu:0', flops: 1.0e9, bytes_per_second: 1.0e9, launch: 1.0e-6}\n"
        "  - {name: '/gpu:0', flops: 1.0e12, bytes_per_second: 1.0e11, memory: 1.0e9}\n"
        "links:\n  default: {latency: 1.0e-5, bytes_per_second: 1.0e10}\n"
        "  pairs:\n    - {from: '/cpu:0', to: '/gpu:0', latency: 2.0e-5, bytes_per_second: 5.0e9}\n"
    )
    hardware = Hardware.load(path)
    cpu, gpu = hardware.names
    assert gpu.endswith("task:0/device:GPU:0") and hardware[gpu].memory == 1e9
    assert hardware.link(gpu, cpu) == Link(2e-5, 5e9) and hardware.link(cpu, cpu).seconds(1e9) == 0
    x = tf.placeholder(tf.float32, [512, 512])
    timeline = tf.placement.simulate_step(tf.matmul(tf.matmul(x, x), x), [x], hardware)
    assert {hardware.devices[run.device].type for run in timeline.runs} == {"GPU"}
    assert "round_robin" in tf.placement.compare_strategies(tf.matmul(x, x), [x], hardware)
    for text in ("devices: 3", "devices: [{name: '/cpu:0', flops: -1, bytes_per_second: 1}]"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"two\.yaml does not describe hardware"):
            Hardware.load(path)


def test_a_cost_model_learns_from_measurements_and_keeps_them_in_a_file(tmp_path: Any) -> None:
    x = tf.placeholder(tf.float32, [100, 100])
    choice = tf.placement.step_choice(tf.matmul(x, x, name="m"), [x], _hardware())
    node = next(n for n in choice.problem.nodes if n.name == "m")
    costs, device = tf.placement.CostModel(), _hardware().devices[0]
    assert costs.seconds(node, device) == pytest.approx(1e-6 + 2e6 / 1e9)  # 2 · 100³ operations at 1e9 a second
    for milliseconds in (5, 3, 9, 4):
        costs.record(node, "CPU", milliseconds * 1e-3)
    path = tmp_path / "costs.json"
    costs.save(path)
    assert tf.placement.CostModel.load(path).seconds(node, device) == pytest.approx(4e-3)
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"costs.json is not a saved cost model"):
        tf.placement.CostModel.load(path)


def test_state_stays_where_a_session_first_placed_it() -> None:
    placement = Placement()
    with tf.Graph().as_default():
        v = tf.Variable([1.0], name="v", use_resource=False)
        graph = prune([], [v.read_value()], [])
    devices = [Device(name, "CPU", torch.device("cpu")) for name in TWO]
    for order in (devices, devices[::-1]):
        placed = place(graph, order, pinned=placement.devices)
        placement.keep(placed)
        assert next(node.device for node in placed.nodes if node.name == "v") == TWO[0]
    assert placement.devices == {"v": TWO[0]}
    assert {node.device for node in graph.nodes} == {""}


def test_what_a_session_is_asked_for_does_not_change() -> None:
    with tf.Session() as session, pytest.raises(dataclasses.FrozenInstanceError):
        session._options.passes = frozenset()


def test_two_conditionals_that_follow_each_other_are_on_the_devices_that_they_ask_for() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.device("/cpu:0"):
        first = tf.cond(x > 0.0, lambda: x * 2.0, lambda: x - 1.0)
    with tf.device("/cpu:1"):
        second = tf.cond(x > 5.0, lambda: first * 3.0, lambda: first + 10.0)
    with _session() as session:
        assert [session.run(second, {x: value}) for value in (-1.0, 1.0, 6.0)] == [8.0, 12.0, 36.0]
        placed = _placed(session, second)
        assert placed[first.op.name] == TWO[0] and placed[second.op.name] == TWO[1]


def _described(path: Any, memory: float) -> Any:
    """A ConfigProto for two devices of so many bytes."""
    entries = "".join(
        f"  - {{name: '/device:CPU:{i}', flops: 1.0e+11, bytes_per_second: 1.0e+10, memory: {memory}}}\n"
        for i in range(2)
    )
    path.write_text(f"devices:\n{entries}")
    return tf.placement.configure(tf.ConfigProto(device_count={"CPU": 2}), hardware=path)


def test_a_step_that_no_device_has_memory_for_is_an_error_that_names_the_largest_nodes(tmp_path: Any) -> None:
    small = tf.Variable(tf.zeros([10]), name="small")
    large = tf.Variable(tf.zeros([500_000]), name="large")
    work = tf.exp(tf.random_uniform([300_000]), name="work")
    with tf.Session(config=_described(tmp_path / "hardware.yaml", 1.5e6)) as session:
        session.run(small.initializer)
        with pytest.raises(
            errors.ResourceExhaustedError, match=r"memory of .*CPU:\d.*2 MB.*1.5 MB[^$]*large = .*test_place"
        ):
            session.run(large.initializer)
        assert session.run(small).shape == (10,)
        assert session.run(work).shape == (300_000,)  # 1.2 MB, computed in place


def test_variables_that_one_device_cannot_hold_are_divided(tmp_path: Any) -> None:
    variables = [tf.Variable(tf.zeros([200_000]), name=f"v{i}") for i in range(4)]
    total = tf.add_n([tf.reduce_sum(v) for v in variables])
    with tf.Session(config=_described(tmp_path / "hardware.yaml", 1.8e6)) as session:
        for variable in variables:
            session.run(variable.initializer)
        assert session.run(total) == 0.0
        placed = _placed(session, total)
        assert [sum(placed[v.op.name] == device for v in variables) for device in TWO] == [2, 2]
