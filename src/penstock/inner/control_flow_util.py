"""What tells where in the control flow a node is (TF: tensorflow.python.ops.control_flow_util)."""

from __future__ import annotations

from typing import Any

from penstock.graph.contexts import ControlFlowContext
from penstock.graph.operation import Operation
from penstock.graph.primitives import ENTERS, EXITS, MERGES, SWITCHES

ENABLE_CONTROL_FLOW_V2 = False
"""Conditionals and loops are made of Switch, Merge and the nodes of loops."""


def EnableControlFlowV2(graph: Any) -> bool:
    """False: a graph has no functional conditionals and loops but those that it was imported with."""
    return False


def GetContainingWhileContext(ctxt: ControlFlowContext | None, stop_ctxt: Any = None) -> ControlFlowContext | None:
    """The innermost loop around a context (or it itself), not further out than `stop_ctxt`; None if there is none."""
    while ctxt is not None and not ctxt.is_loop and ctxt is not stop_ctxt:
        ctxt = ctxt.outer
    return ctxt


def GetContainingCondContext(ctxt: ControlFlowContext | None) -> ControlFlowContext | None:
    """The innermost branch of a conditional around a context (or it itself); None if there is none."""
    while ctxt is not None and ctxt.is_loop:
        ctxt = ctxt.outer
    return ctxt


def GetWhileContext(op: Operation) -> ControlFlowContext | None:
    """The innermost loop that an operation is in, or None."""
    return GetContainingWhileContext(op._get_control_flow_context())


def IsInWhileLoop(op: Operation) -> bool:
    return GetWhileContext(op) is not None


def IsInCond(op: Operation) -> bool:
    return GetContainingCondContext(op._get_control_flow_context()) is not None


def IsContainingContext(ctxt: ControlFlowContext, maybe_containing_ctxt: ControlFlowContext | None) -> bool:
    """Whether the second context is the first or around it."""
    return maybe_containing_ctxt is None or maybe_containing_ctxt.encloses(ctxt)


def IsSwitch(op: Operation) -> bool:
    return op.type in SWITCHES


def IsMerge(op: Operation) -> bool:
    return op.type in MERGES


def IsLoopEnter(op: Operation) -> bool:
    return op.type in ENTERS


def IsLoopExit(op: Operation) -> bool:
    return op.type in EXITS


# Steps are compiled by themselves: there is no context of XLA.


def GetContainingXLAContext(ctxt: Any) -> None:
    return None


def IsInXLAContext(op: Any) -> bool:
    return False


def InXlaContext(graph: Any) -> bool:
    return False


def GraphOrParentsInXlaContext(graph: Any) -> bool:
    return False
