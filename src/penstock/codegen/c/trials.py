"""The first runs of a compiled function, beside those of the nodes that it stands for.

Compilers have bugs, and so may what writes C for them. So a function is believed when its results have agreed with
those of the nodes' own kernels a few times; until then those are what steps get. A function that gives something else
is not used again, now or in a later process. While it runs for the first time in a process a marker lies beside its
object (`object_cache.py`). One that is found there without its process is of a process that died meanwhile: then the
function first runs in a child of this one, and if that dies as well, the object is never used again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Protocol

import torch

from penstock import errors
from penstock.codegen.c.agreement import VARIATIONS, Values, agree, are_close, changed
from penstock.codegen.c.object_cache import Function
from penstock.graph.step_graph import FEED, Node

_LOG = logging.getLogger("penstock")
RUNS = 3
"""Results of a function that are compared, in each process."""
ENOUGH_S = 0.05
"""Seconds of the nodes' own kernels after which fewer are enough: millions of numbers have been compared then."""
CHILD_SECONDS = 10.0
"""That a function under suspicion may take in a child."""
NAMED = 8
"""Ops that a warning names."""

Launch = Callable[..., Any]


class Rehearsal(Protocol):
    """Running a function without doing any harm, beside the nodes that it stands for."""

    def compiled(self, inputs: Values) -> Values | None:
        """The function's results, and the variables that it changed, of copies; None where it does not take these."""

    def members(self, *inputs: Any) -> Any:
        """The nodes' own kernels, for good."""

    def made(self, result: Any) -> Values:
        """What `members` gave, and the variables as they are now: to be compared with what `compiled` gives."""

    def taken(self, inputs: Values) -> Values:
        """All that the last call of `compiled` computed from."""

    def again(self, inputs: Values) -> Values:
        """What the nodes' kernels make of what `compiled` was given, computed from copies."""

    def varied(self, inputs: Values) -> Iterator[Values]:
        """The same, of inputs and variables whose last bits are changed."""


class Pure:
    """The rehearsal of a function whose results depend on its inputs alone.

    given: which inputs' memory it may take over, so that it gets copies of them.
    """

    def __init__(self, function: Launch, members: Launch, given: Collection[int] = ()) -> None:
        self.members = members
        self._function, self._given = function, given

    def compiled(self, inputs: Values) -> Values:
        taken = [value.clone() if i in self._given else value for i, value in enumerate(inputs)]
        return as_values(self._function(*taken))

    def made(self, result: Any) -> Values:
        return as_values(result)

    def taken(self, inputs: Values) -> Values:
        return [value for value in inputs if value is not None]

    def again(self, inputs: Values) -> Values:
        return as_values(self.members(*inputs))

    def varied(self, inputs: Values) -> Iterator[Values]:
        for _ in range(VARIATIONS):
            yield as_values(self.members(*changed(inputs)))


def as_values(result: Any) -> list[Any]:
    """The results of a kernel, of which there may be one."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


class Keeper(Protocol):
    """Where objects are kept: it knows which ones are under suspicion, and which are bad."""

    def watch(self, name: str, about: str) -> contextlib.AbstractContextManager[bool]:
        """While the function of this name runs for the first time; whether a process died while it ran."""

    def condemn(self, name: str, about: str) -> None:
        """Never give this function again."""


class Trial:
    """What is known of one function, in this process. Any number of kernels, in any number of threads, may share it."""

    believed = 0
    """Functions of this process that have passed."""

    def __init__(self, function: Function, keeper: Keeper) -> None:
        self.passed, self.failed = RUNS <= 0, False
        self._name = getattr(function, "__name__", "")
        self._keeper = keeper
        self._lock = threading.Lock()
        self._left, self._seconds = RUNS, 0.0
        self._watched = False

    def run(self, rehearsal: Rehearsal, nodes: Iterable[Node], inputs: Values) -> Any:
        """What `rehearsal.members` gives for `inputs`; the function runs beside them, in one thread at a time."""
        if self.passed or self.failed or not self._lock.acquire(blocking=False):
            return rehearsal.members(*inputs)
        try:
            found = self._first(rehearsal, nodes, inputs) if not self._watched else rehearsal.compiled(inputs)
            if found is None:
                return rehearsal.members(*inputs)
            begin = time.monotonic()
            try:
                result = rehearsal.members(*inputs)
            except errors.InvalidArgumentError as error:
                self._condemn(nodes, f"did not refuse what its nodes refuse ({str(error).splitlines()[0]})")
                raise
            self._seconds += time.monotonic() - begin
            self._compare(rehearsal, nodes, inputs, found, result)
            return result
        finally:
            self._lock.release()

    def _compare(self, rehearsal: Rehearsal, nodes: Iterable[Node], inputs: Values, found: Values, result: Any) -> None:
        wrong = ""
        if not are_close(found, rehearsal.made(result)):  # another thread may have changed a variable meanwhile
            wrong = agree(found, rehearsal.again(inputs), rehearsal.taken(inputs), lambda: rehearsal.varied(inputs))
        if wrong:
            self._condemn(nodes, f"computed something else than they do ({wrong})")
            return
        self._left -= 1
        self.passed = self._left <= 0 or self._seconds >= ENOUGH_S
        Trial.believed += self.passed

    def _first(self, rehearsal: Rehearsal, nodes: Iterable[Node], inputs: Values) -> Values | None:
        about = describe(nodes)
        with self._keeper.watch(self._name, about) as suspected:
            if suspected and not _survives(lambda: rehearsal.compiled(inputs)):
                self._condemn(nodes, "ended the process in which it ran")
                return None
            found = rehearsal.compiled(inputs)
        self._watched = found is not None
        return found

    def _condemn(self, nodes: Iterable[Node], why: str) -> None:
        self.failed = True
        about = describe(nodes)
        self._keeper.condemn(self._name, about)
        _LOG.warning("Compiled code of %s %s. It is not used any more; the nodes' own kernels are.", about, why)


def describe(nodes: Iterable[Node]) -> str:
    """Ops, and where the last of them was built, in a few words."""
    found = [node for node in nodes if node.op is not FEED and not node.is_constant]
    ops = list(dict.fromkeys(node.op.name for node in found))
    words = ", ".join(ops[:NAMED]) + (", …" if len(ops) > NAMED else "")
    lines = [node.source.user_line for node in found if node.source is not None and node.source.user_line]
    count = f"{len(found)} nodes" if len(found) != 1 else "one node"
    return f"{count} ({words}), built up to {lines[-1]}," if lines else f"{count} ({words})"


_trials: dict[int, tuple[Function, Trial]] = {}


def trial_of(function: Function, keeper: Keeper) -> Trial:
    """The trial that all kernels of one function share."""
    return _trials.setdefault(id(function), (function, Trial(function, keeper)))[1]


def _survives(run: Callable[[], Any]) -> bool:
    """Whether a copy of this process comes to an end by itself when it runs that."""
    if not hasattr(os, "fork"):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other threads are not there: nothing waits for them
        pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):  # an error is no crash
            _be_alone()
            run()
        os._exit(0)
    end = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.WIFEXITED(status)
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _be_alone() -> None:
    """In a child: no threads to wait for, no words about a crash, and no picture of the memory."""
    import faulthandler
    import resource

    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    torch.set_num_threads(1)
