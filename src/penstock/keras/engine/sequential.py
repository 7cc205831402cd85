"""`Sequential`: one layer after another (TF: tf.keras.Sequential)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.scopes import name_scope
from penstock.keras import backend as K
from penstock.keras.backend.calls import running
from penstock.keras.engine.arguments import parameters_of, takes
from penstock.keras.engine.input_layer import Input, InputLayer
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.model import Model
from penstock.keras.engine.network import Network
from penstock.keras.engine.node import history_of
from penstock.keras.engine.topology import layer_from
from penstock.keras.nested import flat
from penstock.layers import base
from penstock.tensor.shapes import TensorShape


@export("keras.Sequential", "keras.models.Sequential")
class Sequential(Model):
    """A model of layers, each of which takes the result of the one before.

    It is built when its input is known: the first layer's `input_shape`, an `InputLayer`, or the first call or data.
    """

    _built_when_it_can_be = True

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self._added: list[Any] = []
        self._begun_late = False
        for layer in flat(layers):
            self.add(layer)

    def _numbered_layers(self) -> tuple[list[Any], bool]:
        """Of a model whose input was not known before its first call those that were added, as TensorFlow has them."""
        late = self._begun_late or not self._layers
        return (self.layers, False) if late else (self._layers, True)

    def add(self, layer: Any) -> None:
        """Add a layer at the end, or first of all what `keras.Input` made. Raises TypeError for what is no layer,
        ValueError for one with several results."""
        history = history_of(layer)
        if history is not None and isinstance(history.layer, InputLayer):
            layer = history.layer
        if not isinstance(layer, base.Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if not isinstance(layer, Layer):
            layer = OfTfLayers(layer)
        self._added.append(layer)
        try:
            if self.inputs is not None:
                self._extend(self.inputs, layer(self.outputs[0]))
            elif len(self._added) == 1:
                self._begin_with(layer)
        except BaseException:
            self._added.pop()
            raise

    def _begin_with(self, layer: Any) -> None:
        if isinstance(layer, InputLayer):
            self._extend([layer.output], layer.output)
            return
        if getattr(layer, "merged", None):  # Keras 1's Merge of models
            self._extend(*layer.starting())
            return
        shape = getattr(layer, "_batch_input_shape", None)
        dtype = layer.dtype
        if shape is None and isinstance(layer, Network) and layer.inputs is not None:
            shape, dtype = K.int_shape(layer.inputs[0]), layer.inputs[0].dtype
        if shape is not None:
            x = Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input")
            self._extend([x], layer(x))

    def _extend(self, inputs: list[Any], outputs: Any) -> None:
        if len(flat(outputs)) != 1:
            raise ValueError("All layers in a Sequential model should have a single output tensor.")
        self._connect(inputs, flat(outputs))

    def pop(self) -> None:
        """Remove the last layer."""
        if not self._added:
            raise TypeError("There are no layers in the model.")
        self._added.pop()._inbound_nodes.pop()
        if not self._added:
            self.inputs = self.outputs = self._nodes = None
            self.built = False
        elif self.inputs is not None:
            self._connect(self.inputs, flat(self._added[-1]._inbound_nodes[-1].results))

    def build(self, input_shape: Any = None) -> None:
        """Build the layers for inputs of this shape, which counts the batch."""
        if self.inputs is None and input_shape is not None:
            if not self._added:
                raise ValueError("Sequential model cannot be built: it has no layers.")
            x = Input(batch_shape=tuple(TensorShape(input_shape).as_list()))
            self._begin(x, [x], [])
        self.built = self.inputs is not None

    def _begin(self, given: Any, inputs: list[Any], names: list[str]) -> None:
        outputs = given
        for layer in self._added:
            outputs = layer(outputs)
        if len(flat(outputs)) != 1:
            raise ValueError("All layers in a Sequential model should have a single output tensor.")
        self._connect(inputs, flat(outputs))
        self._begun_late = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        return super().call(inputs, training=training, mask=mask)

    def _build_once(self, shapes: Any) -> None:
        calls, running.calls = running.calls, []  # its own layers are called for the model, not for who calls it
        try:
            if self.inputs is None:
                with name_scope("/"):
                    self.build(TensorShape([None, *TensorShape(shapes).as_list()[1:]]))
        finally:
            running.calls = calls
        super()._build_once(shapes)

    @property
    def layers(self) -> list[Any]:
        return [layer for layer in self._added if not isinstance(layer, InputLayer)]

    def sublayers(self) -> list[Any]:
        return self._added

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> np.ndarray:
        """The most probable class of each sample."""
        probabilities = self.predict(x, batch_size, verbose)
        if probabilities.shape[-1] > 1:
            return np.asarray(probabilities.argmax(axis=-1))
        return (probabilities > 0.5).astype("int32")

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """`predict`."""
        return self.predict(x, batch_size, verbose)

    def get_config(self) -> dict[str, Any]:
        """The layers' descriptions; the first says the input's shape, if it can, as in TensorFlow."""
        layers = [{"class_name": type(layer).__name__, "config": layer.get_config()} for layer in self.layers]
        config = {"name": self.name, "layers": layers}
        if self.inputs is None:
            return config
        if self._begun_late:
            return {**config, "build_input_shape": K.int_shape(self.inputs[0])}
        source = history_of(self.inputs[0]).layer.get_config()  # type: ignore[union-attr]
        first = self.layers[0] if layers else None
        if first is None or not _tells_input(first, layers[0]["config"], source):
            layers.insert(0, {"class_name": "InputLayer", "config": source})
        elif not isinstance(first, Network):
            layers[0]["config"].setdefault("batch_input_shape", source["batch_input_shape"])
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        described = config["layers"] if isinstance(config, dict) else config
        model = cls(name=config.get("name") if isinstance(config, dict) else None)
        for data in described:
            model.add(layer_from(data, custom_objects))
        shape = config.get("build_input_shape") if isinstance(config, dict) else None
        if model.inputs is None and shape:
            model.build(shape)
        return model


def _tells_input(layer: Any, config: dict[str, Any], source: dict[str, Any]) -> bool:
    """Whether a model that begins with this layer's description has the input that `source` describes."""
    if isinstance(layer, Network):
        return layer.inputs is not None
    kind = config.get("dtype") or K.floatx()
    return takes(type(layer).__init__, "batch_input_shape") and source["dtype"] == kind and not source["sparse"]


class OfTfLayers(Layer):
    """A layer of tf.layers in a Sequential."""

    supports_masking = True

    def __init__(self, layer: Any) -> None:
        super().__init__(name=layer.name)
        self.layer = layer

    def call(self, inputs: Any, training: Any = None) -> Any:
        if "training" in parameters_of(type(self.layer).call):
            return self.layer(inputs, training=K.learning_phase() if training is None else training)
        return self.layer(inputs)
