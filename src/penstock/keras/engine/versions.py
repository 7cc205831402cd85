"""Descriptions of models by later versions of Keras, as those of this one, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.namespace import names_in

_LATER: dict[str, Any] = {
    "autocast": True,
    "groups": 1,
    "input_axes": None,
    "keepdims": False,
    "lora_rank": None,
    "optional": False,
    "output_axes": None,
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

_MODELS = ("Model", "Sequential")
_ANOTHER = "hard_sigmoid"


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


def of_later_version(value: Any) -> Any:
    """A description for Keras 3, which asks for the module of each layer."""
    if isinstance(value, list | tuple):
        return [of_later_version(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: of_later_version(each) for key, each in value.items()}
    kind = value.get("class_name")
    if kind in names_in("penstock.keras.initializers"):
        found["config"] = {key: each for key, each in found["config"].items() if key != "dtype"}
    elif kind in names_in("penstock.keras.layers"):
        found |= {"module": "keras.layers", "registered_name": None}
    elif kind in _MODELS:
        found |= {"module": "keras", "registered_name": None}
    return _with_input_layer(found) if kind == "Sequential" else found


def _with_input_layer(data: dict[str, Any]) -> dict[str, Any]:
    """A description of a Sequential whose input is a layer of its own, where its first layer says the shape."""
    layers = list(data["config"]["layers"])
    first = dict(layers[0]["config"]) if layers else {}
    shape = first.pop("batch_input_shape", None)
    if shape is None or layers[0]["class_name"] == "InputLayer":
        return data
    config = {"batch_input_shape": shape, "dtype": first.get("dtype") or "float32", "sparse": False, "ragged": False}
    layer = {"class_name": "InputLayer", "config": {**config, "name": f"{first['name']}_input"}}
    layers[0] = {**layers[0], "config": first}
    return {**data, "config": {**data["config"], "layers": [of_later_version(layer), *layers]}}


def check_meaning(description: Any) -> None:
    """Raises ValueError if something in a description has one meaning here and another one in Keras 3."""
    if description == _ANOTHER:
        raise ValueError(f"{_ANOTHER} is one function in TensorFlow 1.x and another one in Keras 3")
    if isinstance(description, dict | list):
        for each in description.values() if isinstance(description, dict) else description:
            check_meaning(each)


def check_nested(description: Any) -> None:
    """Raises ValueError if a model's graph has a Sequential model in it, whose calls Keras 3 counts otherwise."""
    for layer in description["config"].get("layers", ()) if description["class_name"] in _MODELS else ():
        if layer["class_name"] == "Sequential" and description["class_name"] == "Model":
            raise ValueError(f"Keras 3 counts the calls of the Sequential model {layer['config']['name']} otherwise")
        check_nested(layer)


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
