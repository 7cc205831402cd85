"""Running a region's function on copies of its variables, alongside the members, until it is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from penstock import errors
from penstock.analysis.hazards import is_state, updates_variable, variable_of
from penstock.codegen.c.agreement import VARIATIONS, Values, changed
from penstock.codegen.c.first_run import Call
from penstock.codegen.c.object_cache import Function
from penstock.codegen.c.trials import as_values, describe
from penstock.codegen.regions.function import Written
from penstock.codegen.regions.region_launch import Binding, launcher
from penstock.runtime.kernels import SessionState
from penstock.runtime.resources import ResourceManager, VariableState

if TYPE_CHECKING:
    from penstock.codegen.regions.region_kernel import Region

_REFUSED: Any = object()
MOST_FOR_FIRST_CALL = 1 << 22
"""The most bytes of inputs, constants and variables that are copied for a call in another process."""
MOST_COPIED = 1 << 28
"""The most bytes of updated variables that are copied; functions that update more are trusted without a trial."""


def contents(values: Values) -> list[bytes] | None:
    """The current bytes of tensors and arrays; None if copying them would take as long as a step."""
    if sum(value.nbytes for value in values) > MOST_FOR_FIRST_CALL:
        return None
    return [np.asarray(value).tobytes() for value in values]


def first_call(region: Region, written: Written, inputs: Sequence[bytes]) -> Call | None:
    """A call with these inputs and copies of the variables; None if the function does not support them."""
    variables = region.variables(written)
    count = len(inputs)
    if Binding(written, variables).bind() is None or [len(value) for value in inputs] != written.sizes[:count]:
        return None
    values = contents([*written.constants, *(variable.value for variable in variables)])
    if values is None:
        return None
    blocks = [(len(value), value) for value in inputs]
    outputs = [(size, b"") for size in written.sizes[count:]]
    return Call(([(len(value), value) for value in values], *blocks, *outputs), describe(region.body.nodes))


class RegionRehearsal:
    """The rehearsal of a region's function; see `trials.Rehearsal`. One thread at a time uses it.

    Variables that the region only reads are the session's; the others are copied.
    """

    def __init__(self, region: Region, written: Written, function: Function) -> None:
        self._region, self._written = region, written
        self._variables = region.variables(written)
        updated = {variable_of(e) for n in region.body.nodes if updates_variable(n) for e in n.inputs if is_state(e)}
        self._updated = [i for i, node in enumerate(written.variables) if node in updated]
        self._copies = [VariableState(v.name, v.dtype, v.shape) for v in self._variables]
        self._run = launcher(region, written, function, self._copies, lambda *values: _REFUSED)
        self._before: list[torch.Tensor] = []
        self._stand_in: Region | None = None
        self.members = region.members.run

    def is_cheap(self) -> bool:
        """Whether there seems to be memory for the copies."""
        values = [self._variables[i].value for i in self._updated]
        return sum(value.nbytes for value in values if isinstance(value, torch.Tensor)) <= MOST_COPIED

    def compiled(self, inputs: Values) -> Values | None:
        values = [variable.value for variable in self._variables]
        if not all(isinstance(value, torch.Tensor) for value in values):
            return None
        self._before = [value.clone() if i in self._updated else value for i, value in enumerate(values)]
        for i, (copy, value) in enumerate(zip(self._copies, self._before, strict=True)):
            copy.value = value.clone() if i in self._updated else value
        result = self._run(*inputs)
        if result is _REFUSED:
            return None
        return [*as_values(result), *(self._copies[i].value for i in self._updated)]

    def made(self, result: Any) -> Values:
        return [*as_values(result), *(self._variables[i].value for i in self._updated)]

    def taken(self, inputs: Values) -> Values:
        return [*inputs, *self._before]

    def again(self, inputs: Values) -> Values:
        return self._with_copies(inputs, [value.clone() for value in self._before])

    def varied(self, inputs: Values) -> Iterator[Values]:
        for _ in range(VARIATIONS):
            try:
                yield self._with_copies(changed(inputs), changed(self._before))
            except errors.OpError:
                continue  # inputs close to these are rejected: there is no verdict

    def forget(self) -> None:
        """Release the copies."""
        self._before, self._stand_in = [], None
        for copy in self._copies:
            copy.value = None

    def _with_copies(self, inputs: Values, variables: Values) -> Values:
        """The members' results for `inputs`, in a session whose variables have these values."""
        region = self._region
        if self._stand_in is None:
            self._stand_in = region.in_session(SessionState(ResourceManager()))
        states = self._stand_in.variables(self._written)
        for state, variable, value in zip(states, self._variables, variables, strict=True):
            state.dtype, state.shape, state.value = variable.dtype, variable.shape, value
        result = self._stand_in.members.run(*inputs)
        return [*as_values(result), *(states[i].value for i in self._updated)]
