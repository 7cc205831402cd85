"""Datasets computed by functions of elements: the methods of `tf.data.Dataset` that take a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from penstock.data import nest
from penstock.data.asked import AUTOTUNE
from penstock.data.core import DatasetBase
from penstock.data.structure import Structure, as_tensors, structure_of, to_component
from penstock.data.traced import Traced, is_scalar, traced
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.old_names import old_arguments
from penstock.ops.datasets.filtering import FILTER_DATASET, TAKE_WHILE_DATASET
from penstock.ops.datasets.flattening import FLAT_MAP_DATASET, INTERLEAVE_DATASET
from penstock.ops.datasets.generating import REDUCE_DATASET
from penstock.ops.datasets.interleaving_ahead import PARALLEL_INTERLEAVE_DATASET_V2
from penstock.ops.datasets.mapping import MAP_DATASET, PARALLEL_MAP_DATASET
from penstock.tensor.dtypes import bool as boolean, int32, int64

Fn = Callable[..., Any]


class Functional(DatasetBase):
    """Methods that take a function of an element: it is called with tensors in the element's structure; a tuple's items
    are separate arguments."""

    @old_arguments(
        "Dataset.map",
        "Dataset.map(map_func, num_parallel_calls=...).prefetch(...)",
        renamed={"num_threads": "num_parallel_calls", "output_buffer_size": ""},
        before="1.4",
    )
    def map(self, map_func: Fn, num_parallel_calls: Any = None) -> Self:
        """`map_func` of each element, in order.

        The function is called once, here, and its graph runs for each element. `num_parallel_calls` of these run at
        once, each in a thread, unless one call can compute many elements, which is faster.
        """
        found = traced(map_func, [self.structure], "map")
        if num_parallel_calls is None:
            return self._of(found, lambda attrs: MAP_DATASET(self._as_variant_tensor(), found.captured, **attrs))
        parallel = convert_to_tensor(num_parallel_calls, int32, name="num_parallel_calls")
        return self._of(
            found, lambda attrs: PARALLEL_MAP_DATASET(self._as_variant_tensor(), found.captured, parallel, **attrs)
        )

    def flat_map(self, map_func: Fn) -> Self:
        """The elements of the datasets that `map_func` makes from elements, one dataset after another."""
        found = traced(map_func, [self.structure], "flat_map", gives_dataset=True)
        return self._of(found, lambda attrs: FLAT_MAP_DATASET(self._as_variant_tensor(), found.captured, **attrs))

    def interleave(
        self, map_func: Fn, cycle_length: Any = AUTOTUNE, block_length: Any = 1, num_parallel_calls: Any = None
    ) -> Self:
        """The elements of the datasets that `map_func` makes from elements: `cycle_length` datasets (AUTOTUNE: as
        many as there are processors) at a time, with `block_length` elements from each in turn.

        With `num_parallel_calls` these datasets are read ahead, each in its own thread, in the same order.
        """
        found = traced(map_func, [self.structure], "interleave", gives_dataset=True)
        cycle = convert_to_tensor(cycle_length, int64, name="cycle_length")
        block = convert_to_tensor(block_length, int64, name="block_length")
        if num_parallel_calls is None:
            return self._of(
                found,
                lambda attrs: INTERLEAVE_DATASET(self._as_variant_tensor(), found.captured, cycle, block, **attrs),
            )
        parallel = convert_to_tensor(num_parallel_calls, int64, name="num_parallel_calls")
        return self._of(
            found,
            lambda attrs: PARALLEL_INTERLEAVE_DATASET_V2(
                self._as_variant_tensor(), found.captured, cycle, block, parallel, **attrs
            ),
        )

    def filter(self, predicate: Fn) -> Self:
        """The elements for which `predicate` returns True. Raises ValueError unless it returns a boolean scalar."""
        found = _predicate(predicate, self.structure, "filter")
        return self._derived(
            lambda: FILTER_DATASET(
                self._as_variant_tensor(), found.captured, predicate=found.function, **self.structure.attrs()
            )
        )

    def map_with_legacy_function(self, map_func: Fn, num_parallel_calls: Any = None) -> Self:
        """`map`: TensorFlow 1.15 has two ways to make graph functions, which give the same elements (deprecated)."""
        return self.map(map_func, num_parallel_calls)

    def filter_with_legacy_function(self, predicate: Fn) -> Self:
        """`filter`, as `map_with_legacy_function` is `map` (deprecated)."""
        return self.filter(predicate)

    def take_while(self, predicate: Fn) -> Self:
        """The elements before the first for which `predicate` returns False. Raises ValueError like `filter`."""
        found = _predicate(predicate, self.structure, "take_while")
        return self._derived(
            lambda: TAKE_WHILE_DATASET(
                self._as_variant_tensor(), found.captured, predicate=found.function, **self.structure.attrs()
            )
        )

    def reduce(self, initial_state: Any, reduce_func: Fn) -> Any:
        """The last value of `state = reduce_func(state, element)`, starting from `initial_state`, as tensors.

        Each step that runs them iterates over all elements.
        """
        state = as_tensors(initial_state, "initial_state")
        found, structure = traced_with_state(reduce_func, state, self.structure, "reduce", lambda result: result)
        results = REDUCE_DATASET(
            self._as_variant_tensor(),
            [to_component(leaf) for leaf in nest.flatten(state)],
            found.captured,
            f=found.function,
            Tstate=structure.flat_types,
            **structure.attrs(),
        )
        return structure.pack(results)

    def _of(self, found: Traced, build: Callable[[dict[str, Any]], Tensor]) -> Self:
        """The dataset of the node that `build` makes with these attributes."""
        attrs = {"f": found.function, **found.structure.attrs()}
        return self._derived(lambda: build(attrs), found.structure)


def _predicate(predicate: Fn, structure: Structure, name: str) -> Traced:
    found = traced(predicate, [structure], name)
    if not is_scalar(found.structure, boolean):
        raise ValueError("`predicate` must return a scalar boolean tensor.")
    return found


def traced_with_state(
    fn: Fn, state: Any, element: Structure, name: str, next_state: Callable[[Any], Any]
) -> tuple[Traced, Structure]:
    """`fn(state, element)`, where `next_state` of its result is the state of the next call; and the state's structure.

    state: the first one, or its structure. Raises TypeError if the next state has a different structure, classes or
    dtypes. Dimensions that differ become unknown.
    """
    start = state if isinstance(state, Structure) else structure_of(state)
    while True:
        found = traced(fn, [start, element], name)
        ours = Structure(*map(next_state, (found.structure.types, found.structure.shapes, found.structure.classes)))
        for what in ("classes", "types"):
            wanted, have = getattr(start, what), getattr(ours, what)
            try:
                nest.assert_same_structure(wanted, have)
                same = nest.flatten(wanted) == nest.flatten(have)
            except (TypeError, ValueError):
                same = False
            if not same:
                raise TypeError(
                    f"The element {what} for the new state must match the initial state. Expected {wanted}; got {have}."
                )
        before = nest.flatten(start.shapes)
        wider = [a.most_specific_compatible_shape(b) for a, b in zip(before, nest.flatten(ours.shapes), strict=True)]
        start = start.with_shapes(nest.pack_like(start.shapes, wider))
        if list(map(str, wider)) == list(map(str, before)):
            return found, start
