"""`Operation`, a node of the graph, and `Tensor`, one of its outputs (white paper section 2)."""

from __future__ import annotations

from inspect import isfunction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penstock.export import export
from penstock.graph.default_session import Runs, session_for
from penstock.graph.operators import Operators
from penstock.graph.stack import Stack, format_line, format_stack
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape, shape_of

if TYPE_CHECKING:
    from penstock.graph.graph import Graph
    from penstock.graph.opdef import OpDef


@export("Tensor")
class Tensor(Operators):
    """The symbolic value on an edge: output `value_index` of `op`. Holds no data (TF: tf.Tensor).

    Two tensors are equal only if they are the same object; `x == y` builds no node, as in TF 1.x.
    """

    # Libraries set attributes of their own (TFLearn's `scope`, Keras' `_uses_learning_phase`), which "__dict__" is for.
    # Keras' layers here set _keras_history, where a tensor is from, and _keras_mask, which steps of sequences count.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_consumers",
        "_dtype",
        "_keras_history",
        "_keras_mask",
        "_shape",
        "op",
        "value_index",
    )

    OVERLOADABLE_OPERATORS: ClassVar[set[str]] = {
        name for name, member in vars(Operators).items() if isfunction(member)
    }
    """Names of methods, which libraries copy to classes of their own that convert to tensors."""

    def __init__(self, op: Operation, value_index: int, dtype: DType) -> None:
        self.op = op
        self.value_index = value_index
        self._dtype = dtype
        self._shape = TensorShape(None)
        self._consumers: list[Operation] = []

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def name(self) -> str:
        """`node:port`, as the paper's section 4.2 names edges."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        """The static shape: what is known about it while the graph is built."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Merge what the caller knows into the static shape; raises ValueError if the two disagree."""
        self._shape = shape_of(self._shape.merge_with(shape).tuple)

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input."""
        return list(self._consumers)

    def eval(self, feed_dict: Any = None, session: Runs | None = None) -> Any:
        """Run what this tensor needs in `session` (or the default one) and return its value."""
        return session_for(self, session, "eval").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self._dtype.name}>"

    def __str__(self) -> str:
        shape = f", shape={self._shape}" if self._shape.ndims is not None else ""
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def _repr_html_(self) -> str:
        """For notebooks."""
        from penstock.graph.pictures import tensor_page

        return tensor_page(self)

    def __bool__(self) -> bool:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` to test whether a "
            "tensor is defined, and `tf.cond` to run subgraphs conditioned on its value."
        )

    __nonzero__ = __bool__  # Python 2's name, which libraries copy

    def __iter__(self) -> Any:
        raise TypeError("Tensor objects are not iterable; use tf.unstack, tf.map_fn, or fetch the value first.")

    def _shape_as_list(self) -> list[int | None] | None:
        """The static sizes, None if not even the rank is known (TensorFlow's programs call it, too)."""
        return None if self.shape.ndims is None else self.shape.as_list()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array; run it first.")

    def _as_graph_element(self) -> Tensor:
        return self


@export("Operation")
class Operation:
    """A node: an op, its attributes, its inputs and its outputs (TF: tf.Operation).

    Made by calling an `OpDef`; never by hand. `attrs` holds Python values: DType, TensorShape, bytes, numbers,
    NumPy arrays, and lists of them.
    """

    __slots__ = (
        "__dict__",  # for attributes that programs set
        "__weakref__",
        "_control_flow_context",
        "_control_inputs",
        "_device",
        "_id",
        "_inputs",
        "_original_op",
        "_outputs",
        "_stack",
        "attrs",
        "graph",
        "name",
        "op_def",
    )

    def __init__(
        self,
        graph: Graph,
        op_def: OpDef,
        name: str,
        inputs: list[Tensor],
        control_inputs: list[Operation],
        attrs: dict[str, Any],
        device: str,
        stack: Stack,
    ) -> None:
        self.graph = graph
        self.op_def = op_def
        self.name = name
        self.attrs = attrs
        self._inputs = inputs
        self._control_inputs = control_inputs
        self._device = device
        self._stack = stack
        self._control_flow_context: Any = None
        self._original_op: Operation | None = None  # the operation whose gradient this belongs to
        self._id = -1  # set when the node is added to a graph
        dtypes = [d for out in op_def.outputs for d in out.dtypes(attrs)]
        self._outputs = [Tensor(self, i, dtype) for i, dtype in enumerate(dtypes)]

    @property
    def type(self) -> str:
        return self.op_def.name

    @property
    def inputs(self) -> list[Tensor]:
        return list(self._inputs)

    @property
    def outputs(self) -> list[Tensor]:
        return list(self._outputs)

    @property
    def _output_types(self) -> list[int]:
        """The dtypes of the outputs as numbers of DataType, which libraries copy into other nodes."""
        return [tensor.dtype.as_datatype_enum for tensor in self._outputs]

    @property
    def control_inputs(self) -> list[Operation]:
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The requested device: "", or a full or partial name."""
        return self._device

    @property
    def node_def(self) -> Any:
        """This node as a NodeDef message."""
        from penstock.graph.codec import node_def  # protos are imported only on demand

        return node_def(self)

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """`(file, line, function, text)` of the user's frames that built this node, outermost first."""
        return format_stack(self._stack)

    @property
    def user_line(self) -> str:
        """`file.py:12, in build: y = tf.matmul(x, w)`, or "" for an imported node."""
        return format_line(self._stack)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from penstock.graph.pictures import operation_page

        return operation_page(self)

    def colocation_groups(self) -> list[bytes]:
        """`loc:@name` of each group of nodes that must share a device; the node's own if it is in no other."""
        groups = [g for g in self.attrs.get("_class", []) if g.startswith(b"loc:@")]
        return groups or [f"loc:@{self.name}".encode()]

    def values(self) -> tuple[Tensor, ...]:
        return tuple(self._outputs)

    def get_attr(self, name: str) -> Any:
        """The value of an attribute, as a Python value: shapes and tensors as messages, as in TensorFlow.

        Raises ValueError if the node has no attribute of that name.
        """
        try:
            value = self.attrs[name]
        except KeyError:
            raise ValueError(f"Operation {self.name!r} has no attr named {name!r}.") from None
        return [_shown(v) for v in value] if isinstance(value, list) else _shown(value)

    def run(self, feed_dict: Any = None, session: Runs | None = None) -> None:
        """Run this operation and what it needs in `session` (or the default one)."""
        session_for(self, session, "run").run(self, feed_dict)

    def input_values(self) -> list[Any]:
        """The inputs grouped as in the signature: a tensor for each, a list for a list input."""
        grouped: list[Any] = []
        position = 0
        for arg in self.op_def.inputs:
            count = len(arg.dtypes(self.attrs))
            part = self._inputs[position : position + count]
            grouped.append(part if arg.is_list else part[0])
            position += count
        return grouped

    # --- changes to a node already in the graph; each makes existing plans out of date -------

    def _add_control_inputs(self, ops: list[Operation]) -> None:
        with self.graph._change():
            for op in ops:
                if op.graph is not self.graph:
                    raise ValueError(f"{op.name!r} is of another graph than {self.name!r}")
                if op not in self._control_inputs:
                    self._control_inputs.append(op)

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _remove_all_control_inputs(self) -> None:
        with self.graph._change():
            self._control_inputs.clear()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        with self.graph._change():
            if tensor.dtype.base_dtype != self._inputs[index].dtype.base_dtype:
                raise TypeError(f"input {index} of {self.name!r} is {self._inputs[index].dtype}, not {tensor.dtype}")
            old = self._inputs[index]
            self._inputs[index] = tensor
            if old not in self._inputs:
                old._consumers.remove(self)
            tensor._consumers.append(self)

    def _set_attr(self, name: str, value: Any) -> None:
        with self.graph._change():
            self.attrs[name] = value

    def _set_device(self, device: Any) -> None:
        from penstock.graph.device_spec import DeviceSpec

        with self.graph._change():
            self._device = (
                DeviceSpec.from_string(str(device or "")).to_string()
                if isinstance(device, str)
                else (device.to_string() if device is not None else "")
            )

    def _set_control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context

    def _get_control_flow_context(self) -> Any:
        return self._control_flow_context

    def _as_graph_element(self) -> Operation:
        return self

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        from google.protobuf import text_format

        return str(text_format.MessageToString(self.node_def))


def _shown(value: Any) -> Any:
    """An attribute's value as `get_attr` shows it."""
    if isinstance(value, TensorShape):
        return value.as_proto()
    if isinstance(value, np.ndarray):
        from penstock.graph.codec import tensor_proto

        return tensor_proto(value)
    return value
