"""TF: tf.test, in the part that is there."""

from __future__ import annotations

from penstock.gradients.checker import compute_gradient, compute_gradient_error

__all__ = ["compute_gradient", "compute_gradient_error"]
