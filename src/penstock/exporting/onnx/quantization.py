"""Fake quantization: numbers rounded to those that few bits can stand for, as in sessions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.exporting.onnx.rules import Site, lowers
from penstock.ops.quantization_fake import Steps


@lowers("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def by_range(s: Site) -> Any:
    low, high = (s.known(i, "its range") for i in (1, 2))
    return _quantized(s, low, high, divides=True)


@lowers("FakeQuantWithMinMaxArgs")
def by_attributes(s: Site) -> Any:
    return _quantized(s, np.array(s["min"]), np.array(s["max"]), divides=False)


def _quantized(s: Site, low: np.ndarray, high: np.ndarray, divides: bool) -> str:
    lowest, highest = (torch.tensor(np.asarray(end, np.float32)) for end in (low, high))
    steps = Steps(lowest, highest, s["num_bits"], s["narrow_range"])
    first, last, scale = (s.constant(part.numpy()) for part in (steps.low, steps.high, steps.scale))
    inside = s.op("Max", [s.op("Min", [s.input(0), last]), first])
    above = s.op("Sub", [inside, first])
    parts = s.op("Div", [above, scale]) if divides else s.op("Mul", [above, s.constant(steps.per_one.numpy())])
    whole = s.op("Floor", [s.op("Add", [parts, s.constant(0.5)])])
    found = s.op("Add", [s.op("Mul", [whole, scale]), first])
    nothing = steps.nothing.numpy()
    return str(s.op("Where", [s.lowering.constant(nothing), s.constant(0), found]) if nothing.any() else found)
