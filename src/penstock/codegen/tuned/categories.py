"""Strings as ids, and sparse ids as dense ones, in C: hashes, tables, crosses, SparseToDense."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.codegen.c.source import Source
from penstock.codegen.tuned.autotuning import Autotuned
from penstock.codegen.tuned.objects_c import FINGERPRINTS, OBJECTS
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Node
from penstock.ops.lookup_tables import LookupTable
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int32, int64, string

_HASH = r"""
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 count = PyList_Size(given[0]);
  u64 *const to = AT(1);
  const u64 buckets = (u64)INT(2);
  if (!fingerprints(given[0], to)) return 0;
  for (i64 i = 0; i < count; i++) to[i] %= buckets;
  return PyLong_FromLongLong(1);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_FIND = r"""
/* The values of keys, a list, in a dictionary. 0 if a value is no number of 64 bits. */
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 count = PyList_Size(given[1]), other = INT(3);
  i64 *const to = AT(2);
  for (i64 i = 0; i < count; i++) {
    void *const value = PyDict_GetItem(given[0], PyList_GetItem(given[1], i));
    to[i] = value ? PyLong_AsLongLong(value) : other;
  }
  return PyLong_FromLongLong(1);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_CROSS = r"""
struct NAME_column { const i64 *indices, *shape; i64 count; const i64 *numbers; };

/* How many values each row has, as sums of those before; 0 if rows are out of range or order. Dense columns have no
   indices. */
static int NAME_starts(const struct NAME_column *c, i64 height, i64 *starts) {
  i64 row = 0, i = 0;
  if (!c->indices) {
    for (; row <= height; row++) starts[row] = row * c->shape[1];
    return 1;
  }
  for (; i < c->count; i++) {
    const i64 next = c->indices[2 * i];
    if (next < (i ? c->indices[2 * i - 2] : 0) || next >= height) return 0;
    while (row <= next) starts[row++] = i;
  }
  while (row <= height) starts[row++] = i;
  return 1;
}

/* First the number of combinations, -1 if the op's kernel must look at the inputs; then they themselves. Arguments:
   columns, work, rows, [seed and buckets, indices, values, shape, 0,] then of each column its count, indices, shape, a
   list of strings and the address of numbers. work: for each column starts of rows and a hash for each value. */
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 columns = INT(0), first = arguments == 3 + 5 * columns ? 3 : 8;
  i64 *const work = AT(1);
  const i64 height = INT(2);
  struct NAME_column all[MOST];
  i64 *starts[MOST], total = 0, *at = work;
  u64 *hashes[MOST];
  for (i64 i = 0; i < columns; i++) {
    const i64 from = first + 5 * i;
    all[i] = (struct NAME_column){AT(from + 1), AT(from + 2), INT(from), AT(from + 4)};
    starts[i] = at, hashes[i] = (u64 *)(at + height + 1);
    at += height + 1 + all[i].count;
    if (first == 8) continue;
    if (all[i].shape[0] != height || !NAME_starts(all + i, height, starts[i])) return PyLong_FromLongLong(-1);
    if (all[i].numbers) memcpy(hashes[i], all[i].numbers, 8 * all[i].count);
    else if (!fingerprints(given[from + 3], hashes[i])) return 0;
  }
  if (first == 3) {
    for (i64 row = 0; row < height; row++) {
      i64 here = 1;
      for (i64 i = 0; i < columns; i++) {
        here *= starts[i][row + 1] - starts[i][row];
        if (here > 0x7FFFFFFF) return PyLong_FromLongLong(-1);
      }
      total += here;
    }
    return PyLong_FromLongLong(total);
  }
  const u64 seed = (u64)*(const i64 *)AT(3), buckets = ((const u64 *)AT(3))[1];
  i64 *indices = AT(4), *const shape = AT(6), most = 0;
  u64 *values = AT(5);
  for (i64 row = 0; row < height; row++) {
    i64 now[MOST], place = 0, last = 1;
    for (i64 i = 0; i < columns; i++) {
      now[i] = starts[i][row];
      if (now[i] == starts[i][row + 1]) last = 0;
    }
    while (last) {
      u64 found = seed;
      for (i64 i = 0; i < columns; i++) found = fingerprint_cat(found, hashes[i][now[i]]);
      *values++ = found % buckets;
      *indices++ = row, *indices++ = place++;
      for (last = columns; last && ++now[last - 1] == starts[last - 1][row + 1]; last--)
        now[last - 1] = starts[last - 1][row];
    }
    most = place > most ? place : most;
  }
  shape[0] = height, shape[1] = most;
  return PyLong_FromLongLong(1);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_MOST_COLUMNS = 16
_DENSE = r"""
/* Values at indices [count, rank] of an array with these dims; 0 if an index is out of range, or out of order. */
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 count = INT(0), rank = INT(1), total = INT(2), one = INT(3), ordered = INT(4);
  const INDEX *indices = AT(5);
  const INDEX *const dims = AT(6);
  const NUMBER *values = AT(7);
  const NUMBER other = *(const NUMBER *)AT(8);
  NUMBER *const to = AT(9);
  for (i64 i = 0; i < total; i++) to[i] = other;
  i64 before = -1;
  for (i64 i = 0; i < count; i++) {
    i64 place = 0;
    for (i64 j = 0; j < rank; j++, indices++) {
      if (*indices < 0 || *indices >= dims[j]) return PyLong_FromLongLong(0);
      place = place * dims[j] + *indices;
    }
    if (ordered && place <= before) return PyLong_FromLongLong(0);
    before = place;
    to[place] = one ? *values : values[i];
  }
  return PyLong_FromLongLong(1);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_GATHER = r"""
/* Slices of `inner` elements of an array, at indices [count, depth] of its first dims; 0 if one is out of range. */
static void *NAME_call(void *self, void *const *given, i64 arguments) {
  const i64 count = INT(0), depth = INT(1), inner = INT(2), objects = INT(3);
  const i64 *const dims = AT(4);
  const INDEX *indices = AT(5);
  const NUMBER *const from = AT(6);
  NUMBER *to = AT(7);
  for (i64 i = 0; i < count * depth; i++)
    if (indices[i] < 0 || indices[i] >= dims[i % depth]) return PyLong_FromLongLong(0);
  for (i64 i = 0; i < count; i++, to += inner) {
    i64 place = 0;
    for (i64 j = 0; j < depth; j++) place = place * dims[j] + *indices++;
    if (objects) for (i64 j = 0; j < inner; j++) {
      Py_IncRef(*(void *const *)(from + place * inner + j));
      if (to[j]) Py_DecRef(*(void **)(to + j));
    }
    memcpy(to, from + place * inner, inner * sizeof *to);
  }
  return PyLong_FromLongLong(1);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""
_WORDS = {1: "u8", 4: "u32", 8: "u64"}


@functools.cache
def _source(text: str, support: str, number: str = "", index: str = "") -> Source:
    text = text.replace("NUMBER", number).replace("INDEX", index).replace("MOST", str(_MOST_COLUMNS))
    return Source.named_after_itself(text, support=support)


def _any(*_: Any) -> None:
    """The key of all inputs."""


def hash_strings(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of StringToHashBucketFast: `fn(input)`."""
    buckets, empty = ctx["num_buckets"], torch.empty

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def hashed(x: np.ndarray) -> torch.Tensor:
            found = empty(x.shape, dtype=torch.int64)
            function(x.ravel().tolist(), found.data_ptr(), buckets)
            return found

        return hashed

    return Autotuned(_source(_HASH, FINGERPRINTS), mode, fallback, _any, prepare, [ctx.node]).call


def maps_strings_to_ids(node: Node) -> bool:
    return node.attrs["Tin"] == string and node.attrs["Tout"] == int64


def look_up(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of LookupTableFind: `fn(table, keys, default)`."""
    empty = torch.empty

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def find(table: LookupTable, keys: np.ndarray, default: torch.Tensor) -> Any:
            plain = not (table.key_shape or table.value_shape or table.reserved or default.dim())
            if not plain or table.key_dtype != string or table.value_dtype != int64:
                return fallback(table, keys, default)
            found = empty(keys.shape, dtype=torch.int64)
            function(table.read(), keys.ravel().tolist(), found.data_ptr(), int(default))
            return found

        return find

    return Autotuned(_source(_FIND, OBJECTS), mode, fallback, _any, prepare, [ctx.node]).call


def is_hashed(node: Node) -> bool:
    """Whether the source supports this SparseCross."""
    attrs = node.attrs
    return attrs["out_type"] == int64 and 0 < attrs["N"] + len(attrs["dense_types"]) <= _MOST_COLUMNS


def _values(value: Any, kept: list[Any]) -> tuple[list[bytes], int]:
    """A list of strings, and the address of numbers: 0 for strings, and if there are none."""
    if isinstance(value, np.ndarray):
        return value.tolist(), 0
    kept.append(value.contiguous())
    return [], kept[-1].data_ptr()


def cross(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of SparseCross: `fn(indices, values, shapes, dense_inputs)`."""
    settings = np.array([ctx["hash_key"] % 2**64, ctx["num_buckets"] or 2**63 - 1], np.uint64)
    empty, integer, settings_at = torch.empty, torch.int64, settings.ctypes.data

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def crossed(indices: Any, values: Any, shapes: Any, dense: Any, keep: Any = settings) -> Any:
            columns: list[Any] = []
            kept: list[Any] = []
            room = 0
            for at, value, shape in zip(indices, values, shapes, strict=True):
                if value.ndim != 1 or at.shape != (len(value), 2) or shape.shape != (2,):
                    return fallback(indices, values, shapes, dense)
                at, shape = at.contiguous(), shape.contiguous()
                kept += at, shape
                shape_at = shape.data_ptr()
                columns += len(value), at.data_ptr() or shape_at, shape_at, *_values(value, kept)  # 0 means dense
                room += len(value)
            for matrix in dense:
                if matrix.ndim != 2:
                    return fallback(indices, values, shapes, dense)
                shape, value = torch.tensor(matrix.shape), matrix.reshape(-1)
                kept.append(shape)
                columns += len(value), 0, shape.data_ptr(), *_values(value, kept)
                room += len(value)
            height = int(shapes[0][0]) if shapes else dense[0].shape[0]
            if height < 0:
                return fallback(indices, values, shapes, dense)
            count = len(values) + len(dense)
            work = empty(room + count * (height + 1), dtype=integer)
            total = function(count, work.data_ptr(), height, *columns)
            if total < 0:
                return fallback(indices, values, shapes, dense)
            found = empty((total, 2), dtype=integer), empty(total, dtype=integer), empty(2, dtype=integer)
            addresses = [each.data_ptr() for each in found]
            function(count, work.data_ptr(), height, settings_at, *addresses, 0, *columns)
            return found

        return crossed

    return Autotuned(_source(_CROSS, FINGERPRINTS), mode, fallback, _any, prepare, [ctx.node]).call


def has_words(node: Node) -> bool:
    """Whether the source supports the type of this SparseToDense."""
    dtype = node.attrs["T"].torch
    return dtype is not None and dtype.itemsize in _WORDS


def to_dense(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of SparseToDense: `fn(indices, shape, values, default)`."""
    ordered, dtype, empty = ctx["validate_indices"], ctx.torch_dtype(), torch.empty
    number, index = _WORDS[dtype.itemsize], {4: "i32", 8: "i64"}[ctx.torch_dtype("Tindices").itemsize]

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def dense(indices: torch.Tensor, shape: torch.Tensor, values: torch.Tensor, default: torch.Tensor) -> Any:
            rank = indices.dim()
            dims = shape.tolist() if shape.dim() == 1 else []
            count = indices.shape[0] if rank else 1
            columns = indices.shape[1] if rank == 2 else 1
            good = rank <= 2 and columns == len(dims) and not default.dim() and (not dims or min(dims) >= 0)
            if not good or (values.dim() and values.shape != (count,)):
                return fallback(indices, shape, values, default)
            indices, shape, values = indices.contiguous(), shape.contiguous(), values.contiguous()
            found = empty(dims, dtype=dtype)
            numbers = (count, columns, math.prod(dims), not values.dim(), ordered)
            addresses = [each.data_ptr() for each in (indices, shape, values, default, found)]
            return found if function(*numbers, *addresses) else fallback(indices, shape, values, default)

        return dense

    return Autotuned(_source(_DENSE, OBJECTS, number, index), mode, fallback, _any, prepare, [ctx.node]).call


def is_plain_gather(node: Node) -> bool:
    """Whether the source supports this GatherNd."""
    dtype, attrs = node.attrs["Tparams"], node.attrs
    words = dtype == string or (dtype.torch is not None and dtype.torch.itemsize in _WORDS)
    return words and attrs["Tindices"] in (int32, int64) and not attrs["bad_indices_policy"]


def gather_nd(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of GatherNd: `fn(params, indices)`."""
    text, empty = ctx["Tparams"] == string, torch.empty
    dtype = None if text else ctx.torch_dtype("Tparams")
    number = "u64" if dtype is None else _WORDS[dtype.itemsize]
    index = {4: "i32", 8: "i64"}[ctx.torch_dtype("Tindices").itemsize]

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def gather(params: Any, indices: torch.Tensor) -> Any:
            shape, rank = params.shape, indices.dim()
            depth = indices.shape[-1] if rank else 0
            if not depth or depth > len(shape) or (text and not params.flags.c_contiguous):
                return fallback(params, indices)
            indices = indices.contiguous()
            dims = torch.tensor(shape[:depth])
            outer, inner = indices.shape[:-1], shape[depth:]
            numbers = (indices.numel() // depth, depth, math.prod(inner), text, dims.data_ptr(), indices.data_ptr())
            if text:
                found: Any = np.empty((*outer, *inner), object)
                done = function(*numbers, params.ctypes.data, found.ctypes.data)
            else:
                params = params.contiguous()
                found = empty((*outer, *inner), dtype=dtype)
                done = function(*numbers, params.data_ptr(), found.data_ptr())
            return found if done else fallback(params, indices)

        return gather

    def magnitude(params: Any, indices: torch.Tensor) -> int:
        return indices.numel().bit_length()

    return Autotuned(_source(_GATHER, OBJECTS, number, index), mode, fallback, magnitude, prepare, [ctx.node]).call
