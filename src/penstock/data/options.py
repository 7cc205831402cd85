"""TensorFlow's options for running a dataset (TF: tf.data.Options)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from penstock.export import export

_TRANSFORMS = """
    apply_default_optimizations autotune autotune_algorithm autotune_buffers autotune_cpu_budget filter_fusion
    filter_with_random_uniform_fusion hoist_random_uniform map_and_batch_fusion map_and_filter_fusion map_fusion
    map_parallelization noop_elimination parallel_batch shuffle_and_repeat_fusion
"""

_EXPERIMENTAL = """
    experimental_autotune experimental_deterministic experimental_filter_fusion
    experimental_hoist_random_uniform experimental_latency_all_edges experimental_map_and_batch_fusion
    experimental_map_and_filter_fusion experimental_map_fusion experimental_map_parallelization
    experimental_map_vectorization experimental_noop_elimination experimental_numa_aware
    experimental_shuffle_and_repeat_fusion experimental_slack experimental_stateful_whitelist
"""


class OptionsBase:
    """Options by the names that they have in TensorFlow 1.x. Raises AttributeError for others.

    They are stored but have no effect: elements come in order, and Penstock decides how to compute them.
    """

    _defaults: ClassVar[dict[str, Any]] = {}
    """The options and the values that they have before they are set; a class stands for options that each has of its
    own."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._defaults:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in self._defaults:
            raise AttributeError(f"{type(self).__name__} has no option {name!r}")
        found = self._defaults[name]
        if isinstance(found, type):
            found = vars(self)[name] = found()
        return found

    def merge(self, options: Self) -> Self:
        """These options and those of `options`. Raises ValueError if both set one to different values."""
        found = type(self)()
        for name, value in (*vars(self).items(), *vars(options).items()):
            before = vars(found).get(name)
            if isinstance(before, OptionsBase):
                value = before.merge(value)
            elif None not in (before, value) and before != value:
                raise ValueError(f"Cannot merge incompatible values of option: {name}")
            setattr(found, name, value)
        return found

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self._defaults)

    __hash__ = None  # type: ignore[assignment]


@export("data.experimental.ThreadingOptions")
class ThreadingOptions(OptionsBase):
    """How many threads a dataset has."""

    _defaults = dict.fromkeys(["max_intra_op_parallelism", "private_threadpool_size"])


@export("data.experimental.DistributeOptions")
class DistributeOptions(OptionsBase):
    """How a dataset is divided among workers."""

    _defaults: ClassVar[dict[str, Any]] = {"auto_shard": True, "num_devices": None}


@export("data.experimental.MapVectorizationOptions")
class MapVectorizationOptions(OptionsBase):
    """Whether functions of elements are made functions of batches."""

    _defaults = dict.fromkeys(["enabled", "use_choose_fastest"])


@export("data.experimental.OptimizationOptions")
class OptimizationOptions(OptionsBase):
    """Which transforms TensorFlow makes to the graph of a dataset."""

    _defaults: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(_TRANSFORMS.split()),
        "map_vectorization": MapVectorizationOptions,
    }


@export("data.experimental.StatsOptions")
class StatsOptions(OptionsBase):
    """What TensorFlow counts while a dataset runs."""

    _defaults: ClassVar[dict[str, Any]] = {
        "aggregator": None,
        "counter_prefix": "",
        "latency_all_edges": None,
        "prefix": "",
    }


@export("data.Options")
class Options(OptionsBase):
    """Options of a dataset: see `Dataset.with_options`. Those of TensorFlow 1.12 and 1.13 are here, too."""

    _defaults: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(_EXPERIMENTAL.split()),
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_stats": StatsOptions,
        "experimental_threading": ThreadingOptions,
    }
