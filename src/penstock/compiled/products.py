"""C source of blocks of float32 products of matrices, for functions that lay out their matrices for them.

A block is ROWS by two vectors (or one), which stay in registers while it is summed up: `product_2` and `product_1`.
Compilers make vector code for any processor of it, at nine tenths of what multiplies and adds at best.
Source: Goto and van de Geijn, Anatomy of high-performance matrix multiplication (2008).
"""

from __future__ import annotations

PRODUCTS = r"""
/* What one block of a product keeps in vector registers: ROWS rows of two vectors. */
#if defined(__AVX512F__)
enum { LANES = 16, ROWS = 12 };
#elif defined(__AVX__)
enum { LANES = 8, ROWS = 6 };
#elif defined(__aarch64__)
enum { LANES = 4, ROWS = 12 };
#else
enum { LANES = 4, ROWS = 6 };
#endif
enum { WIDE = 2 * LANES };
typedef f32 vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

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

/* to[ROWS][COLS * LANES] = or += a b, where a[r][i] stands at a[r * row + i * step], b is [n][COLS * LANES]. */
#define PRODUCT(COLS) \
CONTRACTED APART void product_##COLS(const f32 *restrict a, i64 row, i64 step, const f32 *restrict b, i64 n, \
                                     f32 *restrict to, int add) { \
  CONTRACT \
  vec sum[ROWS][COLS] = {{{0}}}; \
  for (i64 i = 0; i < n; i++) { \
    vec factor[COLS]; \
    UNROLL for (int j = 0; j < COLS; j++) factor[j] = *(const vec *)(b + (i * COLS + j) * LANES); \
    UNROLL for (int r = 0; r < ROWS; r++) { \
      UNROLL for (int j = 0; j < COLS; j++) sum[r][j] += a[r * row + i * step] * factor[j]; \
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
