"""Model functions under a distribution strategy: one call for each replica, and what they return as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.client.replicas import regrouped
from penstock.distribute.strategy import Strategy
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.model import Model
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.graph.scopes import get_default_graph
from penstock.ops.basic import group


@export("contrib.distribute.DistributeConfig")
@dataclass(frozen=True)
class DistributeConfig:
    """For `RunConfig(experimental_distribute=…)`: strategies for training and evaluation."""

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


@dataclass(frozen=True, eq=False)
class _Made:
    """Keeps replicas' specs whole: they are tuples, which would be regrouped field by field."""

    spec: EstimatorSpec


def spec_of_replicas(model: Model, strategy: Strategy | None, features: Any, labels: Any, mode: str) -> EstimatorSpec:
    """The spec of all replicas together: their mean loss (or sum, if it is a sum over examples), all their updates, and
    the rest of the first one. Metrics are local variables that all of them add to."""
    if strategy is None:
        return model.spec(features, labels, mode)

    def build(features: Any, labels: Any) -> _Made:
        return _Made(model.spec(features, labels, mode))

    with strategy.mean_of_losses():
        specs = [made.spec for made in strategy.unwrap(strategy.call_for_each_replica(build, (features, labels)))]
    first = specs[0]
    loss = _together(strategy, [spec.loss for spec in specs])
    if mode == ModeKeys.TRAIN:
        return first._replace(loss=loss, train_op=group(*(spec.train_op for spec in specs)), predictions=None)
    metrics = {
        name: (value, group(*(spec.eval_metric_ops[name][1] for spec in specs)))
        for name, (value, _) in first.eval_metric_ops.items()
    }
    return first._replace(loss=loss, eval_metric_ops=metrics, predictions=None)


def _together(strategy: Strategy, losses: list[Any]) -> Any:
    return strategy.reduce("SUM" if get_default_graph().loss_is_sum else "MEAN", regrouped(losses))
