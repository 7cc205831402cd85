"""Models from files and descriptions (TF: tf.keras.models)."""

from __future__ import annotations

import json
from typing import Any

import yaml

from penstock.export import export
from penstock.keras.engine import archives, files
from penstock.keras.engine.layer import classes_in
from penstock.keras.engine.model import Model
from penstock.keras.engine.topology import layer_from
from penstock.keras.named import CustomObjectScope, described
from penstock.keras.nested import flat


@export("keras.models.load_model")
def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """The model in an HDF5 file, with its weights, optimizer and the optimizer's state, or in a .keras file of Keras 3.

    A model of Keras 3 is compiled as it was if TensorFlow 1.x has its optimizer, whose state starts anew.
    custom_objects: what names in it stand for, such as classes of layers and functions of Lambda layers.
    filepath: a name, or what is open: a file or group of h5py, or a binary stream.
    """
    read = archives.read_archive if archives.is_archive(filepath) else files.read_model
    return read(filepath, custom_objects, model_from_config, compile)


@export("keras.models.model_from_config")
def model_from_config(config: Any, custom_objects: Any = None) -> Any:
    """A model as {"class_name": …, "config": …} describes it, with new weights."""
    if not isinstance(config, dict):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Maybe you meant to use Sequential.from_config?"
        )
    return layer_from(config, custom_objects)


@export("keras.models.model_from_json")
def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """A model as `model.to_json` described it, with new weights."""
    return model_from_config(json.loads(json_string), custom_objects)


@export("keras.models.model_from_yaml")
def model_from_yaml(yaml_string: str, custom_objects: Any = None) -> Any:
    """A model as `model.to_yaml` described it, with new weights."""
    return model_from_config(yaml.safe_load(yaml_string), custom_objects)


@export("keras.models.clone_model")
def clone_model(model: Any, input_tensors: Any = None) -> Any:
    """A model with the same layers, and weights of its own."""
    with CustomObjectScope(classes_in(model)):
        copy = type(model).from_config(model.get_config())
    return copy if input_tensors is None else Model(flat(input_tensors), copy(input_tensors))


@export("keras.layers.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The layer that plain data describes."""
    return layer_from(config, custom_objects)


@export("keras.layers.serialize")
def serialize(layer: Any) -> Any:
    """Plain data from which the layer can be made again, without its weights."""
    return described(layer)
