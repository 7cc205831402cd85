"""Loops over the first dimension: map_fn, foldl, foldr, scan (TF: tf.map_fn and the others).

`elems` is a tensor, or a nest of tensors whose first dimensions have the same size; `fn` gets the elements in that
nest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import more_nodes, name_scope
from penstock.ops.array import shape
from penstock.ops.control_flow.nest import flatten, map_structure, pack_like, same_structure
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.control_flow.while_loop import while_loop
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape

Options = tuple[int, bool, bool]
"""parallel_iterations, back_prop and swap_memory of a loop."""


@export("map_fn")
def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """`fn` of each element, stacked: [n, ...] (TF: tf.map_fn).

    dtype: that of the results of `fn`, in their structure; None: that of `elems`. Without `infer_shape` nothing is
    assumed about the results' shapes while the graph is built. The step raises InvalidArgumentError if they differ.
    """
    _check_callable(fn)
    with name_scope(name, "map", flatten(elems)):
        elems, count = _tensors(elems)
        dtypes = map_structure(lambda e: e.dtype, elems) if dtype is None else dtype
        inputs = _arrays(elems, count)
        results = [TensorArray(as_dtype(d), count, infer_shape=infer_shape) for d in flatten(dtypes)]

        def body(i: Tensor, arrays: list[TensorArray]) -> Any:
            more_nodes(_before(count))
            values = fn(map_structure(lambda array: array.read(i), inputs))
            same_structure(dtypes, values)
            return i + 1, [array.write(i, value) for array, value in zip(arrays, flatten(values), strict=True)]

        options = (parallel_iterations or 10, back_prop, swap_memory)
        _, results = _loop(lambda i, _: i < count, body, (convert_to_tensor(0), results), options)
        more_nodes(_AFTER)
        return pack_like(dtypes, _stacked(results, elems))


@export("foldl")
def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of `a = fn(a, element)`, from the first element on (TF: tf.foldl).

    It starts from `initializer`, a nest of tensors, or without one from the first element.
    """
    options = (parallel_iterations, back_prop, swap_memory)
    return _fold(fn, elems, initializer, options, name or "foldl", reverse=False)


@export("foldr")
def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Like `foldl`, from the last element to the first (TF: tf.foldr)."""
    options = (parallel_iterations, back_prop, swap_memory)
    return _fold(fn, elems, initializer, options, name or "foldr", reverse=True)


@export("scan")
def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values of `a = fn(a, element)`, stacked: [n, ...] in the structure of `initializer` (TF: tf.scan).

    Without an `initializer` the first element is itself the first result. With `reverse`, it goes from the last element
    to the first; results stay at the positions of their elements.
    """
    _check_callable(fn)
    with name_scope(name, "scan", flatten(elems)):
        elems, count = _tensors(elems)
        inputs = _arrays(elems, count)
        start, first = _start(inputs, count, initializer, reverse)
        results = [
            TensorArray(a.dtype, count, element_shape=a.shape)
            if infer_shape
            else TensorArray(a.dtype, count, infer_shape=False)
            for a in flatten(start)
        ]
        if initializer is None:
            at = count - 1 if reverse else 0
            results = _written(results, at, start)

        def body(i: Tensor, a: Any, arrays: list[TensorArray]) -> Any:
            more_nodes(_before(count) + (reverse and not isinstance(count, int)))
            a = fn(a, map_structure(lambda array: array.read(i), inputs))
            same_structure(start, a)
            return (i - 1 if reverse else i + 1), a, _written(arrays, i, a)

        options = (parallel_iterations, back_prop, swap_memory)
        *_, results = _loop(_within(reverse, count), body, (first, start, results), options)
        more_nodes(_AFTER)
        return pack_like(start, _stacked(results, elems))


def _fold(fn: Any, elems: Any, initializer: Any, options: Options, name: str, reverse: bool) -> Any:
    _check_callable(fn)
    with name_scope(name, values=flatten(elems)):
        elems, count = _tensors(elems)
        inputs = _arrays(elems, count)
        start, first = _start(inputs, count, initializer, reverse)

        def body(i: Tensor, a: Any) -> Any:
            more_nodes(_before(count) + (0 if not reverse else 2 if isinstance(count, int) else -1))
            a = fn(a, map_structure(lambda array: array.read(i), inputs))
            same_structure(start, a)
            return (i - 1 if reverse else i + 1), a

        result = _loop(_within(reverse, count), body, (first, start), options)[1]
        more_nodes(0 if reverse else _AFTER)
        return result


_AFTER = 2
"""How many more nodes TensorFlow makes after the function's: those of a counter that bounds the iterations."""


def _before(count: Any) -> int:
    """How many more nodes TensorFlow makes before the function's, for the same reason."""
    return 11 if isinstance(count, int) else 9


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable. Please provide a callable function.")


def _tensors(elems: Any) -> tuple[Any, Any]:
    """`elems` as tensors, and their number of rows, an int if known. Raises ValueError if they differ."""
    flat = [convert_to_tensor(elem, name="elem") for elem in flatten(elems)]
    if not flat:
        raise ValueError("elems must have at least one tensor")
    rows = _rows(flat)
    return pack_like(elems, flat), shape(flat[0])[0] if rows is None else rows


def _rows(tensors: list[Tensor]) -> int | None:
    """The static number of rows of all `tensors`."""
    known = TensorShape([None])
    for tensor in tensors:
        if tensor.shape.ndims is not None:
            known = known.merge_with(tensor.shape.with_rank_at_least(1)[:1])
    return known.as_list()[0]


def _arrays(elems: Any, count: Any) -> Any:
    """A TensorArray of the rows of each tensor."""
    return map_structure(lambda e: TensorArray(e.dtype, count, element_shape=e.shape[1:]).unstack(e), elems)


def _start(inputs: Any, count: Any, initializer: Any, reverse: bool) -> tuple[Any, Tensor]:
    """The first accumulator, and the index of the first element that is combined with it."""
    used = 1 if initializer is None else 0
    first = convert_to_tensor(count - 1 - used if reverse else used)
    if initializer is not None:
        return map_structure(convert_to_tensor, initializer), first
    return map_structure(lambda array: array.read(count - 1 if reverse else 0), inputs), first


def _written(arrays: list[TensorArray], index: Any, values: Any) -> list[TensorArray]:
    return [array.write(index, value) for array, value in zip(arrays, flatten(values), strict=True)]


def _within(reverse: bool, count: Any) -> Callable[..., Tensor]:
    return (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < count)


def _loop(condition: Any, body: Any, loop_vars: Any, options: Options) -> Any:
    parallel_iterations, back_prop, swap_memory = options
    return while_loop(
        condition,
        body,
        loop_vars,
        parallel_iterations=parallel_iterations,
        back_prop=back_prop,
        swap_memory=swap_memory,
    )


def _stacked(arrays: list[TensorArray], elems: Any) -> list[Tensor]:
    rows = _rows(flatten(elems))
    stacked = [array.stack() for array in arrays]
    for tensor in stacked:
        tensor.set_shape(TensorShape([rows]).concatenate(tensor.shape[1:]))
    return stacked
