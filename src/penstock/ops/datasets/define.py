"""What the definitions of dataset ops share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.graph import shape_rules
from penstock.graph.opdef import Bound, Kernel, OpDef, define_op
from penstock.graph.traits import SERIAL
from penstock.ops.datasets.base import DatasetState, dataset_value
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext

TYPES = ["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"]
METADATA = "metadata: string = ''"


def define_dataset(
    name: str,
    inputs: str,
    attrs: Iterable[str] = (),
    *,
    stateful: bool = False,
    metadata: bool = True,
    typed: bool = True,
) -> OpDef:
    """An op whose output is a dataset.

    typed: it has the attributes of the elements' dtypes and shapes, TYPES. These come first, and METADATA last, unless
    `attrs` places them elsewhere.
    """
    every = list(attrs)
    if typed and TYPES[0] not in every:
        every = [*TYPES, *every]
    if metadata and METADATA not in every:
        every.append(METADATA)
    op = define_op(
        name,
        inputs,
        "handle: variant",
        attrs=every,
        stateful=stateful,
        shape=shape_rules.scalar,
        work=SERIAL,
        repeatable=stateful,
    )
    op.not_differentiable()
    return op


def dataset_kernel(*ops: OpDef) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a factory `make(ctx)` of functions from an op's inputs to a `DatasetState`, as the kernel of `ops`."""

    def register(make: Callable[[KernelContext], Callable[..., DatasetState]]) -> Any:
        def factory(ctx: KernelContext) -> Kernel:
            state_of = make(ctx)
            return lambda *values: dataset_value(state_of(*values))

        for op in ops:
            op.kernel("CPU")(factory)
        return make

    return register


def define_dummy(name: str) -> OpDef:
    """An op whose output stands for a resource that eager programs of TensorFlow 2 share between iterators, and graphs
    do not: a data set that takes it has its own."""
    op = define_op(name, "", "handle: resource", stateful=True, shape=shape_rules.scalar, work=SERIAL)
    op.not_differentiable()
    op.kernel("CPU")(lambda ctx: Bound(name))
    return op


def scalar(name: str, value: Any) -> Any:
    """The Python value of an input, strings as bytes. Raises InvalidArgumentError unless it is a scalar."""
    if value.ndim:
        raise invalid(f"{name} must be a scalar")
    return value.item()


def at_least(minimum: int, name: str, value: Any, text: str = "") -> int:
    """The int of an input, which must be at least `minimum`."""
    found: int = scalar(name, value)
    if found < minimum:
        kind = {0: "greater than or equal to zero", 1: "greater than zero"}.get(minimum, f"at least {minimum}")
        raise invalid(text or f"{name} must be {kind}.")
    return found
