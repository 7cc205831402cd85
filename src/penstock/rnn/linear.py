"""The sum of matrix products that cells use."""

from __future__ import annotations

import numbers
from typing import Any

from penstock.client.initializers import constant_initializer, zeros_initializer
from penstock.client.variable_scope import chosen_initializer, get_variable, variable_scope
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
    if scope is not None:
        with variable_scope(scope):
            return linear(args, output_size, bias, bias_initializer, kernel_initializer, None, bias_start)
    return Linear(
        args, output_size, bias, bias_start if bias_initializer is None else bias_initializer, kernel_initializer
    )(args)


def linear_of_state(inputs: Any, state: Any, state_size: int, output_size: int) -> Tensor:
    """`linear` of a cell's inputs and its state, whose size the graph need not know."""
    return Linear([inputs, state], output_size, True, state_size=state_size)([inputs, state])


class Linear:
    """`linear` as a function of its args, whose variables are made once, here (TF: rnn_cell_impl._Linear).

    args: the first that it is called with, whose sizes and dtype the variables have. state_size: that of the last one,
    a cell's state, which a program may feed without telling its shape.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
        *,
        state_size: int | None = None,
    ) -> None:
        args = _as_tensors(args)
        dtype = args[0].dtype.base_dtype
        rows = sum(last_size(arg) for arg in (args if state_size is None else args[:-1])) + (state_size or 0)
        if kernel_initializer is None and state_size is not None:  # a cell's own, which TensorFlow made as a layer's
            kernel_initializer = chosen_initializer("kernel", dtype)
        self._kernel = get_variable("kernel", [rows, output_size], dtype, kernel_initializer)
        if bias_initializer is None:
            bias_initializer = zeros_initializer(dtype=dtype)
        elif isinstance(bias_initializer, numbers.Real):
            bias_initializer = constant_initializer(float(bias_initializer), dtype=dtype)
        self._bias = get_variable("bias", [output_size], dtype, bias_initializer) if build_bias else None

    def __call__(self, args: Any) -> Tensor:
        args = _as_tensors(args)
        product = matmul(args[0] if len(args) == 1 else concat(args, 1), self._kernel)
        return product if self._bias is None else bias_add(product, self._bias)


def _as_tensors(args: Any) -> list[Tensor]:
    if args is None or (is_sequence(args) and not args):
        raise ValueError("`args` must be specified")
    return [convert_to_tensor(arg) for arg in (args if is_sequence(args) else [args])]


def last_size(value: Tensor) -> int:
    """The second dimension of a matrix. Raises ValueError if it is unknown, or if `value` is not a matrix."""
    if value.shape.ndims is not None and value.shape.ndims != 2:
        raise ValueError(f"linear expects 2-D arguments: {value.name} has shape {value.shape}")
    if value.shape.ndims is None or value.shape.tuple[1] is None:
        raise ValueError(f"linear expects shape[1] to be provided for shape {value.shape} of {value.name}")
    return int(value.shape.tuple[1])
