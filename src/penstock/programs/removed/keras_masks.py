"""Losses in Keras as a package of its own: the mean of masked ones is over what the mask keeps, and targets have the
shape of outputs.

Facts from Keras 2.2.5 (`keras.engine.training_utils`: `weighted_masked_objective`,
`check_loss_and_target_compatibility`).
"""

from __future__ import annotations

from typing import Any

from penstock.keras import backend as K
from penstock.keras.engine import objective
from penstock.ops.cast import cast


def take_means() -> None:
    """Losses are divided by the part of elements that the mask keeps; targets are not broadcast."""
    module: Any = objective
    module._masked = _over_kept
    module._sizes = lambda function, shape: shape


def _over_kept(losses: Any, mask: Any) -> Any:
    kept = cast(mask, losses.dtype)
    return losses * kept / (K.mean(kept) + K.epsilon())
