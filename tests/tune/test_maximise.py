"""Maxima of functions over search spaces, beside those that are known."""

from __future__ import annotations

import math

import numpy as np
import torch
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from torch import Tensor

from penstock.tune.maximise import climb, maximise
from penstock.tune.space import Domain, Space

NONE = torch.empty((0, 2), dtype=torch.float64)


def cube(*distributions: BaseDistribution) -> tuple[Space, Domain]:
    space = Space({f"x{index}": each for index, each in enumerate(distributions)})
    return space, Domain(space, np.ones(len(space), dtype=bool))


def find(
    function, domains: list[Domain], known: Tensor | None = None, barred: Tensor = NONE, seed: int = 0
) -> list[float]:  # type: ignore[no-untyped-def]
    known = torch.full((1, len(domains[0].active)), 0.5, dtype=torch.float64) if known is None else known
    return maximise(function, domains, known, np.random.default_rng(seed), barred).tolist()


CONTINUOUS = FloatDistribution(0, 1)


def test_slopes_are_climbed_to_the_top_from_each_start() -> None:
    """A narrow curved ridge (Rosenbrock's), from four starts at once."""

    def ridge(x: Tensor) -> Tensor:
        u, v = (3 * x - 1).unbind(-1)
        return -(100 * (v - u**2) ** 2 + (1 - u) ** 2)

    starts = torch.tensor([[0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [0.0, 0.0]], dtype=torch.float64)
    tops = climb(ridge, starts, torch.ones(4, 2, dtype=torch.bool), steps=150)
    np.testing.assert_allclose(tops, np.full((4, 2), 2 / 3), atol=1e-3)


def test_slopes_stop_at_the_walls_and_go_along_them() -> None:
    def outside(x: Tensor) -> Tensor:
        return -((x - torch.tensor([1.5, 0.3])) ** 2).sum(-1)

    starts = torch.tensor([[0.1, 0.9], [1.0, 1.0]], dtype=torch.float64)
    tops = climb(outside, starts, torch.ones(2, 2, dtype=torch.bool))
    np.testing.assert_allclose(tops, [[1, 0.3]] * 2, atol=1e-5)


def test_only_free_coordinates_are_climbed() -> None:
    starts = torch.tensor([[0.2, 0.2], [0.2, math.nan]], dtype=torch.float64)
    free = torch.tensor([[True, False], [True, False]])
    tops = climb(lambda x: -((x.nan_to_num(0.5) - 0.7) ** 2).sum(-1), starts, free)
    np.testing.assert_allclose(tops, [[0.7, 0.2], [0.7, math.nan]], atol=1e-5)


def test_the_highest_of_many_peaks_is_found() -> None:
    """A narrow peak far from what is known, among lower ones."""

    def peaks(x: Tensor) -> Tensor:
        wave = 0.1 * torch.cos(8 * math.pi * x).sum(-1)
        return wave + torch.exp(-((x - torch.tensor([0.83, 0.12])) ** 2).sum(-1) / 0.02)

    _, domain = cube(CONTINUOUS, CONTINUOUS)
    top = find(peaks, [domain])
    np.testing.assert_allclose(top, [0.83, 0.12], atol=0.05)
    best = peaks(torch.tensor([top], dtype=torch.float64)).item()
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 401, dtype=torch.float64)] * 2)
    assert best >= peaks(grid).max().item()


def test_discrete_values_are_found_beside_continuous_ones() -> None:
    """What is best for x depends on the choice, and both on the integer."""
    space, domain = cube(CONTINUOUS, CategoricalDistribution("abcde"), IntDistribution(0, 9))

    def function(points: Tensor) -> Tensor:
        choice, integer = (points[:, 1] * 5).floor(), (points[:, 2] * 10).floor()
        return -((points[:, 0] - 0.1 * choice - 0.05 * integer) ** 2) - (choice - 3) ** 2 - (integer - 7) ** 2

    found = find(function, [domain], barred=torch.empty((0, 3), dtype=torch.float64))
    assert space.decode(found) == {"x0": found[0], "x1": "d", "x2": 7}
    assert abs(found[0] - 0.65) < 1e-4


def test_large_integers_are_climbed_and_rounded() -> None:
    space, domain = cube(IntDistribution(0, 1000), CONTINUOUS)
    found = find(lambda x: -((x - torch.tensor([0.7654, 0.5])) ** 2).sum(-1), [domain])
    assert space.decode(found)["x0"] == 766  # (766 + 1/2) / 1001 is the nearest
    assert abs(found[1] - 0.5) < 1e-4


def test_of_several_domains_the_best_is_searched() -> None:
    space = Space({"x": CONTINUOUS, "y": CONTINUOUS})
    parts = [Domain(space, np.array(active)) for active in ([True, True], [True, False], [False, True])]

    def function(x: Tensor) -> Tensor:
        alone = x[:, 1].isnan()
        return torch.where(alone, 1 - (x[:, 0] - 0.4) ** 2, 0.0 * x.nan_to_num().sum(-1))

    found = find(function, parts, known=torch.tensor([[0.2, 0.9]], dtype=torch.float64))
    assert abs(found[0] - 0.4) < 1e-4
    assert math.isnan(found[1])


def test_what_is_barred_is_not_found_until_nothing_else_is_left() -> None:
    space, domain = cube(IntDistribution(0, 2), CategoricalDistribution("ab"))

    def function(x: Tensor) -> Tensor:
        return x.sum(-1)

    barred = NONE
    for _ in range(6):
        found = find(function, [domain], barred=barred)
        barred = torch.cat([barred, torch.tensor([found], dtype=torch.float64)])
    assert len({tuple(space.decode(point).values()) for point in barred.tolist()}) == 6
    assert barred.sum(-1).tolist() == sorted(barred.sum(-1).tolist(), reverse=True)
    assert find(function, [domain], barred=barred) == barred[0].tolist()
