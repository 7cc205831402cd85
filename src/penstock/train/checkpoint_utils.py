"""Inspecting checkpoints, and initialising from one (TF: tf.train.load_variable, init_from_checkpoint, …)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock import errors
from penstock.checkpoint.files import checkpoint_exists
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.state import latest_checkpoint
from penstock.client.partitioned_variable import PartitionedVariable
from penstock.client.variable import Variable
from penstock.client.variable_store import get_variable_store
from penstock.export import export
from penstock.graph.convert import constant
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_default_graph
from penstock.old_names import old_arguments
from penstock.ops.checkpoint import RESTORE_V2
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


@export("train.NewCheckpointReader")
def NewCheckpointReader(filepattern: Any) -> CheckpointReader:
    """A reader of the checkpoint with this prefix (TF: tf.train.NewCheckpointReader)."""
    return CheckpointReader(filepattern)


@export("train.load_checkpoint", "contrib.framework.load_checkpoint")
@old_arguments(
    "tf.contrib.framework.load_checkpoint",
    "tf.train.load_checkpoint(ckpt_dir_or_file)",
    renamed={"filepattern": "ckpt_dir_or_file"},
    before="2.0",
)
def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of a checkpoint, given by its prefix or by a directory (its latest checkpoint).

    Raises ValueError for a directory without checkpoints.
    """
    return CheckpointReader(checkpoint_prefix(ckpt_dir_or_file))


@export("train.load_variable", "contrib.framework.load_variable")
@old_arguments(
    "tf.contrib.framework.load_variable",
    "tf.train.load_variable(ckpt_dir_or_file)",
    renamed={"checkpoint_dir": "ckpt_dir_or_file"},
    before="2.0",
)
def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """The tensor `name` (or "name:0") of a checkpoint: an array, or a scalar of NumPy's or bytes."""
    with load_checkpoint(ckpt_dir_or_file) as reader:
        return reader.get_tensor(name.removesuffix(":0"))


@export("train.list_variables", "contrib.framework.list_variables")
@old_arguments(
    "tf.contrib.framework.list_variables",
    "tf.train.list_variables(ckpt_dir_or_file)",
    renamed={"checkpoint_dir": "ckpt_dir_or_file"},
    before="2.0",
)
def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Name and shape of each tensor of a checkpoint, by name."""
    with load_checkpoint(ckpt_dir_or_file) as reader:
        return sorted(reader.get_variable_to_shape_map().items())


def saved_global_step(checkpoint_dir: Any) -> int:
    """The global step in a directory's latest checkpoint, 0 if there is none (TF: inside tensorflow_estimator)."""
    try:
        return int(load_variable(checkpoint_dir, GraphKeys.GLOBAL_STEP))
    except (ValueError, errors.NotFoundError):
        return 0


def checkpoint_prefix(ckpt_dir_or_file: Any) -> str:
    """The checkpoint itself, or the latest of a directory.

    Raises ValueError for a directory without any; opening what is not there raises NotFoundError.
    """
    path = os.fspath(ckpt_dir_or_file)
    if checkpoint_exists(path) or not ("://" in path or os.path.isdir(path)):
        return path
    latest = latest_checkpoint(path)
    if latest is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return latest


@export("train.checkpoints_iterator", "contrib.training.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yields each new checkpoint of a directory; ends if there is none within `timeout` seconds.

    `timeout_fn` may then return False to keep waiting. TF: tf.train.checkpoints_iterator.
    """
    seen: str | None = None
    while True:
        began = time.monotonic()
        while (found := latest_checkpoint(checkpoint_dir)) is None or found == seen:
            if timeout is not None and time.monotonic() - began >= timeout:
                found = None
                break
            time.sleep(min(1.0, timeout if timeout else 1.0))
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        seen, shown = found, time.monotonic()
        yield found
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - shown)))


# --- initialising from a checkpoint ------------------------------------------------------------------------


@export("train.init_from_checkpoint", "contrib.framework.init_from_checkpoint")
@old_arguments(
    "tf.contrib.framework.init_from_checkpoint",
    "tf.train.init_from_checkpoint(ckpt_dir_or_file)",
    renamed={"checkpoint_dir": "ckpt_dir_or_file"},
    before="2.0",
)
def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: Any) -> None:
    """Initialise variables from a checkpoint: their initializers will read it.

    assignment_map: from names in the checkpoint to variables or names of variables, or from scopes ("a/", or
    "/" for all) to scopes; a dict or a list of pairs. Raises ValueError for unknown names or different shapes. TF:
    tf.train.init_from_checkpoint.
    """
    prefix = checkpoint_prefix(ckpt_dir_or_file)
    with CheckpointReader(prefix) as reader:
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    store = get_variable_store()
    known = {**store._vars, **store._partitioned}
    for source, target in pairs:
        if isinstance(target, str) and target not in known:
            for tensor_name, variable in _scope_pairs(source, target, prefix, shapes, known):
                _begin_from(variable, prefix, tensor_name, dtypes[tensor_name])
            continue
        variable = known[target] if isinstance(target, str) else target
        if not isinstance(variable, Variable | PartitionedVariable | list):
            raise ValueError(f"init_from_checkpoint can set variables, not {variable!r}")
        if source not in shapes:
            raise ValueError(f"Tensor {source} is not found in {prefix} checkpoint {shapes}")
        for part in [variable] if isinstance(variable, Variable) else variable:
            _check_shape(part, source, shapes[source])
            _begin_from(part, prefix, source, dtypes[source])


def _scope_pairs(
    source: str, target: str, prefix: str, shapes: dict[str, list[int]], known: dict[str, Any]
) -> list[tuple[str, Any]]:
    """`(tensor, variable)` for each variable in the scope `target`; tensors are in the scope `source`."""
    if not source.endswith("/"):
        raise ValueError(f"Assignment map with scope only name {source} should map to scope only {target}. "
                         "Should be 'scope/': 'other_scope/'.")  # fmt: skip
    scope = "" if target == "/" else target if target.endswith("/") else f"{target}/"
    pairs = []
    for variable in known.values():
        if isinstance(variable, PartitionedVariable):
            continue  # its parts are in the list as well
        part = variable._get_save_slice_info()
        name = variable.op.name if part is None else part.full_name
        if name.startswith(scope):
            tensor = ("" if source == "/" else source) + name[len(scope) :]
            if tensor not in shapes:
                raise ValueError(f"Tensor {tensor} ({name} in {target}) is not found in {prefix} checkpoint")
            _check_shape(variable, tensor, shapes[tensor])
            pairs.append((tensor, variable))
    if not pairs:
        raise ValueError(f"Assignment map has no variables in scope {target}")
    return pairs


def _check_shape(variable: Any, tensor: str, shape: list[int]) -> None:
    part = variable._get_save_slice_info()
    own = variable.shape if part is None else TensorShape(part.full_shape)
    if not own.is_compatible_with(shape):
        raise ValueError(
            f"Shape of variable {variable.op.name} ({own}) doesn't match with shape of tensor "
            f"{tensor} ({shape}) from checkpoint reader."
        )


def _begin_from(variable: Any, prefix: str, tensor_name: str, dtype: Any) -> None:
    if as_dtype(dtype) != variable.dtype.base_dtype:
        message = f"{tensor_name} is {as_dtype(dtype).name} in {prefix}, {variable.name} is {variable.dtype.name}"
        raise errors.InvalidArgumentError(None, None, message)
    part = variable._get_save_slice_info()
    begin_with(variable, lambda: restored_tensor(prefix, tensor_name, "" if part is None else part.spec, dtype))


def restored_tensor(prefix: str, name: str, spec: str, dtype: Any) -> Tensor:
    """A tensor of a checkpoint, or the part of it that `spec` names."""
    (value,) = RESTORE_V2(constant(prefix), constant([name]), constant([spec]), dtypes=[as_dtype(dtype)])
    restored: Tensor = value
    return restored


def begin_with(variable: Any, value: Callable[[], Tensor]) -> None:
    """Replace the variable's initializer: it assigns what the nodes that `value` adds compute."""
    graph = variable.graph
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope("checkpoint_initializer"):
        with get_default_graph().device("/device:CPU:0"):
            initial = value()
        initial.set_shape(variable.shape)
        variable._initializer_op = variable.assign(initial, read_value=False)
        variable._initial_value = initial
