"""What served models are fed (TF: tf.contrib.learn.utils.input_fn_utils)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock.estimator.export.receivers import (
    ServingInputReceiver,
    build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn,
)
from penstock.export import export


@export("contrib.learn.InputFnOps")
class InputFnOps(NamedTuple):
    """The features of a served model, None for its labels, and by name the tensors that requests feed."""

    features: Any
    labels: Any
    default_inputs: Any


@export("contrib.learn.build_parsing_serving_input_fn")
def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """For a model that is fed serialised examples, parsed by `feature_spec`, as "examples"."""
    return _as_input_fn(build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size))


def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """For a model that is fed its features, with the dtypes and shapes of `features` except for the batch."""
    return _as_input_fn(build_raw_serving_input_receiver_fn(features, default_batch_size))


def _as_input_fn(receiver_fn: Callable[[], ServingInputReceiver]) -> Callable[[], InputFnOps]:
    def input_fn() -> InputFnOps:
        receiver = receiver_fn()
        return InputFnOps(receiver.features, None, receiver.receiver_tensors)

    return input_fn
