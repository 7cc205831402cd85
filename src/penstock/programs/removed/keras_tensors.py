"""What tensors, layers and optimizers of Keras had as a package of its own: `_keras_shape`, names that can be set.

Facts from Keras 2.2 (`keras.engine.base_layer`, `keras.legacy.interfaces`).
"""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any

from penstock.client.variable import Variable
from penstock.graph.composite import SparseTensor
from penstock.graph.operation import Tensor
from penstock.keras import backend as K
from penstock.keras.backend.state import number_names_from
from penstock.keras.engine.inner_graph import NUMBERS, InnerGraph
from penstock.keras.optimizers.base import Optimizer
from penstock.layers.base import Layer
from penstock.programs.removed.keras_shapes import give_shapes
from penstock.programs.report import REPORT

_OF_MODELS = (
    "input_coordinates",
    "output_coordinates",
    "input_layers",
    "output_layers",
    "container_nodes",
    "nodes_by_depth",
    "layers_by_depth",
)
"""What models told of the graph that they are of, without an underscore until Keras 2.1."""


def _shape(x: Any) -> Any:
    """The sizes of a tensor's dims, None where they are not known; no attribute where not even their number is."""
    found = K.int_shape(x)
    if found is None:
        raise AttributeError("_keras_shape")
    return found


def _set_shape(x: Any, shape: Any) -> None:
    """Programs say what Keras could not find out; what contradicts the graph is left alone, as nothing checked it."""
    if hasattr(x, "set_shape"):
        with contextlib.suppress(ValueError):
            x.set_shape(shape)


def _ignored(x: Any, value: Any) -> None: ...


def give_attributes() -> None:
    kinds: tuple[Any, ...] = Tensor, Variable, SparseTensor
    for kind in kinds:
        kind._keras_shape = property(_shape, _set_shape)
        kind._uses_learning_phase = property(lambda x: False, _ignored)
    number_names_from(1)  # its first layer was "dense_1", which is "dense" in tf.keras
    Layer.name = Layer.name.setter(_set_name)  # type: ignore[attr-defined, method-assign]
    _take_constraints(Optimizer)
    give_shapes()
    for name in _OF_MODELS:
        setattr(InnerGraph, name, vars(InnerGraph)[f"_{name}"])
    for name, told in NUMBERS.items():
        setattr(InnerGraph, name, told)


def _set_name(layer: Any, name: str) -> None:
    """It was an attribute like any other, of models too."""
    layer._name = name


def _take_constraints(optimizer: Any) -> None:
    """`get_updates(params, constraints, loss)`, as until Keras 2.0: constraints belong to variables since."""
    make = optimizer.get_updates

    @functools.wraps(make)
    def get_updates(self: Any, *args: Any, **options: Any) -> Any:
        if len(args) + len(options) == 3:
            REPORT.use("get_updates(params, constraints, loss)", sys._getframe(1))
            given = dict(zip(("params", "constraints", "loss"), args, strict=False)) | options
            return make(self, given["loss"], given["params"])
        return make(self, *args, **options)

    optimizer.get_updates = get_updates
