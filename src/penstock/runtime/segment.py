"""Segments: straight-line blocks of nodes as one generated Python function.

A step of a graph without control flow is one call of such a function: kernels are its globals, values its locals,
freed after their last use. `segment.source` is meant to be read::

    def step(a0, a1):
        with inference():
            v0 = feed0(a0)
            v1 = feed1(a1)
            v2 = matmul_3(v0, W_2.read())
            del v0
            ...

An exception in it is traced back to its node by line number, so that a step spends nothing on being traceable.
"""

from __future__ import annotations

import itertools
import keyword
import linecache
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, TracebackType
from typing import Any

import torch

from penstock.graph.opdef import Bound, Kernel, PassThrough
from penstock.graph.step_graph import FEED, Edge, Node
from penstock.runtime.hazards import is_state

Converter = Callable[[Any], Any]
Hook = Callable[[Node], None]

_INFERENCE_AT = 4
_RESERVED = {"step", "before", "inference", "copy", "node"}
_LOCAL = re.compile(r"^[av]\d+$")
_counter = itertools.count()


@dataclass(slots=True)
class Param:
    """A value given to the segment: an edge, and what converts it (None: it comes as kernels take it)."""

    edge: Edge
    convert: Converter | None = None


@dataclass(slots=True)
class Result:
    """A value taken from the segment, and what converts it for the client."""

    edge: Edge
    convert: Converter | None = None


@dataclass(slots=True)
class Segment:
    """A compiled block. `fn(*params)` gives the tuple of results; `lines[i]` is the node of source line i+1."""

    source: str
    lines: list[Node | None]
    fn: Callable[..., tuple[Any, ...]]
    code: CodeType
    names: dict[Edge, str]
    namespace: dict[str, Any]

    def failed_node(self, traceback: TracebackType | None) -> tuple[Node | None, dict[str, Any]]:
        """The node whose line raised, and the values alive there; (None, {}) for a feed or a fetch."""
        while traceback is not None:
            if traceback.tb_frame.f_code is self.code:
                return self.lines[traceback.tb_lineno - 1], traceback.tb_frame.f_locals
            traceback = traceback.tb_next
        return None, {}

    def input_values(self, node: Node, alive: dict[str, Any]) -> list[Any]:
        """The values that `node` was given, out of those that `failed_node` found alive."""
        names = (self.names.get(edge, "") for edge in node.inputs)
        return [alive.get(name, self.namespace.get(name)) for name in names]


def build_segment(
    nodes: list[Node],
    kernels: dict[Node, Any],
    params: list[Param],
    results: list[Result],
    copied_reads: set[tuple[Node, int]],
    observed: bool = False,
) -> Segment:
    """Compile `nodes`, in their order. An `observed` one takes a hook first, called before each node runs."""
    return _Writer(kernels, copied_reads, observed).write(nodes, params, results)


def copy_value(value: Any) -> Any:
    """A value that keeps its contents whatever happens to the original."""
    return value.clone() if isinstance(value, torch.Tensor) else value.copy()


@dataclass(slots=True)
class _Writer:
    kernels: dict[Node, Any]
    copied_reads: set[tuple[Node, int]]
    observed: bool
    names: dict[Edge, str] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=dict)
    body: list[tuple[str, Node | None]] = field(default_factory=list)
    last_use: dict[str, int] = field(default_factory=dict)
    locals: set[str] = field(default_factory=set)
    count: int = 0

    def write(self, nodes: list[Node], params: list[Param], results: list[Result]) -> Segment:
        arguments = ["before"] if self.observed else []
        for i, param in enumerate(params):
            name = self._local(param.edge)
            arguments.append(name if param.convert is None else f"a{i}")
            if param.convert is not None:
                self.body.append((f"{name} = {self._bind(f'feed{i}', param.convert)}(a{i})", None))
        for node in nodes:
            if node.op is not FEED:
                self._node(node)
        self._results(results)
        return self._compile(arguments, uses_state=any(map(is_state, self.names)))

    # --- statements -----------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        kernel: Kernel | Bound | PassThrough | None = self.kernels[node]
        if isinstance(kernel, Bound):
            self.names[Edge(node, 0)] = self._bind(_identifier(node.name), kernel.value)
            return
        if self.observed and kernel is not None:
            self.body.append((f"before({self._bind('node', node)})", None))
        arguments = self._arguments(node)
        if isinstance(kernel, PassThrough):
            self._pass_through(node, arguments[0])
            return
        if kernel is None:
            return
        call = f"{self._bind(_identifier(node.op.name), kernel)}({', '.join(arguments)})"
        if any(n is node for n, _ in self.copied_reads) and self._reads_through_kernel(node):
            call = f"{self._bind('copy', copy_value)}({call})"
        targets = [self._local(Edge(node, port)) for port in range(len(node.dtypes))]
        single = len(node.op.outputs) == 1 and not node.op.outputs[0].is_list
        left = (
            ""
            if not node.op.outputs
            else f"{targets[0]} = "
            if single
            else f"({', '.join(targets)},) = "
            if targets
            else ""
        )
        self.body.append((left + call, node))

    def _pass_through(self, node: Node, value: str) -> None:
        """Another name for the same value; a read of state is a statement of its own, at its own moment."""
        edge = Edge(node, 0)
        if value.isidentifier():
            self.names[edge] = value
        else:
            self.body.append((f"{self._local(edge)} = {value}", node))

    def _arguments(self, node: Node) -> list[str]:
        arguments: list[str] = []
        index = 0
        for arg, (_, is_list, edges) in zip(node.op.inputs, node.grouped_inputs(), strict=True):
            wants_state = arg.is_ref
            texts = []
            for edge in edges:
                texts.append(self._value(node, index, edge, wants_state))
                index += 1
            arguments.append(f"[{', '.join(texts)}]" if is_list else texts[0])
        return arguments

    def _value(self, node: Node, index: int, edge: Edge, wants_state: bool) -> str:
        name = self._use(edge)
        if not edge.dtype._is_ref_dtype or wants_state:
            return name
        read = f"{name}.read()"
        return f"{self._bind('copy', copy_value)}({read})" if (node, index) in self.copied_reads else read

    def _reads_through_kernel(self, node: Node) -> bool:
        """A resource is read by the kernel itself, so its result is what must be copied."""
        return any(n is node and not node.inputs[i].dtype._is_ref_dtype for n, i in self.copied_reads)

    def _results(self, results: list[Result]) -> None:
        texts = []
        for i, result in enumerate(results):
            text = self._use(result.edge)
            if result.edge.dtype._is_ref_dtype and result.convert is not None:
                text += ".read()"  # a client gets the value, the rest of a partial run the reference
            texts.append(text if result.convert is None else f"{self._bind(f'fetch{i}', result.convert)}({text})")
        self.body.append((f"return ({', '.join(texts)}{',' if len(texts) == 1 else ''})", None))

    # --- names ----------------------------------------------------------------------------------------

    def _local(self, edge: Edge) -> str:
        name = self.names[edge] = f"v{self.count}"
        self.count += 1
        self.locals.add(name)
        self.last_use[name] = len(self.body)
        return name

    def _use(self, edge: Edge) -> str:
        name = self.names[edge]
        if name in self.locals:
            self.last_use[name] = len(self.body)
        return name

    def _bind(self, name: str, value: Any) -> str:
        """A global of the generated function; the same object keeps one name."""
        if self.namespace.get(name, value) is not value:
            name = f"{name}_{len(self.namespace)}"
        self.namespace[name] = value
        return name

    # --- source ---------------------------------------------------------------------------------------

    def _compile(self, arguments: list[str], uses_state: bool) -> Segment:
        dead: dict[int, list[str]] = {}
        for name, at in self.last_use.items():
            if at < len(self.body) - 1:
                dead.setdefault(at, []).append(name)
        calls = sum(node is not None for _, node in self.body)
        # State made under inference mode can only be updated under it; else it is worth entering for a few calls.
        guarded = uses_state or calls >= _INFERENCE_AT
        lines: list[tuple[str, Node | None]] = [(f"def step({', '.join(arguments)}):", None)]
        indent = "    "
        if guarded:
            self.namespace["inference"] = _inference
            lines.append((f"{indent}with inference(True):", None))
            indent *= 2
        for i, (text, node) in enumerate(self.body):
            lines.append((indent + text, node))
            if i in dead:
                lines.append((f"{indent}del {', '.join(dead[i])}", node))
        source = "\n".join(text for text, _ in lines) + "\n"
        filename = f"<penstock step {next(_counter)}>"
        exec(compile(source, filename, "exec"), self.namespace)
        fn = self.namespace["step"]
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        weakref.finalize(fn, linecache.cache.pop, filename, None)
        return Segment(source, [node for _, node in lines], fn, fn.__code__, self.names, self.namespace)


_inference = getattr(torch._C, "_InferenceMode", torch.inference_mode)
"""torch's own guard enters in 0.5 µs; the public decorator-and-context class, which wraps it, in 1.2."""


def _identifier(name: str) -> str:
    text = re.sub(r"\W", "_", name).lower()
    return (
        f"_{text}"
        if not text or text[0].isdigit() or _LOCAL.match(text) or keyword.iskeyword(text) or text in _RESERVED
        else text
    )
