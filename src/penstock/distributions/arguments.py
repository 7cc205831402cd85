"""Arguments of distributions: conversion to tensors, and checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.array import shape
from penstock.ops.basic import identity
from penstock.ops.broadcasting import broadcast_dynamic_shape, broadcast_static_shape
from penstock.ops.checks import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_non_negative,
    assert_positive,
)
from penstock.ops.filling import fill, ones_like
from penstock.ops.nn.softmax import softmax
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_sum
from penstock.ops.rounding import floor
from penstock.ops.shape_checks import assert_same_float_dtype
from penstock.ops.unary import log, log1p, sigmoid
from penstock.tensor.shapes import TensorShape


def floats(**values: Any) -> list[Tensor]:
    """The arguments as tensors of one floating dtype; plain numbers adopt that of the others. Raises ValueError
    otherwise."""
    dtype = next((v.dtype for v in values.values() if hasattr(v, "dtype")), None)
    if dtype is None and any(np.asarray(v).dtype.kind == "f" for v in values.values()):
        dtype = "float32"
    found = []
    for name, value in values.items():
        given = hasattr(value, "dtype")
        found.append(convert_to_tensor(value, name=name, preferred_dtype=None if given else dtype))
    assert_same_float_dtype(found)
    return found


def checked(value: Tensor, checks: list[Operation], name: str) -> Tensor:
    """`value`, after the checks."""
    with control_dependencies(checks):
        return identity(value, name=name)


def positive(value: Tensor, validate: bool, name: str) -> Tensor:
    """`value`, checked to be positive if `validate_args` is set."""
    return checked(value, [assert_positive(value)] if validate else [], name)


def broadcast_shape(*values: Tensor) -> TensorShape:
    """The static shape of all values broadcast."""
    found = TensorShape([])
    for value in values:
        found = broadcast_static_shape(found, value.shape)
    return found


def broadcast_shape_tensor(*values: Tensor) -> Tensor:
    """The shape of all values broadcast."""
    found = shape(values[0])
    for value in values[1:]:
        found = broadcast_dynamic_shape(found, shape(value))
    return found


def logits_and_probs(
    logits: Any, probs: Any, multidimensional: bool, validate_args: bool, dtype: Any = None
) -> tuple[Tensor, Tensor]:
    """Computes both from one of them: log odds and probabilities, or with `multidimensional` those of classes.

    Raises ValueError for none or both. validate_args: check that probabilities are valid and those of classes add up to
    1.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if probs is None:
        scores = convert_to_tensor(logits, dtype, name="logits")
        _check_float(scores, "logits")
        return scores, softmax(scores) if multidimensional else sigmoid(scores)
    chances = convert_to_tensor(probs, dtype, name="probs")
    _check_float(chances, "probs")
    if validate_args:
        one = np.array(1, chances.dtype.np)
        checks = [assert_non_negative(chances)]
        if multidimensional:
            checks.append(assert_near(reduce_sum(chances, -1), one, message="probs does not sum to 1."))
        else:
            checks.append(assert_less_equal(chances, one, message="probs has components greater than 1."))
        chances = checked(chances, checks, "probs")
    return (log(chances) if multidimensional else log(chances) - log1p(-chances)), chances


def _check_float(value: Tensor, what: str) -> None:
    if not value.dtype.is_floating:
        raise TypeError(f"{what} must having floating type.")


def undefined_unless(defined: Tensor, value: Tensor, allow_nan_stats: bool, message: str, *above_one: Tensor) -> Tensor:
    """`value` where `defined`, otherwise NaN; if NaN is not allowed, the step raises InvalidArgumentError.

    It is defined where the parameters `above_one` are greater than 1.
    """
    if allow_nan_stats:
        return where(defined, value, fill(shape(value), np.array(np.nan, value.dtype.np)))
    return checked(value, [assert_less(ones_like(p), p, message=message) for p in above_one], "checked")


def count_checks(counts: Tensor, total: Tensor) -> list[Operation]:
    """Checks that counts are non-negative whole numbers that add up to `total`."""
    return [
        assert_non_negative(counts, message="counts must be non-negative."),
        assert_equal(total, reduce_sum(counts, -1), message="counts must sum to `self.total_count`"),
        assert_equal(counts, floor(counts), message="counts cannot contain fractional components."),
    ]
