"""Models in Keras 3's .keras files: archives with a description (config.json) and weights (model.weights.h5), which
Keras 3 and this version read.

Nothing in them is executed: functions of Lambda layers must be given by the program.
"""

from __future__ import annotations

import io
import json
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

from penstock.keras import backend as K
from penstock.keras.engine.later_optimizers import of_later, state_of
from penstock.keras.engine.reading import compile_as_saved, h5py, hdf5, is_group, malformed
from penstock.keras.engine.stored_weights import arrays_in, set_placed_weights, write_placed_weights
from penstock.keras.engine.versions import check_meaning

_DESCRIPTION, _WEIGHTS, _ABOUT = "config.json", "model.weights.h5", "metadata.json"
_STATE = "optimizer/vars"
_BESIDE = 8 << 20
"""How many bytes a member may have besides four times the archive's: unpacking takes twice as many, and the arrays in
it may be larger again."""


def is_archive(filepath: Any) -> bool:
    """Whether a file is a .keras file of Keras 3: earlier ones of this name are HDF5."""
    return not is_group(filepath) and zipfile.is_zipfile(filepath)


def read_archive(filepath: Any, custom_objects: Any, from_config: Callable[[Any, Any], Any], compiled: bool) -> Any:
    """The model in a .keras file, as `from_config` makes it, with its weights.

    It is compiled as it was, with the state of its optimizer if that is one of this version. Raises ValueError for a
    damaged file, for one that describes no model, and for layers and options that are not in TensorFlow 1.x's Keras.
    """
    with malformed(filepath):
        description, data = _contents(filepath)
        check_meaning(description["config"])
        model = from_config(description, custom_objects)
        with hdf5(data, filepath) as weights:
            set_placed_weights(weights, model, str(filepath), description["config"])
            training = description.get("compile_config")
            if compiled and training and training.get("optimizer"):
                training = {**training, "optimizer_config": of_later(training["optimizer"])}
                if compile_as_saved(model, training, custom_objects) and _STATE in weights:
                    _restore_optimizer(model, weights[_STATE], str(filepath))
            elif compiled:
                message = f"{filepath} does not say how the model is trained: compile it."
                warnings.warn(message, UserWarning, stacklevel=3)
    return model


def _restore_optimizer(model: Any, group: Any, where: str) -> None:
    stored = [group[key] for key in sorted(group, key=int)]
    variables = state_of(model.optimizer)
    if variables and len(stored) > len(variables):  # it was used
        model.optimizer.make_slots(model.trainable_weights)
        variables = state_of(model.optimizer)
    if [tuple(variable.shape.as_list()) for variable in variables] != [each.shape for each in stored]:
        warnings.warn(f"The optimizer's state in {where} is another's: it starts anew.", UserWarning, stacklevel=4)
        return
    K.batch_set_value(list(zip(variables, arrays_in(stored, where), strict=True)))


def write_archive(filepath: Any, model: Any, description: str, about: dict[str, Any], with_state: bool) -> None:
    """Write a model as Keras 3 does. description: what `read_archive` makes it from, as JSON. with_state: with what its
    optimizer keeps."""
    weights = io.BytesIO()
    with h5py().File(weights, "w") as file:
        write_placed_weights(file, model)
        variables = state_of(model.optimizer) if with_state else []
        for i, value in enumerate(K.batch_get_value(variables)):
            file[f"{_STATE}/{i}"] = value
    about = {**about, "date_saved": time.strftime("%Y-%m-%d@%H:%M:%S")}
    with zipfile.ZipFile(filepath, "w") as archive:
        archive.writestr(_ABOUT, json.dumps(about))
        archive.writestr(_DESCRIPTION, description)
        archive.writestr(_WEIGHTS, weights.getbuffer())


def weights_in(filepath: Any, model: Any) -> None:
    """Set the weights of a model to those in a .keras file."""
    with malformed(filepath):
        description, data = _contents(filepath)
        with hdf5(data, filepath) as weights:
            set_placed_weights(weights, model, str(filepath), description.get("config"))


def _contents(filepath: Any) -> tuple[Any, io.BytesIO]:
    """The description and the weights. Raises ValueError for an archive that cannot be unpacked."""
    try:
        with zipfile.ZipFile(filepath) as archive:
            description, weights = _member(archive, _DESCRIPTION), _member(archive, _WEIGHTS)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{filepath} is a damaged archive: {error}") from error
    return json.loads(description), io.BytesIO(weights)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member, if it is not much larger than the archive. Raises KeyError if there is none."""
    size = archive.getinfo(name).file_size
    most = 4 * sum(each.compress_size for each in archive.infolist()) + _BESIDE
    if size <= most:
        with archive.open(name) as file:
            data = file.read(size + 1)
    if size > most or len(data) > size:
        raise ValueError(f"{name} in the archive unpacks to more than {most:,} bytes")
    return data
