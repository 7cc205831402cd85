"""Where a model's variables begin: values of another model's checkpoint."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from penstock import gfile, logging
from penstock.export import export
from penstock.train import warm_starting as train


@export("estimator.WarmStartSettings")
class WarmStartSettings(NamedTuple):
    """What to take from a checkpoint before training begins (TF: tf.estimator.WarmStartSettings).

    ckpt_to_initialize_from: a checkpoint, or a directory of checkpoints. The others are the arguments of
    `tf.train.warm_start`.
    """

    ckpt_to_initialize_from: Any
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Any = None
    var_name_to_prev_var_name: Any = None


def settings_of(warm_start_from: Any) -> WarmStartSettings | None:
    """The settings that an Estimator was given: None, settings, or the path of a checkpoint or exported model."""
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if not isinstance(warm_start_from, str | bytes | os.PathLike):
        kind = type(warm_start_from)
        raise ValueError(f"warm_start_from must be a string or a WarmStartSettings, instead got {kind}")
    path = os.fsdecode(warm_start_from)
    exported = os.path.join(path, "variables", "variables")
    if gfile.Exists(f"{exported}.index"):
        logging.info("Warm-starting from a SavedModel")
        return WarmStartSettings(exported)
    return WarmStartSettings(path)


def warm_start(settings: WarmStartSettings) -> None:
    """Initialise variables of the default graph with those of the checkpoint."""
    logging.info("Warm-starting with WarmStartSettings: %s", settings)
    train.warm_start(*settings)
