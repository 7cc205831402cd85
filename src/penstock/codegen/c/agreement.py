"""Whether two computations of the same results agree, up to rounding errors.

Most results differ at most in their last bits. If they differ more, the reason may be that rounding is decisive, as in
the difference of large numbers or a tie of two scores. So the results are computed again from inputs whose last bits
are changed; differences no larger than that variation are not errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

CLOSE = {torch.float64: 1e-11, torch.float32: 1e-4}
"""Accepted differences, relative to a result's largest element, or ten times that relative to the element itself."""
CLOSE_16_BITS = 0.05
VARIATIONS = 8
CHANGE = 8.0
"""How many of its last bits are changed in an input."""
MARGIN = 32.0
"""Accepted differences, as a multiple of the variation of results for changed inputs."""
FLOOR = 16.0
"""Accepted differences in last bits of the largest number: what is lost if everything else cancels."""

Values = Sequence[Any]


def tensors(values: Values) -> list[torch.Tensor]:
    """Converts arrays and tensors to tensors; strings, to their bytes."""
    return [
        value if isinstance(value, torch.Tensor) else torch.from_numpy(_numbers(np.array(value))) for value in values
    ]


def _numbers(array: np.ndarray) -> np.ndarray:
    """The array itself, or the lengths and bytes of its strings."""
    if array.dtype != object:
        return array
    texts = array.reshape(-1).tolist()
    lengths = np.array([*array.shape, *map(len, texts)], np.int64)
    return np.concatenate([lengths.view(np.uint8), np.frombuffer(b"".join(texts), np.uint8)])


def are_close(found: Values, wanted: Values) -> bool:
    """Whether all of `found` is close without a second check."""
    return all(_is_close(f, w) for f, w in zip(tensors(found), tensors(wanted), strict=True))


def agree(found: Values, wanted: Values, taken: Values, varied: Callable[[], Iterator[Values]]) -> str:
    """What is wrong with `found`, as a readable text; empty if it differs from `wanted` by at most rounding.

    taken: the inputs of both. varied: computes the trusted results for changed inputs.
    """
    found, wanted = tensors(found), tensors(wanted)
    suspects = [i for i, (f, w) in enumerate(zip(found, wanted, strict=True)) if not _is_close(f, w)]
    if not suspects:
        return ""
    largest = max(map(_largest, tensors([*taken, *wanted])), default=0.0)
    distances = {i: _distance(found[i], wanted[i]) for i in suspects}
    allowed = {i: FLOOR * _last_bit(wanted[i]) * max(1.0, largest) for i in suspects}
    if any(distances[i] > allowed[i] for i in suspects):
        for results in varied():
            for i, other in enumerate(tensors(results)):
                if i in allowed:
                    allowed[i] = max(allowed[i], MARGIN * _distance(other, wanted[i]))
    for i in suspects:
        if distances[i] > allowed[i]:
            return f"result {i} is off by {distances[i]:.3g} where {_largest(wanted[i]):.3g} is the largest number"
    return ""


def changed(values: Values) -> list[Any]:
    """`values` with the last bits of their floats changed at random, up or down; all of them copied."""
    result: list[Any] = []
    for value in values:
        if isinstance(value, list):
            result.append(changed(value))
            continue
        if not isinstance(value, torch.Tensor | np.ndarray | np.generic) or value.dtype == object:
            result.append(value)
            continue
        (tensor,) = tensors([value])
        if tensor.is_floating_point():
            signs = torch.randint(0, 2, tensor.shape, generator=_random(), dtype=torch.int8)
            signs = signs.to(tensor.device, tensor.dtype) * 2 - 1
            tensor = tensor * (1 + CHANGE * torch.finfo(tensor.dtype).eps * signs)
        else:
            tensor = tensor.clone()
        result.append(tensor if isinstance(value, torch.Tensor) else tensor.numpy())
    return result


def _random() -> torch.Generator:
    """Random numbers that do not consume the program's."""
    return torch.Generator().manual_seed(next(_seeds))


_seeds = itertools.count()


def _is_close(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if not wanted.numel() or torch.equal(found, wanted):
        return True
    if not wanted.is_floating_point():
        return False
    close = CLOSE.get(wanted.dtype, CLOSE_16_BITS)
    if bool((found - wanted).abs().max() <= close * 0.1 * wanted.abs().max()):
        return True
    same = (found == wanted) | (found.isnan() & wanted.isnan())
    both = found.isfinite() & wanted.isfinite()
    if not bool((same | both).all()):
        return False
    size = torch.where(both, wanted.abs(), 0)
    off = torch.where(both & ~same, (found - wanted).abs(), 0)
    return bool((off <= close * torch.maximum(size, 0.1 * size.max())).all())


def _distance(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """The largest difference; infinite where one is a number and the other is not, or integers differ."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return float("inf")
    if torch.equal(found, wanted):
        return 0.0
    if not wanted.is_floating_point():
        return float("inf")
    f, w = found.double(), wanted.double()
    off = torch.where((f == w) | (f.isnan() & w.isnan()), 0.0, (f - w).abs())
    return float(off.nan_to_num(float("inf")).max())


def _largest(tensor: torch.Tensor) -> float:
    if not tensor.is_floating_point() or not tensor.numel():
        return 0.0
    return float(tensor.double().abs().nan_to_num(0.0, 0.0, 0.0).max())


def _last_bit(tensor: torch.Tensor) -> float:
    return float(torch.finfo(tensor.dtype).eps) if tensor.is_floating_point() else 0.0
