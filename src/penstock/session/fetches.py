"""What the client asks for, in any structure, and the same structure with the values in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.graph.composite import IndexedSlices, IndexedSlicesValue, SparseTensor, SparseTensorValue
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.ops.session_tensors import KeptTensors, TensorHandle
from penstock.session.conversions import conversion_of

Unpack = Callable[[tuple[Any, ...]], Any]


class FetchPlan:
    """`tensors` to fetch (each once) and `targets` to run; `unpack(values)` returns the client's structure."""

    def __init__(self, graph: Graph, fetches: Any, kept: KeptTensors | None = None) -> None:
        """TypeError, ValueError or KeyError, naming the fetch, for what is not an element of `graph`.

        `kept`: the tensors that the session's handles refer to.
        """
        self._graph, self._kept = graph, kept
        self._index: dict[Tensor, int] = {}
        self.targets: list[Operation] = []
        self.unpack: Unpack = self._unpacker(fetches)
        self.tensors = list(self._index)

    def _unpacker(self, fetch: Any) -> Unpack:
        if fetch is None:
            raise TypeError("Fetch argument None has invalid type <class 'NoneType'>")
        if (conversion := conversion_of(fetch)) is not None:
            tensors, contract = conversion.fetch(fetch)
            parts = self._sequence(tensors)
            return lambda values: contract([p(values) for p in parts])
        if isinstance(fetch, SparseTensor):
            parts = self._sequence([fetch.indices, fetch.values, fetch.dense_shape])
            return lambda values: SparseTensorValue(*(p(values) for p in parts))
        if isinstance(fetch, IndexedSlices):
            parts = self._sequence([fetch.values, fetch.indices])
            if fetch.dense_shape is None:
                return lambda values: IndexedSlicesValue(parts[0](values), parts[1](values), None)
            shape = self._unpacker(fetch.dense_shape)
            return lambda values: IndexedSlicesValue(parts[0](values), parts[1](values), shape(values))
        if isinstance(fetch, Mapping):
            keys, parts = list(fetch), self._sequence(list(fetch.values()))
            kind: Any = type(fetch) if type(fetch).__name__ == "OrderedDict" else dict
            return lambda values: kind((k, p(values)) for k, p in zip(keys, parts, strict=True))
        if isinstance(fetch, tuple) and hasattr(fetch, "_fields"):
            parts, make = self._sequence(list(fetch)), type(fetch)
            return lambda values: make(*(p(values) for p in parts))
        if hasattr(type(fetch), "__attrs_attrs__"):  # of the library attrs
            kind, fields = type(fetch), [field.name for field in type(fetch).__attrs_attrs__]
            parts = self._sequence([getattr(fetch, name) for name in fields])
            return lambda values: kind(*(p(values) for p in parts))
        if isinstance(fetch, list | tuple):
            parts = self._sequence(list(fetch))
            if isinstance(fetch, tuple):
                return lambda values: tuple(p(values) for p in parts)
            return lambda values: [p(values) for p in parts]
        return self._leaf(fetch)

    def _sequence(self, items: list[Any]) -> list[Unpack]:
        return [self._unpacker(item) for item in items]

    def _leaf(self, fetch: Any) -> Unpack:
        try:
            element = self._graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}: {error}") from None
        except ValueError as error:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})") from None
        except KeyError as error:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error.args[0]})") from None
        if not self._graph.is_fetchable(element):
            raise ValueError(f"Operation {element.name!r} has been marked as not fetchable.")
        if isinstance(element, Operation):
            if element not in self.targets:
                self.targets.append(element)
            return _nothing
        index = self._index.setdefault(element, len(self._index))
        if element.op.type == "GetSessionHandle" and self._kept is not None:
            dtype, kept = element.op.attrs["T"], self._kept
            return lambda values: TensorHandle(values[index], dtype, kept)
        return lambda values: values[index]


def _nothing(values: tuple[Any, ...]) -> None:
    """The value of a fetched operation."""
    return


_ELEMENTS = frozenset({Tensor, Operation})


def signature(fetches: Any) -> Any:
    """A hashable key of a fetch structure: equal for equal structures of the same tensors and operations."""
    if type(fetches) in _ELEMENTS:  # the most common case, quickly distinguished from structures
        return fetches
    if isinstance(fetches, list | tuple):
        return (type(fetches), *[each if type(each) in _ELEMENTS else signature(each) for each in fetches])
    if isinstance(fetches, Mapping):
        return (type(fetches), tuple(fetches), *map(signature, fetches.values()))
    if hasattr(type(fetches), "__attrs_attrs__"):
        return (type(fetches), *(signature(getattr(fetches, each.name)) for each in type(fetches).__attrs_attrs__))
    return fetches
