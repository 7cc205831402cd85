"""Weights in HDF5 files: they belong to layers by their order, their names, or since Keras 3 their places."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from penstock.client.default_names import snake_case
from penstock.keras import backend as K
from penstock.keras.engine.earlier_weights import as_now
from penstock.keras.nested import unique

_BESIDE = 16 << 20
"""How many bytes the weights may have besides four times the file's: HDF5 leaves out what was never written."""


def text_of(value: Any) -> str:
    """An attribute that is text."""
    return value.decode() if isinstance(value, bytes) else str(value)


def names_in(group: Any, key: str) -> list[str]:
    """A list of names, in one attribute or several."""
    if key in group.attrs:
        return [text_of(name) for name in group.attrs[key]]
    names: list[str] = []
    for part in itertools.count():
        if f"{key}{part}" not in group.attrs:
            return names
        names += [text_of(name) for name in group.attrs[f"{key}{part}"]]
    raise AssertionError


def in_files(layer: Any) -> list[Any]:
    """The weights of a layer in the order of files: those of a model within a model that are trained are first."""
    return unique(layer.trainable_weights, layer.non_trainable_weights)


def set_weights(
    group: Any, model: Any, where: str, by_name: bool = False, skip_mismatch: bool = False, reshape: bool = False
) -> None:
    """Set all weights, or if anything does not fit none: the error, a ValueError, lists all that does not.

    skip_mismatch: layers that do not fit stay as they are. reshape: arrays with as many numbers fit.
    """
    if "layer_names" not in group.attrs and "layers" in group:
        set_placed_weights(group, model, where)
        return
    saved = {name: [group[name][w] for w in names_in(group[name], "weight_names")]
             for name in names_in(group, "layer_names")}  # fmt: skip
    saved = {name: values for name, values in saved.items() if values}
    layers = [layer for layer in model.layers if layer.weights]
    if by_name:
        pairs = [(layer, layer.name) for layer in layers if layer.name in saved]
    elif len(layers) != len(saved):
        raise ValueError(
            f"You are trying to load a weight file containing {len(saved)} layers into a model with {len(layers)} "
            f"layers: {where} has {', '.join(saved)}; the model has {', '.join(layer.name for layer in layers)}."
        )
    else:
        pairs = list(zip(layers, saved, strict=True))
    wrote = {key: text_of(group.attrs[key]) if key in group.attrs else "" for key in ("keras_version", "backend")}

    def now(layer: Any, stored: list[Any]) -> list[Any]:
        # Files of Keras 1 have no version.
        version, backend = wrote["keras_version"] or "1", wrote["backend"]
        return as_now(layer, stored, lambda parts: arrays_in(parts, where), version, backend)

    found = [(layer.name, in_files(layer), name, now(layer, saved[name])) for layer, name in pairs]
    _assign(found, where, skip_mismatch, reshape)


def set_placed_weights(group: Any, model: Any, where: str, config: Any = None) -> None:
    """Set all weights from the groups of a file of Keras 3. config: the model's description, which has its layers in
    the order of the file. Raises ValueError as `set_weights` does."""
    _assign(list(_placed(group, model, "", config)), where)


def write_placed_weights(group: Any, model: Any) -> None:
    """Write all weights where `set_placed_weights` finds them."""
    for _, weights, place, _ in _placed(None, model, ""):
        for i, value in enumerate(K.batch_get_value(weights)):
            group[f"{place}/vars/{i}"] = value


def _placed(group: Any, layer: Any, path: str, config: Any = None) -> Iterator[tuple[str, list[Any], str, list[Any]]]:
    """For each layer with weights of its own: its name, these, and the place and arrays of the file."""
    parts = [(name, getattr(layer, name)) for name in _parts_of(layer)]
    if hasattr(layer, "layers"):
        order = _in_order(layer, config)
        yield from _placed_list(group, "layers", [each for each, _ in order], path, [inner for _, inner in order])
    elif hasattr(layer, "cells"):
        yield from _placed_list(group, "cells", layer.cells, path)
    elif parts:
        for name, part in parts:
            yield from _placed(_below(group, name), part, f"{path}/{name}")
    elif layer.weights:
        own = _below(group, "vars")
        arrays = [] if own is None else [own[key] for key in sorted(own, key=int)]
        yield layer.name, layer.weights, path.lstrip("/"), arrays


def _placed_list(
    group: Any, name: str, layers: Iterable[Any], path: str, configs: Iterable[Any] = ()
) -> Iterator[tuple[str, list[Any], str, list[Any]]]:
    """Layers in a list are called by their classes there, and numbered."""
    counts: dict[str, int] = {}
    for layer, config in itertools.zip_longest(layers, configs):
        kind = "functional" if type(layer).__name__ == "Model" else snake_case(type(layer).__name__)
        number = counts[kind] = counts.get(kind, -1) + 1
        place = f"{name}/{kind}_{number}" if number else f"{name}/{kind}"
        yield from _placed(_below(group, place), layer, f"{path}/{place}", config)


def _parts_of(layer: Any) -> tuple[str, ...]:
    """The attributes in which a layer keeps those that it is made of."""
    for names in (("forward_layer", "backward_layer"), ("cell",), ("layer",)):
        if all(hasattr(layer, name) for name in names):
            return names
    return ()


def _in_order(model: Any, config: Any) -> list[tuple[Any, Any]]:
    """The layers of a model with their descriptions, in the order of those."""
    known = {layer.name: layer for layer in model.layers}
    described = (config or {}).get("layers", ())
    found = [(known[each["config"]["name"]], each["config"]) for each in described if each["config"]["name"] in known]
    return found if len(found) == len(known) else [(layer, None) for layer in model.layers]


def _below(group: Any, path: str) -> Any:
    return group[path] if group is not None and path in group else None


def _assign(
    found: list[tuple[str, list[Any], str, list[Any]]], where: str, skip_mismatch: bool = False, reshape: bool = False
) -> None:
    """Set weights to arrays of a file, which are read when all of them fit, or with `skip_mismatch` those that do."""
    wrong: list[str] = []
    pairs: list[Any] = []
    for layer, weights, name, arrays in found:
        problems = _problems(layer, weights, name, arrays, reshape)
        wrong += problems
        if not problems:
            pairs += zip(weights, arrays, strict=True)
    if wrong and not skip_mismatch:
        raise ValueError(f"Weights of {where} do not fit the model: " + "; ".join(wrong))
    for problem in wrong:
        warnings.warn(f"Skipping loading of weights from {where}: {problem}", stacklevel=2)
    arrays = arrays_in([array for _, array in pairs], where)
    values = [np.reshape(array, weight.shape.as_list()) for (weight, _), array in zip(pairs, arrays, strict=True)]
    K.batch_set_value([(weight, value) for (weight, _), value in zip(pairs, values, strict=True)])


def _problems(layer: str, weights: list[Any], name: str, arrays: list[Any], reshape: bool) -> list[str]:
    """What does not fit of a layer's weights."""
    if len(arrays) != len(weights):
        return [f"layer {layer} has {len(weights)} weights, the file's {name} {len(arrays)}"]
    wrong = []
    for weight, array in zip(weights, arrays, strict=True):
        shape = tuple(weight.shape.as_list())
        if shape != array.shape and not (reshape and np.prod(shape) == np.prod(array.shape)):
            wrong.append(f"{weight.name} has shape {shape}, the file's {name} {array.shape}")
    return wrong


def arrays_in(stored: list[Any], where: str) -> list[np.ndarray]:
    """The arrays of a file. Raises ValueError if they would take much more memory than the file, OSError if it is
    damaged."""
    kept = [each for each in stored if not isinstance(each, np.ndarray)]  # others have been read
    size = sum(int(np.prod(each.shape)) * each.dtype.itemsize for each in kept)
    if kept and size > 4 * kept[0].file.id.get_filesize() + _BESIDE:
        raise ValueError(f"{where} says that it holds {size:,} bytes of weights, and is much smaller than that")
    try:
        return [each[()] for each in stored]
    except OSError as error:
        raise OSError(f"{where} is damaged: {error}") from error
