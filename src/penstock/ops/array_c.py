"""Shapes in C: they are known when the C is written, so they are constants."""

from __future__ import annotations

from penstock.emit.registry import emits
from penstock.emit.site import Site
from penstock.emit.tools import constants


@emits("Shape", "ShapeN")
def shape_of(s: Site) -> str:
    return "\n".join(constants(y, x.shape) for x, y in zip(s.inputs, s.outputs, strict=True))


@emits("Size")
def size_of(s: Site) -> str:
    return constants(s.outputs[0], [s.inputs[0].size])


@emits("Rank")
def rank_of(s: Site) -> str:
    return constants(s.outputs[0], [len(s.inputs[0].shape)])


@emits("VariableShape")
def variable_shape(s: Site) -> str:
    return constants(s.outputs[0], s.inputs[0].shape)
