"""Sparse tensors kept in a session under a handle, e.g. to pass through a queue (TF: AddSparseToTensorsMap, …)."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import torch

from penstock.graph.composite import SparseTensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import SCALAR, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.ops.sparse_serialize import Parts, rows_of, stacked
from penstock.ops.sparse_tools import ANY, as_sparse, check_parts, known_parts, sparse_shapes
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


class SparseTensorsMap:
    """Sparse tensors by handle; `take` removes them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._held: dict[int, tuple[Any, Parts]] = {}
        self._handles = itertools.count()
        self._lock = threading.Lock()

    def add(self, dtype: Any, tensors: list[Parts]) -> torch.Tensor:
        with self._lock:
            handles = [next(self._handles) for _ in tensors]
            self._held.update((h, (dtype, parts)) for h, parts in zip(handles, tensors, strict=True))
        return torch.tensor(handles, dtype=torch.int64)

    def take(self, dtype: Any, handles: list[int]) -> list[Parts]:
        """Raises InvalidArgumentError for a handle that does not exist (any more), or a wrong dtype."""
        with self._lock:
            for handle in handles:
                if handle not in self._held:
                    raise invalid(f"Unable to find SparseTensor: {handle} in map: {self.name}")
                if self._held[handle][0] != dtype:
                    found = self._held[handle][0].name
                    raise invalid(f"Requested SparseTensor of type {dtype.name} but SparseTensor {handle} is {found}")
            return [self._held.pop(handle)[1] for handle in handles]

    def clear(self) -> None:
        with self._lock:
            self._held.clear()


_NAMES = ["container: string = ''", "shared_name: string = ''"]

ADD_SPARSE = define_op(
    "AddSparseToTensorsMap",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64",
    "sparse_handle: int64",
    attrs=["T: type", *_NAMES],
    stateful=True,
    keeps="sparse_indices sparse_values",
    work=SERIAL,
)
ADD_MANY_SPARSE = define_op(
    "AddManySparseToTensorsMap",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64",
    "sparse_handles: int64",
    attrs=["T: type", *_NAMES],
    stateful=True,
    keeps="sparse_indices sparse_values",
    work=SERIAL,
)
TAKE_MANY_SPARSE = define_op(
    "TakeManySparseFromTensorsMap",
    "sparse_handles: int64",
    "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    attrs=["dtype: type", *_NAMES],
    stateful=True,
    work=SERIAL,
)
for _op in (ADD_SPARSE, ADD_MANY_SPARSE, TAKE_MANY_SPARSE):
    _op.not_differentiable()


@ADD_SPARSE.shape
def add_sparse_shape(c: ShapeContext, *parts: TensorShape) -> TensorShape:
    known_parts(*parts)
    return SCALAR


@ADD_MANY_SPARSE.shape
def add_many_sparse_shape(c: ShapeContext, *parts: TensorShape) -> TensorShape:
    known_parts(*parts)
    return TensorShape([None])


@TAKE_MANY_SPARSE.shape
def take_many_sparse_shape(c: ShapeContext, handles: TensorShape) -> list[TensorShape]:
    handles.assert_has_rank(1)
    return sparse_shapes(None, None)


def _map(ctx: KernelContext) -> SparseTensorsMap:
    name = ctx.text("shared_name") or ctx.name
    return ctx.resources.lookup_or_create(ctx.text("container"), SparseTensorsMap, name, lambda: SparseTensorsMap(name))


@ADD_SPARSE.kernel("CPU", T=ANY)
def add_sparse_kernel(ctx: KernelContext) -> Kernel:
    held, dtype = _map(ctx), ctx["T"]

    def add(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> torch.Tensor:
        check_parts(indices, values, shape)
        return held.add(dtype, [(indices.numpy(), values, shape.tolist())])[0]

    return add


@ADD_MANY_SPARSE.kernel("CPU", T=ANY)
def add_many_sparse_kernel(ctx: KernelContext) -> Kernel:
    held, dtype = _map(ctx), ctx["T"]
    return lambda indices, values, shape: held.add(dtype, rows_of(indices, values, shape))


@TAKE_MANY_SPARSE.kernel("CPU", dtype=ANY)
def take_many_sparse_kernel(ctx: KernelContext) -> Kernel:
    held, dtype = _map(ctx), ctx["dtype"]

    def take(handles: torch.Tensor) -> tuple[Any, ...]:
        if handles.dim() != 1 or not len(handles):
            raise invalid(f"sparse_handles should be a vector of 1 or more, got shape {list(handles.shape)}")
        return stacked(held.take(dtype, handles.tolist()), [len(handles)])

    return take


def add_sparse_to_tensors_map(
    sp_input: Any, container: str | None = None, shared_name: str | None = None, name: str | None = None
) -> Tensor:
    """Keep a sparse tensor in the session; returns its handle, a scalar int64."""
    sp = as_sparse(sp_input)
    return ADD_SPARSE(
        sp.indices, sp.values, sp.dense_shape, container=container or "", shared_name=shared_name or "", name=name
    )


def add_many_sparse_to_tensors_map(
    sp_input: Any, container: str | None = None, shared_name: str | None = None, name: str | None = None
) -> Tensor:
    """Keep each row of a sparse tensor of rank 2 or more in the session; returns their handles, int64 [rows]."""
    sp = as_sparse(sp_input)
    return ADD_MANY_SPARSE(
        sp.indices, sp.values, sp.dense_shape, container=container or "", shared_name=shared_name or "", name=name
    )


def take_many_sparse_from_tensors_map(
    sparse_map_op: Any, sparse_handles: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The tensors that `sparse_map_op` (one of the two above, or its output) kept under `sparse_handles` [n].

    They are stacked into one of rank `rank`, and removed from the map.
    """
    op = getattr(sparse_map_op, "op", sparse_map_op)
    if op.type not in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap"):
        raise TypeError(f"sparse_map_op must be an op that adds to a map of sparse tensors, got {op.type}")
    indices, values, shape = TAKE_MANY_SPARSE(
        sparse_handles,
        dtype=as_dtype(op.attrs["T"]),
        container=op.attrs["container"],
        shared_name=op.attrs["shared_name"] or op.name,
        name=name,
    )
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
