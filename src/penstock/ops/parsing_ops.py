"""The ops that parse tf.train.Example (TF: ParseExample, ParseSingleExample). Public functions: parsing.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.graph.opdef import Kernel, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.ops.parsing_batch import Batch
from penstock.ops.parsing_columns import Column, Where, dense, dense_padded, sparse, to_value
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

PARSED_TYPES = "list({float, int64, string}) >= 0"

PARSE_EXAMPLE = define_op(
    "ParseExample",
    "serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: Ndense * string, "
    "dense_defaults: Tdense",
    "sparse_indices: Nsparse * int64, sparse_values: sparse_types, sparse_shapes: Nsparse * int64, "
    "dense_values: Tdense",
    attrs=[
        "Nsparse: int >= 0",
        "Ndense: int >= 0",
        f"sparse_types: {PARSED_TYPES}",
        f"Tdense: {PARSED_TYPES}",
        "dense_shapes: list(shape) >= 0",
    ],
)
PARSE_EXAMPLE_V2 = define_op(
    "ParseExampleV2",
    "serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, "
    "dense_defaults: Tdense",
    "sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, "
    "dense_values: Tdense, ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types",
    attrs=[
        f"Tdense: {PARSED_TYPES}",
        "num_sparse: int >= 0",
        f"sparse_types: {PARSED_TYPES}",
        f"ragged_value_types: {PARSED_TYPES}",
        "ragged_split_types: list(indextype) >= 0",
        "dense_shapes: list(shape) >= 0",
    ],
)
PARSE_SINGLE_EXAMPLE = define_op(
    "ParseSingleExample",
    "serialized: string, dense_defaults: Tdense",
    "sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, "
    "dense_values: Tdense",
    attrs=[
        "num_sparse: int >= 0",
        "sparse_keys: list(string) >= 0",
        "dense_keys: list(string) >= 0",
        f"sparse_types: {PARSED_TYPES}",
        f"Tdense: {PARSED_TYPES}",
        "dense_shapes: list(shape) >= 0",
    ],
)
for _op in (PARSE_EXAMPLE, PARSE_EXAMPLE_V2, PARSE_SINGLE_EXAMPLE):
    _op.not_differentiable()

# --- shapes ---------------------------------------------------------------------------------------------


def _examples_shapes(serialized: TensorShape, rank: int, sparse_count: int, dense_shapes: Any) -> list[TensorShape]:
    return [
        *[TensorShape([None, rank])] * sparse_count,
        *[TensorShape([None])] * sparse_count,
        *[TensorShape([rank])] * sparse_count,
        *(serialized.concatenate(shape) for shape in dense_shapes),
    ]


@PARSE_EXAMPLE.shape
def parse_example_shape(c: ShapeContext, serialized: TensorShape, *_: Any) -> list[TensorShape]:
    return _examples_shapes(serialized.with_rank(1), 2, c.attrs["Nsparse"], c.attrs["dense_shapes"])


@PARSE_EXAMPLE_V2.shape
def parse_example_v2_shape(c: ShapeContext, serialized: TensorShape, *_: Any) -> list[TensorShape]:
    if serialized.ndims is None:
        shapes = _examples_shapes(serialized, 1, c.attrs["num_sparse"], c.attrs["dense_shapes"])
        count = c.attrs["num_sparse"]
        shapes[:count], shapes[2 * count : 3 * count] = (
            [TensorShape([None, None])] * count,
            [TensorShape([None])] * count,
        )
    else:
        serialized.with_rank_at_most(1)
        shapes = _examples_shapes(serialized, serialized.ndims + 1, c.attrs["num_sparse"], c.attrs["dense_shapes"])
    ragged = len(c.attrs["ragged_value_types"])
    size = None if serialized.ndims != 1 or serialized.tuple[0] is None else serialized.tuple[0] + 1
    return [*shapes, *[TensorShape([None])] * ragged, *[TensorShape([size])] * ragged]


@PARSE_SINGLE_EXAMPLE.shape
def parse_single_example_shape(c: ShapeContext, serialized: TensorShape, *_: Any) -> list[TensorShape]:
    return _examples_shapes(serialized.with_rank(0), 1, c.attrs["num_sparse"], c.attrs["dense_shapes"])


# --- kernels --------------------------------------------------------------------------------------------


class Spec(NamedTuple):
    """A dense feature as attributes describe it: `shape` without the first dim, if that is unknown (`padded`)."""

    dtype: DType
    shape: tuple[int, ...]
    padded: bool


def dense_specs(ctx: KernelContext, types: str, shapes: str) -> list[Spec]:
    """The dense features of a node. Raises InvalidArgumentError for shapes with unknown dims other than the first."""
    found = []
    for i, (dtype, shape) in enumerate(zip(ctx[types], ctx[shapes], strict=True)):
        dims = shape.tuple
        padded = bool(dims) and dims[0] is None
        if dims is None or None in dims[padded:]:
            raise invalid(f"dense_shapes[{i}] has unknown rank or unknown inner dimensions: {shape}")
        found.append(Spec(dtype, dims[padded:], padded))
    return found


def check_default(i: int, spec: Spec, default: Any) -> np.ndarray | None:
    """The default of feature i as an array: one element if padded, of the feature's shape, or None for empty."""
    if not spec.padded and 0 in default.shape and 0 not in spec.shape:
        return None
    array = np.asarray(from_runtime(default, spec.dtype), spec.dtype.np)
    if spec.padded:
        if array.size != 1:
            raise invalid(
                f"dense_shape[{i}] is a variable length shape: [{','.join(map(str, ('?', *spec.shape)))}], therefore "
                f"def_value[{i}] must contain a single element (the padding element).  But its shape is: "
                f"[{','.join(map(str, array.shape))}]"
            )
        return array.reshape(())
    if array.shape != spec.shape:
        raise invalid(
            f"def_value[{i}].shape() == [{','.join(map(str, array.shape))}] is not compatible with "
            f"dense_shapes_[{i}] == [{','.join(map(str, spec.shape))}]"
        )
    return array


def dense_values(
    specs: list[Spec], keys: list[str], defaults: list[Any], read: Callable[[str, DType, Where], Column], names: Any
) -> list[np.ndarray]:
    """All dense features, [rows, …] each."""
    found = []
    for i, (spec, key, given) in enumerate(zip(specs, keys, defaults, strict=True)):
        default, where = check_default(i, spec, given), Where(key, names)
        column = read(key, spec.dtype, where)
        if spec.padded:
            found.append(dense_padded(column, spec.shape, default[()], spec.dtype, where))  # type: ignore[index]
        else:
            found.append(dense(column, spec.shape, default, spec.dtype, where))
    return found


def _names(names: np.ndarray, serialized: np.ndarray) -> list[bytes]:
    if names.size and names.shape != serialized.shape:
        raise invalid(
            f"Expected names have the same shape as serialized: name.shape={list(names.shape)}, "
            f"serialized.shape={list(serialized.shape)}"
        )
    return names.reshape(-1).tolist()


def texts(keys: Any) -> list[str]:
    """Decodes strings as kernels get them."""
    return [np.asarray(key, object).item().decode() for key in keys]


def _flat(columns: list[Column], places: Callable[[Column], Any], dense_columns: list[np.ndarray]) -> list[Any]:
    parts = [places(column) for column in columns]
    return [to_value(array) for which in range(3) for array in (part[which] for part in parts)] + [
        to_value(array) for array in dense_columns
    ]


@PARSE_EXAMPLE.kernel("CPU")
def parse_example_kernel(ctx: KernelContext) -> Kernel:
    specs, sparse_types = dense_specs(ctx, "Tdense", "dense_shapes"), ctx["sparse_types"]

    def parse(serialized: Any, names: Any, sparse_keys: Any, dense_keys: Any, defaults: Any) -> tuple[Any, ...]:
        if serialized.ndim != 1:
            raise invalid(f"Expected serialized to be a vector, got shape: {list(serialized.shape)}")
        called, of_dense, of_sparse = _names(names, serialized), texts(dense_keys), texts(sparse_keys)
        read = Batch(serialized.tolist(), [*of_dense, *of_sparse], called).read
        arrays = dense_values(specs, of_dense, defaults, read, called)
        columns = [read(key, dtype, Where(key, called)) for key, dtype in zip(of_sparse, sparse_types, strict=True)]
        return tuple(_flat(columns, sparse, arrays))

    return parse


@PARSE_EXAMPLE_V2.kernel("CPU")
def parse_example_v2_kernel(ctx: KernelContext) -> Kernel:
    """A vector of examples, or a scalar for one: the outputs then have no axis of examples."""
    specs, sparse_types = dense_specs(ctx, "Tdense", "dense_shapes"), ctx["sparse_types"]
    ragged_types = ctx["ragged_value_types"]
    split_types = [dtype.np for dtype in ctx["ragged_split_types"]]

    def parse(
        serialized: Any, names: Any, sparse_keys: Any, dense_keys: Any, ragged_keys: Any, defaults: Any
    ) -> tuple[Any, ...]:
        if serialized.ndim > 1:
            raise invalid(f"Expected serialized to be a scalar or vector, got shape: {list(serialized.shape)}")
        scalar = serialized.ndim == 0
        called = _names(names, serialized)
        of_sparse, of_dense, of_ragged = (
            [key.decode() for key in keys.tolist()] for keys in (sparse_keys, dense_keys, ragged_keys)
        )
        read = Batch(serialized.reshape(-1).tolist(), [*of_sparse, *of_dense, *of_ragged], called).read

        def columns(keys: list[str], dtypes: Any) -> list[Column]:
            return [read(key, dtype, Where(key, called)) for key, dtype in zip(keys, dtypes, strict=True)]

        arrays = dense_values(specs, of_dense, defaults, read, called)
        arrays = [array[0, ...] for array in arrays] if scalar else arrays
        flat = _flat(columns(of_sparse, sparse_types), single_sparse if scalar else sparse, arrays)
        ragged = columns(of_ragged, ragged_types)
        flat += [to_value(column.values) for column in ragged]
        for column, split_type in zip(ragged, split_types, strict=True):
            splits = np.zeros(0 if scalar else len(column.counts) + 1, split_type)
            if not scalar:
                np.cumsum(column.counts, out=splits[1:])
            flat.append(to_value(splits))
        return tuple(flat)

    return parse


def single_sparse(column: Column) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Like `sparse`, for one row, without the axis of rows."""
    count = len(column.values)
    return np.arange(count).reshape(-1, 1), column.values, np.array([count], np.int64)


@PARSE_SINGLE_EXAMPLE.kernel("CPU")
def parse_single_example_kernel(ctx: KernelContext) -> Kernel:
    specs, sparse_types = dense_specs(ctx, "Tdense", "dense_shapes"), ctx["sparse_types"]
    dense_keys = [key.decode() for key in ctx["dense_keys"]]
    sparse_keys = [key.decode() for key in ctx["sparse_keys"]]

    def parse(serialized: Any, defaults: Any) -> tuple[Any, ...]:
        if serialized.ndim:
            raise invalid(f"Expected serialized to be a scalar, got shape: {list(serialized.shape)}")
        read = Batch([serialized.item()], [*dense_keys, *sparse_keys], None).read
        arrays = dense_values(specs, dense_keys, defaults, read, None)
        columns = [read(key, t, Where(key, None)) for key, t in zip(sparse_keys, sparse_types, strict=True)]
        return tuple(_flat(columns, single_sparse, [array[0, ...] for array in arrays]))

    return parse
