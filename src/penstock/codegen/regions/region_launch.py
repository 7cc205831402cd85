"""Calling a region's compiled function: cheap checks, addresses, new memory for outputs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from penstock.analysis.hazards import locked_variable
from penstock.codegen.c.object_cache import Function
from penstock.codegen.python.code import function_of, python_code
from penstock.codegen.regions.clocks import new_clocks
from penstock.codegen.regions.function import Written
from penstock.codegen.regions.writable import shape_of
from penstock.graph.step_graph import Edge, StepGraph
from penstock.runtime.resources import VariableState

if TYPE_CHECKING:
    from penstock.codegen.regions.region_kernel import Region

Launch = Callable[..., Any]


class Binding:
    """The table of addresses that a function takes: of constants and of the variables' current buffers.

    `now` is a tuple: the table's address, the tensors of the variables, and what must stay alive with it.
    """

    def __init__(self, written: Written, variables: list[VariableState]) -> None:
        self._constants, self._variables = written.constants, variables
        self._expected = [
            (node.attrs["dtype"].base_dtype.torch, torch.Size(node.attrs["shape"].as_list()))
            for node in written.variables
        ]
        self.now: tuple[Any, ...] = (0, *(self for _ in variables))  # never held by a variable
        if not variables:
            self.bind()

    def bind(self) -> tuple[Any, ...] | None:
        """The table for the variables' current buffers; None if the function does not support them."""
        values = [variable.value for variable in self._variables]
        for value, (dtype, shape) in zip(values, self._expected, strict=True):
            if not isinstance(value, torch.Tensor) or value.dtype is not dtype or value.shape != shape:
                return None
            if not value.is_contiguous() or not value.is_cpu:
                return None
        addresses = [c.ctypes.data for c in self._constants] + [value.data_ptr() for value in values]
        table = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        self.now = (ctypes.addressof(table), *values, table)
        return self.now


def launcher(
    region: Region, written: Written, function: Function, variables: list[VariableState], members: Launch
) -> Launch:
    """A function of the region's values that checks them, allocates the outputs and calls `function` on them and on
    `variables`, or `members` if it does not support them.

    It holds the locks of the variables that the region's ops lock, in the same order for all regions. For a function
    with clocks, it also takes an array for their numbers.
    """
    body = region.body
    binding = Binding(written, variables)
    namespace: dict[str, Any] = {
        "binding": binding,
        "run": function,
        "members": members,
        "otherwise": members,
        "empty": torch.empty,
        "empty_array": np.empty,
    }
    names = [f"x{i}" for i in range(len(body.feeds))]
    clocks = new_clocks(written.clocks)
    lines = [f"def launch({', '.join([*names, 'clocks'] if written.clocks else names)}):"]
    everything = ", ".join(names)
    wrong, strided = [], []
    for i, (name, feed) in enumerate(zip(names, body.feeds, strict=True)):
        edge = Edge(feed, 0)
        if i in region.arrays_in:
            continue  # the function checks it itself
        namespace[f"{name}_shape"] = torch.Size(shape_of(edge))
        namespace[f"{name}_dtype"] = edge.dtype.torch
        wrong.append(f"{name}.shape != {name}_shape or {name}.dtype is not {name}_dtype or not {name}.is_cpu")
        strided.append(f"    if not {name}.is_contiguous(): {name} = {name}.contiguous()")
    if wrong:  # one call for all: each names all values, of which a long unrolled loop has hundreds
        lines.append(f"    if {' or '.join(wrong)}: return members({everything})")
    lines += strided
    outputs = [f"y{i}" for i in range(len(body.fetches))]
    pointers = "".join(f", {name}" if i in region.arrays_in else f", {name}.data_ptr()" for i, name in enumerate(names))
    for i, (name, edge) in enumerate(zip(outputs, body.fetches, strict=True)):
        namespace[f"{name}_shape"] = shape_of(edge)
        if i in region.arrays_out:
            namespace[f"{name}_dtype"] = edge.dtype.as_numpy_dtype
            lines.append(f"    {name} = empty_array({name}_shape, {name}_dtype)")
            pointers += f", {name}"
        else:
            namespace[f"{name}_dtype"] = edge.dtype.torch
            lines.append(f"    {name} = empty({name}_shape, dtype={name}_dtype)")
            pointers += f", {name}.data_ptr()"
    pointers += ", clocks" if written.clocks else ""
    locks = sorted((v.lock for v in locked_of(body, written, variables)), key=id)
    if locks:
        namespace["locks"] = locks[0] if len(locks) == 1 else _Together(locks)
        lines.append("    with locks:")
    indent = "        " if locks else "    "
    lines.append(f"{indent}bound = binding.now")
    if variables:
        namespace |= {f"v{i}": variable for i, variable in enumerate(variables)}
        changed = " or ".join(f"v{i}.value is not bound[{i + 1}]" for i in range(len(variables)))
        lines.append(f"{indent}if {changed}: bound = binding.bind()")
    lines.append(f"{indent}failed = bound is None or run(bound[0]{pointers})")
    lines.append(f"    if failed: return otherwise({everything})")
    lines.append(f"    return {', '.join(outputs) if outputs else '()'}")
    defaults = (clocks,) if written.clocks else ()
    launch = function_of(python_code("\n".join(lines) + "\n", "region"), namespace, defaults)
    if region.arrays_in:
        namespace["otherwise"] = _with_copies(launch, members, region.arrays_in)
    return launch


def _with_copies(launch: Launch, members: Launch, arrays: frozenset[int]) -> Launch:
    """What is called for values that the function rejected: it once more, if some were parts of larger arrays, or
    `members`. (Whether arrays are contiguous is not asked before each call: that takes as long as passing one on.)"""

    def call(*values: Any) -> Any:
        parts = [i for i in arrays if not values[i].flags.c_contiguous]
        if not parts:
            return members(*values)
        return launch(*[value.copy() if i in parts else value for i, value in enumerate(values)])

    return call


class _Together:
    """Several locks, acquired in order. (Python nests at most 20 blocks, including those of `with`.)"""

    def __init__(self, locks: list[Any]) -> None:
        self._locks = locks

    def __enter__(self) -> None:
        taken = 0
        try:
            for lock in self._locks:
                lock.acquire()
                taken += 1
        except BaseException:  # Ctrl-C
            self._release(taken)
            raise

    def __exit__(self, *_: object) -> None:
        self._release(len(self._locks))

    def _release(self, count: int) -> None:
        for lock in self._locks[:count]:
            lock.release()


def locked_of(body: StepGraph, written: Written, variables: list[VariableState]) -> list[VariableState]:
    """Those of `variables` that ops lock while they change them."""
    locked = {locked_variable(node) for node in body.nodes}
    return [v for v, node in zip(variables, written.variables, strict=True) if node in locked]
