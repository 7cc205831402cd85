"""`_Region`'s kernel: what its nodes' own kernels do at first, then one compiled function."""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
import time
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.compiled.compiler import Function, compiler
from penstock.compiled.kernel import CALLS_BEFORE_COMPILING, SECONDS_BEFORE_COMPILING, TORCH_TYPES, python_code
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.native.holders import HOLDER_OPS
from penstock.native.nodes import c_type, shape_of, variable_of
from penstock.native.source import region_source
from penstock.native.writer import Unwritable, Written, write_step
from penstock.ops.control_flow import PRIMITIVES
from penstock.runtime.hazards import Hazards, find_hazards, is_state, writes_state
from penstock.runtime.host_scalars import find_host_nodes
from penstock.runtime.in_place import find_in_place
from penstock.runtime.kernels import KernelContext, SessionState, make_kernel
from penstock.runtime.resources import VariableState
from penstock.runtime.segment import Param, Result, Segment, build_segment
from penstock.runtime.structure import Frame, Statement, execution_order, has_control_flow, structured
from penstock.runtime.values import to_runtime
from penstock.tensor.dtypes import as_dtype

Launch = Callable[..., Any]


def region_kernel(n: KernelContext) -> Launch:
    """The kernel factory of `_Region`.

    mode: "auto" compiles in the background after some calls; "on" at once, where errors are raised.
    """
    return _Unmade(functools.partial(_calling, n.node, n.device, n.state))


class _Unmade:
    """A region before it is known which of its inputs and outputs are arrays; called as it is, none are."""

    def __init__(self, make: Callable[[frozenset[int], frozenset[int]], Launch]) -> None:
        self.with_arrays = make
        self._lock = threading.Lock()
        self._made: Any = None

    def __call__(self, *values: Any) -> Any:
        return (self._made or self._make())(*values)

    def observed(self, observer: Any, *values: Any) -> Any:
        return (self._made or self._make()).observed(observer, *values)

    @property
    def source(self) -> str:
        found: str = (self._made or self._make()).source
        return found

    def _make(self) -> Any:
        with self._lock:
            self._made = self._made or self.with_arrays(frozenset(), frozenset())
        return self._made


def _calling(
    node: Node, device: torch.device, state: SessionState, arrays_in: frozenset[int], arrays_out: frozenset[int]
) -> Launch:
    """The function of a new Region. `with_arrays` of it is one that takes and gives arrays, `observed` one that calls a
    hook before each node."""
    region = Region(node, device, state, arrays_in, arrays_out)
    if node.attrs["mode"] == "on":
        written = write_step(region.body, region.statements, region.hazards, region.sums)
        region.use(written, compiler().compile(region_source(written)))
    else:
        region.current[0] = region.count
    call = region.call
    call.source = region.source  # type: ignore[attr-defined]
    call.observed = region.run_observed  # type: ignore[attr-defined]
    call.with_arrays = functools.partial(_calling, node, device, state)  # type: ignore[attr-defined]
    return call


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
        self._frames: dict[Node, Frame] = {}
        self.statements: list[Statement] = list(self.body.nodes)
        if has_control_flow(self.body):
            self.statements, guards = structured(self.body)
            self._frames = guards.frames
        order = list(execution_order(self.statements))
        self.hazards: Hazards = find_hazards(self.body, order)
        self._order = [node for node, _ in order]
        self._members = self._segment()
        self._observed: Segment | None = None
        self._lock = threading.Lock()
        self._calls = itertools.count(1)
        self._first_call = time.monotonic()
        self._requested = False
        self.current: list[Launch] = [self.run_members]
        names = [f"x{i}" for i in range(len(node.inputs))]
        values = names[: len(self.body.feeds)]
        text = f"def call({', '.join(names)}): return current[0]({', '.join(values)})\n"
        self.call: Launch = types.FunctionType(python_code(text), {"current": self.current})

    # --- the nodes' own kernels -----------------------------------------------------------------------

    def _segment(self, observed: bool = False) -> Segment:
        kernels = {
            n: make_kernel(n, "CPU", self._device, self._state)
            for n in self.body.nodes
            if n.op is not FEED and n.op.name not in PRIMITIVES
        }
        params = [
            Param(Edge(feed, 0), _tensor if i in self.arrays_in else None) for i, feed in enumerate(self.body.feeds)
        ]
        results = [
            Result(edge, _ARRAYS[copy] if i in self.arrays_out else torch.clone if copy else None)
            for i, (edge, copy) in enumerate(zip(self.body.fetches, self.hazards.fetches, strict=True))
        ]
        host = find_host_nodes(self.body, self._frames) if self._frames else set()
        in_place = find_in_place(self.body, kernels, self._order, self._frames)
        products = (n for n in in_place if n.op.name == "_AddProduct")
        self.sums = {n: variable for n in products if (variable := in_place[n].variable) is not None}
        return build_segment(self.statements, kernels, params, results, self.hazards.reads, observed, host, in_place)

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
        from penstock.runtime.plan import explain

        try:
            found = segment.fn(*values)
        except Exception as error:
            raise explain(error, segment) from error.__cause__
        return found[0] if len(found) == 1 else found

    # --- compiling ------------------------------------------------------------------------------------

    def count(self, *values: Any) -> Any:
        """What is called until compiling begins: steps that run a few times are not worth a compiler's time."""
        late = time.monotonic() - self._first_call >= SECONDS_BEFORE_COMPILING
        if next(self._calls) >= CALLS_BEFORE_COMPILING and late:
            self._request()
        return self.run_members(*values)

    def _request(self) -> None:
        with self._lock:
            if self._requested:
                return
            self._requested = True
        self.current[0] = self.run_members
        me = weakref.ref(self)  # a session that is gone needs no function

        def write() -> Any:
            region = me()
            if region is None:
                return None
            written = write_step(region.body, region.statements, region.hazards, region.sums)
            return region_source(written), functools.partial(done, written)

        def done(written: Written, function: Function | None) -> None:
            region = me()
            if region is not None and function is not None:
                region.use(written, function)

        try:
            source, then = write()
        except Unwritable:
            return
        compiler().request(source, then)

    def use(self, written: Written, function: Function) -> None:
        """Call `function` from now on."""
        self.current[0] = _launcher(self, written, function)

    def variables(self, written: Written) -> list[VariableState]:
        """The state of the variables whose buffers the function takes."""
        kernels = [make_kernel(node, "CPU", self._device, self._state) for node in written.variables]
        return [kernel.value for kernel in kernels]  # type: ignore[union-attr]


def _tensor(array: np.ndarray) -> torch.Tensor:
    return to_runtime(array, as_dtype(array.dtype))


_ARRAYS = {False: torch.Tensor.numpy, True: lambda tensor: tensor.clone().numpy()}

# --- launching ------------------------------------------------------------------------------------------


class _Binding:
    """The table of addresses that a function takes: of constants and of variables' buffers, as these are now.

    `now` is a tuple: the table's address, the tensors of the variables, and what must live as long.
    """

    def __init__(self, written: Written, variables: list[VariableState]) -> None:
        self._constants, self._variables = written.constants, variables
        self._expected = [
            (TORCH_TYPES[c_type(Edge(node, 0)) if node.op.name != "VarHandleOp" else _handle_type(node)], _shape(node))
            for node in written.variables
        ]
        self.now: tuple[Any, ...] = (0, *(self for _ in variables))  # nothing that a variable holds
        if not variables:
            self.bind()

    def bind(self) -> tuple[Any, ...] | None:
        """The table for the variables' present buffers; None where they are not such as the function takes."""
        values = [variable.value for variable in self._variables]
        for value, (dtype, shape) in zip(values, self._expected, strict=True):
            if not isinstance(value, torch.Tensor) or value.dtype is not dtype or value.shape != shape:
                return None
            if not value.is_contiguous() or not value.is_cpu:
                return None
        addresses = [c.ctypes.data for c in self._constants] + [value.data_ptr() for value in values]
        table = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        self.now = (ctypes.addressof(table), *values, table)
        return self.now


def _launcher(region: Region, written: Written, function: Function) -> Launch:
    """A function of the region's values that checks them, makes the outputs and calls `function`.

    It holds the locks of the variables that ops of the region lock, in one order for all regions.
    """
    body = region.body
    variables = region.variables(written)
    binding = _Binding(written, variables)
    namespace: dict[str, Any] = {
        "binding": binding,
        "run": function,
        "members": region.run_members,
        "empty": torch.empty,
        "empty_array": np.empty,
    }
    names = [f"x{i}" for i in range(len(body.feeds))]
    lines = [f"def launch({', '.join(names)}):"]
    everything = ", ".join(names)
    for i, (name, feed) in enumerate(zip(names, body.feeds, strict=True)):
        edge = Edge(feed, 0)
        if i in region.arrays_in:
            continue  # the function looks at it itself
        namespace[f"{name}_shape"] = torch.Size(shape_of(edge))
        namespace[f"{name}_dtype"] = TORCH_TYPES[c_type(edge)]
        wrong = f"{name}.shape != {name}_shape or {name}.dtype is not {name}_dtype or not {name}.is_cpu"
        lines.append(f"    if {wrong}: return members({everything})")
        lines.append(f"    if not {name}.is_contiguous(): {name} = {name}.contiguous()")
    outputs = [f"y{i}" for i in range(len(body.fetches))]
    pointers = "".join(f", {name}" if i in region.arrays_in else f", {name}.data_ptr()" for i, name in enumerate(names))
    for i, (name, edge) in enumerate(zip(outputs, body.fetches, strict=True)):
        namespace[f"{name}_shape"] = shape_of(edge)
        if i in region.arrays_out:
            namespace[f"{name}_dtype"] = edge.dtype.as_numpy_dtype
            lines.append(f"    {name} = empty_array({name}_shape, {name}_dtype)")
            pointers += f", {name}"
        else:
            namespace[f"{name}_dtype"] = TORCH_TYPES[c_type(edge)]
            lines.append(f"    {name} = empty({name}_shape, dtype={name}_dtype)")
            pointers += f", {name}.data_ptr()"
    locked = _locked(body)
    locks = sorted((v.lock for v, node in zip(variables, written.variables, strict=True) if node in locked), key=id)
    namespace |= {f"lock{i}": lock for i, lock in enumerate(locks)}
    if locks:
        lines.append(f"    with {', '.join(f'lock{i}' for i in range(len(locks)))}:")
    indent = "        " if locks else "    "
    lines.append(f"{indent}bound = binding.now")
    if variables:
        namespace |= {f"v{i}": variable for i, variable in enumerate(variables)}
        changed = " or ".join(f"v{i}.value is not bound[{i + 1}]" for i in range(len(variables)))
        lines.append(f"{indent}if {changed}: bound = binding.bind()")
    lines.append(f"{indent}failed = bound is None or run(bound[0]{pointers})")
    lines.append(f"    if failed: return members({everything})")
    lines.append(f"    return {', '.join(outputs) if outputs else '()'}")
    return types.FunctionType(python_code("\n".join(lines) + "\n"), namespace)


def _locked(body: StepGraph) -> set[Node]:
    """The variables whose locks ops hold while they change them: their first inputs, as in `ops/state.py`."""
    updates = [n for n in body.nodes if n.op.name not in HOLDER_OPS and any(map(is_state, n.inputs))]
    found = {variable_of(n.inputs[0]) for n in updates if writes_state(n) and n.attrs.get("use_locking", True)}
    return {variable for variable in found if variable is not None}


def _handle_type(node: Node) -> str:
    from penstock.compiled.expressions import C_TYPES

    return C_TYPES[node.attrs["dtype"].base_dtype]


def _shape(node: Node) -> torch.Size:
    return torch.Size(node.attrs["shape"].as_list())
