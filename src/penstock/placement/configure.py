"""Placement options of a ConfigProto, beyond TensorFlow's own fields."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

from penstock.export import export
from penstock.placement.choice import PLANNING_SECONDS

_NAME = "penstock_placement"


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    """`strategy`: the name of a registered one. `cost_model` and `hardware`: files, or "" to use this machine.
    `planning_seconds`: what the strategy may take for a step."""

    strategy: str = "greedy"
    cost_model: str = ""
    hardware: str = ""
    planning_seconds: float = PLANNING_SECONDS


@export("placement.configure")
def configure(
    config: Any,
    strategy: str = "greedy",
    cost_model: str | os.PathLike[str] = "",
    hardware: str | os.PathLike[str] = "",
    planning_seconds: float = PLANNING_SECONDS,
) -> Any:
    """Set how sessions with this ConfigProto place nodes; returns the config.

    strategy: "greedy" (the paper's simulation), "single", "round_robin", "exhaustive", or a registered name.
    cost_model: a file of measured times, read if it exists and written when the session closes. hardware: a YAML
    description (see placement/hardware.py) whose speeds and links replace measured ones. planning_seconds: about how
    long a step may be planned, on a machine of today; work is counted, not time, so that plans do not depend on chance.
    Raises ValueError if negative.
    """
    if not planning_seconds >= 0:
        raise ValueError(f"planning_seconds must not be negative, not {planning_seconds}")
    entries = config.graph_options.rewrite_options.custom_optimizers
    for i, entry in reversed(list(enumerate(entries))):
        if entry.name == _NAME:
            del entries[i]
    entry = entries.add(name=_NAME)
    entry.parameter_map["strategy"].s = strategy.encode()
    entry.parameter_map["cost_model"].s = os.fspath(cost_model).encode()
    entry.parameter_map["hardware"].s = os.fspath(hardware).encode()
    entry.parameter_map["planning_seconds"].f = planning_seconds
    return config


def placement_options(config: Any) -> PlacementOptions:
    """The options set by `configure`, or the defaults."""
    for entry in config.graph_options.rewrite_options.custom_optimizers if config is not None else ():
        if entry.name == _NAME:
            unknown = set(entry.parameter_map) - {field.name for field in fields(PlacementOptions)}
            if unknown:
                raise ValueError(f"ConfigProto: {_NAME} has no option {sorted(unknown)[0]!r}")
            given: dict[str, Any] = {
                key: value.f if key == "planning_seconds" else value.s.decode()
                for key, value in entry.parameter_map.items()
            }
            return PlacementOptions(**given)
    return PlacementOptions()
