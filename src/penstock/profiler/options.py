"""What a profile shows: the options as users build them, a dict, and as the views read them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from penstock import errors
from penstock.export import export
from penstock.profiler.numbers import COUNTS, MEMORY, TIMES

TRAINABLE_VARIABLES = "_trainable_variables"
"""The type of nodes that are trainable variables, beside their op and device."""

_NUMBERS = [*MEMORY, *TIMES, *COUNTS]
COLUMNS = [*_NUMBERS, "device", "op_types", "occurrence", "tensor_value", "input_shapes"]
ORDERS = ["name", *_NUMBERS, "occurrence"]
_EVERY = [".*"]


@dataclass(frozen=True)
class Options:
    """See `ProfileOptionBuilder`. Nodes are shown if they, or all below them, have at least the minima."""

    max_depth: int = 10
    min_bytes: int = 0
    min_peak_bytes: int = 0
    min_residual_bytes: int = 0
    min_output_bytes: int = 0
    min_micros: int = 0
    min_accelerator_micros: int = 0
    min_cpu_micros: int = 0
    min_params: int = 0
    min_float_ops: int = 0
    min_occurrence: int = 0
    order_by: str = "name"
    account_type_regexes: Sequence[str] = ()
    start_name_regexes: Sequence[str] = ()
    trim_name_regexes: Sequence[str] = ()
    show_name_regexes: Sequence[str] = ()
    hide_name_regexes: Sequence[str] = ()
    account_displayed_op_only: bool = False
    select: Sequence[str] = field(default=())
    step: int = -1
    output: str = "stdout"

    @staticmethod
    def of(given: dict[str, Any]) -> Options:
        """Raises InvalidArgumentError for columns, orders and outputs that do not exist.

        "dump_to_file" is what TensorFlow called the output at first.
        """
        if given.get("dump_to_file"):
            given = {**given, "output": f"file:outfile={given['dump_to_file']}"}
        known = {each.name for each in fields(Options)}
        found = Options(**{name: value for name, value in given.items() if name in known})
        _check(found.select, COLUMNS, "select")
        _check([found.order_by], ORDERS, "order_by")
        _check([found.output.partition(":")[0]], ["stdout", "none", "file", "timeline"], "output")
        return found

    def accounts(self, types: Iterable[str]) -> bool:
        """Whether a node of these types counts."""
        return matches(self.account_type_regexes, *types)

    def outfile(self) -> str:
        """The path in "file:outfile=PATH"; "" if there is none."""
        match = re.search(r"outfile=([^,]*)", self.output)
        return match[1] if match else ""


def matches(expressions: Sequence[str], *texts: str) -> bool:
    """Whether one of the expressions matches one of the texts as a whole."""
    return list(expressions) == _EVERY or any(re.fullmatch(e, text) for e in expressions for text in texts)


def _check(given: Iterable[str], known: list[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise errors.InvalidArgumentError(None, None, f"{what}: {name!r} is not one of {', '.join(known)}")


@export("profiler.ProfileOptionBuilder")
class ProfileOptionBuilder:
    """Builds options for tf.profiler, on top of given ones or of defaults (TF: tf.profiler.ProfileOptionBuilder)."""

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options: dict[str, Any] = copy.deepcopy(options) if options is not None else _defaults()

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """The parameters of trainable variables; for the scope view."""
        return _prebuilt(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Float operations of nodes whose shapes are known."""
        return _prebuilt(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Time and memory of a step, which a RunMetadata tells."""
        return _prebuilt(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self) -> dict[str, Any]:
        return copy.deepcopy(self._options)

    def _set(self, **options: Any) -> Self:
        self._options.update(options)
        return self

    def with_max_depth(self, max_depth: int) -> Self:
        """How many levels are shown."""
        return self._set(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Self:
        """Nodes with at least so many bytes."""
        return self._set(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> Self:
        """Nodes that take at least so many microseconds."""
        return self._set(
            min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros
        )

    def with_min_parameters(self, min_params: int) -> Self:
        return self._set(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> Self:
        """In the op view, ops with at least so many nodes; elsewhere, nodes that ran so many times."""
        return self._set(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> Self:
        return self._set(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> Self:
        """Nodes count if an expression matches their op, their device, or another of their types."""
        return self._set(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> Self:
        """Expressions that match names as a whole: nodes to start from, those to show and those to hide, whose children
        are shown in their place, and those that are left out with all below them."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._set(**{name: copy.copy(value) for name, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> Self:
        """Whether totals are of what is shown, instead of all that is below."""
        return self._set(account_displayed_op_only=is_true)

    def with_empty_output(self) -> Self:
        return self._set(output="none")

    def with_stdout_output(self) -> Self:
        return self._set(output="stdout")

    def with_file_output(self, outfile: str) -> Self:
        """Write the text to a file."""
        return self._set(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> Self:
        """Write the step's timeline, for chrome://tracing, to a file."""
        return self._set(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> Self:
        raise NotImplementedError("Penstock writes no files for pprof: with_file_output, with_timeline_output.")

    def order_by(self, attribute: str) -> Self:
        """The order of nodes: "name", or the largest of a column first."""
        return self._set(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> Self:
        """The columns: "micros", "bytes", "params", "float_ops", "occurrence", "device", "op_types", …"""
        return self._set(select=copy.copy(attributes))

    def with_step(self, step: int) -> Self:
        """The step to show; -1 for the average of all."""
        return self._set(step=step)


def _defaults(**changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "max_depth": 100,
        "min_bytes": 0,
        "min_micros": 0,
        "min_params": 0,
        "min_float_ops": 0,
        "min_occurrence": 0,
        "order_by": "name",
        "account_type_regexes": list(_EVERY),
        "start_name_regexes": list(_EVERY),
        "trim_name_regexes": [],
        "show_name_regexes": list(_EVERY),
        "hide_name_regexes": [],
        "account_displayed_op_only": False,
        "select": ["micros"],
        "step": -1,
        "output": "stdout",
    }
    return {**options, **changes}


def _prebuilt(**changes: Any) -> dict[str, Any]:
    return _defaults(max_depth=10000, account_displayed_op_only=True, **changes)
