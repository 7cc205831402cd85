"""`RunConfig`: where and how an Estimator runs."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Self

from penstock import logging
from penstock.cluster.spec import ClusterSpec
from penstock.estimator.cluster import task_from
from penstock.export import export

_USE_DEFAULT: Any = object()
_BOTH = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."

_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model_dir": (lambda value: bool(value), "model_dir should be non-empty"),
    "tf_random_seed": (lambda value: isinstance(value, int), "tf_random_seed must be integer."),
    "save_summary_steps": (lambda value: value >= 0, "save_summary_steps should be >= 0"),
    "save_checkpoints_steps": (lambda value: value >= 0, "save_checkpoints_steps should be >= 0"),
    "save_checkpoints_secs": (lambda value: value >= 0, "save_checkpoints_secs should be >= 0"),
    "session_config": (lambda value: hasattr(value, "gpu_options"), "session_config must be instance of ConfigProto"),
    "keep_checkpoint_max": (lambda value: value >= 0, "keep_checkpoint_max should be >= 0"),
    "keep_checkpoint_every_n_hours": (lambda value: value > 0, "keep_checkpoint_every_n_hours should be > 0"),
    "log_step_count_steps": (lambda value: value > 0, "log_step_count_steps should be > 0"),
    "device_fn": (callable, 'device_fn must be callable with exactly one argument "op".'),
}
_SETTINGS = (
    *_CHECKS,
    "train_distribute",
    "eval_distribute",
    "protocol",
    "session_creation_timeout_secs",
    "experimental_max_worker_delay_secs",
)


class _Setting:
    """A property that reads the attribute with an underscore before its name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = f"_{name}"

    def __get__(self, config: Any, owner: type) -> Any:
        return self if config is None else getattr(config, self._attribute)


@export("estimator.RunConfig")
class RunConfig:
    """Settings of an Estimator's runs (TF: tf.estimator.RunConfig).

    model_dir: where checkpoints and summaries go. tf_random_seed: the seed of its graphs. save_summary_steps: how many
    steps from one summary to the next. save_checkpoints_steps, save_checkpoints_secs: how often to save; at most one of
    them (600 seconds if neither is given; None for both: never). keep_checkpoint_max,
    keep_checkpoint_every_n_hours: as for `tf.train.Saver`. log_step_count_steps: how often to log the loss and the
    steps per second. device_fn: gives nodes their devices. train_distribute, eval_distribute: strategies of
    tf.distribute for training and evaluation; or experimental_distribute, which has both.

    protocol: of the Server of a task. experimental_max_worker_delay_secs: how long a worker waits at most before it
    begins to train, 60 if None.

    The environment variable TF_CONFIG (JSON) may hold a `model_dir`, and says which task of a cluster this process is.
    """

    def __init__(
        self,
        model_dir: Any = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: int | None = _USE_DEFAULT,
        save_checkpoints_secs: int | None = _USE_DEFAULT,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Callable[[Any], Any] | None = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: float | None = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        if experimental_distribute is not None:
            if train_distribute is not None or eval_distribute is not None:
                raise ValueError("Give either experimental_distribute or train_distribute and eval_distribute.")
            train_distribute = experimental_distribute.train_distribute
            eval_distribute = experimental_distribute.eval_distribute
        if save_checkpoints_steps is _USE_DEFAULT and save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_steps, save_checkpoints_secs = None, 600
        elif save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_secs = None
        elif save_checkpoints_steps is _USE_DEFAULT:
            save_checkpoints_steps = None
        elif save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError(_BOTH)
        environment = json.loads(os.environ.get("TF_CONFIG") or "{}")
        if environment:
            logging.info("TF_CONFIG environment variable: %s", environment)
        self._set(
            model_dir=_model_dir(environment, model_dir),
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            train_distribute=train_distribute,
            device_fn=device_fn,
            protocol=protocol,
            eval_distribute=eval_distribute,
            session_creation_timeout_secs=session_creation_timeout_secs,
            experimental_max_worker_delay_secs=experimental_max_worker_delay_secs,
        )
        self._service = environment.get("service")
        if self._service is not None and not isinstance(self._service, dict):
            raise TypeError(f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(self._service)}')
        strategy = train_distribute
        task = task_from(environment, workers_are_equal=strategy is not None and strategy.between_graph)
        self._cluster_spec, self._task_type, self._task_id = task.cluster, task.kind, task.index
        self._master, self._evaluation_master = task.master, task.evaluation_master
        self._is_chief, self._num_ps_replicas = task.is_chief, task.num_ps
        self._num_worker_replicas, self._global_id_in_cluster = task.num_workers, task.global_id

    model_dir: str | None = _Setting()  # type: ignore[assignment]
    tf_random_seed: int | None = _Setting()  # type: ignore[assignment]
    save_summary_steps: int | None = _Setting()  # type: ignore[assignment]
    save_checkpoints_steps: int | None = _Setting()  # type: ignore[assignment]
    save_checkpoints_secs: int | None = _Setting()  # type: ignore[assignment]
    session_config: Any = _Setting()
    keep_checkpoint_max: int | None = _Setting()  # type: ignore[assignment]
    keep_checkpoint_every_n_hours: float = _Setting()  # type: ignore[assignment]
    log_step_count_steps: int | None = _Setting()  # type: ignore[assignment]
    device_fn: Callable[[Any], Any] | None = _Setting()  # type: ignore[assignment]
    train_distribute: Any = _Setting()
    eval_distribute: Any = _Setting()
    protocol: str | None = _Setting()  # type: ignore[assignment]
    session_creation_timeout_secs: float = _Setting()  # type: ignore[assignment]
    experimental_max_worker_delay_secs: float | None = _Setting()  # type: ignore[assignment]
    cluster_spec: ClusterSpec = _Setting()  # type: ignore[assignment]
    task_type: str = _Setting()  # type: ignore[assignment]
    task_id: int = _Setting()  # type: ignore[assignment]
    master: str = _Setting()  # type: ignore[assignment]
    evaluation_master: str = _Setting()  # type: ignore[assignment]
    is_chief: bool = _Setting()  # type: ignore[assignment]
    num_ps_replicas: int = _Setting()  # type: ignore[assignment]
    num_worker_replicas: int = _Setting()  # type: ignore[assignment]
    global_id_in_cluster: int | None = _Setting()  # type: ignore[assignment]
    service: Any = _Setting()

    def replace(self, **kwargs: Any) -> Self:
        """A copy with other settings; setting one of the save intervals unsets the other. Raises ValueError for what is
        no setting, and for both save intervals."""
        changed = copy.deepcopy(self)
        for name in kwargs:
            if name not in _SETTINGS:
                raise ValueError(f"Replacing {name} is not supported. Allowed properties are {_SETTINGS}.")
        steps, seconds = kwargs.get("save_checkpoints_steps"), kwargs.get("save_checkpoints_secs")
        if steps is not None and seconds is not None:
            raise ValueError(_BOTH)
        if steps is not None:
            kwargs = {"save_checkpoints_secs": None, **kwargs}
        elif seconds is not None:
            kwargs = {"save_checkpoints_steps": None, **kwargs}
        changed._set(**kwargs)
        return changed

    def _set(self, **settings: Any) -> None:
        for name, value in settings.items():
            check, message = _CHECKS.get(name, (None, ""))
            if check is not None and value is not None and not check(value):
                raise ValueError(message)
            setattr(self, f"_{name}", value)


def _model_dir(environment: Mapping[str, Any], given: Any) -> str | None:
    """The directory that is given, or that TF_CONFIG says. Raises ValueError if they differ, or one is empty."""
    path = None if given is None else os.fspath(given)
    in_environment: str | None = environment.get("model_dir")
    if path == "":
        raise ValueError("model_dir should be non-empty.")
    if in_environment == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if in_environment:
        if path and path != in_environment:
            raise ValueError(
                "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in "
                f'TF_CONFIG. model_dir: {path}\nTF_CONFIG["model_dir"]: {in_environment}.\n'
            )
        logging.info("Using model_dir in TF_CONFIG: %s", in_environment)
    return path or in_environment
