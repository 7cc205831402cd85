"""Model functions on the devices of one machine, as before tf.distribute (TF: tf.contrib.estimator)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from penstock.devices.device import HOST_PREFIX
from penstock.devices.registry import devices_for
from penstock.errors import UnimplementedError
from penstock.estimator.calls import call_with_known
from penstock.export import export
from penstock.graph.scopes import device
from penstock.losses.collected import Reduction
from penstock.train.delegating import DelegatingOptimizer

MSG_DEVICES = (
    "replicate_model_fn runs a model on one device, and these are {devices}: name one (devices=['{first}']), or give "
    "the Estimator tf.estimator.RunConfig(train_distribute=tf.contrib.distribute.MirroredStrategy()) and the model "
    "function itself, with its own optimizer"
)


@export("contrib.estimator.replicate_model_fn")
def replicate_model_fn(
    model_fn: Callable[..., Any], loss_reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS, devices: Any = None
) -> Callable[..., Any]:
    """A model function whose nodes and variables are on one device: the one in `devices`, the GPU, or the CPU.

    With one device there is nothing to reduce: losses and gradients are those of `model_fn`, and names of nodes are as
    without. Raises ValueError for a reduction of losses that is none, and UnimplementedError for several devices.
    """
    if loss_reduction == Reduction.NONE:
        raise ValueError(f"Tower losses need to be reduced in some way, yet {loss_reduction} reduction is specified.")
    place = _only(devices or _local_devices())

    def replicated_model_fn(features: Any, labels: Any, mode: str, params: Any = None, config: Any = None) -> Any:
        known = {"params": copy.deepcopy(params), "config": copy.deepcopy(config)}
        with device(place):
            return call_with_known(model_fn, features=features, labels=labels, mode=mode, **known)

    return replicated_model_fn


def _local_devices() -> list[str]:
    """The GPUs of this process, or its CPU where it has none."""
    found = [(each.type, each.name.removeprefix(HOST_PREFIX)) for each in devices_for()]
    gpus = [name for kind, name in found if kind == "GPU"]
    return gpus or [name for _, name in found[:1]]


def _only(devices: Sequence[str]) -> str:
    if len(devices) != 1:
        raise UnimplementedError(None, None, MSG_DEVICES.format(devices=", ".join(devices), first=devices[0]))
    return devices[0]


@export("contrib.estimator.TowerOptimizer")
class TowerOptimizer(DelegatingOptimizer):
    """The optimizer that a model function of `replicate_model_fn` trains with; on one device it is that optimizer.

    optimizer_or_optimizer_fn: an Optimizer, or a function without arguments that makes one when it is first needed.
    """

    def __init__(self, optimizer_or_optimizer_fn: Any) -> None:
        self._made = optimizer_or_optimizer_fn

    @property
    def _opt(self) -> Any:
        if callable(self._made):
            self._made = self._made()
        return self._made

    def get_name(self) -> str:
        name: str = self._opt.get_name()
        return name
