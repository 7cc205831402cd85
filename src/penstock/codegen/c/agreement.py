"""Whether two ways to compute the same agree: as exactly as rounding lets them, and no more exactly than that.

Most results are alike but for their last bits. Where they are not, the question is whether the numbers are such that
any rounding decides: a difference of large numbers, a tie of two scores. So what is computed is computed again from
inputs of which the last bits are changed, and what varies as much as that was no mistake.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

CLOSE = {torch.float64: 1e-11, torch.float32: 1e-4}
"""Of the largest element of a result, or ten times that of an element itself: differences that need no second look."""
CLOSE_16_BITS = 0.05
VARIATIONS = 8
CHANGE = 8.0
"""By how many of its last bits an input is changed."""
MARGIN = 32.0
"""Times as much as what the results of changed inputs differ by is no mistake."""
FLOOR = 16.0
"""Last bits of the largest number that is there: what is lost where all else cancels."""

Values = Sequence[Any]


def tensors(values: Values) -> list[torch.Tensor]:
    """Tensors of arrays and tensors."""
    return [value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value)) for value in values]


def are_close(found: Values, wanted: Values) -> bool:
    """Whether all of `found` needs no second look."""
    return all(_is_close(f, w) for f, w in zip(tensors(found), tensors(wanted), strict=True))


def agree(found: Values, wanted: Values, taken: Values, varied: Callable[[], Iterator[Values]]) -> str:
    """What is wrong with `found`, as words for people; nothing if it differs from `wanted` by rounding at most.

    taken: what both were computed from. varied: gives results of the way that is believed, for changed inputs.
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
        if value is None:
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
    """Numbers that take none of the program's own."""
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
