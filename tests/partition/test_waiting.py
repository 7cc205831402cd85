"""Parts of a step that wait for each other: no plan makes them, and a step of such a plan ends with an error."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import penstock as tf
from penstock import errors
from penstock.engine.partitioned import PartitionedPlan
from penstock.graph.step_graph import Node
from penstock.partition.circles import check_for_circles
from penstock.partition.partition import Partition, partition
from penstock.passes.prune import prune
from tests.anywhere import alarm as alarm
from tests.placement.test_place import TWO, _hardware


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _there_and_back() -> tuple[Any, list[Partition]]:
    """x on the first device, y on the second and z on the first, each of the one before."""
    x = tf.placeholder(tf.float32, [], name="x")
    graph = prune([x], [tf.sqrt(tf.exp(tf.negative(x, name="there"), name="back"), name="end")], [])
    for node in graph.nodes:
        node.device = TWO[1] if node.name == "back" else TWO[0]
    return graph, partition(graph)


def _make_circle(parts: list[Partition]) -> None:
    """What is there first waits for what comes of it."""
    nodes = parts[0].graph.nodes
    recv, there = _node(parts, "_recv_back_0"), _node(parts, "there")
    there.controls += (recv,)
    nodes.remove(recv)
    nodes.insert(nodes.index(there), recv)


def _node(parts: list[Partition], name: str) -> Node:
    return next(node for part in parts for node in part.graph.nodes if node.name == name)


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        yield session


def _plan(session: tf.Session, graph: Any, parts: list[Partition]) -> PartitionedPlan:
    return PartitionedPlan(graph, parts, session._state, {d.name: d for d in session._options.devices})


def test_parts_that_wait_for_each_other_are_refused_when_planned() -> None:
    _, parts = _there_and_back()
    _make_circle(parts)
    with pytest.raises(
        errors.InternalError, match=r"in a circle:(.|\n)*_recv_back_0 on .*CPU:0 waits for _send_back_0"
    ):
        check_for_circles(parts)


@pytest.mark.uncompiled
def test_a_step_whose_devices_all_wait_for_recvs_says_which(session: tf.Session) -> None:
    graph, parts = _there_and_back()
    _make_circle(parts)
    plan = _plan(session, graph, parts)
    with pytest.raises(
        errors.InternalError, match=r"cannot go on: all devices wait.*back:0 to .*CPU:0, there:0 to .*CPU:1"
    ):
        plan.run([torch.tensor(1.0)])


@pytest.mark.uncompiled
def test_a_step_that_waits_for_what_a_device_never_sent_ends_with_an_error(session: tf.Session) -> None:
    graph, parts = _there_and_back()
    plan = _plan(session, graph, parts)
    program: Any = plan._plans[1]._program  # type: ignore[attr-defined]
    for unit in program.units:
        unit.consumers = [[] for _ in unit.consumers]  # the second device ends without having sent anything
    with pytest.raises(errors.InternalError, match=r"cannot go on: all devices wait, and none will send back:0 to"):
        plan.run([torch.tensor(1.0)])


def test_a_recv_never_waits_for_a_write_that_comes_after_what_it_is_for() -> None:
    """`second` could run before `first`, and x wait for it, if they did not write the same variable."""
    size = 256
    with tf.device("/cpu:0"):
        x = tf.random_uniform([size, size])
        y = _product(x, 20)
    with tf.device("/cpu:1"):
        v = tf.Variable(tf.zeros([size, size]), use_resource=False)
        first = tf.raw_ops.Assign(ref=v._ref(), value=x * y)
        z = _product(tf.random_uniform([size, size]), 5) * 0.0
        second = tf.raw_ops.Assign(ref=v._ref(), value=z + 1.0)
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.enable_recv_scheduling = True
    with tf.Session(config=config) as session:
        session._options = dataclasses.replace(session._options, hardware=_hardware())
        session.run(v.initializer)
        session.run([first.op, second.op])
        assert (session.run(v) == 1.0).all()


def _product(x: tf.Tensor, times: int) -> tf.Tensor:
    for _ in range(times):
        x = tf.matmul(x, x) / 256.0
    return x
