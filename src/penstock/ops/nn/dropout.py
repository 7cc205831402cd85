"""Dropout (TF: tf.nn.dropout, tf.contrib.nn.alpha_dropout)."""

from __future__ import annotations

import numbers
from typing import Any

from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.scopes import name_scope, seed_count, set_seed_count
from penstock.tensor.shapes import TensorShape


@export("nn.dropout")
@of_ragged("elements")
def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """`x` with elements set to 0 with probability `rate` = 1 - `keep_prob`, others divided by `keep_prob`.

    x: floats -> the same shape. keep_prob, rate: a number or a scalar tensor; one of them. noise_shape: 1 for axes that
    are kept or dropped as a whole, -1 (or None) for the size of `x`. Raises ValueError for a rate outside [0, 1). TF:
    tf.nn.dropout.
    """
    rate = _rate(keep_prob, rate)
    with name_scope(name, "dropout", [x]):
        value = convert_to_tensor(x, name="x")
        dtype = value.dtype.base_dtype
        if not dtype.is_floating:
            raise ValueError(f"x has to be a floating point tensor since it's going to be scaled. Got {dtype.name}")
        begin, known = seed_count(), isinstance(rate, numbers.Real)  # TensorFlow makes a node of a number
        if isinstance(rate, numbers.Real):
            if rate == 0:
                return value
            scale: Any = 1.0 / (1.0 - float(rate))
        else:
            rate = convert_to_tensor(rate, dtype, name="rate")
            rate.shape.assert_has_rank(0)
            scale = 1.0 / (1.0 - rate)
        from penstock.ops.random import random_uniform

        set_seed_count(begin + known)
        # Uniform on [0, 1): below `rate` with exactly that probability.
        noise = random_uniform(as_noise_shape(value, noise_shape), seed=seed, dtype=dtype)
        kept = get_op("Cast")(get_op("GreaterEqual")(noise, convert_to_tensor(rate, dtype)), DstT=dtype)
        found = value * scale * kept
        found.set_shape(value.shape)
        set_seed_count(begin + known + 15)
        return found


_FLOOR = -1.7580993408473766
"""What selu tends to for very negative numbers: -scale * alpha (Klambauer et al., 2017)."""


@export("contrib.nn.alpha_dropout")
def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Dropout for networks of selu: elements get selu's lowest value with probability 1 - keep_prob, and all are scaled
    and moved so that mean 0 and variance 1 stay (Klambauer et al., 2017).

    x: floats -> the same shape. keep_prob: a number in (0, 1], else a ValueError, or a scalar tensor. noise_shape: as
    for `tf.nn.dropout`. TF: tf.contrib.nn.alpha_dropout.
    """
    with name_scope(name, "alpha_dropout", [x]):
        value, known = convert_to_tensor(x, name="x"), _number(keep_prob)
        dtype = value.dtype.base_dtype
        if known is not None and not 0 < known <= 1:
            raise ValueError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {known:g}")
        keep = convert_to_tensor(keep_prob, dtype, name="keep_prob")
        keep.shape.assert_has_rank(0)
        if known == 1:
            return value
        from penstock.ops.random import random_uniform

        begin = seed_count()
        noise = random_uniform(as_noise_shape(value, noise_shape), seed=seed, dtype=dtype)
        kept = get_op("Cast")(get_op("GreaterEqual")(noise, 1.0 - keep), DstT=dtype)
        scale = get_op("Rsqrt")(keep + keep * (1.0 - keep) * _FLOOR**2)
        found: Tensor = scale * (value * kept + _FLOOR * (1.0 - kept)) - scale * _FLOOR * (1.0 - keep)
        found.set_shape(value.shape)
        set_seed_count(begin + 33)
        return found


def _rate(keep_prob: Any, rate: Any) -> Any:
    """The probability of dropping: a number if it is known, otherwise a tensor."""
    if keep_prob is not None and rate is not None:
        raise ValueError("Cannot specify both 'rate' and 'keep_prob'")
    if keep_prob is None and rate is None:
        raise ValueError("You must provide a rate to dropout.")
    known = _number(rate if keep_prob is None else keep_prob)
    if known is None:
        return rate if keep_prob is None else 1.0 - convert_to_tensor(keep_prob)
    found = known if keep_prob is None else 1.0 - known
    if not 0 <= found < 1:
        raise ValueError(f"`rate` must be a scalar in the range [0, 1), and keep_prob in (0, 1]. Got rate {found}")
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor):
        found = constant_value(value)
        return None if found is None else float(found)
    return float(value) if isinstance(value, numbers.Real) else None


def as_noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """`noise_shape` with the sizes of `x` where it has none; sizes, or tensors if they are not known yet."""
    if noise_shape is None:
        return x.shape if x.shape.is_fully_defined() else get_op("Shape")(x)
    if isinstance(noise_shape, Tensor):
        return noise_shape
    if isinstance(noise_shape, list | tuple) and any(isinstance(size, Tensor) for size in noise_shape):
        return noise_shape
    wanted, known = list(TensorShape([None if d == -1 else d for d in noise_shape]).as_list()), x.shape.tuple
    if known is not None and len(known) == len(wanted):
        wanted = [k if w is None else w for w, k in zip(wanted, known, strict=True)]
    if None not in wanted:
        return wanted
    sizes = get_op("Shape")(x)
    return [sizes[i] if w is None else w for i, w in enumerate(wanted)]
