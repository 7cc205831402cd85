"""BoTorch's sequential recipe as an Optuna sampler: a SingleTaskGP and log expected improvement.

BoTorch runs in a Python of its own, as `python -m bench.tune_botorch`, since it wants its own torch. This process sends
what is known of the study as a line of JSON, and gets the next point of the unit cube.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

STARTUP = 10


def suggest(known: dict[str, Any]) -> list[float]:
    """In BoTorch's Python: the point at which log EI is highest, given points `x`, losses `y` and `pending` points."""
    import torch
    from botorch.acquisition import qLogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(known["seed"])
    x, y, pending = (torch.tensor(known[name], dtype=torch.double) for name in ("x", "y", "pending"))
    gains = -y.unsqueeze(-1)  # BoTorch maximises
    model = SingleTaskGP(x, gains, outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    gain = qLogExpectedImprovement(model, best_f=gains.max(), X_pending=pending if len(pending) else None)
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, x.shape[1])
    point, _ = optimize_acqf(gain, bounds, q=1, num_restarts=10, raw_samples=512)
    return point[0].tolist()


def serve() -> None:
    import warnings

    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(suggest(json.loads(line))), flush=True)


class Suggestions:
    """The process that answers `suggest`."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, "-m", "bench.tune_botorch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parent.parent,
        )

    def __call__(self, known: dict[str, Any]) -> list[float]:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(known) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"BoTorch's process ended with status {process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def in_cube(value: float, distribution: Any) -> float:
    """Where a float or an integer is between its limits, in 0..1; in logarithms where the distribution is."""
    low, high, value = (_scaled(v, distribution) for v in (distribution.low, distribution.high, value))
    return (value - low) / (high - low)


def from_cube(place: float, distribution: Any) -> float:
    low, high = (_scaled(v, distribution) for v in (distribution.low, distribution.high))
    value = low + place * (high - low)
    value = math.exp(value) if distribution.log else value
    value = min(max(value, distribution.low), distribution.high)
    return round(value) if isinstance(distribution.low, int) else value


def _scaled(value: float, distribution: Any) -> float:
    return math.log(value) if distribution.log else value


if __name__ == "__main__":
    serve()
