"""Covariance functions with a length scale for each input (section 3.1): functions of the scaled squared distance."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Kernel = Callable[[Tensor], Tensor]


def matern52(squares: Tensor) -> Tensor:
    """ARD Matérn 5/2 with unit amplitude (equation 5): functions from it are twice differentiable."""
    distance = (5 * squares).clamp_min(1e-30).sqrt()  # above zero, where the square root has no gradient
    return (1 + distance + (5 / 3) * squares) * torch.exp(-distance)


def squared_exponential(squares: Tensor) -> Tensor:
    """ARD squared exponential with unit amplitude (equation 4): functions from it are smoother than most objectives."""
    return torch.exp(-0.5 * squares)


KERNELS: dict[str, Kernel] = {"matern52": matern52, "squared_exponential": squared_exponential}


def scaled_squares(a: Tensor, b: Tensor, scales: Tensor) -> Tensor:
    """Σ_d (a_d - b_d)² / scales_d²: `a` [A, D], `b` [B, D], `scales` [S, D] -> [S, A, B].

    As |a|² + |b|² - 2ab, a matrix product. What that loses, about 1e-15, the kernels do not show: both are linear in
    the square near zero.
    """
    scales = scales.unsqueeze(1)
    a, b = a / scales, b / scales
    squares = a.square().sum(-1).unsqueeze(-1) + b.square().sum(-1).unsqueeze(-2) - 2 * a @ b.mT
    return squares.clamp_min(0)
