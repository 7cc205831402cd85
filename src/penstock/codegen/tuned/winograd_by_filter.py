"""C source of the gradient of a 3x3 convolution with respect to its filter, which sums products of tiles; follows
`winograd_source`'s.

Transformed tiles of DEPTH words (see `products`) are summed at a time, so that they stay in the cache.
"""

from __future__ import annotations

SUM_TILES = r"""
/* For `count` channels from i on the 2x2 gradients d of a tile as A d A^T, to a part of v[16], `plane`
   words apart. */
FN void NAME_spread_lanes(const NUMBER *const *d, i64 i, i64 count, WORD *restrict v, i64 plane, const int part) {
  const vec p = NAME_taken(d[0] + i, count), q = NAME_taken(d[1] + i, count);
  const vec r = NAME_taken(d[2] + i, count), s = NAME_taken(d[3] + i, count);
  const vec left[4] = {p, p + r, p - r, -r}, right[4] = {q, q + s, q - s, -s};
  UNROLL for (int a = 0; a < 4; a++) {
    WORD *const to = v + 4 * a * plane;
    NAME_put(to, 0, left[a], part), NAME_put(to + plane, 0, left[a] + right[a], part);
    NAME_put(to + 2 * plane, 0, left[a] - right[a], part), NAME_put(to + 3 * plane, 0, -right[a], part);
  }
}

/* All channels of a tile so, to panels [k / WIDE][DEPTH][WIDE] of each place. */
FN void NAME_transform_gradient(const struct NAME *f, i64 tile, WORD *restrict v, i64 plane, const int part) {
  const struct place at = NAME_place_of(f, tile);
  const NUMBER *const g = f->filter + ((at.image * f->oh + at.y) * f->ow + at.x) * f->k;
  const int below = at.y + 1 < f->oh, beside = at.x + 1 < f->ow;
  const NUMBER *const d[4] = {g, beside ? g + f->k : f->zeros, below ? g + f->ow * f->k : f->zeros,
                           below && beside ? g + (f->ow + 1) * f->k : f->zeros};
  i64 i = 0;
  for (; i + LANES <= f->k; i += LANES)
    NAME_spread_lanes(d, i, LANES, v + i / WIDE * DEPTH * WIDE + i % WIDE, plane, part);
  if (i < f->k) NAME_spread_lanes(d, i, f->k - i, v + i / WIDE * DEPTH * WIDE + i % WIDE, plane, part);
}

/* Both of a tile, to the words v and g. */
APART void NAME_transform_both(const struct NAME *f, i64 tile, WORD *v, WORD *g, i64 plane, int part) {
  if (PAIR > 1 && part) NAME_transform_input(f, tile, v, f->each, 1), NAME_transform_gradient(f, tile, g, plane, 1);
  else NAME_transform_input(f, tile, v, f->each, 0), NAME_transform_gradient(f, tile, g, plane, 0);
}

/* A thread's sums over its tiles, [16][groups][panels][ROWS][WIDE]. */
static void NAME_sum_tiles(const struct NAME *f, i64 me) {
  const i64 from = f->tiles * me / f->threads, to = f->tiles * (me + 1) / f->threads, row = f->groups * ROWS;
  const i64 plane = DEPTH * f->panels * WIDE + LANES;
  WORD *const v = f->own + me * 16 * (f->each + plane), *const g = v + 16 * f->each;
  f32 *const sums = (f32 *)f->filters + me * 16 * f->plane;
  memset(sums, 0, 16 * f->plane * sizeof(f32));
  for (i64 begin = from; begin < to; begin += DEPTH * PAIR) {
    const i64 count = least(to - begin, DEPTH * PAIR), words = (count + PAIR - 1) / PAIR;
    for (i64 i = 0; i < count; i++)
      NAME_transform_both(f, begin + i, v + i / PAIR * row, g + i / PAIR * WIDE, plane, i % PAIR);
    f32 *sum = sums;
    for (int i = 0; i < 16; i++)
      for (i64 a = 0; a < f->groups; a++)
        for (i64 p = 0; p < f->panels; p++, sum += ROWS * WIDE)
          NAME_product_2(v + i * f->each + a * ROWS, 1, row, g + i * plane + p * DEPTH * WIDE, words, sum, 1);
  }
}

/* The gradient G^T s G of the filter [3][3][c][k], of the sums s of all threads. */
static void NAME_add_sums(const struct NAME *f, i64 me) {
  for (i64 i = f->c * me / f->threads; i < f->c * (me + 1) / f->threads; i++) {
    for (i64 p = 0; p < f->panels; p++) {
      const f32 *const s = (const f32 *)f->filters + ((i / ROWS * f->panels + p) * ROWS + i % ROWS) * WIDE;
      f32 z[9][WIDE];
      VECTOR
      for (int j = 0; j < WIDE; j++) {
        f32 u[16], t[12];
        UNROLL for (int q = 0; q < 16; q++) u[q] = s[q * f->plane + j];
        for (i64 other = 1; other < f->threads; other++)
          UNROLL for (int q = 0; q < 16; q++) u[q] += s[(other * 16 + q) * f->plane + j];
        UNROLL for (int b = 0; b < 4; b++) {
          const f32 even = .5f * (u[4 + b] + u[8 + b]), odd = .5f * (u[4 + b] - u[8 + b]);
          t[b] = u[b] + even, t[4 + b] = odd, t[8 + b] = even + u[12 + b];
        }
        UNROLL for (int a = 0; a < 3; a++) {
          const f32 *const from = t + 4 * a;
          const f32 even = .5f * (from[1] + from[2]), odd = .5f * (from[1] - from[2]);
          z[3 * a][j] = from[0] + even, z[3 * a + 1][j] = odd, z[3 * a + 2][j] = even + from[3];
        }
      }
      const i64 width = least(f->k - p * WIDE, WIDE);
      for (int q = 0; q < 9; q++) {
        NUMBER *const to = f->y + (q * f->c + i) * f->k + p * WIDE;
        for (i64 j = 0; j < width; j++) to[j] = ROUNDED(z[q][j]);
      }
    }
  }
}
"""
