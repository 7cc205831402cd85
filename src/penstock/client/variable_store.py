"""The variables that `get_variable` has made in a graph, by their full names."""

from __future__ import annotations

import enum
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from penstock.client.initializers import glorot_uniform_initializer, zeros_initializer
from penstock.client.partitioned_variable import PartitionedVariable, PartitionInfo, slices
from penstock.client.variable import SaveSliceInfo, Variable, VariableAggregation, VariableSynchronization
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.scopes import GraphKeys, colocate_with, get_default_graph, name_scope
from penstock.tensor.dtypes import DType, as_dtype, string
from penstock.tensor.shapes import TensorShape


class _Reuse(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _Reuse.AUTO_REUSE
"""A value for `reuse`: share the variables that exist, and create the others."""

MSG_EXISTS = (
    "Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
)
MSG_MISSING = (
    "Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
    "reuse=tf.AUTO_REUSE in VarScope?"
)
MSG_SHAPE = "Shape of a new variable ({name}) must be fully defined, but instead was {shape}."
MSG_PARTITIONED = (
    "No partitioner was provided, but a partitioned version of the variable was found: {name}/part_0. Perhaps a "
    "variable of the same name was already created with partitioning?"
)
MSG_NOT_PARTITIONED = (
    "A partitioner was provided, but an unpartitioned version of the variable was found: {name}. Perhaps a variable "
    "of the same name was already created without partitioning?"
)


class VariableStore:
    """Holds existing variables and creates new ones. One thread at a time decides whether a variable exists."""

    def __init__(self) -> None:
        self._vars: dict[str, Any] = {}
        self._partitioned: dict[str, PartitionedVariable] = {}
        self._lock = threading.RLock()

    def get_variable(self, name: str, *, custom_getter: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
        """The variable with this full name; the arguments are those of `tf.get_variable`, and `reuse`."""
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        kwargs["dtype"] = as_dtype(dtype).base_dtype
        kwargs["synchronization"] = kwargs.get("synchronization") or VariableSynchronization.AUTO
        kwargs["aggregation"] = kwargs.get("aggregation") or VariableAggregation.NONE
        if kwargs.get("trainable") is None:  # getters ask for it
            kwargs["trainable"] = kwargs["synchronization"] != VariableSynchronization.ON_READ
        with self._lock:
            if custom_getter is None:
                return self._true_getter(name, **kwargs)
            return custom_getter(self._true_getter, name=name, **_accepted(custom_getter, kwargs))

    def _true_getter(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = "float",
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        dtype = as_dtype(dtype).base_dtype
        is_value = initializer is not None and not callable(initializer)
        if is_value and shape is not None and partitioner is None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        shape = TensorShape(shape)
        if name in self._partitioned and (partitioner is not None or reuse):
            self._check_same_parts(name, dtype, partitioner)
            return self._shared(name, self._partitioned[name], shape, None if is_value else dtype, reuse)
        if partitioner is not None and shape.ndims != 0:
            settings = {
                "regularizer": regularizer, "reuse": reuse, "trainable": trainable, "collections": collections,
                "caching_device": caching_device, "validate_shape": validate_shape, "use_resource": use_resource,
                "constraint": constraint, "synchronization": synchronization, "aggregation": aggregation,
            }  # fmt: skip
            return self._in_parts(name, shape, dtype, initializer, partitioner, settings)
        if f"{name}/part_0" in self._vars:
            raise ValueError(MSG_PARTITIONED.format(name=name))
        if name in self._vars:
            return self._shared(name, self._vars[name], shape, None if is_value else dtype, reuse)
        if reuse is True:
            raise ValueError(MSG_MISSING.format(name=name))
        variable = Variable(
            initializer if is_value else _initial_value(name, initializer, shape, dtype),
            trainable,
            collections,
            validate_shape,
            caching_device,
            name,
            dtype=None if is_value else dtype,
            constraint=constraint,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
            shape=shape if shape.is_fully_defined() and not is_value else None,
        )
        self._vars[name] = variable
        if regularizer is not None:
            _regularize(name, variable, regularizer)
        return variable

    def _in_parts(
        self, name: str, shape: TensorShape, dtype: DType, initializer: Any, partitioner: Any, settings: dict[str, Any]
    ) -> PartitionedVariable:
        """A new variable, split by the partitioner."""
        if name in self._vars:
            raise ValueError(MSG_NOT_PARTITIONED.format(name=name))
        if settings["reuse"] is True:
            raise ValueError(MSG_MISSING.format(name=name))
        value = None
        if initializer is not None and not callable(initializer):
            value = convert_to_tensor(initializer)
            if not shape.is_compatible_with(value.shape):
                raise ValueError(f"The initial value of {name} has shape {value.shape}, not the given {shape}.")
            shape = value.shape
        elif inspect.isclass(initializer):
            initializer = initializer()
        elif initializer is None:
            initializer = default_initializer(name, dtype)
        if not shape.is_fully_defined():
            raise ValueError(MSG_SHAPE.format(name=name, shape=shape))
        full: Any = shape.as_list()
        partitions = partitioner(shape=shape, dtype=dtype)
        variables = []
        for i, (offset, part) in enumerate(slices(name, shape, partitions)):
            if value is not None:
                own, given = get_op("Slice")(value, offset, part), None
            else:
                own, given = _for_part(initializer, PartitionInfo(full, offset)), part
            variable = self._true_getter(f"{name}/part_{i}", given, dtype, own, **settings)
            variable._set_save_slice_info(SaveSliceInfo(name, full, offset, part))
            variables.append(variable)
        self._partitioned[name] = PartitionedVariable(name, shape, dtype, variables, partitions)
        return self._partitioned[name]

    def _check_same_parts(self, name: str, dtype: DType, partitioner: Any) -> None:
        found = self._partitioned[name]
        wanted = found._partitions if partitioner is None else list(partitioner(shape=found.shape, dtype=dtype))
        if wanted != found._partitions:
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified partitions {wanted} and found partitions "
                f"{found._partitions}."
            )

    def _shared(self, name: str, found: Any, shape: TensorShape, dtype: DType | None, reuse: Any) -> Any:
        if reuse is False:
            first = next(iter(found)) if isinstance(found, PartitionedVariable) else found
            line = first.op.user_line
            raise ValueError(MSG_EXISTS.format(name=name) + (f" Originally defined at:\n\n{line}" if line else ""))
        if not shape.is_compatible_with(found.shape):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape {found.shape}."
            )
        if dtype is not None and dtype != found.dtype.base_dtype:
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                f"{found.dtype.base_dtype.name}."
            )
        return found


def _accepted(getter: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Getters written before `constraint` and similar arguments existed do not get them."""
    parameters = inspect.signature(getter).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return kwargs
    late = ("constraint", "synchronization", "aggregation")
    return {k: v for k, v in kwargs.items() if k not in late or k in parameters}


def _for_part(initializer: Callable[..., Any], info: PartitionInfo) -> Callable[..., Any]:
    """The initializer with the part that it makes as an argument, if it takes one."""
    if any(p.name == "partition_info" for p in _parameters(initializer)):
        return functools.partial(initializer, partition_info=info)
    return initializer


def _initial_value(name: str, initializer: Any, shape: TensorShape, dtype: DType) -> Callable[[], Any]:
    """A function that builds the initial value."""
    if initializer is None:
        initializer = default_initializer(name, dtype)
    elif inspect.isclass(initializer):
        initializer = initializer()
    parameters = _parameters(initializer)
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not shape.is_fully_defined() or not parameters:
        if required:
            raise ValueError(MSG_SHAPE.format(name=name, shape=shape))
        return initializer
    kwargs: dict[str, Any] = {"dtype": dtype}
    if any(p.name == "partition_info" for p in required):
        kwargs["partition_info"] = None
    return lambda: initializer(shape.as_list(), **kwargs)


def _parameters(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(fn).parameters.values())


def default_initializer(name: str, dtype: DType) -> Any:
    """That of a variable for which none is given; raises ValueError for a dtype that has none."""
    if dtype.is_floating:
        return glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_bool or dtype == string:
        return zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype.name} is required")


def _regularize(name: str, variable: Any, regularizer: Callable[[Any], Any]) -> None:
    with colocate_with(variable.op), name_scope(name + "/Regularizer/"):
        loss = regularizer(variable)
        if loss is not None:
            loss = convert_to_tensor(loss)
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


_STORE_KEY = ("__variable_store",)


def get_variable_store(graph: Graph | None = None) -> VariableStore:
    """The store of `graph`, or of the default graph."""
    graph = graph or get_default_graph()
    with graph._lock:
        held = graph.get_collection_ref(_STORE_KEY)
        if not held:
            held.append(VariableStore())
        return held[0]
