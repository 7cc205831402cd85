"""The beginning of generated sources: the functions that their expressions call, for each target.

The C functions are written so that compilers can vectorise loops of them: no branches, tables or calls. Subnormal,
infinite and NaN results are correct. Errors, in ulps of the exact value, in float32 and float64: exp 1.1, log and log1p
0.9, expm1 1.9, tanh 2.6. Sources: Cody and Waite's reduction and a Taylor polynomial for exponentials; the formulas of
FreeBSD's e_log.c and s_log1p.c (as in musl) for logarithms.
"""

from __future__ import annotations

import math
import struct

_COMMON = r"""
#include <stdint.h>
#include <string.h>
typedef uint8_t u8; typedef int32_t i32; typedef int64_t i64; typedef uint32_t u32; typedef uint64_t u64;
typedef float f32; typedef double f64;
"""

_C = r"""
#define FN static inline __attribute__((always_inline))
#if defined(__clang__)
#define VECTOR _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define VECTOR _Pragma("GCC ivdep")
#else
#define VECTOR
#endif
/* A product and sum rounded once where the processor has it, else twice: never a call. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
#define fma_f32 __builtin_fmaf
#define fma_f64 __builtin_fma
#else
#define fma_f32(a, b, c) ((a) * (b) + (c))
#define fma_f64(a, b, c) ((a) * (b) + (c))
#endif
#define NAN_f32 __builtin_nanf("")
#define NAN_f64 __builtin_nan("")
#define INF_f32 __builtin_inff()
#define INF_f64 __builtin_inf()
#define sqrt_f32 __builtin_sqrtf
#define sqrt_f64 __builtin_sqrt
#define abs_f32 __builtin_fabsf
#define abs_f64 __builtin_fabs
#define copysign_f32 __builtin_copysignf
#define copysign_f64 __builtin_copysign
#define floor_f32 __builtin_floorf
#define floor_f64 __builtin_floor
#define ceil_f32 __builtin_ceilf
#define ceil_f64 __builtin_ceil
#define trunc_f32 __builtin_truncf
#define trunc_f64 __builtin_trunc
#define rint_f32 __builtin_rintf
#define rint_f64 __builtin_rint
"""

_FUNCTIONS = r"""
FN @I bits_@F(@F x) { @I i; memcpy(&i, &x, sizeof i); return i; }
FN @F from_bits_@F(@I i) { @F x; memcpy(&x, &i, sizeof x); return x; }
/* x = n ln 2 + r; gives exp(r) - 1 and n. Adding MAGIC rounds to an integer, which then is the last bits. */
FN @F reduced_exp_@F(@F x, @I *n) {
  const @F shifted = fma_@F(x, @LOG2E, @MAGIC), whole = shifted - @MAGIC;
  const @F r = fma_@F(whole, -@LN2_LOW, fma_@F(whole, -@LN2_HIGH, x));
  @F p = @EXP_FIRST;
@EXP_REST
  *n = bits_@F(shifted) - bits_@F(@MAGIC);
  return fma_@F(r * r, p, r);
}
FN @F power_of_2_@F(@I n) { return from_bits_@F((n + @BIAS) << @MANTISSA); }
FN @F exp_@F(@F x) {
  x = x > @EXP_MAX ? @EXP_MAX : x;
  x = x < @EXP_MIN ? @EXP_MIN : x;
  @I n;
  const @F p = 1 + reduced_exp_@F(x, &n);
  const @I half = n >> 1; /* in two steps, of which each is a normal number */
  return p * power_of_2_@F(half) * power_of_2_@F(n - half);
}
FN @F expm1_@F(@F x) {
  @F y = x > @EXP_MAX ? @EXP_MAX : x;
  y = y < @EXPM1_MIN ? @EXPM1_MIN : y;
  @I n;
  const @F p = reduced_exp_@F(y, &n), half = power_of_2_@F(n - 1);
  const @F found = 2 * fma_@F(p, half, half - @HALF);
  return abs_@F(x) < @TINY ? x : found;
}
/* log of (1 + f) 2^n + c, for 1 + f between sqrt(1/2) and sqrt(2) */
FN @F reduced_log_@F(@F f, @F n, @F c) {
  const @F s = f / (2 + f), z = s * s, hfsq = @HALF * f * f;
  @F p = @LOG_FIRST;
@LOG_REST
  return fma_@F(s, fma_@F(z, p, hfsq), fma_@F(n, @LN2_LOW, c)) - hfsq + f + n * @LN2_HIGH;
}
FN @F log_@F(@F x) {
  const int tiny = x < @NORMAL_MIN;
  const @I i = bits_@F(tiny ? x * @SCALE : x) + (@ONE_BITS - @SQRT_HALF_BITS);
  const @I n = (i >> @MANTISSA) - @BIAS - (tiny ? @SCALE_LOG : 0);
  const @F m = from_bits_@F((i & @MANTISSA_MASK) + @SQRT_HALF_BITS);
  @F found = reduced_log_@F(m - 1, (@F)n, 0);
  found = x == 0 ? -INF_@F : found;
  found = x < 0 ? NAN_@F : found;
  return x < INF_@F ? found : x;
}
FN @F log1p_@F(@F x) {
  const @F u = 1 + x;
  const @I i = bits_@F(u) + (@ONE_BITS - @SQRT_HALF_BITS);
  const @I n = (i >> @MANTISSA) - @BIAS;
  const @F lost = n >= 2 ? 1 - (u - x) : x - (u - 1); /* by rounding 1 + x */
  const @F m = from_bits_@F((i & @MANTISSA_MASK) + @SQRT_HALF_BITS);
  @F found = reduced_log_@F(m - 1, (@F)n, lost / u);
  found = x == -1 ? -INF_@F : found;
  found = x < -1 ? NAN_@F : found;
  found = abs_@F(x) < @TINY ? x : found;
  return x < INF_@F ? found : x;
}
FN @F tanh_@F(@F x) {
  const @F t = expm1_@F(-2 * abs_@F(x));
  return copysign_@F(t / (2 + t), x);
}
"""

_BOTH = r"""
FN @F sigmoid_@F(@F x) { return 1 / (1 + exp_@F(-x)); }
FN @F softplus_@F(@F x) { return x > 50 ? x : log1p_@F(exp_@F(x)); }
FN @F elu_@F(@F x) { return x <= 0 ? expm1_@F(x) : x; }
FN @F sign_@F(@F x) { return x > 0 ? (@F)1 : x < 0 ? (@F)-1 : x; }
/* In two steps, since GCC makes branches of one, in some places: it does not take them into vectors. */
FN @F maximum_@F(@F x, @F y) { const @F larger = x > y ? x : y; return x != x ? x : larger; }
FN @F minimum_@F(@F x, @F y) { const @F smaller = x < y ? x : y; return x != x ? x : smaller; }
"""


def _literal(value: float, kind: str) -> str:
    """A C literal that is exactly `value` rounded to float32 ("f32") or float64 ("f64")."""
    if kind == "f32":
        return f"({struct.unpack('f', struct.pack('f', value))[0].hex()}f)"
    return f"({float(value).hex()})"


def _functions(kind: str) -> str:
    """`_FUNCTIONS` for one type of floats."""
    single = kind == "f32"
    mantissa, bias = (23, 127) if single else (52, 1023)
    ln2_high = math.ldexp(round(math.ldexp(math.log(2), 13 if single else 30)), -13 if single else -30)
    # log(2) - ln2_high, with more digits than a double of log(2)
    ln2_low = (0.6931471805599453 - ln2_high) + 2.3190468138462996e-17
    suffix = "" if single else "LL"
    degree = 7 if single else 13
    exp = [1 / math.factorial(k) for k in range(degree, 1, -1)]
    log = _LOG_F32 if single else _LOG_F64
    smallest = math.ldexp(1.0, 1 - bias)
    values = {
        "LOG2E": _literal(1 / math.log(2), kind),
        "MAGIC": _literal(1.5 * 2.0**mantissa, kind),
        "LN2_HIGH": _literal(ln2_high, kind),
        "LN2_LOW": _literal(ln2_low, kind),
        "EXP_FIRST": _literal(exp[0], kind),
        "EXP_REST": "\n".join(f"  p = fma_{kind}(p, r, {_literal(c, kind)});" for c in exp[1:]),
        "LOG_FIRST": _literal(log[-1], kind),
        "LOG_REST": "\n".join(f"  p = fma_{kind}(p, z, {_literal(c, kind)});" for c in reversed(log[:-1])),
        "EXP_MAX": "89.0f" if single else "710.0",
        "EXP_MIN": "-104.0f" if single else "-746.0",
        "EXPM1_MIN": "-20.0f" if single else "-40.0",
        "TINY": _literal(2.0 ** (-mantissa - 2), kind),
        "HALF": "0.5f" if single else "0.5",
        "NORMAL_MIN": _literal(smallest, kind),
        "SCALE_LOG": str(mantissa + 2),
        "SCALE": _literal(2.0 ** (mantissa + 2), kind),
        "ONE_BITS": f"{bias << mantissa:#x}{suffix}",
        "SQRT_HALF_BITS": "0x3f3504f3" if single else "0x3fe6a09e667f3bcdLL",
        "MANTISSA_MASK": f"{(1 << mantissa) - 1:#x}{suffix}",
        "MANTISSA": str(mantissa),
        "BIAS": str(bias),
        "I": "i32" if single else "i64",
        "F": kind,
    }
    return _filled(_FUNCTIONS, values)


_LOG_F32 = (0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841)
_LOG_F64 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)  # fmt: skip


def _filled(text: str, values: dict[str, str]) -> str:
    for name in sorted(values, key=len, reverse=True):  # the longest first: @MANTISSA_MASK before @MANTISSA
        text = text.replace(f"@{name}", values[name])
    return text


def c_preamble() -> str:
    """The beginning of a C source."""
    return _COMMON + _C + "".join(_functions(kind) + shared_functions(kind) for kind in ("f32", "f64"))


def shared_functions(kind: str) -> str:
    """The functions that are the same in all languages, for one type of floats ("f32", "f64")."""
    return _filled(_BOTH, {"F": kind})
