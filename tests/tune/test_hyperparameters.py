"""The collapsed posterior of hyperparameters beside the whole one, by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from penstock.tune.gaussian_process import JITTER, GaussianProcess, Hyperparameters
from penstock.tune.hyperparameters import LONGEST, NOISE_SCALE, Evidence, sample_hyperparameters
from penstock.tune.kernels import matern52


def data(count: int = 8, size: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    random = np.random.default_rng(0)
    x = random.random((count, size))
    y = np.sin(6 * x[:, 0]) + 0.1 * random.standard_normal(count)
    return torch.from_numpy(x), torch.from_numpy((y - y.mean()) / y.std())


GROUPS = torch.tensor([0, 1])


def whole_density(x: torch.Tensor, y: torch.Tensor, point: list[float]) -> np.ndarray:
    """log p(y | θ) p(θ) for log length scales and log noise ratio `point`, over a grid of mean and log amplitude."""
    means, logs = np.meshgrid(np.linspace(-8, 8, 161), np.linspace(-5, 9, 141), indexing="ij")
    mean, amplitude = torch.from_numpy(means.ravel()), torch.from_numpy(np.exp(logs.ravel()))
    noise = amplitude * math.exp(point[-1])
    scales = torch.tensor(point[:-1], dtype=torch.float64).exp().expand(len(mean), -1)
    hyper = Hyperparameters(mean, amplitude, noise - JITTER * amplitude, scales)
    likelihood = GaussianProcess(matern52, x, y, hyper).log_likelihood()[:, 0]
    horseshoe = torch.log(torch.log1p((NOISE_SCALE / noise) ** 2))
    walked_in_log = noise.log() + sum(point[:-1])  # of noise (a density over noise), and of uniform length scales
    return (likelihood - 0.5 * (amplitude.log() / 2) ** 2 + horseshoe + walked_in_log).reshape(means.shape).numpy()


POINTS = [[-1.0, 0.2, -4.0], [-0.5, -0.5, -7.0], [-2.0, 0.6, -1.0]]


def test_mean_and_amplitude_are_integrated_out_of_likelihood_and_priors() -> None:
    x, y = data()
    want = [np.logaddexp.reduce(whole_density(x, y, point), axis=None) for point in POINTS]
    found = Evidence(matern52, x, y, GROUPS).log_density(np.array(POINTS))
    np.testing.assert_allclose(np.diff(found), np.diff(want), atol=0.02)


def test_mean_and_amplitude_are_drawn_from_their_posterior_given_the_rest() -> None:
    x, y = data()
    density = whole_density(x, y, POINTS[0])
    weights = np.exp(density - density.max())
    weights /= weights.sum()
    means, logs = np.meshgrid(np.linspace(-8, 8, 161), np.linspace(-5, 9, 141), indexing="ij")
    drawn = Evidence(matern52, x, y, GROUPS).draw(np.repeat(POINTS[:1], 20_000, axis=0), np.random.default_rng(0))
    for found, values in ((drawn.mean, means), (drawn.amplitude.log(), logs)):
        mean = (weights * values).sum()
        deviation = math.sqrt((weights * (values - mean) ** 2).sum())
        assert float(found.mean()) == pytest.approx(mean, abs=0.03)
        assert float(found.std()) == pytest.approx(deviation, rel=0.04)
    np.testing.assert_allclose(drawn.noise / drawn.amplitude, math.exp(-4))
    np.testing.assert_allclose(drawn.length_scales[0], np.exp(POINTS[0][:2]))


def test_length_scales_have_a_longest() -> None:
    evidence = Evidence(matern52, *data(), GROUPS)
    edge = math.log(LONGEST)
    density = evidence.log_density(np.array([[0.0, edge - 1e-6, -4.0], [0.0, edge + 1e-6, -4.0]]))
    assert math.isfinite(density[0])
    assert density[1] == -math.inf


def test_columns_of_a_group_share_a_length_scale() -> None:
    x, y = data(size=3)
    evidence = Evidence(matern52, x, y, torch.tensor([0, 1, 1]))
    drawn = evidence.draw(np.array([[-1.0, 0.5, -4.0]]), np.random.default_rng(0))
    np.testing.assert_allclose(drawn.length_scales[0].log(), [-1, 0.5, 0.5])
    apart = Evidence(matern52, x, y, torch.tensor([0, 1, 2]))
    difference = apart.log_density(np.array([[-1.0, 0.5, 0.5, -4.0]])) - evidence.log_density(
        np.array([[-1.0, 0.5, -4.0]])
    )
    np.testing.assert_allclose(difference, 0.5)  # the third's prior, in log


def test_chains_find_which_input_matters_and_how_much_noise_there_is() -> None:
    random = np.random.default_rng(1)
    x = random.random((60, 2))
    y = np.sin(9 * x[:, 0]) + 0.3 * random.standard_normal(60)
    y = (y - y.mean()) / y.std()
    evidence = Evidence(matern52, torch.from_numpy(x), torch.from_numpy(y), GROUPS)
    state = sample_hyperparameters(evidence, evidence.start(20, random), 20, random)
    drawn = evidence.draw(state, random)
    assert float(drawn.length_scales[:, 0].median()) < 0.6 < float(drawn.length_scales[:, 1].median())
    assert 0.08 < float(drawn.noise.median()) < 0.35  # 0.3² / 0.59 = 0.15


def test_a_noise_free_objective_has_no_noise() -> None:
    random = np.random.default_rng(1)
    evidence = Evidence(matern52, *data(), GROUPS, noise_free=True)
    state = sample_hyperparameters(evidence, evidence.start(4, random), 5, random)
    drawn = evidence.draw(state, random)
    assert float((drawn.noise / drawn.amplitude).max()) <= 1e-8
    assert np.isfinite(state).all()


def test_observations_that_are_all_alike_have_a_posterior() -> None:
    random = np.random.default_rng(1)
    evidence = Evidence(matern52, data()[0], torch.zeros(8, dtype=torch.float64), GROUPS)
    state = sample_hyperparameters(evidence, evidence.start(3, random), 5, random)
    assert np.isfinite(evidence.log_density(state)).all()
    assert all(values.isfinite().all() for values in vars(evidence.draw(state, random)).values())
