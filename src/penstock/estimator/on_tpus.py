"""Estimators for TPUs, which run on the devices that are there (TF: tf.contrib.tpu).

What differs from other Estimators holds here too: batch sizes are the Estimator's and come as `params["batch_size"]`,
metrics are a function and its tensors, and functions of the host run beside each step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock import logging
from penstock.client.variable_scope import VariableScope, variable_scope
from penstock.estimator.calls import call_with_known
from penstock.estimator.estimator import Estimator
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.ops.basic import group, identity
from penstock.ops.cast import cast
from penstock.tensor.dtypes import bfloat16, float32
from penstock.train.delegating import DelegatingOptimizer

MSG_NO_TPU = (
    "There are no TPUs here, so there is none to connect to: run the program without one (use_tpu=False, and no "
    "TPUClusterResolver)."
)


@export("contrib.tpu.InputPipelineConfig", "estimator.tpu.InputPipelineConfig")
class InputPipelineConfig:
    """How hosts feed TPUs; without effect."""

    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST = 1, 2, 3, 4


@export("contrib.tpu.TPUConfig", "estimator.tpu.TPUConfig")
class TPUConfig(NamedTuple):
    """Settings of TPUs, which are kept and have no effect (TF: tf.contrib.tpu.TPUConfig)."""

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: bool | int = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None


@export("contrib.tpu.RunConfig", "estimator.tpu.RunConfig")
class TPURunConfig(RunConfig):
    """`tf.estimator.RunConfig` with a `TPUConfig`; master and cluster must be those of this process, None or ""."""

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: Any = None,
        master: Any = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if master or cluster is not None:
            raise NotImplementedError(MSG_NO_TPU)
        self.__dict__["tpu_config"] = tpu_config or TPUConfig()


@export("contrib.cluster_resolver.TPUClusterResolver")
class TPUClusterResolver:
    """Raises NotImplementedError: there is no TPU to find."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(MSG_NO_TPU)


class Topology:
    """Raises NotImplementedError: no TPUs have one (TF: tpu.topology). Libraries ask whether something is one."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(MSG_NO_TPU)


HostCall = tuple[Callable[..., Any], Any]


@export("contrib.tpu.TPUEstimatorSpec", "estimator.tpu.TPUEstimatorSpec")
class TPUEstimatorSpec(NamedTuple):
    """What a model function returns (TF: tf.contrib.tpu.TPUEstimatorSpec).

    eval_metrics: a function and its tensors, in a list or by names; it returns (value, update_op) by name. host_call: a
    function and its tensors, whose operations run in each step of training. scaffold_fn: makes the Scaffold. Others: as
    of `tf.estimator.EstimatorSpec`.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: HostCall | None = None
    export_outputs: Any = None
    scaffold_fn: Callable[[], Any] | None = None
    host_call: HostCall | None = None
    training_hooks: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None

    def as_estimator_spec(self) -> EstimatorSpec:
        """The same for `tf.estimator.Estimator`."""
        train_op = self.train_op
        if self.host_call is not None and self.mode == ModeKeys.TRAIN:
            beside = _called(self.host_call)
            train_op = group(train_op, *(beside if isinstance(beside, list | tuple) else [beside]))
        return EstimatorSpec(
            self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=train_op,
            eval_metric_ops=None if self.eval_metrics is None else _called(self.eval_metrics),
            export_outputs=self.export_outputs,
            scaffold=None if self.scaffold_fn is None else self.scaffold_fn(),
            training_hooks=self.training_hooks,
            evaluation_hooks=self.evaluation_hooks,
            prediction_hooks=self.prediction_hooks,
        )


def _called(call: HostCall) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


@export("contrib.tpu.TPUEstimator", "estimator.tpu.TPUEstimator")
class TPUEstimator(Estimator):
    """`tf.estimator.Estimator` whose batch sizes are known here (TF: tf.contrib.tpu.TPUEstimator).

    train_batch_size, eval_batch_size, predict_batch_size: what `params["batch_size"]` is in model_fn and input_fn. With
    use_tpu it runs on the devices that are there, as without. Raises ValueError if params have a batch_size already.
    """

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        warm_start_from: Any = None,
    ) -> None:
        if params is not None and "batch_size" in params:
            raise ValueError("batch_size is a reserved key of params: TPUEstimator sets it.")
        if use_tpu:
            logging.warning("TPUEstimator: there are no TPUs here; the model runs on the devices that are.")
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }

        def with_batch_size(features: Any, labels: Any, mode: str, params: Any, config: Any) -> EstimatorSpec:
            spec = call_with_known(
                model_fn, features=features, labels=labels, mode=mode, params=self._params_in(mode, params),
                config=config,
            )  # fmt: skip
            return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec

        super().__init__(with_batch_size, model_dir, config, params or {}, warm_start_from)

    def _params_in(self, mode: str, params: Any) -> Any:
        size = self._batch_sizes[mode]
        if size is None:
            return params
        if hasattr(params, "add_hparam"):
            params.add_hparam("batch_size", size)
            return params
        return {**params, "batch_size": size}

    def _refuse_overrides(self) -> None:
        """The methods below do what they do in `Estimator`, with another input function."""

    def _with_batch_size(self, input_fn: Any) -> Any:
        def function(mode: str, params: Any, config: Any) -> Any:
            return call_with_known(input_fn, mode=mode, params=self._params_in(mode, params), config=config)

        return function

    def train(self, input_fn: Any, *args: Any, **kwargs: Any) -> Any:
        return super().train(self._with_batch_size(input_fn), *args, **kwargs)

    def evaluate(self, input_fn: Any, *args: Any, **kwargs: Any) -> Any:
        return super().evaluate(self._with_batch_size(input_fn), *args, **kwargs)

    def predict(self, input_fn: Any, *args: Any, **kwargs: Any) -> Any:
        return super().predict(self._with_batch_size(input_fn), *args, **kwargs)


@export("contrib.tpu.CrossShardOptimizer", "tpu.CrossShardOptimizer")
class CrossShardOptimizer(DelegatingOptimizer):
    """The optimizer that it is given: there is one shard (TF: tf.contrib.tpu.CrossShardOptimizer)."""

    def __init__(
        self, opt: Any, reduction: Any = None, name: str = "CrossShardOptimizer", group_assignment: Any = None
    ) -> None:
        super().__init__(opt, name)


@export("contrib.tpu.cross_replica_sum", "tpu.cross_replica_sum")
def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Any:
    """`x` itself: there is one replica (TF: tf.contrib.tpu.cross_replica_sum)."""
    return identity(x, name=name)


@export("contrib.tpu.bfloat16_scope", "tpu.bfloat16_scope")
@contextlib.contextmanager
def bfloat16_scope() -> Iterator[VariableScope]:
    """A scope in which variables of dtype bfloat16 are kept as float32, and are cast where they are got.

    TF: tf.contrib.tpu.bfloat16_scope.
    """
    with variable_scope("", custom_getter=_kept_as_float32) as scope:
        yield scope


def _kept_as_float32(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("dtype") != bfloat16:
        return getter(*args, **kwargs)
    return cast(getter(*args, **{**kwargs, "dtype": float32}), bfloat16)
