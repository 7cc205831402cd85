"""Calls of the functions that datasets take, with captured values, for elements or for blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from penstock import errors
from penstock.ops.datasets.base import ElementIterator, State
from penstock.ops.datasets.blocks import Block, Element, of_elements, stack
from penstock.ops.datasets.define import TYPES
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import RuntimeFunction
from penstock.tensor.dtypes import DType

OTHERS = ["Targuments: list(type) >= 0", *TYPES]
"""Attributes after the function's: those of captured values, and of elements."""
LEAST_BLOCK = 4
"""The number of elements from which one vectorised call is worthwhile."""
_PATIENCE = 3


class Call:
    """A function with captured values, from an element's components to those of a result.

    Its seeds give the same numbers to each dataset, and so whenever an iterator is initialised.
    """

    def __init__(self, function: RuntimeFunction, captured: Sequence[Any]) -> None:
        self._function = function.anew()
        # A dataset outlives the step that made it, and variables captured by value may change meanwhile.
        self._captured = tuple([v.clone() if isinstance(v, torch.Tensor) else v for v in captured])
        self._failures = 0

    @property
    def of_many(self) -> Callable[..., Element] | None:
        """The vectorised function, without any check; None if there is none."""
        return self._function.vectorised(len(self._captured))

    def check(self, takes: Sequence[DType], gives: Sequence[DType]) -> None:
        """Raises InvalidArgumentError unless the function maps these dtypes, along with its captured values, to those.

        An imported graph may contain anything.
        """
        function = self._function.function
        wanted = [tensor.dtype.base_dtype for tensor in function.arguments]
        found = [tensor.dtype.base_dtype for tensor in function.results]
        if wanted[: len(takes)] != list(takes) or len(wanted) != len(takes) + len(self._captured):
            have = f"{_names(takes)} and {len(self._captured)} captured values"
            raise invalid(f"Function {function.name} takes {_names(wanted)}, but is passed {have}")
        if found != list(gives):
            raise invalid(f"Function {function.name} returns {_names(found)}, but its dataset declares {_names(gives)}")

    def __call__(self, *element: Any) -> Element:
        return self._function(*element, *self._captured)

    def of_block(self, block: Block) -> Block | None:
        """The results for all elements of a block, computed at once; None if that fails for any reason."""
        if block.size < LEAST_BLOCK or self._failures >= _PATIENCE:
            return None
        many = self.of_many
        if many is None:
            return None
        columns = [stack(column) for column in block.columns]
        if any(isinstance(column, list) for column in columns):
            return None  # values of different shapes
        try:
            found = many(*columns, *self._captured)
        except Exception:  # the error may be in an element or in vectorisation: separate calls will tell
            self._failures += 1
            return None
        self._failures = 0
        return Block(block.size, found)


def _names(dtypes: Sequence[DType]) -> str:
    return f"({', '.join(dtype.name for dtype in dtypes)})"


class MappedIterator(ElementIterator):
    """An iterator that computes each element from one element of its input.

    Elements taken from the input for a block, after an erroneous one, are kept for the next call.
    """

    def __init__(self, source: ElementIterator) -> None:
        self._input = source
        self._waiting: list[Element] = []

    def close(self) -> None:
        self._input.close()

    def _taken(self) -> Element | None:
        return self._waiting.pop(0) if self._waiting else self._input.next()

    def _taken_many(self, count: int) -> Block | None:
        if not self._waiting:
            return self._input.next_many(count)
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return of_elements(taken)

    def _save(self) -> State:
        return {"waiting": of_elements(self._waiting) if self._waiting else None, "input": self._input.save()}

    def _restore(self, state: State) -> None:
        self._waiting = state["waiting"].rows() if state["waiting"] is not None else []
        self._input.restore(state["input"])


def ends(error: BaseException) -> bool:
    """Whether a function's error means that the dataset ends here."""
    return isinstance(error, errors.OutOfRangeError)
