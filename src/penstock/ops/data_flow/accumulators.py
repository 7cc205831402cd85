"""Conditional accumulators: the sum of up-to-date gradients, taken once there are enough (TF: ConditionalAccumulator).

Each op exists with a resource handle and, for older graphs, with a reference. Sparse gradients are in
sparse_accumulators.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch

from penstock.graph import shape_rules
from penstock.graph.node_kernel import NodeKernel, asynchronous
from penstock.graph.opdef import Bound, OpDef, define_op
from penstock.graph.traits import SERIAL
from penstock.ops.data_flow.lines import NOT_YET, Attempt, Done, Shared, shared
from penstock.ops.data_flow.queue_elements import own
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

_LOG = logging.getLogger(__name__)


class Accumulator(Shared):
    """Counts the gradients applied since the last take; subclasses sum them.

    A gradient whose step is before `global_step` is stale, and dropped.
    """

    def __init__(self, name: str, line: str, dtype: DType, shape: TensorShape, mean: bool) -> None:
        super().__init__(name, line)
        self.dtype, self.allowed, self.mean = dtype, shape, mean
        self.global_step = 0
        self.count = 0

    def apply(self, local_step: int, *gradient: Any) -> None:
        """Adds a gradient unless it is stale. Raises InvalidArgumentError if its shape does not fit."""

        def add() -> None:
            if local_step < self.global_step:
                return
            with torch.inference_mode():  # as in steps, whose tensors could not be added to elsewhere
                (self.add if self.count else self.begin)(*gradient)
            self.count += 1
            self.wake("take")

        self.change(add)

    def take(self, required: int, done: Done) -> Attempt | None:
        """Returns the mean or sum of at least `required` gradients, and begins the next step."""
        if required <= 0:
            raise invalid(f"Argument num_required must be positive, but was {required}")

        def attempt() -> Any:
            if self.count < required:
                return NOT_YET
            found = self.result()
            self.count = 0
            self.global_step += 1
            return found

        return self.submit("take", "TakeGrad", f"{required} gradients", attempt, done)

    def set_global_step(self, step: int) -> None:
        def change() -> None:
            if step < self.global_step:
                _LOG.warning("%s: the global step goes back from %d to %d", self, self.global_step, step)
            self.global_step = step

        self.change(change)

    def begin(self, *gradient: Any) -> None:
        """Makes a gradient the sum."""
        raise NotImplementedError

    def add(self, *gradient: Any) -> None:
        """Adds a gradient to the sum."""
        raise NotImplementedError

    def result(self) -> Any:
        """The sum or the mean, in memory that is not shared."""
        raise NotImplementedError

    def forget(self) -> None:
        self.global_step = self.count = 0

    def check_dtype(self, dtype: DType) -> None:
        if dtype != self.dtype:
            raise invalid(f"{self} accumulates {self.dtype.name}, not {dtype.name}")


class DenseAccumulator(Accumulator):
    kind = "conditional accumulator"
    _sum: Any = None

    def begin(self, *gradient: Any) -> None:
        (value,) = gradient
        shape = TensorShape(list(value.shape))
        if not self.allowed.is_compatible_with(shape):
            raise invalid(f"Shape mismatch: expected {_dims(self.allowed)}, got {_dims(shape)}")
        self._sum = own(value)

    def add(self, *gradient: Any) -> None:
        (value,) = gradient
        if value.shape != self._sum.shape:
            raise invalid(f"Shape mismatch: expected {list(self._sum.shape)}, got {list(value.shape)}")
        self._sum += value

    def result(self) -> Any:
        found, self._sum = self._sum, None
        return found / self.count if self.mean else found

    def forget(self) -> None:
        super().forget()
        self._sum = None


def _dims(shape: TensorShape) -> str:
    return (
        "<unknown>" if shape.ndims is None else f"[{','.join('?' if d is None else str(d) for d in shape.as_list())}]"
    )


# --- ops ------------------------------------------------------------------------------------------------

CONTAINER = ["container: string = ''", "shared_name: string = ''"]
REDUCTION = "reduction_type: {'MEAN', 'SUM'} = 'MEAN'"


def define_accumulator(name: str, handle: str, kind: type[Accumulator]) -> OpDef:
    op = define_op(
        name, "", f"handle: {handle}", attrs=["dtype: numbertype", "shape: shape", *CONTAINER, REDUCTION], stateful=True
    )
    op.shape(shape_rules.scalar if handle == "resource" else lambda c: TensorShape([2]))
    op.not_differentiable()

    @op.kernel("CPU", dtype="half bfloat16 float double")
    def accumulator(ctx: KernelContext) -> Bound:
        dtype, shape, mean = ctx["dtype"], ctx["shape"], ctx.text("reduction_type") == "MEAN"
        return Bound(shared(ctx, kind, lambda name, line: kind(name, line, dtype, shape, mean)))

    return op


def define_use(
    name: str,
    handle: str,
    inputs: str,
    outputs: str,
    attrs: list[str],
    factory: Callable[[KernelContext], Any],
    waits: bool = False,
) -> OpDef:
    """Defines an op that uses an accumulator."""
    op = define_op(
        name,
        f"handle: {handle}, {inputs}" if inputs else f"handle: {handle}",
        outputs,
        attrs=attrs,
        stateful=handle == "resource",
        work=SERIAL,
        waits=waits,
        shared=True,
    )
    op.kernel("CPU")(factory)
    op.not_differentiable()
    op.shape(shape_rules.unknown if waits else shape_rules.scalar if outputs else shape_rules.no_outputs)
    return op


def _apply_kernel(ctx: KernelContext) -> Callable[..., None]:
    dtype = ctx["dtype"]

    def apply(accumulator: Accumulator, local_step: Any, gradient: Any) -> None:
        accumulator.check_dtype(dtype)
        accumulator.apply(int(local_step), gradient)

    return apply


def take_kernel(ctx: KernelContext) -> NodeKernel:
    dtype = ctx["dtype"]

    def start(done: Done, accumulator: Accumulator, num_required: Any) -> Attempt | None:
        accumulator.check_dtype(dtype)
        return accumulator.take(int(num_required), done)

    return asynchronous(start)


def _set_step_kernel(ctx: KernelContext) -> Callable[..., None]:
    return lambda accumulator, step: accumulator.set_global_step(int(step))


def _count_kernel(ctx: KernelContext) -> Callable[..., Any]:
    return lambda accumulator: torch.tensor(accumulator.count, dtype=torch.int32)


REF = "Ref(string)"
DTYPE = ["dtype: numbertype"]
for _prefix, _handle in (("", REF), ("Resource", "resource")):
    define_accumulator(f"{_prefix}ConditionalAccumulator", _handle, DenseAccumulator)
    _name = f"{_prefix}Accumulator"
    define_use(f"{_name}ApplyGradient", _handle, "local_step: int64, gradient: dtype", "", DTYPE, _apply_kernel)
    define_use(f"{_name}TakeGradient", _handle, "num_required: int32", "average: dtype", DTYPE, take_kernel, waits=True)
    define_use(f"{_name}SetGlobalStep", _handle, "new_global_step: int64", "", [], _set_step_kernel)
    define_use(f"{_name}NumAccumulated", _handle, "", "num_accumulated: int32", [], _count_kernel)
