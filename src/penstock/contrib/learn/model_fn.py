"""What model functions of tf.contrib.learn are called for, and return (TF: tf.contrib.learn.ModelFnOps)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.train.session_run_hook import SessionRunHook


@export("contrib.learn.ModeKeys")
class ModeKeys:
    """What a model function is called for (TF: tf.contrib.learn.ModeKeys)."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError for an invalid key."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


class _Fields(NamedTuple):
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    output_alternatives: Any
    training_chief_hooks: list[SessionRunHook]
    training_hooks: list[SessionRunHook]
    scaffold: Any
    mode: str


@export("contrib.learn.ModelFnOps")
class ModelFnOps(_Fields):
    """The parts of a model that a mode needs.

    predictions: a tensor or a dict of tensors, for INFER. loss: a tensor, for TRAIN and EVAL. train_op: for TRAIN.
    eval_metric_ops: (value, update_op) by name. output_alternatives: accepted, and not used. Raises ValueError for what
    is missing.
    """

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: dict[str, Any] | None = None,
        output_alternatives: Any = None,
        training_chief_hooks: Iterable[SessionRunHook] | None = None,
        training_hooks: Iterable[SessionRunHook] | None = None,
        scaffold: Any = None,
    ) -> ModelFnOps:
        ModeKeys.validate(mode)
        if train_op is None and mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        if loss is None and mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        if predictions is None and mode == ModeKeys.INFER:
            raise ValueError("Missing predictions.")
        if loss is not None:
            loss = _scalar(loss)
        return super().__new__(
            cls, predictions, loss, train_op, dict(eval_metric_ops or {}), output_alternatives,
            list(training_chief_hooks or ()), list(training_hooks or ()), scaffold, mode,
        )  # fmt: skip


def _scalar(loss: Any) -> Tensor:
    """The loss as a scalar; ValueError if it is none."""
    loss = convert_to_tensor(loss)
    if loss.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar: {loss}.")
    return loss if loss.shape.ndims == 0 else loss[(0,) * (loss.shape.ndims or 0)]
