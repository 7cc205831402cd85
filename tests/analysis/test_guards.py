"""Under which conditions each node is alive within its frame."""

from __future__ import annotations

import pytest

from penstock.analysis.frames import Guard, find_frames
from penstock.analysis.guards import Guards, Unstructured
from penstock.graph.step_graph import StepGraph
from tests.graphs import COUNTER, edge_text, lines, named, step_graph, tidy


def guard_text(guard: Guard) -> str:
    """`p & !q`, or `always`."""
    return " & ".join(sorted(("" if side else "!") + edge_text(pred) for pred, side in guard)) or "always"


def guards_text(graph: StepGraph, strict: bool = True) -> str:
    """A line a node: its guard, and of a Merge which input is taken when."""
    guards = Guards(graph, find_frames(graph)[1], strict)
    found = []
    for node in graph.nodes:
        side = guards.sides.get(node)
        takes = "" if side is None else f" (input {side[1]} if {edge_text(side[0])})"
        found.append(f"{node.name}: {guard_text(guards.of[node])}{takes}")
    return lines(found)


def test_a_switch_adds_a_condition_and_a_merge_of_its_sides_takes_it_away() -> None:
    graph = step_graph("""
        p = Feed : bool
        q = Feed : bool
        x = Feed : float32
        sp = Switch(x, p)
        a = Neg(sp:1)
        sq = Switch(a, q)
        b = Exp(sq:1)
        c = Neg(sq:0)
        mq = Merge(b, c)
        d = Add(mq, a)
        e = Neg(sp:0)
        m = Merge(e, d)
        y = Neg(m)
        fetch y
    """)
    assert guards_text(graph) == tidy("""
        p: always
        q: always
        x: always
        sp: always
        a: p
        sq: p
        b: p & q
        c: !q & p
        mq: p (input 0 if q)
        d: p
        e: !p
        m: always (input 1 if p)
        y: always
    """)


def test_a_node_waits_under_the_guard_of_its_controls_and_a_trigger_under_what_they_share() -> None:
    graph = step_graph("""
        p = Feed : bool
        q = Feed : bool
        x = Feed : float32
        sp = Switch(x, p)
        sq = Switch(sp:1, q)
        a = Neg(sq:0)
        b = Neg(sq:1)
        late = NoOp(^a)
        trigger = ControlTrigger(^a, ^b)
        free = ControlTrigger
        target late, trigger, free
    """)
    assert guards_text(graph).splitlines()[-5:] == [
        "a: !q & p",
        "b: p & q",
        "late: !q & p",
        "trigger: p",
        "free: always",
    ]


def test_two_names_of_one_condition_are_one() -> None:
    graph = step_graph("""
        p = Feed : bool
        same = Identity(p)
        x = Feed : float32
        s = Switch(x, p)
        t = Switch(x, same)
        m = Merge(s:0, t:1)
        fetch m
    """)
    assert guards_text(graph).splitlines()[-1] == "m: always (input 1 if p)"


def test_a_loop_begins_without_conditions_and_what_leaves_it_is_under_those_around_it() -> None:
    graph = step_graph("""
        p = Feed : bool
        x = Feed : float32
        branch = Switch(x, p)
        enter = Enter(branch:1) frame_name=loop
        merge = Merge(enter, next)
        nan = IsNan(merge)
        cond = LoopCond(nan)
        switch = Switch(merge, cond)
        neg = Neg(switch:1)
        next = NextIteration(neg)
        exit = Exit(switch:0)
        after = Neg(exit)
        m = Merge(branch:0, after)
        fetch m
    """)
    assert guards_text(graph) == tidy("""
        p: always
        x: always
        branch: always
        enter: always
        merge: always
        nan: always
        cond: always
        switch: always
        neg: cond
        next: cond
        exit: !cond
        after: p
        m: always (input 1 if p)
    """)
    _, frames = find_frames(graph)
    Guards(graph, frames)
    assert guard_text(frames[named(graph)["merge"]].guard) == "p"


_CONDITIONS = """
    p = Feed : bool
    q = Feed : bool
    x = Feed : float32
    sp = Switch(x, p)
    sq = Switch(x, q)
"""


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("y = Merge(sp:0, sq:1)", "y merges other things than the two sides of one condition"),
        ("y = Merge(sp:1, sp:1)", "y merges other things than the two sides of one condition"),
        ("y = Merge(sp:0, sp:1, sq:0)", "y merges 3 inputs"),
        ("y = Add(sp:0, sp:1)", "y needs both sides of p:0, so it never runs"),
        ("a = Neg(sp:1) \n y = Merge(sp:0, sp:1, ^a)", "y waits for nodes of a branch"),
        ("e = Enter(x) frame_name=odd \n y = Exit(e)", "'odd' is no loop with a condition"),
    ],
)
def test_what_has_no_structured_form_says_why_or_gets_a_condition_of_its_own(more: str, why: str) -> None:
    graph = step_graph(_CONDITIONS + more)
    with pytest.raises(Unstructured, match=why):
        guards_text(graph)
    last = guards_text(graph, strict=False).splitlines()[-1]
    assert last == {"Merge": "y: y", "Add": "y: !p & p", "Exit": "y: always"}[graph.nodes[-1].op.name]


def test_an_exit_elsewhere_than_at_the_condition_has_no_structured_form() -> None:
    graph = step_graph(COUNTER + "early = Exit(add) \n fetch early")
    with pytest.raises(Unstructured, match="early leaves its loop elsewhere than at the loop's condition"):
        guards_text(graph)


def test_what_runs_as_a_loop_ends_has_no_structured_form() -> None:
    graph = step_graph(COUNTER + "last = Neg(switch:0) \n left = Exit(last) \n fetch left")
    with pytest.raises(Unstructured, match="last runs when the loop 'loop' ends"):
        Guards(graph, find_frames(graph)[1])
