"""Vectorises a function of one element to one of many elements, if its ops allow it.

Each node becomes one that does the same to tensors with one more dimension in front; nodes that depend on no element
stay unchanged. `batch_rules.py` says how, for ops that are not element-wise. Results are those of calls one by one, bit
for bit as far as kernels go: what would add floats in another order has no rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.contexts import outside
from penstock.graph.functions import FunctionGraph, argument
from penstock.graph.graph_function import GraphFunction
from penstock.graph.operation import Operation, Tensor
from penstock.passes.batch_rules import Batched, CannotBatch, batched_outputs
from penstock.tensor.dtypes import resource, variant
from penstock.tensor.shapes import TensorShape


@dataclass(frozen=True, slots=True)
class Vectorised:
    """`function` takes and returns tensors with an additional first dimension, except captured arguments and results
    that are the same for all elements: `of_each` says which results differ."""

    function: GraphFunction
    of_each: tuple[bool, ...]


def vectorise(function: GraphFunction, captured: int) -> Vectorised | None:
    """The vectorised function; None if an op does not allow it. captured: the number of its last arguments that are the
    same for all elements."""
    needed = _needed(function)
    if needed is None:
        return None
    graph, found = FunctionGraph(), dict[Tensor, Batched]()
    count = len(function.arguments) - captured
    try:
        with graph.as_default(), outside(None):
            arguments = []
            for i, old in enumerate(function.arguments):
                shape = TensorShape([None]).concatenate(old.shape) if i < count else old.shape
                new = argument(old.dtype, shape, old.op.name)
                arguments.append(new)
                found[old] = Batched(new, i < count, old.shape)
            for op in needed:
                _rebuild(op, graph, found)
            results = [found[tensor] for tensor in function.results]
    except (CannotBatch, ValueError, TypeError, NotImplementedError, LookupError):
        return None
    made = GraphFunction(f"{function.name}_of_many", graph, arguments, [r.tensor for r in results], targets=[])
    return Vectorised(made, tuple([r.batched for r in results]))


def _needed(function: GraphFunction) -> list[Operation] | None:
    """The nodes that results need, in the order in which they were built; None if more than that must run."""
    arguments = {tensor.op for tensor in function.arguments}
    needed: set[Operation] = set()
    pending = [tensor.op for tensor in function.results]
    while pending:
        op = pending.pop()
        if op in needed or op in arguments:
            continue
        if op._control_inputs or op._control_flow_context is not None or not _is_pure(op):
            return None
        needed.add(op)
        pending += [tensor.op for tensor in op._inputs]
    if any(op not in needed and not _only_reads(op) for op in function.targets):
        return None
    return sorted(needed, key=lambda op: op._id)


def _is_pure(op: Operation) -> bool:
    traits = op.op_def.traits
    return not op.op_def.stateful or traits.repeatable or traits.holds == "variable" or _only_reads(op)


def _only_reads(op: Operation) -> bool:
    """Whether it only reads a variable or looks something up."""
    handles = {arg.name for arg in op.op_def.inputs if arg.is_ref or arg.dtype == resource}
    return bool(handles) and handles <= op.op_def.reads


def _rebuild(op: Operation, graph: FunctionGraph, found: dict[Tensor, Batched]) -> None:
    inputs = [found[tensor] for tensor in op._inputs]
    if any(each.batched for each in inputs):
        differing = [tensor for tensor, each in zip(op._inputs, inputs, strict=True) if each.batched]
        if any(tensor.dtype in (resource, variant) for tensor in (*differing, *op._outputs)):
            raise CannotBatch(op.name)
        outputs = batched_outputs(op, inputs)
        made = outputs[0].op
    else:
        made = graph.add_node(op.op_def, [each.tensor for each in inputs], dict(op.attrs), op.name)
        outputs = made._outputs
    made._stack = op._stack
    differ = any(each.batched for each in inputs)
    for old, new in zip(op._outputs, outputs, strict=True):
        of_each = differ and not _same_for_all(op)
        found[old] = Batched(new, of_each, old.shape)
        if of_each:
            new.set_shape(TensorShape([None]).concatenate(old.shape))


def _same_for_all(op: Operation) -> bool:
    """For elements of the same shape, results that depend only on the shape are the same for all."""
    return op.op_def.traits.of_shapes
