"""Layers around a layer: for each step of a sequence, or in both directions (TF: tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.scopes import counted_as, seed_count, set_seed_count
from penstock.keras.engine.arguments import parameters_of
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.topology import layer_from
from penstock.keras.nested import flat, one_or_list
from penstock.layers import base
from penstock.ops.array import reshape, shape
from penstock.ops.joining import concat
from penstock.ops.reduce import reduce_any
from penstock.ops.reversing import reverse
from penstock.tensor.shapes import TensorShape


@export("keras.layers.Wrapper")
class Wrapper(Layer):
    """A layer that uses another one, `layer`."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, base.Layer):
            raise ValueError(f"Please initialize `{type(self).__name__}` layer with a `Layer` instance. Got: {layer}")
        super().__init__(**kwargs)
        self.layer = layer
        self._layers = [layer]  # checkpoints of objects name it twice, too

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        return cls(layer_from(config.pop("layer"), custom_objects), **config)


@export("keras.layers.TimeDistributed")
class TimeDistributed(Wrapper):
    """A layer applied to each step of [n, time, ...] by itself: all steps are one batch."""

    supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Builds the inner layer here, for its weights to have this one's name: `time_distributed/kernel`."""
        sizes = TensorShape(input_shape)
        if sizes.ndims is not None and isinstance(self.layer, Layer):
            self.layer._build_once(TensorShape([sizes[0], *sizes[2:]]))
        super().build(input_shape)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        begin = seed_count()
        sizes = inputs.shape.as_list()
        dims = shape(inputs)
        inner = [dims[i] if n is None else n for i, n in enumerate(sizes)]
        steps = reshape(inputs, [-1, *inner[2:]])
        steps.set_shape([None, *sizes[2:]])
        takes = parameters_of(type(self.layer).call)
        given = {"training": training} if training is not None and "training" in takes else {}
        if mask is not None and "mask" in takes:
            given["mask"] = _of_steps(mask)
        before = seed_count()
        outputs = self.layer(steps, **given)
        of_layer = seed_count() - before
        of_step = outputs.shape.as_list()[1:]
        dims_of_step = shape(outputs)
        result = reshape(
            outputs, [dims[0], inner[1], *(dims_of_step[i + 1] if n is None else n for i, n in enumerate(of_step))]
        )
        result.set_shape([sizes[0], sizes[1], *of_step])
        # TensorFlow asks the shapes only where the number of steps is not known.
        set_seed_count(begin + of_layer + (4 if sizes[1] is not None else 10 + len(of_step)))
        return result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The inner layer's masks of the steps, [n, time, ...]; if it has none, which steps count at all."""
        with counted_as(0 if mask is None else 4):
            return self._mask_of_steps(inputs, mask)

    def _mask_of_steps(self, inputs: Any, mask: Any) -> Any:
        if inputs.shape.as_list()[0] is not None:
            return mask
        steps = _of_steps(inputs)
        steps.set_shape([None, *inputs.shape.as_list()[2:]])
        inner = None
        if isinstance(self.layer, Layer):  # not one of tf.layers
            inner = self.layer.compute_mask(steps, None if mask is None else _of_steps(mask))
        if inner is not None:
            dims = shape(inputs)
            found = reshape(inner, concat([dims[:2], shape(inner)[1:]], 0))
            found.set_shape([None, inputs.shape.as_list()[1], *inner.shape.as_list()[1:]])
            return found
        while mask is not None and mask.shape.ndims > 2:
            mask = reduce_any(mask, -1)
        return mask


def _of_steps(x: Any) -> Any:
    """[n, time, ...] as [n * time, ...]."""
    return reshape(x, concat([[-1], shape(x)[2:]], 0))


@export("keras.layers.Bidirectional")
class Bidirectional(Wrapper):
    """A recurrent layer forward, and a copy of it backward in time.

    merge_mode: "concat", "sum", "mul" or "ave" of the two outputs, or None for both.
    """

    supports_masking = True

    def __init__(self, layer: Any, merge_mode: str | None = "concat", weights: Any = None, **kwargs: Any) -> None:
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError("Invalid merge mode. Merge mode should be one of {'sum', 'mul', 'ave', 'concat', None}")
        if hasattr(layer, "_batch_input_shape"):
            kwargs.setdefault("batch_input_shape", layer._batch_input_shape)
        super().__init__(layer, weights=weights, **kwargs)
        self.merge_mode = merge_mode
        config = layer.get_config()
        name = config.pop("name")
        config.pop("batch_input_shape", None)
        self.forward_layer = type(layer).from_config({**config, "name": f"forward_{name}"})
        backward = {**config, "name": f"backward_{name}", "go_backwards": not layer.go_backwards}
        self.backward_layer = type(layer).from_config(backward)
        self._layers = [self.forward_layer, self.backward_layer]
        self.stateful = layer.stateful
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self._constants = 0

    _untracked = Wrapper._untracked | {"layer"}

    def sublayers(self) -> list[Any]:
        return [self.forward_layer, self.backward_layer]

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        if constants is not None:
            self._constants = len(flat(constants))
        given = [*flat(inputs), *flat(initial_state), *flat(constants)]
        return super().__call__(given if len(given) > 1 else given[0], **kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        given = flat(inputs)
        end = len(given) - self._constants
        x, states = given[0], given[1:end]
        half = len(states) // 2
        mask = flat(mask)[0] if mask is not None else None
        arguments = {"training": training, "mask": mask, "constants": given[end:] or None}
        forward = flat(self.forward_layer(x, states[:half] or None, **arguments))
        backward = flat(self.backward_layer(x, states[half:] or None, **arguments))
        one, other = forward[0], backward[0]
        if self.return_sequences:
            other = reverse(other, [1])
        merged = {
            "concat": lambda: [concat([one, other], -1)],
            "sum": lambda: [one + other],
            "ave": lambda: [(one + other) / 2],
            "mul": lambda: [one * other],
            None: lambda: [one, other],
        }[self.merge_mode]()
        return one_or_list([*merged, *forward[1:], *backward[1:]])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        kept = flat(mask)[0] if self.return_sequences and mask is not None else None
        states = 2 * len(self.forward_layer.state_size) if self.return_state else 0
        return one_or_list([kept] * (2 if self.merge_mode is None else 1) + [None] * states)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return config | {"num_constants": self._constants} if self._constants else config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        constants = config.get("num_constants")
        layer = super().from_config({k: v for k, v in config.items() if k != "num_constants"}, custom_objects)
        layer._constants = constants or 0
        return layer

    def reset_states(self) -> None:
        """Begin anew with the states of both directions."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()
