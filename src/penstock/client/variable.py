"""`Variable`: what reference and resource variables share (white paper section 2; TF: tf.Variable)."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto import variable_pb2

from penstock.client.variable_creators import creators
from penstock.export import export
from penstock.graph.contexts import outside
from penstock.graph.convert import register_tensor_conversion_function
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.operators import Operators
from penstock.graph.scopes import GraphKeys, control_dependencies, get_default_graph, name_scope
from penstock.ops import scatter
from penstock.ops.basic import identity
from penstock.ops.state import count_up_to, is_variable_initialized
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When copies of a distributed variable are synchronised (TF: tf.VariableSynchronization)."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    """How copies of a distributed variable are combined (TF: tf.VariableAggregation)."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = ONLY_FIRST_REPLICA  # its name until TensorFlow 1.12


class SaveSliceInfo:
    """Which part of a larger tensor a variable is: checkpoints hold the larger one."""

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: list[int] | None = None,
        var_offset: list[int] | None = None,
        var_shape: list[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            proto = save_slice_info_def
            full_name = in_scope(proto.full_name, import_scope)
            full_shape, var_offset, var_shape = map(list, (proto.full_shape, proto.var_offset, proto.var_shape))
        self.full_name = full_name
        self.full_shape = full_shape or []
        self.var_offset = var_offset or []
        self.var_shape = var_shape or []

    @property
    def spec(self) -> str:
        """The form that savers write: the full shape, then `offset,length` for each dimension."""
        parts = ":".join(f"{offset},{size}" for offset, size in zip(self.var_offset, self.var_shape, strict=True))
        return " ".join([*map(str, self.full_shape), parts])

    def to_proto(self, export_scope: str | None = None) -> Any:
        return variable_pb2.SaveSliceInfoDef(
            full_name=without_scope(self.full_name or "", export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


def in_scope(name: str, scope: str | None) -> str:
    return f"{scope.rstrip('/')}/{name}" if scope else name


def without_scope(name: str, scope: str | None) -> str:
    return name.removeprefix(f"{scope.rstrip('/')}/") if scope else name


MSG_IN_CONTROL_FLOW = (
    "Initializer for variable {} is from inside a control-flow construct, such as a loop or conditional. "
    "When creating a variable inside a loop or conditional, use a lambda as the initializer."
)

_default_use_resource = False


@export("enable_resource_variables")
def enable_resource_variables() -> None:
    """Make new variables resource variables by default."""
    global _default_use_resource
    _default_use_resource = True


@export("disable_resource_variables")
def disable_resource_variables() -> None:
    """Make new variables reference variables by default, as in TF 1.x."""
    global _default_use_resource
    _default_use_resource = False


@export("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    return _default_use_resource


class _VariableType(type):
    """Calls of `Variable` go through the creators of open `variable_creator_scope`s, the innermost first."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not creators.stack or cls is not Variable or len(args) > 6 or kwargs.get("variable_def") is not None:
            return super().__call__(*args, **kwargs)
        create: Callable[..., Any] = super().__call__
        for creator in creators.stack:
            create = functools.partial(creator, create)
        return create(**dict(zip(_POSITIONAL, args, strict=False)), **kwargs)


_POSITIONAL = ("initial_value", "trainable", "collections", "validate_shape", "caching_device", "name")


@export("Variable")
class Variable(Operators, metaclass=_VariableType):
    """A tensor that outlasts steps: a `RefVariable`, or with `use_resource` a `ResourceVariable`.

    initial_value: anything that converts to a tensor, or a function without arguments that returns such a value (called
    in the variable's context, outside control flow). trainable: also in the TRAINABLE_VARIABLES collection.
    collections: those that it joins (GLOBAL_VARIABLES). validate_shape: False lets the shape be unknown.
    caching_device: where reads are cached. variable_def: a VariableDef to restore the object from; the graph must
    contain its nodes. constraint: a function that optimizers apply after an update. shape: a more general one than the
    initial value's.

    Its initializer must run, or a checkpoint be restored, before anything reads it (FailedPreconditionError).
    Raises ValueError without an initial value, or if its shape is unknown and `validate_shape` is set.
    """

    SaveSliceInfo = SaveSliceInfo

    _initial_value: Tensor | None
    _initializer_op: Operation | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__new__(cls)
        from penstock.client.ref_variable import RefVariable  # the kinds are subclasses
        from penstock.client.resource_variable import ResourceVariable

        definition = args[6] if len(args) > 6 else kwargs.get("variable_def")
        if definition is not None:
            use_resource = definition.is_resource
        else:
            use_resource = args[11] if len(args) > 11 else kwargs.get("use_resource")
        return super().__new__(ResourceVariable if use_resource_variable(use_resource) else RefVariable)

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        self._save_slice_info: SaveSliceInfo | None = None
        self._constraint = constraint
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._restore(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
        if not isinstance(collections, list | tuple | set):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. Got "
                f"{collections} of type {type(collections)}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._synchronization, self._aggregation = synchronization, aggregation
        if trainable is None:
            trainable = synchronization != VariableSynchronization.ON_READ
        self._trainable = bool(trainable)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        asked = (
            None
            if shape is None and expected_shape is None
            else TensorShape(expected_shape if shape is None else shape)
        )
        wanted = None if dtype is None else as_dtype(dtype).base_dtype
        values = [] if callable(initial_value) else [initial_value]
        # A variable created in a branch or a loop is built outside it, once: only its uses belong there.
        with outside(None), control_dependencies(None), name_scope(name, "Variable", values) as scope:
            self._build(scope, initial_value, wanted, asked, validate_shape, caching_device)
            get_default_graph().add_to_collections(list(collections), self)

    # --- what the two kinds do ----------------------------------------------------------------------------

    def _build(
        self,
        scope: str,
        initial_value: Any,
        dtype: DType | None,
        shape: TensorShape | None,
        validate_shape: bool,
        caching_device: Any,
    ) -> None:
        """Add the variable's nodes, inside its name scope."""
        raise NotImplementedError

    def _restore(self, definition: Any, import_scope: str | None) -> None:
        """Find the variable's nodes by the names in a VariableDef."""
        raise NotImplementedError

    def _handle_tensor(self) -> Tensor:
        """The edge that refers to the state: a reference or a handle."""
        raise NotImplementedError

    def value(self) -> Tensor:
        """The variable's value as a tensor: what it converts to."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """The value at the time when the new node runs: use it under control dependencies."""
        raise NotImplementedError

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Set the variable; returns its new contents, or the operation if `read_value` is False."""
        raise NotImplementedError

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add `delta`, of the variable's shape; returns its new contents, or the operation."""
        raise NotImplementedError

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract `delta`, of the variable's shape; returns its new contents, or the operation."""
        raise NotImplementedError

    # --- properties -------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """`scope/name:0`."""
        return f"{self.op.name}:0"

    @property
    def _shared_name(self) -> str:
        return self.op.name

    @property
    def op(self) -> Operation:
        return self._handle_tensor().op

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def dtype(self) -> DType:
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        raise NotImplementedError

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def initializer(self) -> Operation:
        """The operation that sets the variable to its initial value."""
        return self._initializer_op  # type: ignore[return-value]

    @property
    def initial_value(self) -> Tensor:
        return self._initial_value  # type: ignore[return-value]

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def constraint(self) -> Any:
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        return self._aggregation

    def _set_save_slice_info(self, info: Any) -> None:
        self._save_slice_info = info

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    # --- values -----------------------------------------------------------------------------------------

    def eval(self, session: Any = None) -> Any:
        """The value in `session`, or in the default one."""
        return self._as_graph_element().eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Set the variable in `session` (or the default one) without adding a node."""
        self.initializer.run({self.initializer.inputs[1]: value}, session)

    def initialized_value(self) -> Tensor:
        """The value, or the initial value before initialisation: for initialising other variables."""
        with control_dependencies(None), name_scope(None, "initialized_value", [self]) as scope:
            ready = is_variable_initialized(self)
            switch = get_op("Switch")
            with control_dependencies([identity(switch(ready, ready)[1])]):
                value = self.read_value()
            return get_op("Merge")([switch(self.initial_value, ready)[0], value], name=scope)[0]

    def count_up_to(self, limit: int) -> Tensor:
        """The value of an int scalar, which is then incremented; raises OutOfRangeError once it is `limit`."""
        return count_up_to(self, limit)

    # --- updates of some rows: `sparse_delta` is an IndexedSlices ---------------------------------------

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter.scatter_add(self, *_rows(sparse_delta), use_locking, name)

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter.scatter_sub(self, *_rows(sparse_delta), use_locking, name)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter.scatter_mul(self, *_rows(sparse_delta), use_locking, name)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter.scatter_div(self, *_rows(sparse_delta), use_locking, name)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter.scatter_min(self, *_rows(sparse_delta), use_locking, name)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter.scatter_max(self, *_rows(sparse_delta), use_locking, name)

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter.scatter_update(self, *_rows(sparse_delta), use_locking, name)

    def batch_scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter.batch_scatter_update(self, *_rows(sparse_delta), use_locking, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        return scatter.scatter_nd_add(self, indices, updates, name=name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        return scatter.scatter_nd_sub(self, indices, updates, name=name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        return scatter.scatter_nd_update(self, indices, updates, name=name)

    # --- messages ---------------------------------------------------------------------------------------

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A VariableDef that names the nodes; None for a variable outside `export_scope`."""
        if export_scope and not self.name.startswith(f"{export_scope.rstrip('/')}/"):
            return None
        proto = variable_pb2.VariableDef(
            variable_name=without_scope(self._handle_tensor().name, export_scope),
            initializer_name=without_scope(self.initializer.name, export_scope),
            snapshot_name=without_scope(self._snapshot_tensor().name, export_scope),
            trainable=self.trainable,
            synchronization=self.synchronization.value,
            aggregation=self.aggregation.value,
        )
        if self._initial_value is not None:
            proto.initial_value_name = without_scope(self._initial_value.name, export_scope)
        if self._save_slice_info is not None:
            proto.save_slice_info_def.CopyFrom(self._save_slice_info.to_proto(export_scope))
        return proto

    def _snapshot_tensor(self) -> Tensor:
        return self.value()

    def _restore_common(self, definition: Any, import_scope: str | None) -> tuple[Tensor, Tensor]:
        """The variable's tensor and its read; sets everything else that a VariableDef names."""
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(in_scope(name, import_scope))

        self._initializer_op = element(definition.initializer_name)
        # Old definitions do not name the initial value.
        self._initial_value = element(definition.initial_value_name) if definition.initial_value_name else None
        self._trainable = definition.trainable
        self._synchronization = VariableSynchronization(definition.synchronization)
        self._aggregation = VariableAggregation(definition.aggregation)
        if definition.HasField("save_slice_info_def"):
            info = definition.save_slice_info_def
            self._save_slice_info = SaveSliceInfo(save_slice_info_def=info, import_scope=import_scope)
        return element(definition.variable_name), element(definition.snapshot_name)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """The variable that a VariableDef describes; its nodes must be in the default graph."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    # --- the rest ---------------------------------------------------------------------------------------

    def _as_graph_element(self) -> Tensor:
        raise NotImplementedError

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def use_resource_variable(asked: bool | None) -> bool:
    """Whether to make a resource variable: as requested, otherwise as the variable scope says, otherwise as enabled."""
    if asked is None:
        from penstock.client.variable_scope import get_variable_scope  # which imports this module

        asked = get_variable_scope().use_resource
    return _default_use_resource if asked is None else bool(asked)


@contextmanager
def initializer_scope(scope: str) -> Iterator[None]:
    """A scope for building an initial value: with the future variable, in the name scope "Initializer"."""
    graph = get_default_graph()
    group = {"_class": [b"loc:@" + scope.rstrip("/").encode()]}
    with graph._attr_scope(group), name_scope("Initializer"), graph.device(None):
        yield


def check_initial_value(value: Tensor, scope: str, validate_shape: bool, shape: TensorShape | None) -> TensorShape:
    """The shape for a variable that begins as `value`; raises ValueError if it cannot."""
    if value.op._get_control_flow_context() is not None:
        raise ValueError(MSG_IN_CONTROL_FLOW.format(scope.rstrip("/")))
    if shape is not None:
        shape.assert_is_compatible_with(value.shape)
        return shape
    if not validate_shape:
        return TensorShape(None)
    if not value.shape.is_fully_defined():
        raise ValueError(f"initial_value must have a shape specified: {value}")
    return value.shape


def _rows(sparse_delta: Any) -> tuple[Any, Any]:
    if not hasattr(sparse_delta, "_is_indexed_slices"):
        raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
    return sparse_delta.indices, sparse_delta.values


def _convert(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    return value._to_tensor(dtype, as_ref)


register_tensor_conversion_function(Variable, _convert, 50)
