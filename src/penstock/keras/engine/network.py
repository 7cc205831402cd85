"""`Network`: a layer made of layers, by their calls or by a `call` of its own."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import yaml

from penstock.client.trackable import TrackableReference
from penstock.keras import backend as K
from penstock.keras.engine import files
from penstock.keras.engine.arguments import parameters_of
from penstock.keras.engine.connect import connect
from penstock.keras.engine.inner_graph import InnerGraph
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.node import Node, history_of, mask_of
from penstock.keras.engine.summary import print_summary
from penstock.keras.engine.topology import calls_between, description, rebuilt
from penstock.keras.nested import flat, one_or_list, unique
from penstock.tensor.shapes import TensorShape
from penstock.train.object_saver import ObjectSaver


class Network(InnerGraph, Layer):
    """A layer whose function is the calls of layers between `inputs` and `outputs`; subclasses may define `call`."""

    inputs: Any
    outputs: Any
    loading: Any = None
    """The status of the checkpoint that was loaded last, and in which graph."""
    _nodes: list[Node] | None

    _untracked = Layer._untracked | {"_layers", "_added", "_nodes", "_own_calls", "inputs", "outputs"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        inputs, outputs, name = (*args, None, None, None)[:3] if len(args) > 1 else (None, None, *args, None)[:3]
        inputs, outputs = kwargs.pop("inputs", inputs), kwargs.pop("outputs", outputs)
        super().__init__(name=kwargs.pop("name", name), **kwargs)
        self._nodes = None
        self.inputs = self.outputs = None
        self._output_masks: Any = None
        self._layers: list[Any] = []
        self._own_calls: list[Node] = []  # of a `call` of its own, with the inputs that it is trained on
        if inputs is not None:
            self._connect(flat(inputs), flat(outputs), isinstance(inputs, list | tuple))

    def _connect(self, inputs: list[Any], outputs: list[Any], listed: bool = False) -> None:
        for x in inputs:
            if history_of(x) is None:
                raise ValueError(
                    f"Input tensors to a Model must come from `tf.keras.Input`. Received: {x} (missing metadata)."
                )
        if len({id(x) for x in inputs}) != len(inputs):
            raise ValueError("The list of inputs passed to the model is redundant. All inputs should only appear once.")
        connect(outputs)
        self._nodes, self._layers = calls_between(inputs, outputs)
        names = [layer.name for layer in self._layers]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(
                f"The name {sorted(repeated)[0]!r} is used more than once; all layer names must be unique."
            )
        self.inputs, self.outputs = inputs, outputs
        self._listed = listed
        self.input_names = [history_of(x).layer.name for x in inputs]  # type: ignore[union-attr]
        self.output_names = _numbered([history_of(x).layer.name for x in outputs])  # type: ignore[union-attr]
        self._output_masks = [mask_of(x) for x in outputs]
        self.built = True

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The layers by their numbers, and again those with weights by numbers that others do not change.

        The first name of a layer is the one in keys. Where TensorFlow has only the first, it does not see the second.
        """
        found: list[TrackableReference] = []
        layers, by_weights = self._numbered_layers()
        with_weights = 0
        for i, layer in enumerate(layers):
            names = [f"layer-{i}"]
            if layer.weights:
                names.insert(0 if by_weights else 1, f"layer_with_weights-{with_weights}")
                with_weights += 1
            found += [TrackableReference(name, layer) for name in names]
        return found + super()._checkpoint_dependencies

    def _numbered_layers(self) -> tuple[list[Any], bool]:
        """The layers that checkpoints name by their numbers, and whether they had weights when they were numbered."""
        return self._layers, True

    # --- its function -----------------------------------------------------------------------------------

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The calls of the layers, with other inputs."""
        if self._nodes is None:
            raise NotImplementedError("When subclassing the `Model` class, you should implement a `call` method.")
        values = {id(own): given for own, given in zip(self.inputs, flat(inputs), strict=True)}
        for node in self._nodes:
            if all(id(x) in values for x in node.results):
                continue
            arguments = dict(node.arguments)
            if training is not None and "training" in parameters_of(type(node.layer).call):
                arguments.setdefault("training", training)
            tensors = [values.get(id(x), x) for x in node.tensors]
            if not tensors:  # a tensor given to Input
                results = node.results
            else:
                results = flat(node.layer(node.pack(tensors), **arguments))
            values |= {id(own): new for own, new in zip(node.results, results, strict=True)}
        outputs = [values[id(x)] for x in self.outputs]
        self._output_masks = [mask_of(x) for x in outputs]
        return one_or_list(outputs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None if self._nodes is None else one_or_list(self._output_masks)

    def compute_output_shape(self, input_shape: Any) -> Any:
        if self._nodes is not None and isinstance(input_shape, tuple | TensorShape):
            own = [x.shape for x in self.inputs]
            if len(own) == 1 and own[0].as_list() == TensorShape(input_shape).as_list():
                return one_or_list([x.shape for x in self.outputs])
        return super().compute_output_shape(input_shape)

    # --- its parts --------------------------------------------------------------------------------------

    @property
    def layers(self) -> list[Any]:
        """The layers, the one furthest from the outputs first."""
        return self._layers if self._nodes is not None else self.sublayers()

    def sublayers(self) -> list[Any]:
        return self._layers if self._nodes is not None else super().sublayers()

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """The layer with a name, or a number."""
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(f"Was asked to retrieve layer at index {index} but model only has {len(self.layers)}.")
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. Layers are: {', '.join(layer.name for layer in self.layers)}")

    @property
    def weights(self) -> list[Any]:
        """The weights of each layer after those of the layer before."""
        return unique([*self._trainable_weights, *self._non_trainable_weights], *(x.weights for x in self.sublayers()))

    variables = weights

    @property
    def input(self) -> Any:
        return super().input if self.inputs is None else one_or_list(self.inputs)

    @property
    def output(self) -> Any:
        return super().output if self.outputs is None else one_or_list(self.outputs)

    @property
    def input_shape(self) -> Any:
        return one_or_list([K.int_shape(x) for x in flat(self.input)])

    @property
    def output_shape(self) -> Any:
        return one_or_list([K.int_shape(x) for x in flat(self.output)])

    def _calls(self) -> list[tuple[list[Any], list[Any]]]:
        """A model that was made of tensors has its own as the first call."""
        own = [] if self.outputs is None else [(self.inputs, self.outputs)]
        return own + super()._calls()

    @property
    def updates(self) -> list[Any]:
        """The updates of its calls of layers that are trained, or keep state."""
        if not self.trainable and not self.stateful:
            return []
        if self._nodes is None:
            return unique(*(node.updates for node in self._own_calls))
        return unique(*(_updates_of(node) for node in self._nodes))

    @property
    def losses(self) -> list[Any]:
        """The losses of its layers' weights and of its calls."""
        calls = self._own_calls if self._nodes is None else self._nodes
        of_calls = [loss for node in calls for loss in node.losses]
        return unique(self._losses, *(_of_weights(layer) for layer in self.sublayers()), of_calls)

    @property
    def added_metrics(self) -> list[Any]:
        """The metrics that its layers and it added: in its calls, in `build`, or of its tensors."""
        calls = self._own_calls if self._nodes is None else self._nodes
        own = [*self._metrics, *(metric for layer in self.sublayers() for metric in _metrics_built(layer))]
        return [metric for node in calls for metric in node.metrics] + own

    def _is_of_calls(self) -> bool:
        return self._nodes is not None

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        return any(getattr(layer, "stateful", False) for layer in self.sublayers())

    def reset_states(self) -> None:
        """Begin anew with the states of its recurrent layers."""
        for layer in self.sublayers():
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    # --- description and files --------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        if self._nodes is None:
            raise NotImplementedError("A model with a `call` of its own has no description; save its weights.")
        return description(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        inputs, outputs = rebuilt(config, custom_objects)
        return cls(inputs=inputs, outputs=outputs, name=config.get("name"))

    def to_json(self, **kwargs: Any) -> str:
        """The description as JSON; `tf.keras.models.model_from_json` makes the model again, with new weights."""
        return json.dumps(files.description_of(self), default=files.as_json, **kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """The description as YAML."""
        return str(yaml.dump(json.loads(self.to_json()), **kwargs))

    def save(self, filepath: Any, overwrite: bool = True, include_optimizer: bool = True) -> None:
        """Save the model to an HDF5 file: its description, weights, loss, metrics, optimizer."""
        files.save_model(self, filepath, overwrite, include_optimizer)

    @cached_property
    def object_saver(self) -> ObjectSaver:
        """What writes and reads checkpoints of the model."""
        return ObjectSaver(self)

    def restore_new(self, session: Any) -> None:
        """Give variables that were made since `load_weights` their values in the checkpoint, if they have any there."""
        status, graph = self.loading or (None, None)
        if status is not None and graph is session.graph:
            status.restore_new(session)

    def save_weights(self, filepath: Any, overwrite: bool = True, save_format: str | None = None) -> None:
        """Save the weights: to an HDF5 file if the name ends in ".h5", or as a checkpoint."""
        files.save_weights(self, filepath, overwrite, save_format)

    def load_weights(
        self, filepath: Any, by_name: bool = False, skip_mismatch: bool = False, reshape: bool = False
    ) -> Any:
        """Set the weights to those in a file; `by_name` takes only those of layers that have the same name there.

        skip_mismatch: with `by_name`, layers that do not fit stay as they are, with a warning. reshape: what has as
        many numbers fits. Raises ValueError for weights that do not fit. Of a checkpoint, it returns the status, as
        `tf.train.Checkpoint.restore` does; the names of attributes, or the order of layers, say what belongs where.
        """
        return files.load_weights(self, filepath, by_name, skip_mismatch, reshape)

    def summary(self, line_length: int | None = None, positions: Any = None, print_fn: Any = None) -> None:
        """Print a table of the layers: names, shapes, numbers of weights."""
        print_summary(self, line_length, positions, print_fn)


def _updates_of(node: Node) -> list[Any]:
    if isinstance(node.layer, Network):
        inside = {id(update) for update in node.layer.updates} | {id(u) for u in node.updates}
        return [u for u in node.updates if id(u) in inside] if node.layer.trainable or node.layer.stateful else []
    return node.updates if node.layer.trainable or getattr(node.layer, "stateful", False) else []


def _of_weights(layer: Any) -> list[Any]:
    """The losses of the weights of a layer and of those in it, but not of its calls."""
    inside = layer.sublayers() if isinstance(layer, Layer) else []
    return unique(getattr(layer, "_losses", []), *map(_of_weights, inside))


def _metrics_built(layer: Any) -> list[Any]:
    """Those that layers added outside of calls. Those of another model's tensors belong to that one."""
    if not isinstance(layer, Layer) or layer._is_of_calls():
        return []
    return [*layer._metrics, *(metric for inside in layer.sublayers() for metric in _metrics_built(inside))]


def _numbered(names: list[str]) -> list[str]:
    """Names of outputs: a layer's second output, and those that follow, are numbered."""
    return [name if names.index(name) == i else f"{name}_{names[:i].count(name)}" for i, name in enumerate(names)]
