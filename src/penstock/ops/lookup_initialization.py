"""Filling immutable tables from tensors and files (TF: InitializeTableV2, …FromTextFileV2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.gfile import GFile
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.ops.lookup import define_both
from penstock.ops.lookup_tables import LookupTable
from penstock.ops.string_conversions import number_reader
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, int64, opdef_name, string
from penstock.tensor.shapes import TensorShape, merge_dim


def _initialize_kernel(ctx: KernelContext) -> Kernel:
    key_dtype, value_dtype = ctx["Tkey"], ctx["Tval"]

    def initialize(table: LookupTable, keys: Any, values: Any) -> None:
        table.check(key_dtype, value_dtype)
        if not len(keys):
            raise invalid("keys and values cannot be empty tensors")
        table.initialize(table.pairs(keys, values))

    return initialize


def _initialize_shape(c: ShapeContext, handle: TensorShape, keys: TensorShape, values: TensorShape) -> list[Any]:
    keys, values = keys.with_rank(1), values.with_rank(1)
    merge_dim(keys.tuple[0], values.tuple[0], "the numbers of keys and of values")
    return []


INITIALIZE_TABLE_V2 = define_both(
    "InitializeTable",
    "keys: Tkey, values: Tval",
    "",
    ["Tkey: type", "Tval: type"],
    _initialize_shape,
    _initialize_kernel,
)

# --- from a file ----------------------------------------------------------------------------------------

WHOLE_LINE, LINE_NUMBER = -2, -1


def _from_file_kernel(ctx: KernelContext) -> Kernel:
    columns, size = (ctx["key_index"], ctx["value_index"]), ctx["vocab_size"]
    delimiter, offset = ctx["delimiter"], ctx["offset"]
    wanted = max(columns) + 1
    if len(delimiter) != 1:
        raise invalid(f"delimiter must be one character, got {delimiter!r}")

    def initialize(table: LookupTable, filename: np.ndarray) -> None:
        path = filename.item().decode()
        types = table.key_dtype, table.value_dtype
        for index, dtype in zip(columns, types, strict=True):
            _check_column(index, dtype, path)
        readers = [_reader(dtype) for dtype in types]

        def part(which: int, number: int, line: bytes, fields: list[bytes]) -> Any:
            index = columns[which]
            if index == LINE_NUMBER:
                return number + offset
            text = line if index == WHOLE_LINE else fields[index]
            found = readers[which](text)
            if found is None:
                raise invalid(f"Field {text!r} in line {number} of {path} is not a valid {opdef_name(types[which])}.")
            return found

        pairs = []
        for number, line in enumerate(_lines(path, size)):
            fields = line.split(delimiter) if wanted > 0 else []
            if len(fields) < wanted:
                raise invalid(
                    f"Invalid number of columns in {path} line {number} ({line!r}): expected {wanted} got {len(fields)}"
                )
            pairs.append((part(0, number, line, fields), part(1, number, line, fields)))
        table.initialize(pairs)

    return initialize


def _reader(dtype: DType) -> Callable[[bytes], Any]:
    """A function that reads a field as an element of `dtype`; it returns None for an invalid one."""
    if dtype == string:
        return bytes
    number = number_reader(dtype)
    if not dtype.is_floating:
        return number

    def rounded(text: bytes) -> Any:
        found = number(text)
        return None if found is None else float(dtype.np.type(found))

    return rounded


def _check_column(index: int, dtype: DType, path: str) -> None:
    """Checks types: line numbers are int64, and whole lines are strings or integers."""
    if index == LINE_NUMBER and dtype != int64:
        raise invalid(f"Line numbers of {path} are int64: a table cannot have them as {dtype.name}")
    if index == WHOLE_LINE and dtype != string and not dtype.is_integer:
        raise invalid(f"Whole lines of {path} are strings or integers: a table cannot have them as {dtype.name}")
    if dtype != string and not (dtype.is_integer or dtype.is_floating):
        raise invalid(f"A file cannot provide {dtype.name} to a table: {path}")


def _lines(path: str, size: int) -> list[bytes]:
    """The first `size` lines (all: -1) of a file, none of them empty."""
    with GFile(path, "rb") as file:
        lines = [line.removesuffix(b"\r") for line in file.read().split(b"\n")]
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise errors.OutOfRangeError(None, None, f"{path} has no line")
    if len(lines) < size:
        raise invalid(f"Invalid vocab_size in {path}: expected {size} but got {len(lines)}")
    del lines[size if size >= 0 else len(lines) :]
    if b"" in lines:
        raise invalid(f"Invalid content in {path}: empty line found at position {lines.index(b'')}.")
    return lines


INITIALIZE_TABLE_FROM_TEXT_FILE_V2 = define_both(
    "InitializeTableFromTextFile",
    "filename: string",
    "",
    [
        "key_index: int >= -2",
        "value_index: int >= -2",
        "vocab_size: int >= -1 = -1",
        "delimiter: string = '\\t'",
        "offset: int = 0",
    ],
    shape_rules.no_outputs,
    _from_file_kernel,
)
