"""Assignments that add to variables in C."""

from __future__ import annotations

from penstock.emit.registry import emits
from penstock.emit.site import Site, local
from penstock.emit.tools import loop


@emits("AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp")
def accumulate(s: Site) -> str | None:
    to, value = s.inputs
    if to.shape != value.shape or to.ctype == "u8":
        return None
    operator = "+" if "Add" in s.node.op.name else "-"
    i = local("i")
    return loop(i, to.size, f"{to.element(i)} {operator}= {value.element(i)};", vector=True)
