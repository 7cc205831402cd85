"""Models and weights in Keras' HDF5 files, and weights in checkpoints.

A file holds data only: JSON and arrays. Functions in Lambda layers are not in it, and nothing that is read is executed.
Writing replaces a file as a whole. HDF5 needs h5py.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from penstock.checkpoint.state import update_checkpoint_state
from penstock.export import export
from penstock.keras import backend as K
from penstock.keras.backend.state import after_new
from penstock.keras.engine.archives import is_archive, weights_in, write_archive
from penstock.keras.engine.later_optimizers import as_later
from penstock.keras.engine.reading import compile_as_saved, h5py, is_group, is_open, malformed, opened
from penstock.keras.engine.stored_weights import in_files, names_in, set_weights, text_of
from penstock.keras.engine.versions import check_meaning, check_nested, of_later_version
from penstock.keras.named import described
from penstock.tensor.shapes import TensorShape
from penstock.train.checkpoint_utils import checkpoint_exists
from penstock.train.object_restore import NameBasedSaverStatus
from penstock.train.saver import Saver

VERSION = "2.2.4-tf"
_HEADER_LIMIT = 64512
"""HDF5 keeps the attributes of an object in a header of 64 kB: longer lists of names are in several."""


def as_json(value: Any) -> Any:
    """Arrays, shapes and dtypes as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, TensorShape):
        return value.as_list()
    if hasattr(value, "get_config"):
        return described(value)
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    if name is None:
        raise TypeError(f"Not JSON Serializable: {value!r}")
    return name


def description_of(model: Any) -> dict[str, Any]:
    """What `model_from_json` makes a model from."""
    return {
        "class_name": type(model).__name__ if type(model).__name__ == "Sequential" else "Model",
        "config": model.get_config(),
        "keras_version": VERSION,
        "backend": "tensorflow",
    }


# --- saving ---------------------------------------------------------------------------------------------


@export("keras.models.save_model")
def save_model(model: Any, filepath: Any, overwrite: bool = True, include_optimizer: bool = True) -> None:
    """Save a model: its description, weights, and with `include_optimizer` how it is trained.

    The file is one of Keras 3 if its name ends with .keras and the model is the same there, and else an HDF5 file.
    filepath: a name, or what is open: a file or group of h5py, or a binary stream that can be read, too.
    """
    if not is_open(filepath) and not _may_write(filepath, overwrite):
        return
    if str(filepath).endswith(".keras"):
        description = json.loads(json.dumps(description_of(model), default=as_json))
        try:
            check_meaning(description)
            check_nested(description)
        except ValueError as error:
            warnings.warn(f"{filepath} is an HDF5 file, as in TensorFlow 1.x: {error}.", UserWarning, stacklevel=3)
        else:
            _save_archive(model, of_later_version(description), filepath, include_optimizer)
            return
    with _writing(filepath) as file:
        file.attrs["keras_version"] = VERSION.encode()
        file.attrs["backend"] = b"tensorflow"
        file.attrs["model_config"] = json.dumps(description_of(model), default=as_json).encode()
        write_weights(file.create_group("model_weights"), model)
        if include_optimizer and getattr(model, "optimizer", None) is not None:
            _write_training(file, model)


def save_weights(model: Any, filepath: Any, overwrite: bool = True, save_format: str | None = None) -> None:
    """Save a model's weights."""
    form = save_format or ("h5" if is_open(filepath) or _is_hdf5_name(filepath) else "tf")
    if form in ("h5", "hdf5", "keras"):
        if is_open(filepath) or _may_write(filepath, overwrite):
            with _writing(filepath) as file:
                write_weights(file, model)
    elif form in ("tf", "tensorflow"):
        if _may_write(f"{filepath}.index", overwrite):
            prefix = os.fspath(filepath)
            model.object_saver.write(prefix, K.get_session())
            update_checkpoint_state(os.path.dirname(prefix), prefix, [prefix], save_relative_paths=True)
    else:
        raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')


def _is_hdf5_name(filepath: Any) -> bool:
    return str(filepath).endswith((".h5", ".hdf5", ".keras"))


def _may_write(filepath: Any, overwrite: bool) -> bool:
    if overwrite or not os.path.exists(filepath):
        return True
    print(f"[WARNING] {filepath} already exists - overwrite? [y/n]", end=" ")
    return input().strip().lower() == "y"


@contextmanager
def _writing(filepath: Any) -> Iterator[Any]:
    """A new HDF5 file, which becomes `filepath` when all has been written; an open file or group as it is."""
    if is_group(filepath):
        yield filepath
        return
    if is_open(filepath):
        with h5py().File(filepath, "w") as file:
            yield file
        return
    with _part_of(filepath) as part, h5py().File(part, "w") as file:
        yield file


@contextmanager
def _part_of(filepath: Any) -> Iterator[Path]:
    """The name of a file that becomes `filepath` if what is done inside succeeds."""
    path = Path(filepath)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_weights(group: Any, model: Any) -> None:
    """Write the weights of a model's layers to a group of an HDF5 file."""
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = VERSION.encode()
    write_names(group, "layer_names", [layer.name for layer in model.layers])
    for layer in model.layers:
        weights = in_files(layer)
        _write_arrays(group.create_group(layer.name), [weight.name for weight in weights], weights)


def _write_arrays(group: Any, names: list[str], variables: list[Any]) -> None:
    names = [name if names.index(name) == i else f"{name}_{i}" for i, name in enumerate(names)]
    write_names(group, "weight_names", names)
    for name, value in zip(names, K.batch_get_value(variables), strict=True):
        group.create_dataset(name, data=value)


def write_names(group: Any, key: str, names: list[str]) -> None:
    """Write a list of names as an attribute, or as several (`key0`, `key1`, …) where one may not be that long."""
    encoded = [name.encode() for name in names]
    length = max(map(len, encoded), default=1)
    each = max(1, _HEADER_LIMIT // length)
    if len(encoded) <= each:
        group.attrs[key] = np.array(encoded, "S")
        return
    for i in range(0, len(encoded), each):
        group.attrs[f"{key}{i // each}"] = np.array(encoded[i : i + each], "S")


def _save_archive(model: Any, description: dict[str, Any], filepath: Any, include_optimizer: bool) -> None:
    training: dict[str, Any] = {}
    if include_optimizer and getattr(model, "optimizer", None) is not None:
        try:
            training = {"optimizer": as_later(model.optimizer), "loss": model.loss, "loss_weights": model.loss_weights}
            training["metrics"] = model.metrics
        except NotImplementedError as error:
            warnings.warn(f"The optimizer is not saved: {error}", UserWarning, stacklevel=3)
    text = json.dumps({**description, "compile_config": training}, default=as_json)
    with _part_of(filepath) as part:
        write_archive(part, model, text, {"keras_version": VERSION}, bool(training))


def _write_training(file: Any, model: Any) -> None:
    try:
        optimizer = described(model.optimizer)
    except NotImplementedError as error:
        warnings.warn(f"The optimizer is not saved: {error}", UserWarning, stacklevel=3)
        return
    config = {
        "optimizer_config": optimizer,
        "loss": model.loss,
        "metrics": model.metrics,
        "sample_weight_mode": model.sample_weight_mode,
        "loss_weights": model.loss_weights,
    }
    file.attrs["training_config"] = json.dumps(config, default=as_json).encode()
    if model.optimizer.weights:
        names = [variable.name for variable in model.optimizer.weights]
        _write_arrays(file.create_group("optimizer_weights"), names, model.optimizer.weights)


# --- loading --------------------------------------------------------------------------------------------


def read_model(filepath: Any, custom_objects: Any, from_config: Callable[[Any, Any], Any], compiled: bool) -> Any:
    """The model in an HDF5 file, as `from_config` makes it, with its weights and how it is trained.

    Raises OSError for a damaged file, ValueError for one whose description is none of a model.
    """
    with opened(filepath) as file, malformed(filepath):
        if "model_config" not in file.attrs:
            raise ValueError(f"No model found in {filepath}: it holds weights only. Build the model and load_weights.")
        model = from_config(json.loads(text_of(file.attrs["model_config"])), custom_objects)
        set_weights(file["model_weights"], model, str(filepath))
        if compiled and "training_config" in file.attrs:
            training = json.loads(text_of(file.attrs["training_config"]))
            if compile_as_saved(model, training, custom_objects) and "optimizer_weights" in file:
                _restore_optimizer(model, file["optimizer_weights"])
        elif compiled:
            warnings.warn(f"{filepath} does not say how the model is trained: compile it.", UserWarning, stacklevel=3)
    return model


def _restore_optimizer(model: Any, group: Any) -> None:
    model.optimizer.make_slots(model.trainable_weights)
    if not model.optimizer.weights:
        model._make_train_function()  # with which optimizers of programs make them
    try:
        model.optimizer.set_weights([group[name][()] for name in names_in(group, "weight_names")])
    except ValueError as error:
        warnings.warn(
            f"Error in loading the saved optimizer state: it starts anew. ({error})", UserWarning, stacklevel=4
        )


def load_weights(
    model: Any, filepath: Any, by_name: bool = False, skip_mismatch: bool = False, reshape: bool = False
) -> Any:
    """Set a model's weights to those in a file; see `Network.load_weights`."""
    if skip_mismatch and not by_name:
        raise ValueError("When calling model.load_weights, skip_mismatch can only be set to True when by_name is True.")
    if not is_open(filepath) and not _is_hdf5_name(filepath) and checkpoint_exists(os.fspath(filepath)):
        if by_name:
            raise NotImplementedError("Weights may only be loaded by name from HDF5 files.")
        return _load_checkpoint(model, os.fspath(filepath))
    if is_archive(filepath):
        if by_name:
            raise NotImplementedError("The weights in .keras files are loaded by their places, not by names.")
        weights_in(filepath, model)
        return None
    with opened(filepath) as file, malformed(filepath):
        set_weights(file.get("model_weights", file), model, str(filepath), by_name, skip_mismatch, reshape)
    return None


def _load_checkpoint(model: Any, prefix: str) -> Any:
    """Restore what the model has of a checkpoint of objects; returns its status."""
    session = K.get_session()
    model.loading = None
    status = model.object_saver.restore(prefix)
    if isinstance(status, NameBasedSaverStatus):  # of Penstock before it wrote what belongs to which object
        Saver(_checkpoint_keys(model)).restore(session, prefix)
        return None
    status.assert_nontrivial_match().run_restore_ops(session)
    model.loading = status, session.graph
    after_new.add(model)
    return status


def _checkpoint_keys(model: Any) -> dict[str, Any]:
    """Weights by the keys of TensorFlow's checkpoints of objects."""
    keys: dict[str, Any] = {}
    for i, layer in enumerate(layer for layer in model.layers if layer.weights):
        for weight in layer.weights:
            key = f"layer_with_weights-{i}/{weight.op.name.rsplit('/', 1)[-1]}/.ATTRIBUTES/VARIABLE_VALUE"
            keys[key if key not in keys else key.replace("/.ATTR", f"_{len(keys)}/.ATTR")] = weight
    return keys
