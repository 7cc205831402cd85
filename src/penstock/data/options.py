"""TensorFlow's options for running a dataset (TF: tf.data.Options)."""

from __future__ import annotations

from typing import Any

from penstock.export import export

_NAMES = {
    "experimental_autotune",
    "experimental_deterministic",
    "experimental_distribute",
    "experimental_filter_fusion",
    "experimental_hoist_random_uniform",
    "experimental_latency_all_edges",
    "experimental_map_and_batch_fusion",
    "experimental_map_and_filter_fusion",
    "experimental_map_fusion",
    "experimental_map_parallelization",
    "experimental_map_vectorization",
    "experimental_noop_elimination",
    "experimental_numa_aware",
    "experimental_optimization",
    "experimental_shuffle_and_repeat_fusion",
    "experimental_slack",
    "experimental_stateful_whitelist",
    "experimental_stats",
    "experimental_threading",
}


@export("data.Options")
class Options:
    """Options of a dataset, by the names that they have in TensorFlow 1.x. Raises AttributeError for others.

    They are stored but have no effect: elements come in order, and Penstock decides how to compute them.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _NAMES:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(f"{type(self).__name__} has no option {name!r}")
        return None

    def merge(self, options: Options) -> Options:
        """These options and those of `options`. Raises ValueError if both set one to different values."""
        found = Options()
        for name, value in (*vars(self).items(), *vars(options).items()):
            before = getattr(found, name)
            if None not in (before, value) and before != value:
                raise ValueError(f"Cannot merge incompatible values of option: {name}")
            setattr(found, name, value)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]
