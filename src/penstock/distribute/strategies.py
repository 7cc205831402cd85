"""Strategies for the devices of one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.cluster.spec import ClusterSpec
from penstock.distribute.reduction import CrossDeviceOps
from penstock.distribute.strategy import Strategy, cluster_of, local_devices
from penstock.export import export


@export("distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """A replica on each of `devices` (by default on each GPU), which make an update together.

    Variables are spread over the devices instead of copied to each: see `reduction.py`.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        super().__init__(local_devices() if devices is None else devices, cross_device_ops)


@export("distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """Variables and the model on one device."""

    def __init__(self, device: str) -> None:
        super().__init__([device])


@export("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(Strategy):
    """A replica on each of `compute_devices`, and all variables on `parameter_device`."""

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        super().__init__(local_devices() if compute_devices is None else compute_devices)
        self._parameter_device = parameter_device or "/device:CPU:0"

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return (self._parameter_device,)


@export("distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """Variables on the parameter servers of a cluster, which workers train without waiting for each other.

    The replicas of one worker, on its GPUs or its CPU, make updates together. Without a cluster, variables are on the
    CPU. Which task of which cluster this process is, TF_CONFIG or `configure` says.
    """

    between_graph = experimental_between_graph = True
    should_init = experimental_should_init = False  # the chief does it for all

    def __init__(self, cluster_resolver: Any = None, devices: Sequence[str] | None = None) -> None:
        super().__init__(local_devices() if devices is None else devices)
        self._local = self._devices
        self._servers: tuple[str, ...] = ("/device:CPU:0",)
        self.configure(None, *cluster_of(cluster_resolver))

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return self._servers

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: str | None = None, task_id: Any = None
    ) -> None:
        if cluster_spec:
            jobs = ClusterSpec(cluster_spec)
            own = f"/job:{task_type}/task:{int(task_id or 0)}"
            self._devices = tuple(own + name for name in self._local)
            servers = jobs.task_indices("ps") if "ps" in jobs.jobs else []
            self._servers = tuple(f"/job:ps/task:{i}" for i in servers) or (f"{own}/device:CPU:0",)
        super().configure(session_config)


# --- as tf.contrib.distribute has them ------------------------------------------------------------------


@export("contrib.distribute.MirroredStrategy")
class ContribMirroredStrategy(MirroredStrategy):
    """A replica on each of `devices`, or on so many GPUs."""

    scales_loss = True

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
        prefetch_on_device: bool | None = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: CrossDeviceOps | None = None,
    ) -> None:
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        gpus = num_gpus_per_worker if num_gpus is None else num_gpus
        if devices is not None and gpus is not None:
            raise ValueError("Must only specify one of `devices` and `num_gpus`.")
        super().__init__(local_devices(gpus) if devices is None else devices, cross_device_ops or cross_tower_ops)


@export("contrib.distribute.OneDeviceStrategy")
class ContribOneDeviceStrategy(OneDeviceStrategy):
    scales_loss = True

    def __init__(self, device: str, prefetch_on_device: Any = None) -> None:
        super().__init__(device)


@export("contrib.distribute.ParameterServerStrategy")
class ContribParameterServerStrategy(ParameterServerStrategy):
    scales_loss = True

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__(devices=local_devices(num_gpus_per_worker))
