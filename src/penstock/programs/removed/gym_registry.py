"""The list of environments, as Gym had it until 0.25: an object with methods, of names and entry points of then.

Programs look in it for what kind of environment a name is (`spec.entry_point.split(":")[0].split(".")[-1]` is
`classic_control`, `mujoco` or `atari`), and which names there are.
"""

from __future__ import annotations

import copy
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NAME = re.compile(r"(.+)-v(\d+)")
_KINDS = r"(gym\w*\.envs\.(?:classic_control|mujoco|box2d|toy_text))\.\w+:"
"""Entry points of the library's own environments, which named packages without the module in them."""
_ATARI = "gym.envs.atari:AtariEnv"
_GAMES = [f"{memory}{often}" for memory in ("", "-ram") for often in ("", "Deterministic", "NoFrameskip")]


class Registry(dict):
    """Specifications by name, with the methods that the list had as an object. gym: the library."""

    def __init__(self, gym: Any) -> None:
        super().__init__()
        self._gym = gym
        for spec in list(gym.envs.registry.values()):
            self.add(spec)
        for name in self._older():
            self.add(self[_newer(name, self)], name)
        for name in _atari():
            self.setdefault(name, _then(gym.envs.registration.EnvSpec(name, entry_point=_ATARI), None, _ATARI))

    def _older(self) -> list[str]:
        """Names of versions before the first that is there: the next one stands in for them."""
        first: dict[str, int] = {}
        for name in self:
            if (found := _NAME.fullmatch(name)) is not None:
                first[found[1]] = min(int(found[2]), first.get(found[1], 99))
        return [f"{name}-v{version}" for name, lowest in first.items() for version in range(lowest)]

    def add(self, spec: Any, name: str | None = None) -> None:
        self[name or spec.id] = _then(spec, name, self._entry_point(spec))

    def _entry_point(self, spec: Any) -> Any:
        """As text. Of environments whose library is gone, a function tells of it: it is that of a later version."""
        found = spec.entry_point
        if not callable(found):
            return found
        stem = spec.id.rpartition("-v")[0] + "-v"
        later = (each.entry_point for each in self._gym.envs.registry.values() if each.id.startswith(stem))
        return next((each for each in later if isinstance(each, str)), f"{found.__module__}:{found.__name__}")

    @property
    def env_specs(self) -> Any:
        return self

    def all(self) -> Any:
        return self.values()

    def spec(self, name: str) -> Any:
        return self[name] if name in self else self._gym.spec(name)

    def make(self, name: str, **options: Any) -> Any:
        return self._gym.make(name, **options)

    def register(self, id: str, **options: Any) -> None:
        self._gym.register(id, **options)


def _newer(name: str, there: Any) -> str:
    stem, _, version = name.rpartition("-v")
    return next(later for each in range(int(version) + 1, 100) if (later := f"{stem}-v{each}") in there)


def _then(spec: Any, name: str | None, entry_point: Any) -> Any:
    found = copy.copy(spec)
    if name is not None:
        found.id = name
    if isinstance(entry_point, str):
        found.entry_point = re.sub(_KINDS, r"\1:", entry_point).replace("gymnasium.", "gym.", 1)
    found._entry_point = found.entry_point  # its name until Gym 0.13
    return found


def _atari() -> Iterator[str]:
    """The names of Atari's games until Gym 0.26, if ale_py is installed: it is not imported."""
    found = importlib.util.find_spec("ale_py")
    for folder in (found and found.submodule_search_locations) or ():
        for game in sorted(Path(folder, "roms").glob("*.bin")):
            name = "".join(part.capitalize() for part in game.stem.split("_"))
            yield from (f"{name}{kind}-v{version}" for kind in _GAMES for version in (0, 4))
