"""`Estimator`: a model function, trained, evaluated, used for predictions and exported."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from penstock import errors, gfile, logging
from penstock.checkpoint.state import latest_checkpoint
from penstock.estimator.calls import argument_names, call_with_known, check_model_fn, features_and_labels
from penstock.estimator.cluster import TaskType
from penstock.estimator.export.directories import copy_extra_assets, temporary_directory, timestamped_directory
from penstock.estimator.export.outputs import with_default_output
from penstock.estimator.export.signatures import all_signatures
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.results import write_results
from penstock.estimator.run_config import RunConfig, default_session_config
from penstock.estimator.spec import LOSS_METRIC_KEY, EstimatorSpec
from penstock.estimator.warm_start import settings_of
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.scopes import GraphKeys, add_to_collection, device, get_collection, set_random_seed
from penstock.metrics.means import mean
from penstock.ops.basic import group
from penstock.saved_model import tag_constants
from penstock.saved_model.builder import SavedModelBuilder
from penstock.session.session import Session
from penstock.summary.functions import scalar
from penstock.train.checkpoint_utils import list_variables, load_checkpoint, load_variable
from penstock.train.global_step import create_global_step, get_global_step
from penstock.train.saver import Saver
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.evaluation import evaluate_once, get_or_create_eval_step
from penstock.training_loop.evaluation_hooks import StopAfterNEvalsHook
from penstock.training_loop.hooks import LoggingTensorHook, NanTensorHook, StopAtStepHook
from penstock.training_loop.monitored_session import MonitoredSession, MonitoredTrainingSession
from penstock.training_loop.saving_hooks import CheckpointSaverHook, CheckpointSaverListener
from penstock.training_loop.scaffold import Scaffold
from penstock.training_loop.session_creators import ChiefSessionCreator

InputFn = Callable[..., Any]


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
        self._config = _completed(config, None if model_dir is None else os.fspath(model_dir))
        assert self._config.model_dir is not None
        self._model_dir = self._config.model_dir
        logging.info("Using config: %s", vars(self._config))
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        check_model_fn(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start_settings = settings_of(warm_start_from)

    def _refuse_overrides(self) -> None:
        """Subclasses only have other constructors: what calls these methods expects what they do here."""
        for name in vars(Estimator).keys() - {"__init__", "__module__", "__doc__", "__dict__", "__weakref__"}:
            if getattr(type(self), name) is not getattr(Estimator, name) and not name.startswith("__"):
                raise ValueError(
                    f"Subclasses of Estimator cannot override members of Estimator. {type(self)} does override {name}"
                )

    @property
    def model_dir(self) -> str:
        return self._model_dir

    @property
    def config(self) -> RunConfig:
        return copy.deepcopy(self._config)

    @property
    def params(self) -> Any:
        """A copy of the params."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function, with `(features, labels, mode, config)` as its arguments."""

        def public_model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    # --- the trained model ------------------------------------------------------------------------------

    def latest_checkpoint(self) -> str | None:
        return latest_checkpoint(self._model_dir)

    def get_variable_names(self) -> list[str]:
        """The names in the latest checkpoint. Raises ValueError if there is none."""
        self._check_trained()
        return [name for name, _ in list_variables(self._model_dir)]

    def get_variable_value(self, name: str) -> Any:
        """A variable's value in the latest checkpoint, as an array. Raises ValueError without a checkpoint."""
        self._check_trained()
        return load_variable(self._model_dir, name)

    def eval_dir(self, name: str | None = None) -> str:
        """Where the summaries of evaluations go."""
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    def _check_trained(self) -> None:
        if self.latest_checkpoint() is None:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")

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
        if self._config.task_type in (TaskType.EVALUATOR, TaskType.PS):
            raise ValueError(
                "Train has been called wrong configuration. Please use tf.estimator.train_and_evaluate which calls "
                f"proper API according to given configuration. Current configuration: {self._config}."
            )
        if self._config.num_worker_replicas > 1 or self._config.num_ps_replicas:
            raise NotImplementedError("TF_CONFIG describes a cluster, but training runs in one process")
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
        with self._graph():
            features, labels, input_hooks = self._inputs(input_fn, ModeKeys.TRAIN)
            spec = self._call_model_fn(features, labels, ModeKeys.TRAIN, self.config)
            self._warm_start()
            loss = self._run_training(spec, [*input_hooks, *hooks], listeners)
        logging.info("Loss for final step: %s.", loss)
        return self

    def _trained_steps(self) -> int:
        """The global step of the latest checkpoint; 0 without one."""
        latest = self.latest_checkpoint()
        if latest is None:
            return 0
        with load_checkpoint(latest) as reader:
            return int(reader.get_tensor(GraphKeys.GLOBAL_STEP)) if reader.has_tensor(GraphKeys.GLOBAL_STEP) else 0

    def _run_training(self, spec: EstimatorSpec, hooks: list[Any], listeners: list[CheckpointSaverListener]) -> Any:
        """Runs steps until a hook or the end of input ends the session; returns the last loss."""
        config = self._config
        if not any(summary.op.name == "loss" for summary in get_collection(GraphKeys.SUMMARIES)):
            scalar("loss", spec.loss)
        add_to_collection(GraphKeys.LOSSES, spec.loss)
        hooks.append(NanTensorHook(spec.loss))
        if config.log_step_count_steps is not None:
            logged = {"loss": spec.loss, "step": get_global_step()}
            hooks.append(LoggingTensorHook(logged, every_n_iter=config.log_step_count_steps))
        hooks.extend(spec.training_hooks)
        if not (spec.scaffold.saver or get_collection(GraphKeys.SAVERS)):
            saver = Saver(
                sharded=True,
                max_to_keep=config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
                defer_build=True,
                save_relative_paths=True,
            )
            add_to_collection(GraphKeys.SAVERS, saver)
        chief_hooks = [*self._saver_hooks(spec, hooks, listeners), *spec.training_chief_hooks]
        loss, any_step = None, False
        with MonitoredTrainingSession(
            master=config.master,
            is_chief=config.is_chief,
            checkpoint_dir=self._model_dir,
            scaffold=spec.scaffold,
            hooks=hooks,
            chief_only_hooks=chief_hooks,
            save_checkpoint_secs=0,  # a hook saves
            save_summaries_steps=config.save_summary_steps,
            config=config.session_config,
            log_step_count_steps=config.log_step_count_steps,
        ) as session:
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
                any_step = True
        if not any_step:
            logging.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
        return loss

    def _saver_hooks(
        self, spec: EstimatorSpec, hooks: list[Any], listeners: list[CheckpointSaverListener]
    ) -> list[CheckpointSaverHook]:
        """The hook that saves, unless the model or the caller has one; the listeners are added to whichever it is."""
        config = self._config
        saving = [hook for hook in (*hooks, *spec.training_chief_hooks) if isinstance(hook, CheckpointSaverHook)]
        added: list[CheckpointSaverHook] = []
        if not saving and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            times = config.save_checkpoints_secs, config.save_checkpoints_steps
            added = saving = [CheckpointSaverHook(self._model_dir, *times, scaffold=spec.scaffold)]
        if listeners:
            if not saving:
                raise ValueError(
                    "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                    "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
                )
            saving[0]._listeners.extend(listeners)
        return added

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
        checkpoint = self._checkpoint(checkpoint_path, "evaluate")
        with self._graph():
            features, labels, input_hooks = self._inputs(input_fn, ModeKeys.EVAL)
            spec = self._call_model_fn(features, labels, ModeKeys.EVAL, self.config)
            if not checkpoint:
                self._warm_start()
            update_op, values = _with_loss(spec)
            scaffold = spec.scaffold
            if scaffold.local_init_op:
                get_or_create_eval_step()  # a local variable as well
                initialised = group(scaffold.local_init_op, Scaffold.default_local_init_op())
                scaffold = Scaffold(local_init_op=initialised, copy_from_scaffold=scaffold)
            results: dict[str, Any] = evaluate_once(
                checkpoint_path=checkpoint,
                master=self._config.evaluation_master,
                scaffold=scaffold,
                eval_ops=update_op,
                final_ops=values,
                hooks=[*input_hooks, *hooks, *spec.evaluation_hooks],
                config=self._config.session_config,
            )
        write_results(self.eval_dir(name), results, int(results[GraphKeys.GLOBAL_STEP]), checkpoint)
        return results

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
        checkpoint = self._checkpoint(checkpoint_path, "predict")
        with self._graph() as graph:
            features, _, input_hooks = self._inputs(input_fn, ModeKeys.PREDICT)
            if not get_collection(GraphKeys.QUEUE_RUNNERS) and not _takes_elements(graph):
                logging.warning(
                    "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict yields "
                    "forever. This is probably a mistake."
                )
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
            if not checkpoint:
                self._warm_start()
            predictions = _chosen(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                checkpoint_filename_with_path=checkpoint,
                master=self._config.master,
                scaffold=spec.scaffold,
                config=self._config.session_config,
            )
            opened = MonitoredSession(creator, hooks=[*input_hooks, *hooks, *spec.prediction_hooks])
        with opened as session:  # the caller, who gets the predictions one by one, has a default graph of its own
            while not session.should_stop():
                with graph.as_default():
                    values = session.run(predictions)
                if yield_single_examples:
                    yield from _examples(values)
                else:
                    yield values

    def _checkpoint(self, given: Any, purpose: str) -> str | None:
        if given:
            return os.fspath(given)
        latest = self.latest_checkpoint()
        if latest is None:
            where = self._model_dir
            logging.info("Could not find trained model in model_dir: %s, running initialization to %s.", where, purpose)
        return latest

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
        checkpoint = os.fsdecode(checkpoint_path) if checkpoint_path else self.latest_checkpoint()
        if checkpoint is None:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        export_dir = timestamped_directory(os.fsdecode(export_dir_base))
        temporary = temporary_directory(export_dir)
        builder = SavedModelBuilder(temporary)
        with self._graph(), Session(config=self._config.session_config) as session:
            receiver = serving_input_receiver_fn()
            spec = self._call_model_fn(
                receiver.features, getattr(receiver, "labels", None), experimental_mode, self.config
            )
            outputs = with_default_output(spec.export_outputs, spec.predictions)
            signatures = all_signatures(receiver.receiver_tensors, outputs, receiver.receiver_tensors_alternatives)
            initialised = spec.scaffold.local_init_op
            saver = spec.scaffold.saver or Saver(sharded=True)
            try:
                saver.restore(session, checkpoint)
            except errors.NotFoundError as error:
                raise ValueError(
                    "Could not load all requested variables from checkpoint. Please make sure your model_fn does not "
                    f"expect variables that were not saved in the checkpoint.\n\nEncountered error with mode "
                    f"`{experimental_mode}` while restoring checkpoint from: `{checkpoint}`. {error}"
                ) from error
            builder.add_meta_graph_and_variables(
                session,
                tags=[tag_constants.SERVING],
                signature_def_map=signatures,
                assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
                main_op=Scaffold.default_local_init_op() if initialised is None else initialised,
                saver=saver,
            )
        builder.save(as_text)
        copy_extra_assets(assets_extra or {}, temporary)
        gfile.Rename(temporary, export_dir)
        return export_dir.encode()

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

    # --- graphs -----------------------------------------------------------------------------------------

    @contextmanager
    def _graph(self) -> Iterator[Graph]:
        """A new graph, with a global step, as the default."""
        with Graph().as_default() as graph, device(self._config.device_fn):
            set_random_seed(self._config.tf_random_seed)
            create_global_step(graph)
            yield graph

    def _inputs(self, input_fn: InputFn, mode: str) -> tuple[Any, Any, list[SessionRunHook]]:
        """Features, labels, and hooks of the input."""
        with device("/cpu:0"):
            return features_and_labels(call_with_known(input_fn, mode=mode, params=self.params, config=self.config))

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        if labels is not None and "labels" not in argument_names(self._model_fn):
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        known = {"features": features, "labels": labels, "mode": mode, "params": self.params, "config": config}
        logging.info("Calling model_fn.")
        spec = call_with_known(self._model_fn, **known)
        logging.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def _warm_start(self) -> None:
        if self._warm_start_settings is not None:
            from penstock.train.warm_start import warm_start

            logging.info("Warm-starting with WarmStartSettings: %s", self._warm_start_settings)
            warm_start(*self._warm_start_settings)


def _completed(config: RunConfig | None, model_dir: str | None) -> RunConfig:
    """The config with a directory and a session's config. Raises ValueError if it names another directory."""
    if config is None:
        config = RunConfig()
        logging.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = RunConfig.replace(config, session_config=default_session_config())
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


def _with_loss(spec: EstimatorSpec) -> tuple[Any, dict[str, Any]]:
    """The update of all metrics and the mean loss, and their values with the global step."""
    metrics = dict(spec.eval_metric_ops)
    for name in (LOSS_METRIC_KEY, GraphKeys.GLOBAL_STEP):
        if name in metrics:
            raise ValueError(
                f"Metric with name `{name}` is not allowed, because Estimator already defines a default metric with "
                "the same name."
            )
    metrics[LOSS_METRIC_KEY] = mean(spec.loss)
    values = {name: value for name, (value, _) in sorted(metrics.items())}
    update_op = group(*[update for _, (_, update) in sorted(metrics.items())])
    return update_op, values | {GraphKeys.GLOBAL_STEP: get_global_step()}


def _takes_elements(graph: Graph) -> bool:
    return any(operation.type == "IteratorGetNext" for operation in graph.get_operations())


def _chosen(predictions: Any, keys: Any) -> Any:
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    chosen = {key: value for key, value in predictions.items() if key in keys}
    if not chosen:
        raise ValueError(f"Expected to run at least one output from {predictions.keys()}, provided {keys}.")
    return chosen


def _examples(values: Any) -> Iterator[Any]:
    """The rows of a batch of predictions."""
    if not isinstance(values, dict):
        yield from values
        return
    length = len(next(iter(values.values())))
    for key, value in values.items():
        if len(value) != length:
            raise ValueError(
                f"Batch length of predictions should be same. {key} has different batch length than others."
            )
    for row in range(length):
        yield {key: value[row] for key, value in values.items()}
