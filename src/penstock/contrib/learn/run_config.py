"""Settings of an Estimator's runs (TF: tf.contrib.learn.RunConfig)."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.estimator import run_config as core
from penstock.estimator.cluster import TaskType
from penstock.export import export

_USE_DEFAULT: Any = object()


class Environment:
    """Where a program runs, by tf.contrib.learn's names."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


@export("contrib.learn.RunConfig")
class RunConfig(core.RunConfig):
    """`tf.estimator.RunConfig` with settings of sessions.

    num_cores: threads of kernels (0: all). log_device_placement, gpu_memory_fraction: as in a ConfigProto. These have
    no effect if a `session_config` is given. `master` and `evaluation_master` are sessions' targets.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: Any = _USE_DEFAULT,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: Any = None,
        session_config: Any = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        if save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        if session_config is None:
            session_config = ConfigProto(
                allow_soft_placement=True,
                log_device_placement=log_device_placement,
                inter_op_parallelism_threads=num_cores,
                intra_op_parallelism_threads=num_cores,
            )
            session_config.gpu_options.per_process_gpu_memory_fraction = gpu_memory_fraction
        super().__init__(
            model_dir, tf_random_seed, save_summary_steps, save_checkpoints_steps, save_checkpoints_secs,
            session_config, keep_checkpoint_max, keep_checkpoint_every_n_hours, log_step_count_steps,
            protocol=protocol, session_creation_timeout_secs=session_creation_timeout_secs,
        )  # fmt: skip
        self._master = master or self._master
        self._evaluation_master = evaluation_master or self._evaluation_master
        self._environment = Environment.LOCAL

    @property
    def environment(self) -> str:
        return self._environment

    @property
    def tf_config(self) -> Any:
        """The ConfigProto of its sessions."""
        return self.session_config

    def uid(self, whitelist: Collection[str] = ("model_dir",)) -> str:
        """A text that is the same for equal settings, those in `whitelist` aside."""
        settings = {name: str(value) for name, value in vars(self).items() if name.removeprefix("_") not in whitelist}
        return json.dumps(settings, sort_keys=True)


__all__ = ["Environment", "RunConfig", "TaskType"]
