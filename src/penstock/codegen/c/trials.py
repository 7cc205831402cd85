"""The first runs of a compiled function, compared with the nodes that it replaces.

Compilers have bugs, and so may the generators of their C. So a function is trusted only after its results have agreed
with those of the nodes' own kernels a few times; until then steps get the kernels' results. A function whose results
differ is not used again, in this or a later process. While it runs for the first time in a process, a marker is next to
its object (`object_cache.py`). A marker whose process no longer exists means that the process died: the function then
first runs in a child of this process, and if that dies as well, the object is never used again.
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

import numpy as np
import torch

from penstock import errors
from penstock.codegen.c.agreement import VARIATIONS, Values, agree, are_close, changed
from penstock.codegen.c.object_cache import Function
from penstock.graph.step_graph import FEED, Node

_LOG = logging.getLogger("penstock")
RUNS = 3
"""How many results of a function are compared in each process."""
ENOUGH_S = 0.05
"""Seconds of the nodes' own kernels after which fewer are enough, because millions of numbers have been compared."""
CHILD_SECONDS = 10.0
"""Seconds that a suspect function may take in a child process."""
NAMED = 8
"""The most ops that a warning names."""

Launch = Callable[..., Any]


class Rehearsal(Protocol):
    """Runs a function without side effects, alongside the nodes that it replaces."""

    def compiled(self, inputs: Values) -> Values | None:
        """The function's results and changed variables, computed on copies; None if it does not support these
        inputs."""

    def members(self, *inputs: Any) -> Any:
        """The results of the nodes' own kernels, with their effects."""

    def made(self, result: Any) -> Values:
        """The results of `members` and the current variables, to compare with those of `compiled`."""

    def taken(self, inputs: Values) -> Values:
        """All inputs of the last call of `compiled`."""

    def again(self, inputs: Values) -> Values:
        """The nodes' kernels' results for the inputs of `compiled`, computed on copies."""

    def varied(self, inputs: Values) -> Iterator[Values]:
        """The same for inputs and variables whose last bits are changed."""


class Pure:
    """The rehearsal of a function whose results depend only on its inputs.

    given: the inputs whose memory it may reuse, so that it gets copies of them.
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
        return list(_leaves(inputs))

    def again(self, inputs: Values) -> Values:
        return as_values(self.members(*inputs))

    def varied(self, inputs: Values) -> Iterator[Values]:
        for _ in range(VARIATIONS):
            yield as_values(self.members(*changed(inputs)))


def _leaves(inputs: Values) -> Iterator[Any]:
    """The arrays and tensors among inputs and lists of them."""
    for value in inputs:
        if isinstance(value, list):
            yield from _leaves(value)
        elif isinstance(value, torch.Tensor | np.ndarray | np.generic):
            yield value


def as_values(result: Any) -> list[Any]:
    """The results of a kernel as a tuple, even if there is one."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


class Keeper(Protocol):
    """The store of objects, which knows which ones are suspect or bad."""

    def watch(self, name: str, about: str) -> contextlib.AbstractContextManager[bool]:
        """A context for the first run of the function of this name; yields whether a process died while it ran."""

    def condemn(self, name: str, about: str) -> None:
        """Never return this function again."""


class Trial:
    """The state of one function in this process. Any number of kernels, in any number of threads, may share it."""

    believed = 0
    """How many functions have passed in this process."""

    def __init__(self, function: Function, keeper: Keeper) -> None:
        self.passed, self.failed = RUNS <= 0, False
        self._name = getattr(function, "__name__", "")
        self._keeper = keeper
        self._lock = threading.Lock()
        self._left, self._seconds = RUNS, 0.0
        self._watched = False

    def run(self, rehearsal: Rehearsal, nodes: Iterable[Node], inputs: Values) -> Any:
        """Returns the result of `rehearsal.members` for `inputs`; the function runs alongside, in one thread at a
        time."""
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
                self._condemn(nodes, f"did not reject what its nodes reject ({str(error).splitlines()[0]})")
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
    """A short description: the ops, and where the last of them was built."""
    found = [node for node in nodes if node.op is not FEED and not node.is_constant]
    ops = list(dict.fromkeys(node.op.name for node in found))
    words = ", ".join(ops[:NAMED]) + (", …" if len(ops) > NAMED else "")
    lines = [node.source.user_line for node in found if node.source is not None and node.source.user_line]
    count = f"{len(found)} nodes" if len(found) != 1 else "one node"
    return f"{count} ({words}), built up to {lines[-1]}," if lines else f"{count} ({words})"


_trials: dict[int, tuple[Function, Trial]] = {}


def trial_of(function: Function, keeper: Keeper) -> Trial:
    """The trial that all kernels of a function share."""
    return _trials.setdefault(id(function), (function, Trial(function, keeper)))[1]


def _survives(run: Callable[[], Any]) -> bool:
    """Whether a fork of this process ends normally when it runs this."""
    if not hasattr(os, "fork"):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # forks without other threads are fine: nothing waits for those
        pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):  # an error is not a crash
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
    """Prepares a child process: no threads to wait for, no crash message, no core dump."""
    import faulthandler
    import resource

    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    torch.set_num_threads(1)
