"""What a model function is called for."""

from __future__ import annotations

from penstock.export import export


@export("estimator.ModeKeys")
class ModeKeys:
    """The values of a model function's `mode` (TF: tf.estimator.ModeKeys)."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"
