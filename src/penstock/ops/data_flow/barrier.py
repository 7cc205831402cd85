"""Barriers: elements by key, whose components arrive one by one (TF: Barrier, BarrierInsertMany, …)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.graph import shape_rules
from penstock.graph.node_kernel import asynchronous
from penstock.graph.opdef import Bound, OpDef, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.data_flow.lines import NOT_YET, Attempt, Done, Shared, shared
from penstock.ops.data_flow.queue_elements import row
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, string
from penstock.tensor.shapes import TensorShape

_FIRST_INDEX = -(2**63)


class _Element:
    """A key's components, None if missing, and the number of the insertion that brought the key."""

    __slots__ = ("index", "key", "values")

    def __init__(self, key: bytes, index: int, count: int) -> None:
        self.key, self.index = key, index
        self.values: list[Any] = [None] * count


class BarrierState(Shared):
    kind = "barrier"

    def __init__(self, name: str, line: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        super().__init__(name, line)
        self.dtypes, self.shapes = tuple(dtypes), tuple(shapes)
        self.forget()

    def forget(self) -> None:
        self._incomplete: dict[bytes, _Element] = {}
        self._ready: list[_Element] = []  # by index; elements with the same index in order of completion
        self._insertion = _FIRST_INDEX
        self._closed = self._cancelled = False

    # --- in ---------------------------------------------------------------------------------------------

    def insert_many(self, component: int, keys: list[bytes], values: Any) -> None:
        """Sets one component of the elements of `keys` to the rows of `values`."""
        if not 0 <= component < len(self.dtypes):
            raise invalid(f"The component ID is out of range {component} > num_components (= {len(self.dtypes)})")
        if len(keys) != len(values):
            raise invalid(f"{len(keys)} keys for {len(values)} values")
        if len(values) and 0 in values.shape:
            raise invalid(f"Tensors with no elements are not supported: received shape {list(values.shape[1:])}")
        if self.shapes and not self.shapes[component].is_compatible_with(list(values.shape[1:])):
            raise invalid(
                f"Shape mismatch in tuple component {component}. Expected {self.shapes[component]}, got "
                f"{list(values.shape[1:])}"
            )
        self.change(lambda: self._insert(component, keys, values))

    def _insert(self, component: int, keys: list[bytes], values: Any) -> None:
        if self._closed and self._cancelled:
            raise errors.CancelledError(
                None,
                None,
                f"Barrier {self.name} is closed.  Pending enqueues cancelled: 1.  Number of new insertions: "
                f"{len(keys)}.  Number of incomplete keys: {len(self._incomplete)}.",
            )
        self.wake("take")  # even if a key fails, because those before it have been inserted
        new = [self._insert_one(component, key, row(values, i)) for i, key in enumerate(keys)]
        self._insertion += any(new)

    def _insert_one(self, component: int, key: bytes, value: Any) -> bool:
        """Returns whether the key is new."""
        element = self._incomplete.get(key)
        new = element is None
        if element is None:
            if self._closed:
                raise errors.CancelledError(
                    None,
                    None,
                    f"Barrier {self.name} is closed, but attempted to insert a brand new key: "
                    f"{key.decode(errors='backslashreplace')}.  Number of incomplete keys: {len(self._incomplete)}.",
                )
            element = self._incomplete[key] = _Element(key, self._insertion, len(self.dtypes))
        if element.values[component] is not None:
            raise invalid(
                f"Key {key.decode(errors='backslashreplace')} already has a value for component {component} in barrier "
                f"{self.name}"
            )
        element.values[component] = value
        if not any(each is None for each in element.values):
            del self._incomplete[key]
            place = next((i for i, other in enumerate(self._ready) if other.index > element.index), len(self._ready))
            self._ready.insert(place, element)
        return new

    # --- out --------------------------------------------------------------------------------------------

    def take_many(self, count: int, small: bool, done: Done) -> Attempt | None:
        """Takes the `count` complete elements with the oldest keys; fewer if `small` and the barrier is closed."""
        if count < 0:
            raise invalid(f"num_elements must not be negative, got {count}")

        def attempt() -> Any:
            ready = len(self._ready)
            wanted = count
            if self._closed:
                available = ready if small else ready + len(self._incomplete)
                wanted = min(count, available) if small else count
                if available < max(wanted, 1):
                    raise errors.OutOfRangeError(
                        None,
                        None,
                        f"Barrier '{self.name}' is closed and has insufficient elements (requested {wanted}, total "
                        f"size {available})",
                    )
            if ready < wanted:
                return NOT_YET
            taken, self._ready = self._ready[:wanted], self._ready[wanted:]
            return self._batch(taken)

        return self.submit("take", "BarrierTakeMany", f"{count} complete elements", attempt, done)

    def _batch(self, taken: list[_Element]) -> tuple[Any, ...]:
        keys = np.empty(len(taken), object)
        keys[:] = [element.key for element in taken]
        indices = torch.tensor([element.index for element in taken], dtype=torch.int64)
        return (
            indices,
            keys,
            *(
                _stack([element.values[i] for element in taken], dtype, self.shapes[i] if self.shapes else None)
                for i, dtype in enumerate(self.dtypes)
            ),
        )

    def close(self, cancel: bool) -> None:
        """Rejects new keys from now on, and with `cancel` also new components."""

        def change() -> None:
            if self._closed and (self._cancelled or not cancel):
                raise errors.CancelledError(None, None, f"Barrier '{self.name}' is already closed.")
            self._closed, self._cancelled = True, cancel
            if cancel:
                self._incomplete.clear()
            self.wake("take")

        self.change(change)

    def ready_size(self) -> int:
        return len(self._ready)

    def incomplete_size(self) -> int:
        return len(self._incomplete)


def _stack(values: list[Any], dtype: DType, shape: TensorShape | None) -> Any:
    if values and any(value.shape != values[0].shape for value in values):
        raise invalid(f"elements of different shapes: {', '.join(str(list(value.shape)) for value in values)}")
    if dtype == string:
        inner = values[0].shape if values else _known(shape)
        found = np.empty((len(values), *inner), object)
        for i, value in enumerate(values):
            found[i, ...] = value
        return found
    return torch.stack(values) if values else torch.empty((0, *_known(shape)), dtype=dtype.torch)


def _known(shape: TensorShape | None) -> tuple[int, ...]:
    return () if shape is None else tuple(dim or 0 for dim in shape.tuple or ())


# --- ops ------------------------------------------------------------------------------------------------

BARRIER = define_op(
    "Barrier",
    "",
    "handle: Ref(string)",
    attrs=[
        "component_types: list(type) >= 1",
        "shapes: list(shape) >= 0 = []",
        "capacity: int = -1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    stateful=True,
)
BARRIER.shape(lambda c: TensorShape([2]))
BARRIER.not_differentiable()


@BARRIER.kernel("CPU")
def barrier_kernel(ctx: KernelContext) -> Bound:
    types, shapes = tuple(ctx["component_types"]), tuple(ctx["shapes"])
    if shapes and len(shapes) != len(types):
        raise invalid(f"{len(types)} component types, and {len(shapes)} shapes")
    barrier = shared(ctx, BarrierState, lambda name, line: BarrierState(name, line, types, shapes))
    for what, have, asked in (("types", barrier.dtypes, types), ("shapes", barrier.shapes, shapes)):
        if have != asked:
            had, wanted = (", ".join(map(str, each)) for each in (have, asked))
            raise invalid(
                f"Shared barrier '{barrier.name}' has component {what} [{had}] but requested component {what} were "
                f"[{wanted}]"
            )
    return Bound(barrier)


def _define(name: str, inputs: str, outputs: str, attrs: list[str], factory: Any, waits: bool = False) -> OpDef:
    handle = "handle: Ref(string)"
    op = define_op(
        f"Barrier{name}",
        f"{handle}, {inputs}" if inputs else handle,
        outputs,
        attrs,
        work=SERIAL,
        waits=waits,
        shared=True,
    )
    op.kernel("CPU")(factory)
    op.not_differentiable()
    return op


def _insert_kernel(ctx: KernelContext) -> Callable[..., None]:
    dtype, component = ctx["T"], ctx["component_index"]

    def insert(barrier: BarrierState, keys: Any, values: Any) -> None:
        if keys.ndim != 1 or not values.ndim:
            raise invalid(
                f"keys must be a vector, values at least one, got {list(keys.shape)} and {list(values.shape)}"
            )
        if component < len(barrier.dtypes) and dtype != barrier.dtypes[component]:
            raise invalid(f"component {component} of {barrier} is {barrier.dtypes[component].name}, not {dtype.name}")
        barrier.insert_many(component, keys.tolist(), values)

    return insert


def _take_kernel(ctx: KernelContext) -> Any:
    types, small, timeout = tuple(ctx["component_types"]), ctx["allow_small_batch"], ctx["timeout_ms"]
    if timeout != -1:
        raise invalid(f"Timeout not supported yet: timeout_ms={timeout}")

    def start(done: Done, barrier: BarrierState, num_elements: Any) -> Attempt | None:
        if types != barrier.dtypes:
            have, want = (", ".join(d.name for d in dtypes) for dtypes in (barrier.dtypes, types))
            raise invalid(f"the components of {barrier} are {have}, not {want}")
        return barrier.take_many(int(num_elements), small, done)

    return asynchronous(start)


INSERT_MANY = _define("InsertMany", "keys: string, values: T", "", ["T: type", "component_index: int"], _insert_kernel)
TAKE_MANY = _define(
    "TakeMany",
    "num_elements: int32",
    "indices: int64, keys: string, values: component_types",
    [
        "component_types: list(type) >= 1",
        "allow_small_batch: bool = false",
        "wait_for_incomplete: bool = false",
        "timeout_ms: int = -1",
    ],
    _take_kernel,
    waits=True,
)
CLOSE = _define(
    "Close",
    "",
    "",
    ["cancel_pending_enqueues: bool = false"],
    lambda ctx: (lambda cancel: lambda barrier: barrier.close(cancel))(ctx["cancel_pending_enqueues"]),
)
READY_SIZE = _define(
    "ReadySize", "", "size: int32", [], lambda ctx: lambda b: torch.tensor(b.ready_size(), dtype=torch.int32)
)
INCOMPLETE_SIZE = _define(
    "IncompleteSize", "", "size: int32", [], lambda ctx: lambda b: torch.tensor(b.incomplete_size(), dtype=torch.int32)
)
CLOSE.shape(shape_rules.no_outputs)
READY_SIZE.shape(shape_rules.scalar)
INCOMPLETE_SIZE.shape(shape_rules.scalar)


@INSERT_MANY.shape
def insert_shape(c: ShapeContext, handle: TensorShape, keys: TensorShape, values: TensorShape) -> list[Any]:
    keys = keys.with_rank(1)
    values.with_rank_at_least(1)
    if values.ndims is not None:
        keys.merge_with(values[:1])
    return []


@TAKE_MANY.shape
def take_shape(c: ShapeContext, handle: TensorShape, count: TensorShape) -> list[Any]:
    count.assert_has_rank(0)
    size = None if c.attrs["allow_small_batch"] else c.constant("num_elements")
    if size is not None and size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    first = TensorShape([None if size is None else int(size)])
    return [first, first, *(first.concatenate(shape) for shape in _shapes_of(c.op._inputs[0], c))]


def _shapes_of(handle: Tensor, c: ShapeContext) -> list[TensorShape]:
    found = list(handle.op.attrs["shapes"]) if handle.op.type == "Barrier" else []
    return found or [UNKNOWN] * len(c.attrs["component_types"])
