"""Files with models: opening them, errors that name them, and how models in them are trained."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.keras import optimizers
from penstock.keras.named import CustomObjectScope


def h5py() -> Any:
    """The library. Raises ImportError, which says how to get it."""
    try:
        import h5py as library
    except ImportError:
        raise ImportError("Saving and loading models in HDF5 files requires h5py: pip install h5py.") from None
    return library


def is_group(filepath: Any) -> bool:
    """Whether it is a file or group of h5py, which is open."""
    return hasattr(filepath, "create_group")


def is_open(filepath: Any) -> bool:
    """Whether it is open, as a file or group of h5py or a stream is, and no name."""
    return is_group(filepath) or (hasattr(filepath, "read") and hasattr(filepath, "seek"))


@contextmanager
def opened(filepath: Any) -> Iterator[Any]:
    """An HDF5 file, by its name or open. Raises OSError if there is none, or it is none."""
    if is_group(filepath):
        _check_closed(filepath, filepath)
        yield filepath
        return
    if is_open(filepath):
        with hdf5(filepath, "the stream") as file:
            yield file
        return
    if not os.path.exists(filepath):
        raise OSError(f"There is no file {filepath}")
    with hdf5(filepath, filepath) as file:
        yield file


@contextmanager
def hdf5(source: Any, filepath: Any) -> Iterator[Any]:
    """HDF5 in a file, or in one in memory, that comes from `filepath`."""
    try:
        file = h5py().File(source, "r")
    except OSError as error:
        raise OSError(f"{filepath} is not an HDF5 file, or is damaged: {error}") from None
    with file:
        _check_closed(file, filepath)
        yield file


def _check_closed(file: Any, filepath: Any) -> None:
    """Raises OSError for a file that takes arrays from others (who wrote it chooses which), or whose links lead round
    in circles."""
    library = h5py()
    links: list[str] = []

    def link_out(name: str, link: Any) -> str | None:
        if isinstance(link, library.SoftLink):
            links.append(name)
        return name if isinstance(link, library.ExternalLink) else None

    def kept_outside(name: str, found: Any) -> str | None:
        return name if isinstance(found, library.Dataset) and (found.external or found.is_virtual) else None

    try:
        outside = file.visititems_links(link_out) or file.visititems(kept_outside)
        for name in links if not outside else ():
            file.get(name)
    except (KeyError, RuntimeError, SystemError) as error:  # what HDF5 makes of links to nowhere, and in circles
        raise OSError(f"{filepath} is damaged: {error}") from None
    if outside:
        raise OSError(f"{filepath} is refused: {outside} in it is in another file")


@contextmanager
def malformed(filepath: Any) -> Iterator[None]:
    """What fails inside because a description has not the form of one, as an error that says so."""
    try:
        yield
    except NotImplementedError:
        raise
    except (LookupError, AttributeError, TypeError, RuntimeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{filepath} is damaged, or describes no model: {type(error).__name__}: {error}") from error


def compile_as_saved(model: Any, training: dict[str, Any], custom_objects: Any) -> bool:
    """Compile as the file says; False, with a warning, if its optimizer is one of a later version of Keras."""
    try:
        optimizer = optimizers.deserialize(training["optimizer_config"], custom_objects)
    except TypeError as error:
        warnings.warn(
            f"The file's optimizer has other arguments ({error}): compile the model.", UserWarning, stacklevel=4
        )
        return False
    with CustomObjectScope(custom_objects or {}):
        model.compile(
            optimizer=optimizer,
            loss=training["loss"],
            metrics=training.get("metrics"),
            loss_weights=training.get("loss_weights"),
            sample_weight_mode=training.get("sample_weight_mode"),
        )
    return True
