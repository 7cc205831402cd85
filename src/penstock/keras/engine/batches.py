"""`Batch`, what a step feeds, and `Source`, which makes those of each epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Batch:
    """The values that a step feeds: inputs, targets, weights of samples (None if all are 1), and the batch's size."""

    inputs: list[Any]
    targets: list[Any]
    weights: list[Any] | None
    size: int

    @property
    def fed(self) -> list[Any]:
        return [*self.inputs, *self.targets, *(self.weights or [])]

    @property
    def rows(self) -> int:
        """How many samples the arrays have: `size` counts a batch of all of them as one."""
        return int(self.targets[0].shape[0]) if self.targets else self.size


class Source:
    """Batches for each epoch. `samples` and `steps` say how many an epoch has, if it is known."""

    samples: int | None = None
    steps: int | None = None
    batch_size: int | None = None
    by_steps = True
    """Whether an epoch is a number of steps, and not of samples."""
    units = "samples"
    """What is said to be trained on."""
    generated = False
    """Whether a generator makes the batches."""
    last_size: int | None = None
    """How many samples its last batch had."""

    def counted(self, batch: Batch) -> int:
        """For how many samples a batch counts in the epoch's loss: each step for one but with generators."""
        return batch.size

    @property
    def told(self) -> int | None:
        """How many `units` there are."""
        return self.steps

    def epoch(self) -> Iterator[Batch]:
        raise NotImplementedError

    def close(self) -> None:
        """Stop what prepares batches."""


def whole(steps: Any) -> int | None:
    """How many steps are taken: programs divide, as in `steps_per_epoch=len(x) / batch_size`, and the last counts."""
    return None if steps is None else math.ceil(steps)


def check_sizes(batch: Batch) -> Batch:
    """`batch`; raises ValueError if its arrays have different numbers of samples."""
    sizes = {x.shape[0] for x in batch.inputs}
    if len(sizes) > 1:
        raise ValueError(
            "All input arrays (x) should have the same number of samples. Got array shapes: "
            f"{[x.shape for x in batch.inputs]}"
        )
    of_targets = {len(y) for y in batch.targets}
    if of_targets and sizes and of_targets != sizes:
        raise ValueError(
            f"Input arrays should have the same number of samples as target arrays. Found {sorted(sizes)[0]} input "
            f"samples and {sorted(of_targets)[0]} target samples."
        )
    return batch
