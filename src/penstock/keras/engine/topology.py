"""The calls of layers between a model's inputs and outputs, in Keras' order, and their description as plain data."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras.engine.node import Node, history_of
from penstock.keras.engine.versions import of_this_version, tensors_of
from penstock.keras.named import from_description
from penstock.keras.nested import one_or_list


def calls_between(inputs: list[Any], outputs: list[Any]) -> tuple[list[Node], list[Any]]:
    """The nodes that compute `outputs`, each after those it needs, and their layers.

    Both begin with what is furthest from the outputs; layers of the same distance are in the order in which a walk back
    from the outputs meets them. Weights are in this order in files. Raises ValueError if the outputs need a placeholder
    that is not among the inputs, or a tensor that no layer made.
    """
    order: list[Node] = []
    met: dict[int, int] = {}
    finished: set[int] = set()
    given = {id(history_of(x).node) for x in inputs}  # type: ignore[union-attr]
    for output in outputs:
        _walk(output, given, order, met, finished)
    depths, of_layers = depths_of(order, given)
    layers = {id(node.layer): node.layer for node in reversed(order)}
    for tensor in inputs:  # one that no output needs
        node = history_of(tensor).node  # type: ignore[union-attr]
        if id(node) not in depths:
            depths[id(node)] = of_layers[id(node.layer)] = 0
            met[id(node.layer)] = -1
            layers[id(node.layer)] = node.layer
            order.insert(0, node)
    nodes = sorted(order, key=lambda node: -depths[id(node)])
    return nodes, sorted(layers.values(), key=lambda layer: (-of_layers[id(layer)], met[id(layer)]))


def depths_of(order: list[Node], given: set[int]) -> tuple[dict[int, int], dict[int, int]]:
    """By the id of each node, and of each layer: how many calls there are at most from there to an output.

    order: nodes, each after those it needs. given: the ids of those of the inputs, behind which it does not look. A
    node is at least as deep as the calls of its layer that are nearer to the outputs.
    """
    depths: dict[int, int] = {}
    of_layers: dict[int, int] = {}
    for node in reversed(order):
        depth = max(depths.get(id(node), 0), of_layers.get(id(node.layer), 0))
        of_layers[id(node.layer)] = depths[id(node)] = depth
        for tensor in node.tensors if id(node) not in given else ():
            before = history_of(tensor).node  # type: ignore[union-attr]
            depths[id(before)] = max(depth + 1, depths.get(id(before), 0))
    return depths, of_layers


def _walk(output: Any, given: set[int], order: list[Node], met: dict[int, int], finished: set[int]) -> None:
    """Add the nodes that compute `output` to `order`, without recursion: models can be thousands of layers deep."""
    pending: list[tuple[Any, Node | None]] = [(output, None)]
    while pending:
        tensor, done = pending.pop()
        if done is not None:
            order.append(done)
            continue
        history = history_of(tensor)
        if history is None:
            raise ValueError(
                f"Output tensors to a Model must be computed from its inputs by layers and functions of tf. Found: "
                f"{tensor}. Put loops and conditionals of tf in a Lambda layer."
            )
        node = history.node
        if id(node) in finished:
            continue
        finished.add(id(node))
        met.setdefault(id(node.layer), len(met))
        pending.append((None, node))
        if id(node) in given:
            continue
        if not node.tensors and getattr(node.layer, "is_placeholder", False):
            raise ValueError(
                f'Graph disconnected: cannot obtain value for tensor {tensor} at layer "{node.layer.name}". It is not '
                "among the inputs of the model."
            )
        pending += [(x, None) for x in reversed(node.tensors)]


@export("keras.utils.get_source_inputs")
def get_source_inputs(tensor: Any, layer: Any = None, node_index: int | None = None) -> list[Any]:
    """The inputs that `tensor` is computed from, or that a call of `layer` is."""
    pending = [tensor] if layer is None else list(layer.inbound_nodes[node_index or 0].tensors)
    found: dict[int, Any] = {}
    met: set[int] = set()
    while pending:
        tensor = pending.pop()
        node: Any = history_of(tensor).node  # type: ignore[union-attr]
        if not node.tensors:
            found[id(tensor)] = tensor
        elif id(node) not in met:
            pending += reversed(node.tensors)
        met.add(id(node))
    return list(found.values())


def description(model: Any) -> dict[str, Any]:
    """A model of layers' calls as plain data: its layers, and for each the tensors that it was called with."""
    numbers: dict[int, int] = {}
    calls: dict[int, list[Node]] = {}
    kept = {id(node) for node in model._nodes}
    for layer in model.layers:
        calls[id(layer)] = [node for node in layer._inbound_nodes if id(node) in kept]
        numbers |= {id(node): i for i, node in enumerate(calls[id(layer)])}

    def place(tensor: Any, *arguments: Any) -> list[Any]:
        history: Any = history_of(tensor)
        number = numbers[id(history.node)] + _first(history.layer)
        return [history.layer.name, number, history.tensor_index, *arguments]

    return {
        "name": model.name,
        "layers": [
            {
                "name": layer.name,
                "class_name": type(layer).__name__,
                "config": layer.get_config(),
                "inbound_nodes": [
                    [place(x, node.arguments) for x in node.tensors] for node in calls[id(layer)] if node.tensors
                ],
            }
            for layer in model.layers
        ],
        "input_layers": [place(x) for x in model.inputs],
        "output_layers": [place(x) for x in model.outputs],
    }


def rebuilt(config: dict[str, Any], custom_objects: Any = None) -> tuple[list[Any], list[Any]]:
    """New layers, called as `description` says: the inputs and outputs of the model.

    Keras 3, which describes calls by dicts, does not count a model's own inputs as a call of it.
    """
    calls = [call for data in config["layers"] for call in data["inbound_nodes"]]
    first = (lambda layer: 0) if any(isinstance(call, dict) for call in calls) else _first
    layers = {data["name"]: layer_from(data, custom_objects) for data in config["layers"]}

    def result(name: str, index: int, which: int, *_: Any) -> Any:
        return layers[name]._inbound_nodes[index - first(layers[name])].results[which]

    pending = [
        (data["name"], i, tensors_of(call)) for data in config["layers"] for i, call in enumerate(data["inbound_nodes"])
    ]
    while pending:
        waiting = []
        for name, i, call in pending:
            layer = layers[name]
            ready = len(layer._inbound_nodes) == i
            if not ready or any(
                len(layers[other]._inbound_nodes) <= index - first(layers[other]) for other, index, *_ in call
            ):
                waiting.append((name, i, call))
                continue
            tensors = [result(*place) for place in call]
            arguments = call[0][3] if call and len(call[0]) > 3 else {}
            layer(one_or_list(tensors), **arguments)
        if len(waiting) == len(pending):
            raise ValueError(f"The model's description has circles or missing layers, at: {[w[0] for w in waiting]}")
        pending = waiting
    return tuple([result(*place) for place in _places(config[key])]
                 for key in ("input_layers", "output_layers"))  # type: ignore[return-value]  # fmt: skip


def _places(places: Any) -> list[Any]:
    """One place may be written without the list around it."""
    return [places] if places and isinstance(places[0], str) else places


def _first(layer: Any) -> int:
    """The number of the first call in descriptions: in Keras a model has one more, with its own inputs."""
    return 1 if getattr(layer, "_nodes", None) is not None else 0


def layer_from(data: dict[str, Any], custom_objects: Any = None) -> Any:
    """The layer or model that {"class_name": …, "config": …} describes."""
    kind = "models" if data["class_name"] in ("Model", "Sequential", "Functional", "Network") else "layers"
    if data["class_name"] in ("Functional", "Network"):
        data = {**data, "class_name": "Model"}
    return from_description(kind, of_this_version(data), custom_objects)
