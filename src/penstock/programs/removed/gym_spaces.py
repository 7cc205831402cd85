"""Spaces of Gymnasium's environments as Gym's, for programs that ask `isinstance(env.action_space, gym.spaces.Box)`."""

from __future__ import annotations

import functools
from functools import cache
from typing import Any

import numpy as np

from penstock.programs.removed.giving import Source


def space_of(gym: Any, space: Any) -> Any:
    """The same space, of the library; spaces that it does not know stay as they are."""
    kinds = gym.spaces
    name = type(space).__name__
    if isinstance(space, kinds.Space) or not hasattr(kinds, name):
        return space
    if name == "Discrete":
        return kinds.Discrete(int(space.n), start=int(space.start))
    if name == "Box":
        return kinds.Box(space.low, space.high, dtype=space.dtype.type)
    if name in ("MultiBinary", "MultiDiscrete"):
        return getattr(kinds, name)(space.n if name == "MultiBinary" else space.nvec)
    if name == "Tuple":
        return kinds.Tuple([space_of(gym, each) for each in space.spaces])
    if name == "Dict":
        return kinds.Dict({key: space_of(gym, each) for key, each in space.spaces.items()})
    return space


def take_none(discrete: Any) -> None:
    """`Discrete(0)`, as until Gym 0.21."""
    made = discrete.__init__

    @functools.wraps(made)
    def __init__(self: Any, n: int, *args: Any, **options: Any) -> None:
        made(self, n or 1, *args, **options)
        if not n:
            self.n = n

    discrete.__init__ = __init__


def take_a_size(box: Any) -> None:
    """`Box(low, high, shape=3)`, as until Gym 0.9."""
    made = box.__init__

    @functools.wraps(made)
    def __init__(self: Any, low: Any, high: Any, shape: Any = None, *args: Any, **options: Any) -> None:
        made(self, low, high, (shape,) if isinstance(shape, int | np.integer) else shape, *args, **options)

    box.__init__ = __init__


@cache
def _random() -> Any:
    """What spaces drew samples with until Gym 0.9.6, and those of programs still do."""
    return np.random.RandomState()


def _seed(seed: int | None = None) -> None:
    _random().seed(seed)


PRNG: dict[str, Source] = {"np_random": _random, "seed": lambda: _seed}
"""Members of `gym.spaces.prng`."""
