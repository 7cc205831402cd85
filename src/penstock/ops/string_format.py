"""Templates filled with values, and tf.print, which shows them (TF: StringFormat, PrintV2)."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Mapping
from pprint import pformat
from typing import Any

import numpy as np

from penstock import logging
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_n_to_tensor, convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.operators import Operators
from penstock.ops.kernel_tools import invalid
from penstock.ops.logging import PRINT_V2
from penstock.ops.value_text import element_text, escape
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime
from penstock.tensor.dtypes import string

# --- StringFormat ---------------------------------------------------------------------------------------

STRING_FORMAT = define_op(
    "StringFormat",
    "inputs: T",
    "output: string",
    attrs=[
        "T: list(type) >= 0",
        "template: string = '%s'",
        "placeholder: string = '%s'",
        "summarize: int = 3",
    ],
)
STRING_FORMAT.shape(shape_rules.scalar)
STRING_FORMAT.not_differentiable()


def edges_text(array: np.ndarray, edge: int) -> str:
    """An array with at most `edge` entries at each end of every axis (all if negative): `[0 1 ... 8 9]`."""
    if array.ndim == 0:
        value = array[()]
        return f'"{_escaped(value)}"' if isinstance(value, bytes) else element_text(value)

    def rows(part: np.ndarray, depth: int) -> str:
        if part.ndim == 0:
            return edges_text(part, edge)
        cut = edge >= 0 and len(part) > 2 * edge
        shown = [rows(part[i, ...], depth + 1) for i in (range(edge) if cut else range(len(part)))]
        if cut:
            shown += ["...", *(rows(part[i, ...], depth + 1) for i in range(len(part) - edge, len(part)))]
        between = " " if part.ndim == 1 else "\n" * (part.ndim - 1) + " " * depth
        return f"[{between.join(shown)}]"

    return rows(array, 1)


def _escaped(text: bytes) -> str:
    """Escapes text as in a string literal, except non-ASCII characters, which stay."""
    return "".join(escape(char.encode()) if char < "\x80" else char for char in text.decode("utf-8", "surrogateescape"))


@STRING_FORMAT.kernel("CPU")
def string_format_kernel(ctx: KernelContext) -> Kernel:
    dtypes, edge = ctx["T"], ctx["summarize"]
    template, placeholder = (ctx[name].decode("utf-8", "surrogateescape") for name in ("template", "placeholder"))
    parts = template.split(placeholder)
    if len(parts) - 1 != len(dtypes):
        raise invalid(f"num placeholders in template and num inputs must match: {len(parts) - 1} vs. {len(dtypes)}")

    def write(inputs: list[Any]) -> np.ndarray:
        text = parts[0]
        for value, dtype, after in zip(inputs, dtypes, parts[1:], strict=True):
            text += edges_text(np.asarray(from_runtime(value, dtype)), edge) + after
        return np.array(text.encode("utf-8", "surrogateescape"), object)

    return write


@export("strings.format")
def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """`template` with each `placeholder` replaced by one of `inputs`, `summarize` entries at each end of an axis.

    Returns a scalar string. Raises ValueError unless there are as many inputs as placeholders. TF: tf.strings.format.
    """
    values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    if template.count(placeholder) != len(values):
        raise ValueError(
            f"{template.count(placeholder)} placeholder(s) in template does not match {len(values)} tensor(s) "
            "provided as input"
        )
    tensors = convert_n_to_tensor(values)
    return STRING_FORMAT(tensors, template=template, placeholder=placeholder, summarize=summarize, name=name)


# --- tf.print -------------------------------------------------------------------------------------------


@export("print")
def print_v2(
    *inputs: Any,
    output_stream: Any = None,
    end: str = "\n",
    sep: str = " ",
    summarize: int = 3,
    name: str | None = None,
) -> Operation:
    """An operation that writes the `inputs`, with `sep` between them and `end` after them (TF: tf.print).

    Inputs are tensors, Python values, and nests of them; for tensors, `summarize` entries are shown at each end of an
    axis (-1: all). `output_stream` is sys.stderr (the default), sys.stdout, a function of tf.logging, or a "file://"
    path. Raises ValueError for others. Like every operation, it runs only if it is fetched or depended on.
    """
    stream = _stream_name(output_stream)
    if len(inputs) == 1 and isinstance(inputs[0], Tensor) and inputs[0].dtype == string and inputs[0].shape.ndims == 0:
        return PRINT_V2(inputs[0], output_stream=stream, end=end, name=name)
    plain, _ = _template(inputs, sep, "")
    mark = "{}"
    for i in itertools.count():
        if mark not in plain:
            break
        mark = f"{{}}{i}"
    template, tensors = _template(inputs, sep, mark)
    text = string_format(template, tensors, mark, summarize)
    return PRINT_V2(text, output_stream=stream, end=end, name=name)


def _stream_name(stream: Any) -> str:
    if stream is None or stream in ("stderr", sys.stderr, sys.__stderr__):
        return "stderr"
    if stream in ("stdout", sys.stdout, sys.__stdout__):
        return "stdout"
    for level in ("info", "warning", "error"):
        if stream in (f"log({level})", getattr(logging, level)):
            return f"log({level})"
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    raise ValueError(
        f"Unsupported output stream, logging level, or file {stream}. Supported are sys.stdout, sys.stderr, "
        "tf.logging.info, tf.logging.warning, tf.logging.error, and files as 'file://<path>'."
    )


class _Verbatim:
    """A string in a printed nest that is shown without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _template(inputs: Iterable[Any], sep: str, mark: str) -> tuple[str, list[Tensor]]:
    """The text of `inputs` with `mark` instead of each tensor, and the tensors."""
    tensors: list[Tensor] = []

    def shown(value: Any) -> Any:
        if isinstance(value, Operators):
            tensors.append(convert_to_tensor(value))
            return _Verbatim(mark)
        if isinstance(value, SparseTensor):
            tensors.extend((value.indices, value.values, value.dense_shape))
            return _Verbatim(f"SparseTensor(indices={mark}, values={mark}, shape={mark})")
        if isinstance(value, Mapping):
            return {key: shown(value[key]) for key in sorted(value)}
        if isinstance(value, list | tuple):
            items = [shown(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value

    texts = [value if isinstance(value, str) else pformat(shown(value), sort_dicts=False) for value in inputs]
    return sep.join(texts), tensors
