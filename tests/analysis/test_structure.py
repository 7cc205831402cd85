"""Loops and conditionals as nested blocks, recovered from the primitives."""

from __future__ import annotations

import pytest

from penstock.analysis.guards import Unstructured
from penstock.analysis.structure import Branch, Loop, MergeSide, Statement, execution_order, structured
from penstock.graph.step_graph import Node
from tests.graphs import COUNTER, edge_text, lines, step_graph, tidy


def statements_text(statements: list[Statement], inner: str = "") -> str:
    """The blocks as a program, a line a statement."""
    return lines(line for statement in statements for line in _lines(statement, inner))


def _lines(statement: Statement, inner: str) -> list[str]:
    match statement:
        case Node():
            return [inner + statement.name]
        case MergeSide():
            return [f"{inner}{statement.node.name} = {edge_text(statement.node.inputs[statement.index])}"]
        case Branch():
            head = (
                f"{inner}if {edge_text(statement.pred)}:" if statement.side else f"{inner}if not {statement.pred.name}:"
            )
            return [head.replace(":0:", ":"), statements_text(statement.body, inner + "  ")]
        case Loop():
            before, body = (statements_text(block, inner + "    ") for block in (statement.before, statement.body))
            return [f"{inner}loop {statement.frame.name}:", f"{inner}  test:", before, f"{inner}  body:", body]


def text_of(graph: str) -> str:
    return statements_text(structured(step_graph(graph))[0])


def test_a_conditional_is_a_block_for_each_side_which_assign_its_merge() -> None:
    assert text_of("""
        p = Feed : bool
        x = Feed : float32
        s = Switch(x, p)
        t = Exp(s:1)
        f = Neg(s:0)
        m = Merge(f, t)
        y = Neg(m)
        fetch y
    """) == tidy("""
        p
        x
        s
        if p:
          t
          m = t
        if not p:
          f
          m = f
        y
    """)


def test_nodes_under_one_condition_come_together_though_they_were_built_between_others() -> None:
    assert text_of("""
        p = Feed : bool
        x = Feed : float32
        s = Switch(x, p)
        a = Exp(s:1)
        b = Neg(x)
        c = Exp(a)
        t = Switch(b, p)
        d = Add(t:1, c)
        e = Neg(t:0)
        m = Merge(e, d)
        fetch m
    """) == tidy("""
        p
        x
        s
        b
        t
        if p:
          a
          c
          d
          m = d
        if not p:
          e
          m = e
    """)


def test_a_conditional_in_a_branch_is_a_block_in_a_block() -> None:
    assert text_of("""
        p = Feed : bool
        x = Feed : float32
        s = Switch(x, p)
        q = IsNan(s:1)
        t = Switch(s:1, q)
        a = Neg(t:1)
        inner = Merge(t:0, a)
        y = Merge(s:0, inner)
        fetch y
    """) == tidy("""
        p
        x
        s
        if p:
          q
          t
          if q:
            a
            inner = a
          if not q:
            inner = t
          y = inner
        if not p:
          y = s
    """)


def test_a_loop_tests_its_condition_with_what_runs_in_every_iteration() -> None:
    graph = step_graph(COUNTER + "y = Neg(exit) \n fetch y")
    statements = structured(graph)[0]
    assert statements_text(statements) == tidy("""
        zero
        one
        limit
        loop loop:
          test:
            less
            cond
            switch
          body:
            add
            next
        y
    """)
    assert [f"{node.name}{' in the loop' * looped}" for node, looped in execution_order(statements)] == [
        "zero",
        "one",
        "limit",
        "enter",
        "merge in the loop",
        "less in the loop",
        "cond in the loop",
        "switch in the loop",
        "add in the loop",
        "next in the loop",
        "exit",
        "y",
    ]


def test_loops_in_conditionals_and_conditionals_in_loops_nest() -> None:
    assert text_of("""
        p = Feed : bool
        x = Feed : float32
        s = Switch(x, p)
        enter = Enter(s:1) frame_name=loop
        merge = Merge(enter, next)
        less = IsNan(merge)
        cond = LoopCond(less)
        switch = Switch(merge, cond)
        q = IsInf(switch:1)
        t = Switch(switch:1, q)
        a = Neg(t:1)
        inner = Merge(t:0, a)
        next = NextIteration(inner)
        exit = Exit(switch:0)
        y = Merge(s:0, exit)
        fetch y
    """) == tidy("""
        p
        x
        s
        if p:
          loop loop:
            test:
              less
              cond
              switch
            body:
              q
              t
              if q:
                a
                inner = a
              if not q:
                inner = t
              next
          y = exit
        if not p:
          y = s
    """)


def test_a_loop_whose_condition_is_not_always_computed_has_no_structured_form() -> None:
    text = COUNTER.replace("cond = LoopCond(less)", "branch = Switch(less, less) \n cond = LoopCond(branch:1)")
    with pytest.raises(Unstructured, match="the condition of loop 'loop' is not computed in every iteration"):
        text_of(text.replace("exit = Exit(switch:0)", ""))
