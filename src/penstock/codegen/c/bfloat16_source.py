"""C source for kernels whose inputs and outputs are float32 or bfloat16, and that compute in float32.

NUMBER is their type in memory; LOADED(number) is a float, and ROUNDED(float) a number. A source that starts with this
exists once for each dtype, and both may be compiled in one file: its functions have NAME in their names, and what does
not depend on the dtype is defined only once (#ifndef).
"""

from __future__ import annotations

from penstock.tensor.dtypes import DType, bfloat16, float32

_FLOAT32 = r"""
#undef NUMBER
#undef LOADED
#undef ROUNDED
#define NUMBER f32
#define LOADED(x) (x)
#define ROUNDED(x) (x)
"""

_BFLOAT16 = r"""
#ifndef BFLOAT16
#define BFLOAT16
typedef uint16_t bf16 __attribute__((may_alias));
FN f32 f32_of(bf16 x) { return from_bits_f32((i32)((u32)x << 16)); }
/* To nearest, ties to even. A NaN stays one, as long as that does not depend on its last 16 bits. */
FN bf16 bf16_of(f32 x) {
  const u32 bits = (u32)bits_f32(x);
  return (bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#endif
#undef NUMBER
#undef LOADED
#undef ROUNDED
#define NUMBER bf16
#define LOADED(x) f32_of(x)
#define ROUNDED(x) bf16_of(x)
"""

NUMBERS: dict[DType, str] = {float32: _FLOAT32, bfloat16: _BFLOAT16}
"""By the dtype of a kernel's tensors."""
