"""Parts of a graph that run one at a time (TF: tf.CriticalSection)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import (
    add_to_collection,
    colocate_with,
    control_dependencies,
    get_collection,
    get_default_graph,
    name_scope,
)
from penstock.ops.basic import group, identity
from penstock.ops.control_flow.nest import flatten, pack_like
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.data_flow.mutex import CONSUME_MUTEX_LOCK, MUTEX_LOCK, MUTEX_V2
from penstock.tensor.dtypes import resource

CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """What `CriticalSection.execute` built, for comparison with executions in other sections."""

    op: Operation
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


class _Entered(threading.local):
    """The sections whose functions are being built in this thread."""

    def __init__(self) -> None:
        self.names: list[str] = []


_entered = _Entered()


@export("CriticalSection", "contrib.framework.CriticalSection")
class CriticalSection:
    """Runs the subgraphs that `execute` builds one at a time, in all steps and sessions that share it.

    Sections with the same `shared_name` exclude each other. Within one step they run in the order in which they
    were built.
    """

    def __init__(
        self, name: str | None = None, shared_name: str | None = None, critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:  # fmt: skip
        if critical_section_def is not None:
            raise ValueError("Argument `critical_section_def` is not supported.")
        with name_scope(name, "CriticalSection", []) as scope, control_dependencies(None):
            self._shared_name = scope if shared_name is None else shared_name
            self._handle = MUTEX_V2(shared_name=self._shared_name, name=scope)
        add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        return self._handle.op.name

    def execute(
        self, fn: Callable[..., Any], *args: Any, exclusive_resource_access: bool = True, name: str | None = None,
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Builds `fn(*args, **kwargs)` inside the section, and returns what it returns.

        All values that it uses are computed before the section is entered. Raises ValueError if `fn` enters the section
        again, or if a section with `exclusive_resource_access`, this one or another, uses the same resource variables.
        """
        graph = get_default_graph()
        args = tuple(convert_to_tensor(arg) if isinstance(arg, int | float) else arg for arg in args)
        with name_scope(name, "critical_section_execute", []):
            if self._shared_name in _entered.names:
                raise ValueError(_NESTED.format(self.name))
            _entered.names.append(self._shared_name)
            try:
                lock = MUTEX_LOCK(self._handle)
                before = set(graph.get_operations())
                with control_dependencies([lock]):
                    result = fn(*args, **kwargs)
            finally:
                _entered.names.pop()
            built = [op for op in graph.get_operations() if op not in before]
            _run_first(lock.op, built)
            resources = list(dict.fromkeys(x for op in built for x in op.inputs if x.dtype == resource))
            if any(self._is_own(x) for x in resources):
                raise ValueError(_NESTED.format(self.name))
            self._check_access(resources, exclusive_resource_access)
            outputs = [_identity(x) for x in flatten(result)]
            with control_dependencies(outputs), colocate_with(self._handle):
                released = CONSUME_MUTEX_LOCK(lock)
            with control_dependencies([released]):
                outputs = [_identity(x) for x in outputs]
            add_to_collection(
                CRITICAL_SECTION_EXECUTIONS, _Execution(lock.op, self._handle, resources, exclusive_resource_access)
            )
            return pack_like(result, outputs)

    def _is_own(self, handle: Tensor) -> bool:
        """Whether `handle` is that of this section's mutex."""
        return handle.op.type == "MutexV2" and handle.op.get_attr("shared_name").decode() == self._shared_name

    def _check_access(self, resources: list[Tensor], exclusive: bool) -> None:
        for other in get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_own(other.handle) or not (exclusive or other.exclusive_resource_access):
                continue
            both = [x.name for x in resources if x in other.resources]
            if both:
                raise ValueError(
                    f"This execution would access resources: {both}. Either this lock (CriticalSection: {self.name}) "
                    f"or lock '{other.op.name}' (CriticalSection: {other.handle.op.name}) requested exclusive resource "
                    "access of this resource. Did you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )


_NESTED = "Attempting to lock a CriticalSection in which we are already running ({}). This may deadlock."


def _run_first(lock: Operation, built: list[Operation]) -> None:
    """Makes `lock` wait for everything that the ops `built` inside use from outside, which might need the section
    themselves."""
    inside = {lock, *built}
    used = dict.fromkeys(source for op in built for source in (*(x.op for x in op.inputs), *op.control_inputs))
    before = [op for op in used if op not in inside and op not in lock.control_inputs]
    if before:
        lock._add_control_input(group(*before))


def _identity(x: Any) -> Any:
    if isinstance(x, TensorArray):
        return x.identity()
    return group(x) if isinstance(x, Operation) else identity(x)
