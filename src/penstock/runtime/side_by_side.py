"""Kernels that may wait for each other: functions of the program (tf.py_func) that use locks, queues or the network.

If two of them may run in any order, each gets a thread, as in TensorFlow's executor. If a step has only one, or one
waits for the other anyway, they run in the step's own thread, which costs nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from penstock.graph.node_kernel import abilities
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Node, StepGraph
from penstock.runtime.kernels import SessionState
from penstock.runtime.workers import Workers


def use_threads(graph: StepGraph, kernels: dict[Node, Any], state: SessionState) -> dict[Node, Any]:
    """Makes the kernels that may wait for each other asynchronous, in a graph without control flow."""
    functions = {node for node in graph.nodes if abilities(kernels.get(node)).may_block}
    blocking = [node for node in graph.nodes if node in functions or node.op.traits.waits]
    if len(blocking) < 2 or not functions:
        return kernels
    before: dict[Node, frozenset[Node]] = {}
    for node in graph.nodes:
        sources = [*(edge.node for edge in node.inputs), *node.controls]
        before[node] = frozenset(s for s in sources if s in blocking).union(*(before[s] for s in sources))
    apart: dict[Node, None] = {}
    for a, b in itertools.combinations(blocking, 2):
        if a not in before[b] and b not in before[a]:
            apart |= {a: None, b: None}
    workers: Workers = state.keep("device workers", Workers)
    threads = {node: _InThread(kernels[node].call, workers) for node in apart if node in functions}
    return {**kernels, **{node: replace(kernels[node], start=thread.start) for node, thread in threads.items()}}


class _InThread:
    """An asynchronous kernel (see `executor.py`) that calls another in a thread."""

    def __init__(self, kernel: Kernel, workers: Workers) -> None:
        self._kernel, self._workers = kernel, workers

    def start(self, done: Callable[[Any], None], *values: Any) -> None:
        def task() -> None:
            try:
                with torch.inference_mode():
                    found = self._kernel(*values)
            except BaseException as error:
                done(error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}"))
            else:
                done(found)

        self._workers.run(task)
