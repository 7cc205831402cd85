"""The position of an iterator, as a value: SerializeIterator and DeserializeIterator.

The value holds bytes (`saved_state.py`), so checkpoints and SerializeTensor support it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph import shape_rules
from penstock.graph.functions import trace
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation
from penstock.graph.traits import SERIAL
from penstock.ops.datasets.base import DatasetState, dataset_of
from penstock.ops.datasets.blocks import variant
from penstock.ops.datasets.iterators import IteratorResource
from penstock.ops.datasets.saved_state import from_bytes, to_bytes
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext

SERIALIZE_ITERATOR = define_op(
    "SerializeIterator",
    "resource_handle: resource",
    "serialized: variant",
    attrs=["external_state_policy: int = 0"],
    stateful=True,
    sets_up=True,
    work=SERIAL,
    shape=shape_rules.scalar,
)
DESERIALIZE_ITERATOR = define_op(
    "DeserializeIterator",
    "resource_handle: resource, serialized: variant",
    "",
    stateful=True,
    sets_up=True,
    shape=shape_rules.no_outputs,
)
SERIALIZE_ITERATOR.not_differentiable()
DESERIALIZE_ITERATOR.not_differentiable()


@SERIALIZE_ITERATOR.kernel("CPU")
def serialize_iterator_kernel(ctx: KernelContext) -> Kernel:
    def serialize(iterator: IteratorResource) -> np.ndarray:
        with iterator.iteration().using() as elements:
            return variant(to_bytes(elements.save()))

    return serialize


@DESERIALIZE_ITERATOR.kernel("CPU")
def deserialize_iterator_kernel(ctx: KernelContext) -> Kernel:
    beginning = _beginning(ctx)

    def deserialize(iterator: IteratorResource, serialized: np.ndarray) -> None:
        data = serialized.item() if serialized.ndim == 0 else None
        if not isinstance(data, bytes):
            raise invalid("DeserializeIterator takes what SerializeIterator returned, and this is something else")
        state = from_bytes(data)
        iterator.restore(state, beginning)

    return deserialize


def _beginning(ctx: KernelContext) -> Callable[[], DatasetState] | None:
    """A function that makes the dataset of an uninitialised iterator, if the graph determines it.

    That is the dataset of its initialiser, if it depends only on constants.
    """
    op = ctx.node.source
    if not isinstance(op, Operation) or not op._inputs:
        return None
    handle = op._inputs[0]
    makers = [user for user in handle.consumers() if user.type == "MakeIterator"]
    if len(makers) != 1:
        return None

    def dataset() -> DatasetState:
        with op.graph.as_default():
            function = trace(lambda: [makers[0]._inputs[0]], [], [], "_make_dataset", by_value=True)
        found: Any = ctx.as_function(function)()[0]
        return dataset_of(found)

    return dataset
