"""Save and Restore: nodes that write and read checkpoints, with with an edge for each variable (section 3.3).

The files are `penstock.checkpoint`'s: a save is atomic, a restore verifies what it reads.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from penstock import errors
from penstock.checkpoint.background import announced_for
from penstock.checkpoint.files import delete_checkpoint
from penstock.checkpoint.formats import Format
from penstock.checkpoint.later import merge_checkpoints, snapshots
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slices import Slice, SlicedTensor
from penstock.checkpoint.values import numpy_dtype
from penstock.checkpoint.writer import write_checkpoint
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime, to_runtime
from penstock.tensor.dtypes import DType, as_dtype, string, variant
from penstock.tensor.shapes import TensorShape

_PART = re.compile(r"_temp[^/]*/part-[0-9]+-of-[0-9]+$")
"""What `Saver` calls the checkpoints of single devices, which MergeV2Checkpoints merges."""

Region = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # full shape, start, shape

# --- Save -----------------------------------------------------------------------------------------------

SAVE_V2 = define_op(
    "SaveV2",
    "prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes",
    attrs=["dtypes: list(type) >= 1"],
    stateful=True,
    sets_up=True,
)
SAVE_V2.not_differentiable()


@SAVE_V2.shape
def save_shape(
    c: ShapeContext, prefix: TensorShape, names: TensorShape, slices: TensorShape, tensors: Any
) -> list[Any]:
    prefix.assert_has_rank(0)
    count = TensorShape([len(tensors)])
    count.merge_with(names.merge_with(slices))
    return []


@SAVE_V2.kernel(host=("prefix", "tensor_names", "shape_and_slices"))
def save_kernel(ctx: KernelContext) -> Kernel:
    dtypes = ctx["dtypes"]

    def save(prefix: np.ndarray, names: np.ndarray, slices: np.ndarray, tensors: list[Any]) -> None:
        path = scalar_path(prefix)
        make_parent(path)
        save_as_announced(path, texts(names), texts(slices), tensors, dtypes)

    return save


def save_as_announced(path: str, names: list[str], specs: list[str], tensors: list[Any], dtypes: list[DType]) -> None:
    """Write a checkpoint now or later, as the saver that runs the step wants it."""
    # Torch does not tell quantised numbers from plain ones.
    pairs = zip(tensors, dtypes, strict=True)
    tensors = [from_runtime(tensor, dtype) if dtype.is_quantized else tensor for tensor, dtype in pairs]
    how, partly = announced_for(path), bool(_PART.search(path))
    if how.put_off:
        copies = _by_name(names, specs, snapshots(tensors))
        how.later.append(lambda: write_checkpoint(path, copies, format=how.format, partly=partly))
    else:
        values = _by_name(names, specs, tensors)
        write_checkpoint(path, values, format=how.format, partly=partly, changing=True)


def _by_name(names: list[str], specs: list[str], tensors: list[Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    parts: dict[str, tuple[tuple[int, ...], list[Slice]]] = {}
    for name, spec, value in zip(names, specs, tensors, strict=True):
        if name in whole or (name in parts and not spec):
            raise errors.InvalidArgumentError(None, None, f"two tensors to be saved as {name!r}")
        if not spec:
            whole[name] = value
            continue
        full, start, shape = parse_slice(name, spec)
        if shape != tuple(value.shape):
            message = f"{name!r}: slice {spec!r} does not fit a tensor of shape {list(value.shape)}"
            raise errors.InvalidArgumentError(None, None, message)
        parts.setdefault(name, (full, []))[1].append(Slice(start, value))
    return whole | {name: SlicedTensor(full, tuple(slices)) for name, (full, slices) in parts.items()}


def parse_slice(name: str, spec: str) -> Region:
    """`"4 10 0,2:-"`: the full shape, then start and length for each dimension ("-" for all of it)."""
    try:
        *dims, text = spec.split()
        full = tuple(map(int, dims))
        extents = [
            (0, size) if part == "-" else tuple(map(int, part.split(",")))
            for part, size in zip(text.split(":"), full, strict=True)
        ]
        return full, tuple(start for start, _ in extents), tuple(length for _, length in extents)
    except ValueError:
        raise errors.InvalidArgumentError(None, None, f"{name!r}: cannot parse the slice {spec!r}") from None


def make_parent(path: str) -> None:
    """Like TensorFlow, create the last directory of the prefix, but not its parents."""
    parent = os.path.dirname(path)
    if parent and "://" not in path and os.path.isdir(os.path.dirname(parent) or "."):
        os.makedirs(parent, exist_ok=True)


def scalar_path(value: np.ndarray) -> str:
    if value.ndim:
        raise errors.InvalidArgumentError(None, None, f"prefix must be a scalar, got shape {list(value.shape)}")
    return os.fsdecode(value.item())


def texts(value: np.ndarray) -> list[str]:
    return [item.decode() for item in value.reshape(-1)]


# --- Restore --------------------------------------------------------------------------------------------

RESTORE_V2 = define_op(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string",
    "tensors: dtypes",
    attrs=["dtypes: list(type) >= 1"],
    stateful=True,
    sets_up=True,
    repeatable=True,
    allocates=True,
)
RESTORE_V2.not_differentiable()


@RESTORE_V2.shape
def restore_shape(c: ShapeContext, prefix: TensorShape, names: TensorShape, slices: TensorShape) -> list[TensorShape]:
    """Slices state their shapes; those of whole tensors are in the file."""
    prefix.assert_has_rank(0)
    TensorShape([len(c.attrs["dtypes"])]).merge_with(names.merge_with(slices))
    specs = c.constant("shape_and_slices")
    if specs is None:
        return [UNKNOWN] * len(c.attrs["dtypes"])
    return [TensorShape(parse_slice("", s.decode())[2]) if s else UNKNOWN for s in specs.reshape(-1)]


@RESTORE_V2.kernel(host=("prefix", "tensor_names", "shape_and_slices"))
def restore_kernel(ctx: KernelContext) -> Kernel:
    dtypes, device = ctx["dtypes"], ctx.device

    def restore(prefix: np.ndarray, names: np.ndarray, slices: np.ndarray) -> tuple[Any, ...]:
        with CheckpointReader(scalar_path(prefix)) as reader:
            found = restored(reader, texts(names), texts(slices), dtypes)
        pairs = zip(found, dtypes, strict=True)
        return tuple(array if dtype == variant else to_runtime(array, dtype, device) for array, dtype in pairs)

    return restore


def restored(reader: CheckpointReader, names: list[str], specs: list[str], dtypes: list[DType]) -> list[np.ndarray]:
    """The tensors of a checkpoint, all or none, each in memory of its own.

    Raises NotFoundError for a missing name, InvalidArgumentError for a different dtype or shape.
    """
    entries = reader.entries
    for name, dtype in zip(names, dtypes, strict=True):
        have = as_dtype(numpy_dtype(entries[name].dtype)) if name in entries else None
        if have is not None and have != (string if dtype == variant else dtype):
            message = (
                f"tensor_name = {name}; expected dtype {dtype.name} does not equal original dtype "
                f"{have.name} in checkpoint {reader.prefix}"
            )
            raise errors.InvalidArgumentError(None, None, message)
    arrays = reader.read([name for name, spec in zip(names, specs, strict=True) if not spec])
    found: list[np.ndarray] = []
    for name, spec in zip(names, specs, strict=True):
        if not spec:
            found.append(arrays.pop(name) if name in arrays else reader.array(name))
            continue
        full, start, shape = parse_slice(name, spec)
        saved = entries[name].shape if name in entries else full
        if saved != full:
            message = f"{name!r} has shape {list(saved)} in checkpoint {reader.prefix}, not {list(full)}"
            raise errors.InvalidArgumentError(None, None, message)
        found.append(reader.get_slice(name, start, shape))
    return found


# --- sharded checkpoints: one save per accelerator or machine, then a merge -----------------------------

SHARDED_FILENAME = define_op("ShardedFilename", "basename: string, shard: int32, num_shards: int32", "filename: string")
SHARDED_FILENAME.shape(shape_rules.scalar)
SHARDED_FILENAME.not_differentiable()


@SHARDED_FILENAME.kernel(host=("basename", "shard", "num_shards", "filename"))
def sharded_filename_kernel(ctx: KernelContext) -> Kernel:
    def name(basename: np.ndarray, shard: Any, num_shards: Any) -> np.ndarray:
        return np.array(b"%s-%05d-of-%05d" % (basename.item(), int(shard), int(num_shards)), object)

    return name


MERGE_V2_CHECKPOINTS = define_op(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string",
    attrs=["delete_old_dirs: bool = true", "allow_missing_files: bool = false"],
    stateful=True,
)
MERGE_V2_CHECKPOINTS.shape(shape_rules.no_outputs)
MERGE_V2_CHECKPOINTS.not_differentiable()


@MERGE_V2_CHECKPOINTS.kernel(host=("checkpoint_prefixes", "destination_prefix"))
def merge_kernel(ctx: KernelContext) -> Kernel:
    delete, allow_missing = ctx["delete_old_dirs"], ctx["allow_missing_files"]

    def merge(prefixes: np.ndarray, destination: np.ndarray) -> None:
        paths, target = [os.fsdecode(p) for p in prefixes.reshape(-1)], scalar_path(destination)
        how = announced_for(target)
        how.do(lambda: _merge(paths, target, how.format, delete, allow_missing))

    return merge


def _merge(paths: list[str], target: str, format: Format, delete: bool, allow_missing: bool) -> None:
    make_parent(target)
    merge_checkpoints(paths, target, format, allow_missing)
    for path in paths if delete else ():
        if path != target:
            delete_checkpoint(path)
            _remove_if_empty(os.path.dirname(path))


def _remove_if_empty(directory: str) -> None:
    if directory.endswith("_temp") or "_temp_" in os.path.basename(directory):  # made only for the parts
        try:
            os.rmdir(directory)
        except OSError:
            return
