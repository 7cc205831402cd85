"""`Elements`: batches that tf.data makes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from penstock.data import iterators as data_iterators
from penstock.data.core import DatasetBase
from penstock.data.iterators import make_initializable_iterator
from penstock.errors import OutOfRangeError
from penstock.keras import backend as K
from penstock.keras.engine.batches import Batch, Source, whole


class Elements(Source):
    """Elements of a tf.data dataset or iterator: `(inputs, targets)`, or with weights of samples."""

    units = "steps"
    begins_anew = False
    """Whether each epoch begins with the first element, also where its steps are given."""

    def counted(self, batch: Batch) -> int:
        return 1

    def __init__(self, dataset: Any, steps: int | None, prepare: Any) -> None:
        self.steps, self._prepare = whole(steps), prepare
        if isinstance(dataset, DatasetBase):
            self._iterator = make_initializable_iterator(dataset)
            self._restart: Any = self._iterator.initializer
        else:
            if steps is None:
                raise ValueError("When using iterators as input, you should specify the steps of an epoch.")
            self._iterator, self._restart = dataset, None
        self.example = self._next = self._iterator.get_next()
        self._begun = False

    def epoch(self) -> Iterator[Batch]:
        session = K.get_session()
        if self._restart is not None and (self.begins_anew or self.steps is None or not self._begun):
            session.run(self._restart)
        self._begun = True
        done = 0
        while self.steps is None or done < self.steps:
            try:
                value = session.run(self._next)
            except OutOfRangeError:
                if self.steps is not None:
                    warnings.warn(
                        "Your dataset iterator ran out of data; interrupting training. Make sure that your dataset "
                        f"can generate at least `steps_per_epoch * epochs` batches ({self.steps} for each epoch). "
                        "You may need to use the repeat() function when building your dataset.",
                        RuntimeWarning,
                        stacklevel=2,
                    )
                return
            done += 1
            yield self._prepare(value)


def is_elements(x: Any) -> bool:
    """Whether `x` is a dataset or an iterator of one."""
    return isinstance(x, DatasetBase | data_iterators.Iterator)
