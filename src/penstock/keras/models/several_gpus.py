"""A model on several GPUs at once (TF: tf.keras.utils.multi_gpu_model)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.scopes import device, name_scope
from penstock.keras import layers
from penstock.keras.engine.model import Model
from penstock.keras.models.loading import clone_model
from penstock.keras.nested import flat
from penstock.ops.array import shape


@export("keras.utils.multi_gpu_model")
def multi_gpu_model(model: Any, gpus: Any, cpu_merge: bool = True, cpu_relocation: bool = False) -> Any:
    """A model that gives each of `gpus` (how many, or a list of numbers) a part of the batch, and joins the results.

    It has the weights of `model`. GPUs that are not there are an error when it runs, or not under `penstock run`.
    Raises ValueError for less than two.
    """
    numbers = list(gpus) if isinstance(gpus, list | tuple) else list(range(gpus))
    if len(numbers) < 2:
        raise ValueError(
            f"For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. Received: `gpus={gpus}`"
        )
    if cpu_relocation:
        with device("/cpu:0"):
            model = clone_model(model)
    parts: list[list[Any]] = [[] for _ in model.outputs]
    for i, number in enumerate(numbers):
        with device(f"/gpu:{number}"), name_scope(f"replica_{number}"):
            inputs = [layers.Lambda(_part, arguments={"i": i, "parts": len(numbers)})(x) for x in model.inputs]
            outputs = flat(model(inputs if len(inputs) > 1 else inputs[0]))
        for found, output in zip(parts, outputs, strict=True):
            found.append(output)
    names = [
        f"{name}_{model.output_names[: i + 1].count(name)}" if model.output_names.count(name) > 1 else name
        for i, name in enumerate(model.output_names)
    ]
    with device("/cpu:0" if cpu_merge else f"/gpu:{numbers[0]}"):
        joined = [layers.concatenate(found, axis=0, name=name) for name, found in zip(names, parts, strict=True)]
    return Model(model.inputs, joined)


def _part(batch: Any, i: int, parts: int) -> Any:
    """Part `i` of the rows; the last has what is left over."""
    step = shape(batch)[0] // parts
    return batch[step * i :] if i == parts - 1 else batch[step * i : step * (i + 1)]
