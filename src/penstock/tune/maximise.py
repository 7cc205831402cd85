"""The maximum of an acquisition function over the domains of a search space.

Many candidates are compared; the best are improved, all at once: along the gradient where parameters are continuous, by
trying all values of one parameter after the other where they are discrete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from penstock.tune.space import Domain

Function = Callable[[Tensor], Tensor]

CANDIDATES = 512  # spread over the cube
NEARBY = 40  # around each of the best points known
STARTS = 10
ROUNDS = 3  # of slopes and single values, in turn
STEPS = 40


def maximise(
    function: Function, domains: Sequence[Domain], known: Tensor, random: np.random.Generator, barred: Tensor
) -> Tensor:
    """The best point found. `known` [k, D] are points worth looking around; `barred` [b, D] may not be the result."""
    size = known.shape[1]
    engine = torch.quasirandom.SobolEngine(size, scramble=True, seed=int(random.integers(2**31)))
    spread = engine.draw(CANDIDATES, dtype=torch.float64)
    near = _around(known, random)
    found, owners = [], []
    for number, domain in enumerate(domains):
        part = torch.cat([spread[number :: len(domains)], near[number :: len(domains)]])
        found.append(domain.project(part))
        owners.append(torch.full((len(part),), number))
    points, owner = torch.cat(found), torch.cat(owners)
    with torch.no_grad():
        values = function(points)
    first = _starts(points, values)
    points, owner, values = points[first], owner[first], values[first]

    free = torch.stack([domains[number].free for number in owner.tolist()])
    enumerated = any(domain.enumerated.any() for domain in domains)
    for _ in range(ROUNDS if enumerated else 1):
        before = values
        points = climb(function, points, free)
        rounded = [domains[number].project(point[None]) for number, point in zip(owner.tolist(), points, strict=True)]
        points, values = _best_of_each(function, _neighbours(rounded, [domains[n] for n in owner.tolist()]))
        if not (values > before + 1e-6).any():
            break
    order = values.argsort(descending=True)
    for point in points[order]:
        if not _is_among(point, barred):
            return point
    return _unbarred(function, torch.cat(found), barred)


def climb(function: Function, points: Tensor, free: Tensor, steps: int = STEPS) -> Tensor:
    """Local maxima in the unit cube from `points` [m, D], along the coordinates that are `free` [m, D].

    BFGS with bounds by projection, for all points together: each has its own step, so one evaluation serves all. What D
    is here, the whole inverse Hessian costs less than the two loops that avoid it.
    """
    value, slope = _with_gradient(function, points)
    identity = torch.eye(points.shape[1], dtype=points.dtype).expand(len(points), -1, -1)
    hessian = 0.1 * identity / slope.norm(dim=-1).clamp_min(1e-12)[:, None, None]  # inverse, of the negated function
    length = torch.ones_like(value)
    failures = torch.zeros(len(points), dtype=torch.long)
    direction, fresh = slope, torch.ones(len(points), dtype=torch.bool)
    for _ in range(steps):
        usable = free & ~((points <= 0) & (slope < 0)) & ~((points >= 1) & (slope > 0))
        uphill = torch.where(usable, slope, 0)
        newest = torch.where(usable, (hessian @ uphill.unsqueeze(-1)).squeeze(-1), 0)
        wrong = (newest * uphill).sum(-1) <= 0
        hessian = torch.where(
            wrong[:, None, None], 0.1 * identity / uphill.norm(dim=-1).clamp_min(1e-12)[:, None, None], hessian
        )
        newest = torch.where(wrong.unsqueeze(-1), (hessian @ uphill.unsqueeze(-1)).squeeze(-1), newest)
        newest = newest / (newest.abs().amax(-1, keepdim=True) / 0.25).clamp_min(1)
        direction = torch.where(fresh.unsqueeze(-1), newest, direction)
        moved = torch.where(free, (points + length.unsqueeze(-1) * direction).clamp(0, 1), points)
        new_value, new_slope = _with_gradient(function, moved)
        step = torch.where(free, moved - points, 0)
        better = new_value > value + 1e-4 * (step * slope).sum(-1).clamp_min(0)
        change = torch.where(free, slope - new_slope, 0)
        hessian = torch.where(better[:, None, None], _bfgs(hessian, step, change), hessian)
        gain = torch.where(better, new_value - value, torch.inf)
        points = torch.where(better.unsqueeze(-1), moved, points)
        slope = torch.where(better.unsqueeze(-1), new_slope, slope)
        value = torch.where(better, new_value, value)
        fresh = better
        length = torch.where(better, 1.0, 0.25 * length)
        failures = torch.where(better & (gain > 1e-8), 0, failures + 1)
        if (failures > 4).all():
            break
    return points


def _bfgs(inverse: Tensor, step: Tensor, change: Tensor) -> Tensor:
    """The update of an inverse Hessian; none where the curvature is not positive."""
    product = (step * change).sum(-1)[:, None, None]
    sound = product > 1e-14
    product = torch.where(sound, product, 1)
    left = torch.eye(step.shape[1], dtype=step.dtype) - step.unsqueeze(-1) * change.unsqueeze(-2) / product
    updated = left @ inverse @ left.mT + step.unsqueeze(-1) * step.unsqueeze(-2) / product
    return torch.where(sound, updated, inverse)


def _with_gradient(function: Function, points: Tensor) -> tuple[Tensor, Tensor]:
    points = points.detach().requires_grad_()
    with torch.enable_grad():
        values = function(points)
        (slope,) = torch.autograd.grad(values.sum(), points)
    return values.detach(), slope.nan_to_num()


def _around(known: Tensor, random: np.random.Generator) -> Tensor:
    """Points near the known ones, at distances from a thousandth of the cube to a fifth, in some coordinates."""
    repeated = known.repeat_interleave(NEARBY, 0)
    distance = torch.from_numpy(10 ** random.uniform(-3, -0.7, size=(len(repeated), 1)))
    steps = distance * torch.from_numpy(random.standard_normal(repeated.shape))
    changed = torch.from_numpy(random.random(repeated.shape) < random.random((len(repeated), 1)))
    # A parameter that is inactive there may be active in the domain of the new point: somewhere.
    moved = torch.where(changed, repeated + steps, repeated)
    return torch.where(moved.isnan(), torch.from_numpy(random.random(repeated.shape)), moved)


def _starts(points: Tensor, values: Tensor) -> Tensor:
    """Indices of the best candidates that are not all in one place: half of them as they come, half far from others."""
    order = values.argsort(descending=True)[: 20 * STARTS]
    chosen = [int(order[0])]
    gaps = torch.full((len(order),), torch.inf, dtype=points.dtype)
    near = points[order].nan_to_num(0.5)
    for turn in range(STARTS - 1):
        gaps = torch.minimum(gaps, (near - points[chosen[-1]].nan_to_num(0.5)).abs().amax(-1))
        apart = (gaps > (0.1 if turn % 2 else 1e-3)).nonzero()
        if not len(apart):
            break
        chosen.append(int(order[apart[0, 0]]))
    return torch.tensor(chosen)


def _neighbours(points: list[Tensor], owners: list[Domain]) -> list[Tensor]:
    """For each point itself and all that differ from it in one enumerated parameter."""
    families = []
    for point, domain in zip(points, owners, strict=True):
        family = [point]
        for index in domain.enumerated.nonzero().flatten().tolist():
            values = domain.values[index]
            assert values is not None
            others = point.repeat(len(values), 1)
            others[:, index] = values
            family.append(others)
        families.append(torch.cat(family))
    return families


def _best_of_each(function: Function, families: list[Tensor]) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        values = function(torch.cat(families)).split([len(family) for family in families])
    best = [int(value.argmax()) for value in values]
    points = torch.stack([family[index] for family, index in zip(families, best, strict=True)])
    return points, torch.stack([value[index] for value, index in zip(values, best, strict=True)])


def _is_among(point: Tensor, points: Tensor) -> bool:
    return bool(torch.isclose(points, point, rtol=0, atol=1e-9, equal_nan=True).all(-1).any()) if len(points) else False


def _unbarred(function: Function, points: Tensor, barred: Tensor) -> Tensor:
    """The best candidate that is not barred; of all if all are."""
    with torch.no_grad():
        order = function(points).argsort(descending=True)
    return next((point for point in points[order] if not _is_among(point, barred)), points[order[0]])
