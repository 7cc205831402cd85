"""C source of 3x3 convolutions with stride 1, and of both their gradients, for float32 images [n, h, w, c].

Winograd's F(2x2, 3x3): a tile of 4x4 inputs gives 2x2 outputs by 16 products in place of 36, once tile and filter are
transformed. For each of the 16 places the sum over channels is a product of matrices, [tiles, c] by [c, k]. The filter
is transformed into panels of a few vectors' width, in the order in which the product reads them; the tiles are
transformed a few rows at a time, so that they stay in the cache; and a block of products is transformed back as soon
as it is there. The gradient by the input is the same convolution with the filter turned by half and transposed. That
by the filter sums products of tiles of inputs and of gradients, [c, tiles] by [tiles, k].
Source: Lavin and Gray, Fast algorithms for convolutional neural networks (2015), section 4.1.
"""

from __future__ import annotations

import functools

from penstock.compiled.products import PRODUCTS
from penstock.compiled.source import Source

_TILES = r"""
enum { FORWARD, BY_INPUT, BY_FILTER };
enum {
  BLOCK = 2 * ROWS,  /* tiles that a thread has transformed at a time */
  DEPTH = 96,        /* the same for the gradient by the filter, where they are what is summed over */
  SPREAD = ROWS * WIDE + LANES  /* floats between the blocks of two places: no power of two, which caches dislike */
};
struct winograd {
  i64 kind, threads;
  const f32 *x, *filter, *bias;  /* BY_FILTER: `filter` is the gradient by the output */
  f32 *y, *work;
  i64 n, h, w, c, oh, ow, k, top, left;
  i64 high, wide, tiles;   /* tiles of an image, and of all */
  i64 groups, panels;      /* c and k in blocks of ROWS and WIDE */
  i64 plane, each;         /* floats of one place: of the transformed filter, or of its gradient; of the tiles */
  const f32 *zeros; f32 *filters, *own;  /* `own`: where the first thread's tiles begin */
};

static i64 up(i64 size, i64 to) { return (size + to - 1) / to * to; }
static i64 least(i64 a, i64 b) { return a < b ? a : b; }

/* The floats of `work`, of which each thread has `floats` for its tiles; sets what follows from the sizes. */
static i64 arrange(struct winograd *f, i64 *floats) {
  const int sums = f->kind == BY_FILTER;
  f->high = (f->oh + 1) / 2, f->wide = (f->ow + 1) / 2, f->tiles = f->n * f->high * f->wide;
  f->groups = (f->c + ROWS - 1) / ROWS, f->panels = (f->k + WIDE - 1) / WIDE;
  f->plane = sums ? f->groups * f->panels * ROWS * WIDE : f->c * up(f->k, LANES) + LANES;
  f->each = sums ? DEPTH * f->groups * ROWS + LANES : ROWS * f->c + LANES;
  *floats = 16 * (sums ? f->each + DEPTH * f->panels * WIDE + LANES : BLOCK / ROWS * f->each);
  const i64 zeros = up(f->c > f->k ? f->c : f->k, LANES) + WIDE, filters = 16 * f->plane * (sums ? f->threads : 1);
  f->zeros = f->work, f->filters = f->work + zeros, f->own = f->filters + filters;
  return zeros + filters + f->threads * *floats;
}

/* Where a tile begins: its image, and the row and column of its first output. */
struct place { i64 image, y, x; };
static struct place place_of(const struct winograd *f, i64 tile) {
  const struct place at = {tile / (f->high * f->wide), tile / f->wide % f->high * 2, tile % f->wide * 2};
  return at;
}

/* The 4x4 inputs d of a tile as B^T d B, to v[16] of [c], `plane` floats apart. Outside of the image they are 0. */
APART void transform_input(const struct winograd *f, i64 tile, f32 *restrict v, i64 plane) {
  const struct place at = place_of(f, tile);
  const f32 *d[16];
  for (int i = 0; i < 16; i++) {
    const i64 y = at.y - f->top + i / 4, x = at.x - f->left + i % 4;
    const int outside = y < 0 || y >= f->h || x < 0 || x >= f->w;
    d[i] = outside ? f->zeros : f->x + ((at.image * f->h + y) * f->w + x) * f->c;
  }
  VECTOR
  for (i64 i = 0; i < f->c; i++) {
    f32 u[16];
    for (int b = 0; b < 4; b++) {
      const f32 p = d[b][i], q = d[4 + b][i], r = d[8 + b][i], s = d[12 + b][i];
      u[b] = p - r, u[4 + b] = q + r, u[8 + b] = r - q, u[12 + b] = q - s;
    }
    for (int a = 0; a < 16; a += 4) {
      f32 *const to = v + a * plane + i;
      to[0] = u[a] - u[a + 2], to[plane] = u[a + 1] + u[a + 2];
      to[2 * plane] = u[a + 2] - u[a + 1], to[3 * plane] = u[a + 1] - u[a + 3];
    }
  }
}

/* Thread `me` of `all` does its part of a job: with GOMP where it is, else one part after the other. */
struct team { void (*part)(const struct winograd *, i64); const struct winograd *job; };
static void in_team(void *given) {
  const struct team *const team = given;
  const i64 all = omp_get_num_threads();
  for (i64 me = omp_get_thread_num(); me < team->job->threads; me += all) team->part(team->job, me);
}
static void in_parts(const struct winograd *f, void (*part)(const struct winograd *, i64)) {
  struct team team = {part, f};
  if (f->threads > 1 && GOMP_parallel) GOMP_parallel(in_team, &team, (unsigned)f->threads, 0);
  else for (i64 me = 0; me < f->threads; me++) part(f, me);
}
"""

_CONVOLVE = r"""
/* The filter as G g G^T, to [16] places of panels [k / WIDE][c][WIDE]; the last is one vector wide if that will do.
   BY_INPUT: c and k are those of the gradient, so the filter is [3][3][k][c] in memory. */
static void transform_filter(const struct winograd *f, i64 me) {
  for (i64 p = f->panels * me / f->threads; p < f->panels * (me + 1) / f->threads; p++) {
    const i64 first = p * WIDE, width = least(f->k - first, WIDE), lanes = width > LANES ? WIDE : LANES;
    f32 g[9][WIDE] = {{0}}, t[12][WIDE];
    for (i64 i = 0; i < f->c; i++) {
      for (int q = 0; q < 9; q++) {
        if (f->kind == BY_INPUT) {
          const f32 *const from = f->filter + ((8 - q) * f->k + first) * f->c + i;
          for (i64 j = 0; j < width; j++) g[q][j] = from[j * f->c];
        } else memcpy(g[q], f->filter + (q * f->c + i) * f->k + first, width * sizeof(f32));
      }
      for (int b = 0; b < 3; b++) {
        VECTOR
        for (int j = 0; j < WIDE; j++) {
          const f32 even = .5f * (g[b][j] + g[6 + b][j]), odd = .5f * g[3 + b][j];
          t[b][j] = g[b][j], t[3 + b][j] = even + odd, t[6 + b][j] = even - odd, t[9 + b][j] = g[6 + b][j];
        }
      }
      f32 *const u = f->filters + first * f->c + i * lanes;
      for (int a = 0; a < 4; a++) {
        f32 *const to = u + 4 * a * f->plane;
        const f32 *const from = t[3 * a], *const middle = t[3 * a + 1], *const last = t[3 * a + 2];
        VECTOR
        for (int j = 0; j < lanes; j++) {
          const f32 even = .5f * (from[j] + last[j]), odd = .5f * middle[j];
          to[j] = from[j], to[f->plane + j] = even + odd;
          to[2 * f->plane + j] = even - odd, to[3 * f->plane + j] = last[j];
        }
      }
    }
  }
}

/* The products m of a tile, for `width` channels from `first` on, as the 2x2 outputs A^T m A. */
APART void transform_output(const struct winograd *f, i64 tile, i64 first, i64 width, const f32 *restrict m) {
  const struct place at = place_of(f, tile);
  const f32 *const bias = f->bias ? f->bias + first : f->zeros;
  f32 z[4][WIDE];
  VECTOR
  for (int j = 0; j < WIDE; j++) {
    f32 p[4], q[4];
    for (int b = 0; b < 4; b++) {
      const f32 *const from = m + b * SPREAD + j;
      p[b] = from[0] + from[4 * SPREAD] + from[8 * SPREAD];
      q[b] = from[4 * SPREAD] - from[8 * SPREAD] - from[12 * SPREAD];
    }
    z[0][j] = p[0] + p[1] + p[2], z[1][j] = p[1] - p[2] - p[3];
    z[2][j] = q[0] + q[1] + q[2], z[3][j] = q[1] - q[2] - q[3];
  }
  for (i64 a = 0; a < least(f->oh - at.y, 2); a++) {
    for (i64 b = 0; b < least(f->ow - at.x, 2); b++) {
      f32 *const to = f->y + ((at.image * f->oh + at.y + a) * f->ow + at.x + b) * f->k + first;
      const f32 *const from = z[2 * a + b];
      VECTOR
      for (i64 j = 0; j < width; j++) to[j] = from[j] + bias[j];
    }
  }
}

static void convolve(const struct winograd *f, i64 me) {
  const i64 blocks = (f->tiles + ROWS - 1) / ROWS, to = least(f->tiles, blocks * (me + 1) / f->threads * ROWS);
  f32 *const v = f->own + me * 16 * (BLOCK / ROWS) * f->each;
  f32 m[16 * SPREAD] ALIGNED;
  for (i64 begin = blocks * me / f->threads * ROWS; begin < to; begin += BLOCK) {
    const i64 end = least(begin + BLOCK, to);
    for (i64 i = 0; i < end - begin; i++)
      transform_input(f, begin + i, v + i / ROWS * 16 * f->each + i % ROWS * f->c, f->each);
    for (i64 first = 0; first < f->k; first += WIDE) {
      const i64 width = least(f->k - first, WIDE);
      for (i64 row = begin; row < end; row += ROWS) {
        for (int i = 0; i < 16; i++) {
          const f32 *const a = v + ((row - begin) / ROWS * 16 + i) * f->each;
          const f32 *const b = f->filters + i * f->plane + first * f->c;
          if (width > LANES) product_2(a, f->c, 1, b, f->c, m + i * SPREAD, 0);
          else product_1(a, f->c, 1, b, f->c, m + i * SPREAD, 0);
        }
        for (i64 r = 0; r < least(end - row, ROWS); r++) transform_output(f, row + r, first, width, m + r * WIDE);
      }
    }
  }
}
"""

_BY_FILTER = r"""
/* The 2x2 gradients g of a tile as A g A^T, to panels [k / WIDE][DEPTH][WIDE] of each place. */
APART void transform_gradient(const struct winograd *f, i64 tile, f32 *restrict v, i64 plane) {
  const struct place at = place_of(f, tile);
  const f32 *const g = f->filter + ((at.image * f->oh + at.y) * f->ow + at.x) * f->k;
  const int below = at.y + 1 < f->oh, beside = at.x + 1 < f->ow;
  const f32 *const d[4] = {g, beside ? g + f->k : f->zeros, below ? g + f->ow * f->k : f->zeros,
                           below && beside ? g + (f->ow + 1) * f->k : f->zeros};
  for (i64 first = 0; first < f->k; first += WIDE, v += DEPTH * WIDE) {
    const i64 width = least(f->k - first, WIDE);
    VECTOR
    for (i64 j = 0; j < width; j++) {
      const f32 p = d[0][first + j], q = d[1][first + j], r = d[2][first + j], s = d[3][first + j];
      const f32 left[4] = {p, p + r, p - r, -r}, right[4] = {q, q + s, q - s, -s};
      for (int a = 0; a < 4; a++) {
        f32 *const to = v + 4 * a * plane + j;
        to[0] = left[a], to[plane] = left[a] + right[a];
        to[2 * plane] = left[a] - right[a], to[3 * plane] = -right[a];
      }
    }
  }
}

/* A thread's sums over its tiles, [16][groups][panels][ROWS][WIDE]. */
static void sum_tiles(const struct winograd *f, i64 me) {
  const i64 from = f->tiles * me / f->threads, to = f->tiles * (me + 1) / f->threads, row = f->groups * ROWS;
  const i64 depth = DEPTH * f->panels * WIDE + LANES;
  f32 *const v = f->own + me * 16 * (f->each + depth), *const g = v + 16 * f->each;
  f32 *const sums = f->filters + me * 16 * f->plane;
  memset(sums, 0, 16 * f->plane * sizeof(f32));
  for (i64 begin = from; begin < to; begin += DEPTH) {
    const i64 count = least(to - begin, DEPTH);
    for (i64 i = 0; i < count; i++) {
      transform_input(f, begin + i, v + i * row, f->each);
      transform_gradient(f, begin + i, g + i * WIDE, depth);
    }
    f32 *sum = sums;
    for (int i = 0; i < 16; i++)
      for (i64 a = 0; a < f->groups; a++)
        for (i64 p = 0; p < f->panels; p++, sum += ROWS * WIDE)
          product_2(v + i * f->each + a * ROWS, 1, row, g + i * depth + p * DEPTH * WIDE, count, sum, 1);
  }
}

/* The gradient G^T s G of the filter [3][3][c][k], of the sums s of all threads. */
static void add_sums(const struct winograd *f, i64 me) {
  for (i64 i = f->c * me / f->threads; i < f->c * (me + 1) / f->threads; i++) {
    for (i64 p = 0; p < f->panels; p++) {
      const f32 *const s = f->filters + ((i / ROWS * f->panels + p) * ROWS + i % ROWS) * WIDE;
      f32 z[9][WIDE];
      VECTOR
      for (int j = 0; j < WIDE; j++) {
        f32 u[16], t[12];
        for (int q = 0; q < 16; q++) u[q] = s[q * f->plane + j];
        for (i64 other = 1; other < f->threads; other++)
          for (int q = 0; q < 16; q++) u[q] += s[(other * 16 + q) * f->plane + j];
        for (int b = 0; b < 4; b++) {
          const f32 even = .5f * (u[4 + b] + u[8 + b]), odd = .5f * (u[4 + b] - u[8 + b]);
          t[b] = u[b] + even, t[4 + b] = odd, t[8 + b] = even + u[12 + b];
        }
        for (int a = 0; a < 3; a++) {
          const f32 *const from = t + 4 * a;
          const f32 even = .5f * (from[1] + from[2]), odd = .5f * (from[1] - from[2]);
          z[3 * a][j] = from[0] + even, z[3 * a + 1][j] = odd, z[3 * a + 2][j] = even + from[3];
        }
      }
      const i64 width = least(f->k - p * WIDE, WIDE);
      for (int q = 0; q < 9; q++) memcpy(f->y + (q * f->c + i) * f->k + p * WIDE, z[q], width * sizeof(f32));
    }
  }
}
"""

_ENTRY = r"""
static void *NAME_call(void *self, void *const *given, i64 count) {
  i64 a[16];
  for (int i = 0; i < 16; i++) a[i] = PyLong_AsLongLong(given[i]);
  struct winograd f = {
    .kind = a[0], .threads = a[1], .n = a[2], .h = a[3], .w = a[4], .c = a[5], .oh = a[6], .ow = a[7], .k = a[8],
    .top = a[9], .left = a[10], .x = (const f32 *)(intptr_t)a[11], .filter = (const f32 *)(intptr_t)a[12],
    .bias = (const f32 *)(intptr_t)a[13], .y = (f32 *)(intptr_t)a[14], .work = (f32 *)(intptr_t)a[15]};
  i64 floats;
  const i64 size = arrange(&f, &floats);
  if (f.work) {
    void *const state = PyEval_SaveThread();
    memset(f.work, 0, (f.filters - f.work) * sizeof(f32));
    in_parts(&f, f.kind == BY_FILTER ? sum_tiles : transform_filter);
    in_parts(&f, f.kind == BY_FILTER ? add_sums : convolve);
    PyEval_RestoreThread(state);
  }
  return PyLong_FromLongLong(size);
}
struct method NAME = {"winograd", NAME_call, METH_FASTCALL, 0};
"""

FORWARD, BY_INPUT, BY_FILTER = range(3)


@functools.cache
def winograd_source() -> Source:
    """`run(kind, threads, n, h, w, c, oh, ow, k, top, left, x, filter, bias, y, work)`: the floats that it needs at
    `work`; if that is not 0 it computes.

    x [n, h, w, c] at an address, with `top` and `left` zeros before it. kind FORWARD: y [n, oh, ow, k] by filter
    [3, 3, c, k] and bias [k] (or 0); BY_INPUT: the same by the filter [3, 3, k, c], turned by half and transposed;
    BY_FILTER: y [3, 3, c, k] by the gradient [n, oh, ow, k] at `filter`.
    """
    python = "extern void *PyLong_FromLongLong(long long);\n"
    return Source.named_after_itself(python + PRODUCTS + _TILES + _CONVOLVE + _BY_FILTER + _ENTRY)
