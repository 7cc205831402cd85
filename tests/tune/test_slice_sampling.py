"""Slice sampling beside densities whose moments and quantiles are known."""

from __future__ import annotations

import math

import numpy as np

from penstock.tune.slice_sampling import Array, sample


def walk(log_density, start: Array, sweeps: int, every: int = 5, seed: int = 0) -> Array:  # type: ignore[no-untyped-def]
    """Points of all chains, [draws · chains, D]."""
    random, state, kept = np.random.default_rng(seed), start, []
    for _ in range(sweeps // every):
        state = sample(log_density, state, every, random, np.ones(start.shape[1]))
        kept.append(state)
    return np.concatenate(kept[5:])


def test_draws_from_a_correlated_normal_have_its_moments() -> None:
    mean, covariance = np.array([1.0, -2.0]), np.array([[1.0, 0.8], [0.8, 2.0]])
    precision = np.linalg.inv(covariance)

    def log_density(x: Array) -> Array:
        return -0.5 * np.einsum("ni,ij,nj->n", x - mean, precision, x - mean)

    draws = walk(log_density, np.zeros((100, 2)), 300)
    np.testing.assert_allclose(draws.mean(0), mean, atol=0.08)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.15)


def test_draws_from_a_bounded_density_have_its_distribution_function() -> None:
    """exp(-x) on [0, 1] and nothing outside, from a start at the edge (Kolmogorov and Smirnov's distance)."""

    def log_density(x: Array) -> Array:
        return np.where((x[:, 0] >= 0) & (x[:, 0] <= 1), -x[:, 0], -np.inf)

    draws = np.sort(walk(log_density, np.full((200, 1), 1e-3), 150)[:, 0])
    want = (1 - np.exp(-draws)) / (1 - math.exp(-1))
    distance = np.abs(want - np.arange(1, len(draws) + 1) / len(draws)).max()
    assert distance < 1.63 / math.sqrt(len(draws))  # 1%


def test_chains_cross_between_two_modes() -> None:
    def log_density(x: Array) -> Array:
        return np.logaddexp(-0.5 * (x[:, 0] + 2) ** 2, math.log(3) - 0.5 * (x[:, 0] - 2) ** 2)

    draws = walk(log_density, np.full((100, 1), -2.0), 300)
    assert abs((draws > 0).mean() - 0.75) < 0.04


def test_a_seed_says_where_chains_go_and_chains_do_not_depend_on_each_other() -> None:
    def log_density(x: Array) -> Array:
        return -0.5 * (x**2).sum(1)

    start, widths = np.zeros((4, 3)), np.ones(3)
    first, again = (sample(log_density, start, 7, np.random.default_rng(5), widths) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first)) == 12
    moved = start.copy()
    moved[3] = 1.0
    np.testing.assert_array_equal(sample(log_density, moved, 7, np.random.default_rng(5), widths)[:3], first[:3])


def test_all_chains_are_evaluated_together() -> None:
    """Five chains take as many evaluations as the slowest of them, not as all."""
    sizes = []

    def log_density(x: Array) -> Array:
        sizes.append(len(x))
        return -0.5 * (x**2).sum(1)

    sample(log_density, np.zeros((5, 2)), 10, np.random.default_rng(0), np.ones(2))
    assert np.mean(sizes) > 5
