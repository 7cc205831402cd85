"""`Estimator`: a model function, trained, evaluated, used for predictions and exported."""

from __future__ import annotations

import copy
import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from penstock import logging
from penstock.checkpoint.state import latest_checkpoint
from penstock.estimator.calls import check_model_fn
from penstock.estimator.cluster import TaskType
from penstock.estimator.evaluating import evaluate_model, evaluations_in
from penstock.estimator.exporting import export_model
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.model import InputFn, Model
from penstock.estimator.predicting import batches_of_predictions, examples_of
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.estimator.tasks import session_config
from penstock.estimator.training import train_model
from penstock.estimator.warm_start import settings_of
from penstock.export import export
from penstock.graph.scopes import GraphKeys
from penstock.train.checkpoint_utils import list_variables, load_checkpoint, load_variable
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.evaluation_hooks import StopAfterNEvalsHook
from penstock.training_loop.hooks import StopAtStepHook
from penstock.training_loop.saving_hooks import CheckpointSaverListener


@export("estimator.Estimator")
class Estimator:
    """A model function with a directory for its checkpoints and summaries (TF: tf.estimator.Estimator).

    model_fn: called with features, labels, and those of mode, params and config that it names; returns an
    EstimatorSpec. model_dir: by default that of `config`, or a temporary one. params: passed to model_fn, as a copy.
    warm_start_from: a checkpoint or WarmStartSettings, which variables begin with.

    An input function is called with those of mode, params and config that it names, in a new graph, and returns
    features (a tensor or a structure of tensors), a pair with labels, or a Dataset of either.
    """

    def __init__(
        self,
        model_fn: Callable[..., EstimatorSpec],
        model_dir: Any = None,
        config: RunConfig | None = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        self._refuse_overrides()
        config = _completed(config, None if model_dir is None else os.fspath(model_dir))
        logging.info("Using config: %s", vars(config))
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        check_model_fn(model_fn, params)
        self._model = Model(model_fn, config, copy.deepcopy(params or {}), settings_of(warm_start_from))

    def _refuse_overrides(self) -> None:
        """Subclasses only have other constructors: what calls these methods expects what they do here."""
        for name in vars(Estimator).keys() - {"__init__", "__module__", "__doc__", "__dict__", "__weakref__"}:
            if getattr(type(self), name) is not getattr(Estimator, name) and not name.startswith("__"):
                raise ValueError(
                    f"Subclasses of Estimator cannot override members of Estimator. {type(self)} does override {name}"
                )

    @property
    def model_dir(self) -> str:
        return self._model.directory

    @property
    def config(self) -> RunConfig:
        """A copy of the config."""
        return copy.deepcopy(self._model.config)

    @property
    def params(self) -> Any:
        """A copy of the params."""
        return copy.deepcopy(self._model.params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function, with `(features, labels, mode, config)` as its arguments."""

        def public_model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            return dataclasses.replace(self._model, config=config).spec(features, labels, mode)

        return public_model_fn

    # --- the trained model ------------------------------------------------------------------------------

    def latest_checkpoint(self) -> str | None:
        return latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """The names in the latest checkpoint. Raises ValueError if there is none."""
        self._check_trained()
        return [name for name, _ in list_variables(self.model_dir)]

    def get_variable_value(self, name: str) -> Any:
        """A variable's value in the latest checkpoint, as an array. Raises ValueError without a checkpoint."""
        self._check_trained()
        return load_variable(self.model_dir, name)

    def eval_dir(self, name: str | None = None) -> str:
        """Where the summaries of evaluations go."""
        return evaluations_in(self.model_dir, name)

    def _check_trained(self) -> None:
        if self.latest_checkpoint() is None:
            raise ValueError(f"Couldn't find trained model at {self.model_dir}.")

    # --- training ---------------------------------------------------------------------------------------

    def train(
        self,
        input_fn: InputFn,
        hooks: Any = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Any = None,
    ) -> Self:
        """Train for `steps` more steps, until the global step is `max_steps`, or until there is no more input.

        It goes on from the latest checkpoint. saving_listeners: CheckpointSaverListeners. Returns the Estimator.
        """
        config = self._model.config
        if config.task_type in (TaskType.EVALUATOR, TaskType.PS):
            raise ValueError(
                "Train has been called wrong configuration. Please use tf.estimator.train_and_evaluate which calls "
                f"proper API according to given configuration. Current configuration: {vars(config)}."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for what, number in (("steps", steps), ("max_steps", max_steps)):
            if number is not None and number <= 0:
                raise ValueError(f"Must specify {what} > 0, given: {number}")
        if max_steps is not None and max_steps <= self._trained_steps():
            logging.info("Skipping training since max_steps has already saved.")
            return self
        hooks = _checked_hooks(hooks)
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        listeners = list(saving_listeners or [])
        for listener in listeners:
            if not isinstance(listener, CheckpointSaverListener):
                raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}")
        loss = train_model(self._model, input_fn, hooks, listeners)
        logging.info("Loss for final step: %s.", loss)
        return self

    def _trained_steps(self) -> int:
        """The global step of the latest checkpoint; 0 without one."""
        latest = self.latest_checkpoint()
        if latest is None:
            return 0
        with load_checkpoint(latest) as reader:
            return int(reader.get_tensor(GraphKeys.GLOBAL_STEP)) if reader.has_tensor(GraphKeys.GLOBAL_STEP) else 0

    # --- evaluation and prediction ----------------------------------------------------------------------

    def evaluate(
        self,
        input_fn: InputFn,
        steps: int | None = None,
        hooks: Any = None,
        checkpoint_path: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """The mean loss, the metrics of the model and the global step of a checkpoint, by default the latest.

        It takes `steps` batches, or all. Without a checkpoint, variables are initialised instead. name: tells apart the
        folders with the summaries of several evaluations.
        """
        hooks = _checked_hooks(hooks)
        if steps is not None:
            if steps <= 0:
                raise ValueError(f"Must specify steps > 0, given: {steps}")
            hooks.append(StopAfterNEvalsHook(num_evals=steps))
        checkpoint = self._model.checkpoint(_path(checkpoint_path), "evaluate")
        return evaluate_model(self._model, input_fn, hooks, checkpoint, self.eval_dir(name))

    def predict(
        self,
        input_fn: InputFn,
        predict_keys: Any = None,
        hooks: Any = None,
        checkpoint_path: Any = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yields the model's predictions for each example, or for each batch without `yield_single_examples`.

        predict_keys: which of a dict's predictions. Without a checkpoint (the latest by default), variables are
        initialised instead.
        """
        hooks = _checked_hooks(hooks)
        checkpoint = self._model.checkpoint(_path(checkpoint_path), "predict")
        for batch in batches_of_predictions(self._model, input_fn, hooks, checkpoint, predict_keys):
            if yield_single_examples:
                yield from examples_of(batch)
            else:
                yield batch

    # --- export -----------------------------------------------------------------------------------------

    def export_saved_model(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Write the model of a checkpoint, by default the latest, as a SavedModel, in a new folder.

        serving_input_receiver_fn: builds what the exported model takes, and returns a ServingInputReceiver. Its
        signatures are the model's `export_outputs`. assets_extra: files to copy, by their paths below `assets.extra`.
        The folder is named after the time, and appears when all is written; returns its path (bytes, as in
        TensorFlow). Raises ValueError
        without a checkpoint, or if that lacks variables of the model.
        """
        if serving_input_receiver_fn is None:
            raise ValueError("serving_input_receiver_fn must be defined.")
        checkpoint = _path(checkpoint_path) or self.latest_checkpoint()
        if checkpoint is None:
            raise ValueError(f"Couldn't find trained model at {self.model_dir}.")
        base, extra = os.fsdecode(export_dir_base), assets_extra or {}
        return export_model(
            self._model, base, serving_input_receiver_fn, checkpoint, experimental_mode, extra, as_text
        ).encode()

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """The older name of `export_saved_model`."""
        return self.export_saved_model(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path
        )


def _completed(config: RunConfig | None, model_dir: str | None) -> RunConfig:
    """The config with a directory and a session's config. Raises ValueError if it names another directory."""
    if config is None:
        config = RunConfig()
        logging.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = RunConfig.replace(config, session_config=session_config(config))
    if model_dir is not None and config.model_dir is not None and config.model_dir != model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
            f"'{model_dir}', in `RunConfig`: '{config.model_dir}' "
        )
    if config.model_dir is None and not model_dir:
        model_dir = tempfile.mkdtemp()
        logging.warning("Using temporary folder as model directory: %s", model_dir)
    return RunConfig.replace(config, model_dir=model_dir) if model_dir else config


def _checked_hooks(hooks: Iterable[Any] | None) -> list[Any]:
    checked = list(hooks or [])
    for hook in checked:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return checked


def _path(given: Any) -> str | None:
    return os.fsdecode(given) if given else None
