"""Iterators as state of a session, and the ops that use them: IteratorV2, MakeIterator, IteratorGetNext and related
ops."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock import errors
from penstock.graph import shape_rules
from penstock.graph.node_kernel import NodeKernel, Pending, asynchronous
from penstock.graph.opdef import Bound, Kernel, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.datasets.base import DatasetState, Done, ElementIterator, IterationContext, State, dataset_of
from penstock.ops.datasets.blocks import Element
from penstock.ops.datasets.define import TYPES, scalar
from penstock.ops.kernel_tools import invalid
from penstock.runtime.blocking import blocking
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape, unknown_shape

_NAMES = ["shared_name: string", "container: string"]
_HANDLE_TYPES = ["output_types: list(type) >= 0 = []", "output_shapes: list(shape) >= 0 = []"]

ITERATOR = define_op("Iterator", "", "handle: resource", attrs=[*_NAMES, *TYPES], stateful=True)
ITERATOR_V2 = define_op("IteratorV2", "", "handle: resource", attrs=[*_NAMES, *TYPES], stateful=True)
MAKE_ITERATOR = define_op("MakeIterator", "dataset: variant, iterator: resource", "", stateful=True, sets_up=True)
ITERATOR_GET_NEXT = define_op(
    "IteratorGetNext",
    "iterator: resource",
    "components: output_types",
    attrs=TYPES,
    stateful=True,
    aliases=True,
    takes_element=True,
    work=SERIAL,
)
ITERATOR_GET_NEXT_SYNC = define_op(
    "IteratorGetNextSync",
    "iterator: resource",
    "components: output_types",
    attrs=TYPES,
    stateful=True,
    aliases=True,
    takes_element=True,
    work=SERIAL,
)
ITERATOR_TO_STRING_HANDLE = define_op(
    "IteratorToStringHandle",
    "resource_handle: resource",
    "string_handle: string",
    stateful=True,
    reads="resource_handle",
)
ITERATOR_FROM_STRING_HANDLE = define_op(
    "IteratorFromStringHandle", "string_handle: string", "resource_handle: resource", attrs=_HANDLE_TYPES, stateful=True
)
ITERATOR_FROM_STRING_HANDLE_V2 = define_op(
    "IteratorFromStringHandleV2",
    "string_handle: string",
    "resource_handle: resource",
    attrs=_HANDLE_TYPES,
    stateful=True,
)
DATASET_TO_SINGLE_ELEMENT = define_op(
    "DatasetToSingleElement",
    "dataset: variant",
    "components: output_types",
    attrs=[*TYPES, "metadata: string = ''"],
    stateful=True,
    work=SERIAL,
)
for _op in (
    ITERATOR,
    ITERATOR_V2,
    ITERATOR_TO_STRING_HANDLE,
    ITERATOR_FROM_STRING_HANDLE,
    ITERATOR_FROM_STRING_HANDLE_V2,
):
    _op.shape(shape_rules.scalar)
MAKE_ITERATOR.shape(shape_rules.no_outputs)


class _Iteration:
    """One iteration over a dataset. Steps take turns; a step that is using it when it is closed cleans up."""

    def __init__(self, dataset: DatasetState) -> None:
        self.dataset = dataset
        self.ctx = IterationContext()
        self._elements = dataset.iterate(self.ctx)
        self._lock = threading.Lock()

    def request(self, done: Done) -> Pending | None:
        """As `ElementIterator.request`. If nothing computes ahead, this thread computes."""
        if self._elements.waits:
            self.ctx.check()
            return self._elements.request(done)
        with self.using() as elements:
            return elements.request(done)

    @contextmanager
    def using(self) -> Iterator[ElementIterator]:
        """The iterator, for one user at a time."""
        with self._lock:
            try:
                self.ctx.check()
                yield self._elements
            finally:
                if self.ctx.closed:
                    self._elements.close()

    def close(self) -> None:
        """Wakes waiting threads; does not wait itself, though a thread may still be computing an element."""
        self.ctx.close()
        if self._lock.acquire(blocking=False):
            try:
                self._elements.close()
            finally:
                self._lock.release()


class IteratorResource:
    """An iterator in a container. Its dataset is None until it is initialised."""

    def __init__(self, container: str, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        self.container, self.name = container, name
        self.dtypes, self.shapes = tuple(dtypes), tuple(shapes)
        self.first_use: Callable[[], DatasetState] | None = None
        """What a one-shot iterator iterates over."""
        self._lock = threading.Lock()
        self._iteration: _Iteration | None = None

    def start(self, dataset: DatasetState) -> None:
        """Iterate over `dataset` from its beginning. Raises InvalidArgumentError if its elements have different types
        or shapes."""
        check_elements(self.dtypes, self.shapes, dataset.dtypes, dataset.shapes)
        self._replace(_Iteration(dataset))

    def restore(self, state: State, beginning: Callable[[], DatasetState] | None) -> None:
        """Continue at the position of an iterator over the same dataset; `beginning` makes that dataset if this is not
        initialised."""
        if self._iteration is not None or self.first_use is not None or beginning is None:
            dataset = self.iteration().dataset
        else:
            dataset = beginning()
        check_elements(self.dtypes, self.shapes, dataset.dtypes, dataset.shapes)
        iteration = _Iteration(dataset)
        with iteration.using() as elements:
            try:
                elements.restore(state)
            except (KeyError, TypeError, IndexError, ValueError) as error:
                raise invalid(f"Iterator {self.name} is of another dataset than the state that it gets") from error
        self._replace(iteration)

    def clear(self) -> None:
        self._replace(None)

    def _replace(self, iteration: _Iteration | None) -> None:
        with self._lock:
            before, self._iteration = self._iteration, iteration
        if before is not None:
            before.close()

    def __del__(self) -> None:
        if self._iteration is not None:
            self._iteration.close()

    def iteration(self) -> _Iteration:
        """What is under way; FailedPreconditionError before it is initialised."""
        with self._lock:
            if self._iteration is None:
                if self.first_use is None:
                    raise errors.FailedPreconditionError(
                        None,
                        None,
                        "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
                        "initializer operation for this iterator before getting the next element. "
                        f"(Iterator: {self.name})",
                    )
                self._iteration = _Iteration(self.first_use())
            return self._iteration

    def request(self, done: Callable[[Any], None]) -> Pending | None:
        """Start taking the next element: an asynchronous kernel. OutOfRangeError at the end."""

        def give(found: Element | Exception | None) -> None:
            done(errors.OutOfRangeError(None, None, "End of sequence") if found is None else found)

        return (self._iteration or self.iteration()).request(give)


def check_elements(
    wanted_types: Sequence[DType],
    wanted_shapes: Sequence[TensorShape],
    dtypes: Sequence[DType],
    shapes: Sequence[TensorShape],
) -> None:
    """Raises InvalidArgumentError if elements of one kind cannot be of the other kind."""
    if len(wanted_types) != len(dtypes):
        raise invalid(f"Number of components does not match: expected {len(wanted_types)} types but got {len(dtypes)}.")
    for i, (wanted, have) in enumerate(zip(wanted_types, dtypes, strict=True)):
        if wanted != have:
            raise invalid(f"Data type mismatch at component {i}: expected {wanted.name} but got {have.name}.")
    for i, (want, has) in enumerate(zip(wanted_shapes, shapes, strict=True)):
        if not want.is_compatible_with(has):
            raise invalid(f"Incompatible shapes at component {i}: expected {want} but got {has}.")


# --- handles --------------------------------------------------------------------------------------------

_numbers = itertools.count()


def iterator_resource(ctx: KernelContext) -> IteratorResource:
    """The iterator of this node: private to the session, or, with a name, the one of that name in the node's
    container."""
    container, shared = ctx.text("container"), ctx.text("shared_name")

    def create(name: str) -> IteratorResource:
        return IteratorResource(container, name, ctx["output_types"], ctx["output_shapes"])

    def create_unique() -> IteratorResource:
        name = f"{ctx.name}_{next(_numbers)}"
        return ctx.resources.lookup_or_create(container, IteratorResource, name, lambda: create(name))

    if not shared:
        return ctx.state.keep(("iterator", ctx.name), create_unique)
    found = ctx.resources.lookup_or_create(container, IteratorResource, shared, lambda: create(shared))
    check_elements(ctx["output_types"], ctx["output_shapes"], found.dtypes, found.shapes)
    return found


@ITERATOR.kernel("CPU")
@ITERATOR_V2.kernel("CPU")
def iterator_kernel(ctx: KernelContext) -> Bound:
    return Bound(iterator_resource(ctx))


@MAKE_ITERATOR.kernel("CPU")
def make_iterator_kernel(ctx: KernelContext) -> Kernel:
    return lambda dataset, iterator: iterator.start(dataset_of(dataset))


ONE_SHOT_ITERATOR = define_op(
    "OneShotIterator",
    "",
    "handle: resource",
    attrs=["dataset_factory: func", *TYPES, "container: string = ''", "shared_name: string = ''"],
    stateful=True,
    shape=shape_rules.scalar,
)


@ONE_SHOT_ITERATOR.kernel("CPU")
def one_shot_iterator_kernel(ctx: KernelContext) -> Bound:
    found = iterator_resource(ctx)
    if found.first_use is None:
        factory = ctx.function("dataset_factory")
        found.first_use = lambda: dataset_of(factory()[0])
    return Bound(found)


@ITERATOR_TO_STRING_HANDLE.kernel("CPU")
def iterator_to_string_handle_kernel(ctx: KernelContext) -> Kernel:
    return lambda iterator: np.array(f"{iterator.container};{iterator.name}".encode(), object)


@ITERATOR_FROM_STRING_HANDLE.kernel("CPU")
@ITERATOR_FROM_STRING_HANDLE_V2.kernel("CPU")
def iterator_from_string_handle_kernel(ctx: KernelContext) -> Kernel:
    resources, dtypes, shapes = ctx.resources, ctx["output_types"], ctx["output_shapes"]

    def find(handle: np.ndarray) -> IteratorResource:
        text = scalar("string_handle", handle)
        container, _, name = text.decode("utf-8", "replace").partition(";")
        found = resources.lookup(container, IteratorResource, name)
        if found is None:
            raise invalid(
                f"string_handle {text!r} is no handle of an iterator in this session, or others of its target"
            )
        if dtypes:
            check_elements(dtypes, shapes or [unknown_shape()] * len(dtypes), found.dtypes, found.shapes)
        return found

    return find


# --- elements -------------------------------------------------------------------------------------------


def _output_shapes(c: ShapeContext, *_: Any) -> list[TensorShape]:
    return list(c.attrs["output_shapes"])


for _op in (ITERATOR_GET_NEXT, ITERATOR_GET_NEXT_SYNC, DATASET_TO_SINGLE_ELEMENT):
    _op.shape(_output_shapes)


@ITERATOR_GET_NEXT.kernel("CPU")
@ITERATOR_GET_NEXT_SYNC.kernel("CPU")
def iterator_get_next_kernel(ctx: KernelContext) -> NodeKernel:
    """It waits in the step's thread, until the step or the iterator ends: what it waits for is outside the step."""
    return blocking(ctx.node, asynchronous(lambda done, iterator: iterator.request(done)), ctx.state.closing)


@DATASET_TO_SINGLE_ELEMENT.kernel("CPU")
def dataset_to_single_element_kernel(ctx: KernelContext) -> Kernel:
    def single(dataset: Any) -> Element:
        iterating = IterationContext()
        elements = dataset_of(dataset).iterate(iterating)
        try:
            element = elements.next()
            if element is None:
                raise invalid("Dataset was empty.")
            if elements.next() is not None:
                raise invalid("Dataset had more than one element.")
        finally:
            iterating.close()
            elements.close()
        return element

    return single


for _op in (
    ITERATOR,
    ITERATOR_V2,
    ONE_SHOT_ITERATOR,
    MAKE_ITERATOR,
    ITERATOR_GET_NEXT,
    ITERATOR_GET_NEXT_SYNC,
    ITERATOR_TO_STRING_HANDLE,
    ITERATOR_FROM_STRING_HANDLE,
    ITERATOR_FROM_STRING_HANDLE_V2,
    DATASET_TO_SINGLE_ELEMENT,
):
    _op.not_differentiable()
