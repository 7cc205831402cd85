"""ParseExample and ParseSingleExample in C, where the keys and defaults of the features are constants.

The ops' own kernels take over for batches that have an error, or an unusual encoding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from penstock.codegen.tuned.autotuning import Autotuned
from penstock.codegen.tuned.parsing_c import DENSE, PADDED, RESULTS, SPAN, SPARSE, parsing_source
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Node
from penstock.ops.parsing_ops import check_default, dense_specs, texts
from penstock.ops.parsing_wire import BYTES, FLOATS, INTEGERS
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, float32, int64, string

_KINDS = {string: BYTES, float32: FLOATS, int64: INTEGERS}


class _Feature(NamedTuple):
    """A feature; `place`: its number among the sparse, or the dense ones."""

    key: bytes
    dtype: DType
    form: int
    place: int
    shape: tuple[int, ...] = ()
    default: np.ndarray | None = None

    @property
    def stride(self) -> int:
        return math.prod(self.shape) if self.form == DENSE else max(1, math.prod(self.shape))

    def numbers(self, key_at: int) -> list[int]:
        has_default = self.form == DENSE and self.default is not None
        return [key_at, len(self.key), _KINDS[self.dtype], self.form, self.stride, has_default]


def has_constant_features(node: Node) -> bool:
    """Whether keys and defaults are known when the plan is made."""
    edges = [e for name, _, found in node.grouped_inputs() if name not in ("serialized", "names") for e in found]
    return all(edge.node.is_constant for edge in edges)


def parse_examples(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of ParseExample: `fn(serialized, names, sparse_keys, dense_keys, dense_defaults)`."""
    sparse, dense = ([_constant(edge) for edge in ctx.inputs(name)] for name in ("sparse_keys", "dense_keys"))
    features = _features(ctx, texts(sparse), texts(dense))

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        parse = _parser(function, features, batched=True)

        def run(serialized: np.ndarray, names: np.ndarray, *others: Any) -> Any:
            found = None
            if serialized.ndim == 1 and (not names.size or names.shape == serialized.shape):
                found = parse(serialized.tolist())
            return fallback(serialized, names, *others) if found is None else found

        return run

    return Autotuned(parsing_source(), mode, fallback, _any, prepare if features else _never, [ctx.node]).call


def parse_single_example(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of ParseSingleExample: `fn(serialized, dense_defaults)`."""
    features = _features(ctx, texts(ctx["sparse_keys"]), texts(ctx["dense_keys"]))

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        parse = _parser(function, features, batched=False)

        def run(serialized: np.ndarray, defaults: Any) -> Any:
            found = None if serialized.ndim else parse([serialized.item()])
            return fallback(serialized, defaults) if found is None else found

        return run

    return Autotuned(parsing_source(), mode, fallback, _any, prepare if features else _never, [ctx.node]).call


def _any(*_: Any) -> None:
    """The key of all inputs."""


def _never(function: Callable[..., Any], key: Any) -> Kernel | None:
    return None


def _constant(edge: Any) -> np.ndarray:
    return np.asarray(edge.node.attrs["value"])


def _features(ctx: KernelContext, sparse: list[str], dense: list[str]) -> list[_Feature]:
    """The features in the order of the source's table; none if one is asked for twice, which the source does not
    support."""
    defaults = [_constant(edge) for edge in ctx.inputs("dense_defaults")]
    specs = dense_specs(ctx, "Tdense", "dense_shapes")
    found = [
        _Feature(key.encode(), dtype, SPARSE, i)
        for i, (key, dtype) in enumerate(zip(sparse, ctx["sparse_types"], strict=True))
    ]
    for i, (key, spec, given) in enumerate(zip(dense, specs, defaults, strict=True)):
        default = check_default(i, spec, given)
        array = None if default is None else np.array(default, order="C")
        found.append(_Feature(key.encode(), spec.dtype, PADDED if spec.padded else DENSE, i, spec.shape, array))
    found.sort(key=lambda feature: (len(feature.key), feature.key))
    return found if len({feature.key for feature in found}) == len(found) else []


def _parser(
    function: Callable[..., Any], features: list[_Feature], batched: bool
) -> Callable[[list[bytes]], tuple[Any, ...] | None]:
    """The outputs of the op for records, or None if its own kernel is needed; without the axis of records unless
    `batched`."""
    keys = [np.frombuffer(feature.key or b"\0", np.uint8) for feature in features]
    numbers = [feature.numbers(key.ctypes.data) for feature, key in zip(features, keys, strict=True)]
    table = np.array(numbers, np.int64)
    count, address, rank = len(features), table.ctypes.data, 1 + batched
    sparse = sum(feature.form == SPARSE for feature in features)
    outputs = 3 * sparse + len(features) - sparse
    plans = [
        (
            3 * sparse + f.place if f.form != SPARSE else f.place,
            f.form,
            f.shape,
            f.stride,
            f.dtype.torch if f.dtype != string else None,
            0 if f.default is None else f.default.ctypes.data,
        )
        for f in features
    ]
    empty, integer = torch.empty, torch.int64

    def parse(records: list[bytes], keep: Any = (features, keys, table)) -> tuple[Any, ...] | None:
        rows = len(records)
        work = empty(count * (RESULTS + SPAN * rows), dtype=integer)
        at = work.data_ptr()
        strings = function(records, count, address, at)
        if strings < 0:
            return None
        found: list[Any] = [None] * outputs
        addresses: list[int] = []
        if strings:
            texts = np.empty(strings, object)
            text_at = texts.ctypes.data
            used = 0
        totals = work[: RESULTS * count].tolist()
        lead = (rows,) if batched else ()
        for i, (place, form, shape, stride, dtype, default) in enumerate(plans):
            total = totals[2 * i]
            indices_at = shape_at = 0
            if form == SPARSE:
                indices, dims = empty((total, rank), dtype=integer), empty(rank, dtype=integer)
                found[place], found[2 * sparse + place] = indices, dims
                indices_at, shape_at = indices.data_ptr(), dims.data_ptr()
                place += sparse
                size: tuple[int, ...] = (total,)
            elif form == PADDED:
                size = (*lead, totals[2 * i + 1] // stride, *shape)
                total = rows * totals[2 * i + 1]
            else:
                size, total = (*lead, *shape), rows * stride
            values: Any
            if dtype is not None:
                values = empty(size, dtype=dtype)
                addresses += values.data_ptr(), indices_at, shape_at, default
            elif total:
                values = texts[used : used + total]
                values = values if len(size) == 1 else values.reshape(size)
                addresses += text_at + 8 * used, indices_at, shape_at, default
                used += total
            else:
                values = np.empty(size, object)
                addresses += 0, indices_at, shape_at, default
            found[place] = values
        function(records, count, address, at, rank, *addresses)
        return tuple(found)

    return parse
