"""The handles of ensembles and of quantile streams, and ops that create, save and restore ensembles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch

from penstock.graph import shape_rules
from penstock.graph.opdef import Bound, Kernel, OpDef, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.boosted_trees.ensemble import Ensemble
from penstock.ops.boosted_trees.quantiles import Streams
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

R = TypeVar("R", Ensemble, Streams)


def _define_handle(name: str, kind: type[R]) -> OpDef:
    """An op whose output is the resource of its name, or of the node's, in its container."""
    op = define_op(
        name,
        "",
        "resource: resource",
        attrs=["container: string = ''", "shared_name: string = ''"],
        stateful=True,
        shape=shape_rules.scalar,
    )
    op.not_differentiable()

    @op.kernel("CPU")
    def handle_kernel(ctx: KernelContext) -> Bound:
        shared = ctx.text("shared_name") or ctx.name
        return Bound(ctx.resources.lookup_or_create(ctx.text("container"), kind, shared, lambda: kind(shared)))

    return op


def define(
    name: str,
    inputs: str,
    outputs: str,
    factory: Callable[[KernelContext], Kernel],
    shape: Any = shape_rules.no_outputs,
    attrs: tuple[str, ...] = (),
    reads: str = "",
    sets_up: bool = False,
) -> OpDef:
    """An op of this package: its kernels run in NumPy, and it has no gradient."""
    stateful = "resource" in inputs
    op = define_op(
        name,
        inputs,
        outputs,
        attrs=list(attrs),
        stateful=stateful,
        work=SERIAL,
        shape=shape,
        reads=reads,
        sets_up=sets_up,
    )
    op.kernel("CPU")(factory)
    op.not_differentiable()
    return op


ENSEMBLE = _define_handle("BoostedTreesEnsembleResourceHandleOp", Ensemble)
STREAMS = _define_handle("BoostedTreesQuantileStreamResourceHandleOp", Streams)


# --- ensembles ------------------------------------------------------------------------------------------


def _is_created(ctx: KernelContext) -> Kernel:
    return lambda ensemble: torch.tensor(ensemble.message is not None)


def _create(ctx: KernelContext) -> Kernel:
    return lambda ensemble, stamp, serialized: ensemble.create(int(stamp), serialized.item())


def _deserialize(ctx: KernelContext) -> Kernel:
    def deserialize(ensemble: Ensemble, stamp: Any, serialized: np.ndarray) -> None:
        ensemble.read_message()
        ensemble.reset(int(stamp), serialized.item())

    return deserialize


def _serialize(ctx: KernelContext) -> Kernel:
    def serialize(ensemble: Ensemble) -> tuple[Any, ...]:
        with ensemble.lock:
            return torch.tensor(ensemble.stamp), _text(ensemble.read_message().SerializeToString())

    return serialize


def _text(value: bytes) -> np.ndarray:
    array = np.empty((), object)
    array[()] = value
    return array


def _states(ctx: KernelContext) -> Kernel:
    def states(ensemble: Ensemble) -> tuple[Any, ...]:
        with ensemble.lock:
            message = ensemble.read_message()
            trees, growing = len(message.trees), message.growing_metadata
            finished = trees if not trees or message.tree_metadata[-1].is_finalized else trees - 1
            layer = [growing.last_layer_node_start, max(1, growing.last_layer_node_end)]
            numbers = [trees, finished, growing.num_layers_attempted]
            return (torch.tensor(ensemble.stamp), *(torch.tensor(n, dtype=torch.int32) for n in (*numbers, layer)))

    return states


def _states_shape(c: ShapeContext, *_: Any) -> list[TensorShape]:
    return [TensorShape([])] * 4 + [TensorShape([2])]


_HANDLE = "tree_ensemble_handle: resource"
_SAVED = f"{_HANDLE}, stamp_token: int64, tree_ensemble_serialized: string"

IS_CREATED = define(
    "IsBoostedTreesEnsembleInitialized",
    _HANDLE,
    "is_initialized: bool",
    _is_created,
    shape_rules.scalar,
    sets_up=True,
    reads="tree_ensemble_handle",
)
CREATE = define("BoostedTreesCreateEnsemble", _SAVED, "", _create, sets_up=True)
DESERIALIZE = define("BoostedTreesDeserializeEnsemble", _SAVED, "", _deserialize, sets_up=True)
SERIALIZE = define(
    "BoostedTreesSerializeEnsemble",
    _HANDLE,
    "stamp_token: int64, tree_ensemble_serialized: string",
    _serialize,
    lambda c, handle: [TensorShape([])] * 2,
    sets_up=True,
    reads="tree_ensemble_handle",
)
GET_STATES = define(
    "BoostedTreesGetEnsembleStates",
    _HANDLE,
    "stamp_token: int64, num_trees: int32, num_finalized_trees: int32, num_attempted_layers: int32, "
    "last_layer_nodes_range: int32",
    _states,
    _states_shape,
    reads="tree_ensemble_handle",
)
