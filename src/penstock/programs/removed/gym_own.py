"""Environments that programs define themselves, as Gym had them until 0.25: `reset()` gives an observation, `step` four
values. Before 0.9.6 their methods, and those of wrappers, had names that begin with an underscore."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from penstock.programs.removed.gym_registry import Registry

METHODS = ("step", "reset", "render", "seed", "close", "observation", "reward", "action")
"""Of environments and wrappers: until 0.9.6, classes defined `_step` for `step`."""
GONE_OPTIONS = frozenset({"local_only", "tags", "trials"})
"""Options of `register` that Gym has dropped."""


def take_underscores(env: Any) -> None:
    """Classes made from `env` have a method `step` where they define `_step`, and so on."""

    def __init_subclass__(cls: type, **options: Any) -> None:
        super(env, cls).__init_subclass__(**options)
        for name in METHODS:
            if f"_{name}" in vars(cls) and name not in vars(cls):
                setattr(cls, name, _calling(vars(cls)[f"_{name}"]))

    env.__init_subclass__ = classmethod(__init_subclass__)


def _calling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that calls that of this name, which a subclass may have changed."""
    name = function.__name__

    @functools.wraps(function)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(self, name)(*args, **options)

    return method


def seed(self: Any, seed: int | None = None) -> list[int]:
    """Of an environment that does not say how it is seeded."""
    return []


class Own:
    """The environments that a program registers."""

    def __init__(self, gym: Any, wrapper: type, registry: Registry) -> None:
        self._gym = gym
        self._registry = registry
        self._names: set[str] = set()
        self._limited = _limited(wrapper)
        self._register = gym.envs.registration.register

    def register(self, id: str, entry_point: Any = None, **options: Any) -> None:
        """As Gym's, which lacks some of the options now."""
        limit = options.pop("timestep_limit", None)
        if limit is not None:
            options.setdefault("max_episode_steps", limit)
        for name in GONE_OPTIONS & options.keys():
            del options[name]
        options["kwargs"] = options.get("kwargs") or {}  # None until 0.26
        self._register(id, entry_point=entry_point, **options)
        self._names.add(id)
        self._registry.add(self._gym.envs.registry[id])

    def made(self, name: Any, options: dict[str, Any]) -> Any:
        """The program's environment of that name, of at most so many steps as it was registered with; None if there is
        none, or if it is one of today."""
        if name not in self._names:
            return None
        spec = self._gym.envs.registry[name]
        make = spec.entry_point if callable(spec.entry_point) else _loaded(spec.entry_point)
        if inspect.isclass(make) and not _is_of_then(make):
            return None
        env = make(**{**spec.kwargs, **options})
        if not _is_of_then(type(env)):
            return None
        with contextlib.suppress(AttributeError):
            env.unwrapped.spec = spec
        return env if spec.max_episode_steps is None else self._limited(env, spec.max_episode_steps)


def _loaded(entry: str) -> Any:
    module, _, name = entry.partition(":")
    return getattr(importlib.import_module(module), name)


def _is_of_then(env: type) -> bool:
    """Whether its `reset` takes no seed, which it has to since 0.26."""
    reset = getattr(env, "reset", None)
    if reset is None:
        return False
    taken = inspect.signature(reset).parameters
    return "seed" not in taken and all(each.kind is not each.VAR_KEYWORD for each in taken.values())


def _limited(wrapper: type) -> type:
    class TimeLimit(wrapper):
        """Ends an episode after so many steps."""

        def __init__(self, env: Any, max_episode_steps: int) -> None:
            super().__init__(env)
            self._max_episode_steps, self._elapsed_steps = max_episode_steps, 0

        def reset(self, **options: Any) -> Any:
            self._elapsed_steps = 0
            return self.env.reset(**options)

        def step(self, action: Any) -> Any:
            observation, reward, done, info = self.env.step(action)
            self._elapsed_steps += 1
            if self._elapsed_steps >= self._max_episode_steps:
                info, done = {**info, "TimeLimit.truncated": not done}, True
            return observation, reward, done, info

    return TimeLimit


def categorical_sample(prob_n: Any, np_random: Any) -> int:
    """An index, drawn with these probabilities."""
    import numpy as np

    draw = np_random.random() if hasattr(np_random, "random") else np_random.rand()
    return int((np.cumsum(np.asarray(prob_n)) > draw).argmax())


def discrete_env() -> type:
    """The class of environments that are tables, which Gym had until 0.21 (`gym.envs.toy_text.discrete`)."""
    import gym
    import numpy as np

    base: Any = gym.Env

    class DiscreteEnv(base):
        """nS states and nA actions. P[state][action] is a list of (probability, next state, reward, done); isd: the
        probabilities of the first state."""

        def __init__(self, nS: int, nA: int, P: Any, isd: Any) -> None:
            self.P, self.isd, self.nS, self.nA = P, isd, nS, nA
            self.lastaction: Any = None
            self.action_space = gym.spaces.Discrete(nA)
            self.observation_space = gym.spaces.Discrete(nS)
            self.seed()
            self.s = categorical_sample(isd, self.np_random)

        def seed(self, seed: int | None = None) -> list[int | None]:
            self.np_random = np.random.RandomState(seed)
            return [seed]

        def reset(self) -> int:
            self.s, self.lastaction = categorical_sample(self.isd, self.np_random), None
            return self.s

        def step(self, a: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
            transitions = self.P[self.s][a]
            chosen = categorical_sample([each[0] for each in transitions], self.np_random)
            probability, self.s, reward, done = transitions[chosen]
            self.lastaction = a
            return self.s, reward, done, {"prob": probability}

    return DiscreteEnv


def goal_env(gym: Any) -> Any:
    """gym.GoalEnv, which Gym had until 0.21: an environment whose observations say what is to be achieved."""

    class GoalEnv(gym.Env):
        """Observations are dicts with the keys observation, achieved_goal and desired_goal."""

        def reset(self, **options: Any) -> Any:
            space = self.observation_space
            if not isinstance(space, gym.spaces.Dict):
                raise TypeError("GoalEnv requires an observation space of type gym.spaces.Dict")
            for key in ("observation", "achieved_goal", "desired_goal"):
                if key not in space.spaces:
                    raise KeyError(f"GoalEnv requires the key {key!r} in its observation space.")

        def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> float:
            """What a subclass says of a goal that was achieved where another was desired."""
            raise NotImplementedError

    return GoalEnv
