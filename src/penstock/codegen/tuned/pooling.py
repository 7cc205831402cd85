"""Max-pools of images [n, h, w, c] and their gradients on CPUs, in C: torch's kernel also writes indices.

Results have torch's bits: the first of equal values in a window counts, a NaN counts as the largest, and gradients are
added in the order of the windows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

from penstock.codegen.c.bfloat16_source import NUMBERS
from penstock.codegen.c.source import Source
from penstock.codegen.c.toolchain import MOST
from penstock.codegen.tuned.autotuning import Autotuned
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Node
from penstock.ops.nn.spatial import Window, window_of
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType

COMPARISONS_OF_A_THREAD = 1 << 17
"""Fewer elements per thread are not worth another thread."""

_C = r"""
#ifndef POOLED
#define POOLED 64  /* channels at a time: what is kept of a window stays in registers or the first cache */

/* The part of a window along one axis that is inside of the image. */
struct span { i64 from, to; };
static struct span inside(i64 out, i64 stride, i64 before, i64 window, i64 size) {
  const i64 first = out * stride - before, end = first + window;
  const struct span span = {first < 0 ? 0 : first, end < size ? end : size};
  return span;
}
#endif

struct NAME {
  i64 threads, n, h, w, c, oh, ow, rows, columns, down, across, top, left;
  const NUMBER *x, *g; NUMBER *y;  /* `g`: the gradient by the output, or 0 */
};

/* For `m` channels from `x` on the largest values of a window, and which of its elements they are. */
FN void NAME_largest(
    const struct NAME *f, const NUMBER *x, struct span y, struct span at, i64 m,
    f32 *restrict best, i32 *restrict which) {
  for (i64 i = 0; i < m; i++) best[i] = -INF_f32;
  if (which) for (i64 i = 0; i < m; i++) which[i] = 0;
  i32 number = 0;
  for (i64 row = y.from; row < y.to; row++) {
    for (i64 column = at.from; column < at.to; column++, number++) {
      const NUMBER *const values = x + (row * f->w + column) * f->c;
      VECTOR
      for (i64 i = 0; i < m; i++) {
        const f32 value = LOADED(values[i]);
        const int better = (value > best[i]) | (value != value);
        best[i] = better ? value : best[i];
        if (which) which[i] = better ? number : which[i];
      }
    }
  }
}

/* Rows of the output. */
static void NAME_forward(const struct NAME *f, i64 me) {
  for (i64 line = f->n * f->oh * me / f->threads; line < f->n * f->oh * (me + 1) / f->threads; line++) {
    const struct span rows = inside(line % f->oh, f->down, f->top, f->rows, f->h);
    const NUMBER *const x = f->x + line / f->oh * f->h * f->w * f->c;
    for (i64 column = 0; column < f->ow; column++) {
      const struct span columns = inside(column, f->across, f->left, f->columns, f->w);
      NUMBER *const y = f->y + (line * f->ow + column) * f->c;
      for (i64 first = 0; first < f->c; first += POOLED) {
        const i64 m = f->c - first < POOLED ? f->c - first : POOLED;
        f32 best[POOLED];
        if (m == POOLED) NAME_largest(f, x + first, rows, columns, POOLED, best, 0);
        else NAME_largest(f, x + first, rows, columns, m, best, 0);
        VECTOR
        for (i64 i = 0; i < m; i++) y[first + i] = ROUNDED(best[i]);
      }
    }
  }
}

FN void NAME_add(
    const struct NAME *f, NUMBER *to, const NUMBER *g, struct span y, struct span at, i64 m,
    const i32 *restrict which) {
  i32 number = 0;
  for (i64 row = y.from; row < y.to; row++) {
    for (i64 column = at.from; column < at.to; column++, number++) {
      NUMBER *const place = to + (row * f->w + column) * f->c;
      VECTOR
      for (i64 i = 0; i < m; i++) place[i] = ROUNDED(LOADED(place[i]) + (which[i] == number ? LOADED(g[i]) : 0));
    }
  }
}

/* Channels of an image, a few at a time. */
static void NAME_backward(const struct NAME *f, i64 me) {
  const i64 blocks = (f->c + POOLED - 1) / POOLED;
  for (i64 job = f->n * blocks * me / f->threads; job < f->n * blocks * (me + 1) / f->threads; job++) {
    const i64 first = job % blocks * POOLED, image = job / blocks * f->h * f->w * f->c + first;
    const i64 m = f->c - first < POOLED ? f->c - first : POOLED;
    for (i64 i = 0; i < f->h * f->w; i++) memset(f->y + image + i * f->c, 0, m * sizeof(NUMBER));
    for (i64 out = 0; out < f->oh * f->ow; out++) {
      const struct span rows = inside(out / f->ow, f->down, f->top, f->rows, f->h);
      const struct span columns = inside(out % f->ow, f->across, f->left, f->columns, f->w);
      const NUMBER *const g = f->g + (job / blocks * f->oh * f->ow + out) * f->c + first;
      f32 best[POOLED];
      i32 which[POOLED];
      if (m == POOLED) {
        NAME_largest(f, f->x + image, rows, columns, POOLED, best, which);
        NAME_add(f, f->y + image, g, rows, columns, POOLED, which);
      } else {
        NAME_largest(f, f->x + image, rows, columns, m, best, which);
        NAME_add(f, f->y + image, g, rows, columns, m, which);
      }
    }
  }
}

static void NAME_all(const struct NAME *f, i64 me) { (f->g ? NAME_backward : NAME_forward)(f, me); }
static void NAME_team(void *given) {
  const struct NAME *const f = given;
  for (i64 me = omp_get_thread_num(); me < f->threads; me += omp_get_num_threads()) NAME_all(f, me);
}
static void *NAME_call(void *self, void *const *given, i64 count) {
  i64 a[16];
  for (int i = 0; i < 16; i++) a[i] = PyLong_AsLongLong(given[i]);
  struct NAME f = {a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
                   (const NUMBER *)(intptr_t)a[13], (const NUMBER *)(intptr_t)a[14], (NUMBER *)(intptr_t)a[15]};
  void *const state = PyEval_SaveThread();
  if (f.threads > 1 && GOMP_parallel) GOMP_parallel(NAME_team, &f, (unsigned)f.threads, 0);
  else for (i64 me = 0; me < f.threads; me++) NAME_all(&f, me);
  PyEval_RestoreThread(state);
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""


@functools.cache
def pooling_source(dtype: DType) -> Source:
    """`run(threads, n, h, w, c, oh, ow, rows, columns, down, across, top, left, x, g, y)`.

    x [n, h, w, c] at an address; windows of `rows` by `columns`, which move by `down` and `across`, the first one `top`
    and `left` outside the image. y: the largest values [n, oh, ow, c]; with a gradient with respect to them at `g`
    (otherwise 0), the gradient with respect to x.
    """
    return Source.named_after_itself(NUMBERS[dtype] + _C, flags=MOST)


def is_plain(node: Node) -> bool:
    """Whether a MaxPool or its gradient only slides over images of this layout."""
    win = window_of(node.attrs)
    return win.channels_last and set(win.whole) == {1}


def max_pool(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of MaxPool: `fn(input)`."""
    win, dtype = window_of(ctx.node.attrs), ctx.node.attrs["T"]

    def prepare(function: Callable[..., Any], dims: Any) -> Kernel | None:
        result, numbers = _numbers(win, dims)
        if 0 in result:
            return None
        threads, empty, made = _threads(win, result), torch.empty, dtype.torch

        def run(x: torch.Tensor) -> torch.Tensor:
            x, y = x.contiguous(), empty(result, dtype=made)
            function(threads(), *numbers, x.data_ptr(), 0, y.data_ptr())
            return y

        return run

    return Autotuned(pooling_source(dtype), mode, fallback, lambda x: x.shape, prepare, [ctx.node]).call


def max_pool_grad(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of MaxPoolGrad: `fn(orig_input, orig_output, grad)`."""
    win, dtype = window_of(ctx.node.attrs), ctx.node.attrs["T"]

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        dims, grad = key
        result, numbers = _numbers(win, dims)
        if tuple(grad) != result or 0 in result:
            return None
        threads, empty = _threads(win, result), torch.empty_like

        def run(x: torch.Tensor, y: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
            x, g = x.contiguous(), g.contiguous()
            made = empty(x)
            function(threads(), *numbers, x.data_ptr(), g.data_ptr(), made.data_ptr())
            return made

        return run

    return Autotuned(
        pooling_source(dtype), mode, fallback, lambda x, y, g: (x.shape, g.shape), prepare, [ctx.node]
    ).call


def _numbers(win: Window, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dims of the result, and the function's arguments for them."""
    assert win.ksize is not None
    batch, height, width, channels = dims
    down, across = win.extents((height, width), win.ksize)
    result = (batch, down.out, across.out, channels)
    return result, (*dims, down.out, across.out, *win.ksize, *win.strides, down.before, across.before)


def _threads(win: Window, result: tuple[int, ...]) -> Callable[[], int]:
    assert win.ksize is not None
    most = max(1, math.prod(result) * math.prod(win.ksize) // COMPARISONS_OF_A_THREAD)
    count = torch.get_num_threads
    return lambda: min(count(), most)
