"""Random numbers, drawn anew in each run: others than in sessions, of the same distributions."""

from __future__ import annotations

from typing import Any

from penstock.exporting.onnx.rules import Site, lowers
from penstock.exporting.onnx.types import onnx_type
from penstock.tensor.dtypes import float32

_KINDS = {"RandomUniform": "RandomUniformLike", "RandomStandardNormal": "RandomNormalLike"}


@lowers(*_KINDS)
def random(s: Site) -> Any:
    """A dropout keeps what is not below its rate: all of it if the rate that is fed is 0."""
    like = s.op("Expand", [s.constant(0, float32), s.vector(0)])
    return s.op(_KINDS[s.node.op.name], [like], dtype=onnx_type(s.node.dtypes[0]))
