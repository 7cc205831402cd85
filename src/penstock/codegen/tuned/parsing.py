"""The ops that parse Examples and SequenceExamples, in C, where keys and defaults of features are constants.

The ops' own kernels take over for batches that have an error, or an unusual encoding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from penstock import errors
from penstock.codegen.tuned.autotuning import Autotuned
from penstock.codegen.tuned.parsing_c import (
    DENSE,
    DENSE_LIST,
    PADDED,
    RESULTS,
    SPAN,
    SPARSE,
    SPARSE_LIST,
    parsing_source,
)
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Edge, Node
from penstock.ops.parsing_ops import Spec, check_default, dense_specs
from penstock.ops.parsing_wire import BYTES, FLOATS, INTEGERS
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, float32, int64, string

_KINDS = {string: BYTES, float32: FLOATS, int64: INTEGERS}
_FILLERS = {string: np.array(b"", object), float32: np.zeros((), np.float32), int64: np.zeros((), np.int64)}
_LATE = ("serialized", "names", "debug_name")
"""Inputs that need not be constants."""


class Feature(NamedTuple):
    """What is asked for. outputs: the places of its values, or of its indices, values and shape; of a dense list also
    that of its lengths, if the op returns them.

    default: the values of a dense one where it is absent, or what padding consists of. may_lack: whether it may be
    absent.
    """

    key: bytes
    dtype: DType
    form: int
    outputs: tuple[int, ...]
    shape: tuple[int, ...] = ()
    default: np.ndarray | None = None
    may_lack: bool = False

    @property
    def is_list(self) -> bool:
        return self.form in (DENSE_LIST, SPARSE_LIST)

    @property
    def stride(self) -> int:
        size = math.prod(self.shape)
        return max(1, size) if self.form == PADDED else size

    @property
    def order(self) -> tuple[Any, ...]:
        return self.is_list, len(self.key), self.key


def has_constant_features(node: Node) -> bool:
    """Whether keys and defaults are known when the plan is made."""
    edges = [edge for name, _, found in node.grouped_inputs() if name not in _LATE for edge in found]
    return all(edge.node.is_constant for edge in edges)


def has_constant_features_and_no_ragged_ones(node: Node) -> bool:
    attrs = node.attrs
    ragged = attrs["context_ragged_value_types"] or attrs["feature_list_ragged_value_types"]
    return not ragged and has_constant_features(node)


# --- the kernels ----------------------------------------------------------------------------------------


def parse_examples(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of ParseExample: `fn(serialized, names, sparse_keys, dense_keys, dense_defaults)`."""

    def features() -> list[Feature]:
        return [*_of_map(ctx, _each(ctx, "sparse_keys"), _each(ctx, "dense_keys"), "")]

    return _kernel(ctx, mode, fallback, features, of_sequences=False, batched=True)


def parse_single_example(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of ParseSingleExample: `fn(serialized, dense_defaults)`."""

    def features() -> list[Feature]:
        return [*_of_map(ctx, ctx["sparse_keys"], ctx["dense_keys"], "")]

    return _kernel(ctx, mode, fallback, features, of_sequences=False, batched=False)


def parse_sequence_examples(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of ParseSequenceExampleV2: `fn(serialized, debug_name, …)`."""

    def features() -> list[Feature]:
        context = [*_of_map(ctx, _keys(ctx, "context_sparse_keys"), _keys(ctx, "context_dense_keys"), "context_")]
        sparse, dense = _keys(ctx, "feature_list_sparse_keys"), _keys(ctx, "feature_list_dense_keys")
        may_lack = _keys(ctx, "feature_list_dense_missing_assumed_empty")
        return [*context, *_of_lists(ctx, sparse, dense, may_lack, _outputs(context), lengths=True)]

    return _kernel(ctx, mode, fallback, features, of_sequences=True, batched=True)


def parse_single_sequence_example(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of ParseSingleSequenceExample: `fn(serialized, …)`."""

    def features() -> list[Feature]:
        context = [*_of_map(ctx, _each(ctx, "context_sparse_keys"), _each(ctx, "context_dense_keys"), "context_")]
        sparse, dense = _each(ctx, "feature_list_sparse_keys"), _each(ctx, "feature_list_dense_keys")
        may_lack = [key in _keys(ctx, "feature_list_dense_missing_assumed_empty") for key in dense]
        return [*context, *_of_lists(ctx, sparse, dense, may_lack, _outputs(context), lengths=False)]

    return _kernel(ctx, mode, fallback, features, of_sequences=True, batched=False)


def _kernel(
    ctx: KernelContext,
    mode: str,
    fallback: Kernel,
    make_features: Callable[[], list[Feature]],
    of_sequences: bool,
    batched: bool,
) -> Kernel:
    try:
        features = sorted(make_features(), key=lambda feature: feature.order)
    except (errors.InvalidArgumentError, ValueError):  # steps raise it
        return fallback
    if not features or len({feature.order for feature in features}) < len(features):
        return fallback
    lists = sum(feature.is_list for feature in features) if of_sequences else -1

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        parse = parser(function, features, lists, batched)

        def run(serialized: np.ndarray, *others: Any) -> Any:
            found = None
            if not batched and not serialized.ndim:
                found = parse([serialized.item()])
            elif batched and serialized.ndim == 1:
                names = others[0]
                if not names.size or names.shape == serialized.shape:
                    found = parse(serialized.tolist())
            return fallback(serialized, *others) if found is None else found

        return run

    return Autotuned(parsing_source(), mode, fallback, lambda *inputs: None, prepare, [ctx.node]).call


def _outputs(features: list[Feature]) -> int:
    return sum(len(feature.outputs) for feature in features)


# --- features -------------------------------------------------------------------------------------------


def _constant(edge: Edge) -> np.ndarray:
    return np.asarray(edge.node.attrs["value"])


def _each(ctx: KernelContext, name: str) -> list[bytes]:
    """The keys that are inputs of their own."""
    return [_constant(edge).item() for edge in ctx.inputs(name)]


def _keys(ctx: KernelContext, name: str) -> list[Any]:
    """The elements of one input."""
    found: list[Any] = _constant(*ctx.inputs(name)).reshape(-1).tolist()
    return found


def _specs(ctx: KernelContext, part: str) -> list[Spec]:
    types = "feature_list_dense_types" if part == "feature_list_" else f"T{part}dense"
    return dense_specs(ctx, types, f"{part}dense_shapes")


def _of_map(ctx: KernelContext, sparse: Sequence[bytes], dense: Sequence[bytes], part: str) -> Iterator[Feature]:
    """The features of Examples, or of the context of SequenceExamples."""
    count = len(sparse)
    for i, (key, dtype) in enumerate(zip(sparse, ctx[f"{part}sparse_types"], strict=True)):
        yield Feature(key, dtype, SPARSE, (i, count + i, 2 * count + i))
    defaults = map(_constant, ctx.inputs(f"{part}dense_defaults"))
    for i, (key, spec, given) in enumerate(zip(dense, _specs(ctx, part), defaults, strict=True)):
        found = check_default(i, spec, given)
        default = None if found is None else np.array(found, order="C")
        form = PADDED if spec.padded else DENSE
        yield Feature(key, spec.dtype, form, (3 * count + i,), spec.shape, default, default is not None)


def _of_lists(
    ctx: KernelContext,
    sparse: Sequence[bytes],
    dense: Sequence[bytes],
    may_lack: Sequence[bool],
    first: int,
    lengths: bool,
) -> Iterator[Feature]:
    """The feature lists of SequenceExamples. first: the place of their first output; lengths: whether they are outputs,
    too."""
    count = len(sparse)
    for i, (key, dtype) in enumerate(zip(sparse, ctx["feature_list_sparse_types"], strict=True)):
        yield Feature(key, dtype, SPARSE_LIST, (first + i, first + count + i, first + 2 * count + i))
    triples = zip(dense, _specs(ctx, "feature_list_"), may_lack, strict=True)
    for place, (key, spec, lacks) in enumerate(triples, first + 3 * count):
        places = (place, place + len(dense)) if lengths else (place,)
        yield Feature(key, spec.dtype, DENSE_LIST, places, spec.shape, _FILLERS[spec.dtype], lacks)


# --- running --------------------------------------------------------------------------------------------


def parser(
    function: Callable[..., Any], features: list[Feature], lists: int, batched: bool
) -> Callable[[list[bytes]], tuple[Any, ...] | None]:
    """The outputs of the op for records, or None if its own kernel is needed; without the axis of records unless
    `batched`. lists: how many features are lists, or -1 for Examples."""
    keys = [np.frombuffer(feature.key or b"\0", np.uint8) for feature in features]
    rows_of_table = [
        [key.ctypes.data, len(f.key), _KINDS[f.dtype], f.form, f.stride, f.may_lack]
        for f, key in zip(features, keys, strict=True)
    ]
    table = np.array(rows_of_table, np.int64)
    count, address, rank = len(features), table.ctypes.data, 1 + batched
    outputs = _outputs(features)
    plans = [
        (f.outputs, f.form, f.shape, f.stride, f.dtype.torch if f.dtype != string else None, rank + f.is_list)
        for f in features
    ]
    defaults = [0 if f.default is None else f.default.ctypes.data for f in features]
    empty, integer = torch.empty, torch.int64

    def parse(records: list[bytes], keep: Any = (features, keys, table)) -> tuple[Any, ...] | None:
        rows = len(records)
        work = empty(count * (RESULTS + SPAN * rows), dtype=integer)
        work_at = work.data_ptr()
        strings = function(records, count, address, lists, work_at)
        if strings < 0:
            return None
        found: list[Any] = [None] * outputs
        addresses: list[int] = []
        used = 0
        if strings:
            texts = np.empty(strings, object)
            text_at = texts.ctypes.data
        results = work[: RESULTS * count].tolist()
        lead = (rows,) if batched else ()
        for i, (places, form, shape, stride, dtype, columns) in enumerate(plans):
            total, longest = results[RESULTS * i], results[RESULTS * i + 1]
            more_at = shape_at = 0
            place = places[0]
            size: tuple[int, ...]
            if form in (SPARSE, SPARSE_LIST):
                found[place] = more = empty((total, columns), dtype=integer)
                found[places[2]] = dims = empty(columns, dtype=integer)
                more_at, shape_at = more.data_ptr(), dims.data_ptr()
                place, size = places[1], (total,)
            elif form == DENSE:
                size, total = (*lead, *shape), rows * stride
            elif form == PADDED:
                size, total = (*lead, longest // stride, *shape), rows * longest
            else:
                size, total = (*lead, longest, *shape), rows * longest * stride
                if len(places) > 1:
                    found[places[1]] = more = empty(rows, dtype=integer)
                    more_at = more.data_ptr()
            values: Any
            if dtype is not None:
                values = empty(size, dtype=dtype)
                at = values.data_ptr()
            elif total:
                values = texts[used : used + total]
                at = text_at + 8 * used
                values = values if len(size) == 1 else values.reshape(size)
                used += total
            else:
                values, at = np.empty(size, object), 0
            found[place] = values
            addresses += at, more_at, shape_at, defaults[i]
        function(records, count, address, lists, work_at, rank, *addresses)
        return tuple(found)

    return parse
