"""`Graph`: the nodes, their names, and the scopes in which new ones are built (white paper section 2)."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from penstock.export import export
from penstock.graph.default_stacks import default_graphs
from penstock.graph.device_spec import DeviceSpec
from penstock.graph.opdef import OpDef, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.primitives import EXITS
from penstock.graph.shape_context import infer_shapes
from penstock.graph.stack import capture_stack

if TYPE_CHECKING:
    from penstock.graph.contexts import ControlFlowContext
    from penstock.graph.graph_function import GraphFunction

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")

MSG_FINALIZED = (
    "Graph is finalized and cannot be modified. Something builds a node after `Graph.finalize()`, often a "
    "`tf.…` call inside the training loop; build it before."
)


class _Controller:
    """One `control_dependencies` block: the operations to wait for, and the nodes built inside so far."""

    __slots__ = ("inside", "ops")

    def __init__(self, ops: list[Operation]) -> None:
        self.ops = ops
        self.inside: set[Operation] = set()


class _Scopes(threading.local):
    """The scopes in which a thread is building: each thread has its own name, device and other scopes."""

    def __init__(self) -> None:
        self.name = ""
        self.devices: list[str | Callable[[Operation], Any] | None] = []
        self.controllers: list[_Controller] = []
        self.colocations: list[bytes] = []
        self.colocated_device = ""
        self.gradient_overrides: dict[str, str] = {}
        self.attrs: dict[str, Any] = {}
        self.original: Operation | None = None
        self.gradients = ""
        self.context: ControlFlowContext | None = None


@export("Graph")
class Graph:
    """A dataflow graph (TF: tf.Graph). Any number of threads may add to one at the same time.

    `version` counts nodes; `mutations` counts changes to existing nodes, which make plans out of date.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._nodes: list[Operation] = []
        self.more_in_tensorflow = 0
        """How many more nodes TensorFlow 1.x would have for the same program (scopes.py: counted_as)."""
        self._by_name: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._collections: dict[Any, list[Any]] = {}
        self._scopes = _Scopes()
        self._finalized = False
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._container = ""
        self._functions: dict[str, GraphFunction] = {}
        self._imported: list[list[Operation]] = []
        """Nodes from messages, of which it is not yet known what loops and branches they are in."""
        self._imported_gradients: set[str] = set()
        """The calls of `gradients` that made imported nodes, whose TensorArrays are named after them."""
        self._gradient_loops: list[ControlFlowContext] = []
        """The loops that are gradients of others, in the order in which they were built or found."""
        self.mutations = 0
        self.takes_elements = False
        """Whether a node takes an element of a dataset."""
        self.seed: int | None = None
        self.loss_is_sum = False
        """Whether the last loss was a sum over its examples: then replicas' losses are added as well."""

    def scopes_here(self) -> dict[str, Any]:
        """The scopes that are open in this thread, for `enter_scopes` in another one."""
        return dict(vars(self._scopes))

    @contextlib.contextmanager
    def enter_scopes(self, scopes: dict[str, Any]) -> Iterator[None]:
        """Build in the scopes of `scopes_here`, not in those that are open in this thread."""
        outer = self.scopes_here()
        vars(self._scopes).update(scopes)
        try:
            yield
        finally:
            vars(self._scopes).update(outer)

    # --- nodes ------------------------------------------------------------------------------------------

    def add_node(
        self, op_def: OpDef, inputs: list[Tensor], attrs: dict[str, Any], name: str | None = None
    ) -> Operation:
        """Add a node with complete attributes. A `name` ending in "/" is used unchanged; others are made unique.

        Raises RuntimeError if finalized, ValueError if shapes disagree or an input is in another graph.
        """
        with self._lock:
            if self._finalized:
                raise RuntimeError(MSG_FINALIZED)
            inputs = [t if t.op.graph is self else self._from_elsewhere(t, op_def) for t in inputs]
            scopes = self._scopes
            inputs, controls = self._brought_in(inputs)
            if op_def.name not in EXITS:
                for tensor in inputs:
                    _check_loop(tensor, op_def, scopes.context)
            name = self._node_name(name or op_def.name)
            op = Operation(self, op_def, name, inputs, controls, attrs, "", capture_stack())
            op._control_flow_context = scopes.context
            if scopes.gradient_overrides and op.type in scopes.gradient_overrides:
                attrs["_gradient_op_type"] = scopes.gradient_overrides[op.type].encode()
            if scopes.colocations:  # a group in `scopes.attrs` takes precedence: slots are placed with their variable
                attrs["_class"] = sorted({*attrs.get("_class", []), *scopes.colocations})
            if scopes.attrs:
                attrs.update({k: v for k, v in scopes.attrs.items() if k not in attrs})
            if self._container and op_def.stateful and attrs.get("container") == b"":
                attrs["container"] = self._container.encode()
            self._apply_devices(op)
            infer_shapes(op)
            op._original_op = scopes.original
            if scopes.context is not None and scopes.context.in_loop:
                self._unfetchable.add(op)  # it has a value in each iteration, not a single one
                self._unfeedable.update(op._outputs)
            self._take_in(op)
            return op

    def takes_from(self, graph: Graph) -> bool:
        """Whether nodes here may be given tensors of `graph`, another one: inside a function, of what is around it."""
        return False

    def _from_elsewhere(self, tensor: Tensor, user: OpDef) -> Tensor:
        """A tensor of another graph, as an input of a node here."""
        raise ValueError(
            f"{tensor.name!r} (built at {tensor.op.user_line}) is in another graph than the "
            f"{user.name} node being built; build both under the same `graph.as_default()`."
        )

    def _brought_in(self, inputs: list[Tensor]) -> tuple[list[Tensor], list[Operation]]:
        """The inputs and control inputs of a new node as captured by the branch or loop that it is built in."""
        context = self._scopes.context
        if context is None:
            return inputs, self._controls(inputs)
        inputs = [context.capture(tensor) for tensor in inputs]
        controls = list(dict.fromkeys(context.capture_control(op) for op in self._controls(inputs)))
        if context.needs_anchor(inputs, controls):
            controls.append(context.pivot)
        return inputs, controls

    def _take_in(self, op: Operation) -> None:
        op._id = len(self._nodes)
        self._nodes.append(op)
        self._by_name[op.name] = op
        self.takes_elements = self.takes_elements or op.op_def.traits.takes_element
        for tensor in dict.fromkeys(op._inputs):
            tensor._consumers.append(op)
        for controller in self._scopes.controllers:
            controller.inside.add(op)

    def create_op(
        self,
        op_type: str,
        inputs: list[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        **_: Any,
    ) -> Operation:
        """TF 1.x's low-level builder. `attrs` may hold AttrValue messages; dtypes come from the signature."""
        from penstock.graph.attributes import complete_attrs
        from penstock.graph.codec import attr_from_proto

        given = {k: attr_from_proto(v) if hasattr(v, "WhichOneof") else v for k, v in (attrs or {}).items()}
        op_def = get_op(op_type)
        return self.add_node(op_def, list(inputs), complete_attrs(op_def, list(inputs), given), name)

    def _node_name(self, name: str | bytes) -> str:
        name = name.decode() if isinstance(name, bytes) else name
        if name.endswith("/"):
            return name[:-1]
        if not _VALID_NAME.match(name) and not (self._scopes.name and _VALID_SCOPE.match(name)):
            raise ValueError(f"{name!r} is not a valid node name")
        return self.unique_name(name)

    def _controls(self, inputs: list[Tensor]) -> list[Operation]:
        """Control inputs from the open blocks, except those that an input built in the block already implies."""
        controls: dict[Operation, None] = {}
        for controller in self._scopes.controllers:
            if not any(tensor.op in controller.inside for tensor in inputs):
                controls.update(dict.fromkeys(controller.ops))
        for tensor in inputs:
            controls.pop(tensor.op, None)
        return list(controls)

    def _apply_devices(self, op: Operation) -> None:
        """Innermost scope first; outer scopes fill only the parts that are still open."""
        for scope in reversed(self._scopes.devices):
            if scope is None:
                break
            asked = scope(op) if callable(scope) else scope
            asked = asked.to_string() if isinstance(asked, DeviceSpec) else (asked or "")
            if callable(scope):
                op._device = DeviceSpec.from_string(asked).to_string() if asked else op._device
            elif asked:
                merged = DeviceSpec.from_string(asked)
                merged.merge_from(DeviceSpec.from_string(op._device))
                op._device = merged.to_string()
        if self._scopes.colocated_device:  # a colocated node is placed with its target: what else is asked is void
            op._device = self._scopes.colocated_device

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """Wraps a change to a node that plans may already contain."""
        with self._lock:
            if self._finalized:
                raise RuntimeError(MSG_FINALIZED)
            self.mutations += 1
            yield

    # --- names ------------------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`scope/name`, or `scope/name_1` and so on if that is taken (names are case-insensitive)."""
        with self._lock:
            if self._scopes.name:
                name = f"{self._scopes.name}/{name}"
            key = name.lower()
            count = self._names_in_use.get(key, 0)
            if mark_as_used:
                self._names_in_use[key] = count + 1
            if count == 0:
                return name
            while f"{key}_{count}" in self._names_in_use:
                count += 1
            if mark_as_used:
                self._names_in_use[f"{key}_{count}"] = 1
                self._names_in_use[key] = count + 1
            return f"{name}_{count}"

    @contextlib.contextmanager
    def name_scope(self, name: Any) -> Iterator[str]:
        """Prefix the names built inside. A name ending in "/" re-enters that scope; None or "" leaves all scopes."""
        scopes = self._scopes
        old = scopes.name
        if not name:
            new = ""
        elif name.endswith("/"):
            new = name[:-1]
        else:
            if not (_VALID_SCOPE if old else _VALID_NAME).match(name):
                raise ValueError(f"{name!r} is not a valid scope name")
            new = self.unique_name(name)
        scopes.name = new
        try:
            yield f"{new}/" if new else ""
        finally:
            scopes.name = old

    def get_name_scope(self) -> str:
        return self._scopes.name

    @property
    def _name_stack(self) -> str:
        """The open name scope under the name by which libraries ask for it, and replace it."""
        return self._scopes.name

    @_name_stack.setter
    def _name_stack(self, name: str) -> None:
        self._scopes.name = name

    # --- look-ups ---------------------------------------------------------------------------------------

    @property
    def _nodes_by_name(self) -> Mapping[str, Operation]:
        """TensorFlow's table of nodes, which libraries read: a view, as nothing is added through it."""
        return MappingProxyType(self._by_name)

    def get_operations(self) -> list[Operation]:
        """All nodes, in the order in which they were built."""
        with self._lock:
            return list(self._nodes)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The node or edge that `obj` is, names, or converts to. Raises KeyError, ValueError or TypeError otherwise."""
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            obj = self._named(obj, allow_tensor, allow_operation)
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if obj.graph is not self:
                raise ValueError(f"{obj!r} is not an element of this graph.")
            return obj
        wanted = " or ".join(["a Tensor"] * allow_tensor + ["an Operation"] * allow_operation)
        raise TypeError(f"Can not convert a {type(obj).__name__} into {wanted}.")

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        node, colon, port = name.partition(":")
        op = self._by_name.get(node)
        if colon and allow_tensor:
            if not port.isdigit():
                raise ValueError(f"The name {name!r} looks like a (Tensor) name, but is not a valid one: 'node:port'.")
            if op is None:
                raise KeyError(f"The name {name!r} refers to a Tensor which does not exist: no operation {node!r}.")
            if int(port) >= len(op._outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist: {node!r} has only "
                    f"{len(op._outputs)} outputs."
                )
            return op._outputs[int(port)]
        if not colon and allow_operation:
            if op is None:
                raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
            return op
        hint = (
            "names an Operation, not a Tensor; write 'node:port'" if not colon else "names a Tensor, not an Operation"
        )
        raise ValueError(f"The name {name!r} {hint}.")

    def get_tensor_by_name(self, name: str) -> Tensor:
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings, not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    def get_operation_by_name(self, name: str) -> Operation:
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings, not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)

    @property
    def version(self) -> int:
        return len(self._nodes)

    # --- scopes -----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Nodes built inside run after `control_inputs`; None forgets the outer blocks."""
        scopes = self._scopes
        old = scopes.controllers
        if control_inputs is None:
            scopes.controllers = []
        else:
            if not isinstance(control_inputs, list | tuple | set):
                control_inputs = [control_inputs]
            ops: dict[Operation, None] = {}
            for item in control_inputs:
                if hasattr(item, "values") and hasattr(item, "indices") and not isinstance(item, Tensor):
                    item = item.op  # IndexedSlices and SparseTensor
                element = self.as_graph_element(item)
                ops[element.op if isinstance(element, Tensor) else element] = None
            scopes.controllers = [*old, _Controller(list(ops))]
        try:
            yield
        finally:
            scopes.controllers = old

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Ask for a device: a full or partial name, a function of the node, or None to forget outer ones."""
        device = device_name_or_function
        scopes = self._scopes
        old = scopes.devices
        if isinstance(device, DeviceSpec):
            device = device.to_string()
        if isinstance(device, str):
            device = DeviceSpec.from_string(device).to_string()
        elif device is not None and not callable(device):
            raise TypeError(f"A device is a string, a function or None, not {type(device).__name__}.")
        scopes.devices = [*old, device]
        try:
            yield
        finally:
            scopes.devices = old

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Nodes built inside share the device of `op`; None forgets the outer blocks."""
        if op is None and not ignore_existing:
            raise ValueError("Trying to colocate with None; pass ignore_existing=True to forget outer blocks.")
        scopes = self._scopes
        old, old_devices, old_device = scopes.colocations, scopes.devices, scopes.colocated_device
        groups: list[bytes] = []
        device = "" if ignore_existing else old_device
        if op is not None:
            element = self.as_graph_element(getattr(op, "op", op) if not isinstance(op, Tensor) else op)
            target = element.op if isinstance(element, Tensor) else element
            groups = target.colocation_groups()
            device = target.device or device
            scopes.devices = [None]
        scopes.colocations = groups if ignore_existing else sorted({*old, *groups})
        scopes.colocated_device = device
        try:
            yield
        finally:
            scopes.colocations, scopes.devices, scopes.colocated_device = old, old_devices, old_device

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Nodes of the mapped types built inside use the gradient registered under the given name."""
        for key, value in op_type_map.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError("gradient_override_map maps op types (str) to gradient names (str).")
        scopes = self._scopes
        old = scopes.gradient_overrides
        scopes.gradient_overrides = {**old, **op_type_map}
        try:
            yield
        finally:
            scopes.gradient_overrides = old

    @contextlib.contextmanager
    def _gradient_of(self, op: Operation) -> Iterator[None]:
        """Nodes built inside belong to the gradient of `op`: errors in them name its line too."""
        scopes = self._scopes
        old, scopes.original = scopes.original, op
        try:
            yield
        finally:
            scopes.original = old

    @contextlib.contextmanager
    def _gradients_call(self) -> Iterator[None]:
        """Nodes built inside belong to the call of `gradients` whose name scope this is: `_scopes.gradients`, made
        unlike those of imported graphs."""
        scopes = self._scopes
        call, count = scopes.name, 0
        while call in self._imported_gradients:
            call, count = f"{scopes.name}_{count + 1}", count + 1
        old, scopes.gradients = scopes.gradients, call
        try:
            yield
        finally:
            scopes.gradients = old

    @contextlib.contextmanager
    def _attr_scope(self, attrs: dict[str, Any]) -> Iterator[None]:
        """Nodes built inside have these attributes, Python values or AttrValue messages; None removes one."""
        from penstock.graph.codec import attr_from_proto

        scopes = self._scopes
        old = scopes.attrs
        changed = {name: attr_from_proto(v) if hasattr(v, "WhichOneof") else v for name, v in attrs.items()}
        scopes.attrs = {name: value for name, value in {**old, **changed}.items() if value is not None}
        try:
            yield
        finally:
            scopes.attrs = old

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """State built inside lives in the named container (white paper section 4.7)."""
        old, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = old

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make this the graph that new nodes of this thread go to."""
        default_graphs.stack.append(self)
        try:
            yield self
        finally:
            if default_graphs.stack.pop() is not self:
                raise AssertionError("Nesting violated for default stack of Graph objects")

    # --- collections ------------------------------------------------------------------------------------

    def add_to_collection(self, name: Any, value: Any) -> None:
        with self._lock:
            if self._finalized:
                raise RuntimeError(MSG_FINALIZED)
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        for name in dict.fromkeys((names,) if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection, or of those items whose names match the regular expression `scope`."""
        with self._lock:
            items = list(self._collections.get(name, []))
        if scope is None:
            return items
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself, created if missing: changes to the list change the collection."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[Any]:
        with self._lock:
            return [key for key in self._collections if isinstance(key, str)]

    @property
    def collections(self) -> list[Any]:
        return list(self._collections)

    def clear_collection(self, name: Any) -> None:
        with self._lock:
            self._collections.pop(name, None)

    # --- the rest of TF's surface -----------------------------------------------------------------------

    def finalize(self) -> None:
        """From now on, changing the graph raises RuntimeError."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    @property
    def finalized(self) -> bool:
        return self._finalized

    def _get_control_flow_context(self) -> ControlFlowContext | None:
        """The branch or loop that this thread is building in; None outside all."""
        return self._scopes.context

    def _set_control_flow_context(self, context: ControlFlowContext | None) -> None:
        """Build in `context`, got from here or from an operation, from now on; None: outside all branches and loops.

        Raises TypeError for a program's own kind of context, which TensorFlow tells of each new operation.
        """
        if context is not None and not hasattr(context, "entered"):  # their module imports this one
            raise TypeError(
                f"{type(context).__name__} is no context of a cond or while_loop; to see what operations are built, "
                "compare graph.get_operations() before and after."
            )
        self._scopes.context = context

    def prevent_feeding(self, tensor: Tensor) -> None:
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a step may be fed `tensor`: not if it is in a loop, because the fed value would replace those of all
        iterations."""
        context = tensor.op._control_flow_context
        return tensor not in self._unfeedable and not (context is not None and context.in_loop and not context.imported)

    def prevent_fetching(self, op: Operation) -> None:
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Whether a step may fetch it: not if it is in a branch or a loop, which may never run."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        context = op._control_flow_context
        return op not in self._unfetchable and (context is None or context.imported)

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """The graph, or the nodes added after `from_version`, as a GraphDef message (TensorFlow reads it)."""
        from penstock.graph.graph_def import graph_def

        return graph_def(self, from_version, add_shapes)

    def to_dot(self, colour: str = "op", by_device: bool = False, most: int = 200) -> str:
        """The graph in Graphviz's language, with name scopes as clusters; by_device: in clusters by requested device.

        colour: "op" or "device". most: name scopes stay closed where more boxes than this would be shown.
        """
        from penstock.drawing.dot import to_dot

        return to_dot(self._picture(colour, by_device, most))

    def to_svg(self, colour: str = "op", by_device: bool = False, most: int = 60) -> str:
        """The graph as a picture; see `to_dot`."""
        from penstock.drawing.svg import to_svg

        return to_svg(self._picture(colour, by_device, most))

    def _picture(self, colour: str, by_device: bool, most: int) -> Any:
        from penstock.graph.pictures import picture_of

        return picture_of(self.get_operations(), colour, by_device, "graph").closed(most)

    def to_html(self) -> str:
        """A page with the picture, and the operations by name scope."""
        from penstock.drawing.html import document

        return document("A graph", self._repr_html_())

    def _repr_html_(self) -> str:
        """For notebooks."""
        from penstock.graph.pictures import graph_page

        return graph_page(self)

    @property
    def graph_def_versions(self) -> Any:
        from penstock.graph.codec import versions

        return versions()

    @property
    def building_function(self) -> bool:
        return False


def _check_loop(tensor: Tensor, user: OpDef, context: Any) -> None:
    """Raises ValueError if a tensor of a loop is used outside it: it has a value in each iteration, but none
    outside."""
    inside = tensor.op._control_flow_context
    if inside is None or inside is context or tensor.op.type in EXITS:
        return
    while inside is not None and not inside.is_loop:
        inside = inside.outer
    if inside is not None and not inside.encloses(context):
        other = context is not None and context.in_loop
        where = "they are in different while loops" if other else f"{tensor.op.name!r} is in a while loop"
        raise ValueError(
            f"Cannot use {tensor.op.name!r} as input to {user.name} because {where}; it was built at "
            f"{tensor.op.user_line}. A loop returns its results as loop variables: return it from the body."
        )
