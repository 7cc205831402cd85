"""Optuna's distributions as the unit cube, and what kernels see of its points.

A point has one coordinate in [0, 1] for each parameter; NaN where the parameter is inactive (a conditional parameter
that this trial did not ask for).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from torch import Tensor

ENUMERATED = 32  # up to so many values a parameter has no slope: they are tried one by one
_LATTICE = 4096  # beyond so many values rounding makes no difference
_INACTIVE = 0.5  # what kernels see of an inactive parameter: the same wherever it is inactive


class Dimension:
    """One parameter: a continuous or discrete scale, linear or logarithmic, or a choice."""

    def __init__(self, distribution: BaseDistribution) -> None:
        self.distribution = distribution
        self.choices = len(distribution.choices) if isinstance(distribution, CategoricalDistribution) else 0
        if isinstance(distribution, CategoricalDistribution):
            low, high, step, self.log = 0.0, self.choices - 1.0, 1.0, False
        elif isinstance(distribution, FloatDistribution | IntDistribution):
            low, high, self.log = float(distribution.low), float(distribution.high), distribution.log
            step = float(distribution.step or 0)
        else:
            raise ValueError(f"parameters of {type(distribution).__name__} have no place on the unit cube")
        self._low, self._step = low, step
        # Values at the ends of a discrete scale get as much of the cube as those between.
        self._start, self._end = self._scale(low - step / 2), self._scale(high + step / 2)
        self.count = round((high - low) / step) + 1 if step else math.inf
        self.lattice: Tensor | None = None
        if self.count <= _LATTICE:
            values = (low + index * step for index in range(int(self.count)))
            self.lattice = torch.tensor([self._to_unit(value) for value in values], dtype=torch.float64)

    @property
    def enumerated(self) -> bool:
        return bool(self.choices) or self.count <= ENUMERATED

    def encode(self, value: Any) -> float:
        return self._to_unit(float(self.distribution.to_internal_repr(value)))

    def decode(self, unit: float) -> Any:
        scaled = self._start + unit * (self._end - self._start)
        value = math.exp(scaled) if self.log else scaled
        if self._step:
            index = min(max(round((value - self._low) / self._step), 0), self.count - 1)
            value = self._low + index * self._step
        if isinstance(self.distribution, FloatDistribution):
            value = min(max(value, self.distribution.low), self.distribution.high)
        return self.distribution.to_external_repr(value)

    def _scale(self, value: float) -> float:
        return math.log(value) if self.log else value

    def _to_unit(self, value: float) -> float:
        return (self._scale(value) - self._start) / (self._end - self._start)


class Space:
    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.names = list(distributions)
        self.dimensions = [Dimension(distribution) for distribution in distributions.values()]
        # A choice has a column of its own in what kernels see; the columns of a parameter share a length scale.
        columns = [max(dimension.choices, 1) for dimension in self.dimensions]
        self.groups = torch.repeat_interleave(torch.arange(len(columns)), torch.tensor(columns))

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, params: Mapping[str, Any]) -> NDArray[np.float64]:
        row = np.full(len(self), np.nan)
        for index, (name, dimension) in enumerate(zip(self.names, self.dimensions, strict=True)):
            if name in params:
                row[index] = dimension.encode(params[name])
        return row

    def decode(self, point: Sequence[float]) -> dict[str, Any]:
        found = zip(self.names, self.dimensions, point, strict=True)
        return {name: dimension.decode(unit) for name, dimension, unit in found if not math.isnan(unit)}

    def features(self, points: Tensor) -> Tensor:
        """What kernels see: points [m, parameters] -> [m, columns]. Two choices are as far apart as 0 and 1."""
        seen = []
        for dimension, column in zip(self.dimensions, points.unbind(-1), strict=True):
            inactive = column.isnan()
            if dimension.choices:
                index = (column.nan_to_num() * dimension.choices).long().clamp(0, dimension.choices - 1)
                one_hot = torch.nn.functional.one_hot(index, dimension.choices).to(points.dtype) / math.sqrt(2)
                seen.append(one_hot.masked_fill(inactive.unsqueeze(-1), 0))
            else:
                seen.append(torch.where(inactive, _INACTIVE, column).unsqueeze(-1))
        return torch.cat(seen, dim=-1)


class Domain:
    """A part of the cube: which parameters are active there, and which values the discrete ones may have."""

    def __init__(self, space: Space, active: NDArray[np.bool_], barred: Mapping[int, set[float]] | None = None) -> None:
        self.active = torch.from_numpy(active)
        self.values: list[Tensor | None] = []
        for index, dimension in enumerate(space.dimensions):
            values, out = dimension.lattice, (barred or {}).get(index, set())
            if values is not None and out:
                kept = [value for value in values.tolist() if round(value, 9) not in out]
                values = torch.tensor(kept or values.tolist(), dtype=values.dtype)
            self.values.append(values)
        enumerated = torch.tensor([dimension.enumerated for dimension in space.dimensions])
        self.enumerated = self.active & enumerated
        self.free = self.active & ~enumerated

    def project(self, points: Tensor) -> Tensor:
        """The nearest points of the domain."""
        points = points.nan_to_num(0.5).clamp(0, 1)
        for index, values in enumerate(self.values):
            if values is not None:
                between = (values[1:] + values[:-1]) / 2
                points[:, index] = values[torch.bucketize(points[:, index].contiguous(), between)]
        return points.masked_fill(~self.active, math.nan)


def domains(space: Space, seen: NDArray[np.float64], most: int = 12) -> list[Domain]:
    """The domains that trials at `seen` [n, parameters] were in, most frequent first.

    Which parameters are active is the objective's secret (define-by-run), but often one discrete parameter decides it:
    whenever it had this value, that parameter was active, and with another value not. Values of which trials say that
    they belong to another domain are barred.
    """
    active = ~np.isnan(seen)
    patterns, counts = np.unique(active, axis=0, return_counts=True)
    barred: list[dict[int, set[float]]] = [{} for _ in patterns]
    if len(patterns) > 1:
        for index, dimension in enumerate(space.dimensions):
            if not dimension.enumerated or not active[:, index].any():
                continue
            values = np.round(seen[:, index], 9)
            among = {value: active[values == value] for value in set(values[active[:, index]].tolist())}
            decided = np.all([rows.all(0) | ~rows.any(0) for rows in among.values()], axis=0)
            for pattern, out in zip(patterns, barred, strict=True):
                wrong = {value for value, rows in among.items() if (decided & (rows[0] != pattern)).any()}
                if pattern[index] and wrong:
                    out[index] = wrong
    order = np.argsort(-counts, kind="stable")[:most]
    return [Domain(space, patterns[index], barred[index]) for index in order]
