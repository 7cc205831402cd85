# Written by `python -m penstock.api.generate`.
from penstock.ops.quantization import dequantize as dequantize
from penstock.ops.quantization import quantize as quantize
from penstock.ops.quantization_fake import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from penstock.ops.quantization_fake import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from penstock.ops.quantization_fake import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from penstock.ops.quantization_fake import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from penstock.ops.quantization_fake import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from penstock.ops.quantization_fake import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from penstock.ops.quantization_rounding import quantize_and_dequantize as quantize_and_dequantize

__all__ = [
    "dequantize", "quantize", "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient", "quantize_and_dequantize"
]
