"""Placement options of a ConfigProto, beyond TensorFlow's own fields."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from penstock.export import export

_NAME = "penstock_placement"


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    """`strategy`: the name of a registered one. `cost_model` and `hardware`: files, or "" to use this machine."""

    strategy: str = "greedy"
    cost_model: str = ""
    hardware: str = ""


@export("placement.configure")
def configure(
    config: Any,
    strategy: str = "greedy",
    cost_model: str | os.PathLike[str] = "",
    hardware: str | os.PathLike[str] = "",
) -> Any:
    """Set how sessions with this ConfigProto place nodes; returns the config.

    strategy: "greedy" (the paper's simulation), "single", "round_robin", "exhaustive", or a registered name.
    cost_model: a file of measured times, read if it exists and written when the session closes. hardware: a YAML
    description (see placement/hardware.py) whose speeds and links replace measured ones.
    """
    entries = config.graph_options.rewrite_options.custom_optimizers
    for i, entry in reversed(list(enumerate(entries))):
        if entry.name == _NAME:
            del entries[i]
    entry = entries.add(name=_NAME)
    entry.parameter_map["strategy"].s = strategy.encode()
    entry.parameter_map["cost_model"].s = os.fspath(cost_model).encode()
    entry.parameter_map["hardware"].s = os.fspath(hardware).encode()
    return config


def placement_options(config: Any) -> PlacementOptions:
    """The options set by `configure`, or the defaults."""
    for entry in config.graph_options.rewrite_options.custom_optimizers if config is not None else ():
        if entry.name == _NAME:
            values = {key: value.s.decode() for key, value in entry.parameter_map.items()}
            unknown = set(values) - {"strategy", "cost_model", "hardware"}
            if unknown:
                raise ValueError(f"ConfigProto: {_NAME} has no option {sorted(unknown)[0]!r}")
            return PlacementOptions(**values)
    return PlacementOptions()
