"""Greedy placement on random graphs: memory limits, feasibility, single devices, and speed."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import penstock as tf
from penstock.placement import Choice, Hardware, Link, SimulatedDevice, simulate
from penstock.placement.calibration import Speeds
from penstock.placement.machines import full_name
from penstock.placement.strategies import best_of, greedy_strategy, one_device_each
from tests.control_flow.test_random_programs import _many

SIDE = 32
BYTES = SIDE * SIDE * 4


@st.composite
def graphs(draw: Any) -> tuple[list[tuple[str, int, int]], int]:
    """Nodes as `(kind, first input, second input)`, and the memory limit in values."""
    count = draw(st.integers(3, 7))
    nodes = []
    for i in range(count):
        kind = draw(st.sampled_from(["matmul", "add", "exp", "variable"]))
        nodes.append((kind, draw(st.integers(0, i)), draw(st.integers(0, i))))
    return nodes, draw(st.integers(2, 8))


def build(nodes: list[tuple[str, int, int]]) -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [SIDE, SIDE])
    values = [tf.exp(x)]
    for kind, i, j in nodes:
        a, b = values[i], values[j]
        if kind == "variable":
            b = tf.Variable(np.ones((SIDE, SIDE), np.float32))
        values.append(tf.exp(a) if kind == "exp" else a + b if kind == "add" else tf.matmul(a, b))
    return x, tf.add_n(values)


def hardware(memory: float) -> Hardware:
    speeds = Speeds(1e10, 1e9, 1e-6)
    devices = [SimulatedDevice(full_name(f"/cpu:{i}"), "CPU", speeds, memory) for i in range(2)]
    return Hardware(devices, Link(1e-6, 1e9))


def every_placement(choice: Choice) -> list[list[int]]:
    """All that differ: groups that compute or hold something, on each device; the rest with their first user."""
    heavy = [
        g
        for g in range(len(choice.feasible))
        if any(
            choice.problem.seconds[0][i] or choice.problem.state_bytes[i]
            for i, group in enumerate(choice.groups)
            if group == g
        )
    ]
    found = []
    for devices in itertools.product(range(2), repeat=len(heavy)):
        where = dict(zip(heavy, devices, strict=True))
        found.append(choice.spread([where.get(g, 0) for g in range(len(choice.feasible))]))
    return found


@pytest.mark.slow  # tests/placement/test_place.py has a graph of this kind
@_many
@given(drawn=graphs())
def test_memory_limits_are_kept_wherever_a_placement_keeps_them(drawn: Any) -> None:
    nodes, limit = drawn
    with tf.Graph().as_default():
        x, fetch = build(nodes)
        choice = tf.placement.step_choice(fetch, [x], hardware(limit * BYTES))
    found = simulate(choice.problem, greedy_strategy(choice))
    best = best_of(choice.problem, every_placement(choice))[1]
    assert found.fits or not best.fits
    assert (found.excess, found.seconds) <= min(
        (t.excess, t.seconds) for t in (simulate(choice.problem, p) for p in one_device_each(choice))
    )


def test_greedy_is_within_a_quarter_of_the_best_in_the_median() -> None:
    ratios = []
    for seed in range(12):
        dice = np.random.RandomState(seed)
        nodes = [
            (str(dice.choice(["matmul", "add", "exp"])), dice.randint(i + 1), dice.randint(i + 1)) for i in range(7)
        ]
        with tf.Graph().as_default():
            x, fetch = build(nodes)
            choice = tf.placement.step_choice(fetch, [x], hardware(0))
        best = best_of(choice.problem, every_placement(choice))[1].seconds
        ratios.append(simulate(choice.problem, greedy_strategy(choice)).seconds / best)
    assert statistics.median(ratios) <= 1.25
