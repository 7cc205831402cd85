"""ops.nn_ops.Convolution: a convolution that is described once and applied to several filters."""

from __future__ import annotations

from typing import Any

from penstock.ops.nn.convolution import convolution
from penstock.tensor.shapes import TensorShape

_NODES = {1: "conv1d", 2: "Conv2D", 3: "Conv3D"}
"""By number of spatial dims: what TensorFlow calls the node."""


class Convolution:
    """`tf.nn.convolution` with its settings held, for layers that sample their filters (TensorFlow Probability's).

    input_shape, filter_shape: static shapes, whose ranks must fit. Other arguments: those of `tf.nn.convolution`.
    Raises ValueError if the ranks do not fit, or if a rank is unknown.
    """

    def __init__(
        self,
        input_shape: Any,
        filter_shape: Any,
        padding: str,
        strides: Any = None,
        dilation_rate: Any = None,
        name: str | None = None,
        data_format: str | None = None,
    ) -> None:
        ranks = [TensorShape(shape).ndims for shape in (input_shape, filter_shape)]
        if None in ranks:
            raise ValueError("rank of input or filter must be known")
        if ranks[0] != ranks[1]:
            raise ValueError(f"input tensor must have rank {ranks[1]}, not {ranks[0]}")
        self.input_shape, self.filter_shape = TensorShape(input_shape), TensorShape(filter_shape)
        self.padding, self.strides, self.dilation_rate = padding, strides, dilation_rate
        self.data_format, self.name = data_format, name
        self._node = name or _NODES.get((ranks[1] or 0) - 2)

    def __call__(self, inp: Any, filter: Any) -> Any:
        """[n, spatial…, in] and [spatial…, in, out] -> [n, spatial…, out]; channels come second if the format says."""
        return convolution(
            inp, filter, self.padding, self.strides, self.dilation_rate, self._node, data_format=self.data_format
        )
