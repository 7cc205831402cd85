"""Images [n, h, w, c] resized by linear interpolation on CPUs, in C: torch's kernel makes a pass for each neighbour.

Results have TensorFlow's bits: it interpolates between two pixels of a row, and then between two such rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.codegen.c.source import Source
from penstock.codegen.c.toolchain import MOST
from penstock.codegen.tuned.autotuning import Autotuned
from penstock.graph.opdef import Kernel
from penstock.ops.image_taps import linear_neighbours
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, float32, uint8

NUMBERS_OF_A_THREAD = 1 << 17
"""Fewer numbers per thread are not worth another thread."""
_TYPES = {uint8: "u8", float32: "f32"}

_C = r"""
struct NAME {
  i64 threads, n, h, w, c, oh, ow;
  const NUMBER *x; f32 *y, *work;
  const i32 *above, *below, *left, *right;  /* the last two: of a pixel, times c */
  const f32 *down, *across;                 /* how far it is from the first of two to the second */
};

/* A row of x between pixels. Four numbers at a time, of which the next pixel overwrites what is not this one's. */
static void NAME_across(const struct NAME *f, const NUMBER *restrict x, f32 *restrict row, f32 *restrict to) {
  const i64 c = f->c;
  VECTOR
  for (i64 i = 0; i < f->w * c; i++) row[i] = x[i];
  if (c == 3 || c == 4) {
    for (i64 j = 0; j < f->ow; j++) {
      f32 from[4], other[4];
      memcpy(from, row + f->left[j], sizeof from);
      memcpy(other, row + f->right[j], sizeof other);
      for (int i = 0; i < 4; i++) from[i] += (other[i] - from[i]) * f->across[j];
      memcpy(to + j * c, from, sizeof from);
    }
    return;
  }
  for (i64 j = 0; j < f->ow; j++) {
    const f32 *const from = row + f->left[j], *const other = row + f->right[j], part = f->across[j];
    VECTOR
    for (i64 i = 0; i < c; i++) to[j * c + i] = from[i] + (other[i] - from[i]) * part;
  }
}

/* Rows of the output. A row of the input that is used again is kept. */
static void NAME_part(const struct NAME *f, i64 me) {
  const i64 wide = f->w * f->c, out = f->ow * f->c;
  f32 *const row = f->work + me * (wide + 2 * out + 12);
  f32 *rows[2] = {row + wide + 4, row + wide + out + 8};
  i64 have[2] = {-1, -1};
  memset(row + wide, 0, 4 * sizeof(f32));
  for (i64 line = f->n * f->oh * me / f->threads; line < f->n * f->oh * (me + 1) / f->threads; line++) {
    const i64 i = line % f->oh, first = line / f->oh * f->h;
    const i64 wanted[2] = {first + f->above[i], first + f->below[i]};
    if (have[0] != wanted[0]) {
      f32 *const other = rows[0];
      const i64 number = have[0];
      rows[0] = rows[1], have[0] = have[1], rows[1] = other, have[1] = number;
    }
    if (have[0] != wanted[0]) NAME_across(f, f->x + wanted[0] * wide, row, rows[0]), have[0] = wanted[0];
    if (wanted[1] != wanted[0] && have[1] != wanted[1])
      NAME_across(f, f->x + wanted[1] * wide, row, rows[1]), have[1] = wanted[1];
    const f32 *restrict const from = rows[0], *restrict const other = rows[wanted[1] != wanted[0]];
    const f32 part = f->down[i];
    f32 *restrict const y = f->y + line * out;
    VECTOR
    for (i64 j = 0; j < out; j++) y[j] = from[j] + (other[j] - from[j]) * part;
  }
}

static void NAME_team(void *given) {
  const struct NAME *const f = given;
  for (i64 me = omp_get_thread_num(); me < f->threads; me += omp_get_num_threads()) NAME_part(f, me);
}
static void *NAME_call(void *self, void *const *given, i64 count) {
  i64 a[16];
  for (int i = 0; i < 16; i++) a[i] = PyLong_AsLongLong(given[i]);
  const struct NAME f = {a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                         (const NUMBER *)(intptr_t)a[7], (f32 *)(intptr_t)a[8], (f32 *)(intptr_t)a[9],
                         (const i32 *)(intptr_t)a[10], (const i32 *)(intptr_t)a[11], (const i32 *)(intptr_t)a[12],
                         (const i32 *)(intptr_t)a[13], (const f32 *)(intptr_t)a[14], (const f32 *)(intptr_t)a[15]};
  void *const state = PyEval_SaveThread();
  if (f.threads > 1 && GOMP_parallel) GOMP_parallel(NAME_team, (void *)&f, (unsigned)f.threads, 0);
  else for (i64 me = 0; me < f.threads; me++) NAME_part(&f, me);
  PyEval_RestoreThread(state);
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""


@functools.cache
def resizing_source(dtype: DType) -> Source:
    """`run(threads, n, h, w, c, oh, ow, x, y, work, above, below, left, right, down, across)`.

    x [n, h, w, c] of `dtype` at an address, y [n, oh, ow, c] floats. For each row of y the rows of x that it is
    between, and how far from the first, and the same for columns, whose numbers are multiplied by c. work:
    `(w + 2 * ow) * c + 12` floats per thread.
    """
    return Source.named_after_itself(_C.replace("NUMBER", _TYPES[dtype]), flags=MOST)


def resize_bilinear(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of ResizeBilinear: `fn(images, size)`."""
    align, half, dtype = ctx["align_corners"], ctx["half_pixel_centers"], ctx.node.attrs["T"]

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        dims, size = key
        if len(dims) != 4 or len(size) != 2 or min(*dims, *size) <= 0 or (align and half):
            return None
        (n, h, w, c), (oh, ow) = dims, size
        down, across = linear_neighbours(h, oh, align, half), linear_neighbours(w, ow, align, half)
        indices = [i.astype(np.int32) for i in (*down[:2], *(each * c for each in across[:2]))]
        tables = [*indices, down[2], across[2]]
        numbers, result = (n, h, w, c, oh, ow), (n, oh, ow, c)
        most = max(1, n * max(h * w, oh * ow) * c // NUMBERS_OF_A_THREAD)
        empty, room, count = torch.empty, (w + 2 * ow) * c + 12, torch.get_num_threads
        addresses = [table.ctypes.data for table in tables]

        def run(images: torch.Tensor, size: torch.Tensor, keep: Any = tables) -> torch.Tensor:
            threads = min(count(), most)
            x, y, work = images.contiguous(), empty(result), empty(threads * room)
            function(threads, *numbers, x.data_ptr(), y.data_ptr(), work.data_ptr(), *addresses)
            return y

        return run

    def key(images: torch.Tensor, size: torch.Tensor) -> Any:
        return images.shape, tuple(size.tolist())

    return Autotuned(resizing_source(dtype), mode, fallback, key, prepare, [ctx.node]).call
