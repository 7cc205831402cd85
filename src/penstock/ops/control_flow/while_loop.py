"""Loops (white paper section 4.4; TF: tf.while_loop)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.contexts import ControlFlowContext, outside
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import OpDef, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.basic import identity
from penstock.ops.control_flow.nest import flatten, pack_like, same_structure
from penstock.tensor.shapes import TensorShape


class WhileContext(ControlFlowContext):
    """A loop: its frame, its variables, and its inputs from outside.

    For loop variable i, `enters[i]` is its initial value, `merges[i]` its value at the start of an iteration (including
    the last, whose condition is false), `body_inputs[i]` the body's input, `next_iterations[i]` the body's result, and
    `exits[i]` the final value.
    """

    is_loop = True

    def __init__(
        self,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
        frame_name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.frame_name = frame_name or self.graph.unique_name(name)
        self.parallel_iterations = parallel_iterations
        self.back_prop, self.swap_memory = back_prop, swap_memory
        self.enters: list[Tensor] = []
        self.merges: list[Tensor] = []
        self.body_inputs: list[Tensor] = []
        self.next_iterations: list[Tensor] = []
        self.exits: list[Tensor] = []
        self.invariants: dict[Tensor, Tensor] = {}
        self.loop_cond: Tensor | None = None
        self.readers: list[WhileContext] = []
        """The loops that are gradients of this one and use values from its iterations."""
        self._pivot: Operation | None = None

    @property
    def pivot(self) -> Operation:
        assert self._pivot is not None
        return self._pivot

    @property
    def in_loop(self) -> bool:
        return True

    def needs_anchor(self, inputs: list[Tensor], controls: list[Operation]) -> bool:
        """Nodes that depend only on loop constants must not run after the loop has ended."""
        ops = [*(tensor.op for tensor in inputs), *controls]
        return all(op._outputs and op._outputs[0] in self.invariants for op in ops)

    def _bring_in(self, tensor: Tensor) -> Tensor:
        inside = self._enter(tensor, is_constant=True)
        self.invariants[inside] = tensor
        return inside

    def _enter(self, tensor: Tensor, is_constant: bool) -> Tensor:
        """An Enter of this loop's frame: it is built outside, but belongs to the loop."""
        with outside(self.outer):
            op = _op("Enter", tensor)
            name = f"{tensor.op.name.split('/')[-1]}/Enter" if is_constant else "Enter"
            entered = op(
                tensor,
                frame_name=self.frame_name,
                is_constant=is_constant,
                parallel_iterations=self.parallel_iterations,
                name=name,
            )
        entered.op._control_flow_context = self
        return entered

    # --- building ---------------------------------------------------------------------------------------

    def build(
        self, condition: Callable[..., Any], body: Callable[..., Any], values: list[Tensor], shapes: list[TensorShape]
    ) -> None:
        """Build the loop: `condition` and `body` take and return flat lists of tensors."""
        self.enters = [self._enter(value, is_constant=False) for value in values]
        for entered, shape in zip(self.enters, shapes, strict=True):
            entered._shape = shape
        self.merges = [self._merge(entered) for entered in self.enters]
        self._pivot = self.merges[0].op
        with self.entered():
            pred = convert_to_tensor(condition(*self.merges))
            if pred.dtype.base_dtype.name != "bool":
                raise TypeError(f"the loop condition must be a bool, not {pred.dtype.name}")
            if pred.shape.ndims not in (None, 0):
                raise ValueError(f"the loop condition must be a scalar; {pred.name} has shape {pred.shape}")
            self.loop_cond = get_op("LoopCond")(pred, name="LoopCond")
            switched = [_op("Switch", m)(m, self.loop_cond, name="Switch") for m in self.merges]
            self.body_inputs = [_op("Identity", true)(true) for _, true in switched]
            self._pivot = self.body_inputs[0].op
            results = [convert_to_tensor(r) for r in body(*self.body_inputs)]
            results = [self.capture(r) for r in results]
        if len(results) != len(values):
            raise ValueError(
                f"The number of inputs and outputs of the loop body must match: {len(values)} and {len(results)}"
            )
        for i, result in enumerate(results):
            self._go_round(i, result)
        with outside(self.outer):
            self.exits = [_op("Exit", false)(false, name="Exit") for false, _ in switched]

    def _merge(self, entered: Tensor) -> Tensor:
        with self.entered():
            return _op("Merge", entered)([entered, entered], name="Merge")[0]

    def _go_round(self, i: int, result: Tensor) -> None:
        merge = self.merges[i]
        if result.dtype.base_dtype != merge.dtype.base_dtype or merge.dtype._is_ref_dtype > result.dtype._is_ref_dtype:
            raise TypeError(
                f"The loop variable {i} enters the loop as {merge.dtype.name}, but is {result.dtype.name} "
                "after one iteration."
            )
        if not _shape_holds(merge.shape, result.shape):
            raise ValueError(
                f"The shape for {merge.name} is not an invariant for the loop. It enters the loop with shape "
                f"{merge.shape}, but has shape {result.shape} after one iteration. Provide shape invariants using "
                "either the `shape_invariants` argument of tf.while_loop or set_shape() on the loop variables."
            )
        with self.entered():
            following = _op("NextIteration", result)(result, name="NextIteration")
        self.next_iterations.append(following)
        merge.op._update_input(1, following)

    def add_variable(self, value: Tensor, step: Callable[[Tensor], Tensor]) -> Tensor:
        """Add a variable to a finished loop: `value` at first, `step(it)` after each iteration. Returns its Exit."""
        entered = self._enter(value, is_constant=False)
        merge = self._merge(entered)
        self.enters.append(entered)
        self.merges.append(merge)
        with self.entered():
            false, true = get_op("Switch")(merge, self.loop_cond, name="Switch")
            inside = identity(true)
            self.body_inputs.append(inside)
            result = step(inside)
        self._go_round(len(self.merges) - 1, result)
        with outside(self.outer):
            exit_ = get_op("Exit")(false, name="Exit")
        self.exits.append(exit_)
        return exit_


def _op(name: str, tensor: Tensor) -> OpDef:
    """The op called `name` for a tensor, which may be a reference."""
    return get_op(f"Ref{name}" if tensor.dtype._is_ref_dtype else name)


def _shape_holds(invariant: TensorShape, shape: TensorShape) -> bool:
    """Whether a value of `shape` satisfies `invariant`: every dim that the invariant knows is known and equal."""
    if invariant.tuple is None:
        return True
    if shape.tuple is None or len(shape.tuple) != len(invariant.tuple):
        return False
    return all(i is None or i == s for i, s in zip(invariant.tuple, shape.tuple, strict=True))


@export("while_loop")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat `body` while `cond` (TF: tf.while_loop).

    cond(*loop_vars) returns a scalar bool tensor, body(*loop_vars) the next values, in the structure of `loop_vars`
    (any nest of tensors, variables, TensorArrays, IndexedSlices, SparseTensors and RaggedTensors). Shapes must not
    change from one iteration to the next, except as `shape_invariants` (the same structure, of TensorShapes) allows. At
    most `parallel_iterations` iterations run at once if the executor overlaps them. With `back_prop` gradients can be
    taken (without, none flow); what they need is kept, in host memory with `swap_memory`. `maximum_iterations` bounds
    the count. The result has the structure of what `body` returns (a tuple if that is one); a single tensor is returned
    as such, unless `return_same_structure`. Raises TypeError or ValueError for invalid arguments.
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    single = not isinstance(loop_vars, list | tuple)
    structure = [loop_vars] if single else list(loop_vars)
    if not structure:
        raise ValueError("No loop variables provided")
    with name_scope(name, "while", flatten(structure)):
        limited = maximum_iterations is not None
        if limited:
            limit = convert_to_tensor(maximum_iterations, "int32", name="maximum_iterations")
            counter = convert_to_tensor(0, name="iteration_counter")
            structure = [counter, structure]
            if shape_invariants is not None:
                shape_invariants = [TensorShape([]), shape_invariants]
        pack = _Packer(structure)
        values = pack.tensors(structure)
        shapes = [value.shape for value in values]
        if shape_invariants is not None:
            shapes = pack.shapes(structure, values, shape_invariants)
        context = WhileContext(parallel_iterations, back_prop, swap_memory)
        returned: Any = None
        is_bare = False

        def flat_condition(*tensors: Tensor) -> Any:
            packed = pack.packed(list(tensors))
            if not limited:
                return cond(*packed)
            return get_op("LogicalAnd")(get_op("Less")(packed[0], limit), cond(*packed[1]))

        def flat_body(*tensors: Tensor) -> list[Tensor]:
            packed = pack.packed(list(tensors))
            following = packed[0] + 1 if limited else None  # before the program's nodes
            rest = packed[1] if limited else packed
            nonlocal returned, is_bare
            returned = body(*rest)
            is_bare = not isinstance(returned, list | tuple) or (len(rest) == 1 and not _is_whole(returned, rest))
            returned = [returned] if is_bare else returned
            found = [following, list(returned)] if limited else list(returned)
            same_structure(structure, found)
            return pack.tensors(found)

        context.build(flat_condition, flat_body, values, shapes)
        results = pack.wholes(context.exits)[limited:]
    result = pack_like(returned, results)
    return result[0] if single or (not return_same_structure and (is_bare or len(results) == 1)) else result


def _is_reference(value: Any) -> bool:
    """Whether the loop variable is the reference itself, `variable._ref()`, and not its value."""
    return isinstance(value, Tensor) and value.dtype._is_ref_dtype and not value.op._inputs


def _is_whole(found: Any, rest: list[Any]) -> bool:
    """Whether `found` is a list of the only loop variable, not that variable (a list itself)."""
    return len(found) == 1 and not (isinstance(rest[0], list | tuple) and not isinstance(found[0], list | tuple))


class _Packer:
    """Converts between a structure of loop variables and the flat tensors that represent it in the loop."""

    def __init__(self, structure: Any) -> None:
        self._structure = structure
        self._leaves = flatten(structure)
        parts = [part for leaf in self._leaves for part in _parts(leaf)]
        self._is_ref = [_is_reference(part) for part in parts]

    def tensors(self, structure: Any) -> list[Tensor]:
        parts = [convert_to_tensor(part) for leaf in flatten(structure) for part in _parts(leaf)]
        are_refs = itertools.chain(self._is_ref, itertools.repeat(False))
        return [
            t if is_ref or not t.dtype._is_ref_dtype else identity(t)
            for t, is_ref in zip(parts, are_refs, strict=False)
        ]

    def shapes(self, structure: Any, values: list[Tensor], invariants: Any) -> list[TensorShape]:
        """The shapes that `invariants` give the loop variables of `structure`, whose tensors are `values`."""
        leaves, given, remaining = flatten(structure), flatten(invariants), iter(values)
        if len(leaves) != len(given):
            raise ValueError(f"shape_invariants has {len(given)} shapes for {len(leaves)} loop variables")
        found: list[TensorShape] = []
        for leaf, invariant in zip(leaves, given, strict=True):
            shape = TensorShape(getattr(invariant, "shape", invariant))  # of a tensor, or a TensorSpec
            tensors = list(itertools.islice(remaining, len(_parts(leaf))))
            wanted = [shape] if len(tensors) == 1 and hasattr(leaf, "dtype") else _part_shapes(leaf, tensors, shape)
            for tensor, part in zip(tensors, wanted, strict=True):
                if not _shape_holds(part, tensor.shape):
                    raise ValueError(
                        f"The shape invariant specified for {tensor.name} is not compatible with the initial shape of "
                        f"the loop variable. It enters the loop with shape {tensor.shape}, but the specified shape "
                        f"invariant is {part}."
                    )
            found += wanted
        return found

    def packed(self, tensors: list[Tensor]) -> Any:
        return pack_like(self._structure, self.wholes(tensors))

    def wholes(self, tensors: list[Tensor]) -> list[Any]:
        """The loop variables, one after the other, that `tensors` represent."""
        leaves, position = [], 0
        for leaf in self._leaves:
            count = len(_parts(leaf))
            leaves.append(_whole(leaf, tensors[position : position + count]))
            position += count
        return leaves


def _parts(leaf: Any) -> list[Any]:
    """The tensors that a loop variable consists of."""
    if isinstance(leaf, IndexedSlices):
        return [leaf.values, leaf.indices] + ([] if leaf.dense_shape is None else [leaf.dense_shape])
    if isinstance(leaf, SparseTensor):
        return [leaf.indices, leaf.values, leaf.dense_shape]
    if hasattr(leaf, "_loop_flow"):  # a TensorArray is represented by its flow
        return [leaf._loop_flow]
    if hasattr(leaf, "_with_parts"):  # a RaggedTensor
        return leaf._parts
    return [leaf]


def _whole(leaf: Any, parts: list[Tensor]) -> Any:
    if isinstance(leaf, IndexedSlices):
        return IndexedSlices(*parts)
    if isinstance(leaf, SparseTensor):
        return SparseTensor(*parts)
    if hasattr(leaf, "_loop_flow"):
        return leaf._with_flow(parts[0])
    if hasattr(leaf, "_with_parts"):  # a RaggedTensor
        return leaf._with_parts(parts)
    return parts[0]


def _part_shapes(leaf: Any, tensors: list[Tensor], shape: TensorShape) -> list[TensorShape]:
    """The shapes of a loop variable's parts from its invariant.

    That is the shape of `dense_shape` for a SparseTensor ([rank]), that of `values` for IndexedSlices.
    """
    if isinstance(leaf, SparseTensor):
        rank = shape.with_rank(1)[0]
        return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]
    if isinstance(leaf, IndexedSlices):
        rows = TensorShape(None) if shape.ndims is None else shape[:1]
        return [shape, rows, TensorShape([shape.ndims])][: len(tensors)]
    if hasattr(leaf, "_with_parts"):
        return leaf._shapes_of_parts(shape)
    return [t.shape for t in tensors]
