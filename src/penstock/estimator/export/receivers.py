"""What an exported model takes, and the features that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.operation import Tensor
from penstock.ops.basic import placeholder
from penstock.ops.parsing import parse_example
from penstock.tensor.dtypes import string

SINGLE_FEATURE, SINGLE_RECEIVER = "feature", "input"


@export("estimator.export.ServingInputReceiver")
class ServingInputReceiver(
    NamedTuple(
        "ServingInputReceiver",
        [("features", Any), ("receiver_tensors", dict[str, Any]), ("receiver_tensors_alternatives", Any)],
    )
):
    """Features for a model function, and the placeholders that they are made from.

    features: by name; a single one is called "feature". receiver_tensors: by the names that callers use; a single one
    is called "input". receiver_tensors_alternatives: dicts of tensors by name, which may be fed instead. Raises
    ValueError for what is none of these.
    """

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Mapping[str, Any] | None = None
    ) -> Self:
        if features is None:
            raise ValueError("features must be defined.")
        named = features if isinstance(features, dict) else {SINGLE_FEATURE: features}
        for name, tensor in named.items():
            if not isinstance(name, str):
                raise ValueError(f"feature keys must be strings: {name}.")
            if not isinstance(tensor, Tensor | SparseTensor):
                raise ValueError(f"feature {name} must be a Tensor or SparseTensor.")
        return super().__new__(cls, named, *_receivers(receiver_tensors, receiver_tensors_alternatives))


@export("estimator.export.TensorServingInputReceiver")
class TensorServingInputReceiver(
    NamedTuple(
        "TensorServingInputReceiver",
        [("features", Any), ("receiver_tensors", dict[str, Any]), ("receiver_tensors_alternatives", Any)],
    )
):
    """A `ServingInputReceiver` for a model function whose features are one tensor, which it gets as it is."""

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Mapping[str, Any] | None = None
    ) -> Self:
        if features is None:
            raise ValueError("features must be defined.")
        if not isinstance(features, Tensor | SparseTensor):
            raise ValueError("feature must be a Tensor or SparseTensor.")
        return super().__new__(cls, features, *_receivers(receiver_tensors, receiver_tensors_alternatives))


def _receivers(tensors: Any, alternatives: Mapping[str, Any] | None) -> tuple[dict[str, Any], Any]:
    if tensors is None:
        raise ValueError("receiver_tensors must be defined.")
    if alternatives is None:
        return _receiver(tensors), None
    if not isinstance(alternatives, Mapping):
        raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives}.")
    return _receiver(tensors), {name: _receiver(given) for name, given in alternatives.items()}


def _receiver(tensors: Any) -> dict[str, Any]:
    named: dict[str, Any] = tensors if isinstance(tensors, dict) else {SINGLE_RECEIVER: tensors}
    for name, tensor in named.items():
        if not isinstance(name, str):
            raise ValueError(f"receiver_tensors keys must be strings: {name}.")
        if not isinstance(tensor, Tensor | SparseTensor):
            raise ValueError(f"receiver_tensor {name} must be a Tensor.")
    return named


@export("estimator.export.build_parsing_serving_input_receiver_fn")
def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """For a model that is fed serialised examples, parsed by `feature_spec`, as "examples"."""

    def serving_input_receiver_fn() -> ServingInputReceiver:
        serialized = placeholder(string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})

    return serving_input_receiver_fn


@export("estimator.export.build_raw_serving_input_receiver_fn")
def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """For a model that is fed its features, with the dtypes and shapes of `features` except for the batch."""

    def serving_input_receiver_fn() -> ServingInputReceiver:
        receivers = {}
        for name, tensor in features.items():
            shape = [default_batch_size, *tensor.get_shape().as_list()[1:]]
            receivers[name] = placeholder(tensor.dtype.base_dtype, shape, name=tensor.op.name)
        return ServingInputReceiver(receivers, receivers)

    return serving_input_receiver_fn
