"""Ops that make queues (TF: FIFOQueueV2, RandomShuffleQueueV2, PaddingFIFOQueueV2, PriorityQueueV2).

Each exists twice: with a resource as its handle, and, as in early versions, with a reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import shape_rules
from penstock.graph.opdef import Bound, define_op
from penstock.graph.operation import Tensor
from penstock.ops.data_flow.lines import shared
from penstock.ops.data_flow.queue_elements import ByPriority, Elements, Fifo, Pool, Shuffled
from penstock.ops.data_flow.queue_state import UNBOUNDED, Queue, QueueSpec
from penstock.ops.handles import maker_of
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.runtime.philox import Numbers, chance
from penstock.tensor.dtypes import int64
from penstock.tensor.shapes import TensorShape

_TYPES = "component_types: list(type) >= 1"
_SHAPES = "shapes: list(shape) >= 0 = []"
_CAPACITY = "capacity: int = -1"
_NAMES = ["container: string = ''", "shared_name: string = ''"]
KINDS: set[str] = set()
"""The names of all ops that make a queue."""


def spec_of(op: str, attrs: Any) -> QueueSpec:
    """The spec of a queue op; raises InvalidArgumentError if it contradicts itself."""
    kind = op.removesuffix("V2")
    dtypes, shapes = tuple(attrs["component_types"]), tuple(attrs["shapes"])
    if shapes and len(shapes) != len(dtypes):
        types, dims = ", ".join(d.name for d in dtypes), ", ".join(map(str, shapes))
        raise invalid(f"Different number of component types.  Types: {types}, Shapes: [{dims}]")
    if kind == "PriorityQueue":
        dtypes, shapes = (int64, *dtypes), (TensorShape([]), *shapes) if shapes or not dtypes else ()
    capacity = attrs["capacity"] if attrs["capacity"] >= 0 else UNBOUNDED
    if kind != "RandomShuffleQueue":
        return QueueSpec(kind, dtypes, shapes, capacity)
    least = attrs["min_after_dequeue"]
    if least < 0:
        raise invalid(f"min_after_dequeue {least} must be >= 0")
    if least >= capacity:
        raise invalid(f"min_after_dequeue {least} must be < capacity {capacity}")
    return QueueSpec(kind, dtypes, shapes, capacity, least, (attrs["seed"], attrs["seed2"]))


def queue_shapes(handle: Tensor) -> tuple[TensorShape, ...]:
    """The shapes of the components of the queue that `handle` refers to; () if they are unknown."""
    op = maker_of(handle)
    shapes = tuple(op.attrs["shapes"]) if op.type in KINDS else ()
    return (TensorShape([]), *shapes) if shapes and op.type.startswith("PriorityQueue") else shapes


def _elements_for(spec: QueueSpec) -> Callable[[], Elements]:
    if spec.kind == "PriorityQueue":
        return ByPriority
    if spec.kind != "RandomShuffleQueue":
        return Fifo
    numbers = Numbers(spec.seeds if any(spec.seeds) else chance())
    dims = [tuple(n or 0 for n in shape.as_list()) for shape in spec.shapes]  # all known
    if dims and Pool.suits(spec.dtypes, dims):
        return lambda: Pool(numbers, spec.dtypes, dims)
    return lambda: Shuffled(numbers)


def _queue_kernel(ctx: KernelContext) -> Bound:
    """The queue: private to the session, or, with a name, the one of that name in the node's container."""
    spec = spec_of(ctx.node.op.name, ctx.node.attrs)
    if spec.kind == "RandomShuffleQueue" and not any(spec.seeds):
        ctx.refuse_chance()
    queue = shared(ctx, Queue, lambda name, line: Queue(name, spec, _elements_for(spec), line))
    queue.spec.check_same(queue.name, spec, ctx.node.op.name)
    return Bound(queue)


def _define_queue(name: str, attrs: list[str]) -> None:
    for version, handle in (("", "Ref(string)"), ("V2", "resource")):
        op = define_op(name + version, "", f"handle: {handle}", attrs=attrs, stateful=True)
        op.shape(shape_rules.scalar if version else lambda c: TensorShape([2]))
        op.kernel("CPU")(_queue_kernel)
        op.not_differentiable()
        KINDS.add(op.name)


_SEEDS = ["min_after_dequeue: int = 0", "seed: int = 0", "seed2: int = 0"]
_define_queue("FIFOQueue", [_TYPES, _SHAPES, _CAPACITY, *_NAMES])
_define_queue("RandomShuffleQueue", [_TYPES, _SHAPES, _CAPACITY, *_SEEDS, *_NAMES])
_define_queue("PaddingFIFOQueue", [_TYPES, _SHAPES, _CAPACITY, *_NAMES])
_define_queue(
    "PriorityQueue", ["component_types: list(type) >= 0 = []", "shapes: list(shape) >= 0", _CAPACITY, *_NAMES]
)
