"""Masks of weights: their variables, collections, and how those of blocks are made."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import ones_initializer, zeros_initializer
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import add_to_collection, get_collection, get_collection_ref
from penstock.ops.arithmetic import multiply
from penstock.ops.array import reshape
from penstock.ops.nn.normalization import zero_fraction
from penstock.ops.reversing import tile

MASK_COLLECTION = "masks"
THRESHOLD_COLLECTION = "thresholds"
MASKED_WEIGHT_COLLECTION = "masked_weights"
WEIGHT_COLLECTION = "kernel"
MASKED_WEIGHT_NAME = "weights/masked_weight"
"""With the name scope that tf.contrib.quantize looks for."""


def weight_mask_variable(var: Any, scope: Any) -> Any:
    """The variable "mask" in `scope`: ones in the shape of `var`, not trainable."""
    with variable_scope(scope):
        return get_variable("mask", var.get_shape(), var.dtype.base_dtype, ones_initializer(), trainable=False)


def weight_threshold_variable(var: Any, scope: Any) -> Any:
    """The variable "threshold" in `scope`: a zero, not trainable."""
    with variable_scope(scope):
        return get_variable("threshold", [], var.dtype.base_dtype, zeros_initializer(), trainable=False)


def collect(mask: Any, threshold: Any, masked: Any, weights: Any) -> None:
    """Add the four to their collections, once for each mask."""
    if any(mask is known for known in get_collection_ref(MASK_COLLECTION)):
        return
    add_to_collection(THRESHOLD_COLLECTION, threshold)
    add_to_collection(MASK_COLLECTION, mask)
    add_to_collection(MASKED_WEIGHT_COLLECTION, masked)
    add_to_collection(WEIGHT_COLLECTION, weights)


@export("contrib.model_pruning.apply_mask")
def apply_mask(x: Any, scope: Any = "") -> Tensor:
    """`x` times a mask of ones, which `Pruning` changes (TF: tf.contrib.model_pruning.apply_mask).

    The variables "mask" and "threshold" are in `scope`; `x` is a variable or tensor of known shape.
    """
    mask, threshold = weight_mask_variable(x, scope), weight_threshold_variable(x, scope)
    masked = multiply(mask, x, MASKED_WEIGHT_NAME)
    collect(mask, threshold, masked, x)
    return masked


@export("contrib.model_pruning.get_masked_weights")
def get_masked_weights() -> list[Any]:
    """The weights times their masks."""
    return get_collection(MASKED_WEIGHT_COLLECTION)


@export("contrib.model_pruning.get_masks")
def get_masks() -> list[Any]:
    """The masks: 0 where weights are left out, else 1."""
    return get_collection(MASK_COLLECTION)


@export("contrib.model_pruning.get_thresholds")
def get_thresholds() -> list[Any]:
    """What weights are less than that are left out, a scalar for each mask."""
    return get_collection(THRESHOLD_COLLECTION)


@export("contrib.model_pruning.get_weights")
def get_weights() -> list[Any]:
    """The weights without their masks."""
    return get_collection(WEIGHT_COLLECTION)


@export("contrib.model_pruning.get_weight_sparsity")
def get_weight_sparsity() -> list[Tensor]:
    """The fraction of each mask that is 0."""
    return [zero_fraction(mask) for mask in get_masks()]


def expand_tensor(tensor: Any, block_dims: Any) -> Tensor:
    """Each element of a matrix [n, m] as a block: [n height, m width]. Raises ValueError for another rank."""
    if tensor.get_shape().ndims != 2:
        raise ValueError("Input tensor must be rank 2")
    if len(block_dims) != 2:
        raise ValueError("block_dims must have 2 elements")
    (rows, columns), (height, width) = tensor.get_shape().as_list(), (int(n) for n in block_dims)
    blocks = tile(reshape(tensor, [rows, 1, columns, 1]), [1, height, 1, width])
    return reshape(blocks, [rows * height, columns * width])
