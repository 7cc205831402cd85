"""What a dataset is while a step runs, and what goes through one: `DatasetState` and `ElementIterator`.

The value on a dataset's edge (dtype variant) is a scalar array of objects that holds a `DatasetState`. Iterators are
pulled: whoever wants elements asks for one (`next`) or for up to n (`next_many`), which asks its own input in turn.
One thread at a time asks an iterator; what computes ahead in threads of its own owns its input.

Errors belong to elements. An iterator raises for the element that it was asked for and can be asked again: the next
call gives what follows. What came before an erroneous element is given first, so blocks end there and the next call
raises. No element is lost, or given twice, because another is wrong.
"""

from __future__ import annotations

import threading
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
"""What an iterator saves: by name, what JSON can say, bytes, torch tensors, arrays, blocks, and lists and dicts of all
that. See `saved_state.py` for how it is written."""


Done = Callable[[Element | Exception | None], None]


class IterationContext:
    """What goes on for as long as an iterator lives; all iterators that work for one share it."""

    def __init__(self) -> None:
        self._closing: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self.closed = False
        stop_at_exit(self)

    def on_close(self, wake: Callable[[], None]) -> None:
        """Have `wake` called when the iterator is closed, from any thread; at once if it is."""
        with self._lock:
            if not self.closed:
                self._closing.append(wake)
                return
        wake()

    def close(self) -> None:
        """Who waits is woken, and what computes ahead stops."""
        with self._lock:
            waking, self._closing = self._closing, []
            self.closed = True
        for wake in waking:
            wake()

    stop_at_exit = close

    def wait(self, condition: threading.Condition, ready: Callable[[], bool]) -> None:
        """Wait, holding `condition`, until it is `ready`. CancelledError when the iterator is closed meanwhile.

        Whoever waits with a condition has to have registered its `notify_all` by `on_close`.
        """
        while not ready():
            self.check()
            condition.wait()

    def check(self) -> None:
        """CancelledError if the iterator is closed."""
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
        """A new iterator, which begins at the first element."""


class ElementIterator:
    """The elements of a dataset, in order, once.

    A subclass computes elements one by one (`_one`), or several at once (`_many`), or both, where each way is faster
    for some; what it leaves out follows from the other.
    """

    _held: Exception | Literal["end"] | None = None  # what is to be said before anything else is computed

    def next(self) -> Element | None:
        """The next element; None at the end, and ever after."""
        if self._held is not None and self._say() is None:
            return None
        element = self._one()
        if element is None:
            self._held = "end"
        return element

    def next_many(self, count: int) -> Block | None:
        """At least one and at most `count` elements; None at the end, and ever after.

        It takes no more of its input than these elements need. Where elements are computed ahead, it gives those that
        are there.
        """
        if self._held is not None and self._say() is None:
            return None
        block = self._many(count)
        if block is None:
            self._held = "end"
        return block

    waits: ClassVar[bool] = False
    """Whether `request` may call back later. Then any number of threads may call that at once."""

    def request(self, done: Done) -> Pending | None:
        """Call `done` with the next element, None at the end, or an error: now, or from another thread. If later,
        return what is under way, which may be withdrawn."""
        try:
            found: Element | Exception | None = self.next()
        except Exception as error:
            found = error
        done(found)
        return None

    def save(self) -> State:
        """Where it stands, so that `restore` makes a new iterator of the same dataset go on from here."""
        held = self._held
        return {"held": saved_error(held) if isinstance(held, Exception) else held, "own": self._save()}

    def restore(self, state: State) -> None:
        """Continue where the iterator stood that saved `state`."""
        held = state["held"]
        self._held = restored_error(held) if isinstance(held, list) else held
        self._restore(state["own"])

    def close(self) -> None:
        """Let go of files, generators and threads; nobody asks for elements any more."""

    # --- what subclasses say ----------------------------------------------------------------------------

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
        """Raise the error that was held back, once; None at the end."""
        held = self._held
        if held == "end":
            return None
        self._held = None
        assert isinstance(held, Exception)
        raise held


def saved_error(error: Exception) -> list[Any]:
    """An error as `State` may hold it."""
    code = error.error_code if isinstance(error, errors.OpError) else errors.UNKNOWN
    return [code, error.message if isinstance(error, errors.OpError) else f"{type(error).__name__}: {error}"]


def restored_error(saved: list[Any]) -> errors.OpError:
    code, message = saved
    return errors.exception_type_from_error_code(code)(None, None, message)


def dataset_of(value: Any) -> DatasetState:
    """The dataset on an edge. InvalidArgumentError for another value."""
    found = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if not isinstance(found, DatasetState):
        raise invalid("The Variant type does not hold a Dataset: it is no dataset's output")
    return found


def dataset_value(state: DatasetState) -> np.ndarray:
    """A dataset as the value of an edge."""
    return variant(state)
