"""The nodes of a `Saver`: variables feed a Save node, a Restore node feeds assignments (section 3.3)."""

from __future__ import annotations

import uuid
from typing import Any

from tensorboard.compat.proto import saver_pb2

from penstock.client.saveables import SaveableObject, SaveSpec
from penstock.graph.convert import constant
from penstock.graph.device_spec import DeviceSpec
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, get_default_graph, name_scope
from penstock.ops.basic import group, identity, placeholder_with_default
from penstock.ops.checkpoint import MERGE_V2_CHECKPOINTS, RESTORE_V2, SAVE_V2, SHARDED_FILENAME


def build_saver_nodes(
    saveables: list[Any],
    name: str | None,
    reshape: bool,
    filename: str | None,
    restore_sequentially: bool,
    sharded: bool = False,
) -> Any:
    """Add Save and Restore nodes to the default graph; returns the SaverDef that names them."""
    with name_scope(name, "save", [s.op for s in saveables if isinstance(s.op, Operation | Tensor)]):
        default = constant(filename or "model", name="filename/input")
        path = placeholder_with_default(default, shape=(), name="filename")
        path = placeholder_with_default(path, shape=(), name="Const")
        specs = [_specs(saveable) for saveable in saveables]
        flat = [spec for group_ in specs for spec in group_]
        done = _save_shards(path, flat) if sharded else _after(_save(path, flat), path)
        restored = _restore(path, saveables, specs, reshape, restore_sequentially)
    return saver_pb2.SaverDef(
        filename_tensor_name=path.name,
        save_tensor_name=done.name,
        restore_op_name=restored.name,
        sharded=sharded,
        version=saver_pb2.SaverDef.V2,
    )


def save_nodes(path: Tensor, specs: list[SaveSpec]) -> Tensor:
    """A Save node alone; returns the path, after it is done."""
    return _after(_save(path, specs), path)


def restore_nodes(path: Tensor, saveables: list[Any]) -> Operation:
    """A Restore node and assignments alone."""
    return _restore(path, saveables, [_specs(saveable) for saveable in saveables], False, False)


def _save(path: Tensor, specs: list[SaveSpec]) -> Operation:
    names, slices = [spec.name for spec in specs], [spec.slice_spec for spec in specs]
    saved: Operation = SAVE_V2(path, *_keys("SaveV2", names, slices), [spec.tensor for spec in specs])
    return saved


def _after(done: Operation, path: Tensor) -> Tensor:
    with control_dependencies([done]), get_default_graph().colocate_with(path):
        return identity(path, name="control_dependency")


def _save_shards(path: Tensor, specs: list[SaveSpec]) -> Tensor:
    """A Save node for each device, on its machine's CPU, and one that merges what they wrote."""
    graph = get_default_graph()
    by_device: dict[str, list[SaveSpec]] = {}
    for spec in specs:
        by_device.setdefault(DeviceSpec.from_string(spec.device or "").to_string(), []).append(spec)
    with graph.device("/device:CPU:0"):
        part = get_op("StringJoin")([path, constant(f"_temp_{uuid.uuid4().hex}/part")])
        count = constant(len(by_device), name="num_shards")
    paths, saves = [], []
    for number, device in enumerate(sorted(by_device)):
        with graph.device(_host(device)):
            paths.append(SHARDED_FILENAME(part, constant(number, name="ShardedFilename/shard"), count))
            saves.append(_save(paths[-1], by_device[device]))
    with control_dependencies(saves), graph.device("/device:CPU:0"):
        merged = MERGE_V2_CHECKPOINTS(get_op("Pack")(paths), path)
        with control_dependencies([merged]):
            return identity(path)


def _host(device: str) -> str:
    """The CPU of the machine that the device is on."""
    spec = DeviceSpec.from_string(device)
    return DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task, device_type="CPU", device_index=0).to_string()


def _specs(saveable: Any) -> list[SaveSpec]:
    if isinstance(saveable, SaveableObject):
        return saveable.specs
    return [SaveSpec(saveable.saved, saveable.slice_spec, saveable.name)]


def _keys(scope: str, names: list[str], slices: list[str]) -> tuple[Tensor, Tensor]:
    return constant(names, name=f"{scope}/tensor_names"), constant(slices, name=f"{scope}/shape_and_slices")


def _restore(
    path: Tensor, saveables: list[Any], specs: list[list[SaveSpec]], reshape: bool, sequentially: bool
) -> Operation:
    """One Restore node, so that all values are read and verified before the first variable changes."""
    flat = [spec for group_ in specs for spec in group_]
    with get_default_graph().device("/device:CPU:0"):
        keys = _keys("RestoreV2", [spec.name for spec in flat], [spec.slice_spec for spec in flat])
        tensors = RESTORE_V2(path, *keys, dtypes=[spec.dtype for spec in flat])
    assignments: list[Operation] = []
    for saveable, own in zip(saveables, specs, strict=True):
        with control_dependencies(assignments[-1:] if sequentially else []):
            mine, tensors = tensors[: len(own)], tensors[len(own) :]
            if isinstance(saveable, SaveableObject):
                assignments.append(saveable.restore(mine, None))
            else:
                assignments.append(saveable.restore(mine[0], reshape))
    return group(*assignments, name="restore_all")
