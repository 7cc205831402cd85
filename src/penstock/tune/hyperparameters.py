"""Samples from the posterior of a Gaussian process's hyperparameters (section 3.1), by slice sampling.

Only the length scales and the ratio of noise to amplitude are walked over. Given those, one Cholesky factor says all
about mean and amplitude: the mean is integrated out in closed form and the amplitude on a grid, so a step costs no more
and chains mix better than if they walked over both. Afterwards both are drawn given the rest.

Priors are those of the paper's authors (their program Spearmint), for observations of zero mean and unit variance: mean
flat, amplitude log-normal, length scales uniform up to LONGEST on the unit cube, noise (a variance) horseshoe.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from penstock.tune.gaussian_process import JITTER, Hyperparameters
from penstock.tune.kernels import Kernel
from penstock.tune.slice_sampling import Array, sample

LONGEST = 2.0  # length scale
SHORTEST = 0.005
NOISE_SCALE = 0.1
AMPLITUDE_SPREAD = 2.0  # standard deviation of log amplitude
LEAST_RATIO, MOST_RATIO = JITTER, 1e4  # of noise to amplitude
# The grid over log amplitude, in standard deviations from its mode.
GRID = torch.linspace(-6, 6, 41, dtype=torch.float64)


class Evidence:
    """The posterior density of [log length scale of each group..., log ratio], mean and amplitude integrated out.

    `groups` [columns of x] numbers the length scale that each column has: the columns of a categorical parameter share
    one.
    """

    def __init__(self, kernel: Kernel, x: Tensor, y: Tensor, groups: Tensor, noise_free: bool = False) -> None:
        self.kernel, self.size, self.groups, self.noise_free = kernel, len(y), groups, noise_free
        squares = (x.unsqueeze(0) - x.unsqueeze(1)).square().reshape(-1, x.shape[1])
        count = int(groups.max()) + 1
        self.squares = torch.zeros((count, len(squares)), dtype=x.dtype).index_add_(0, groups, squares.T)
        self.sides = torch.stack([torch.ones_like(y), y], dim=-1)

    def start(self, chains: int, random: np.random.Generator) -> Array:
        """Where chains may start that have not been anywhere: length scales of medium size, little noise."""
        scales = np.log(random.uniform(0.1, 1, size=(chains, len(self.squares))))
        ratio = np.log(10 ** random.uniform(-6, -2, size=(chains, 1)))
        return np.concatenate([scales, ratio], axis=1)

    def log_density(self, points: Array) -> Array:
        """[m, groups + 1] -> [m]."""
        inside = self._inside(points)
        densities = np.full(len(points), -np.inf)
        if inside.any():
            _, total, _ = self._given(torch.from_numpy(points[inside]))
            densities[inside] = total.logsumexp(-1).numpy()
        return densities

    def draw(self, points: Array, random: np.random.Generator) -> Hyperparameters:
        """Whole samples: mean and amplitude drawn given each of `points`."""
        tensors = torch.from_numpy(points)
        grid, total, (ones, cross, _) = self._given(tensors)
        chances = torch.softmax(total, -1).cumsum(-1).numpy()
        cell = [min(int(np.searchsorted(row, random.random())), len(row) - 1) for row in chances]
        step = (grid[:, 1] - grid[:, 0]).numpy()
        log_amplitude = grid.numpy()[np.arange(len(points)), cell] + step * (random.random(len(points)) - 0.5)
        amplitude = torch.from_numpy(np.exp(log_amplitude))
        normal = torch.from_numpy(random.standard_normal(len(points)))
        mean = cross / ones + (amplitude / ones).sqrt() * normal
        return Hyperparameters(mean, amplitude, amplitude * self._ratio(tensors), tensors[:, self.groups].exp())

    def _inside(self, points: Array) -> NDArray[np.bool_]:
        scales, ratio = points[:, :-1], points[:, -1]
        known = ((scales >= math.log(SHORTEST)) & (scales <= math.log(LONGEST))).all(axis=1)
        return known & (ratio >= math.log(LEAST_RATIO)) & (ratio <= math.log(MOST_RATIO))

    def _ratio(self, points: Tensor) -> Tensor:
        return torch.full_like(points[:, -1], LEAST_RATIO) if self.noise_free else points[:, -1].exp()

    @torch.no_grad()
    def _given(self, points: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
        """A grid over log amplitude, the log density at each cell (times the cell's size), and 1'C⁻¹1, 1'C⁻¹y, y'C⁻¹y.

        C is the covariance in units of the amplitude.
        """
        scales, ratio = points[:, :-1], self._ratio(points)
        correlation = self.kernel((-2 * scales).exp() @ self.squares).view(-1, self.size, self.size)
        correlation.diagonal(dim1=-2, dim2=-1).add_(ratio.unsqueeze(-1))
        root, failed = torch.linalg.cholesky_ex(correlation)
        solved = torch.linalg.solve_triangular(root, self.sides.expand(len(points), -1, -1), upper=False)
        products = solved.mT @ solved
        ones, cross, y = products[:, 0, 0], products[:, 0, 1], products[:, 1, 1]
        residual = (y - cross.square() / ones).clamp_min(1e-12)  # of y around the mean that fits best
        logs = root.diagonal(dim1=-2, dim2=-1).log().sum(-1)

        # log p(y | amplitude a, rest) = -(n-1)/2 log a - residual/(2a) + constant: nearly normal in log a.
        count = self.size - 1
        precision = count / 2 + 1 / AMPLITUDE_SPREAD**2
        mode = (count / 2) * (residual / max(count, 1)).log() / precision
        grid = mode.unsqueeze(-1) + GRID / math.sqrt(precision)
        total = -0.5 * (count * grid + residual.unsqueeze(-1) * (-grid).exp()) - 0.5 * (grid / AMPLITUDE_SPREAD) ** 2
        rest = -logs - 0.5 * ones.log() + scales.sum(-1)  # the last from uniform length scales, walked over in log
        total = total + rest.unsqueeze(-1)
        if self.noise_free:
            total = total - 0.5 * points[:, -1:].square()  # the ratio has no meaning, but chains must not drift
        else:
            noise = grid.exp() * ratio.unsqueeze(-1)
            total = total + torch.log1p((NOISE_SCALE / noise).square()).log() + noise.log()
        return grid, total.masked_fill((failed != 0).unsqueeze(-1), -math.inf), (ones, cross, y)


def sample_hyperparameters(evidence: Evidence, state: Array, sweeps: int, random: np.random.Generator) -> Array:
    """Where the chains are after `sweeps`; the slices' widths are guessed from how far apart chains are now."""
    widths = np.clip(2 * state.std(axis=0), 0.5, 3.0)
    return sample(evidence.log_density, state, sweeps, random, widths)
