"""Kernels and posteriors beside formulas, scikit-learn and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from penstock.tune.gaussian_process import GaussianProcess, Hyperparameters, cholesky
from penstock.tune.kernels import KERNELS, matern52, scaled_squares, squared_exponential


def tensor(values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def points(count: int, size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((count, size))


HYPER = Hyperparameters(
    mean=tensor([0.3, -0.2]),
    amplitude=tensor([1.7, 0.6]),
    noise=tensor([0.01, 0.2]),
    length_scales=tensor([[0.4, 0.9, 0.2], [1.5, 0.3, 0.7]]),
)


def test_kernels_are_the_papers_formulas() -> None:
    a, b, scales = points(4, 3), points(5, 3, seed=1), np.array([[0.2, 0.5, 1.5], [1, 2, 0.1]])
    squares = (((a[None, :, None] - b[None, None]) / scales[:, None, None]) ** 2).sum(-1)
    found = scaled_squares(*map(torch.from_numpy, (a, b, scales)))
    np.testing.assert_allclose(found, squares, atol=1e-12)
    r = np.sqrt(5 * squares)
    np.testing.assert_allclose(matern52(found), (1 + r + 5 / 3 * squares) * np.exp(-r), rtol=1e-11)
    np.testing.assert_allclose(squared_exponential(found), np.exp(-squares / 2), rtol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_of_a_kernel_is_finite_where_two_points_are_one(kernel: str) -> None:
    x = torch.zeros((1, 2), dtype=torch.float64, requires_grad=True)
    KERNELS[kernel](scaled_squares(x, x.detach(), torch.ones((1, 2), dtype=torch.float64))).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0, 0]]


@pytest.mark.parametrize("kernel", KERNELS)
def test_posterior_and_likelihood_are_those_of_scikit_learn(kernel: str) -> None:
    gaussian_process = pytest.importorskip("sklearn.gaussian_process")
    kernels = gaussian_process.kernels
    x, at = points(12, 3), points(7, 3, seed=1)
    y = np.sin(5 * x[:, 0]) + x[:, 1]
    found = GaussianProcess(KERNELS[kernel], torch.from_numpy(x), torch.from_numpy(y), HYPER)
    mean, variance = found.predict(torch.from_numpy(at))
    joint_mean, joint = found.joint(torch.from_numpy(at))
    likelihood = found.log_likelihood()
    for s in range(2):
        scales, noise = HYPER.length_scales[s].numpy(), float(HYPER.noise[s])
        shape = kernels.Matern(scales, nu=2.5) if kernel == "matern52" else kernels.RBF(scales)
        whole = kernels.ConstantKernel(float(HYPER.amplitude[s])) * shape
        reference = gaussian_process.GaussianProcessRegressor(whole, alpha=noise, optimizer=None)
        reference.fit(x, y - float(HYPER.mean[s]))
        want_mean, want = reference.predict(at, return_cov=True)
        np.testing.assert_allclose(mean[s, :, 0], want_mean + float(HYPER.mean[s]), rtol=1e-6)
        np.testing.assert_allclose(variance[s], want.diagonal(), rtol=1e-5)
        np.testing.assert_allclose(joint_mean[s, :, 0], mean[s, :, 0])
        np.testing.assert_allclose(joint[s], want + noise * np.eye(7), rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(float(likelihood[s, 0]), reference.log_marginal_likelihood_value_, rtol=1e-6)


def test_without_noise_the_posterior_goes_through_the_observations() -> None:
    x, y = torch.from_numpy(points(9, 2)), torch.from_numpy(points(9, 1)[:, 0])
    hyper = Hyperparameters(tensor([0.5]), tensor([1.0]), tensor([0.0]), tensor([[0.3, 0.3]]))
    mean, variance = GaussianProcess(matern52, x, y, hyper).predict(x)
    np.testing.assert_allclose(mean[0, :, 0], y, atol=1e-6)
    assert float(variance.max()) < 1e-6


def test_a_point_observed_twice_without_noise_still_has_a_posterior() -> None:
    x = tensor([[0.1], [0.1], [0.1], [0.9]])
    hyper = Hyperparameters(tensor([0.0]), tensor([1.0]), tensor([0.0]), tensor([[0.5]]))
    mean, variance = GaussianProcess(matern52, x, tensor([1.0, 1.2, 1.1, -1.0]), hyper).predict(x)
    np.testing.assert_allclose(mean[0, :, 0], [1.1, 1.1, 1.1, -1.0], atol=1e-3)
    assert (variance > 0).all()


def test_a_matrix_that_rounding_made_indefinite_has_a_factor_and_its_neighbours_are_unchanged() -> None:
    good = tensor([[2.0, 1.0], [1.0, 2.0]])
    bad = tensor([[1.0, 1.0], [1.0, 1.0 - 1e-12]])
    factors = cholesky(torch.stack([good, bad]))
    np.testing.assert_array_equal(factors[0], torch.linalg.cholesky(good))
    np.testing.assert_allclose(factors[1] @ factors[1].T, bad, atol=1e-6)
    with pytest.raises(ValueError, match="not positive definite"):
        cholesky(tensor([[[math.nan]]]))


def test_observations_of_another_size_have_scaled_hyperparameters() -> None:
    x, y = torch.from_numpy(points(6, 3)), torch.from_numpy(points(6, 1)[:, 0])
    mean, variance = GaussianProcess(matern52, x, y, HYPER).predict(x)
    large_mean, large_variance = GaussianProcess(matern52, x, 3 * y, HYPER.scaled(tensor(3.0))).predict(x)
    np.testing.assert_allclose(large_mean, 3 * mean)
    np.testing.assert_allclose(large_variance, 9 * variance)


def test_fantasies_are_drawn_from_the_joint_posterior_of_the_pending_points() -> None:
    x, pending = torch.from_numpy(points(5, 3)), torch.from_numpy(points(3, 3, seed=1))
    model = GaussianProcess(matern52, x, torch.from_numpy(points(5, 1)[:, 0]), HYPER)
    mean, covariance = model.joint(pending)
    drawn = model.with_fantasies(pending, 20_000, torch.Generator().manual_seed(0)).y[:, 5:]
    np.testing.assert_allclose(drawn.mean(-1), mean[..., 0], atol=1e-9)  # exact, as pairs mirror each other
    for s in range(2):
        np.testing.assert_allclose(np.cov(drawn[s].numpy()), covariance[s], atol=0.03 * float(covariance[s].max()))


def test_the_posterior_given_fantasies_is_that_given_them_as_observations() -> None:
    x, pending, at = (torch.from_numpy(points(n, 3, seed)) for n, seed in ((5, 0), (2, 1), (4, 2)))
    model = GaussianProcess(matern52, x, torch.from_numpy(points(5, 1)[:, 0]), HYPER)
    fantasised = model.with_fantasies(pending, 3, torch.Generator().manual_seed(0))
    mean, variance = fantasised.predict(at)
    for f in range(3):
        for s in range(2):
            one = Hyperparameters(*(values[s : s + 1] for values in vars(HYPER).values()))
            alone = GaussianProcess(matern52, torch.cat([x, pending]), fantasised.y[s, :, f], one)
            np.testing.assert_allclose(mean[s, :, f], alone.predict(at)[0][0, :, 0])
            np.testing.assert_allclose(variance[s], alone.predict(at)[1][0])
    assert model.with_fantasies(pending[:0], 3, torch.Generator()) is model
