"""Patterns of nodes: the ops of a node and of the nodes that its inputs come from."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.graph.operation import Operation, Tensor

Found = dict["Pattern", tuple[Operation, "Tensor | None"]]
"""The node that each pattern stands for, and which output of it is used (None for the last node's)."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """A node of one of `kinds` (any kind if empty) whose inputs match `inputs` (any inputs if empty).

    Each input has alternatives, of which the first that matches counts. With `in_any_order` the inputs may be swapped.
    """

    kinds: frozenset[str] = frozenset()
    inputs: tuple[tuple[Pattern, ...], ...] = ()
    in_any_order: bool = False

    def match(self, op: Operation, tensor: Tensor | None = None) -> Found | None:
        """What this pattern and those of its inputs stand for if `op` ends a match, else None."""
        if self.kinds and op.type not in self.kinds:
            return None
        if not self.inputs:
            return {self: (op, tensor)}
        if len(op._inputs) != len(self.inputs):
            return None
        for inputs in itertools.permutations(self.inputs) if self.in_any_order else [self.inputs]:
            found: Found = {self: (op, tensor)}
            for taken, alternatives in zip(op._inputs, inputs, strict=True):
                below = first_match(alternatives, taken.op, taken)
                if below is None:
                    break
                found.update(below)
            else:
                return found
        return None


ANY = Pattern()


def pattern(kinds: str, *inputs: Pattern | Iterable[Pattern], in_any_order: bool = False) -> Pattern:
    """A pattern of the ops named in `kinds`, apart by spaces."""
    alternatives = tuple((each,) if isinstance(each, Pattern) else tuple(each) for each in inputs)
    return Pattern(frozenset(kinds.split()), alternatives, in_any_order)


def first_match(alternatives: Iterable[Pattern], op: Operation, tensor: Tensor | None = None) -> Found | None:
    """The match of the first of `alternatives` that `op` ends."""
    return next((found for each in alternatives if (found := each.match(op, tensor)) is not None), None)


def matches(alternatives: Iterable[Pattern], ops: Iterable[Operation]) -> Iterator[Found]:
    """The matches that end at each of `ops`."""
    alternatives = tuple(alternatives)
    return (found for op in ops if (found := first_match(alternatives, op)) is not None)


def op_of(found: Found, *wanted: Pattern) -> Operation | None:
    """The node that the first of the `wanted` patterns in a match stands for."""
    return next((found[each][0] for each in wanted if each in found), None)


def tensor_of(found: Found, *wanted: Pattern) -> Tensor | None:
    """The tensor that the first of the `wanted` patterns in a match stands for."""
    return next((found[each][1] for each in wanted if each in found and found[each][1] is not None), None)
