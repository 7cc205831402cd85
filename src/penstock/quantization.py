"""tf.quantization: numbers of few bits, and training for them."""

from __future__ import annotations

import penstock.ops.quantization_range  # noqa: F401  (which defines ops without functions of their own)
from penstock import absent as _absent
from penstock.ops.quantization import dequantize as dequantize, quantize as quantize
from penstock.ops.quantization_fake import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from penstock.ops.quantization_rounding import quantize_and_dequantize as quantize_and_dequantize

_absent.tell_in(__name__)
