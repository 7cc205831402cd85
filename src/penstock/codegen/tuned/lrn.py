"""Local response normalization of float32 images, and its gradient, on CPUs, as C: one pass over the image.

torch's kernels (ops/nn/lrn.py) make a dozen passes. The operations and their order are the same; roots are correctly
rounded here.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import torch

from penstock.codegen.c.source import Source
from penstock.codegen.c.toolchain import MOST
from penstock.codegen.tuned.autotuning import Autotuned
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Node
from penstock.runtime.kernels import KernelContext

BETA = 0.75
"""The power that networks use, which is computed by roots; others use torch's kernels."""
MOST_NEIGHBOURS = 31
"""The most channels in a window: each costs an addition per channel, so for wider ones another algorithm is faster."""
SUMS_OF_A_THREAD = 1 << 17
"""Fewer elements per thread are not worth another thread."""

_C = r"""
struct lrn {
  i64 threads, pixels, channels, radius;
  f32 bias, alpha, factor;
  const f32 *g, *x, *y;  /* `g`, `y`: the gradient and the normalised image, or 0 */
  f32 *to, *work;
};

/* to[i] = from[i] + ... + from[i + 2 * radius] */
APART void NAME_sum(const f32 *restrict from, f32 *restrict to, i64 channels, i64 radius) {
  memcpy(to, from, channels * sizeof(f32));
  for (i64 d = 1; d <= 2 * radius; d++) {
    VECTOR
    for (i64 i = 0; i < channels; i++) to[i] += from[i + d];
  }
}

/* Some of the pixels. `padded` has `radius` zeros on both sides of its channels. */
static void NAME_part(const struct lrn *f, i64 me) {
  const i64 c = f->channels;
  f32 *const padded = f->work + me * (3 * c + 2 * f->radius), *const inner = padded + f->radius;
  f32 *const norm = inner + c + f->radius, *const spread = norm + c;
  memset(padded, 0, (c + 2 * f->radius) * sizeof(f32));
  for (i64 pixel = f->pixels * me / f->threads; pixel < f->pixels * (me + 1) / f->threads; pixel++) {
    const f32 *const x = f->x + pixel * c;
    f32 *const to = f->to + pixel * c;
    VECTOR
    for (i64 i = 0; i < c; i++) inner[i] = x[i] * x[i];
    NAME_sum(padded, norm, c, f->radius);
    VECTOR
    for (i64 i = 0; i < c; i++) norm[i] = norm[i] * f->alpha + f->bias;
    if (!f->g) {
      VECTOR
      for (i64 i = 0; i < c; i++) to[i] = 1 / sqrt_f32(sqrt_f32(norm[i]) * norm[i]) * x[i];
      continue;
    }
    const f32 *const g = f->g + pixel * c, *const y = f->y + pixel * c;
    VECTOR
    for (i64 i = 0; i < c; i++) inner[i] = g[i] * y[i] / norm[i];
    NAME_sum(padded, spread, c, f->radius);
    VECTOR
    for (i64 i = 0; i < c; i++)
      to[i] = 1 / sqrt_f32(sqrt_f32(norm[i]) * norm[i]) * g[i] - spread[i] * x[i] * f->factor;
  }
}

static void NAME_team(void *given) {
  const struct lrn *const f = given;
  for (i64 me = omp_get_thread_num(); me < f->threads; me += omp_get_num_threads()) NAME_part(f, me);
}
static void *NAME_call(void *self, void *const *given, i64 count) {
  i64 a[10];
  for (int i = 0; i < 10; i++) a[i] = PyLong_AsLongLong(given[i]);
  const f32 *const numbers = (const f32 *)(intptr_t)a[4];
  const struct lrn f = {a[0], a[1], a[2], a[3], numbers[0], numbers[1], numbers[2],
                        (const f32 *)(intptr_t)a[5], (const f32 *)(intptr_t)a[6], (const f32 *)(intptr_t)a[7],
                        (f32 *)(intptr_t)a[8], (f32 *)(intptr_t)a[9]};
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
def lrn_source() -> Source:
    """`run(threads, pixels, channels, radius, numbers, g, x, y, to, work)`.

    x [pixels, channels] at an address; numbers: floats bias, alpha, 2 * alpha * beta. g and y 0: normalises x to `to`;
    otherwise computes the gradient with respect to x, given its normalised image y and the gradient g. work: 3 *
    channels + 2 * radius floats per thread.
    """
    return Source.named_after_itself(_C, flags=MOST)


def has_common_power(node: Node) -> bool:
    """Whether the source supports this LRN or its gradient."""
    attrs = node.attrs
    return attrs["beta"] == BETA and 1 <= 2 * attrs["depth_radius"] + 1 <= MOST_NEIGHBOURS


def normalize(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of LRN: `fn(input)`."""

    def prepare(function: Callable[..., Any], shape: Any) -> Kernel | None:
        run = _runner(ctx, function, shape)
        return run and (lambda x: run(None, x, None))

    return Autotuned(lrn_source(), mode, fallback, lambda x: x.shape, prepare, [ctx.node]).call


def normalize_grad(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of LRNGrad: `fn(input_grads, input_image, output_image)`."""

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        shape = key[1]
        return _runner(ctx, function, shape) if key == (shape,) * 3 else None

    return Autotuned(
        lrn_source(), mode, fallback, lambda g, x, y: (g.shape, x.shape, y.shape), prepare, [ctx.node]
    ).call


def _runner(ctx: KernelContext, function: Callable[..., Any], shape: Any) -> Kernel | None:
    """`run(g, x, y)`, with None for g and y if there is no gradient; None for inputs that are not images or are
    empty."""
    if len(shape) != 4 or 0 in shape:
        return None
    channels, radius, alpha = shape[3], ctx["depth_radius"], ctx["alpha"]
    numbers = (ctypes.c_float * 3)(ctx["bias"], alpha, 2 * alpha * BETA)
    pixels = shape.numel() // channels
    most = max(1, shape.numel() * (2 * radius + 1) // SUMS_OF_A_THREAD)
    empty, threads_of = torch.empty, torch.get_num_threads

    def run(g: torch.Tensor | None, x: torch.Tensor, y: torch.Tensor | None) -> torch.Tensor:
        x = x.contiguous()
        g, y = (None if v is None else v.contiguous() for v in (g, y))
        threads = min(threads_of(), most)
        result, work = torch.empty_like(x), empty(threads * (3 * channels + 2 * radius))
        addresses = [0 if v is None else v.data_ptr() for v in (g, x, y, result, work)]
        function(threads, pixels, channels, radius, ctypes.addressof(numbers), *addresses)
        return result

    return run
