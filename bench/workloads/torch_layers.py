"""torch's layers, given the parameters as TensorFlow and JAX hold them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np


def linear(torch: ModuleType, weights: np.ndarray, biases: np.ndarray) -> Any:
    """A Linear of weights [m, n] and biases [n]."""
    layer = torch.nn.Linear(*weights.shape)
    layer.weight.data = torch.from_numpy(weights.T.copy())
    layer.bias.data = torch.from_numpy(biases.copy())
    return layer


def convolution(torch: ModuleType, filters: np.ndarray, biases: np.ndarray | None = None) -> Any:
    """A Conv2d that keeps the image's size, of filters [k, k, in, out] with k odd, and biases [out]."""
    size, _, inputs, outputs = filters.shape
    layer = torch.nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=biases is not None)
    layer.weight.data = torch.from_numpy(filters.transpose(3, 2, 0, 1).copy())
    if biases is not None:
        layer.bias.data = torch.from_numpy(biases.copy())
    return layer.to(memory_format=torch.channels_last)
