"""`TensorFlowOpLayer`: a node of a model that no layer made."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.json_format import MessageToDict, ParseDict
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.export import export
from penstock.graph.attributes import complete_attrs
from penstock.graph.codec import node_attrs
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, get_collection, get_default_graph
from penstock.keras import backend as K
from penstock.keras.backend.calls import Call
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.node import history_of
from penstock.keras.nested import flat, one_or_list
from penstock.logging import get_logger

_PREFIX = "tf_op_layer_"


@export("keras.layers.TensorFlowOpLayer")
class TensorFlowOpLayer(Layer):
    """A node with some of its inputs; the others, `constants` by number, are from outside of the model."""

    def __init__(self, node_def: Any, constants: Any = None, name: str | None = None, **kwargs: Any) -> None:
        self.node_def = ParseDict(node_def, NodeDef()) if isinstance(node_def, dict) else node_def
        super().__init__(name=_PREFIX + (name or self.node_def.name), **kwargs)
        self.constants = {int(number): value for number, value in (constants or {}).items()}
        self.built = True
        self._op_def = get_op(self.node_def.op)
        if isinstance(node_def, dict) and not self.node_def.input:
            self._record([], self._node({}).outputs, list, {}, Call())

    @classmethod
    def of(cls, op: Operation) -> None:
        """Make a layer whose call is `op`."""
        own = {i: x for i, x in enumerate(op.inputs) if history_of(x) is not None}
        constants = {i: x for i, x in enumerate(op.inputs) if i not in own}
        for x in constants.values():
            _warn_of_variable(x, op)
        layer = cls(op.node_def, constants, op.name)
        layer._record(list(own.values()), op.outputs, list if len(own) != 1 else one_or_list, {}, Call())

    def call(self, inputs: Any) -> Any:
        given = iter(flat(inputs))
        count = len(self.constants) + len(flat(inputs))
        op = self._node({i: next(given) for i in range(count) if i not in self.constants})
        return op.outputs if len(op.outputs) > 1 else op.outputs[0]

    def _node(self, inputs: dict[int, Any]) -> Operation:
        attrs = {k: v for k, v in node_attrs(self._op_def, self.node_def).items() if not k.startswith("_")}
        dtypes = [dtype for declared in self._op_def.inputs for dtype in declared.dtypes(attrs)]
        values = inputs | self.constants
        tensors = [convert_to_tensor(values[i], dtype) for i, dtype in enumerate(dtypes)]
        name = self.node_def.name.rpartition("/")[2]
        return get_default_graph().add_node(self._op_def, tensors, complete_attrs(self._op_def, tensors, attrs), name)

    def get_config(self) -> dict[str, Any]:
        """Constants are described by their values now; a node without inputs, such as a variable, by its value."""
        config = {k: v for k, v in super().get_config().items() if k not in ("node_def", "constants")}
        config["name"] = self.name.removeprefix(_PREFIX)
        node, constants = self.node_def, self.constants
        if self._inbound_nodes and not self._inbound_nodes[0].tensors:
            value = np.asarray(K.get_value(self._inbound_nodes[0].results[0]))
            node, constants = constant(value).op.node_def, {}
        values = {str(i): K.get_value(x) if isinstance(x, Tensor) else x for i, x in constants.items()}
        return {**config, "node_def": MessageToDict(node), "constants": values}


def _warn_of_variable(constant: Tensor, op: Operation) -> None:
    read = constant.op
    source = read.inputs[0].op if read.type in ("Identity", "ReadVariableOp") else read
    if any(variable.op is source for variable in get_collection(GraphKeys.TRAINABLE_VARIABLES)):
        get_logger().warning(
            "%s is used by %s, which no layer of the model calls: it is no weight of the model and is not trained with "
            "it. Use it in the `call` of a layer that has it as an attribute.", source.name, op.name,
        )  # fmt: skip
