"""Weights in files of cuDNN's recurrent layers, of Keras 1 and of its Theano backend, as layers have them now.

Facts from `preprocess_weights_for_loading` of Keras 2.2.5 and TensorFlow 1.15, and from cuDNN's formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "ConvLSTM2D")
_ORDER_OF_GATES = {"GRU": (0, 1, 2), "LSTM": (0, 2, 1, 3), "ConvLSTM2D": (0, 2, 1, 3)}
"""Where Keras 1 had the three weights of each gate that there is now."""

Read = Callable[[list[Any]], list[np.ndarray]]


def as_now(layer: Any, stored: list[Any], read: Read, version: str = "2", backend: str = "tensorflow") -> list[Any]:
    """The stored weights of a layer, or of one that is made of others, of which those that were different are read.

    stored: arrays, or what has a shape. version, backend: those of Keras that wrote them.
    """
    kind = type(layer).__name__
    if kind == "Bidirectional":
        half = len(stored) // 2
        parts = (layer.forward_layer, stored[:half]), (layer.backward_layer, stored[half:])
        return [weight for part, own in parts for weight in as_now(part, own, read, version, backend)]
    if kind == "TimeDistributed":
        return as_now(layer.layer, stored, read, version, backend)
    if kind in ("Model", "Sequential"):
        return _of_model(layer, stored, read, version, backend)
    if version == "1":
        stored = _of_keras_1(layer, kind, stored, read)
    if backend == "theano" and kind in _CONVOLUTIONS and stored:
        count = 2 if kind == "ConvLSTM2D" else 1
        stored = [*(_flipped(kernel) for kernel in read(stored[:count])), *stored[count:]]
    return _of_cudnn(layer, stored, read)


def _of_model(model: Any, stored: list[Any], read: Read, version: str, backend: str) -> list[Any]:
    """First the weights of all layers that are trained, then the others."""
    found, left = [], list(stored)
    for trained in (True, False):
        for layer in model.layers:
            of_layer = {id(weight) for weight in layer.trainable_weights}
            count = sum((id(weight) in of_layer) == trained for weight in layer.weights)
            found += as_now(layer, left[:count], read, version, backend)
            left = left[count:]
    return found + left


def _of_keras_1(layer: Any, kind: str, stored: list[Any], read: Read) -> list[Any]:
    first = getattr(layer, "data_format", None) == "channels_first"
    order = _ORDER_OF_GATES.get(kind, ())
    if order and len(stored) == 3 * len(order):
        arrays = read(stored)
        joined = [np.concatenate([arrays[3 * gate + i] for gate in order], -1) for i in range(3)]
        if kind == "ConvLSTM2D" and first:
            joined[:2] = [kernel.transpose(2, 3, 1, 0) for kernel in joined[:2]]
        return joined
    if not kind.startswith("Conv") or not stored:
        return stored
    (kernel,), rest = read(stored[:1]), stored[1:]
    if kind == "Conv1D" and kernel.ndim == 4:
        if kernel.shape[:2] != (layer.kernel_size[0], 1) or kernel.shape[3] != layer.filters:
            kernel = kernel.transpose(2, 3, 1, 0)
        return [kernel[:, 0], *rest]
    if kind == "Conv2DTranspose":
        return [kernel.transpose((2, 3, 0, 1) if first else (0, 1, 3, 2)), *rest]
    if first and kind in ("Conv2D", "Conv3D"):
        return [kernel.transpose((*range(2, kernel.ndim), 1, 0)), *rest]
    return stored


def _flipped(kernel: np.ndarray) -> np.ndarray:
    """A kernel that is convolved as one that is correlated: turned round in its spatial dims."""
    return kernel[tuple(slice(None, None, -1) if i < kernel.ndim - 2 else slice(None) for i in range(kernel.ndim))]


def _of_cudnn(layer: Any, stored: list[Any], read: Read) -> list[Any]:
    """cuDNN has two biases, one for inputs and one for states, and matrices that are multiplied from the left."""
    gates = getattr(getattr(layer, "cell", None), "gates", 0)
    if gates not in (3, 4) or len(stored) != 3 or tuple(stored[2].shape) != (2 * gates * stored[1].shape[0],):
        return stored
    kernel, recurrent, bias = read(stored)
    units = recurrent.shape[0]
    plain = np.hstack([part.reshape(units, -1).T for part in np.hsplit(kernel, gates)])
    biases = bias.reshape(2, -1)
    return [plain, np.hstack([part.T for part in np.hsplit(recurrent, gates)]), biases if gates == 3 else biases.sum(0)]
