"""C source of blocked matrix products, for functions that lay out their matrices for it.

A block is ROWS by two vectors (or one), which stay in registers during the sum: `product_2` and `product_1`. Compilers
vectorise it for any processor, at nine tenths of the peak rate of multiply-adds. Matrices consist of words: floats, or,
if the processor multiplies bfloat16, pairs of these along the axis that is summed over; sums are floats. Source: Goto
and van de Geijn, Anatomy of high-performance matrix multiplication (2008).
"""

from __future__ import annotations

from penstock.codegen.c.bfloat16_source import NUMBERS
from penstock.tensor.dtypes import DType, bfloat16, float32

_BLOCKS = r"""
#ifndef LANES
/* What one block of a product keeps in vector registers: ROWS rows of two vectors. */
#if defined(__AVX512F__)
#define LANES 16
enum { ROWS = 12 };
#elif defined(__AVX__)
#define LANES 8
enum { ROWS = 6 };
#elif defined(__aarch64__)
#define LANES 4
enum { ROWS = 12 };
#else
#define LANES 4
enum { ROWS = 6 };
#endif
enum { WIDE = 2 * LANES, ALONG = -1 };
typedef f32 vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef u32 u32_vec __attribute__((vector_size(4 * LANES)));
typedef uint16_t u16_vec __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

/* Products and sums that are rounded once, and loops over registers without a loop. */
#if defined(__clang__)
#define CONTRACTED
#define CONTRACT _Pragma("clang fp contract(fast)")
#define UNROLL _Pragma("unroll")
#else
#define CONTRACTED __attribute__((optimize("fp-contract=fast")))
#define CONTRACT
#define UNROLL _Pragma("GCC unroll 16")
#endif
#endif

#undef TAKEN
#undef WORD
#undef PAIR
#undef MULTIPLIED_AND_ADDED

@TAKEN@
/* LANES numbers, or `count` if these are fewer, and zeros. */
APART void NAME_take_some(const NUMBER *from, i64 count, f32 *numbers) {
  for (i64 i = 0; i < LANES; i++) numbers[i] = i < count ? LOADED(from[i]) : 0;
}
FN vec NAME_taken(const NUMBER *from, i64 count) {
  if (count >= LANES) return TAKEN(from);
  f32 numbers[LANES];
  NAME_take_some(from, count, numbers);
  return *(const vec *)numbers;
}
"""

_TAKEN = {
    float32: "#define TAKEN(from) (*(const vec *)(from))",
    bfloat16: "#define TAKEN(from) ((vec)(__builtin_convertvector(*(const u16_vec *)(from), u32_vec) << 16))",
}
"""LANES numbers, written with vectors: not every compiler vectorises a loop over them."""

_FLOATS = r"""
#define WORD f32
#define PAIR 1
#define MULTIPLIED_AND_ADDED(a, b, sum) ((a) * (b) + (sum))
FN void NAME_put(f32 *to, i64 i, vec x, int part) { *(vec *)(to + i) = x; }
"""

_PAIRS = r"""
#include <immintrin.h>
#define WORD u32
#define PAIR 2
#define MULTIPLIED_AND_ADDED(a, b, sum) \
  (vec)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)_mm512_set1_epi32((int)(a)), (__m512bh)(b))
FN void NAME_put(u32 *to, i64 i, vec x, int part) {
  const __m256i rounded = (__m256i)_mm512_cvtneps_pbh((__m512)x);
  const __m512i low = _mm512_cvtepu16_epi32(rounded), high = _mm512_slli_epi32(low, 16);
  if (part == ALONG) _mm256_storeu_si256((__m256i *)((bf16 *)to + i), rounded);
  else _mm512_storeu_si512(to + i, part ? _mm512_or_si512(_mm512_loadu_si512(to + i), high) : low);
}
"""

_PRODUCTS = r"""
/* to[ROWS][COLS * LANES] = or += a b, where a[r][i] stands at a[r * row + i * step], b is [n][COLS * LANES]. */
#define PRODUCT(COLS) \
CONTRACTED APART void NAME_product_##COLS(const WORD *restrict a, i64 row, i64 step, const WORD *restrict b, i64 n, \
                                          f32 *restrict to, int add) { \
  CONTRACT \
  vec sum[ROWS][COLS] = {{{0}}}; \
  for (i64 i = 0; i < n; i++) { \
    vec factor[COLS]; \
    UNROLL for (int j = 0; j < COLS; j++) factor[j] = *(const vec *)(b + (i * COLS + j) * LANES); \
    UNROLL for (int r = 0; r < ROWS; r++) { \
      UNROLL for (int j = 0; j < COLS; j++) \
        sum[r][j] = MULTIPLIED_AND_ADDED(a[r * row + i * step], factor[j], sum[r][j]); \
    } \
  } \
  UNROLL for (int r = 0; r < ROWS; r++) { \
    UNROLL for (int j = 0; j < COLS; j++) { \
      vec *const place = (vec *)(to + r * WIDE + j * LANES); \
      if (add) sum[r][j] += *place; \
      *place = sum[r][j]; \
    } \
  } \
}
PRODUCT(1) PRODUCT(2)
"""

_WORDS = {
    float32: _FLOATS,
    bfloat16: f"#if defined(__AVX512BF16__)\n{_PAIRS}\n#else\n{_FLOATS}\n#endif\n",
}


def products(dtype: DType) -> str:
    """`NAME_product_1` and `NAME_product_2` for matrices of words, and `NAME_put`, which writes words.

    WORD: the type of a word, which is PAIR numbers. `NAME_put(to, i, x, part)` writes the vector `x` to the words from
    i on, as part 0 or 1 of pairs; part 0 is written first, and clears the other. With part ALONG it becomes the numbers
    from i on in a row of pairs.
    """
    return "".join([NUMBERS[dtype], _BLOCKS.replace("@TAKEN@", _TAKEN[dtype]), _WORDS[dtype], _PRODUCTS])
