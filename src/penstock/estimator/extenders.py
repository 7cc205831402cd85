"""Estimators and optimizers made from others (TF: tf.contrib.estimator)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.estimator.calls import argument_names, call_with_known
from penstock.estimator.estimator import Estimator
from penstock.estimator.export.outputs import PredictOutput
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.ops.clip import clip_by_global_norm
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.train.delegating import DelegatingOptimizer

_METRIC_ARGUMENTS = {"features", "labels", "predictions", "config"}


@export("contrib.estimator.add_metrics", "estimator.add_metrics")
def add_metrics(estimator: Estimator, metric_fn: Callable[..., dict[str, Any]]) -> Estimator:
    """An Estimator whose evaluations also have the metrics that `metric_fn` returns.

    metric_fn: takes those of predictions, features, labels and config that it names; returns `(value, update_op)` by
    name, which replace those of the same name.
    """
    unexpected = argument_names(metric_fn) - _METRIC_ARGUMENTS
    if unexpected:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {sorted(unexpected)}")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        known = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **call_with_known(metric_fn, **known)})

    return Estimator(model_fn, estimator.model_dir, estimator.config)


@export("contrib.estimator.forward_features")
def forward_features(
    estimator: Estimator,
    keys: str | Iterable[str] | None = None,
    sparse_default_values: Mapping[str, Any] | None = None,
) -> Estimator:
    """An Estimator whose predictions also have the features under `keys`, such as the numbers of examples, or all.

    Sparse ones are made dense with their `sparse_default_values`, and raise ValueError without.
    """
    missing = sparse_default_values or {}
    chosen = [keys] if isinstance(keys, str) else keys

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.PREDICT:
            return spec
        forwarded = {}
        for key in features if chosen is None else chosen:
            if key not in features:
                raise ValueError(f"keys should be exist in features. Key ({key}) is not in features dict.")
            if key in spec.predictions:
                raise ValueError(f"Cannot forward feature key ({key}). Since it does exist in predictions.")
            forwarded[key] = features[key]
            if key in missing:
                if not isinstance(features[key], SparseTensor):
                    raise ValueError(f"Feature ({key}) is expected to be a `SparseTensor`.")
                forwarded[key] = sparse_tensor_to_dense(features[key], missing[key])
            elif isinstance(features[key], SparseTensor):
                raise ValueError(
                    f"Forwarded feature ({key}) should be a Tensor. Please use keys argument, or sparse_default_values."
                )
        outputs = {
            name: PredictOutput({**output.outputs, **forwarded}) if isinstance(output, PredictOutput) else output
            for name, output in (spec.export_outputs or {}).items()
        }
        return spec._replace(predictions={**spec.predictions, **forwarded}, export_outputs=outputs)

    return Estimator(model_fn, estimator.model_dir, estimator.config)


class _ClippingOptimizer(DelegatingOptimizer):
    """Clips the gradients' global norm before the other optimizer applies them."""

    def __init__(self, opt: Any, clip_norm: Any) -> None:
        super().__init__(opt, f"ClipByNorm{opt.get_name()}")
        self._clip_norm = clip_norm

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        gradients, variables = zip(*grads_and_vars, strict=True)
        clipped, _ = clip_by_global_norm(gradients, self._clip_norm)
        return super().apply_gradients(list(zip(clipped, variables, strict=True)), global_step, name)


@export("contrib.estimator.clip_gradients_by_norm")
def clip_gradients_by_norm(optimizer: Any, clip_norm: Any) -> Any:
    """An optimizer that applies gradients by another, scaled so that their global norm is at most `clip_norm`."""
    return _ClippingOptimizer(optimizer, clip_norm)
