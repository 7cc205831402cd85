"""GPEIMCMC: Bayesian optimisation with integrated acquisition functions (section 3), as a sampler for Optuna."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial
from torch import Tensor

from penstock.export import export
from penstock.tune.acquisition import ACQUISITIONS, KAPPA, Integrated
from penstock.tune.gaussian_process import GaussianProcess, Hyperparameters
from penstock.tune.hyperparameters import Evidence, sample_hyperparameters
from penstock.tune.kernels import KERNELS
from penstock.tune.maximise import maximise
from penstock.tune.observations import Observations, observe
from penstock.tune.space import Dimension, Space, domains

FANTASIES = 10  # of what pending trials will find, for each sample of the hyperparameters
NOISE_FREE = 1e-4  # noise (in units of the observations' variance) below which points are not evaluated twice
FEW = 40  # so many observations are enough to warm chains up
MANY = 300  # and so many to sample hyperparameters, which takes the cube of their number
_NOTE = "penstock:tune"  # system attribute of trials
_NOTE_SIZE = 2000  # characters of an attribute that every storage takes


@export("tune.GPEIMCMC")
class GPEIMCMC(BaseSampler):
    """Expected improvement under a Gaussian process, integrated over its hyperparameters.

    `kernel`: "matern52" or "squared_exponential". `acquisition`: "ei", "pi" or "lcb", which looks `kappa` deviations
    below the mean. `samples` of the hyperparameters are integrated over; each comes from a chain of its own that walks
    on from trial to trial, after `burn_in` sweeps at first. The first `n_startup_trials` are spread evenly.
    `per_second`: look for what gains most a second, where trials differ in what they cost (in seconds, or as their user
    attribute "cost" says). `deterministic`: the objective has no noise.

    All that the sampler must remember is in the study's storage. So a study with a `seed` suggests the same when it is
    resumed, and processes that share a storage share the chains and know of each other's trials.
    """

    def __init__(
        self,
        *,
        kernel: str = "matern52",
        acquisition: str = "ei",
        samples: int = 10,
        burn_in: int = 30,
        seed: int | None = None,
        n_startup_trials: int = 5,
        kappa: float = KAPPA,
        per_second: bool = False,
        deterministic: bool = False,
    ) -> None:
        if kernel not in KERNELS:
            raise ValueError(f"kernel is {kernel!r}; there are {', '.join(KERNELS)}")
        if acquisition not in ACQUISITIONS:
            raise ValueError(f"acquisition is {acquisition!r}; there are {', '.join(ACQUISITIONS)}")
        if per_second and not ACQUISITIONS[acquisition][1]:
            raise ValueError(f"acquisition {acquisition!r} is not a gain, so there is no gain a second: use 'ei'")
        if samples < 1 or burn_in < 0 or n_startup_trials < 0:
            raise ValueError("samples must be at least 1, burn_in and n_startup_trials at least 0")
        self._kernel, self._acquisition, self._samples, self._burn_in = KERNELS[kernel], acquisition, samples, burn_in
        self._kappa, self._n_startup_trials = kappa, n_startup_trials
        self._per_second, self._deterministic = per_second, deterministic
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """All parameters that any trial has asked for, each as the latest did."""
        if len(study.directions) > 1:
            raise ValueError("GPEIMCMC searches for the best value of one objective; this study has several")
        found: dict[str, BaseDistribution] = {}
        for other in study.get_trials(deepcopy=False):
            found |= other.distributions
        return {name: found[name] for name in sorted(found) if not found[name].single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space:
            return {}
        space = Space(search_space)
        others = [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]
        notes = {other.number: _read_note(other) for other in others}
        suggested = {number: note["suggested"] for number, note in notes.items() if "suggested" in note}
        seen = observe(others, space, study.direction is StudyDirection.MAXIMIZE, _external(suggested, space))
        note: dict[str, Any] = {}
        if len(seen.points) < 2 or len(seen.points) + len(seen.pending) < self._n_startup_trials:
            point = self._spread(space, trial.number)
        else:
            chains = [notes[other.number]["chains"] for other in others if "chains" in notes[other.number]]
            point, note["chains"] = self._suggest(space, seen, chains[-1] if chains else {}, trial.number)
        params = space.decode(point.tolist())
        note["suggested"] = {name: search_space[name].to_internal_repr(value) for name, value in params.items()}
        _write_note(study, trial, note)
        return params

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """What no trial has asked for before is drawn at random."""
        random = self._random(trial.number, zlib.crc32(param_name.encode()))
        return Dimension(param_distribution).decode(random.random())

    def reseed_rng(self) -> None:
        """Nothing to do: what is drawn depends on the trial's number, so copies of the sampler never draw the same."""

    def _random(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *key])

    def _spread(self, space: Space, number: int) -> Tensor:
        seed = int(self._random().integers(2**31))
        engine = torch.quasirandom.SobolEngine(len(space), scramble=True, seed=seed)
        return engine.fast_forward(number).draw(1, dtype=torch.float64)[0]

    def _suggest(
        self, space: Space, seen: Observations, chains: dict[str, Any], number: int
    ) -> tuple[Tensor, dict[str, Any]]:
        random = self._random(number)
        points, pending = torch.from_numpy(seen.points), torch.from_numpy(seen.pending)
        x, y = space.features(points), torch.from_numpy(seen.values)
        walked: dict[str, Any] = {}
        hyper, walked["values"] = self._sample(space, x, y, chains.get("values", {}), random, self._deterministic)
        costs = None
        if self._per_second and len(seen.costly) > 1:
            at, raw = space.features(torch.from_numpy(seen.costly)), torch.from_numpy(seen.log_costs)
            scale = raw.std().clamp_min(1e-6)
            logs = (raw - raw.mean()) / scale
            of_costs, walked["costs"] = self._sample(space, at, logs, chains.get("costs", {}), random, False)
            costs = GaussianProcess(self._kernel, at, logs * scale, of_costs.scaled(scale))
        model = GaussianProcess(self._kernel, x, y, hyper)
        generator = torch.Generator().manual_seed(int(random.integers(2**63)))
        model = model.with_fantasies(space.features(pending), FANTASIES, generator)
        acquire = Integrated(self._acquisition, model, costs, self._kappa)
        with torch.no_grad():
            order = model.predict(model.x)[0].mean(dim=(0, 2))[: len(points)].argsort()
        evaluated = torch.cat([points, pending])
        repeats = not (self._deterministic or float(hyper.noise.median()) < NOISE_FREE)
        barred = evaluated[:0] if repeats else evaluated
        found = maximise(
            lambda units: acquire(space.features(units)),
            domains(space, evaluated.numpy()),
            points[order[:5]],
            random,
            barred,
        )
        return found, walked

    def _sample(
        self,
        space: Space,
        x: Tensor,
        y: Tensor,
        chains: dict[str, list[float]],
        random: np.random.Generator,
        exact: bool,
    ) -> tuple[Hyperparameters, dict[str, list[float]]]:
        """Hyperparameters given the observations, and where the chains are now, from where they were."""
        order = torch.from_numpy(random.permutation(len(y)))

        def evidence_of(most: int) -> Evidence:
            some = order[:most] if len(y) > most else slice(None)
            return Evidence(self._kernel, x[some], y[some], space.groups, exact)

        evidence = evidence_of(MANY)
        state = evidence.start(self._samples, random)
        new = False
        for index, name in enumerate([*space.names, ""]):  # "" is the noise
            if len(known := chains.get(name, ())) == self._samples:
                state[:, index] = known
            else:
                new = True
        if new:
            state = sample_hyperparameters(evidence_of(FEW), state, self._burn_in, random)
        state = np.round(sample_hyperparameters(evidence, state, 1, random), 4)
        columns = [*space.names, ""]
        return evidence.draw(state, random), {name: state[:, i].tolist() for i, name in enumerate(columns)}


def _external(suggested: dict[int, dict[str, float]], space: Space) -> dict[int, dict[str, Any]]:
    at = dict(zip(space.names, space.dimensions, strict=True))
    return {
        number: {name: at[name].distribution.to_external_repr(value) for name, value in params.items() if name in at}
        for number, params in suggested.items()
    }


def _write_note(study: Study, trial: FrozenTrial, note: dict[str, Any]) -> None:
    text = json.dumps(note, separators=(",", ":"))
    for part, start in enumerate(range(0, len(text), _NOTE_SIZE)):
        study._storage.set_trial_system_attr(trial._trial_id, f"{_NOTE}:{part}", text[start : start + _NOTE_SIZE])


def _read_note(trial: FrozenTrial) -> dict[str, Any]:
    """Of other processes' trials a note may be only half written."""
    parts: list[str] = []
    while (part := trial.system_attrs.get(f"{_NOTE}:{len(parts)}")) is not None:
        parts.append(part)
    try:
        return dict(json.loads("".join(parts)))
    except ValueError:
        return {}
