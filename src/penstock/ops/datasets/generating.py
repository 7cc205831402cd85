"""Datasets whose elements a repeatedly called function returns: GeneratorDataset; and reductions: ReduceDataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph.opdef import Kernel, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, dataset_of
from penstock.ops.datasets.blocks import Element
from penstock.ops.datasets.calls import OTHERS, Call, ends
from penstock.ops.datasets.define import METADATA, TYPES, dataset_kernel, define_dataset
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

_FUNCTIONS = ("init", "next", "finalize")
GENERATOR_DATASET = define_dataset(
    "GeneratorDataset",
    ", ".join(f"{name}_func_other_args: T{name}_func_args" for name in _FUNCTIONS),
    [f"{name}_func: func" for name in _FUNCTIONS]
    + [f"T{name}_func_args: list(type) >= 0" for name in _FUNCTIONS]
    + TYPES,
    stateful=True,
    typed=False,
)
REDUCE_DATASET = define_op(
    "ReduceDataset",
    "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments",
    "components: output_types",
    attrs=["f: func", "Tstate: list(type) >= 1", *OTHERS, "use_inter_op_parallelism: bool = true", METADATA],
    stateful=True,
    work=SERIAL,  # besides that of the function, which manages threads itself
)


class Generator(DatasetState):
    """The results of `next` for the result of `init`, until it ends; then `finalize` is called."""

    def __init__(self, calls: Sequence[Call], dtypes: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        super().__init__(dtypes, shapes)
        self.init, self.more, self.finalize = calls

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _GeneratorIterator(self)


class _GeneratorIterator(ElementIterator):
    def __init__(self, dataset: Generator) -> None:
        self._dataset = dataset
        self._state: Element | None = None
        self._finished = False

    def _one(self) -> Element | None:
        if self._finished:
            return None
        if self._state is None:
            self._state = self._dataset.init()
        try:
            return self._dataset.more(*self._state)
        except Exception as error:
            if not ends(error):
                raise
            self._finish()
            return None

    def _finish(self) -> None:
        if self._state is not None and not self._finished:
            self._finished = True
            self._dataset.finalize(*self._state)

    def close(self) -> None:
        self._finish()


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(GENERATOR_DATASET)
def generator_dataset(ctx: KernelContext) -> Any:
    functions = [ctx.function(f"{name}_func") for name in _FUNCTIONS]
    types = (ctx["output_types"], ctx["output_shapes"])

    def state(*others: Any) -> DatasetState:
        return Generator([Call(f, captured) for f, captured in zip(functions, others, strict=True)], *types)

    return state


@REDUCE_DATASET.shape
def reduce_shape(c: ShapeContext, source: Any, state: list[TensorShape], others: Any) -> list[TensorShape]:
    return list(c.attrs["output_shapes"])


@REDUCE_DATASET.kernel("CPU")
def reduce_kernel(ctx: KernelContext) -> Kernel:
    function = ctx.function("f")

    def reduce(source: Any, state: list[Any], others: list[Any]) -> tuple[Any, ...]:
        call, iteration = Call(function, others), IterationContext()
        elements, found = dataset_of(source).iterate(iteration), tuple(state)
        try:
            while (element := elements.next()) is not None:
                found = call(*found, *element)
        except Exception as error:
            if not ends(error):
                raise
        finally:
            elements.close()
            iteration.close()
        return found

    return reduce


REDUCE_DATASET.not_differentiable()
