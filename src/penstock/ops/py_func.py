"""Python functions as ops: PyFunc, PyFuncStateless."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from penstock import errors
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.node_kernel import NodeKernel
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.scopes import get_default_graph, graph_of
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import UNKNOWN_WORK
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime, to_runtime
from penstock.tensor.dtypes import DType, as_dtype, string
from penstock.tensor.shapes import TensorShape

_ATTRS = ["token: string", "Tin: list(type) >= 0", "Tout: list(type) >= 0"]
PY_FUNC = define_op("PyFunc", "input: Tin", "output: Tout", attrs=_ATTRS, stateful=True, work=UNKNOWN_WORK, client=True)
PY_FUNC_STATELESS = define_op(
    "PyFuncStateless", "input: Tin", "output: Tout", attrs=_ATTRS, keeps="input", work=UNKNOWN_WORK, client=True
)


class _Function:
    """The function behind a token. Graphs keep their functions alive; a graph that was loaded from a file has only the
    token."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


_functions: weakref.WeakValueDictionary[str, _Function] = weakref.WeakValueDictionary()
_numbers = itertools.count()
_KEPT_KEY = ("__py_functions",)
_ERRORS: list[tuple[type[Exception], type[errors.OpError]]] = [
    (StopIteration, errors.OutOfRangeError),
    (NotImplementedError, errors.UnimplementedError),
    (MemoryError, errors.ResourceExhaustedError),
    (TypeError, errors.InvalidArgumentError),
    (ValueError, errors.InvalidArgumentError),
]


def _shape(c: ShapeContext, inputs: list[TensorShape]) -> list[TensorShape]:
    return [UNKNOWN for _ in c.attrs["Tout"]]


def _kernel(ctx: KernelContext) -> Kernel:
    token, given, types = ctx.text("token"), ctx["Tin"], ctx["Tout"]

    def run(values: list[Any]) -> tuple[Any, ...]:
        function = _functions.get(token)
        if function is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"the Python function behind token {token!r} is not in this process: a graph that was loaded from a "
                "file has only its token. Build the node with tf.py_func here.",
            )
        try:
            found = function.call(*(_argument(v, t) for v, t in zip(values, given, strict=True)))
        except errors.OpError:
            raise
        except Exception as error:
            kind = next((ours for theirs, ours in _ERRORS if isinstance(error, theirs)), errors.UnknownError)
            raise kind(None, None, f"{type(error).__name__}: {error}") from error
        return tuple(_result(v, t, token) for v, t in zip(_outputs(found, len(types)), types, strict=True))

    return NodeKernel(call=run, may_block=True)


for _op in (PY_FUNC, PY_FUNC_STATELESS):
    _op.shape(_shape)
    _op.kernel("CPU")(_kernel)
    _op.not_differentiable()


def _argument(value: Any, dtype: DType) -> Any:
    """An array is a copy: the function may keep or change it, and the step reuses its memory. A scalar is NumPy's
    or bytes, as in TensorFlow."""
    found = from_runtime(value, dtype)
    return found.copy() if isinstance(found, np.ndarray) else found


def _outputs(found: Any, count: int) -> Sequence[Any]:
    """Each element of a list or tuple is one value, whatever `count` is."""
    outputs = [] if found is None and not count else found if isinstance(found, list | tuple) else [found]
    if len(outputs) != count:
        raise errors.InvalidArgumentError(
            None, None, f"the Python function returns {len(outputs)} values, and Tout names {count}"
        )
    return outputs


def _result(value: Any, dtype: DType, token: str) -> Any:
    array = np.asarray(value)
    if array.dtype.fields is not None and array.dtype != dtype.as_numpy_dtype:
        raise errors.InternalError(None, None, f"Unsupported numpy data type: {array.dtype}")
    if array.dtype == object and not all(isinstance(item, bytes | str) for item in array.reshape(-1).tolist()):
        kind = type(value) if not isinstance(value, np.ndarray | list | tuple) else type(array.reshape(-1)[0])
        raise errors.InternalError(None, None, f"Unsupported object type {kind.__name__}")
    if dtype == string:
        text = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1).tolist()]
        found = np.empty(len(text), object)
        found[:] = text
        return to_runtime(found.reshape(array.shape), string)
    if not isinstance(value, np.ndarray | np.generic) and np.can_cast(array.dtype, dtype.as_numpy_dtype, "same_kind"):
        array = array.astype(dtype.as_numpy_dtype)  # a Python number has no fixed width
    if as_dtype(array.dtype) != dtype:
        raise errors.InvalidArgumentError(
            None, None, f"the Python function gives {array.dtype.name}, and Tout says {dtype.name} ({token})"
        )
    return to_runtime(np.array(array), dtype)


@export("py_func")
def py_func(func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """A node that calls `func` with the values of `inp` as NumPy arrays and scalars (TF: tf.py_func).

    Returns tensors of the dtypes `Tout` (one for a single dtype) and of unknown shape: use `set_shape`. It runs in
    this process, on a CPU, and holds Python's lock; independent functions run concurrently, each in a thread. The
    elements of a list or tuple that `func` returns are separate values. ValueError and TypeError in the function end
    the step with InvalidArgumentError, StopIteration with OutOfRangeError, others with UnknownError. It has no
    gradient, unless `Graph.gradient_override_map` provides one for "PyFunc". A saved graph does not contain the
    function.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got {func!r}")
    single = not isinstance(Tout, list | tuple)
    types = [as_dtype(t) for t in ([Tout] if single else Tout)]
    token = f"pyfunc_{next(_numbers)}"
    function = _functions[token] = _Function(func)
    kind = "PyFunc" if stateful else "PyFuncStateless"
    graph = graph_of(inp)
    with graph.as_default() if graph is not get_default_graph() else nullcontext():
        graph.get_collection_ref(_KEPT_KEY).append(function)
        inputs = [convert_to_tensor(x) for x in inp]
        attrs = {"token": token.encode(), "Tin": [t.dtype.base_dtype for t in inputs], "Tout": types}
        op = graph.create_op(kind, inputs, name=name, attrs=attrs)
    if not op.outputs:
        return op if stateful else []
    return op.outputs[0] if single else list(op.outputs)


@export("numpy_function")
def numpy_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """`py_func`, run in every step (TF: tf.numpy_function)."""
    return py_func(func, inp, Tout, True, name)


@export("py_function")
def py_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """`py_func`, for functions that call `numpy()` of their arguments, which are arrays here (TF: tf.py_function).

    There is no eager execution: the function computes with NumPy, and has no gradient.
    """

    def call(*values: Any) -> Any:
        return func(*(np.asarray(value).view(_Eager) for value in values))

    return py_func(call, inp, Tout, True, name)


class _Eager(np.ndarray):
    """An array with the method that programs get NumPy's value from."""

    def numpy(self) -> Any:
        return self.view(np.ndarray)[()]
