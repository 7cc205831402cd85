"""The sum of matrix products that cells use."""

from __future__ import annotations

import numbers
from typing import Any

from penstock.client.initializers import constant_initializer, zeros_initializer
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.control_flow.nest import is_sequence
from penstock.ops.joining import concat
from penstock.ops.matrix import matmul
from penstock.ops.nn.bias import bias_add


def linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
    scope: Any = None,
    bias_start: float | None = None,
) -> Tensor:
    """sum_i args[i] W[i] (+ b), [batch, output_size], of 2-D `args`, with variables "kernel" and "bias".

    bias_initializer: or the number that the bias starts at (TF 0.x: `bias_start`). Raises ValueError for other args.
    """
    if args is None or (is_sequence(args) and not args):
        raise ValueError("`args` must be specified")
    if scope is not None:
        with variable_scope(scope):
            return linear(args, output_size, bias, bias_initializer, kernel_initializer, None, bias_start)
    args = [convert_to_tensor(arg) for arg in (args if is_sequence(args) else [args])]
    rows = sum(last_size(arg) for arg in args)
    dtype = args[0].dtype.base_dtype
    kernel = get_variable("kernel", [rows, output_size], dtype, kernel_initializer)
    product = matmul(args[0] if len(args) == 1 else concat(args, 1), kernel)
    if not bias:
        return product
    start = bias_start if bias_initializer is None else bias_initializer
    if start is None:
        bias_initializer = zeros_initializer(dtype=dtype)
    elif isinstance(start, numbers.Real):
        bias_initializer = constant_initializer(float(start), dtype=dtype)
    return bias_add(product, get_variable("bias", [output_size], dtype, bias_initializer))


def last_size(value: Tensor) -> int:
    """The second dimension of a matrix. Raises ValueError if it is unknown, or if `value` is not a matrix."""
    if value.shape.ndims is not None and value.shape.ndims != 2:
        raise ValueError(f"linear expects 2-D arguments: {value.name} has shape {value.shape}")
    if value.shape.ndims is None or value.shape.tuple[1] is None:
        raise ValueError(f"linear expects shape[1] to be provided for shape {value.shape} of {value.name}")
    return int(value.shape.tuple[1])
