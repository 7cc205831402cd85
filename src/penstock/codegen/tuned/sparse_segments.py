"""SparseSegmentSum, Mean and SqrtN and their gradients in C, and the distinct elements that such lookups start from.

Rows are added in the order of torch's kernels, so results have the same bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

from penstock.codegen.c.source import Source
from penstock.codegen.c.toolchain import MOST
from penstock.codegen.tuned.autotuning import Autotuned
from penstock.codegen.tuned.objects_c import OBJECTS
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Node
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import float32, float64, int32, int64

_NUMBERS = {float32: "f32", float64: "f64"}
_INDICES = {int32: "i32", int64: "i64"}
SUM, MEAN, SQRT_N = range(3)
"""What a segment's sum is divided by: nothing, its size, or the square root of its size."""

_FORWARD = r"""
/* The sum of the rows of x of each segment, divided by a function of their number. */
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 kind = INT(0), count = INT(1), width = INT(2), height = INT(3), segments = INT(4);
  const NUMBER *const x = AT(5);
  const INDEX *const rows = AT(6);
  const SEGMENT *const ids = AT(7);
  NUMBER *const y = AT(8);
  for (i64 i = 0; i < count; i++) {
    if (rows[i] < 0 || rows[i] >= height || ids[i] < 0 || ids[i] >= segments) return PyLong_FromLongLong(0);
    if (i && ids[i] < ids[i - 1]) return PyLong_FromLongLong(0);
  }
  void *const state = (count + segments) * width > LONG ? PyEval_SaveThread() : 0;
  memset(y, 0, segments * width * sizeof *y);
  for (i64 i = 0, size = 1; i < count; i++, size++) {
    NUMBER *const to = y + ids[i] * width;
    const NUMBER *const from = x + rows[i] * width;
    VECTOR
    for (i64 j = 0; j < width; j++) to[j] += from[j];
    if (i + 1 < count && ids[i + 1] == ids[i]) continue;
    if (kind) {
      const NUMBER by = kind == 1 ? (f64)size : sqrt_f64((f64)size);
      for (i64 j = 0; j < width; j++) to[j] /= by;
    }
    size = 0;
  }
  if (state) PyEval_RestoreThread(state);
  return PyLong_FromLongLong(1);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_BACKWARD = r"""
/* The gradient of x. work: a number for each segment. */
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 kind = INT(0), count = INT(1), width = INT(2), height = INT(3), segments = INT(4);
  const NUMBER *const grad = AT(5);
  const INDEX *const rows = AT(6);
  const SEGMENT *const ids = AT(7);
  NUMBER *const y = AT(8);
  i64 *const sizes = AT(9);
  for (i64 i = 0; i < count; i++)
    if (rows[i] < 0 || rows[i] >= height || ids[i] < 0 || ids[i] >= segments) return PyLong_FromLongLong(0);
  void *const state = (count + height) * width > LONG ? PyEval_SaveThread() : 0;
  memset(y, 0, height * width * sizeof *y);
  if (kind) {
    memset(sizes, 0, segments * sizeof *sizes);
    for (i64 i = 0; i < count; i++) sizes[ids[i]]++;
  }
  for (i64 i = 0; i < count; i++) {
    NUMBER *const to = y + rows[i] * width;
    const NUMBER *const from = grad + ids[i] * width;
    if (kind) {
      const NUMBER by = kind == 1 ? (f64)sizes[ids[i]] : sqrt_f64((f64)sizes[ids[i]]);
      VECTOR
      for (i64 j = 0; j < width; j++) to[j] += from[j] / by;
    } else {
      VECTOR
      for (i64 j = 0; j < width; j++) to[j] += from[j];
    }
  }
  if (state) PyEval_RestoreThread(state);
  return PyLong_FromLongLong(1);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_DISTINCT = r"""
/* The distinct numbers in the order of their first appearance, and the place of each number among them. table: 2^bits
   numbers. Returns how many are distinct. */
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 count = INT(0), bits = INT(1);
  const INDEX *const x = AT(2);
  INDEX *const distinct = AT(3);
  SEGMENT *const places = AT(4);
  i32 *const table = AT(5);
  const u64 last = ((u64)1 << bits) - 1;
  i32 found = 0;
  memset(table, 0xFF, sizeof *table << bits);
  for (i64 i = 0; i < count; i++) {
    u64 at = (u64)x[i] * 0x9E3779B97F4A7C15u >> (64 - bits);
    while (table[at] >= 0 && distinct[table[at]] != x[i]) at = (at + 1) & last;
    if (table[at] < 0) distinct[table[at] = found++] = x[i];
    places[i] = table[at];
  }
  return PyLong_FromLongLong(found);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_VALID = r"""
/* The same of the numbers that are not negative, and the first of the `columns` indices of each. Returns how many are
   not negative, and writes how many are distinct before the table. */
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 count = INT(0), bits = INT(1), columns = INT(2);
  const INDEX *const x = AT(3);
  const i64 *const indices = AT(4);
  INDEX *const distinct = AT(5);
  SEGMENT *const places = AT(6);
  i64 *const rows = AT(7);
  i32 *const table = (i32 *)AT(8) + 1;
  const u64 last = ((u64)1 << bits) - 1;
  i32 found = 0;
  i64 valid = 0;
  memset(table, 0xFF, sizeof *table << bits);
  for (i64 i = 0; i < count; i++) {
    if (x[i] < 0) continue;
    u64 at = (u64)x[i] * 0x9E3779B97F4A7C15u >> (64 - bits);
    while (table[at] >= 0 && distinct[table[at]] != x[i]) at = (at + 1) & last;
    if (table[at] < 0) distinct[table[at] = found++] = x[i];
    places[valid] = table[at];
    rows[valid++] = indices[i * columns];
  }
  table[-1] = found;
  return PyLong_FromLongLong(valid);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_MOST_BITS = 20
"""Of the table for distinct elements; more elements are left to torch."""


@functools.cache
def _source(text: str, number: str, index: str, segment: str) -> Source:
    for name, ctype in (("NUMBER", number), ("INDEX", index), ("SEGMENT", segment)):
        text = text.replace(name, ctype)
    return Source.named_after_itself(text, support=OBJECTS, flags=MOST)


def _magnitude(*inputs: torch.Tensor) -> int:
    """The key: torch may be faster for large inputs, with several threads."""
    return inputs[0].numel().bit_length()


def has_types(node: Node) -> bool:
    """Whether the sources support the types of a reduction or its gradient."""
    types = node.attrs
    return types["T"] in _NUMBERS and types["Tidx"] in _INDICES and types["Tsegmentids"] in _INDICES


def reduce_segments(kind: int, ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of a reduction: `fn(data, indices, segment_ids)`, or with a fourth input, the number of segments."""
    types = (_NUMBERS[ctx["T"]], _INDICES[ctx["Tidx"]], _INDICES[ctx["Tsegmentids"]])
    dtype, empty = ctx.torch_dtype(), torch.empty

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def reduce(data: torch.Tensor, indices: torch.Tensor, ids: torch.Tensor, *number: torch.Tensor) -> Any:
            count = indices.numel()
            if indices.dim() != 1 or ids.shape != indices.shape or not data.dim():
                return fallback(data, indices, ids, *number)
            if number:
                segments = int(number[0])
            else:
                segments = int(ids[-1]) + 1 if count else 0
            if segments < 0:
                return fallback(data, indices, ids, *number)
            data, indices, ids = data.contiguous(), indices.contiguous(), ids.contiguous()
            height, *rest = data.shape
            found = empty((segments, *rest), dtype=dtype)
            numbers = (kind, count, math.prod(rest), height, segments)
            done = function(*numbers, data.data_ptr(), indices.data_ptr(), ids.data_ptr(), found.data_ptr())
            return found if done else fallback(data, indices, ids, *number)

        return reduce

    return Autotuned(_source(_FORWARD, *types), mode, fallback, _magnitude, prepare, [ctx.node]).call


def spread_segments(kind: int, ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of a gradient: `fn(grad, indices, segment_ids, output_dim0)`."""
    types = (_NUMBERS[ctx["T"]], _INDICES[ctx["Tidx"]], _INDICES[ctx["Tsegmentids"]])
    dtype, empty = ctx.torch_dtype(), torch.empty

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def spread(grad: torch.Tensor, indices: torch.Tensor, ids: torch.Tensor, number: torch.Tensor) -> Any:
            height = int(number)
            if indices.dim() != 1 or ids.shape != indices.shape or not grad.dim() or height < 0:
                return fallback(grad, indices, ids, number)
            grad, indices, ids = grad.contiguous(), indices.contiguous(), ids.contiguous()
            segments, *rest = grad.shape
            found = empty((height, *rest), dtype=dtype)
            work = empty(segments, dtype=torch.int64) if kind else found
            numbers = (kind, indices.numel(), math.prod(rest), height, segments)
            addresses = [value.data_ptr() for value in (grad, indices, ids, found, work)]
            return found if function(*numbers, *addresses) else fallback(grad, indices, ids, number)

        return spread

    return Autotuned(_source(_BACKWARD, *types), mode, fallback, _magnitude, prepare, [ctx.node]).call


def is_integer(node: Node) -> bool:
    """Whether the source supports this Unique."""
    return node.attrs["T"] in _INDICES and node.attrs["out_idx"] in _INDICES


def find_distinct(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of Unique: `fn(x)`."""
    source = _source(_DISTINCT, "", _INDICES[ctx["T"]], _INDICES[ctx["out_idx"]])
    dtype, out, empty = ctx.torch_dtype(), ctx.torch_dtype("out_idx"), torch.empty

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def distinct(x: torch.Tensor) -> Any:
            count = x.numel()
            bits = max(count.bit_length() + 1, 4)
            if x.dim() != 1 or bits > _MOST_BITS:
                return fallback(x)
            x = x.contiguous()
            found, places, table = (
                empty(count, dtype=dtype),
                empty(count, dtype=out),
                empty(1 << bits, dtype=torch.int32),
            )
            number = function(count, bits, x.data_ptr(), found.data_ptr(), places.data_ptr(), table.data_ptr())
            return found[:number], places

        return distinct

    return Autotuned(source, mode, fallback, _magnitude, prepare, [ctx.node]).call


def find_valid(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of _ValidIds: `fn(ids, indices)`."""
    source = _source(_VALID, "", _INDICES[ctx["T"]], _INDICES[ctx["out_idx"]])
    dtype, out, empty = ctx.torch_dtype(), ctx.torch_dtype("out_idx"), torch.empty

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def valid(ids: torch.Tensor, indices: torch.Tensor) -> Any:
            count = ids.numel()
            bits = max(count.bit_length() + 1, 4)
            if ids.dim() != 1 or not 1 <= indices.dim() <= 2 or len(indices) != count or bits > _MOST_BITS:
                return fallback(ids, indices)
            columns = indices.shape[1] if indices.dim() == 2 else 1
            if not columns:
                return fallback(ids, indices)
            ids, indices = ids.contiguous(), indices.contiguous()
            distinct, places = empty(count, dtype=dtype), empty(count, dtype=out)
            rows, table = empty(count, dtype=torch.int64), empty((1 << bits) + 1, dtype=torch.int32)
            addresses = [value.data_ptr() for value in (ids, indices, distinct, places, rows, table)]
            number = function(count, bits, columns, *addresses)
            if number < count:
                places, rows = places[:number], rows[:number]
            return distinct[: int(table[0])], places, rows

        return valid

    return Autotuned(source, mode, fallback, _magnitude, prepare, [ctx.node]).call
