"""What losses are written with inside TensorFlow's Keras (TF: tensorflow.python.keras.utils.losses_utils)."""

from __future__ import annotations

from typing import Any

from penstock.graph.scopes import name_scope
from penstock.keras.losses.classes import weighted_mean


class ReductionV2:
    """What becomes of the losses of samples: their mean (AUTO and SUM_OVER_BATCH_SIZE), their sum, or all of them."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key: Any) -> None:
        """ValueError for what is none of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


Reduction = ReductionV2
"""Keras's name, as of 2.3."""


def compute_weighted_loss(
    losses: Any,
    sample_weight: Any = None,
    reduction: str = ReductionV2.SUM_OVER_BATCH_SIZE,
    name: str | None = None,
) -> Any:
    """The losses of samples, each times its weight, reduced; weights may lack the last axes of losses."""
    ReductionV2.validate(reduction)
    with name_scope(name or "weighted_loss"):
        return weighted_mean(losses, sample_weight, reduction)
