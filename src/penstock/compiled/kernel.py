"""`ClusterKernel`: what runs for a `_Cluster` node: the members' own kernels at first, then the compiled function."""

from __future__ import annotations

import ctypes
import functools
import itertools
import linecache
import math
import threading
import time
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from penstock.compiled.compiler import Compiler, Function, compiler
from penstock.compiled.program import EXPANDED, FULL, Fit, Program, Shape, fit
from penstock.compiled.source import Source, c_source
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.runtime.kernels import KernelContext, SessionState, make_kernel
from penstock.runtime.segment import Param, Result, build_segment

CALLS_BEFORE_COMPILING = 3
SECONDS_BEFORE_COMPILING = 0.2
"""Steps that initialise, or run a few times, are not worth a compiler's time; and in the first step of a loop it would
take a core from the step."""
THREADS_AT = 1 << 17
"""Elements times weight from which several threads are worth their 5 µs."""
REUSE_AT = 1 << 14
"""Bytes from which taking over an input's memory is quicker than new memory."""
MOST_SHAPES = 256
"""Shapes that a kernel remembers."""

TORCH_TYPES = {"f32": torch.float32, "f64": torch.float64, "i32": torch.int32, "i64": torch.int64, "u8": torch.bool}
_BYTES = {"f32": 4, "f64": 8, "i32": 4, "i64": 8, "u8": 1}
_DTYPES = {f"d_{name}": dtype for name, dtype in TORCH_TYPES.items()}

Launch = Callable[..., Any]
Reused = tuple[tuple[int, int], ...]
_counter = itertools.count()


class Target(Protocol):
    """A device that runs compiled functions: how they are made for it, and called."""

    device: torch.device

    def compiler(self) -> Compiler:
        """What compiles for it."""

    def source(self, program: Program, pattern: str, reused: Reused) -> Source:
        """The text of `program` for this device."""

    def bound(self, function: Function, found: Fit) -> Function:
        """`function` for inputs laid out as `found` says, as a C function is called (see `source.Source`)."""


class _Host:
    """The processor, which calls C functions as they are."""

    device = torch.device("cpu")

    def compiler(self) -> Compiler:
        return compiler()

    def source(self, program: Program, pattern: str, reused: Reused) -> Source:
        return c_source(program, pattern, reused)

    def bound(self, function: Function, found: Fit) -> Function:
        return function


_HOST = _Host()


def _target_of(device: torch.device) -> Target:
    if device.type == "cpu":
        return _HOST
    from penstock.compiled.cuda import cuda_target  # which a machine without a GPU has no use for

    return cuda_target(device)


def cluster_kernel(n: KernelContext) -> Launch:
    """The kernel factory of `_Cluster`."""
    return make_cluster_kernel(n.node, n.device, n.state, n["mode"])


def make_cluster_kernel(
    node: Node,
    device: torch.device,
    state: SessionState,
    mode: str,
    given: Sequence[int] = (),
    target: Target | None = None,
) -> Launch:
    """The kernel of a `_Cluster` node. `given`: inputs whose tensors the caller needs no more after a call.

    mode: "auto" compiles in the background after some calls; "on" at the first call, where errors are raised; "off"
    runs the members' kernels only, as do devices that have no compiler. target: where compiled functions run, if not
    simply on `device`.

    What is compiled has two attributes. `taking(given)` gives the same kernel with other `given`. `settled()` says
    whether what runs for some shapes will not be replaced any more.
    """
    fallback = member_kernel(node, device, state)
    if mode == "off" or (target is None and device.type not in ("cpu", "cuda")):
        return fallback
    return _calling(node.attrs["program"], fallback, target or _target_of(device), mode, given)


def _calling(program: Program, fallback: Launch, target: Target, mode: str, given: Sequence[int]) -> Launch:
    """The function of a new ClusterKernel, with what `make_cluster_kernel` says of it."""
    kernel = ClusterKernel(program, fallback, target, mode, given)
    kernel.call.taking = functools.partial(_calling, program, fallback, target, mode)  # type: ignore[attr-defined]
    kernel.call.settled = kernel.settled  # type: ignore[attr-defined]
    return kernel.call


def member_kernel(node: Node, device: torch.device, state: SessionState) -> Launch:
    """The members' own kernels, one after the other: `fn(*inputs) -> value or tuple of values`."""
    from penstock.runtime.plan import explain

    body: StepGraph = node.attrs["body"]
    nodes = [n for n in body.nodes if n.op is not FEED]
    kernels = {n: make_kernel(n, "CPU" if device.type == "cpu" else "GPU", device, state) for n in nodes}
    params = [Param(Edge(feed, 0)) for feed in body.feeds]
    # What passes an input on would show its memory.
    results = [Result(e, torch.clone if e.node.op.aliases else None) for e in body.fetches]
    segment = build_segment(list(nodes), kernels, params, results, set())
    run = segment.fn

    def run_members(*inputs: Any) -> Any:
        try:
            return run(*inputs)
        except Exception as error:
            raise explain(error, segment) from error.__cause__

    if len(body.fetches) > 1:
        return run_members
    return lambda *inputs: run_members(*inputs)[0]


class ClusterKernel:
    """A kernel: `call(*tensors)` gives a tensor or a tuple of tensors. Any number of threads may call it at once.

    `_launches` says what to do for inputs of shapes that came before.
    """

    def __init__(
        self, program: Program, fallback: Launch, target: Target, mode: str, given: Sequence[int] = ()
    ) -> None:
        self.program = program
        self.fallback = fallback
        self.target = target
        self._mode = mode
        self._given = tuple(given)
        self._launches: dict[tuple[Shape, ...], Launch] = {}
        self._functions: dict[tuple[str, Reused], Function | None] = {}
        self._requested: set[tuple[str, Reused]] = set()
        self._lock = threading.Lock()
        self._calls = itertools.count(1)
        self._first_call = math.inf
        self.call: Launch = types.FunctionType(
            _call_code(len(program.inputs)), {"launches": self._launches, "launch_for": self._launch_for}
        )

    def settled(self) -> bool:
        """Whether it is decided for some shapes what runs: a compiled function, or the members' kernels for good."""
        return bool(self._launches)

    def _launch_for(self, shapes: tuple[Shape, ...]) -> Launch:
        """What to call for inputs of `shapes` this time."""
        found = fit(self.program, shapes)
        if found is None or not found.size:
            return self._remember(shapes, self.fallback)
        key = (found.pattern.replace(EXPANDED, FULL), self._reused(found))
        if key in self._functions:
            function = self._functions[key]
            if function is None:
                return self._remember(shapes, self.fallback)
            return self._remember(shapes, _launcher(self, shapes, found, function, key[1]))
        if self._mode == "on":
            function = self._functions[key] = self.target.compiler().compile(self.target.source(self.program, *key))
            return self._remember(shapes, _launcher(self, shapes, found, function, key[1]))
        now = time.monotonic()
        self._first_call = min(self._first_call, now)
        if next(self._calls) >= CALLS_BEFORE_COMPILING and now - self._first_call >= SECONDS_BEFORE_COMPILING:
            self._request(key)
        return self.fallback

    def _request(self, key: tuple[str, Reused]) -> None:
        with self._lock:
            if key in self._requested:
                return
            self._requested.add(key)
        me = weakref.ref(self)  # a session that is gone needs no function

        def done(function: Function | None) -> None:
            kernel = me()
            if kernel is not None:
                kernel._functions[key] = function

        self.target.compiler().request(functools.partial(self.target.source, self.program, *key), done)

    def _remember(self, shapes: tuple[Shape, ...], launch: Launch) -> Launch:
        if len(self._launches) >= MOST_SHAPES:
            self._launches.clear()
        self._launches[shapes] = launch
        return launch

    def _reused(self, found: Fit) -> Reused:
        """Pairs of a given input and an output of the same dtype that may take its memory."""
        program = self.program
        pairs = []
        left = list(program.outputs)
        for index in self._given:
            ctype = program.inputs[index]
            match = next((o for o in left if program.ctype(o) == ctype), None)
            large = found.size * _BYTES[ctype] >= REUSE_AT
            if found.pattern[index] == FULL and match is not None and large:
                left.remove(match)
                pairs.append((index, match))
        return tuple(pairs)


@functools.cache
def _call_code(count: int) -> types.CodeType:
    """The code of `call` for so many inputs: a loop over them would take longer than the rest."""
    inputs = ", ".join(f"a{i}" for i in range(count))
    shapes = "".join(f"a{i}.shape, " for i in range(count))
    return python_code(
        f"def call({inputs}):\n"
        f"    launch = launches.get(({shapes}))\n"
        f"    if launch is None: launch = launch_for(({shapes}))\n"
        f"    return launch({inputs})\n"
    )


def python_code(source: str) -> types.CodeType:
    """The code of the one function in `source`, which tracebacks can show."""
    name = f"<penstock cluster {next(_counter)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = compile(source, name, "exec")
    return next(c for c in module.co_consts if isinstance(c, types.CodeType))


# --- launching ------------------------------------------------------------------------------------------


def _launcher(
    kernel: ClusterKernel, shapes: tuple[Shape, ...], found: Fit, function: Function, reused: Reused
) -> Launch:
    """A function that checks its inputs, makes the outputs and calls `function`. See `_launch_text`."""
    program = kernel.program
    layout = (ctypes.c_int64 * len(found.layout))(*found.layout)
    alike = "".join("=" if shape == found.shape else "-" for shape in shapes)
    threads = found.size * program.weight >= THREADS_AT
    device = kernel.target.device
    namespace = {
        "__builtins__": __builtins__,  # torch imports in the name of what calls it
        **_DTYPES,
        "size": found.size,
        "shape": found.shape,
        "layout": ctypes.addressof(layout),
        "kept": layout,  # its address keeps nothing alive
        "run": kernel.target.bound(function, found),
        "device": device,
        "members": kernel.fallback,
        "empty": torch.empty,
        "empty_like": torch.empty_like,
        "threads": torch.get_num_threads,
        "memory_for": _memory_for,
    }
    return types.FunctionType(_launch_code(program, found.pattern, alike, reused, threads, device.type), namespace)


@functools.cache
def _launch_code(
    program: Program, pattern: str, alike: str, reused: Reused, threads: bool, place: str
) -> types.CodeType:
    return python_code(_launch_text(program, pattern, alike, reused, threads, place))


def _launch_text(program: Program, pattern: str, alike: str, reused: Reused, threads: bool, place: str) -> str:
    """Python source: tests that cost little, new memory for the outputs, one call. `place`: the type of the device.

    `alike` has a "=" for each input of the outputs' shape: it is quicker to make a tensor like another.
    """
    names = [f"a{i}" for i in range(len(program.inputs))]
    lines = [f"def launch({', '.join(names)}):"]
    if names:
        wrong = " or ".join(
            f"{name}.dtype is not d_{ctype} or not {name}.is_{place}"
            for name, ctype in zip(names, program.inputs, strict=True)
        )
        lines += [f"    if {wrong}:", f"        return members({', '.join(names)})"]
    for name, way in zip(names, pattern, strict=True):
        if way == EXPANDED:
            lines.append(f"    {name} = {name}.expand(shape).contiguous()")
        else:
            lines.append(f"    if not {name}.is_contiguous(): {name} = {name}.contiguous()")
    like = {ctype: name for name, ctype, same in zip(names, program.inputs, alike, strict=True) if same == "="}
    given = {output: names[index] for index, output in reused}
    made = []
    for i, output in enumerate(program.outputs):
        ctype = program.ctype(output)
        if output in given:
            name = given[output]
            text = f"memory_for({name}, shape, [{', '.join(n for n in names if n != name)}])"
        elif ctype in like:
            text = f"empty_like({like[ctype]})"
        else:
            text = f"empty(shape, dtype=d_{ctype}, device=device)"
        lines.append(f"    o{i} = {text}")
        made.append(f"o{i}")
    pointers = "".join(f", {name}.data_ptr()" for name in [*names, *made])
    lines.append(f"    run(size, {'threads()' if threads else '1'}, layout{pointers})")
    lines.append(f"    return {', '.join(made)}")
    return "\n".join(lines) + "\n"


def _memory_for(given: torch.Tensor, shape: Shape, others: list[torch.Tensor]) -> torch.Tensor:
    """A tensor of `shape` and the dtype of `given`: that itself, if nothing else shows its memory."""
    storage = given.untyped_storage()
    alone = torch._C._storage_Use_Count(storage._cdata) <= 2  # the tensor, and `storage`
    if alone and given.shape == shape and not any(other is given for other in others):
        return given
    return torch.empty(shape, dtype=given.dtype, device=given.device)
