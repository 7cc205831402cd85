"""Elements by the classes that they belong to: tf.contrib.data.rejection_resample."""

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
"""Elements of each class that are taken to have been there, so that the first ones do not decide."""


@export("contrib.data.rejection_resample", "data.experimental.rejection_resample")
def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None
) -> Callable[[Any], Any]:
    """For `Dataset.apply`: pairs of a class, as `class_func` gives it (an int), and the element, of which some are left
    out, so that the classes come with the probabilities `target_dist`.

    initial_dist: the probabilities with which they come in the dataset; without, what has come so far tells.
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
    """The probability to keep an element of each class: as high as can be, in the right proportions."""
    ratios = want / (have + constant(1e-20))
    found: Tensor = ratios / reduce_max(ratios)
    return found
