"""`Members`: what a compiled node runs until its function has been compiled and validated, and when it is traced."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import torch

from penstock.codegen.python.lower import lower
from penstock.codegen.python.segment import Param, Result, Segment, explain
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, StepGraph
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.values import to_runtime
from penstock.tensor.dtypes import as_dtype


class Members:
    """Runs the kernels of the nodes of a `body`, one after another. It is thread-safe.

    arrays_in, arrays_out: the indices of inputs and outputs that are NumPy arrays.
    """

    def __init__(
        self,
        body: StepGraph,
        device: torch.device,
        state: SessionState,
        arrays_in: frozenset[int] = frozenset(),
        arrays_out: frozenset[int] = frozenset(),
    ) -> None:
        kind = "CPU" if device.type == "cpu" else "GPU"
        nodes = [n for n in body.nodes if n.op is not FEED and n.op.name not in PRIMITIVES]
        self._lowered = lower(body, {n: make_kernel(n, kind, device, state) for n in nodes})
        self.schedule = self._lowered.schedule
        self._params = [Param(Edge(n, 0), _tensor if i in arrays_in else None) for i, n in enumerate(body.feeds)]
        self._results = [
            Result(edge, _ARRAYS[copy] if i in arrays_out else torch.clone if copy else None)
            for i, (edge, copy) in enumerate(zip(body.fetches, self.schedule.hazards.fetches, strict=True))
        ]
        self._segment = self._lowered.segment(self._params, self._results)
        self._observed: Segment | None = None
        self._lock = threading.Lock()

    @property
    def source(self) -> str:
        """The Python source of the function that runs the kernels."""
        return self._segment.source

    def run(self, *values: Any) -> Any:
        return _call(self._segment, values)

    def run_observed(self, observer: Any, *values: Any) -> Any:
        """Like `run`, but calls `observer(node)` before each node."""
        with self._lock:
            if self._observed is None:
                self._observed = self._lowered.segment(self._params, self._results, observed=True)
        return _call(self._observed, (observer, *values[: len(self._params)]))


def _call(segment: Segment, values: tuple[Any, ...]) -> Any:
    try:
        found = segment.fn(*values)
    except Exception as error:
        raise explain(error, segment) from error.__cause__
    return found[0] if len(found) == 1 else found


def _tensor(array: np.ndarray) -> torch.Tensor:
    return to_runtime(array, as_dtype(array.dtype))


_ARRAYS = {False: torch.Tensor.numpy, True: lambda tensor: tensor.clone().numpy()}
