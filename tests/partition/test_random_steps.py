"""Random programs, with loops, branches, variables and gradients, on one, two and four devices: the same bits.

PENSTOCK_EXAMPLES is the number of programs, as in tests/control_flow/test_random_programs.py.
"""

from __future__ import annotations

import collections
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import penstock as tf
from penstock.engine.pipeline import prepare
from penstock.partition.partition import Partition, partition
from penstock.placement.constraints import find_groups
from penstock.session.fetches import FetchPlan
from tests.anywhere import SECONDS, Anywhere, alarm as alarm, anywhere as anywhere
from tests.control_flow.programs import Program, build, inputs, programs
from tests.control_flow.test_random_programs import _many


def _bits(values: list[Any]) -> list[tuple[Any, ...]]:
    return [(np.asarray(v).dtype, np.shape(v), np.asarray(v).tobytes()) for v in values]


@pytest.mark.uncompiled  # to the bit
@_many
@given(program=programs(), values=inputs(), seed=st.integers(0, 2**32))
def test_any_placement_on_several_devices_gives_the_bits_of_one(
    anywhere: Anywhere, program: Program, values: dict[str, Any], seed: int
) -> None:
    anywhere.seed = seed
    with tf.Graph().as_default() as graph:
        built = build(program, tf)
        ys = [tf.convert_to_tensor(r) for r in built.results if r.dtype.base_dtype == tf.float64]
        grads = [g for g in tf.gradients(ys, [built.by(n) for n in ("v0", "v1", "s0")]) if g is not None] if ys else []
        start = tf.global_variables_initializer()
    feeds = built.feeds(values)
    fetches = [*built.results, *grads]
    found = []
    for devices in (1, 2, 4):
        with tf.Session(graph=graph, config=anywhere.config(devices)) as session:
            signal.alarm(SECONDS)
            session.run(start)
            session.run(built.setup, feeds)
            found.append(_bits(session.run(fetches, feeds)))
            found.append(_bits(session.run(fetches, feeds)))
            _check_partitions(session, fetches, feeds)
            signal.alarm(0)
    assert all(one == found[0] for one in found)


def _check_partitions(session: Any, fetches: list[Any], feeds: dict[Any, Any]) -> None:
    wanted = FetchPlan(session.graph, fetches)
    options = session._options
    step = prepare(list(feeds), wanted.tensors, wanted.targets, options, placement=session._placement).graph
    groups = find_groups(step, options.devices, False, session._placement.devices)
    for node in step.nodes:
        assert node.device in [options.devices[i].name for i in groups[node].feasible]
    for part in partition(step):
        _check_one_receive_each(part)


def _check_one_receive_each(part: Partition) -> None:
    received = collections.Counter(n.attrs["key"] for n in part.graph.nodes if n.op.name in ("_Recv", "_RecvControl"))
    assert all(count == 1 for count in received.values()), received
    assert all(n.device == part.device or not n.inputs for n in part.graph.nodes)
