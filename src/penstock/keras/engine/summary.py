"""`model.summary()`."""

from __future__ import annotations

from typing import Any

from penstock.keras import backend as K
from penstock.keras.engine.node import Node, history_of


def print_summary(model: Any, line_length: int | None = None, positions: Any = None, print_fn: Any = None) -> None:
    """Print a table of a model's layers: names, shapes, numbers of weights, and in graphs where inputs come from."""
    show = print if print_fn is None else print_fn
    if not model.built:
        raise ValueError("This model has never been called, so its layers have no shapes yet. Build it, or call `fit`.")
    nodes = getattr(model, "_nodes", None) or []
    branches = _branches(nodes)
    length = line_length or (98 if branches else 65)
    places = positions or ([0.33, 0.55, 0.67, 1.0] if branches else [0.45, 0.85, 1.0])
    ends = [int(length * p) if p <= 1 else int(p) for p in places]
    titles = ["Layer (type)", "Output Shape", "Param #", "Connected to"][: 4 if branches else 3]

    def row(fields: list[str]) -> None:
        line = ""
        for field, end in zip(fields, ends, strict=True):
            line = (line[:-1] + " " if line else "") + field
            line = line[:end].ljust(end)
        show(line)

    show(f'Model: "{model.name}"')
    show("_" * length)
    row(titles)
    show("=" * length)
    for i, layer in enumerate(model.layers):
        try:
            shape = str(layer.output_shape)
        except AttributeError:
            shape = "multiple"
        fields = [f"{layer.name} ({type(layer).__name__})", shape, str(layer.count_params() if layer.built else 0)]
        sources = [f"{x.layer.name}[{x.node_index}][{x.tensor_index}]" for x in _sources(layer, nodes)]
        row([*fields, sources[0] if sources else ""] if branches else fields)
        for source in sources[1:] if branches else []:
            row(["", "", "", source])
        show(("=" if i == len(model.layers) - 1 else "_") * length)
    trainable, fixed = (sum(map(K.count_params, w)) for w in (model.trainable_weights, model.non_trainable_weights))
    show(f"Total params: {trainable + fixed:,}")
    show(f"Trainable params: {trainable:,}")
    show(f"Non-trainable params: {fixed:,}")
    show("_" * length)


def _branches(nodes: list[Node]) -> bool:
    """Whether a model is more than one layer after another."""
    uses: dict[int, int] = {}
    for node in nodes:
        for x in node.tensors:
            uses[id(x)] = uses.get(id(x), 0) + 1
    layers = [id(node.layer) for node in nodes]
    many = any(len(node.tensors) > 1 or len(node.results) > 1 for node in nodes)
    return many or any(n > 1 for n in uses.values()) or len(set(layers)) < len(layers)


def _sources(layer: Any, nodes: list[Node]) -> list[Any]:
    return [history_of(x) for node in nodes if node.layer is layer for x in node.tensors]
