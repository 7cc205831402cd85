"""C source of 3x3 convolutions with stride 1, and of both their gradients, for images [n, h, w, c].

Winograd's F(2x2, 3x3): a tile of 4x4 inputs yields 2x2 outputs with 16 products instead of 36, after transforming tile
and filter. For each of the 16 positions, the sum over channels is a matrix product, [tiles, c] by [c, k]. The filter is
transformed into panels a few vectors wide, in the order in which the product reads them; tiles are transformed a few
rows at a time, so that they stay in the cache; and a block of products is transformed back as soon as it is ready. The
gradient with respect to the input is the same convolution with the filter rotated by 180 degrees and transposed. That
with respect to the filter sums products of tiles of inputs and gradients, [c, tiles] by [tiles, k]
(`winograd_by_filter`).

Images are float32 or bfloat16. Everything is computed in float32, except products of bfloat16 if the processor has
them: then transformed tiles and filters are rounded to pairs of bfloat16 along the summed axis, and sums are float32.
Source: Lavin and Gray, Fast algorithms for convolutional neural networks (2015), section 4.1.
"""

from __future__ import annotations

import functools

from penstock.codegen.c.source import Source
from penstock.codegen.c.toolchain import MOST
from penstock.codegen.tuned.products import products
from penstock.codegen.tuned.winograd_by_filter import SUM_TILES
from penstock.tensor.dtypes import DType

_TILES = r"""
#ifndef WINOGRAD
#define WINOGRAD
enum { FORWARD, BY_INPUT, BY_FILTER };
enum {
  BLOCK = 2 * ROWS,  /* tiles that a thread has transformed at a time */
  DEPTH = 48,        /* words of them for the gradient by the filter, where they are what is summed over */
  SPREAD = ROWS * WIDE + LANES  /* floats between the blocks of two places: no power of two, which caches dislike */
};
static i64 up(i64 size, i64 to) { return (size + to - 1) / to * to; }
static i64 least(i64 a, i64 b) { return a < b ? a : b; }
/* Where a tile begins: its image, and the row and column of its first output. */
struct place { i64 image, y, x; };
#endif

struct NAME {
  i64 kind, threads;
  const NUMBER *x, *filter, *bias;  /* BY_FILTER: `filter` is the gradient by the output */
  NUMBER *y; WORD *work;
  i64 n, h, w, c, oh, ow, k, top, left;
  i64 high, wide, tiles;   /* tiles of an image, and of all */
  i64 groups, panels;      /* c and k in blocks of ROWS and WIDE */
  i64 depth;               /* c in words */
  i64 plane, each;         /* words of one place: of the transformed filter, or of its gradient; of the tiles */
  const NUMBER *zeros; WORD *filters, *own;  /* `own`: where the first thread's tiles begin */
};

/* The words of `work`, of which each thread has `words` for its tiles; sets what follows from the sizes. */
static i64 NAME_arrange(struct NAME *f, i64 *words) {
  const int sums = f->kind == BY_FILTER;
  f->high = (f->oh + 1) / 2, f->wide = (f->ow + 1) / 2, f->tiles = f->n * f->high * f->wide;
  f->groups = (f->c + ROWS - 1) / ROWS, f->panels = (f->k + WIDE - 1) / WIDE;
  f->depth = (f->c + PAIR - 1) / PAIR;
  f->plane = sums ? f->groups * f->panels * ROWS * WIDE : f->depth * up(f->k, LANES) + LANES;
  f->each = sums ? DEPTH * f->groups * ROWS + LANES : ROWS * f->depth + LANES;
  *words = 16 * (sums ? f->each + DEPTH * f->panels * WIDE + LANES : BLOCK / ROWS * f->each);
  const i64 zeros = up(f->c > f->k ? f->c : f->k, LANES) + WIDE, filters = 16 * f->plane * (sums ? f->threads : 1);
  f->zeros = (const NUMBER *)f->work, f->filters = f->work + zeros, f->own = f->filters + filters;
  return zeros + filters + f->threads * *words;
}

static struct place NAME_place_of(const struct NAME *f, i64 tile) {
  const struct place at = {tile / (f->high * f->wide), tile / f->wide % f->high * 2, tile % f->wide * 2};
  return at;
}

/* For `count` channels from i on the 4x4 inputs d of a tile as B^T d B, to a part (see NAME_put) of v[16], which are
   `plane` words apart. */
FN void NAME_transform_lanes(const NUMBER *const *d, i64 i, i64 count, WORD *restrict v, i64 plane, const int part) {
  vec u[16];
  UNROLL for (int b = 0; b < 4; b++) {
    const vec p = NAME_taken(d[b] + i, count), q = NAME_taken(d[4 + b] + i, count);
    const vec r = NAME_taken(d[8 + b] + i, count), s = NAME_taken(d[12 + b] + i, count);
    u[b] = p - r, u[4 + b] = q + r, u[8 + b] = r - q, u[12 + b] = q - s;
  }
  UNROLL for (int a = 0; a < 16; a += 4) {
    WORD *const to = v + a * plane;
    NAME_put(to, i, u[a] - u[a + 2], part), NAME_put(to + plane, i, u[a + 1] + u[a + 2], part);
    NAME_put(to + 2 * plane, i, u[a + 2] - u[a + 1], part), NAME_put(to + 3 * plane, i, u[a + 1] - u[a + 3], part);
  }
}

/* The same of fewer channels than a vector has. Apart: it is long, and compilers would write it out for each caller. */
APART void NAME_transform_last(const NUMBER *const *d, i64 i, i64 count, WORD *restrict v, i64 plane, int part) {
  NAME_transform_lanes(d, i, count, v, plane, part);
}

/* All channels of a tile so; outside of the image inputs are 0. The last vector may reach into the row of the next
   tile, so that has to come later. */
FN void NAME_transform_input(const struct NAME *f, i64 tile, WORD *restrict v, i64 plane, const int part) {
  const struct place at = NAME_place_of(f, tile);
  const NUMBER *d[16];
  UNROLL for (int i = 0; i < 16; i++) {
    const i64 y = at.y - f->top + i / 4, x = at.x - f->left + i % 4;
    const int outside = y < 0 || y >= f->h || x < 0 || x >= f->w;
    d[i] = outside ? f->zeros : f->x + ((at.image * f->h + y) * f->w + x) * f->c;
  }
  i64 i = 0;
  for (; i + LANES <= f->c; i += LANES) NAME_transform_lanes(d, i, LANES, v, plane, part);
  if (i < f->c) NAME_transform_last(d, i, f->c - i, v, plane, part);
}
APART void NAME_transform_along(const struct NAME *f, i64 tile, WORD *v) {
  NAME_transform_input(f, tile, v, f->each, ALONG);
}

/* Thread `me` of `all` does its part of a job: with GOMP where it is, else one part after the other. */
struct NAME_team { void (*part)(const struct NAME *, i64); const struct NAME *job; };
static void NAME_in_team(void *given) {
  const struct NAME_team *const team = given;
  const i64 all = omp_get_num_threads();
  for (i64 me = omp_get_thread_num(); me < team->job->threads; me += all) team->part(team->job, me);
}
static void NAME_in_parts(const struct NAME *f, void (*part)(const struct NAME *, i64)) {
  struct NAME_team team = {part, f};
  if (f->threads > 1 && GOMP_parallel) GOMP_parallel(NAME_in_team, &team, (unsigned)f->threads, 0);
  else for (i64 me = 0; me < f->threads; me++) part(f, me);
}
"""

_CONVOLVE = r"""
/* The filter as G g G^T, to [16] places of panels [k / WIDE][c][WIDE]; the last is one vector wide if that will do.
   BY_INPUT: c and k are those of the gradient, so the filter is [3][3][k][c] in memory. */
static void NAME_transform_filter(const struct NAME *f, i64 me) {
  for (i64 p = f->panels * me / f->threads; p < f->panels * (me + 1) / f->threads; p++) {
    const i64 first = p * WIDE, width = least(f->k - first, WIDE), lanes = width > LANES ? WIDE : LANES;
    f32 g[9][WIDE] = {{0}};
    for (i64 i = 0; i < f->c; i++) {
      for (int q = 0; q < 9; q++) {
        if (f->kind == BY_INPUT) {
          const NUMBER *const from = f->filter + ((8 - q) * f->k + first) * f->c + i;
          for (i64 j = 0; j < width; j++) g[q][j] = LOADED(from[j * f->c]);
        } else {
          const NUMBER *const from = f->filter + (q * f->c + i) * f->k + first;
          for (i64 j = 0; j < width; j++) g[q][j] = LOADED(from[j]);
        }
      }
      WORD *const u = f->filters + first * f->depth + i / PAIR * lanes;
      const int part = i % PAIR;
      for (int j = 0; j < lanes; j += LANES) {
        vec t[12];
        UNROLL for (int b = 0; b < 3; b++) {
          const vec from = *(vec *)(g[b] + j), middle = *(vec *)(g[3 + b] + j), last = *(vec *)(g[6 + b] + j);
          const vec even = .5f * (from + last), odd = .5f * middle;
          t[b] = from, t[3 + b] = even + odd, t[6 + b] = even - odd, t[9 + b] = last;
        }
        UNROLL for (int a = 0; a < 4; a++) {
          WORD *const to = u + 4 * a * f->plane;
          const vec even = .5f * (t[3 * a] + t[3 * a + 2]), odd = .5f * t[3 * a + 1];
          NAME_put(to, j, t[3 * a], part), NAME_put(to + f->plane, j, even + odd, part);
          NAME_put(to + 2 * f->plane, j, even - odd, part), NAME_put(to + 3 * f->plane, j, t[3 * a + 2], part);
        }
      }
    }
  }
}

/* The products m of a tile, for `width` channels from `first` on, as the 2x2 outputs A^T m A. */
APART void NAME_transform_output(const struct NAME *f, i64 tile, i64 first, i64 width, const f32 *restrict m) {
  const struct place at = NAME_place_of(f, tile);
  const NUMBER *const bias = f->bias ? f->bias + first : f->zeros;
  f32 z[4][WIDE];
  for (int j = 0; j < WIDE; j += LANES) {
    vec p[4], q[4];
    UNROLL for (int b = 0; b < 4; b++) {
      const f32 *const from = m + b * SPREAD + j;
      const vec above = *(const vec *)(from + 4 * SPREAD), below = *(const vec *)(from + 8 * SPREAD);
      p[b] = *(const vec *)from + above + below;
      q[b] = above - below - *(const vec *)(from + 12 * SPREAD);
    }
    *(vec *)(z[0] + j) = p[0] + p[1] + p[2], *(vec *)(z[1] + j) = p[1] - p[2] - p[3];
    *(vec *)(z[2] + j) = q[0] + q[1] + q[2], *(vec *)(z[3] + j) = q[1] - q[2] - q[3];
  }
  for (i64 a = 0; a < least(f->oh - at.y, 2); a++) {
    for (i64 b = 0; b < least(f->ow - at.x, 2); b++) {
      NUMBER *const to = f->y + ((at.image * f->oh + at.y + a) * f->ow + at.x + b) * f->k + first;
      const f32 *const from = z[2 * a + b];
      VECTOR
      for (i64 j = 0; j < width; j++) to[j] = ROUNDED(from[j] + LOADED(bias[j]));
    }
  }
}

static void NAME_convolve(const struct NAME *f, i64 me) {
  const i64 blocks = (f->tiles + ROWS - 1) / ROWS, to = least(f->tiles, blocks * (me + 1) / f->threads * ROWS);
  WORD *const v = f->own + me * 16 * (BLOCK / ROWS) * f->each;
  f32 m[16 * SPREAD] ALIGNED;
  for (i64 begin = blocks * me / f->threads * ROWS; begin < to; begin += BLOCK) {
    const i64 end = least(begin + BLOCK, to);
    for (i64 i = 0; i < end - begin; i++)
      NAME_transform_along(f, begin + i, v + i / ROWS * 16 * f->each + i % ROWS * f->depth);
    for (i64 first = 0; first < f->k; first += WIDE) {
      const i64 width = least(f->k - first, WIDE);
      for (i64 row = begin; row < end; row += ROWS) {
        for (int i = 0; i < 16; i++) {
          const WORD *const a = v + ((row - begin) / ROWS * 16 + i) * f->each;
          const WORD *const b = f->filters + i * f->plane + first * f->depth;
          if (width > LANES) NAME_product_2(a, f->depth, 1, b, f->depth, m + i * SPREAD, 0);
          else NAME_product_1(a, f->depth, 1, b, f->depth, m + i * SPREAD, 0);
        }
        for (i64 r = 0; r < least(end - row, ROWS); r++) NAME_transform_output(f, row + r, first, width, m + r * WIDE);
      }
    }
  }
}
"""

_ENTRY = r"""
static void *NAME_call(void *self, void *const *given, i64 count) {
  i64 a[16];
  for (int i = 0; i < 16; i++) a[i] = PyLong_AsLongLong(given[i]);
  struct NAME f = {
    .kind = a[0], .threads = a[1], .n = a[2], .h = a[3], .w = a[4], .c = a[5], .oh = a[6], .ow = a[7], .k = a[8],
    .top = a[9], .left = a[10], .x = (const NUMBER *)(intptr_t)a[11], .filter = (const NUMBER *)(intptr_t)a[12],
    .bias = (const NUMBER *)(intptr_t)a[13], .y = (NUMBER *)(intptr_t)a[14], .work = (WORD *)(intptr_t)a[15]};
  i64 words;
  const i64 size = NAME_arrange(&f, &words);
  if (f.work) {
    void *const state = PyEval_SaveThread();
    memset(f.work, 0, (f.filters - f.work) * sizeof(WORD));
    NAME_in_parts(&f, f.kind == BY_FILTER ? NAME_sum_tiles : NAME_transform_filter);
    NAME_in_parts(&f, f.kind == BY_FILTER ? NAME_add_sums : NAME_convolve);
    PyEval_RestoreThread(state);
  }
  return PyLong_FromLongLong(size);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""

FORWARD, BY_INPUT, BY_FILTER = range(3)


@functools.cache
def winograd_source(dtype: DType) -> Source:
    """`run(kind, threads, n, h, w, c, oh, ow, k, top, left, x, filter, bias, y, work)`: returns the number of floats
    that it needs at `work`; if `work` is not 0 it computes.

    x [n, h, w, c] at an address, of `dtype` like everything except `work`, with `top` and `left` zeros before it. kind
    FORWARD: y [n, oh, ow, k] by filter [3, 3, c, k] and bias [k] (or 0); BY_INPUT: the same by the filter [3, 3, k, c],
    rotated by 180 degrees and transposed; BY_FILTER: y [3, 3, c, k] by the gradient [n, oh, ow, k] at `filter`.
    """
    python = "extern void *PyLong_FromLongLong(long long);\n"
    text = python + products(dtype) + _TILES + _CONVOLVE + SUM_TILES + _ENTRY
    return Source.named_after_itself(text, flags=MOST)
