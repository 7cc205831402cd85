"""Resampling of elements by class: tf.contrib.data.rejection_resample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data.contrib_functions import scan
from penstock.data.core import DatasetBase
from penstock.export import export
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.cast import cast
from penstock.ops.filling import one_hot, ones_like
from penstock.ops.gather import gather
from penstock.ops.random import random_uniform
from penstock.ops.reduce import reduce_max, reduce_sum
from penstock.tensor.dtypes import float32

_SEEN_BEFORE = 10.0
"""The initial count of each class, so that the first elements do not determine the estimate."""


@export("contrib.data.rejection_resample", "data.experimental.rejection_resample")
def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None
) -> Callable[[Any], Any]:
    """For `Dataset.apply`: pairs of a class (an int, returned by `class_func`) and the element. Elements are dropped at
    random so that classes have the probabilities `target_dist`.

    initial_dist: the probabilities of the classes in the dataset; by default they are estimated from the elements so
    far.
    """

    def apply(dataset: Any) -> DatasetBase:
        target = cast(convert_to_tensor(target_dist, name="target_dist"), float32)
        known = None if initial_dist is None else cast(convert_to_tensor(initial_dist, name="initial_dist"), float32)

        def with_class(*element: Any) -> Any:
            return class_func(*element), element if len(element) > 1 else element[0]

        def with_chance(seen: Tensor, pair: Any) -> Any:
            seen = seen + one_hot(pair[0], target.shape[0].value)
            found = seen / reduce_sum(seen) if known is None else known
            return seen, (gather(_chances(found, target), pair[0]), pair)

        pairs = dataset.map(with_class).apply(scan(ones_like(target) * _SEEN_BEFORE, with_chance))
        kept: DatasetBase = pairs.filter(lambda chance, pair: random_uniform([], seed=seed) < chance)
        return kept.map(lambda chance, pair: pair)  # type: ignore[attr-defined]

    return apply


def _chances(have: Tensor, want: Tensor) -> Tensor:
    """The probability of keeping an element of each class: as high as possible, in the right proportions."""
    ratios = want / (have + constant(1e-20))
    found: Tensor = ratios / reduce_max(ratios)
    return found
