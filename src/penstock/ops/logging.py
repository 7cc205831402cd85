"""Ops that show values while a step runs, and that stop it: Print, PrintV2, Assert."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_n_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import more_nodes, name_scope
from penstock.graph.traits import SERIAL
from penstock.ops.value_text import summarize_value
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime
from penstock.tensor.dtypes import DType, int32, string

# --- Print ----------------------------------------------------------------------------------------------

PRINT = define_op(
    "Print",
    "input: T, data: U",
    "output: T",
    attrs=[
        "T: type",
        "U: list(type) >= 0",
        "message: string = ''",
        "first_n: int = -1",
        "summarize: int = 3",
    ],
    stateful=True,
    aliases=True,
    view="same",
)
PRINT.shape(shape_rules.unchanged)


@PRINT.kernel(host=("data",))
def print_kernel(ctx: KernelContext) -> Kernel:
    """Writes one line to stderr. The count for `first_n` belongs to the session, whichever plan runs the node."""
    first_n, message = ctx["first_n"], ctx.text("message")
    summary = summarizer(ctx["U"], ctx["summarize"])
    count = ctx.state.keep(("print", ctx.name), itertools.count)

    def show(value: Any, data: list[Any]) -> Any:
        if first_n < 0 or next(count) < first_n:
            line = message + "".join(f"[{text}]" for text in summary(data))
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        return value

    return show


@PRINT.gradient
def print_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [grad] + [None] * (len(op.inputs) - 1)


def summarizer(dtypes: list[DType], limit: int) -> Callable[[list[Any]], list[str]]:
    """A function that makes the texts of several values of these dtypes."""

    def texts(values: list[Any]) -> list[str]:
        return [
            summarize_value(np.asarray(from_runtime(value, dtype)), limit)
            for value, dtype in zip(values, dtypes, strict=True)
        ]

    return texts


@export("Print")
def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns `input_`; when it is computed, `message` and the `data` are written to stderr (TF: tf.Print).

    Shows `summarize` elements of each (default 3; -1 for all), in the first `first_n` steps (default all).
    """
    return PRINT(input_, list(data), message=message, first_n=first_n, summarize=summarize, name=name)


PRINT_V2 = define_op(
    "PrintV2",
    "input: string",
    attrs=["output_stream: string = 'stderr'", "end: string = '\\n'"],
    stateful=True,
)
PRINT_V2.not_differentiable()
PRINT_V2.shape(shape_rules.no_outputs)

_LOG = logging.getLogger("penstock")
_LEVELS = {"log(info)": logging.INFO, "log(warning)": logging.WARNING, "log(error)": logging.ERROR}


@PRINT_V2.kernel(host=("input",))
def print_v2_kernel(ctx: KernelContext) -> Kernel:
    stream, end = ctx.text("output_stream"), ctx.text("end")
    if not (stream in ("stdout", "stderr") or stream in _LEVELS or stream.startswith("file://")):
        raise errors.InvalidArgumentError(None, None, f"Unknown output stream: {stream}")

    def show(text: np.ndarray) -> None:
        line = text.item().decode(errors="replace") + end
        if stream in _LEVELS:
            _LOG.log(_LEVELS[stream], "%s", line)
        elif stream.startswith("file://"):
            with open(stream.removeprefix("file://"), "a") as file:
                file.write(line)
        else:
            out = sys.stdout if stream == "stdout" else sys.stderr
            out.write(line)
            out.flush()

    return show


# --- Assert ---------------------------------------------------------------------------------------------

ASSERT = define_op(
    "Assert",
    "condition: bool, data: T",
    attrs=["T: list(type) >= 1", "summarize: int = 3"],
    stateful=True,
    work=SERIAL,
    repeatable=True,
    checks=True,
)
ASSERT.shape(shape_rules.no_outputs)
ASSERT.not_differentiable()


@ASSERT.kernel(host=("condition", "data"))
def assert_kernel(ctx: KernelContext) -> Kernel:
    summary = summarizer(ctx["T"], ctx["summarize"])

    def check(condition: Any, data: list[Any]) -> None:
        if condition.ndim:
            raise errors.InvalidArgumentError(
                None, None, f"condition should be a scalar, got shape {list(condition.shape)}"
            )
        if not condition:
            shown = " ".join(f"[{text}]" for text in summary(data))
            raise errors.InvalidArgumentError(None, None, f"assertion failed: {shown}")

    return check


@export("Assert", "debugging.Assert")
def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> Operation:
    """Fails with InvalidArgumentError, showing `data`, unless `condition` (bool, scalar) holds.

    The operation runs only if it is fetched or something depends on it (`tf.control_dependencies`).
    """
    with name_scope(name, "Assert", [condition, *data]):
        shown = convert_n_to_tensor(data)
        more_nodes(_more_of_assertion(condition, data, shown))
        return ASSERT(condition, shown, summarize=summarize, name="Assert")


def _more_of_assertion(condition: Any, data: Any, shown: list[Tensor]) -> int:
    """How many more nodes TensorFlow makes: it converts `data` twice, and puts what is neither text nor int32 in a
    conditional."""
    tensors = {t for t in (condition, *data) if isinstance(t, Tensor)}
    converted = sum(not isinstance(each, Tensor) for each in data)
    is_plain = all(t.dtype.base_dtype in (string, int32) for t in shown)
    return converted + (0 if is_plain else 8 + len(tensors))
