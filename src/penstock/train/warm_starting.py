"""`warm_start`: variables begin with those of another model's checkpoint, rows of embeddings by vocabulary."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock import gfile, logging
from penstock.client.initializers import zeros_initializer
from penstock.client.partitioned_variable import PartitionedVariable
from penstock.client.saveables import saveables_of
from penstock.export import export
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_collection
from penstock.train.checkpoint_utils import (
    begin_with,
    checkpoint_prefix,
    init_from_checkpoint,
    load_checkpoint as _load_checkpoint,
    restored_tensor,
)


class _VocabInfo(NamedTuple):
    new_vocab: Any
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: Any
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


@export("train.VocabInfo", "estimator.VocabInfo")
class VocabInfo(_VocabInfo):
    """The vocabulary of a variable, and that of its predecessor in a checkpoint (TF: tf.train.VocabInfo).

    new_vocab, old_vocab: files with an entry on each line; of the old one, the first `old_vocab_size` count (-1: all).
    num_oov_buckets: how many rows follow those of the vocabulary. backup_initializer: of rows that the checkpoint does
    not have (zeros). axis: 0 if entries are rows, 1 if they are columns.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> VocabInfo:
        self = super().__new__(cls, *args, **kwargs)
        if self.axis not in (0, 1):
            raise ValueError("The only supported values for the axis argument are 0 and 1.  "
                             f"Provided axis: {self.axis}")  # fmt: skip
        return self


@export("train.warm_start")
def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Make the initializers of variables read a checkpoint (or a directory's latest one).

    vars_to_warm_start: a pattern for names of trainable variables, a list of patterns for global variables, a list of
    variables, or None for only those in `var_name_to_vocab_info`, whose rows are those of the same vocabulary entry.
    var_name_to_prev_var_name: names in the checkpoint, where they differ. Raises ValueError for names that are not
    among the variables, and as `init_from_checkpoint` does. TF: tf.train.warm_start.
    """
    vocabularies, renamed = var_name_to_vocab_info or {}, var_name_to_prev_var_name or {}
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    grouped = _by_name(_chosen(vars_to_warm_start))
    for given, name in ((renamed, "var_name_to_prev_var_name"), (vocabularies, "var_name_to_vocab_info")):
        unused = sorted(given.keys() - grouped.keys())
        if unused:
            raise ValueError(
                f"You provided the following variables in {name} that were not used: {unused}.  Perhaps you misspelled "
                f"them?  Here is the list of viable variable names: {sorted(grouped)}"
            )
    plain: list[tuple[str, Any]] = []
    for name, parts in grouped.items():
        earlier = renamed.get(name, name)
        if name in vocabularies:
            _begin_by_vocabulary(parts, earlier, ckpt_to_initialize_from, vocabularies[name])
        elif vars_to_warm_start is not None:
            plain.append((earlier, parts[0] if len(parts) == 1 else parts))
    init_from_checkpoint(ckpt_to_initialize_from, plain)
    logging.info("Warm-started %d variables.", len(plain) + len(vocabularies))


def _chosen(which: Any) -> list[Any]:
    """Raises ValueError for what is neither patterns nor variables."""
    if which is None or isinstance(which, str):
        return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=which)
    if isinstance(which, list) and all(isinstance(each, str) for each in which):
        return [v for each in which for v in get_collection(GraphKeys.GLOBAL_VARIABLES, scope=each)]
    if isinstance(which, list):
        return which
    raise ValueError("If `vars_to_warm_start is a list, it must be all `Variable` or all `str`.  "
                     f"Instead, given: {which!r}")  # fmt: skip


def _by_name(variables: Sequence[Any]) -> dict[str, list[Any]]:
    """The variables by their names in checkpoints; parts of one are together."""
    found: dict[str, list[Any]] = {}
    for variable in variables:
        for part in variable if isinstance(variable, list | PartitionedVariable) else [variable]:
            (saveable,) = saveables_of([part])
            group = found.setdefault(saveable.name, [])
            if not any(part is other for other in group):
                group.append(part)
    return found


# --- vocabularies ---------------------------------------------------------------------------------------


def _begin_by_vocabulary(parts: list[Any], name: str, checkpoint: Any, info: VocabInfo) -> None:
    if not (info.new_vocab and info.new_vocab_size and info.old_vocab):
        raise ValueError("Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, "
                         "prev_vocab_path}.")  # fmt: skip
    prefix = checkpoint_prefix(checkpoint)
    with _load_checkpoint(prefix) as reader:
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    if name not in shapes:
        raise ValueError(f"Tensor {name} is not found in {prefix} checkpoint {shapes}")
    known = _entries(info.old_vocab, info.old_vocab_size)
    places = {entry: i for i, entry in enumerate(known)}
    sources = np.array([places.get(entry, -1) for entry in _entries(info.new_vocab, info.new_vocab_size)], np.int64)
    if len(sources) < info.new_vocab_size:
        message = f"{info.new_vocab} has {len(sources)} entries, not new_vocab_size = {info.new_vocab_size}"
        raise ValueError(message)
    if len(known) > shapes[name][info.axis]:
        message = f"{info.old_vocab} has {len(known)} entries, {name} of {prefix} has the shape {shapes[name]}"
        raise ValueError(message)
    sources = np.concatenate([sources, np.full(info.num_oov_buckets, -1, np.int64)])
    for part in parts:
        _begin_part(part, name, shapes[name], dtypes[name], prefix, sources, info)


def _begin_part(
    part: Any, name: str, shape: list[int], dtype: Any, prefix: str, sources: np.ndarray, info: VocabInfo
) -> None:
    """`sources`: for each entry of the whole variable its place in the checkpoint, or -1."""
    axis, own, slice_info = info.axis, part.shape.as_list(), part._get_save_slice_info()
    offset = [0] * len(own) if slice_info is None else list(slice_info.var_offset)
    mine = sources[offset[axis] : offset[axis] + own[axis]]
    if len(mine) < own[axis]:
        raise ValueError(f"variable {part.op.name} has the shape {own}, the vocabulary and its buckets {len(sources)}")
    # What the checkpoint has of the other dimensions, then new entries in the order in which they are needed.
    start = [0 if i == axis else at for i, at in enumerate(offset)]
    size = [shape[i] if i == axis else n for i, n in enumerate(own)]
    spec = f"{' '.join(map(str, shape))} {':'.join(f'{at},{n}' for at, n in zip(start, size, strict=True))}"
    missing = mine < 0
    indices = np.where(missing, shape[axis] + np.cumsum(missing) - 1, mine)
    new = [int(missing.sum()) if i == axis else n for i, n in enumerate(own)]
    initializer = info.backup_initializer or zeros_initializer()

    def value() -> Tensor:
        old = restored_tensor(prefix, name, spec, dtype)
        backup = initializer(new, dtype=part.dtype.base_dtype)
        return get_op("GatherV2")(get_op("ConcatV2")([old, backup], axis), indices, axis)

    begin_with(part, value)


def _entries(path: Any, size: int) -> list[bytes]:
    with gfile.GFile(os.fspath(path), "rb") as file:
        lines = file.read().split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in (lines if size < 0 else lines[:size])]
