"""Save and Restore as graphs of 2015 and 2016 have them: a tensor for each Restore node.

They read what SaveV2 writes, and checkpoints of those years. What they write has the format that SaveV2 writes.
"""

from __future__ import annotations

import glob
import re
from typing import Any

import numpy as np

from penstock import errors
from penstock.checkpoint.reader import CheckpointReader
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.checkpoint import make_parent, parse_slice, restored, save_as_announced, scalar_path, texts
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import to_runtime
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

_ANY_SHARD = re.compile(r"-\?{5}-of-[0-9]{5}")

# --- Save -----------------------------------------------------------------------------------------------


def _save_shape(c: ShapeContext, filename: TensorShape, names: TensorShape, *rest: Any) -> list[Any]:
    filename.assert_has_rank(0)
    count = TensorShape([len(rest[-1])]).merge_with(names)
    for slices in rest[:-1]:
        count.merge_with(slices)
    return []


SAVE = define_op(
    "Save",
    "filename: string, tensor_names: string, data: T",
    attrs=["T: list(type) >= 1"],
    shape=_save_shape,
    stateful=True,
    sets_up=True,
)
SAVE.not_differentiable()

SAVE_SLICES = define_op(
    "SaveSlices",
    "filename: string, tensor_names: string, shapes_and_slices: string, data: T",
    attrs=["T: list(type) >= 1"],
    shape=_save_shape,
    stateful=True,
    sets_up=True,
)
SAVE_SLICES.not_differentiable()


@SAVE.kernel(host=("filename", "tensor_names"))
def save_kernel(ctx: KernelContext) -> Kernel:
    dtypes = ctx["T"]

    def save(filename: np.ndarray, names: np.ndarray, data: list[Any]) -> None:
        _save(filename, names, [""] * len(data), data, dtypes)

    return save


@SAVE_SLICES.kernel(host=("filename", "tensor_names", "shapes_and_slices"))
def save_slices_kernel(ctx: KernelContext) -> Kernel:
    dtypes = ctx["T"]

    def save(filename: np.ndarray, names: np.ndarray, slices: np.ndarray, data: list[Any]) -> None:
        _save(filename, names, texts(slices), data, dtypes)

    return save


def _save(filename: np.ndarray, names: np.ndarray, slices: list[str], data: list[Any], dtypes: list[DType]) -> None:
    path = scalar_path(filename)
    make_parent(path)
    save_as_announced(path, texts(names), slices, data, dtypes)


# --- Restore --------------------------------------------------------------------------------------------


def _restore_shape(c: ShapeContext, pattern: TensorShape, name: TensorShape, *slices: TensorShape) -> list[TensorShape]:
    pattern.assert_has_rank(0)
    name.assert_has_rank(0)
    spec = c.constant("shape_and_slice") if slices else None
    return [TensorShape(parse_slice("", spec.item().decode())[2]) if spec is not None and spec.item() else UNKNOWN]


RESTORE = define_op(
    "Restore",
    "file_pattern: string, tensor_name: string",
    "tensor: dt",
    attrs=["dt: type", "preferred_shard: int = -1"],
    shape=_restore_shape,
    stateful=True,
    sets_up=True,
    repeatable=True,
)
RESTORE.not_differentiable()

RESTORE_SLICE = define_op(
    "RestoreSlice",
    "file_pattern: string, tensor_name: string, shape_and_slice: string",
    "tensor: dt",
    attrs=["dt: type", "preferred_shard: int = -1"],
    shape=_restore_shape,
    stateful=True,
    sets_up=True,
    repeatable=True,
)
RESTORE_SLICE.not_differentiable()


@RESTORE.kernel(host=("file_pattern", "tensor_name"))
def restore_kernel(ctx: KernelContext) -> Kernel:
    return lambda pattern, name: _restore(ctx, pattern, name, "")


@RESTORE_SLICE.kernel(host=("file_pattern", "tensor_name", "shape_and_slice"))
def restore_slice_kernel(ctx: KernelContext) -> Kernel:
    return lambda pattern, name, spec: _restore(ctx, pattern, name, spec.item().decode())


def _restore(ctx: KernelContext, pattern: np.ndarray, name: np.ndarray, spec: str) -> Any:
    path, wanted, dtype = scalar_path(pattern), texts(name), ctx["dt"]
    for prefix in shards(path):
        with CheckpointReader(prefix) as reader:
            if reader.has_tensor(wanted[0]):
                return to_runtime(restored(reader, wanted, [spec], [dtype])[0], dtype, ctx.device)
    raise errors.NotFoundError(None, None, f"Tensor name {wanted[0]!r} not found in checkpoint files {path}")


def shards(pattern: str) -> list[str]:
    """The checkpoints that a pattern of ShardedFilespec matches; any other path is itself one."""
    if not _ANY_SHARD.search(pattern):
        return [pattern]
    found = {match.removesuffix(".index") for end in ("", ".index") for match in glob.glob(pattern + end)}
    return sorted(found)


SHARDED_FILESPEC = define_op("ShardedFilespec", "basename: string, num_shards: int32", "filename: string")
SHARDED_FILESPEC.shape(shape_rules.scalar)
SHARDED_FILESPEC.not_differentiable()


@SHARDED_FILESPEC.kernel(host=("basename", "num_shards", "filename"))
def sharded_filespec_kernel(ctx: KernelContext) -> Kernel:
    def name(basename: np.ndarray, num_shards: Any) -> np.ndarray:
        return np.array(b"%s-?????-of-%05d" % (basename.item(), int(num_shards)), object)

    return name
