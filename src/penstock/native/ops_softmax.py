"""Softmax and its logarithm, and the cross entropies made of them, row by row."""

from __future__ import annotations

from penstock.native.emit import Site, Value, emits, supports
from penstock.native.ops_tools import block, check_indices

# Rows are often shorter than a vector: their exponentials are computed in whole lines, filled up with what adds 0.
supports(
    r"""
/* The sum of exp(x - greatest); the exponentials themselves go to `powers` unless that is null. */
APART @ exponentials_@(const @ *x, i64 n, @ greatest, @ *powers) {
  @ line[256] ALIGNED, total = 0;
  for (i64 at = 0; at < n; at += 256) {
    const i64 m = n - at < 256 ? n - at : 256, whole = (m + 15) / 16 * 16;
    VECTOR for (i64 i = 0; i < m; i++) line[i] = x[at + i] - greatest;
    for (i64 i = m; i < whole; i++) line[i] = -INF_@;
    for (i64 i = 0; i < whole; i += 16) { VECTOR for (int j = 0; j < 16; j++) line[i + j] = exp_@(line[i + j]); }
    total += sum_@(line, whole);
    if (powers) memcpy(powers + at, line, m * sizeof(@));
  }
  return total;
}
APART void softmax_@(const @ *x, i64 n, @ *y) {
  const @ total = exponentials_@(x, n, max_@(x, n), y);
  VECTOR for (i64 i = 0; i < n; i++) y[i] /= total;
}
APART void log_softmax_@(const @ *x, i64 n, @ *y) {
  const @ greatest = max_@(x, n), total = log_@(exponentials_@(x, n, greatest, 0));
  VECTOR for (i64 i = 0; i < n; i++) y[i] = x[i] - greatest - total;
}
APART @ cross_entropy_@(const @ *x, const @ *labels, i64 n, @ *gradient) {
  const @ greatest = max_@(x, n), total = exponentials_@(x, n, greatest, gradient), shift = log_@(total);
  @ line[256] ALIGNED, loss = 0;
  for (i64 at = 0; at < n; at += 256) {
    const i64 m = n - at < 256 ? n - at : 256;
    VECTOR for (i64 i = 0; i < m; i++) line[i] = labels[at + i] * (x[at + i] - greatest - shift);
    loss += sum_@(line, m);
  }
  VECTOR for (i64 i = 0; i < n; i++) gradient[i] = gradient[i] / total - labels[i];
  return -loss;
}
APART @ sparse_cross_entropy_@(const @ *x, i64 label, i64 n, @ *gradient) {
  const @ greatest = max_@(x, n), total = exponentials_@(x, n, greatest, gradient);
  VECTOR for (i64 i = 0; i < n; i++) gradient[i] /= total;
  gradient[label] -= 1;
  return -(x[label] - greatest - log_@(total));
}
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
    call, n = "softmax" if s.node.op.name == "Softmax" else "log_softmax", x.shape[-1]
    return f"for (i64 r = 0; r < {x.size // n}; r++) {call}_{x.ctype}({x.at(f'r * {n}')}, {n}, {y.at(f'r * {n}')});"


@emits("SoftmaxCrossEntropyWithLogits")
def cross_entropy(s: Site) -> str | None:
    (x, labels), (loss, gradient) = s.inputs, s.outputs
    if x.shape != labels.shape:
        return None
    return _rows(x, f"cross_entropy_{x.ctype}", labels.at(f"r * {x.shape[-1]}"), loss, gradient)


@emits("SparseSoftmaxCrossEntropyWithLogits")
def sparse_cross_entropy(s: Site) -> str | None:
    (x, labels), (loss, gradient) = s.inputs, s.outputs
    if labels.shape != x.shape[:-1] or not x.shape[-1]:
        return None
    text = _rows(x, f"sparse_cross_entropy_{x.ctype}", labels.element("r"), loss, gradient)
    return None if text is None else "\n".join([check_indices(s, labels, x.shape[-1]), text])


def _rows(x: Value, call: str, labels: str, loss: Value, gradient: Value) -> str | None:
    if not x.is_float or len(x.shape) != 2:
        return None
    rows, n = x.shape
    arguments = f"{x.at(f'r * {n}')}, {labels}, {n}, {gradient.at(f'r * {n}')}"
    return block(f"for (i64 r = 0; r < {rows}; r++) {loss.element('r')} = {call}({arguments});")
