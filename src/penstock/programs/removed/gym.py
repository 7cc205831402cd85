"""OpenAI Gym as it was until 0.25: `reset()` gives an observation, `step` four values.

gym.make of 0.26 or gymnasium (also where there is no gym) is made to give such environments. A program of today is told
by what it does with a result: five values unpacked from `step`, two from `reset`, or `render_mode=` given to `make`.
"""

from __future__ import annotations

import contextlib
import dis
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

from penstock.programs.removed import gym_own, gym_random, gym_spaces
from penstock.programs.removed.giving import ModuleOf, give
from penstock.programs.removed.gym_monitor import benchmark_spec, monitor
from penstock.programs.removed.gym_registry import Registry
from penstock.programs.removed.gym_wrappers import flatten_dict_wrapper, wrappers_of
from penstock.programs.report import REPORT

_NOTE = "gym.make gives environments of Gym until 0.25"


def _ignored(*args: Any, **options: Any) -> None:
    """What had to do with its own site or logs."""


@cache
def _use(code: CodeType, call: int) -> tuple[str, Any]:
    """What is done with the result of a call: the name and the argument of the instruction after it. The first item's
    being taken counts as unpacking two."""
    after = [each for each in dis.get_instructions(code) if each.offset > call][:2]
    if not after:
        return "", None
    if after[0].argval == 0 and after[0].opname.startswith("LOAD_") and after[1].opname.startswith("BINARY_"):
        return "UNPACK_SEQUENCE", 2
    return after[0].opname, after[0].argval


def _unpacks(count: int) -> bool:
    """Whether the caller's caller unpacks so many values."""
    frame = sys._getframe(2)
    return _use(frame.f_code, frame.f_lasti) == ("UNPACK_SEQUENCE", count)


_AROUND = frozenset({"TimeLimit", "OrderEnforcing", "PassiveEnvChecker"})
"""Wrappers that `make` of today puts around all environments."""


def _without_limit(env: Any) -> Any:
    while type(env).__name__ in _AROUND:
        env = env.env
    return env


def _holder(env: Any, name: str) -> Any:
    """What has the attribute: the environment inside, or a wrapper of its own (`_max_episode_steps`). None: nothing."""
    if hasattr(env.unwrapped, name):
        return env.unwrapped
    while env is not None and name not in vars(env):
        env = vars(env).get("env")
    return env


def _outermost(wrapper: type) -> type:
    class Then(wrapper):
        """An environment of today as programs of then use it: `env.env`, `env.unwrapped` and attributes that are set,
        too. `_inner` is the one of today."""

        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self._seed: int | None = None

        def __getattr__(self, name: str) -> Any:
            if name in ("_inner", "env"):
                raise AttributeError(name)
            return getattr(self._inner, name)

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "env":
                return object.__setattr__(self, "_inner", value)
            inner = self.__dict__.get("_inner")
            object.__setattr__(self if inner is None else _holder(inner, name) or self, name, value)

        @property
        def env(self) -> Any:
            """The environment without its limit of time, the only wrapper that `make` put around it then."""
            if self._inner is self._inner.unwrapped:
                return self._inner
            if "_below" not in self.__dict__:
                object.__setattr__(self, "_below", Then(_without_limit(self._inner)))
            return self._below

        @property
        def unwrapped(self) -> Any:
            return self if self._inner is self._inner.unwrapped else Then(self._inner.unwrapped)

        @property
        def spec(self) -> Any:
            return self._inner.spec

        def close(self) -> Any:
            return self._inner.close()

        @property
        def monitor(self) -> Any:
            return SimpleNamespace(start=_ignored, close=_ignored)

        def reset(self, **options: Any) -> Any:
            now = bool(options) or _unpacks(2)
            seed, self._seed = self._seed, None
            if not now and gym_random.draws_as_then(self._inner.unwrapped):
                gym_random.give_random(self._inner.unwrapped)
            result = self._inner.reset(**({"seed": seed} if seed is not None else {}), **options)
            return result if now else result[0]

        def step(self, action: Any) -> Any:
            result = self._inner.step(action)
            if _unpacks(5):
                return result
            observation, reward, terminated, truncated, info = result
            if truncated:
                info = {**info, "TimeLimit.truncated": not terminated}
            if "lives" in info:
                info = {**info, "ale.lives": info["lives"]}
            return observation, reward, bool(terminated or truncated), info

        def seed(self, seed: int | None = None) -> list[int | None]:
            inner = self._inner.unwrapped
            if gym_random.draws_as_then(inner):
                inner.np_random, seed = gym_random.np_random(seed)
            else:
                self._seed = seed
            return [seed]

        @property
        def np_random(self) -> Any:
            return gym_random.give_random(self._inner.unwrapped)

        def render(self, mode: str = "human", **options: Any) -> Any:
            """Windows are not opened. Raises what the environment does if it cannot draw a picture."""
            if mode == "human":
                REPORT.note("env.render() opened no window")
                return None
            self._inner.unwrapped.render_mode = mode
            return self._inner.unwrapped.render()

    return Then


def _versions(registry: Any, name: Any) -> list[Any]:
    """The version asked for, if it is there, and those after it."""
    found = re.fullmatch(r"(.+)-v(\d+)", name) if isinstance(name, str) else None
    if found is None:
        return [name]
    there = [re.fullmatch(rf"{re.escape(found[1])}-v(\d+)", each) for each in registry]
    later = sorted(int(each[1]) for each in there if each is not None and int(each[1]) >= int(found[2]))
    return [f"{found[1]}-v{version}" for version in later]


def _atari(registry: Any, name: Any) -> tuple[str, dict[str, Any]] | None:
    """Its game as ale_py has it, and what tells it from that: until Gym 0.26, a name said how often it shows a screen,
    and whether it shows the memory instead; only -v0 repeated actions at random. None for other names."""
    found = re.fullmatch(r"(\w+?)(-ram)?(Deterministic|NoFrameskip)?-v([0-4])", name) if isinstance(name, str) else None
    if found is None or f"ALE/{found[1]}-v5" not in registry:
        return None
    skipped = {"Deterministic": 3 if found[1] == "SpaceInvaders" else 4, "NoFrameskip": 1, None: (2, 5)}
    return f"ALE/{found[1]}-v5", {
        "obs_type": "ram" if found[2] else "rgb",
        "frameskip": skipped[found[3]],
        "repeat_action_probability": 0.25 if found[4] == "0" else 0.0,
        "max_episode_steps": 400_000 if found[3] == "NoFrameskip" else 100_000,
    }


def _pass_attributes(gym: Any) -> None:
    """Wrappers have the attributes of what they wrap, as until Gymnasium 1.0: `env.env.ale`, `env.env.state`."""

    def passed(self: Any, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)

    if not hasattr(gym.Wrapper, "__getattr__"):
        gym.Wrapper.__getattr__ = passed


def _makers(gym: Any, made: Callable[..., Any], name: Any) -> Iterator[tuple[Any, Callable[..., Any], Any]]:
    """Ways to make an environment, the first to be tried first: what the library has, then Gymnasium, which knows
    Atari's games by ale_py."""
    yield from ((gym, made, each) for each in _versions(gym.envs.registry, name))
    with contextlib.suppress(ImportError):
        now = importlib.import_module("gymnasium")
        _pass_attributes(now)
        with contextlib.suppress(ImportError):
            now.register_envs(importlib.import_module("ale_py"))
        yield from ((now, now.make, each) for each in _versions(now.envs.registry, name))
        game = _atari(now.envs.registry, name)
        if game is not None:
            yield now, partial(now.make, **game[1]), game[0]


def _made(gym: Any, made: Callable[..., Any], name: Any, *args: Any, **options: Any) -> Any:
    """Raises what the last version of the library's own raises if no way works, such as what it lacks."""
    failed: Exception | None = None
    for library, make, each in _makers(gym, made, name):
        try:
            env = make(each, *args, **options)
        except (library.error.Error, ImportError) as error:
            failed = error if library is gym else failed
            continue
        if each != name:
            REPORT.note(f"{each} for {name}")
        if library is not gym:
            REPORT.note(f"{each} of Gymnasium")
        return env
    if failed is not None:
        raise failed
    return made(name, *args, **options)


def patch(gym: Any) -> None:
    """Does nothing to Gym until 0.25."""
    if re.match(r"0\.([01]\d|2[0-5]|\d)(\.|$)", str(getattr(gym, "__version__", ""))):
        return
    _pass_attributes(gym)
    made = gym.make
    gym_own.take_underscores(gym.Env)
    gym_spaces.take_none(gym.spaces.Discrete)
    gym_spaces.take_a_size(gym.spaces.Box)
    if not hasattr(gym.Env, "seed"):
        gym.Env.seed = gym_own.seed
    wrappers = wrappers_of(gym)
    then = _outermost(wrappers["Wrapper"])
    registry = Registry(gym)
    own = gym_own.Own(gym, wrappers["Wrapper"], registry)
    registered = {"register": own.register, "registry": registry}

    def make(id: Any, *args: Any, **options: Any) -> Any:
        if (env := own.made(id, options)) is not None:
            return env
        if "render_mode" in options:
            return made(id, *args, **options)
        REPORT.note(_NOTE)
        return then(_made(gym, made, id, *args, **{"disable_env_checker": True, **options}))

    specified = gym.spec

    def spec(env_id: str) -> Any:
        return specified(next(iter(_versions(gym.envs.registry, env_id)), env_id))

    EnvSpec: Any = gym.envs.registration.EnvSpec
    EnvSpec.timestep_limit = property(lambda self: self.max_episode_steps)
    recorder = monitor(wrappers["Wrapper"])
    registration = _seen_as("gym.envs.registration", gym.envs.registration, make=make, spec=spec, **registered)
    envs = _seen_as("gym.envs", gym.envs, make=make, spec=spec, registration=registration, **registered)
    gone = dict.fromkeys(("undo_logger_setup", "upload"), lambda: _ignored)
    seeding = _seen_as("gym.utils.seeding", gym.utils.seeding, **gym_random.SEEDING)
    now = _seen_as(
        "gym",
        gym,
        make=make,
        spec=spec,
        envs=envs,
        register=own.register,
        utils=_seen_as("gym.utils", gym.utils, seeding=seeding),
        core=_seen_as("gym.core", gym.core, **wrappers),
        **wrappers,
    )
    now.wrappers = _seen_as("gym.wrappers", gym.wrappers)
    now.logger = _seen_as(
        "gym.logger", gym.logger, **{"MIN_LEVEL": getattr(gym.logger, "min_level", 30), **vars(gym.logger)}
    )
    flattening = flatten_dict_wrapper(gym, wrappers["ObservationWrapper"])
    give(now.wrappers, {"Monitor": lambda: recorder, "FlattenDictWrapper": lambda: flattening})
    goals = cache(lambda: gym_own.goal_env(gym))
    give(now, {**gone, "benchmark_spec": lambda: benchmark_spec, "GoalEnv": goals})
    give(now.core, {"GoalEnv": goals})


def _seen_as(name: str, module: ModuleType, **members: Any) -> Any:
    """What programs import under the name: the module with other members. The library itself keeps its own."""
    seen = sys.modules[name] = ModuleType(name)
    vars(seen).update({**vars(module), "__name__": name, **members})
    return seen


class _Gymnasium(ModuleOf):
    """Gymnasium under Gym's name, its modules too."""

    def make(self, name: str) -> ModuleType:
        try:
            gym = importlib.import_module("gymnasium")
        except ModuleNotFoundError:
            raise ModuleNotFoundError("No module named 'gym'; gymnasium will do", name=name) from None
        for inner, module in list(sys.modules.items()):
            if inner.startswith("gymnasium."):
                sys.modules[inner.replace("gymnasium", name, 1)] = module
        return gym


PATCHES: dict[str, Callable[[Any], None]] = {"gym": patch}
MODULES: dict[str, ModuleOf] = {
    "gym": _Gymnasium(None),
    "gym.spaces.prng": ModuleOf(None, gym_spaces.PRNG),
    "gymnasium.spaces.prng": ModuleOf(None, gym_spaces.PRNG),
    "gym.envs.toy_text.discrete": ModuleOf(
        None, {"DiscreteEnv": gym_own.discrete_env, "categorical_sample": lambda: gym_own.categorical_sample}
    ),
}
