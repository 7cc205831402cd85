"""Softmax and its logarithm, and the cross entropies that use them, row by row."""

from __future__ import annotations

from penstock.emit.registry import emits, supports
from penstock.emit.site import Site
from penstock.emit.tools import check_indices

# Rows are processed in blocks, so that logarithms are computed for a vector of sums. Short rows are transposed into
# columns for this, because horizontal sums of a vector take longer than everything else.
supports(
    "softmax",
    r"""
enum { ROWS_@ = 16, SHORT_@ = 32 };
static int block_of_@(i64 left) { return left < ROWS_@ ? (int)left : ROWS_@; }
APART void short_softmax_@(const @ *x, int rows, int n, @ *y, @ *greatest, @ *total) {
  @ turned[SHORT_@ * ROWS_@] ALIGNED;
  if (rows < ROWS_@) memset(turned, 0, sizeof turned);
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < n; j++) turned[j * ROWS_@ + r] = x[r * n + j];
  VECTOR for (int r = 0; r < ROWS_@; r++) greatest[r] = turned[r], total[r] = 0;
  for (int j = 1; j < n; j++) {
    const @ *const column = turned + j * ROWS_@;
    VECTOR for (int r = 0; r < ROWS_@; r++) greatest[r] = greatest[r] > column[r] ? greatest[r] : column[r];
  }
  for (int j = 0; j < n; j++) {
    @ *const column = turned + j * ROWS_@;
    VECTOR for (int r = 0; r < ROWS_@; r++) column[r] = exp_@(column[r] - greatest[r]), total[r] += column[r];
  }
  if (!y) return;
  for (int j = 0; j < n; j++) {
    @ *const column = turned + j * ROWS_@;
    VECTOR for (int r = 0; r < ROWS_@; r++) column[r] /= total[r];
  }
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < n; j++) y[r * n + j] = turned[j * ROWS_@ + r];
}
/* y [rows, n] = the softmax of each row of x, up to ROWS of them; of each its greatest element and the sum of
   exp(x - greatest). y may be null. All ROWS sums are numbers, of which logarithms can be taken. */
APART void softmax_@(const @ *x, int rows, i64 n, @ *y, @ *greatest, @ *total) {
  if (n <= SHORT_@) {
    short_softmax_@(x, rows, (int)n, y, greatest, total);
    return;
  }
  @ line[256] ALIGNED;
  for (int r = 0; r < ROWS_@; r++) total[r] = 1;
  for (int r = 0; r < rows; r++, x += n) {
    @ *const to = y ? y + r * n : 0;
    greatest[r] = max_@(x, n), total[r] = 0;
    for (i64 at = 0; at < n; at += 256) {
      const i64 m = n - at < 256 ? n - at : 256, whole = (m + 15) / 16 * 16;
      VECTOR for (i64 i = 0; i < m; i++) line[i] = x[at + i] - greatest[r];
      for (i64 i = m; i < whole; i++) line[i] = -INF_@;
      for (i64 i = 0; i < whole; i += 16) { VECTOR for (int j = 0; j < 16; j++) line[i + j] = exp_@(line[i + j]); }
      total[r] += sum_@(line, whole);
      if (to) memcpy(to + at, line, m * sizeof(@));
    }
    if (to) { VECTOR for (i64 i = 0; i < n; i++) to[i] /= total[r]; }
  }
}
APART void softmaxes_@(const @ *x, i64 rows, i64 n, @ *y) {
  @ greatest[ROWS_@] ALIGNED, total[ROWS_@] ALIGNED;
  for (i64 at = 0; at < rows; at += ROWS_@)
    softmax_@(x + at * n, block_of_@(rows - at), n, y + at * n, greatest, total);
}
APART void log_softmaxes_@(const @ *x, i64 rows, i64 n, @ *y) {
  @ greatest[ROWS_@] ALIGNED, total[ROWS_@] ALIGNED;
  for (i64 at = 0; at < rows; at += ROWS_@) {
    const int m = block_of_@(rows - at);
    softmax_@(x + at * n, m, n, 0, greatest, total);
    VECTOR for (int r = 0; r < ROWS_@; r++) total[r] = log_@(total[r]);
    for (int r = 0; r < m; r++) {
      const @ *const from = x + (at + r) * n;
      @ *const to = y + (at + r) * n;
      VECTOR for (i64 i = 0; i < n; i++) to[i] = from[i] - greatest[r] - total[r];
    }
  }
}
/* loss [rows], gradient [rows, n] */
APART void cross_entropies_@(const @ *x, const @ *labels, i64 rows, i64 n, @ *loss, @ *gradient) {
  @ greatest[ROWS_@] ALIGNED, total[ROWS_@] ALIGNED, line[256] ALIGNED;
  for (i64 at = 0; at < rows; at += ROWS_@) {
    const int m = block_of_@(rows - at);
    softmax_@(x + at * n, m, n, gradient + at * n, greatest, total);
    VECTOR for (int r = 0; r < ROWS_@; r++) total[r] = log_@(total[r]);
    for (int r = 0; r < m; r++) {
      const @ *const from = x + (at + r) * n, *const wanted = labels + (at + r) * n;
      @ *const to = gradient + (at + r) * n, found = 0;
      for (i64 i = 0; i < n; i += 256) {
        const i64 some = n - i < 256 ? n - i : 256;
        VECTOR for (i64 j = 0; j < some; j++) line[j] = wanted[i + j] * (from[i + j] - greatest[r] - total[r]);
        found += sum_@(line, some);
      }
      loss[at + r] = -found;
      VECTOR for (i64 i = 0; i < n; i++) to[i] -= wanted[i];
    }
  }
}
#define SPARSE_CROSS_ENTROPIES(I) \
APART void sparse_cross_entropies_@_##I(const @ *x, const I *labels, i64 rows, i64 n, @ *loss, @ *gradient) { \
  @ greatest[ROWS_@] ALIGNED, total[ROWS_@] ALIGNED; \
  for (i64 at = 0; at < rows; at += ROWS_@) { \
    const int m = block_of_@(rows - at); \
    softmax_@(x + at * n, m, n, gradient + at * n, greatest, total); \
    VECTOR for (int r = 0; r < ROWS_@; r++) total[r] = log_@(total[r]); \
    for (int r = 0; r < m; r++) { \
      const i64 place = (at + r) * n + labels[at + r]; \
      loss[at + r] = total[r] - (x[place] - greatest[r]); \
      gradient[place] -= 1; \
    } \
  } \
}
SPARSE_CROSS_ENTROPIES(i32) SPARSE_CROSS_ENTROPIES(i64)
#undef SPARSE_CROSS_ENTROPIES
""",
    "f32",
    "f64",
)


@emits("Softmax", "LogSoftmax")
def softmax(s: Site) -> str | None:
    (x,), (y,) = s.inputs, s.outputs
    if not x.is_float or not x.shape:
        return None
    if not x.size:
        return ""
    call, n = "softmaxes" if s.node.op.name == "Softmax" else "log_softmaxes", x.shape[-1]
    return f"{call}_{x.ctype}({x.pointer}, {x.size // n}, {n}, {y.pointer});"


@emits("SoftmaxCrossEntropyWithLogits")
def cross_entropy(s: Site) -> str | None:
    x, labels = s.inputs
    if x.shape != labels.shape or not x.is_float or len(x.shape) != 2:
        return None
    return _call(f"cross_entropies_{x.ctype}", s)


@emits("SparseSoftmaxCrossEntropyWithLogits")
def sparse_cross_entropy(s: Site) -> str | None:
    x, labels = s.inputs
    if labels.shape != x.shape[:-1] or not x.is_float or len(x.shape) != 2 or not x.shape[-1]:
        return None
    call = _call(f"sparse_cross_entropies_{x.ctype}_{labels.ctype}", s)
    return "\n".join([check_indices(s, labels, x.shape[-1]), call])


def _call(function: str, s: Site) -> str:
    (x, labels), (loss, gradient) = s.inputs, s.outputs
    rows, n = x.shape
    return f"{function}({x.pointer}, {labels.pointer}, {rows}, {n}, {loss.pointer}, {gradient.pointer});"
