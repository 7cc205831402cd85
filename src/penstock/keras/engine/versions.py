"""Descriptions of models by later versions of Keras, as those of this one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_LATER: dict[str, Any] = {
    "autocast": True,
    "groups": 1,
    "input_axes": None,
    "keepdims": False,
    "lora_rank": None,
    "optional": False,
    "output_axes": None,
    "output_padding": None,
    "quantization_config": None,
    "ragged": False,
    "registered_name": None,
    "renorm": False,
    "synchronized": False,
    "time_major": False,
    "use_cudnn": "auto",
    "virtual_batch_size": None,
}
"""Arguments that layers and initialisers had later, with the value that means what they do here."""

_WITHOUT_EFFECT = ("backward_layer", "build_config", "zero_output_for_mask")
"""What the layer itself makes, or what it returns for steps that do not count."""


def of_this_version(data: dict[str, Any]) -> dict[str, Any]:
    """A description without later arguments, in what it contains too. Raises ValueError if one asks for what is not
    here."""
    config = data.get("config")
    if not isinstance(config, dict):
        return data
    kept = {}
    for key, value in config.items():
        if key in _LATER:
            if value not in (_LATER[key], None):
                name = f"{data['class_name']} {config.get('name')!r}"
                raise ValueError(
                    f"The layer {name} has {key} = {value!r}, which Keras of TensorFlow 1.x does not have."
                )
        elif key == "dtype" and isinstance(value, dict):
            kept[key] = value["config"]["name"]
        elif key == "batch_shape":
            kept["batch_input_shape"] = value
        elif key not in _WITHOUT_EFFECT and not (key == "seed" and "units" in config):
            kept[key] = of_this_version(value) if isinstance(value, dict) and "class_name" in value else value
    if data["class_name"] == "Embedding" and "batch_input_shape" not in kept:
        kept.pop("dtype", None)
    return {**data, "config": kept}


def tensors_of(call: Any) -> list[Any]:
    """What a layer was called with, as [layer, call, tensor, arguments]: later a dict that holds tensors anywhere."""
    if isinstance(call, dict):
        arguments = {k: v for k, v in call.get("kwargs", {}).items() if v is not None and not any(_histories(v))}
        arguments.pop("mask", None)
        return [[*place, arguments] for place in _histories([call.get("args", []), call.get("kwargs", {})])]
    return [call] if call and isinstance(call[0], str) else list(call)


def _histories(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, dict):
        if value.get("class_name") == "__keras_tensor__":
            yield list(value["config"]["keras_history"])
        else:
            for element in value.values():
                yield from _histories(element)
    elif isinstance(value, list | tuple):
        for element in value:
            yield from _histories(element)
