"""Random order: ShuffleDataset, ShuffleAndRepeatDataset, with the names that TensorFlow 2 gives them, and
RandomDataset."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State, dataset_of
from penstock.ops.datasets.blocks import Block, joined, stack, values_of
from penstock.ops.datasets.define import TYPES, at_least, dataset_kernel, define_dataset, define_dummy, scalar
from penstock.ops.datasets.sequences import Repeat
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.runtime.philox import Numbers, chance
from penstock.tensor.dtypes import int64
from penstock.tensor.shapes import TensorShape

_SEEDED = "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64"
_AGAIN = ["reshuffle_each_iteration: bool = true"]

SHUFFLE_DATASET = define_dataset("ShuffleDataset", _SEEDED, [*_AGAIN, *TYPES])
SHUFFLE_DATASET_V3 = define_dataset(
    "ShuffleDatasetV3", f"{_SEEDED}, seed_generator: resource", [*_AGAIN, *TYPES], stateful=True
)
DUMMY_SEED_GENERATOR = define_dummy("DummySeedGenerator")
SHUFFLE_AND_REPEAT_DATASET = define_dataset("ShuffleAndRepeatDataset", f"{_SEEDED}, count: int64", _AGAIN)
SHUFFLE_AND_REPEAT_DATASET_V2 = define_dataset(
    "ShuffleAndRepeatDatasetV2", f"{_SEEDED}, count: int64, seed_generator: resource", [*_AGAIN, *TYPES], stateful=True
)
RANDOM_DATASET = define_dataset("RandomDataset", "seed: int64, seed2: int64", stateful=True)

Seed = tuple[int, int]


def _seed(ctx: KernelContext, seed: int, seed2: int) -> Seed:
    """Two seeds; both 0 means new ones each time."""
    if not seed and not seed2:
        ctx.refuse_chance()
        return chance()
    return seed, seed2


class Shuffled(DatasetState):
    """`source` in random order: each element is drawn from the next `size` that have not been drawn yet.

    Its iterators are numbered, and have different orders unless `again` is false. All orders are TensorFlow's for these
    seeds.
    """

    def __init__(self, source: DatasetState, size: int, seed: Seed, again: bool) -> None:
        super().__init__(source.dtypes, source.shapes)
        self.source, self.size, self.seed, self.again = source, size, seed, again
        self.rounds = itertools.count()

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _ShuffleIterator(self, ctx, next(self.rounds))

    def numbers(self, number: int, taken: int = 0) -> Numbers:
        """Those of the iterator of that number."""
        seed, seed2 = Numbers(self.seed, taken=2 * number).take(2).tolist() if self.again else self.seed
        return Numbers((seed, seed2), taken=taken)


class _Order:
    """Which of the elements of a pool are drawn.

    As in TensorFlow, the pool is a ring: the element drawn is replaced by the oldest one, and the next one comes to the
    end. Elements stay where they are in memory: `ring` says where those of the ring are.
    """

    def __init__(self, numbers: Numbers, ring: list[int], start: int = 0) -> None:
        self.numbers, self.ring, self.start = numbers, ring, start

    def exchanged(self, count: int) -> np.ndarray:
        """The places from which elements are drawn, and to which the next ones come."""
        return self._drawn(self.numbers.take(count) % np.uint32(len(self.ring)))

    def rest(self) -> np.ndarray:
        """The places from which all that is left is drawn."""
        left = np.arange(len(self.ring), 0, -1, dtype=np.uint32)
        return self._drawn(self.numbers.take(len(left)) % left)

    def _drawn(self, offsets: np.ndarray) -> np.ndarray:
        ring, start, size = self.ring, self.start, len(self.ring)
        slots = []
        for offset in offsets.tolist():
            at = (start + offset) % size
            slot = ring[at]
            ring[at], ring[start] = ring[start], slot
            slots.append(slot)
            start = (start + 1) % size
        self.start = start
        return np.array(slots, np.int64)


class _ShuffleIterator(ElementIterator):
    """`_pool` holds the elements to draw from, by rows. At the end of the input they get an order, `_rest`.

    One random number is drawn for each element, so the order does not depend on how many are requested at once.
    """

    def __init__(self, dataset: Shuffled, ctx: IterationContext, number: int) -> None:
        self._dataset = dataset
        self._input = dataset.source.iterate(ctx)
        self._number = number
        self._order = _Order(dataset.numbers(number), [])
        self._filling: list[Block] = []
        self._pool: _Pool | None = None
        self._rest: np.ndarray | None = None
        self._ended = False

    def _many(self, count: int) -> Block | None:
        if self._pool is None:
            self._fill()
        while self._rest is None:
            assert self._pool is not None
            block = self._input.next_many(min(count, self._pool.size))
            if block is not None:
                return self._pool.exchange(self._order.exchanged(block.size), block)
            self._rest = self._order.rest()
        drawn, self._rest = self._rest[:count], self._rest[count:]
        if not len(drawn):
            return None
        assert self._pool is not None
        return self._pool.block.take(drawn)

    def _fill(self) -> None:
        """Take the first elements; errors meanwhile lose none of them."""
        have = sum(block.size for block in self._filling)
        while have < self._dataset.size:
            block = self._input.next_many(self._dataset.size - have)
            if block is None:
                break
            self._filling.append(block)
            have += block.size
        self._pool = _Pool(joined(self._filling) if self._filling else Block(0, ()))
        self._filling = []
        self._order.ring = list(range(have))
        if have < self._dataset.size:
            self._rest = self._order.rest()

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        return {
            "number": self._number,
            "taken": self._order.numbers.taken,
            "ring": np.array(self._order.ring, np.int64),
            "start": self._order.start,
            "seed": list(self._dataset.seed),
            "filling": self._filling,
            "pool": None if self._pool is None else self._pool.block,
            "rest": self._rest,
            "input": self._input.save(),
        }

    def _restore(self, state: State) -> None:
        dataset, number = self._dataset, state["number"]
        dataset.seed, self._number = tuple(state["seed"]), number
        dataset.rounds = itertools.count(number + 1)
        self._order = _Order(dataset.numbers(number, state["taken"]), state["ring"].tolist(), state["start"])
        self._filling, self._rest = state["filling"], state["rest"]
        self._pool = None if state["pool"] is None else _Pool(state["pool"])
        self._input.restore(state["input"])


class _Pool:
    """Elements by rows, in separate memory, some of which are exchanged for others."""

    def __init__(self, block: Block) -> None:
        self.size = block.size
        self.block = Block(block.size, (_owned(column) for column in block.columns))

    def exchange(self, slots: np.ndarray, new: Block) -> Block:
        """Put the elements of `new` into `slots`, one after another; returns what was there each time.

        A slot may occur several times: its element is then the one that was put there before.
        """
        count = len(slots)
        order = np.argsort(slots, kind="stable")
        again = np.flatnonzero(slots[order[1:]] == slots[order[:-1]])
        before = np.full(count, -1)  # the new element, if any, that is in the slot by then
        before[order[again + 1]] = order[again]
        last = np.ones(count, bool)
        last[order[again]] = False
        pairs = zip(self.block.columns, new.columns, strict=True)
        columns = [_exchanged(pool, column, slots, before, last) for pool, column in pairs]
        self.block = Block(self.size, (pool for pool, _ in columns))
        return Block(count, (out for _, out in columns))


def _owned(column: Any) -> Any:
    if isinstance(column, list):
        return list(column)
    return column.copy() if isinstance(column, np.ndarray) else column.clone()


def _exchanged(pool: Any, new: Any, slots: np.ndarray, before: np.ndarray, last: np.ndarray) -> tuple[Any, Any]:
    """The pool with the new elements, and the elements that they replaced.

    Values that were separate in the beginning stay so: what collects them copies them, once.
    """
    if not isinstance(pool, list):
        new = stack(new)
    if isinstance(pool, list) or isinstance(new, list) or pool.shape[1:] != new.shape[1:]:
        pool, new = _listed(pool), _listed(new)
        out = [pool[slot] if b < 0 else new[b] for slot, b in zip(slots.tolist(), before.tolist(), strict=True)]
        for slot, value in zip(slots.tolist(), new, strict=True):
            pool[slot] = value
        return pool, out
    rows, fresh = _array(pool), _array(new)
    out = rows[slots]
    repeated = np.flatnonzero(before >= 0)
    if len(repeated):
        out[repeated] = fresh[before[repeated]]
        slots, fresh = slots[last], fresh[last]
    rows[slots] = fresh
    return pool, out if isinstance(pool, np.ndarray) else torch.from_numpy(out).view(pool.dtype)


def _listed(column: Any) -> list[Any]:
    return column if isinstance(column, list) else values_of(column)


def _array(column: Any) -> np.ndarray:
    """The memory of a column, with integers for types that NumPy lacks."""
    if isinstance(column, np.ndarray):
        return column
    if column.dtype == torch.bfloat16:
        column = column.view(torch.int16)
    return column.numpy()


class _Random(DatasetState):
    """Numbers without end, from 0 to 2**32 - 1."""

    def __init__(self, seed: Seed) -> None:
        super().__init__([int64], [TensorShape([])])
        self.seed = seed

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _RandomIterator(self.seed)


class _RandomIterator(ElementIterator):
    def __init__(self, seed: Seed) -> None:
        self._seed, self._numbers = seed, Numbers(seed)

    def _many(self, count: int) -> Block | None:
        return Block(count, (torch.from_numpy(self._numbers.take(count).astype(np.int64)),))

    def _save(self) -> State:
        return {"seed": list(self._seed), "taken": self._numbers.taken}

    def _restore(self, state: State) -> None:
        seed, seed2 = state["seed"]
        self._seed, self._numbers = (seed, seed2), Numbers((seed, seed2), taken=state["taken"])


# --- kernels --------------------------------------------------------------------------------------------


def _buffer_size(value: Any) -> int:
    return at_least(1, "buffer_size", value)


@dataset_kernel(SHUFFLE_DATASET, SHUFFLE_DATASET_V3)
def shuffle_dataset(ctx: KernelContext) -> Any:
    again = ctx["reshuffle_each_iteration"]

    def shuffled(source: Any, size: Any, seed: Any, seed2: Any, *_: Any) -> DatasetState:
        seeds = _seed(ctx, scalar("seed", seed), scalar("seed2", seed2))
        return Shuffled(dataset_of(source), _buffer_size(size), seeds, again)

    return shuffled


@dataset_kernel(SHUFFLE_AND_REPEAT_DATASET, SHUFFLE_AND_REPEAT_DATASET_V2)
def shuffle_and_repeat_dataset(ctx: KernelContext) -> Any:
    again = ctx["reshuffle_each_iteration"]

    def shuffled(source: Any, size: Any, seed: Any, seed2: Any, count: Any, *_: Any) -> DatasetState:
        rounds = scalar("count", count)
        if rounds < -1 or not rounds:
            raise invalid("count must be greater than zero or equal to -1.")
        seeds = _seed(ctx, scalar("seed", seed), scalar("seed2", seed2))
        return Repeat(Shuffled(dataset_of(source), _buffer_size(size), seeds, again), rounds)

    return shuffled


@dataset_kernel(RANDOM_DATASET)
def random_dataset(ctx: KernelContext) -> Any:
    return lambda seed, seed2: _Random(_seed(ctx, scalar("seed", seed), scalar("seed2", seed2)))
