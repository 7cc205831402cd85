"""`ResourceVariable`: a variable accessed by a handle; every use is a separate read."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from penstock.client.replicas import update_once, updates_once
from penstock.client.variable import Variable, check_initial_value, initializer_scope
from penstock.graph.convert import DtypeMismatchError, convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, get_default_graph, graph_of, name_scope
from penstock.ops.basic import identity
from penstock.ops.resource_variables import (
    ASSIGN_ADD_VARIABLE_OP,
    ASSIGN_SUB_VARIABLE_OP,
    ASSIGN_VARIABLE_OP,
    READ_VARIABLE_OP,
    RESOURCE_GATHER,
    RESOURCE_GATHER_ND,
    VAR_HANDLE_OP,
    VAR_IS_INITIALIZED_OP,
)
from penstock.tensor.dtypes import DType, resource
from penstock.tensor.shapes import TensorShape


class ResourceVariable(Variable):
    """A variable by handle: reading it returns a value that later updates do not change."""

    def _build(
        self,
        scope: str,
        initial_value: Any,
        dtype: DType | None,
        shape: TensorShape | None,
        validate_shape: bool,
        caching_device: Any,
    ) -> None:
        graph = get_default_graph()
        name = scope.rstrip("/")
        with initializer_scope(scope):
            given = initial_value() if callable(initial_value) else initial_value
            value = convert_to_tensor(given, dtype, name="initial_value")
        check_initial_value(value, scope, validate_shape, shape)
        with graph._attr_scope({"_class": [b"loc:@" + name.encode()]}):
            self._handle: Tensor = VAR_HANDLE_OP(
                shared_name=name,
                dtype=value.dtype.base_dtype,
                shape=value.shape if shape is None else shape,
                name=scope,
            )
        self._initial_value, self._validate_shape = value, validate_shape
        with name_scope("IsInitialized"):
            VAR_IS_INITIALIZED_OP(self._handle)
        with graph.colocate_with(self._handle.op):
            self._initializer_op = ASSIGN_VARIABLE_OP(self._handle, value, name="Assign")
        with name_scope("Read"), graph.device(self._handle.device):
            self._graph_element: Tensor = READ_VARIABLE_OP(self._handle, dtype=self._dtype_of(self._handle))
        self._cached_value: Tensor | None = None
        if caching_device is not None:
            with graph.device(caching_device):
                self._cached_value = identity(self._graph_element)

    @staticmethod
    def _dtype_of(handle: Tensor) -> DType:
        return handle.op.attrs["dtype"]

    def _restore(self, definition: Any, import_scope: str | None) -> None:
        self._handle, self._graph_element = self._restore_common(definition, import_scope)
        self._validate_shape, self._cached_value = True, None

    @property
    def handle(self) -> Tensor:
        """The edge of type `resource` that ops on the variable take."""
        return self._handle

    def _handle_tensor(self) -> Tensor:
        return self._handle

    def _snapshot_tensor(self) -> Tensor:
        return self._graph_element

    def _as_graph_element(self) -> Tensor:
        return self._graph_element

    def _to_tensor(self, dtype: DType | None, as_ref: bool) -> Tensor:
        if as_ref or dtype == resource:
            return self._handle
        if dtype is not None and dtype != self.dtype:
            raise DtypeMismatchError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                f"'{self.dtype.name}': {self.name}. Convert it with tf.cast."
            )
        return self.value()

    def to_proto(self, export_scope: str | None = None) -> Any:
        proto = super().to_proto(export_scope)
        if proto is not None:
            proto.is_resource = True
        return proto

    @property
    def dtype(self) -> DType:
        return self._dtype_of(self._handle)

    @property
    def shape(self) -> TensorShape:
        return self._handle.op.attrs["shape"]

    @property
    def create(self) -> Operation:
        return self.initializer

    # --- reads ------------------------------------------------------------------------------------------

    def value(self) -> Tensor:
        """A new read, or the one kept on the caching device."""
        if self._cached_value is not None:
            return self._cached_value
        return self._read_variable_op()

    def _read_variable_op(self) -> Tensor:
        graph = get_default_graph()  # a read is where the variable is, whatever its result is used beside
        with graph.colocate_with(None, ignore_existing=True), graph.device(self._handle.device):
            return READ_VARIABLE_OP(self._handle, dtype=self.dtype)

    def read_value(self) -> Tensor:
        with name_scope("Read"):
            value = self._read_variable_op()
        return identity(value)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether the variable has a value, a bool scalar."""
        return VAR_IS_INITIALIZED_OP(self._handle, name=name)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows at `indices`, without reading the others."""
        return RESOURCE_GATHER(self._handle, indices, dtype=self.dtype, name=name or "Gather")

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements or slices at `indices` [..., k]."""
        return RESOURCE_GATHER_ND(self._handle, indices, dtype=self.dtype, name=name or "GatherNd")

    # --- updates ----------------------------------------------------------------------------------------

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        if updates_once(self):
            return update_once(self, "assign", value, use_locking, name, read_value)
        with self._own_graph():
            tensor = convert_to_tensor(value, self.dtype)
            if not self.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable shape "
                    f"{self.shape}, and the assigned value shape {tensor.shape} are incompatible."
                )
            validate = self._validate_shape and self.shape.is_fully_defined()
            return self._new(ASSIGN_VARIABLE_OP(self._handle, tensor, validate_shape=validate, name=name), read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        if updates_once(self):
            return update_once(self, "assign_add", delta, use_locking, name, read_value)
        with self._own_graph():
            tensor = convert_to_tensor(delta, self.dtype)
            return self._new(ASSIGN_ADD_VARIABLE_OP(self._handle, tensor, name=name), read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        if updates_once(self):
            return update_once(self, "assign_sub", delta, use_locking, name, read_value)
        with self._own_graph():
            tensor = convert_to_tensor(delta, self.dtype)
            return self._new(ASSIGN_SUB_VARIABLE_OP(self._handle, tensor, name=name), read_value)

    def _own_graph(self) -> AbstractContextManager[Any]:
        """Updates are built in the variable's graph, whatever the default graph is."""
        graph = graph_of([self._handle])
        return nullcontext() if graph is get_default_graph() else graph.as_default()

    def _new(self, update: Operation, read_value: bool) -> Any:
        return self._lazy_read(update) if read_value else update

    def _lazy_read(self, update: Operation) -> Tensor:
        """The contents after `update`."""
        with control_dependencies([update]):
            return self._read_variable_op()
