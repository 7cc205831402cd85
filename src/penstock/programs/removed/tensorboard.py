"""What TensorBoard's module of summaries had until version 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.programs.removed.giving import give

_MESSAGES = "audio custom_scalar histogram image pr_curve pr_curve_raw_data scalar text"
_NODES = "pr_curve_raw_data_op pr_curve_streaming_op"

PATCHES: dict[str, Callable[[Any], None]] = {
    "tensorboard.summary": lambda module: give(
        module,
        {name: f"tensorboard.summary.v1:{name}" for name in _NODES.split()}
        | {f"{name}_pb": f"tensorboard.summary.v1:{name}_pb" for name in _MESSAGES.split()},
    )
}
