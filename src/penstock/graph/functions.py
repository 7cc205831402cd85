"""Graph functions: separate graphs with arguments and results, which nodes of other graphs hold as an attribute.

A Python callable becomes one by being called once, with placeholders (`trace`). Tensors that it uses from the
surrounding graph are *captured*: each becomes an additional argument, whose value is an input of the node that holds
the function.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.export import export
from penstock.graph.contexts import outside
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import Graph
from penstock.graph.graph_function import GraphFunction
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import get_default_graph
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape


class FunctionGraph(Graph):
    """The graph inside a function. Nodes built in it may use tensors of `outer`, which are captured.

    by_value: captured tensors do not become arguments; the nodes that compute them are copied.
    """

    def __init__(self, outer: Graph | None = None, by_value: bool = False) -> None:
        super().__init__()
        self.outer = outer
        self.by_value = by_value
        self.seed = outer.seed if outer is not None else None
        self.captures: dict[Tensor, Tensor] = {}
        """Tensors of the outer graph, and the arguments that represent them here."""
        self._copied: dict[Tensor, Tensor] = {}
        self._sources: dict[Tensor, Tensor] = {}

    def source_of(self, tensor: Tensor) -> Tensor:
        """The outer tensor that the argument `tensor` represents; `tensor` itself if it was not captured."""
        return self._sources.get(tensor, tensor)

    def takes_from(self, graph: Graph) -> bool:
        return self.outer is not None and (graph is self.outer or self.outer.takes_from(graph))

    @property
    def building_function(self) -> bool:
        return True

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """As in any graph; nodes outside have run before the function is called."""
        if isinstance(control_inputs, list | tuple | set):
            control_inputs = [c for c in control_inputs if getattr(c, "graph", self) is self]
        elif control_inputs is not None and getattr(control_inputs, "graph", self) is not self:
            control_inputs = []
        with super().control_dependencies(control_inputs):
            yield

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """As in any graph; the devices of nodes outside do not matter here."""
        elsewhere = isinstance(getattr(op, "graph", None), Graph) and op.graph is not self
        with contextlib.nullcontext() if elsewhere else super().colocate_with(op, ignore_existing):
            yield

    def capture(self, tensor: Tensor) -> Tensor:
        """`tensor`, of this graph or an outer one, in the form that nodes here may use."""
        if tensor.graph is self:
            return tensor
        found = self.captures.get(tensor, self._copied.get(tensor))
        if found is None:
            assert self.outer is not None
            # What is copied may be of any graph: input functions of then use data sets that were made before them.
            elsewhere = self.by_value and not self.takes_from(tensor.graph)
            before = tensor
            if isinstance(self.outer, FunctionGraph) and not elsewhere:
                before = self.outer.capture(tensor)
            if before.graph is not self.outer and not elsewhere:
                raise ValueError(f"{tensor.name!r} is in another graph than the function and the graphs around it")
            with self.as_default(), outside(None), self.name_scope(None), self.device(None):
                found = self._bring_in(before)
        return found

    def _bring_in(self, tensor: Tensor) -> Tensor:
        op = tensor.op
        if op.op_def.traits.constant or self.by_value:
            return self._copy(tensor)
        if op.op_def.traits.holds == "variable" and not op._inputs and not tensor.dtype._is_ref_dtype:
            return self._same_variable(tensor)
        if tensor.dtype._is_ref_dtype:
            raise ValueError(
                f"{tensor.name!r} (built at {op.user_line}) is a reference, which a function cannot use from outside; "
                "use its value, or a resource (a table or a variable with use_resource=True)."
            )
        found = self.captures[tensor] = argument(tensor.dtype, tensor.shape, f"captured_{op.name.split('/')[-1]}")
        self._sources[found] = tensor
        return found

    def _same_variable(self, tensor: Tensor) -> Tensor:
        """A handle, made here, of the variable that `tensor` refers to, so that its shape and dtype are known."""
        attrs = dict(tensor.op.attrs)
        attrs["shared_name"] = attrs["shared_name"] or tensor.op.name.encode()
        made = self.add_node(tensor.op.op_def, [], attrs, tensor.op.name)
        made._stack = tensor.op._stack
        self._copied[tensor] = made._outputs[0]
        return made._outputs[0]

    def _copy(self, tensor: Tensor) -> Tensor:
        op = tensor.op
        if op.op_def.traits.placeholder:
            raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
        if op.op_def.stateful and not op.op_def.traits.repeatable:
            raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")
        inputs = [self.capture(t) for t in op._inputs]
        made = self.add_node(op.op_def, inputs, dict(op.attrs), op.name)
        made._stack = op._stack
        for ours, theirs in zip(made._outputs, op._outputs, strict=True):
            ours._shape = theirs._shape
            self._copied[theirs] = ours
        return self._copied[tensor]

    def _from_elsewhere(self, tensor: Tensor, user: Any) -> Tensor:
        return self.capture(tensor) if self.takes_from(tensor.graph) else super()._from_elsewhere(tensor, user)


def argument(dtype: DType, shape: TensorShape, name: str = "arg") -> Tensor:
    """An argument of the function that is being built."""
    found: Tensor = get_op("Placeholder")(dtype=dtype.base_dtype, shape=shape, name=name)
    found.set_shape(shape)
    return found


def trace(
    fn: Callable[..., Sequence[Any]],
    dtypes: Sequence[DType],
    shapes: Sequence[TensorShape],
    name: str,
    by_value: bool = False,
) -> GraphFunction:
    """`fn`, called once with a tensor for each of `dtypes`, as a function of the current default graph.

    fn: returns a flat sequence of values that can be converted to tensors, which may also be tensors of the outer
    graph.
    """
    outer = get_default_graph()
    graph = FunctionGraph(outer, by_value)
    with graph.as_default():
        arguments = [argument(d, s, f"arg{i}") for i, (d, s) in enumerate(zip(dtypes, shapes, strict=True))]
        results = [_value(graph, convert_to_tensor(found)) for found in fn(*arguments)]
    captured = list(graph.captures)
    function = GraphFunction("", graph, [*arguments, *graph.captures.values()], results, captured)
    function.name = name_function(outer, name, function)
    return function


@export("init_scope")
@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Build outside of functions, loops and branches, without control dependencies (TF: tf.init_scope).

    The name scope stays that of the place where the block is.
    """
    scope = get_default_graph().get_name_scope()
    graph = outermost(get_default_graph())
    with graph.as_default(), outside(None), graph.name_scope(f"{scope}/" if scope else None):
        yield


def outermost(graph: Graph) -> Graph:
    """The graph of the program, if `graph` is that of a function built in it."""
    while isinstance(graph, FunctionGraph) and graph.outer is not None:
        graph = graph.outer
    return graph


def _value(graph: FunctionGraph, tensor: Tensor) -> Tensor:
    """A result: a value of this graph, not a reference."""
    here = graph.capture(tensor)
    return get_op("Identity")(here) if here.dtype._is_ref_dtype else here


def name_function(graph: Graph, name: str, function: GraphFunction) -> str:
    """Add `function` to the library of `graph`, under `name` or a similar free name, which is returned."""
    graph = outermost(graph)
    name = re.sub(r"\W+", "_", name).strip("_") or "function"
    with graph._lock:
        found, count = name, 0
        while found in graph._functions:
            count += 1
            found = f"{name}_{count}"
        graph._functions[found] = function
    return found
