"""Functions for those who build graphs from inside TensorFlow: framework.ops, framework.common_shapes, ops.*."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NamedTuple

from penstock.client.resource_variable import ResourceVariable
from penstock.client.resources import (
    initialize_resources as initialize_resources,
    local_resources as local_resources,
    register_resource as register_resource,
    report_uninitialized_resources as report_uninitialized_resources,
    shared_resources as shared_resources,
)
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.constants import constant_value_as_shape
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import expand_dims, reshape
from penstock.ops.joining import concat
from penstock.tensor.dtypes import DType, as_dtype, int32
from penstock.tensor.shapes import TensorShape

# --- framework.ops, framework.common_shapes -------------------------------------------------------------


class RegisterShape:
    """A decorator without effect, as in TensorFlow since 1.0: the ops themselves have rules for shapes."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any] | None) -> Callable[..., Any] | None:
        return f


CELL_WEIGHTS, CELL_BIAS = "kernel", "bias"
"""What the variables of recurrent cells are called."""


def set_shapes_for_outputs(op: Operation) -> None:
    """Does nothing: the outputs of an operation have their shapes from the beginning."""


def is_dense_tensor_like(t: Any) -> bool:
    """Whether it is a tensor or a variable, not one of several parts."""
    if isinstance(t, (*_tensor_like,)):
        return True
    return not isinstance(t, SparseTensor | IndexedSlices) and hasattr(t, "dtype") and hasattr(t, "op")


_tensor_like: list[type] = []
"""The types of programs that count as tensors."""


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Has objects of this type count as tensors for `is_dense_tensor_like`; what makes a tensor of one is told by
    `register_tensor_conversion_function`. TypeError if `name` or `dtype` is no property of it (TF: framework.ops)."""
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")
    _tensor_like.append(tensor_type)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """`name`, of a node or "^" or "loc:@" and a node, in the scope `import_scope`."""
    if not import_scope:
        return name
    prefix = next((mark for mark in ("^", "loc:@") if name.startswith(mark)), "")
    return f"{prefix}{import_scope.rstrip('/')}/{name.removeprefix(prefix)}"


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """`name` without the scope `export_scope` that it begins with."""
    prefix = next((mark for mark in ("^", "loc:@") if name.startswith(mark)), "")
    inside = f"{export_scope.rstrip('/')}/" if export_scope else ""
    return prefix + name.removeprefix(prefix).removeprefix(inside)


def sizes_in_message(shape: Any) -> list[int]:
    """The sizes in a TensorShapeProto, -1 for one that is not known (TF: tensor_util.TensorShapeProtoToList)."""
    return [dim.size for dim in shape.dim]


def unknown_shapes(op: Operation) -> list[TensorShape]:
    """Nothing known about each output (TF: common_shapes.unknown_shape)."""
    return [TensorShape(None) for _ in op.outputs]


def known_shapes(op: Operation, **_: Any) -> list[TensorShape]:
    """What the rule of the op said (TF: common_shapes.call_cpp_shape_fn)."""
    return [output.shape for output in op.outputs]


# --- eager.context --------------------------------------------------------------------------------------


def in_graph_mode() -> bool:
    """True: there is no eager execution here."""
    return True


def in_eager_mode() -> bool:
    """False: there is no eager execution here."""
    return False


def enabled() -> bool:
    """False: this is TensorFlow 1 (TF: tensorflow.python.tf2.enabled)."""
    return False


# --- ops.resource_variable_ops ----------------------------------------------------------------------------


def is_resource_variable(var: Any) -> bool:
    """Whether a variable is read by its handle (TF: resource_variable_ops.is_resource_variable)."""
    return isinstance(var, ResourceVariable)


# --- ops.control_flow_ops, ops.state_ops, ops.resources, ops.array_ops, ops.init_ops --------------------


class Merged(NamedTuple):
    output: Tensor
    value_index: Tensor


def merge(inputs: Iterable[Any], name: str | None = None) -> Merged:
    """The one of `inputs` that is there, and which it was (TF: control_flow_ops.merge; white paper, section 4.4)."""
    return Merged(*get_op("Merge")(list(inputs), name=name))


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(data where pred is False, data where it is True); the other one is dead (TF: control_flow_ops.switch)."""
    with name_scope(name, "Switch", [data, pred]) as scope:
        if dtype is not None:
            data = get_op("Cast")(data, DstT=as_dtype(dtype))
        false, true = get_op("Switch")(data, pred, name=scope)
        return false, true


def init_variable(v: Any, init: Any, name: str = "init") -> Any:
    """The op that gives a variable its first value: a tensor, or what an initializer makes (TF: state_ops)."""
    if callable(init):
        init = init(v.shape, dtype=v.dtype.base_dtype)
    assigned = v.assign(init)
    return get_op("Identity")(assigned, name=name) if isinstance(assigned, Tensor) else assigned


def concat_shapes(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Two shapes one after the other (TF: rnn_cell_impl._concat): ints, TensorShapes or int32 tensors, together an
    int32 vector; if `static`, a list of ints and Nones (None: the rank is unknown).

    Raises ValueError for a shape that is not known, unless `static`.
    """
    if static:
        first, second = (
            constant_value_as_shape(reshape(each, [-1])) if _is_tensor(each) else TensorShape(each)
            for each in (prefix, suffix)
        )
        found = first.concatenate(second)
        return None if found.ndims is None else found.as_list()
    parts = []
    for each in (prefix, suffix):
        if not _is_tensor(each) and not TensorShape(each).is_fully_defined():
            raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
        parts.append(reshape(each, [-1]) if _is_tensor(each) else constant(TensorShape(each).as_list(), "int32"))
    return concat(parts, 0)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def assert_float_dtype(dtype: Any) -> DType:
    """The dtype; raises ValueError if it is not one of floats (TF: init_ops._assert_float_dtype)."""
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype


def alias_inplace_update(x: Any, i: Any, v: Any) -> Tensor:
    """`x` with `v` in its place `i`: an index, or a vector of indices with a row each; all of `x` if `i` is None (TF:
    inplace_ops.alias_inplace_update)."""
    return _in_place("TensorScatterUpdate", x, i, v)


def alias_inplace_add(x: Any, i: Any, v: Any) -> Tensor:
    """As `alias_inplace_update`, but `v` is added."""
    return _in_place("TensorScatterAdd", x, i, v)


def alias_inplace_sub(x: Any, i: Any, v: Any) -> Tensor:
    """As `alias_inplace_update`, but `v` is subtracted."""
    return _in_place("TensorScatterSub", x, i, v)


def _in_place(op_name: str, x: Any, i: Any, v: Any) -> Tensor:
    x, v = convert_to_tensor(x), convert_to_tensor(v)
    if i is None:
        return reshape(_in_place(op_name, reshape(x, [1, -1]), 0, reshape(v, [-1])), get_op("Shape")(x))
    rows = reshape(get_op("Cast")(convert_to_tensor(i), DstT=int32), [-1, 1])
    if x.shape.ndims != v.shape.ndims:
        v = expand_dims(v, 0)  # one row
    return get_op(op_name)(x, rows, v)


inplace_update, inplace_add, inplace_sub = alias_inplace_update, alias_inplace_add, alias_inplace_sub


# --- util -----------------------------------------------------------------------------------------------


def remove_undocumented(module_name: str, allowed_exception_list: Any = None, doc_string_modules: Any = None) -> None:
    """Does nothing: a module keeps its names (TF: all_util)."""


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments, without `self` of a method (TF: function_utils.fn_args)."""
    return tuple(inspect.signature(fn).parameters)


def getargspec(fn: Callable[..., Any]) -> Any:
    """`inspect.getfullargspec` with the fields of Python 2's `getargspec` (TF: tf_inspect.getargspec)."""
    full = getfullargspec(fn)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def getfullargspec(obj: Callable[..., Any]) -> inspect.FullArgSpec:
    """As `inspect.getfullargspec`, of what decorators are around (TF: tf_inspect.getfullargspec).

    Penstock's own functions have no annotations, like TensorFlow's: programs compare such specs with their functions'.
    """
    full = inspect.getfullargspec(_with_signature(obj))
    return full._replace(annotations={}) if str(getattr(obj, "__module__", "")).startswith("penstock") else full


def _with_signature(function: Any) -> Any:
    """The innermost of a function's decorators that says which arguments it takes, or the function."""
    while hasattr(function, "__wrapped__") and not hasattr(function, "__signature__"):
        function = function.__wrapped__
    return function


class ArgSpec(NamedTuple):
    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


class LazyLoader(ModuleType):
    """A module that is imported when a name of it is asked for, and is then in `parent_module_globals` itself."""

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str, warning: Any = None) -> None:
        super().__init__(name)
        self._local_name, self._globals = local_name, parent_module_globals

    def __getattr__(self, name: str) -> Any:
        module = self._globals[self._local_name] = importlib.import_module(self.__name__)
        return getattr(module, name)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))


# --- util.tf_decorator, util.tf_export ------------------------------------------------------------------


def make_decorator(target: Any, decorator_func: Any, *names: Any, **options: Any) -> Any:
    """`decorator_func`, with the name, the text and the signature of `target`, which it calls."""
    return functools.update_wrapper(decorator_func, target)


def unwrap(function: Any) -> tuple[list[Any], Any]:
    """The decorators around a function, outermost first, and the function."""
    decorators = []
    while hasattr(function, "__wrapped__"):
        decorators.append(function)
        function = function.__wrapped__
    return decorators, function


def tf_export(*names: str, **options: Any) -> Callable[[Any], Any]:
    """Decorates what programs took from TensorFlow's text: a program exports nothing."""
    return lambda decorated: decorated
