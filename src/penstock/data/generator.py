"""Datasets of a Python generator's elements: `tf.data.Dataset.from_generator`."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np

from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.structure import Structure, given_structure
from penstock.graph.convert import convert_n_to_tensor
from penstock.graph.functions import trace
from penstock.graph.operation import Tensor
from penstock.ops.datasets.generating import GENERATOR_DATASET
from penstock.ops.py_func import py_func
from penstock.tensor.dtypes import DType, int64, string
from penstock.tensor.shapes import TensorShape


class Generated(DatasetBase):
    @classmethod
    def from_generator(
        cls, generator: Callable[..., Iterable[Any]], output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> Self:
        """The elements yielded by `generator(*args)`, which is called again for each iteration.

        output_types, output_shapes: those of its elements, as nests; shapes that are not given may vary. args: tensors,
        which it gets as arrays. It runs in this process, and a saved graph does not contain it. Its elements are
        checked: the step raises InvalidArgumentError if it does not fit. It is closed when the iterator is.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        structure = given_structure(output_types, output_shapes)
        given = () if args is None else tuple(convert_n_to_tensor(args, name="args"))
        running = _Running(generator, structure)
        dtypes, shapes = [t.dtype.base_dtype for t in given], [t.shape for t in given]

        def start(*values: Tensor) -> list[Tensor]:
            return [_known(py_func(running.start, values, int64), TensorShape([]))]

        def more(number: Tensor) -> list[Tensor]:
            found = py_func(running.next, [number], structure.flat_types)
            return [_known(tensor, shape) for tensor, shape in zip(found, structure.flat_shapes, strict=True)]

        def finish(number: Tensor) -> list[Tensor]:
            return [_known(py_func(running.finish, [number], int64), TensorShape([]))]

        scalar = TensorShape([])
        name = getattr(generator, "__name__", "generator")
        init = trace(start, dtypes, shapes, f"Dataset_from_generator_init_{name}")
        following = trace(more, [int64], [scalar], f"Dataset_from_generator_next_{name}")
        last = trace(finish, [int64], [scalar], f"Dataset_from_generator_finalize_{name}")
        return cls._made(
            structure,
            lambda: GENERATOR_DATASET(
                given, [], [], init_func=init, next_func=following, finalize_func=last, **structure.attrs()
            ),
        )


def _known(tensor: Tensor, shape: TensorShape) -> Tensor:
    tensor.set_shape(shape)
    return tensor


class _Running:
    """The running generators of iterators, by number."""

    def __init__(self, generator: Callable[..., Iterable[Any]], structure: Structure) -> None:
        self._generator, self._structure = generator, structure
        self._components = list(zip(structure.flat_types, structure.flat_shapes, strict=True))
        self._plain = not nest.is_nest(structure.types)
        self._numbers = itertools.count()
        self._iterators: dict[int, Iterator[Any]] = {}
        self._lock = threading.Lock()

    def start(self, *args: Any) -> Any:
        iterator = iter(self._generator(*args))
        with self._lock:
            number = next(self._numbers)
            self._iterators[number] = iterator
        return np.int64(number)

    def next(self, number: Any) -> tuple[Any, ...]:
        """Its next element. Raises StopIteration at the end, TypeError or ValueError for an invalid element."""
        values = next(self._iterators[int(number)])
        types = self._structure.types
        if self._plain:
            return (_array(values, *self._components[0]),)
        try:
            # TensorFlow accepts lists for tuples here.
            leaves = nest.flatten_up_to(types, tuple(values) if isinstance(values, list) else values)
        except (TypeError, ValueError):
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The expected structure was "
                f"{types}, but the yielded element was {values}."
            ) from None
        return tuple([_array(v, dtype, shape) for v, (dtype, shape) in zip(leaves, self._components, strict=True)])

    def finish(self, number: Any) -> Any:
        with self._lock:
            iterator = self._iterators.pop(int(number), None)
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
        return np.int64(0)


def _array(value: Any, dtype: DType, shape: TensorShape) -> Any:
    """A component. Raises TypeError or ValueError if its dtype or shape differs."""
    wanted = dtype.as_numpy_dtype
    try:
        if dtype == string:
            array = np.asarray(value, dtype=object)
        else:
            array = value if isinstance(value, np.ndarray) else np.asarray(value)
            if array.dtype != wanted:
                array = np.asarray(value, dtype=wanted)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The expected type was "
            f"{dtype.name}, but the yielded element was {value} ({error})."
        ) from None
    if not shape.is_compatible_with(array.shape):
        raise ValueError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape {shape} was expected."
        )
    return array
