"""What one replica does in a step of training: parts of the model that are computed forward, then backward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.export import export


@export("placement.ModelPart")
@dataclass(frozen=True, slots=True)
class Part:
    """A part of a model, such as a layer.

    forward, backward: seconds. pull: bytes of parameters that must be there before it is computed forward. push: bytes
    of gradients that are there after it was computed backward. boundary: bytes that the next part gets of it. kept:
    bytes that it keeps for its backward computation, `boundary` included. state: bytes of all its variables, such as
    moments of gradients, which stay where the variables are.
    """

    forward: float
    backward: float
    pull: float = 0.0
    push: float = 0.0
    boundary: float = 0.0
    kept: float = 0.0
    state: float = 0.0


@export("placement.ReplicaStep")
@dataclass(frozen=True, slots=True)
class ReplicaStep:
    """A replica's step on `devices` devices: its parts in the order in which they are computed forward.

    examples: in a replica's batch. update: seconds for applying gradients where the parts are computed. launch: of the
    seconds, those that smaller batches take as well. peak: bytes of memory on the device that needs most.
    """

    parts: tuple[Part, ...]
    examples: float
    update: float = 0.0
    launch: float = 0.0
    peak: float = 0.0
    devices: int = 1

    @property
    def seconds(self) -> float:
        """Without updates and without waiting for anything."""
        return sum(part.forward + part.backward for part in self.parts)

    @property
    def pull(self) -> float:
        return sum(part.pull for part in self.parts)

    @property
    def push(self) -> float:
        return sum(part.push for part in self.parts)

    @property
    def state(self) -> float:
        return sum(part.state for part in self.parts)

    @property
    def alone(self) -> float:
        """Examples per second of one replica that trains alone."""
        return self.examples / (self.seconds + self.update)

    def lasting(self, seconds: float) -> ReplicaStep:
        """The same step if it takes `seconds` without updates: for a model that has been measured."""
        factor = seconds / self.seconds
        parts = [replace(part, forward=part.forward * factor, backward=part.backward * factor) for part in self.parts]
        return replace(self, parts=tuple(parts), launch=self.launch * factor)

    def merged(self, most: int) -> ReplicaStep:
        """With at most so many parts, of about equal bytes and seconds: neighbours are put together."""
        return replace(self, parts=tuple(map(together, split(self.parts, most, _weight(self)))))

    def stages(self, count: int) -> list[Part]:
        """The parts as a pipeline of `count` stages, of which the slowest is as fast as possible."""
        if count > len(self.parts):
            raise ValueError(f"{count} stages cannot be made of {len(self.parts)} parts")
        return list(map(together, split(self.parts, count, [part.forward + part.backward for part in self.parts])))


def _weight(step: ReplicaStep) -> list[float]:
    seconds, size = step.seconds or 1.0, step.pull + step.push or 1.0
    return [(part.forward + part.backward) / seconds + (part.pull + part.push) / size for part in step.parts]


def together(parts: Sequence[Part]) -> Part:
    """Parts that follow each other, as one."""
    return Part(
        sum(part.forward for part in parts),
        sum(part.backward for part in parts),
        sum(part.pull for part in parts),
        sum(part.push for part in parts),
        parts[-1].boundary,
        sum(part.kept for part in parts),
        sum(part.state for part in parts),
    )


def split(parts: Sequence[Part], most: int, weights: Sequence[float]) -> list[Sequence[Part]]:
    """`parts` in at most `most` groups of neighbours, of which the heaviest is as light as can be."""
    count = len(parts)
    most = min(most, count)
    before = [0.0]
    for weight in weights:
        before.append(before[-1] + weight)
    best = [[float("inf")] * (count + 1) for _ in range(most + 1)]
    cut = [[0] * (count + 1) for _ in range(most + 1)]
    best[0][0] = 0.0
    for groups in range(1, most + 1):
        for end in range(groups, count + 1):
            for start in range(end - 1, groups - 2, -1):
                last = before[end] - before[start]
                heaviest = max(best[groups - 1][start], last)
                if heaviest < best[groups][end]:
                    best[groups][end], cut[groups][end] = heaviest, start
                if last > best[groups][end]:
                    break
    found: list[Sequence[Part]] = []
    end = count
    for groups in range(most, 0, -1):
        start = cut[groups][end]
        found.append(parts[start:end])
        end = start
    return found[::-1]
