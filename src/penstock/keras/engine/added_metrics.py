"""Metrics that layers and models add themselves, by `add_metric`, or by calling a metric that is their attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.graph.operation import Tensor
from penstock.graph.scopes import counted_as
from penstock.keras import backend as K
from penstock.keras.backend.calls import Call
from penstock.keras.engine.tally import ELEMENTS, LAST, STEPS, Part
from penstock.ops.array import size as size_of
from penstock.ops.cast import cast
from penstock.ops.reduce import reduce_mean, reduce_sum

_IN_A_CALL, _OF_A_MODEL = 22, 29
"""How many nodes TensorFlow 1.15 makes for a mean that is added, whose sums are variables there."""


@dataclass(eq=False)
class Added:
    """A metric that `layer` added: what a batch's own value is, how a pass sums it up, and the metric object if any."""

    layer: Any
    name: str
    value: Any
    part: Part
    metric: Any = None

    count: ClassVar[int] = 0
    """How many there have been, by which is seen whether there are new ones."""

    def __post_init__(self) -> None:
        Added.count += 1


def added(layer: Any, value: Any, aggregation: str | None, name: str | None, is_model: bool) -> Added:
    """The metric that `add_metric` adds. Raises ValueError, for the reasons that TensorFlow has, in its words.

    is_model: it is of a tensor in a model that is made of layers' calls, where metric objects cannot be.
    """
    if aggregation is not None and aggregation != "mean":
        raise ValueError(
            f"We currently support only `mean` sample-wise metric aggregation. You provided aggregation=`{aggregation}`"
        )
    metric = getattr(value, "_metric_obj", None)
    if name is None and metric is None:
        raise ValueError(
            "Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs), "
            "name='mean_activation', aggregation='mean')`"
        )
    if not isinstance(value, Tensor):
        raise ValueError(f"Expected a symbolic Tensor for the metric value, received: {value}")
    if metric is not None and is_model:
        raise ValueError(
            "Using the result of calling a `Metric` object when calling `add_metric` on a Functional Model is not "
            "supported. Please pass the Tensor to monitor directly."
        )
    if aggregation is None and metric is None:
        raise ValueError(
            "We do not support adding an aggregated metric result tensor that is not the output of a "
            "`tf.keras.metrics.Metric` metric instance. Pass the result of one, or aggregation='mean'."
        )
    if metric is not None and aggregation is None:
        return of_object(layer, metric, value)
    with counted_as(_OF_A_MODEL if is_model else _IN_A_CALL):
        values = cast(value, K.floatx())
        mean = values if values.shape.ndims == 0 else reduce_mean(values)
        part = Part(STEPS, mean) if mean is values else Part(ELEMENTS, reduce_sum(values), size_of(values))
    return Added(layer, str(name) if metric is None else metric.name, mean, part)


def of_object(layer: Any, metric: Any, result: Any) -> Added:
    """A metric object's, of which a call gave `result`."""
    return Added(layer, metric.name, result, Part(LAST, result), metric)


def add_called(layer: Any, call: Call, calls: list[Call]) -> None:
    """Add the metric objects that are attributes of `layer`, and were called in `call`, to all that are running."""
    own = [value for value in vars(layer).values() if any(value is metric for metric, _ in call.called)]
    of_objects = [of_object(layer, metric, dict(map(_by_id, call.called))[id(metric)]) for metric in own]
    for each in calls:
        each.metrics = of_objects + each.metrics if each is call else each.metrics + of_objects


def _by_id(called: tuple[Any, Any]) -> tuple[int, Any]:
    return id(called[0]), called[1]


def distinct(metrics: list[Added]) -> list[Added]:
    """One for each name that a layer gives, the last that it added."""
    return list({(id(each.layer), each.name): each for each in metrics}.values())


def reported(model: Any) -> tuple[list[str], list[Added]]:
    """Names, and what is reported under them: TensorFlow 1.15 names those of the layers first, and computes the
    model's own first, so that where there are both, values stand at each other's names."""
    metrics = distinct(model.added_metrics)
    own = [each for each in metrics if each.layer is model]
    of_layers = [each for each in metrics if each.layer is not model]
    return [each.name for each in of_layers + own], own + of_layers
