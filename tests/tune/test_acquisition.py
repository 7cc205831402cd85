"""Acquisition functions beside numerical integration, arbitrary precision and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from penstock.tune.acquisition import (
    Integrated,
    log_expected_improvement,
    log_probability_of_improvement,
    lower_confidence_bound,
)
from penstock.tune.gaussian_process import GaussianProcess, Hyperparameters
from penstock.tune.kernels import matern52


def tensor(values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


MEANS = np.array([-1.0, 0.0, 0.4, 2.0, 5.0])
DEVIATIONS = np.array([0.3, 1.0, 2.0, 0.7, 1.5])
BEST = 0.25


def predicted() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return tensor(MEANS).view(1, -1, 1), tensor(DEVIATIONS).view(1, -1), tensor([[BEST]])


def integral(function: np.ufunc) -> np.ndarray:
    """E[function(f)] for f ~ N(mean, deviation²)."""
    z = np.linspace(-12, 12, 2_000_001)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    return np.array([(function(m + d * z) * density).sum() for m, d in zip(MEANS, DEVIATIONS, strict=True)])


def test_expected_improvement_is_the_integral_of_improvements() -> None:
    want = integral(lambda f: np.maximum(BEST - f, 0))  # type: ignore[arg-type]
    np.testing.assert_allclose(log_expected_improvement(*predicted())[0, :, 0].exp(), want, rtol=1e-6)


def test_probability_of_improvement_is_the_integral_where_there_is_one() -> None:
    want = integral(lambda f: f < BEST)  # type: ignore[arg-type]
    np.testing.assert_allclose(log_probability_of_improvement(*predicted())[0, :, 0].exp(), want, rtol=1e-4)


def test_the_lower_confidence_bound_is_negated_so_that_more_is_better() -> None:
    found = lower_confidence_bound(*predicted(), kappa=1.5)[0, :, 0]
    np.testing.assert_allclose(found, -(MEANS - 1.5 * DEVIATIONS))


@pytest.mark.parametrize(
    ("z", "want"),
    [  # log(z Φ(z) + φ(z)), computed with 400 digits
        (10.0, 2.302585092994045684),
        (0.0, -0.91893853320467274178),
        (-0.999, -2.4832171154475854429),
        (-1.001, -2.4870256579553894227),
        (-5.0, -16.744301162660990143),
        (-40.0, -808.29856835661996024),
        (-9999.0, -49990019.839419297162),
        (-10001.0, -50010019.839819297152),
        (-1e6, -500000000028.54995965),
    ],
)
def test_log_expected_improvement_is_exact_far_from_the_best_point(z: float, want: float) -> None:
    def log_ei(mean: torch.Tensor) -> torch.Tensor:
        return log_expected_improvement(mean.view(1, 1, 1), tensor([[1.0]]), tensor([[0.0]])).sum()

    mean = tensor(-z).requires_grad_()
    found = log_ei(mean)
    assert found.item() == pytest.approx(want, rel=1e-9, abs=1e-12)
    (slope,) = torch.autograd.grad(found, mean)
    step = 1e-4 * max(1.0, abs(z))
    around = [float(log_ei(tensor(-z + sign * step))) for sign in (-1, 1)]
    assert float(slope) == pytest.approx((around[1] - around[0]) / (2 * step), rel=1e-4, abs=1e-9)


def models(seed: int, samples: int = 3) -> GaussianProcess:
    random = np.random.default_rng(seed)
    draw = [torch.from_numpy(random.uniform(0.2, 1, size=(samples, 4)))]
    hyper = Hyperparameters(draw[0][:, 0], draw[0][:, 1], 0.01 * draw[0][:, 2], draw[0][:, :2] + 0.1)
    x = torch.from_numpy(random.random((6, 2)))
    return GaussianProcess(matern52, x, torch.from_numpy(random.standard_normal(6)), hyper)


AT = torch.from_numpy(np.random.default_rng(9).random((5, 2)))


@pytest.mark.parametrize(("name", "log"), [("ei", True), ("pi", True), ("lcb", False)])
def test_the_integrated_acquisition_is_the_mean_over_hyperparameters_and_fantasies(name: str, log: bool) -> None:
    whole = models(0).with_fantasies(AT[:2] + 0.05, 4, torch.Generator().manual_seed(1))
    total = np.zeros(5)
    for s in range(3):
        one = Hyperparameters(*(values[s : s + 1] for values in vars(whole.hyper).values()))
        for f in range(4):
            alone = Integrated(name, GaussianProcess(matern52, whole.x, whole.y[s, :, f], one))(AT)
            total += (alone.exp() if log else alone).numpy() / 12
    found = Integrated(name, whole)(AT)
    np.testing.assert_allclose(found.exp() if log else found, total)


def test_the_gain_a_second_is_the_gain_times_the_expected_inverse_of_the_cost() -> None:
    model, costs = models(0), models(1)
    mean, variance = (values.numpy() for values in costs.predict(AT))
    random = np.random.default_rng(2).standard_normal(400_000)
    inverse = [np.exp(-(mean[:, i] + np.sqrt(variance[:, i : i + 1]) * random)).mean() for i in range(5)]
    found = (Integrated("ei", model, costs)(AT) - Integrated("ei", model)(AT)).exp()
    np.testing.assert_allclose(found, inverse, rtol=0.01)
    with pytest.raises(ValueError, match="'lcb' is not a gain"):
        Integrated("lcb", model, costs)


@pytest.mark.parametrize("name", ["ei", "pi", "lcb"])
def test_gradients_of_acquisitions_are_finite_differences(name: str) -> None:
    model = models(3).with_fantasies(AT[:1], 2, torch.Generator().manual_seed(1))
    acquire = Integrated(name, model, models(4) if name == "ei" else None)
    assert torch.autograd.gradcheck(acquire, AT.clone().requires_grad_(), eps=1e-6, atol=1e-6)


def test_with_noise_the_best_value_is_that_of_the_function_not_of_the_luckiest_observation() -> None:
    x = tensor([[0.5]] * 20)
    y = torch.from_numpy(np.random.default_rng(0).standard_normal(20))
    hyper = Hyperparameters(tensor([0.0]), tensor([1.0]), tensor([1.0]), tensor([[0.5]]))
    best = Integrated("ei", GaussianProcess(matern52, x, y, hyper)).best
    assert float(best) == pytest.approx(float(y.sum()) / 21, abs=1e-6)  # the mean, drawn to the prior's by one of 21
