"""Posteriors of Gaussian processes, several at a time: one for each sample of the hyperparameters (section 2.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from penstock.tune.kernels import Kernel, scaled_squares

JITTER = 1e-9  # the least noise, in units of the amplitude


@dataclass(frozen=True)
class Hyperparameters:
    """S samples of them: mean, amplitude (a variance) and noise (a variance) [S], length scales [S, D]."""

    mean: Tensor
    amplitude: Tensor
    noise: Tensor
    length_scales: Tensor

    def scaled(self, factor: Tensor) -> Hyperparameters:
        """Those of observations that are `factor` times as large."""
        square = factor.square()
        return Hyperparameters(self.mean * factor, self.amplitude * square, self.noise * square, self.length_scales)


def cholesky(matrices: Tensor) -> Tensor:
    """Lower factors of `matrices` [S, n, n]. Those that rounding made indefinite get more on their diagonal."""
    factors, failed = torch.linalg.cholesky_ex(matrices)
    jitter = JITTER
    while failed.any():
        jitter *= 10
        if jitter > 1:
            raise ValueError("the covariance of the observations is not positive definite, or not finite")
        scale = matrices.diagonal(dim1=-2, dim2=-1).mean(-1) * jitter * (failed != 0)
        matrices = matrices + torch.diag_embed(scale.unsqueeze(-1).expand(matrices.shape[:-1]))
        factors, failed = torch.linalg.cholesky_ex(matrices)
    return factors


class GaussianProcess:
    """S posteriors given `x` [n, D] and `y`: [n], or [S, n, F] where each posterior has F sets of observations.

    The F sets share their covariance, so fantasies (section 3.3) cost little more than one set.
    """

    def __init__(self, kernel: Kernel, x: Tensor, y: Tensor, hyper: Hyperparameters) -> None:
        self.kernel, self.x, self.hyper = kernel, x, hyper
        self.y = y if y.dim() == 3 else y.reshape(1, -1, 1).expand(len(hyper.mean), -1, 1)
        self._mean = hyper.mean.reshape(-1, 1, 1)
        self._amplitude = hyper.amplitude.reshape(-1, 1, 1)
        noise = hyper.noise + JITTER * hyper.amplitude
        covariance = self._covariance(x, x) + torch.diag_embed(noise.unsqueeze(-1).expand(-1, len(x)))
        self.root = cholesky(covariance)
        # What points are predicted with, again and again: a product is faster than a triangular solution.
        eye = torch.eye(len(x), dtype=x.dtype).expand_as(covariance)
        self._inverse_root = torch.linalg.solve_triangular(self.root, eye, upper=False)
        self._residuals = self._inverse_root @ (self.y - self._mean)
        self._weights = self._inverse_root.mT @ self._residuals

    def _covariance(self, a: Tensor, b: Tensor) -> Tensor:
        return self._amplitude * self.kernel(scaled_squares(a, b, self.hyper.length_scales))

    def predict(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean [S, m, F] and variance [S, m] of the function (without noise) at `points` [m, D]."""
        across = self._covariance(points, self.x)
        explained = (across @ self._inverse_root.mT).square().sum(-1)
        least = 1e-14 * self.hyper.amplitude.unsqueeze(-1)
        return self._mean + across @ self._weights, torch.maximum(self.hyper.amplitude.unsqueeze(-1) - explained, least)

    def joint(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean [S, m, F] and covariance [S, m, m] of what would be observed at `points`: with noise."""
        across = self._covariance(points, self.x)
        explained = across @ self._inverse_root.mT
        covariance = self._covariance(points, points) - explained @ explained.mT
        noise = self.hyper.noise + JITTER * self.hyper.amplitude
        diagonal = torch.diag_embed(noise.unsqueeze(-1).expand(-1, len(points)))
        return self._mean + across @ self._weights, covariance + diagonal

    def log_likelihood(self) -> Tensor:
        """log p(y | hyperparameters) [S, F]: the closed form of section 3.1."""
        quadratic = self._residuals.square().sum(1)
        determinant = 2 * self.root.diagonal(dim1=-2, dim2=-1).log().sum(-1, keepdim=True)
        return -0.5 * (quadratic + determinant + len(self.x) * math.log(2 * math.pi))

    def with_fantasies(self, pending: Tensor, count: int, generator: torch.Generator) -> GaussianProcess:
        """Also given `count` draws of what the `pending` points [p, D] will observe (section 3.3).

        The draws are joint over the points, from each posterior. Pairs of them mirror each other, which makes the mean
        over an even number of them exact.
        """
        if not len(pending):
            return self
        mean, covariance = self.joint(pending)
        half = torch.randn((len(mean), len(pending), (count + 1) // 2), generator=generator, dtype=mean.dtype)
        drawn = mean + cholesky(covariance) @ torch.cat([half, -half], dim=-1)[..., :count]
        y = torch.cat([self.y.expand(-1, -1, count), drawn], dim=1)
        return GaussianProcess(self.kernel, torch.cat([self.x, pending]), y, self.hyper)
