"""Gym's classes of wrappers as programs until 0.25 derive their own from them, with the methods of until 0.9, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.programs.removed.gym_spaces import space_of


def _base(gym: Any) -> type:
    class Wrapper(gym.Env):
        """An environment around another, with its attributes; methods are the other's unless a subclass has them."""

        def __init__(self, env: Any) -> None:
            self.env = env
            for name in ("action_space", "observation_space"):
                if hasattr(env, name):
                    setattr(self, name, space_of(gym, getattr(env, name)))
            for name in ("reward_range", "metadata"):
                if hasattr(env, name):
                    setattr(self, name, getattr(env, name))

        def __getattr__(self, name: str) -> Any:
            if name == "env":
                raise AttributeError("Wrapper.__init__ has not been called")
            return getattr(self.env, name)

        @property
        def spec(self) -> Any:
            return self.env.spec

        @property
        def unwrapped(self) -> Any:
            return self.env.unwrapped

        def step(self, action: Any) -> Any:
            return self._step(action)

        def _step(self, action: Any) -> Any:
            """What subclasses for Gym until 0.9 define instead."""
            return self.env.step(action)

        def reset(self, **options: Any) -> Any:
            return self._reset(**options)

        def _reset(self, **options: Any) -> Any:
            return self.env.reset(**options)

        def render(self, *args: Any, **options: Any) -> Any:
            return self.env.render(*args, **options)

        def seed(self, seed: int | None = None) -> Any:
            return self.env.seed(seed)

        def close(self) -> Any:
            return self.env.close()

    return Wrapper


def wrappers_of(gym: Any) -> dict[str, type]:
    """Gym's own classes of wrappers, by name."""
    Wrapper = _base(gym)

    class ObservationWrapper(Wrapper):  # type: ignore[misc, valid-type]
        def reset(self, **options: Any) -> Any:
            return self.observation(self.env.reset(**options))

        def step(self, action: Any) -> Any:
            observation, *others = self.env.step(action)
            return self.observation(observation), *others

        def observation(self, observation: Any) -> Any:
            return self._observation(observation)

    class RewardWrapper(Wrapper):  # type: ignore[misc, valid-type]
        def step(self, action: Any) -> Any:
            observation, reward, *others = self.env.step(action)
            return observation, self.reward(reward), *others

        def reward(self, reward: Any) -> Any:
            return self._reward(reward)

    class ActionWrapper(Wrapper):  # type: ignore[misc, valid-type]
        def step(self, action: Any) -> Any:
            return self.env.step(self.action(action))

        def action(self, action: Any) -> Any:
            return self._action(action)

    return {each.__name__: each for each in (Wrapper, ObservationWrapper, RewardWrapper, ActionWrapper)}


def flatten_dict_wrapper(gym: Any, base: Any) -> type:
    """The wrapper that Gym had until 0.12 for environments whose observations are dicts. base: ObservationWrapper."""

    class FlattenDictWrapper(base):
        """Observations under `dict_keys`, one after the other, as one array [n] of float32."""

        def __init__(self, env: Any, dict_keys: Any) -> None:
            super().__init__(env)
            self.dict_keys = dict_keys
            size = sum(int(np.prod(self.env.observation_space.spaces[key].shape)) for key in dict_keys)
            self.observation_space = gym.spaces.Box(-np.inf, np.inf, shape=(size,), dtype=np.float32)

        def observation(self, observation: Any) -> Any:
            return np.concatenate([np.ravel(observation[key]) for key in self.dict_keys])

    return FlattenDictWrapper
