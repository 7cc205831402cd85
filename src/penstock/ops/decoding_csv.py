"""CSV records to one tensor per column (TF: DecodeCSV)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.strings import invalid
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime, to_runtime
from penstock.tensor.dtypes import DType, opdef_name, string
from penstock.tensor.shapes import TensorShape

DECODE_CSV = define_op(
    "DecodeCSV",
    "records: string, record_defaults: OUT_TYPE",
    "output: OUT_TYPE",
    attrs=[
        "OUT_TYPE: list({float, double, int32, int64, string}) >= 1",
        "field_delim: string = ','",
        "use_quote_delim: bool = true",
        "na_value: string = ''",
        "select_cols: list(int) = []",
    ],
)
DECODE_CSV.not_differentiable()


@DECODE_CSV.shape
def decode_csv_shape(c: ShapeContext, records: TensorShape, defaults: list[TensorShape]) -> list[TensorShape]:
    for shape in defaults:
        shape.with_rank_at_most(1)
        if shape.ndims == 1 and shape.tuple[0] is not None and shape.tuple[0] > 1:
            raise ValueError("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
    return [records] * len(defaults)


# --- records to fields ----------------------------------------------------------------------------------

_LINE_END, _SPECIAL = re.compile(rb"[\r\n]"), re.compile(rb'["\r\n]')


def _splitter(delimiter: bytes, quotes: bool) -> Callable[[bytes], list[bytes]]:
    """A function that splits a record into fields. It raises InvalidArgumentError for unbalanced quotes."""
    special = _SPECIAL if quotes else _LINE_END
    quoted = re.compile(rb'"((?:[^"]|"")*)"(?=' + re.escape(delimiter) + rb"|\Z)")
    plain = re.compile(rb"[^" + re.escape(delimiter) + rb"]*")

    def split_quoted(record: bytes) -> list[bytes]:
        fields, at = [], 0
        while True:
            if quotes and record[at : at + 1] == b'"':
                match = quoted.match(record, at)
                if match is None:
                    raise invalid(_misquoted(record[at + 1 :]))
                fields.append(match[1].replace(b'""', b'"'))
            else:
                match = plain.match(record, at)
                assert match is not None
                if special.search(match[0]):
                    raise invalid("Unquoted fields cannot have quotes/CRLFs inside")
                fields.append(match[0])
            at = match.end() + 1
            if at > len(record):
                return fields

    def split(record: bytes) -> list[bytes]:
        if special.search(record):
            return (_split_at_quotes(record, delimiter) if quotes else None) or split_quoted(record)
        return record.split(delimiter) if record else []

    return split


def _split_at_quotes(record: bytes, delimiter: bytes) -> list[bytes] | None:
    """The fields of a record with quotes, if quotes surround only whole fields and none is inside one."""
    parts = record.split(b'"')
    fields: list[bytes] = []
    last = len(parts) - 1
    if last % 2:
        return None
    for i in range(0, last + 1, 2):
        between = parts[i]
        if b"\n" in between or b"\r" in between:
            return None
        if between != delimiter or i in (0, last):  # not just what separates two quoted fields
            begin, end = i > 0, i < last
            if between:
                if (begin and not between.startswith(delimiter)) or (end and not between.endswith(delimiter)):
                    return None
                fields += between[begin : len(between) - end].split(delimiter)
            elif begin and end:
                return None
        if i < last:
            fields.append(parts[i + 1])
    return fields


def _misquoted(rest: bytes) -> str:
    if b'"' in rest.replace(b'""', b""):
        return "Quote inside a string has to be escaped by another quote"
    return "Quoted field has to end with quote followed by delim or end"


# --- fields to numbers ----------------------------------------------------------------------------------


def _parser(dtype: DType) -> Callable[[bytes], Any]:
    """A function that reads one field; it raises ValueError for an invalid number."""
    if dtype == string:
        return bytes
    if dtype.is_floating:
        return _real
    low, high = dtype.min, dtype.max

    def integer(text: bytes) -> int:
        value = int(text)
        if not low <= value <= high or b"_" in text:
            raise ValueError(text)
        return value

    return integer


def _real(text: bytes) -> float:
    try:
        value = float(text)
    except ValueError:
        if b"x" not in text.lower():
            raise
        value = float.fromhex(text.decode("ascii", "replace"))
    if b"_" in text:
        raise ValueError(text)
    return value


def _plain_values(texts: Sequence[bytes], dtype: DType, default: Any) -> Any:
    """The values of a column without exceptional fields, or None."""
    lacking = b"" in texts
    if lacking and default is None:
        return None
    if dtype == string:
        return [text or default for text in texts] if lacking else texts
    if b"_" in b",".join(texts):
        return None
    convert = float if dtype.is_floating else int
    try:
        found = [convert(text) if text else default for text in texts] if lacking else list(map(convert, texts))
        if dtype.is_floating:
            return found
        whole = np.array(found, np.int64)
    except (ValueError, OverflowError):
        return None
    return whole if dtype.min <= whole.min(initial=0) and whole.max(initial=0) <= dtype.max else None


Columns = Callable[[list[bytes], Sequence[Any]], list[np.ndarray]]
"""From records, and for each column its default or None, to the values of each column."""


def column_reader(
    dtypes: Sequence[DType], delimiter: bytes, quotes: bool, na_value: bytes, columns: Sequence[int]
) -> Columns:
    """What reads records, raising InvalidArgumentError that names record and field. columns: all if there are none."""
    if len(delimiter) != 1:
        raise invalid("field_delim should be only 1 char")
    if any(column < 0 for column in columns):
        raise invalid("select_cols contains negative values.")
    if sorted(set(columns)) != list(columns):
        raise invalid("select_cols is not strictly increasing.")
    if columns and len(columns) != len(dtypes):
        raise invalid("select_cols should match output size")
    split, parsers = _splitter(delimiter, quotes), [_parser(dtype) for dtype in dtypes]
    marks = (b"\r", b"\n", b'"')[: 2 + quotes]
    width = len(dtypes)

    def split_all(records: list[bytes]) -> list[list[bytes]]:
        joined = b"".join(records)
        if all(records) and not any(mark in joined for mark in marks):
            rows = [record.split(delimiter) for record in records]
            if columns:
                rows = [[fields[column] for column in columns if column < len(fields)] for fields in rows]
            if all(len(fields) == width for fields in rows):
                return rows
        return [fields_of(row, record) for row, record in enumerate(records)]

    def fields_of(row: int, record: bytes) -> list[bytes]:
        fields = split(record)
        if columns:
            fields = [fields[column] for column in columns if column < len(fields)]
        if len(fields) != len(dtypes):
            raise invalid(f"Expect {len(dtypes)} fields but have {len(fields)} in record {row}")
        return fields

    def read(column: int, texts: Any, default: Any) -> list[Any]:
        parse, values, row, text = parsers[column], [], 0, b""
        try:
            for row, text in enumerate(texts):
                if not text or text == na_value:
                    if default is None:
                        raise invalid(f"Field {column} is required but missing in record {row}!")
                    values.append(default)
                else:
                    values.append(parse(text))
        except (ValueError, OverflowError):
            shown = text.decode(errors="replace")
            raise invalid(
                f"Field {column} in record {row} is not a valid {opdef_name(dtypes[column])}: {shown}"
            ) from None
        return values

    def decode(records: list[bytes], defaults: Sequence[Any]) -> list[np.ndarray]:
        rows = split_all(records)
        texts = list(zip(*rows, strict=True)) if rows else [()] * len(dtypes)
        found = []
        for column, (dtype, default) in enumerate(zip(dtypes, defaults, strict=True)):
            plain = not na_value or na_value not in texts[column]
            quick = _plain_values(texts[column], dtype, default) if plain else None
            values = np.empty(len(records), dtype.np)
            with np.errstate(over="ignore"):
                values[:] = read(column, texts[column], default) if quick is None else quick
            found.append(values)
        return found

    return decode


def column_defaults(given: Sequence[Any], dtypes: Sequence[DType]) -> list[Any]:
    """The default of each column, of tensors of one element or, where a column has none, of none."""
    found = []
    for column, (value, dtype) in enumerate(zip(given, dtypes, strict=True)):
        array = np.asarray(from_runtime(value, dtype), dtype.np).reshape(-1)
        if array.size > 1:
            raise invalid(f"There should only be 1 default per field but field {column} has {array.size}")
        found.append(array[0] if array.size else None)
    return found


@DECODE_CSV.kernel("CPU")
def decode_csv_kernel(ctx: KernelContext) -> Kernel:
    dtypes = list(ctx["OUT_TYPE"])
    read = column_reader(dtypes, ctx["field_delim"], ctx["use_quote_delim"], ctx["na_value"], list(ctx["select_cols"]))

    def decode(records: np.ndarray, defaults: list[Any]) -> tuple[Any, ...]:
        found = read(records.reshape(-1).tolist(), column_defaults(defaults, dtypes))
        pairs = zip(found, dtypes, strict=True)
        return tuple(to_runtime(values.reshape(records.shape), dtype) for values, dtype in pairs)

    return decode


@export("decode_csv", "io.decode_csv")
def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
) -> list[Tensor]:
    """A tensor per column, with the shape of `records` and the dtype of its default (TF: tf.decode_csv).

    `record_defaults`, one per column (of `select_cols`, if given): a scalar or [1], the value if a field is empty or
    `na_value`, or an empty tensor if the field is required. The dtype is float32, float64, int32, int64 or string.
    Raises InvalidArgumentError, naming record and field, for invalid fields.
    """
    if select_cols is not None:
        if any(column < 0 for column in select_cols):
            raise ValueError("select_cols contains negative values.")
        if any(a >= b for a, b in zip(select_cols, list(select_cols)[1:], strict=False)):
            raise ValueError("select_cols is not strictly increasing.")
    with name_scope(name, "DecodeCSV", [records]) as scope:
        return DECODE_CSV(
            convert_to_tensor(records, string),
            list(record_defaults),
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=list(select_cols or []),
            name=scope,
        )
