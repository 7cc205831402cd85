"""What a compiled model minimises and reports: losses and metrics as tensors of its outputs and targets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from penstock.client.default_names import snake_case
from penstock.graph.convert import convert_to_tensor
from penstock.graph.scopes import more_nodes, name_scope, seed_count, set_seed_count
from penstock.keras import backend as K
from penstock.keras.engine.node import mask_of
from penstock.keras.engine.seed_nodes import more_of_function
from penstock.keras.engine.tally import ELEMENTS, LAST, SAMPLES, STEPS, Part
from penstock.keras.losses import functions as losses_functions
from penstock.keras.losses.classes import Loss, weighted_mean
from penstock.keras.metrics import functions as metrics_functions
from penstock.keras.metrics.classes import Metric
from penstock.keras.nested import flat
from penstock.ops.arithmetic import maximum
from penstock.ops.array import expand_dims, size as size_of
from penstock.ops.cast import cast
from penstock.ops.filling import ones_like
from penstock.ops.reduce import reduce_mean, reduce_sum

_OF_CLASSES = {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"}
_OF_OUTPUTS_SHAPE = {
    "mean_squared_error", "MeanSquaredError", "binary_crossentropy", "BinaryCrossentropy", "categorical_crossentropy",
    "CategoricalCrossentropy",
}  # fmt: skip
"""Losses whose targets must have the outputs' shape."""
_OF_A_LOSS, _OF_LOSSES = 21, 44
"""How many nodes TensorFlow 1.15 makes for an output's loss besides its function: for one, and for each of more."""
_MORE_OF_A_METRIC = 18
"""How many more it makes for a metric, whose mean is in variables there."""
_TALLIED = True
"""Whether metrics are means over all elements of a pass, as in tf.keras, and not over its batches, as in Keras 2.2."""


@dataclass
class Objective:
    """Placeholders and tensors of a compiled model."""

    targets: list[Any] = field(default_factory=list)
    """For each output a placeholder, or None if it has no loss."""
    fed_targets: list[Any] = field(default_factory=list)
    target_names: list[str] = field(default_factory=list)
    target_shapes: list[Any] = field(default_factory=list)
    of_classes: list[bool] = field(default_factory=list)
    """For each fed target, whether it has numbers of classes: a last dimension of 1 may be left out there."""
    weights: list[Any] = field(default_factory=list)
    """For each fed target a placeholder of weights of its samples; none if samples are not weighted."""
    names: list[str] = field(default_factory=list)
    """"loss", and names of the others, as they are logged."""
    values: list[Any] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    """How a pass sums up each of the values."""
    stateful: list[str] = field(default_factory=list)
    updates: list[Any] = field(default_factory=list)
    resets: list[Any] = field(default_factory=list)

    def weight_of(self, target: Any) -> Any:
        """The weights of a target's samples, None if they are not weighted."""
        return dict(zip(self.fed_targets, self.weights, strict=False)).get(target)


def objective(
    model: Any,
    losses: Any,
    metrics: Any,
    weighted_metrics: Any,
    loss_weights: Any,
    given: Any,
    unweighted: Objective | None = None,
) -> Objective:
    """The objective of `model`, with `compile`'s arguments. Raises ValueError if these name unknown outputs.

    `unweighted`: make the one in which samples are weighted, for the same targets. (They are two, because a plan for
    known shapes is faster than one for weights that may or may not be fed.)
    """
    names, outputs = model.output_names, model.outputs
    begin, own = seed_count(), 0
    functions = _per_output(losses, names, "loss")
    scales = _per_output(loss_weights, names, "loss_weights")
    targets = _per_output(given, names, "target_tensors") if unweighted is None else unweighted.targets
    made_of = Objective(names=["loss"])
    total: Any = None
    parts: list[Any] = []
    for name, output, loss, scale, target in zip(names, outputs, functions, scales, targets, strict=True):
        function = losses_functions.get(loss)
        made_of.targets.append(None)
        if function is None:
            continue
        fed = target is None or (unweighted is not None and target in unweighted.fed_targets)
        if target is None:
            # A model whose output is its loss takes any targets: programs feed it zeros.
            target = K.placeholder(ndim=output.shape.ndims or None, dtype=K.dtype(output), name=f"{name}_target")
        weight = None
        if fed:
            made_of.fed_targets.append(target)
            made_of.target_names.append(name)
            made_of.target_shapes.append(_target_shape(function, output))
            made_of.of_classes.append(_name_of(function) in _OF_CLASSES)
        if fed and unweighted is not None:
            temporal = _per_output(model.sample_weight_mode, names, "sample_weight_mode")[names.index(name)]
            weight = K.placeholder(ndim=2 if temporal == "temporal" else 1, name=f"{name}_sample_weights")
            made_of.weights.append(weight)
        made_of.targets[-1] = target
        with name_scope(f"loss/{name}_loss"):
            value, nodes = _weighted(function, target, output, weight)
        own += nodes
        parts.append((f"{name}_loss", value))
        scaled = value if scale is None else value * scale
        total = scaled if total is None else total + scaled
    with name_scope("loss"):
        for loss in model.losses:
            total = loss if total is None else total + loss
    if total is None:
        raise ValueError("The model cannot be compiled because it has no loss to optimize.")
    made_of.values = [total if total.shape.ndims == 0 else reduce_mean(total)]
    made_of.parts = [Part(SAMPLES, made_of.values[0])]
    if len(outputs) > 1:
        made_of.names += [name for name, _ in parts]
        made_of.values += [value for _, value in parts]
        made_of.parts += [Part(STEPS if _TALLIED else SAMPLES, value) for _, value in parts]
    own += _OF_A_LOSS if len(parts) == 1 else len(parts) * _OF_LOSSES - 1
    set_seed_count(begin + own + 16 * len(model.losses) + min(2, len(model.losses)))  # regularizers are computed here
    _add_metrics(made_of, model, metrics, weighted_metrics, functions)
    if unweighted is not None:
        set_seed_count(begin)  # TensorFlow's objective takes weights always
    return made_of


def _target_shape(function: Any, output: Any) -> Any:
    """The shape that targets must have, or None if any does."""
    shape = K.int_shape(output)
    if not shape:
        return None
    if _name_of(function) in _OF_CLASSES:
        return (*shape[:-1], 1)
    ours = getattr(function, "__module__", type(function).__module__).startswith("penstock.")
    if not ours and len(shape) > 1:
        return None
    return _sizes(function, shape)  # vectors stay vectors, as the placeholder of such an output is


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _sizes(function: Any, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The sizes that targets must have. Of other losses they may be broadcast, as in tf.keras of TensorFlow 1.15."""
    return shape if _name_of(function) in _OF_OUTPUTS_SHAPE else (None,) * len(shape)


def _masked(losses: Any, mask: Any) -> Any:
    """Losses with zeros where the mask has; their mean is over all elements, as in TensorFlow 1.15."""
    return losses * cast(mask, losses.dtype)


def _weighted(function: Any, target: Any, output: Any, weight: Any) -> tuple[Any, int]:
    """A loss, and how many nodes TensorFlow 1.15 makes for its function."""
    begin = seed_count()
    losses = function.call(target, output) if isinstance(function, Loss) else function(target, output)
    losses = convert_to_tensor(losses)
    nodes = seed_count() - begin + more_of_function(function, output)
    mask = mask_of(output)
    if mask is not None:
        losses = _masked(losses, mask)
    rank = losses.shape.ndims
    return weighted_mean(losses, weight if rank is None or rank > 0 else None), nodes


def _per_output(given: Any, names: list[str], what: str) -> list[Any]:
    """One element for each output, from a dict by name, a list, or one for all."""
    if isinstance(given, dict) and "class_name" not in given:
        unknown = set(given) - set(names)
        if unknown:
            raise ValueError(f'Unknown entry in {what} dictionary: "{sorted(unknown)[0]}". Expected only: {names}')
        return [given.get(name) for name in names]
    if isinstance(given, list | tuple):
        if len(given) != len(names):
            raise ValueError(f"{what} should have one entry per model output: {len(names)}, but got {given}")
        return list(given)
    return [given] * len(names)


# --- metrics --------------------------------------------------------------------------------------------


def _add_metrics(made_of: Objective, model: Any, metrics: Any, weighted_metrics: Any, losses: list[Any]) -> None:
    names = model.output_names
    plain, weighted = _metrics_per_output(metrics, names), _metrics_per_output(weighted_metrics, names)
    for i, (name, output, target, loss) in enumerate(zip(names, model.outputs, made_of.targets, losses, strict=True)):
        if target is None:
            continue
        for metric in flat(plain[i]):
            _add_metric(made_of, name, output, target, loss, metric, "")
        for metric in flat(weighted[i]):
            _add_metric(made_of, name, output, target, loss, metric, "weighted_")


def _metrics_per_output(metrics: Any, names: list[str]) -> list[Any]:
    if isinstance(metrics, list | tuple) and len(names) > 1 and any(isinstance(m, list | tuple) for m in metrics):
        return list(metrics)
    return [metrics] * len(names) if not isinstance(metrics, dict) else [metrics.get(name) for name in names]


def _add_metric(made_of: Objective, name: str, output: Any, target: Any, loss: Any, metric: Any, prefix: str) -> None:
    """A metric of one output; `prefix` is of the names of those in which samples are weighted, or empty."""
    label, function = _metric(metric, output, losses_functions.get(loss))
    label = prefix + label
    shown = f"{name}_{label}" if len(made_of.targets) > 1 else label
    made_of.names.append(f"{shown}_{made_of.names.count(shown)}" if shown in made_of.names else shown)
    weight = made_of.weight_of(target) if prefix else None
    if not isinstance(function, Metric):
        more_nodes(_MORE_OF_A_METRIC + more_of_function(function, output))
    with name_scope(f"metrics/{label}"):
        if isinstance(function, Metric):
            made_of.updates += flat(function.update_state(target, output, weight))
            made_of.values.append(function.result())
            made_of.parts.append(Part(LAST, made_of.values[-1]))
            made_of.stateful.append(made_of.names[-1])
            made_of.resets.append(function)
        else:
            mean, part = _mean(function, target, output, weight, target in made_of.fed_targets)
            made_of.values.append(mean)
            made_of.parts.append(part if _TALLIED else Part(SAMPLES, mean))


def _mean(function: Any, target: Any, output: Any, weight: Any, fed: bool) -> tuple[Any, Part]:
    """The mean of a metric in a batch, and the sum that a pass makes its own mean of."""
    values = convert_to_tensor(function(target, output))
    mask = mask_of(output)
    spread = None
    if mask is not None and values.shape.ndims == mask.shape.ndims:
        spread = cast(mask, values.dtype)
    if weight is not None and values.shape.ndims:
        while len(weight.shape) < values.shape.ndims:
            weight = expand_dims(weight, -1)
        spread = weight * (ones_like(values) if spread is None else spread)
    if spread is not None:
        total, count = reduce_sum(values * spread), reduce_sum(spread)
        return total / maximum(count, 1e-7), Part(ELEMENTS, total, count)
    if values.shape.ndims == 0:
        return values, Part(STEPS, values)
    each = _elements_of_a_sample(function, values) if fed else None
    return reduce_mean(values), Part(ELEMENTS, reduce_sum(values), size_of(values) if each is None else each)


def _elements_of_a_sample(function: Any, values: Any) -> int | None:
    """How many numbers a metric has for a sample, None if only its values tell: one of a program may flatten them."""
    shape = K.int_shape(values)
    if not shape or not getattr(function, "__module__", "").startswith("penstock."):
        return None
    sizes = [size for size in shape[1:] if size is not None]
    return math.prod(sizes) if len(sizes) == len(shape) - 1 else None


def _metric(metric: Any, output: Any, loss: Any) -> tuple[str, Any]:
    """The name and function of a metric; "accuracy" is the one that suits the loss."""
    suffix = (
        {"accuracy": "acc", "acc": "acc", "crossentropy": "ce", "ce": "ce"}.get(metric)
        if isinstance(metric, str)
        else None
    )
    if suffix is None:
        function = metrics_functions.get(metric)
        if isinstance(function, Metric):
            return function.name, function
        return getattr(function, "__name__", metric if isinstance(metric, str) else "metric"), function
    of_loss = getattr(loss, "__name__", None) or snake_case(type(loss).__name__)
    size = K.int_shape(output)
    if (size is not None and size[-1] == 1) or of_loss == "binary_crossentropy":
        kind = "binary"
    elif of_loss == "sparse_categorical_crossentropy":
        kind = "sparse_categorical"
    else:
        kind = "categorical"
    return suffix, metrics_functions.get(f"{kind}_{'accuracy' if suffix == 'acc' else 'crossentropy'}")
