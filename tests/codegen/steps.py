"""Steps with clusters, without a session: what these tests run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from penstock.codegen.compile_nodes import compile_nodes
from penstock.devices.device import Device
from penstock.engine.plan import Plan, make_plan
from penstock.graph.operation import Tensor
from penstock.graph.step_graph import Node, StepGraph
from penstock.graph.verify import verify
from penstock.passes.prune import prune
from penstock.runtime.kernels import SessionState
from penstock.runtime.resources import ResourceManager

CPU = Device("/job:localhost/replica:0/task:0/device:CPU:0", "CPU", torch.device("cpu"))


def clustered(fetches: list[Tensor], feeds: list[Tensor], mode: str = "on") -> StepGraph:
    """The graph of a step, with clusters unless `mode` is "off"."""
    graph = compile_nodes(prune(feeds, fetches, []), mode)
    verify(graph, "compile_nodes")
    return graph


def clusters(graph: StepGraph) -> list[Node]:
    return [node for node in graph.nodes if node.op.name == "_Cluster"]


def members(cluster: Node) -> list[str]:
    """The ops of a cluster, sorted."""
    return sorted(n.op.name for n in cluster.attrs["body"].nodes if n.op.name not in ("_Feed", "Const"))


def new_state() -> SessionState:
    return SessionState(ResourceManager())


def plan(fetches: list[Tensor], feeds: list[Tensor], mode: str = "on") -> Plan:
    return make_plan(clustered(fetches, feeds, mode), new_state(), CPU)


def run(fetches: list[Tensor], feeds: dict[Tensor, Any], mode: str = "on") -> list[np.ndarray]:
    """The values of `fetches`."""
    return [np.asarray(value) for value in plan(fetches, list(feeds), mode).run(list(feeds.values()))]


def ulps_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many floats lie between a and b, element by element: 0 for two NaNs, and for zeros of both signs."""
    assert a.dtype == b.dtype
    bits = {4: np.int32, 8: np.int64}[a.dtype.itemsize]
    apart = np.zeros(a.shape)
    for i in zip(*np.nonzero((a != b) & ~(np.isnan(a) & np.isnan(b))), strict=True):
        places = [int(x[i].view(bits)) for x in (a, b)]
        low, high = (np.iinfo(bits).min - p if p < 0 else p for p in places)
        apart[i] = np.inf if np.isnan(a[i]) or np.isnan(b[i]) else abs(low - high)
    return apart


class Context:
    """As much of a KernelContext as the kernel of a convolution looks at."""

    def __init__(self, node: Any) -> None:
        self.node = node


def refuse(*_: Any) -> Any:
    raise AssertionError("torch's kernel ran")


@contextlib.contextmanager
def threads(number: int) -> Iterator[None]:
    """In it, torch and what is compiled use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
