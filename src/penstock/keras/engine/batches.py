"""What `fit`, `evaluate` and `predict` take, as batches: arrays, generators, Sequences, tf.data."""

from __future__ import annotations

import inspect
import itertools
import math
import queue
import random
import threading
import warnings
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.data import iterators as data_iterators
from penstock.data.core import DatasetBase
from penstock.data.iterators import make_initializable_iterator
from penstock.errors import OutOfRangeError
from penstock.keras import backend as K
from penstock.keras.utils.arrays import Sequence


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


class Arrays(Source):
    """Arrays, by slices, which are drawn anew for each epoch if shuffled ("batch": only the order of batches).

    `shuffle` is "validation" for what `fit` evaluates: tf.keras of TensorFlow 1.15 shuffles that, too.
    """

    by_steps = False

    def __init__(self, batch: Batch, batch_size: int | None, steps: int | None, shuffle: Any) -> None:
        self._all, self._shuffle = batch, shuffle
        self.batch_size = batch_size or 32
        self.samples = batch.size
        self.steps = steps

    @property
    def told(self) -> int | None:
        return self._all.rows

    @property
    def arrays(self) -> list[Any]:
        """Inputs, targets, and weights of samples for each target."""
        weights = self._all.weights or [np.ones(self._all.size, K.floatx()) for _ in self._all.targets]
        return [*self._all.inputs, *self._all.targets, *weights]

    def epoch(self) -> Iterator[Batch]:
        n, size = self._all.size, self.batch_size or 32
        order = self._order(n, size)
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n)) if order is None else order[start : start + size]
            yield take(self._all, rows, min(size, n - start))

    def _order(self, n: int, size: int) -> np.ndarray | None:
        """The rows of an epoch, None if they are as given: so is one batch of all, though numbers are drawn for it."""
        order = shuffled(np.arange(n), size, self._shuffle) if self._shuffle else None
        return order if n > size else None


def shuffled(order: np.ndarray, size: int, shuffle: Any) -> np.ndarray:
    """`order` shuffled in place by NumPy's generator; with "batch", a copy in which whole batches change places."""
    if shuffle != "batch":
        np.random.shuffle(order)
        return order
    whole = len(order) // size * size
    batches = order[:whole].reshape(-1, size)
    np.random.shuffle(batches)
    return np.append(batches.ravel(), order[whole:])


class Repeated(Arrays):
    """All of the arrays in each of `steps` steps, as where an epoch's steps are given; no arrays, if the model's inputs
    and targets are tensors."""

    by_steps = True

    def __init__(self, batch: Batch, steps: int | None) -> None:
        super().__init__(batch, None, steps, False)
        self.samples = self.batch_size = None

    def epoch(self) -> Iterator[Batch]:
        step = replace(self._all, size=1)
        return itertools.repeat(step, self.steps or 0)


def take(batch: Batch, rows: Any, size: int) -> Batch:
    """Some rows of all arrays."""
    weights = None if batch.weights is None else [x[rows] for x in batch.weights]
    return Batch([x[rows] for x in batch.inputs], [y[rows] for y in batch.targets], weights, int(size))


class Generated(Source):
    """Batches of a generator or Sequence, made ahead by threads. `prepare` makes a `Batch` of what it gives."""

    generated = True

    def __init__(
        self, generator: Any, steps: int | None, prepare: Any, ahead: int = 10, workers: int = 1, shuffle: bool = True
    ) -> None:
        self._sequence = generator if hasattr(generator, "__getitem__") and hasattr(generator, "__len__") else None
        self.steps = len(generator) if steps is None and self._sequence is not None else whole(steps)
        if self.steps is None:
            raise ValueError(
                "`steps_per_epoch=None` is only valid for a generator based on the `keras.utils.Sequence` class. "
                "Please specify `steps_per_epoch` or use the `keras.utils.Sequence` class."
            )
        self._prepare, self._shuffle = prepare, shuffle
        self._ahead, self._workers = max(1, ahead), workers
        self._iterator = iter(generator) if self._sequence is None else None
        self._pass: list[int] = []
        self._numbers: list[int] = []
        self._queue: Any = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def epoch(self) -> Iterator[Batch]:
        for batch in self._batches():
            self.last_size = batch.size
            yield batch

    def _batches(self) -> Iterator[Batch]:
        if self._sequence is not None:
            yield from self._of_sequence(self._sequence)
            return
        for _ in range(self.steps or 0):
            value = self._next()
            if value is None:
                return
            yield self._prepare(value)

    def _next(self) -> Any:
        if self._workers == 0:
            return next(self._iterator or iter(()), None)
        if self._thread is None:
            self._queue = queue.Queue(self._ahead)
            self._thread = threading.Thread(target=self._fill, daemon=True, name="keras-generator")
            self._thread.start()
        value, error = self._queue.get()
        if error is not None:
            raise error
        return value

    def _fill(self) -> None:
        try:
            for value in self._iterator or ():
                if not self._put((value, None)):
                    return
            self._put((None, None))
        except BaseException as error:  # raised where the batch is wanted
            self._put((None, error))

    def _put(self, item: Any) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                pass
        return False

    def _of_sequence(self, sequence: Any) -> Iterator[Batch]:
        """An epoch goes on where the last one ended, which need not be where the sequence ends."""
        wanted = self.steps or 0
        while wanted:
            if not self._numbers:
                self._begin_pass(sequence)
            part, self._numbers = self._numbers[:wanted], self._numbers[wanted:]
            yield from map(self._prepare, self._elements(sequence, part))
            wanted -= len(part)

    def _begin_pass(self, sequence: Any) -> None:
        """End the last pass, and number the batches of another; Python's generator draws their order, from that of the
        last one. (What ends with `fit` is not ended, as in Keras.)"""
        if self._pass and self._workers and hasattr(sequence, "on_epoch_end"):
            sequence.on_epoch_end()
        length = len(sequence)
        if not length:
            raise ValueError("The sequence has no batches.")
        if len(self._pass) != length:
            self._pass = list(range(length))
        if self._shuffle and self._workers:
            random.shuffle(self._pass)
        self._numbers = list(self._pass)

    def _elements(self, sequence: Any, numbers: list[int]) -> Iterator[Any]:
        if self._workers == 0:
            yield from (sequence[i] for i in numbers)
            return
        with ThreadPoolExecutor(self._workers) as pool:
            coming: deque[Any] = deque()
            for i in numbers:
                coming.append(pool.submit(sequence.__getitem__, i))
                if len(coming) >= self._ahead:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()


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


def part(batch: Batch, rows: slice, size: int) -> Batch:
    """Some rows of all arrays, of sparse matrices as such."""
    inputs, targets = (
        [x.part(rows) if isinstance(x, DenseRows) else x[rows] for x in of] for of in (batch.inputs, batch.targets)
    )
    return Batch(inputs, targets, None if batch.weights is None else [x[rows] for x in batch.weights], size)


def whole(steps: Any) -> int | None:
    """How many steps are taken: programs divide, as in `steps_per_epoch=len(x) / batch_size`, and the last counts."""
    return None if steps is None else math.ceil(steps)


def is_elements(x: Any) -> bool:
    """Whether `x` is a dataset or an iterator of one."""
    return isinstance(x, DatasetBase | data_iterators.Iterator)


def is_generator(x: Any) -> bool:
    """Whether `x` makes batches itself."""
    return isinstance(x, Sequence) or inspect.isgenerator(x) or (hasattr(x, "__next__") and not is_elements(x))


# --- arrays ---------------------------------------------------------------------------------------------


def arrays_of(
    data: Any, names: list[str], shapes: list[Any], what: str, of_classes: list[bool] | None = None
) -> list[np.ndarray]:
    """Arrays for inputs or targets with these names and shapes: `data` is one, a list, or a dict by name.

    Vectors become columns where those are expected, and arrays `of_classes` get a last dimension of 1. Raises
    ValueError, in Keras' words, if their number or shapes do not fit.
    """
    if not names:
        return []
    if data is None:
        raise ValueError(f"Error when checking model {what}: there is no data for {', '.join(names)}.")
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {names}')
        values = [data[name] for name in names]
    elif isinstance(data, list | tuple) and not (len(names) == 1 and isinstance(data[0], int | float | str | list)):
        values = list(data)
    else:
        values = [data]
    if len(values) != len(names):
        raise ValueError(
            f"Error when checking model {what}: the list of Numpy arrays that you are passing to your model is not the "
            f"size the model expected. Expected to see {len(names)} array(s), but instead got {len(values)}."
        )
    arrays = [_column(value, shape) for value, shape in zip(values, shapes, strict=True)]
    for i, shape in enumerate(shapes):
        if of_classes and of_classes[i] and arrays[i].ndim == len(shape) - 1:
            arrays[i] = np.expand_dims(arrays[i], -1)
    for name, array, shape in zip(names, arrays, shapes, strict=True):
        _check_shape(array, shape, f"Error when checking {what}: expected {name} to have")
    return arrays


def _column(value: Any, shape: Any) -> Any:
    if hasattr(value, "tocsr"):  # a sparse matrix of SciPy, which sparse inputs take
        return value.tocsr()
    array = np.asarray(value.values if type(value).__module__.startswith("pandas.") else value)
    return np.expand_dims(array, 1) if array.ndim == 1 and (shape is None or len(shape) != 1) else array


class DenseRows:
    """A sparse matrix of SciPy for what takes arrays: rows become one when they are taken."""

    ndim = 2

    def __init__(self, matrix: Any) -> None:
        self._matrix, self.shape = matrix, matrix.shape

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> np.ndarray:
        found: np.ndarray = self._matrix[rows].toarray()
        return found

    def part(self, rows: slice) -> DenseRows:
        """Some of the rows."""
        return DenseRows(self._matrix[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._matrix.toarray(), dtype)


def dense_rows(array: Any) -> Any:
    """`array`, whose rows are arrays."""
    return DenseRows(array) if hasattr(array, "tocoo") else array


def _check_shape(array: np.ndarray, shape: Any, expected: str) -> None:
    if shape is None:
        return
    if array.ndim != len(shape):
        raise ValueError(f"{expected} {len(shape)} dimensions, but got array with shape {array.shape}")
    if any(want is not None and want != size for want, size in zip(shape[1:], array.shape[1:], strict=True)):
        raise ValueError(f"{expected} shape {tuple(shape[1:])} but got array with shape {array.shape[1:]}")


def sample_weights_of(sample_weight: Any, class_weight: Any, targets: list[Any], names: list[str]) -> list[Any] | None:
    """Weights for each output's samples, from weights of samples and of classes; None if all are 1."""
    by_classes = [_of_output(class_weight, i, name, len(names)) for i, name in enumerate(names)]
    if sample_weight is None and not any(by_classes):
        return None
    found = []
    for i, (name, target) in enumerate(zip(names, targets, strict=True)):
        weight = _for_output(sample_weight, i, name, len(names))
        by_class = by_classes[i]
        weights = np.ones(len(target), np.float32) if weight is None else np.asarray(weight, np.float32)
        if by_class:
            numbered = target if target.shape[-1] > 1 else target.astype(int)
            weights = weights * weights_of_classes(numbered, by_class).astype(np.float32)
        if weights.shape[0] != len(target):
            raise ValueError(f"Found a sample_weight of shape {weights.shape} for {len(target)} samples of {name}.")
        found.append(weights)
    return found


def _of_output(class_weight: Any, i: int, name: str, count: int) -> dict[Any, float] | None:
    """The weights of one output's classes; what is no dict, as an array of them, counts for nothing in TensorFlow."""
    if isinstance(class_weight, dict):
        found = class_weight.get(name, None if count > 1 else class_weight)
    elif isinstance(class_weight, list | tuple) and len(class_weight) == count:
        found = class_weight[i]
    else:
        found = None
    if found is None and count == 1 and class_weight is not None and np.size(class_weight):
        warnings.warn(
            "class_weight is no dict {class: weight}, so it has no effect, as in TensorFlow 1.15: "
            "pass dict(enumerate(weights)).",
            stacklevel=2,
        )
    return found if isinstance(found, dict) else None


def _for_output(given: Any, i: int, name: str, count: int) -> Any:
    if isinstance(given, dict):
        return given.get(name)
    if isinstance(given, list | tuple) and (count > 1 or (len(given) == 1 and np.ndim(given[0]) > 0)):
        return given[i]
    return given


def weights_of_classes(target: np.ndarray, class_weight: Any) -> np.ndarray:
    """The weight of each row's class: its number, or the largest of its columns. Raises ValueError for classes without
    a weight, and for targets that are no rows."""
    if target.ndim > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    classes = target.argmax(axis=1) if target.ndim == 2 and target.shape[1] > 1 else target.ravel()
    missing = set(classes.tolist()) - set(class_weight)
    if missing:
        raise ValueError(
            f"`class_weight` must contain all classes in the data. The classes {missing} exist in the data but not in "
            "`class_weight`."
        )
    return np.asarray([class_weight[c] for c in classes.tolist()])


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
