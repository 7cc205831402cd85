"""What homework and agents asked of Gym besides environments: statistics of `Monitor`, lists of games to be learnt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.programs.report import REPORT

_GAMES = ("BeamRider", "Breakout", "Enduro", "Pong", "Qbert", "Seaquest", "SpaceInvaders")


def benchmark_spec(name: str) -> Any:
    """Of Gym until 0.9: `tasks`, each with `env_id` and `max_timesteps`. Raises KeyError for others than Atari's."""
    steps = {"Atari40M": 40_000_000, "Atari200M": 200_000_000}
    if name not in steps:
        raise KeyError(f"gym.benchmark_spec({name!r}): Penstock knows {' and '.join(steps)}")
    tasks = [SimpleNamespace(env_id=f"{game}NoFrameskip-v4", trials=2, max_timesteps=steps[name]) for game in _GAMES]
    return SimpleNamespace(id=name, tasks=tasks)


def monitor(wrapper: type) -> type:
    class Monitor(wrapper):
        """Records nothing in files; it counts steps and adds up rewards, of finished episodes as well."""

        def __init__(self, env: Any, directory: str = "", *args: Any, **options: Any) -> None:
            super().__init__(env)
            REPORT.note("gym.wrappers.Monitor recorded nothing")
            self._rewards: list[float] = []
            self._lengths: list[int] = []
            self._total, self._length, self._steps = 0.0, 0, 0

        def reset(self, **options: Any) -> Any:
            self._end_episode()
            return super().reset(**options)

        def step(self, action: Any) -> Any:
            result = super().step(action)
            self._total += float(result[1])
            self._length += 1
            self._steps += 1
            if any(result[2:-1]):
                self._end_episode()
            return result

        def _end_episode(self) -> None:
            if self._length:
                self._rewards.append(self._total)
                self._lengths.append(self._length)
            self._total, self._length = 0.0, 0

        def get_total_steps(self) -> int:
            return self._steps

        def get_episode_rewards(self) -> list[float]:
            return self._rewards

        def get_episode_lengths(self) -> list[int]:
            return self._lengths

    return Monitor
