"""`RefVariable`: TF 1.x's default kind of variable, whose edge is a reference to its buffer."""

from __future__ import annotations

import contextlib
from typing import Any

from penstock.client.variable import Variable, check_initial_value, initializer_scope
from penstock.graph.convert import DtypeMismatchError, convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import get_default_graph
from penstock.ops.basic import IDENTITY
from penstock.ops.state import ASSIGN, ASSIGN_ADD, ASSIGN_SUB, VARIABLE_V2
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape


class RefVariable(Variable):
    """A variable by reference. Reads and updates without an order in the graph run in the order in which they were
    built."""

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
        with contextlib.ExitStack() as stack:
            made_here = callable(initial_value)
            if made_here:
                with initializer_scope(scope):
                    value = convert_to_tensor(initial_value(), dtype, name="initial_value")
                # The variable itself determines where it and its initial value are.
                stack.enter_context(graph._attr_scope({"_class": [b"loc:@" + scope.rstrip("/").encode()]}))
            else:
                value = convert_to_tensor(initial_value, dtype, name="initial_value")
            declared = check_initial_value(value, scope, validate_shape, shape)
            self._variable: Tensor = VARIABLE_V2(shape=declared, dtype=value.dtype.base_dtype, name=scope)
        self._initial_value = value
        # Nodes run in the order in which they were built: an initial value computed from other variables comes after
        # their initializers if one step runs both.
        self._initializer_op = ASSIGN(self._variable, value, validate_shape=validate_shape).op
        with graph.device(caching_device) if caching_device is not None else graph.colocate_with(self._variable.op):
            self._snapshot: Tensor = IDENTITY(self._variable, name="read")

    def _restore(self, definition: Any, import_scope: str | None) -> None:
        self._variable, self._snapshot = self._restore_common(definition, import_scope)

    def _handle_tensor(self) -> Tensor:
        return self._variable

    def _ref(self) -> Tensor:
        """The reference, for inputs that change the variable."""
        return self._variable

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def _to_tensor(self, dtype: DType | None, as_ref: bool) -> Tensor:
        if dtype is not None and dtype != self.dtype.base_dtype:
            raise DtypeMismatchError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                f"'{self.dtype.base_dtype.name}': {self.name}. Convert it with tf.cast."
            )
        return self._variable if as_ref else self._snapshot

    @property
    def dtype(self) -> DType:
        """A reference type, e.g. `float32_ref`."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        return self._variable.shape

    def set_shape(self, shape: Any) -> None:
        """Merge what the caller knows into the static shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    def value(self) -> Tensor:
        return self._snapshot

    def read_value(self) -> Tensor:
        return IDENTITY(self._variable, name="read")

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return _new(ASSIGN(self._variable, value, use_locking=use_locking, name=name), read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return _new(ASSIGN_ADD(self._variable, delta, use_locking=use_locking, name=name), read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return _new(ASSIGN_SUB(self._variable, delta, use_locking=use_locking, name=name), read_value)


def _new(updated: Tensor, read_value: bool) -> Any:
    return updated if read_value else updated.op
