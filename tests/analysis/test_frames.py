"""Which frame each node is in, and what a frame knows of its loop."""

from __future__ import annotations

import pytest

from penstock import errors
from penstock.analysis.frames import Frame, find_frames, is_regular
from tests.graphs import COUNTER, lines, names, step_graph, tidy


def frames_text(frame: Frame, inner: str = "") -> str:
    """A frame and those in it, a line each: its name, its nodes, and which of them are its parts."""
    parts = [("enters", frame.enters), ("merges", frame.merges), ("exits", frame.exits)]
    condition = [] if frame.loop_cond is None else [f"condition {frame.loop_cond.name}"]
    roles = [*condition, *(f"{role} {names(nodes)}" for role, nodes in parts if nodes)]
    line = f"{inner}{frame.name or 'step'}: {names(frame.nodes)}" + (f" ({'; '.join(roles)})" if roles else "")
    return lines([line, *(frames_text(child, inner + "  ") for child in frame.children)])


def test_a_loop_is_a_frame_and_constants_without_controls_belong_to_the_step() -> None:
    root, frames = find_frames(step_graph(COUNTER + "fetch exit"))
    assert frames_text(root) == tidy("""
        step: zero, one, limit
          loop: enter, merge, less, cond, switch, add, next, exit \
(condition cond; enters enter; merges merge; exits exit)
    """)
    assert is_regular(root.children[0])
    assert all(node in frame.nodes for node, frame in frames.items())


def test_a_loop_in_a_loop_is_a_frame_in_its_frame_and_what_takes_its_exit_is_outside_it() -> None:
    root, _ = find_frames(
        step_graph("""
            x = Feed : int32
            p = Feed : bool
            outer_enter = Enter(x) frame_name=outer
            outer_p = Enter(p) frame_name=outer is_constant=True
            outer = Merge(outer_enter, outer_next)
            outer_cond = LoopCond(outer_p)
            outer_switch = Switch(outer, outer_cond)
            enter = Enter(outer_switch:1) frame_name=inner
            inner_p = Enter(outer_p) frame_name=inner is_constant=True
            inner = Merge(enter, next)
            cond = LoopCond(inner_p)
            switch = Switch(inner, cond)
            next = NextIteration(switch:1)
            exit = Exit(switch:0)
            after = Neg(exit)
            outer_next = NextIteration(after)
            outer_exit = Exit(outer_switch:0)
            y = Neg(outer_exit)
            fetch y
        """)
    )
    assert frames_text(root) == tidy("""
        step: x, p, y
          outer: outer_enter, outer_p, outer, outer_cond, outer_switch, after, outer_next, outer_exit \
(condition outer_cond; enters outer_enter, outer_p; merges outer; exits outer_exit)
            inner: enter, inner_p, inner, cond, switch, next, exit \
(condition cond; enters enter, inner_p; merges inner; exits exit)
    """)


def test_enters_of_one_name_are_of_one_loop_only_within_one_frame() -> None:
    """What tells a run of a loop apart is its name and the iteration around it (paper 4.4)."""
    root, _ = find_frames(
        step_graph("""
            x = Feed : float32
            a = Enter(x) frame_name=same
            b = Enter(x) frame_name=same
            c = Enter(x) frame_name=other
            d = Enter(a) frame_name=same
            end = Exit(d)
            out = Exit(end)
            fetch out
        """)
    )
    assert frames_text(root) == tidy("""
        step: x
          same: a, b, out (enters a, b; exits out)
            same: d, end (enters d; exits end)
          other: c (enters c)
    """)
    assert not is_regular(root.children[0])


def test_a_control_input_puts_a_node_into_a_frame_and_that_of_an_exit_out_of_it() -> None:
    text = (
        COUNTER
        + """
        inside = Const(^merge) value=1.0 : float32
        with_it = Neg(inside)
        outside = Const(^exit) value=1.0 : float32
        fetch exit, outside
    """
    )
    assert frames_text(find_frames(step_graph(text))[0]) == tidy("""
        step: zero, one, limit, outside
          loop: enter, merge, less, cond, switch, add, next, exit, inside, with_it \
(condition cond; enters enter; merges merge; exits exit)
    """)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            "y = Add(exit, add)",
            r"y has inputs from different frames \('none' and 'loop'\).*\n  y = .*\n  exit = .*\n  add =",
        ),
        ("y = Exit(exit)", "an Exit outside any loop"),
        ("y = NextIteration(exit)", "a NextIteration outside any loop"),
        ("y = Merge(exit, back) \n back = NextIteration(exit)", "a NextIteration outside any loop"),
        ("p = Feed : bool \n y = LoopCond(p)", "a LoopCond outside any loop"),
        ("y = LoopCond(less)", "a second LoopCond in frame 'loop'.*\n  y = .*\n  cond ="),
        ("fetch add", "a value of the loop 'loop' is used outside it without an Exit"),
        (
            "other = Enter(zero) frame_name=other \n y = Merge(other, next)",
            "a Merge and its NextIteration are in different frames.*\n  y = .*\n  next =",
        ),
    ],
)
def test_control_flow_without_meaning_is_refused_with_the_nodes_that_show_it(more: str, problem: str) -> None:
    graph = step_graph(COUNTER + more)
    with pytest.raises(errors.InvalidArgumentError, match=f"Malformed control flow: {problem}"):
        find_frames(graph)
