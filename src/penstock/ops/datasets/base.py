"""A dataset in a running step, and iterators over it: `DatasetState` and `ElementIterator`.

The value on a dataset's edge (dtype variant) is a scalar array of objects that holds a `DatasetState`. Elements are
pulled: a consumer requests one (`next`) or up to n (`next_many`), and the iterator requests its input in turn. Only one
thread at a time may call an iterator; an iterator that computes ahead in its own threads owns its input.

Errors belong to elements. An iterator raises an error for the requested element and can be called again: the next call
returns the element after it. Elements before an erroneous one are returned first, so blocks end there and the next call
raises. No element is lost or returned twice because of an error in another.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from penstock import errors
from penstock.graph.node_kernel import Pending
from penstock.ops.datasets.blocks import Block, Element, of_elements, variant
from penstock.ops.kernel_tools import invalid
from penstock.runtime.at_exit import stop_at_exit
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

State = dict[str, Any]
"""What an iterator saves: by name, JSON values, bytes, torch tensors, arrays, blocks, and lists and dicts of these.
`saved_state.py` writes it."""


Done = Callable[[Element | Exception | None], None]


class IterationContext:
    """The context of an iterator's lifetime, shared with the iterators that it uses."""

    def __init__(self) -> None:
        self._closing: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self.closed = False
        stop_at_exit(self)

    def on_close(self, wake: Callable[[], None]) -> None:
        """Call `wake` when the iterator is closed, from any thread; at once if it is closed already."""
        with self._lock:
            if not self.closed:
                self._closing.append(wake)
                return
        wake()

    def close(self) -> None:
        """Wakes waiting threads, and stops computing ahead."""
        with self._lock:
            waking, self._closing = self._closing, []
            self.closed = True
        for wake in waking:
            wake()

    stop_at_exit = close

    def wait(self, condition: threading.Condition, ready: Callable[[], bool], seconds: float | None = None) -> None:
        """Wait, holding `condition`, until it is `ready`, or for some seconds. Raises CancelledError if the iterator is
        closed meanwhile.

        The condition's `notify_all` must have been registered with `on_close`.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while not ready():
            self.check()
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            condition.wait(left)

    def check(self) -> None:
        """Raises CancelledError if the iterator is closed."""
        if self.closed:
            raise self.cancelled()

    @staticmethod
    def cancelled() -> errors.CancelledError:
        return errors.CancelledError(None, None, "Iterator was closed, or initialized anew, while a step used it")


class DatasetState(ABC):
    """A dataset: the types and shapes of its elements' components, and iterators from its beginning."""

    def __init__(self, dtypes: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        self.dtypes = tuple(dtypes)
        self.shapes = tuple(shapes)

    @abstractmethod
    def iterate(self, ctx: IterationContext) -> ElementIterator:
        """A new iterator at the first element."""


class ElementIterator:
    """The elements of a dataset, in order, once.

    A subclass computes elements one by one (`_one`), or several at once (`_many`), or both if each is sometimes faster;
    the missing method is derived from the other.
    """

    _held: Exception | Literal["end"] | None = None  # an error to raise before anything else is computed

    def next(self) -> Element | None:
        """The next element; None at the end and from then on."""
        if self._held is not None and self._say() is None:
            return None
        element = self._one()
        if element is None:
            self._held = "end"
        return element

    def next_many(self, count: int) -> Block | None:
        """At least one and at most `count` elements; None at the end and from then on.

        It takes no more of its input than these elements need. If elements are computed ahead, it returns those that
        are ready.
        """
        if self._held is not None and self._say() is None:
            return None
        block = self._many(count)
        if block is None:
            self._held = "end"
        return block

    waits: ClassVar[bool] = False
    """Whether `request` may call back later. Any number of threads may then call it at once."""

    def request(self, done: Done) -> Pending | None:
        """Call `done` with the next element, None at the end, or an error: now, or from another thread. If later,
        returns the running request, which may be withdrawn."""
        try:
            found: Element | Exception | None = self.next()
        except Exception as error:
            found = error
        done(found)
        return None

    def save(self) -> State:
        """Its position, from which `restore` continues in a new iterator over the same dataset."""
        held = self._held
        return {"held": saved_error(held) if isinstance(held, Exception) else held, "own": self._save()}

    def restore(self, state: State) -> None:
        """Continue at the position in `state`."""
        held = state["held"]
        self._held = restored_error(held) if isinstance(held, list) else held
        self._restore(state["own"])

    def close(self) -> None:
        """Release files, generators and threads; no more elements will be requested."""

    # --- defined by subclasses ----------------------------------------------------------------------------

    def _one(self) -> Element | None:
        block = self._many(1)
        return None if block is None else block.row(0)

    def _many(self, count: int) -> Block | None:
        elements: list[Element] = []
        while len(elements) < count:
            try:
                element = self._one()
            except Exception as error:
                if not elements:
                    raise
                self._held = error
                break
            if element is None:
                if elements:
                    self._held = "end"
                break
            elements.append(element)
        return of_elements(elements) if elements else None

    def _save(self) -> State:
        raise errors.UnimplementedError(None, None, f"{type(self).__name__} cannot be saved")

    def _restore(self, state: State) -> None:
        raise errors.UnimplementedError(None, None, f"{type(self).__name__} cannot be restored")

    def _say(self) -> bool | None:
        """Raise the deferred error, once; returns None at the end."""
        held = self._held
        if held == "end":
            return None
        self._held = None
        assert isinstance(held, Exception)
        raise held


def saved_error(error: Exception) -> list[Any]:
    """An error in a form that `State` can hold."""
    code = error.error_code if isinstance(error, errors.OpError) else errors.UNKNOWN
    return [code, error.message if isinstance(error, errors.OpError) else f"{type(error).__name__}: {error}"]


def restored_error(saved: list[Any]) -> errors.OpError:
    code, message = saved
    return errors.exception_type_from_error_code(code)(None, None, message)


def dataset_of(value: Any) -> DatasetState:
    """The dataset on an edge. Raises InvalidArgumentError for other values."""
    found = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if not isinstance(found, DatasetState):
        raise invalid("The Variant type does not hold a Dataset: it is no dataset's output")
    return found


def dataset_value(state: DatasetState) -> np.ndarray:
    """A dataset as the value of an edge."""
    return variant(state)
