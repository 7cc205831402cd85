"""`_Region`'s kernel: what its nodes' own kernels do at first, then one compiled function."""

from __future__ import annotations

import functools
import threading
import time
import types
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from penstock.codegen.c.agreement import Values
from penstock.codegen.c.compiler import compiler
from penstock.codegen.c.object_cache import Function
from penstock.codegen.c.patience import Patience
from penstock.codegen.c.source import Source
from penstock.codegen.c.trials import trial_of
from penstock.codegen.clusters.cluster_launch import python_code
from penstock.codegen.python.lower import lower
from penstock.codegen.python.segment import Param, Result, Segment, explain
from penstock.codegen.regions.function import Written
from penstock.codegen.regions.region_launch import Launch, launcher
from penstock.codegen.regions.region_source import region_source
from penstock.codegen.regions.rehearsal import RegionRehearsal, contents, first_call
from penstock.codegen.regions.writer import Unwritable, write_step
from penstock.emit.registry import emitter_of
from penstock.graph.node_kernel import NodeKernel
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.runtime.kernels import KernelContext, SessionState, make_kernel
from penstock.runtime.resources import VariableState
from penstock.runtime.values import to_runtime
from penstock.tensor.dtypes import as_dtype


def region_kernel(ctx: KernelContext) -> NodeKernel:
    """The kernel factory of `_Region`.

    mode: "auto" compiles in the background after some calls; "on" at once, where errors are raised.
    """
    unmade = _Unmade(functools.partial(_kernel, ctx.node, ctx.device, ctx.state))
    return NodeKernel(call=unmade.call, observed=unmade.observed, source=unmade.source, with_arrays=unmade.with_arrays)


class _Unmade:
    """A region before it is known which of its inputs and outputs are arrays; called as it is, none are."""

    def __init__(self, make: Callable[[frozenset[int], frozenset[int]], NodeKernel]) -> None:
        self.with_arrays = make
        self._lock = threading.Lock()
        self._made: NodeKernel | None = None

    def call(self, *values: Any) -> Any:
        return self._kernel().call(*values)

    def observed(self, observer: Any, *values: Any) -> Any:
        observed = self._kernel().observed
        assert observed is not None
        return observed(observer, *values)

    def source(self) -> str:
        source = self._kernel().source
        assert source is not None
        return source()

    def _kernel(self) -> NodeKernel:
        if self._made is None:
            with self._lock:
                self._made = self._made or self.with_arrays(frozenset(), frozenset())
        return self._made


def _kernel(
    node: Node, device: torch.device, state: SessionState, arrays_in: frozenset[int], arrays_out: frozenset[int]
) -> NodeKernel:
    """A new Region, with what can be done with it."""
    region = Region(node, device, state, arrays_in, arrays_out)
    if node.attrs["mode"] == "on":
        written = write_step(region.body, region.schedule.statements, region.schedule.hazards, region.sums)
        function = compiler().compile(region_source(written))
        if function is not None:
            region.use(written, function)
    else:
        region.current[0] = region.count
    with_arrays = functools.partial(_kernel, node, device, state)
    return NodeKernel(
        call=region.call, observed=region.run_observed, source=lambda: region.source, with_arrays=with_arrays
    )


class Region:
    """A region of one plan. Any number of threads may call it at once.

    `current` holds the function that `call` calls.
    """

    def __init__(
        self,
        node: Node,
        device: torch.device,
        state: SessionState,
        arrays_in: frozenset[int] = frozenset(),
        arrays_out: frozenset[int] = frozenset(),
    ) -> None:
        self.node, self.arrays_in, self.arrays_out = node, arrays_in, arrays_out
        self.body: StepGraph = node.attrs["body"]
        self._device, self._state = device, state
        kernels = {
            n: make_kernel(n, "CPU", device, state)
            for n in self.body.nodes
            if n.op is not FEED and n.op.name not in PRIMITIVES
        }
        self._lowered = lower(self.body, kernels)
        self.schedule = self._lowered.schedule
        in_place = self.schedule.in_place
        sums = (n for n in in_place if (emitter := emitter_of(n.op.name)) is not None and emitter.adds)
        self.sums = {n: merge for n in sums if (merge := in_place[n].variable) is not None}
        self._members = self._segment()
        self._observed: Segment | None = None
        self._lock = threading.Lock()
        self._patience = Patience(since=time.monotonic(), prepare=lambda: compiler().prepare())
        self._requested = False
        self.current: list[Launch] = [self.run_members]
        names = [f"x{i}" for i in range(len(node.inputs))]
        values = names[: len(self.body.feeds)]
        text = f"def call({', '.join(names)}): return current[0]({', '.join(values)})\n"
        self.call: Launch = types.FunctionType(python_code(text), {"current": self.current})

    # --- the nodes' own kernels -----------------------------------------------------------------------

    def _segment(self, observed: bool = False) -> Segment:
        params = [
            Param(Edge(feed, 0), _tensor if i in self.arrays_in else None) for i, feed in enumerate(self.body.feeds)
        ]
        results = [
            Result(edge, _ARRAYS[copy] if i in self.arrays_out else torch.clone if copy else None)
            for i, (edge, copy) in enumerate(zip(self.body.fetches, self.schedule.hazards.fetches, strict=True))
        ]
        return self._lowered.segment(params, results, observed)

    @property
    def source(self) -> str:
        """What the nodes do, to read: as Python, whether it runs as that or as C."""
        return self._members.source

    def run_members(self, *values: Any) -> Any:
        return self._finish(self._members, values)

    def run_observed(self, observer: Any, *values: Any) -> Any:
        """As `call`, with `observer(node)` called before each node of the region."""
        with self._lock:
            self._observed = self._observed or self._segment(observed=True)
        return self._finish(self._observed, (observer, *values[: len(self.body.feeds)]))

    def _finish(self, segment: Segment, values: tuple[Any, ...]) -> Any:
        try:
            found = segment.fn(*values)
        except Exception as error:
            raise explain(error, segment) from error.__cause__
        return found[0] if len(found) == 1 else found

    # --- compiling ------------------------------------------------------------------------------------

    def count(self, *values: Any) -> Any:
        """What is called until compiling begins: steps that run a few times are not worth a compiler's time."""
        if self._patience.is_over():
            self._request(values)
        return self.run_members(*values)

    def _request(self, values: Values) -> None:
        with self._lock:
            if self._requested:
                return
            self._requested = True
        self.current[0] = self.run_members
        me = weakref.ref(self)  # a session that is gone needs no function
        given = contents(values)
        texts: list[Written] = []

        def write() -> Source | None:
            region = me()
            if region is None:
                return None
            try:
                texts.append(write_step(region.body, region.schedule.statements, region.schedule.hazards, region.sums))
            except Unwritable:
                return None
            source = region_source(texts[0])
            return replace(source, first=first_call(region, texts[0], given)) if given is not None else source

        def done(function: Function | None) -> None:
            region = me()
            if region is not None and function is not None:
                region.use(texts[0], function)

        compiler().request(write, done)

    def use(self, written: Written, function: Function) -> None:
        """Call `function` from now on; beside the members until it can be believed."""
        launch = launcher(self, written, function, self.variables(written), self.run_members)
        trial = trial_of(function, compiler())
        rehearsal = RegionRehearsal(self, written, function)

        def run(*values: Any) -> Any:
            if not (trial.passed or trial.failed) and rehearsal.is_cheap():
                return trial.run(rehearsal, self.body.nodes, values)
            rehearsal.forget()
            self.current[0] = self.run_members if trial.failed else launch
            return self.current[0](*values)

        self.current[0] = launch if trial.passed else run

    def in_session(self, state: SessionState) -> Region:
        """This region with other variables."""
        return Region(self.node, self._device, state, self.arrays_in, self.arrays_out)

    def variables(self, written: Written) -> list[VariableState]:
        """The state of the variables whose buffers the function takes."""
        kernels = [make_kernel(node, "CPU", self._device, self._state) for node in written.variables]
        return [kernel.value for kernel in kernels]  # type: ignore[union-attr]


def _tensor(array: np.ndarray) -> torch.Tensor:
    return to_runtime(array, as_dtype(array.dtype))


_ARRAYS = {False: torch.Tensor.numpy, True: lambda tensor: tensor.clone().numpy()}
