"""`NodeKernel`: what a plan knows of the kernel of a node. A plain function has none of the abilities listed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Pending(Protocol):
    """An asynchronous kernel that is under way. As text: what it waits for."""

    @property
    def action(self) -> str:
        """What it does, as an error calls it: "Dequeue"."""
        ...

    def withdraw(self) -> bool:
        """End it: it has taken nothing, and `done` is not called. False if that has been, or will be, by now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKernel:
    """A function of a node's inputs, and what else can be done with it; None where it cannot.

    Factories return one for a node whose kernel has such abilities (see `OpDef.kernel`), and plain functions else.
    """

    call: Callable[..., Any]
    """`call(*inputs)` returns the output, a tuple where the op has several, and may return None where it has none."""
    start: Callable[..., Pending | None] | None = None
    """Asynchronous: `start(done, *inputs)` begins, and `done(result)` is called at once or later, from any thread. Then
    the executor calls this in place of `call`; an exception as the result fails the step. It returns what can be
    withdrawn when the step ends before."""
    may_block: bool = False
    """`call` may wait for what other nodes of the step do."""
    observed: Callable[..., Any] | None = None
    """Of a node that stands for others: `observed(before, *inputs)` calls `before(node)` before each of them."""
    source: Callable[[], str] | None = None
    """The text of what runs, for those who look."""
    with_arrays: Callable[[frozenset[int], frozenset[int]], NodeKernel] | None = None
    """`with_arrays(inputs, outputs)`: the kernel with contiguous NumPy arrays in place of the tensors of these."""
    donating: Callable[[tuple[int, ...]], NodeKernel] | None = None
    """`donating(inputs)`: the kernel that may write its results over these inputs, which nobody needs after a call."""
    settled: Callable[[], bool] | None = None
    """Whether what runs for the shapes seen so far will not be replaced any more."""

    def __call__(self, *inputs: Any) -> Any:
        return self.call(*inputs)


def asynchronous(start: Callable[..., Pending | None]) -> NodeKernel:
    """The kernel that `start` begins; nothing can call it and wait."""
    return NodeKernel(call=_nothing, start=start)


def _nothing(*inputs: Any) -> None:
    raise TypeError("what waits for others cannot be called")


NO_KERNEL = NodeKernel(call=_nothing)


def abilities(kernel: Any) -> NodeKernel:
    """What can be done with an entry of a plan's kernels, which may also be a `Bound`, PASS_THROUGH or None."""
    return kernel if isinstance(kernel, NodeKernel) else NO_KERNEL
