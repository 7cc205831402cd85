"""What remains of tf.contrib.learn: ModeKeys and the MNIST files. Estimators are tf.estimator's."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.api.old_paths import add_module
from penstock.contrib.learn import mnist


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


datasets = add_module(f"{__name__}.datasets")
for _path in ("datasets.mnist", "python.learn.datasets.mnist"):
    add_module(f"{__name__}.{_path}", mnist)

_absent.tell_in(__name__)
