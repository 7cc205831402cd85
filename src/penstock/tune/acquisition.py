"""Acquisition functions (section 2.2): how much is to be gained from evaluating a point, when smaller is better.

Each takes what S posteriors predict: mean [S, m, F], standard deviation [S, m], and the best value so far [S, F]. The
integrated acquisition (equation 6) is the mean over the posteriors and their fantasies. All is in logarithms, since far
from the best point improvements underflow and their gradients vanish (Ament et al., 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from penstock.tune.gaussian_process import GaussianProcess

Acquisition = Callable[[Tensor, Tensor, Tensor], Tensor]

KAPPA = 2.0  # how many deviations below the mean a lower confidence bound is
_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_TAIL = -1e4  # where 1 + z Φ(z)/φ(z) has lost half its digits, and is 1/z² to as many


def log_expected_improvement(mean: Tensor, deviation: Tensor, best: Tensor) -> Tensor:
    """log EI (equation 2): log of deviation · (z Φ(z) + φ(z)), with z the gain in deviations."""
    deviation = deviation.unsqueeze(-1)
    return deviation.log() + _log_gain((best.unsqueeze(1) - mean) / deviation)


def log_probability_of_improvement(mean: Tensor, deviation: Tensor, best: Tensor) -> Tensor:
    """log PI (equation 1)."""
    return torch.special.log_ndtr((best.unsqueeze(1) - mean) / deviation.unsqueeze(-1))


def lower_confidence_bound(mean: Tensor, deviation: Tensor, best: Tensor, kappa: float = KAPPA) -> Tensor:
    """-(mean - kappa · deviation) (equation 3), so that more is better."""
    return kappa * deviation.unsqueeze(-1) - mean


# Whether an acquisition is a logarithm, whose integral is a logsumexp.
ACQUISITIONS: dict[str, tuple[Acquisition, bool]] = {
    "ei": (log_expected_improvement, True),
    "pi": (log_probability_of_improvement, True),
    "lcb": (lower_confidence_bound, False),
}


def _log_gain(z: Tensor) -> Tensor:
    """log(z Φ(z) + φ(z)). Every branch gets inputs at which it and its gradient are finite."""
    near = z.clamp_min(-1)
    direct = (near * torch.special.ndtr(near) + torch.exp(-0.5 * near.square() - _LOG_ROOT_2PI)).log()
    far = z.clamp(_TAIL, -1)
    ratio = math.sqrt(math.pi / 2) * torch.special.erfcx(-far / math.sqrt(2))  # Φ/φ
    middle = -0.5 * far.square() - _LOG_ROOT_2PI + torch.log1p(far * ratio)
    tail = z.clamp_max(_TAIL)
    extreme = -0.5 * tail.square() - _LOG_ROOT_2PI - 2 * (-tail).log()
    return torch.where(z > -1, direct, torch.where(z > _TAIL, middle, extreme))


class Integrated:
    """An acquisition function integrated over hyperparameters and fantasies, a second if costs are modelled.

    `costs` is the posterior of log cost (section 3.2). It is independent of the objective's, so the expected gain a
    second is the product of the gain and the expected inverse of the cost. Only "ei" and "pi" may have costs.
    """

    def __init__(
        self, name: str, model: GaussianProcess, costs: GaussianProcess | None = None, kappa: float = KAPPA
    ) -> None:
        self.acquire, self.logarithm = ACQUISITIONS[name]
        if self.acquire is lower_confidence_bound:
            self.acquire = partial(lower_confidence_bound, kappa=kappa)
        if costs is not None and not self.logarithm:
            raise ValueError(f"acquisition {name!r} is not a gain, so there is no gain a second: use 'ei'")
        self.model, self.costs = model, costs
        with torch.no_grad():  # noise may have made the best observation better than the function is there
            self.best = model.predict(model.x)[0].amin(dim=1)

    def __call__(self, points: Tensor) -> Tensor:
        """[m, D] -> [m]; its logarithm where the acquisition is one."""
        mean, variance = self.model.predict(points)
        values = self.acquire(mean, variance.sqrt(), self.best.expand(len(mean), -1))  # [S, m, F]
        if not self.logarithm:
            return values.mean(dim=(0, 2))
        total = values.logsumexp(2).logsumexp(0) - math.log(values.shape[0] * values.shape[2])
        if self.costs is not None:
            mean, variance = self.costs.predict(points)
            inverse = 0.5 * variance - mean.squeeze(-1)  # log E[1/cost] of a log-normal cost
            total = total + inverse.logsumexp(0) - math.log(len(inverse))
        return total
