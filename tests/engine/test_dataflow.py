"""From a step's graph to the units of a dataflow program, and what leads from each to which."""

from __future__ import annotations

from typing import Any

from penstock.engine.dataflow import build_program
from penstock.graph.node_kernel import NodeKernel, asynchronous
from penstock.graph.opdef import Bound
from penstock.graph.step_graph import Node
from penstock.runtime import tokens
from penstock.runtime.tokens import DataflowProgram, Unit
from tests.graphs import COUNTER, edge_text, lines, step_graph, tidy

_KINDS = {kind: name.lower() for name, kind in vars(tokens).items() if name.isupper() and isinstance(kind, int)}


def program(text: str, waits: frozenset[str] = frozenset(), feeds_wait: bool = False) -> DataflowProgram:
    """The program of a graph whose kernels write down what they are called with; those of `waits` call back."""
    graph = step_graph(text)
    kernels = {node: asynchronous(_never) if node.name in waits else _kernel(node) for node in graph.nodes}
    return build_program(graph, kernels, set(), _explain, feeds_wait=feeds_wait)


def _kernel(node: Node) -> Any:
    if node.op.name == "Const":
        return Bound(node.name)
    return NodeKernel(call=lambda *values: f"{node.name}({', '.join(map(str, values))})")


def _never(*_: Any) -> None:
    raise AssertionError("no program of these tests is run")


def _explain(error: Exception, *_: Any) -> Exception:
    return error


def program_text(program: DataflowProgram) -> str:
    """A line a unit: what it takes and computes; where each output goes, as `unit.input`; and what it waits for."""
    waits: dict[Unit, list[str]] = {}
    for unit in program.units:
        for consumer in unit.control_consumers:
            waits.setdefault(consumer, []).append(unit.name)
    for unit in program.units:
        assert unit.controls == len(waits.get(unit, ()))
    feeds = [f"feed {i}{_goes(consumers)}" for i, consumers in enumerate(program.params)]
    starts = [f"at once: {', '.join(unit.name for unit in program.sources)}"] if program.sources else []
    return lines([*feeds, *starts, *(_unit_text(unit, waits.get(unit, [])) for unit in program.units)])


def _unit_text(unit: Unit, waits: list[str]) -> str:
    taken = [edge_text(edge) for edge in unit.inputs]
    outputs: list[str] = []
    for port, consumers in enumerate(unit.consumers):
        if unit.kind == tokens.SEGMENT or consumers:
            outputs.append(("" if unit.kind == tokens.SEGMENT else f" {port}") + _goes(consumers))
    if unit.kind == tokens.SEGMENT:
        outputs = [f" {value}{goes}" for value, goes in zip(unit.run(*taken), outputs, strict=True)]  # type: ignore[misc]
    about = f" of {unit.frame_name}" + (" for all iterations" if unit.is_constant else "") if unit.frame_name else ""
    about += f" ({unit.enters} enter, out by {', '.join(e.name for e in unit.exits)})" if unit.enters else ""
    after = f" after {', '.join(waits)}" if waits else ""
    return f"{_KINDS[unit.kind]} {unit.name}({', '.join(taken)}){about}{after}:{';'.join(outputs)}".rstrip(":")


def _goes(consumers: list[tuple[Unit, int]]) -> str:
    return " > " + ", ".join(f"{unit.name}.{index}" for unit, index in consumers) if consumers else ""


def test_nodes_without_primitives_between_them_are_one_segment() -> None:
    found = program("""
        x = Feed : float32
        y = Feed : float32
        one = Const value=1.0 : float32
        a = Add(x, one)
        b = Mul(a, y)
        c = Neg(a)
        fetch b, c, b
    """)
    assert program_text(found) == tidy("""
        feed 0 > one.0
        feed 1 > one.1
        segment one(x, y): b(a(x, one), y) > b:0.0, b:0.0; c(a(x, one)) > c:0.0
        take b:0(b)
        take c:0(c)
        take b:0(b)
    """)


def test_a_switch_parts_segments_and_each_branch_is_one() -> None:
    found = program("""
        p = Feed : bool
        x = Feed : float32
        before = Exp(x)
        s = Switch(before, p)
        t = Neg(s:1)
        t2 = Neg(t)
        f = Log(s:0)
        m = Merge(f, t2)
        y = Neg(m)
        z = Neg(before)
        fetch y, z
    """)
    assert program_text(found) == tidy("""
        feed 0 > s.1
        feed 1 > before.0
        segment before(x): before(x) > s.0; z(before(x)) > z:0.0
        switch s(before, p): 0 > f.0; 1 > t.0
        segment t(s:1): t2(t(s:1)) > m.1
        segment f(s): f(s) > m.0
        merge m(f, t2): 0 > y.0
        segment y(m): y(m) > y:0.0
        take y:0(y)
        take z:0(z)
    """)


def test_a_loop_is_a_circle_of_primitives_with_a_segment_for_its_test_and_one_for_its_body() -> None:
    assert program_text(program(COUNTER + "fetch exit")) == tidy("""
        at once: zero
        segment zero(): zero > enter.0
        enter enter(zero) of loop (1 enter, out by exit): 0 > merge.0
        merge merge(enter, next): 0 > less.0, switch.0
        segment less(merge): less(merge, limit) > cond.0
        pass cond(less): 0 > switch.1
        switch switch(merge, cond): 0 > exit.0; 1 > add.0
        segment add(switch:1): add(switch:1, one) > next.0
        next next(add): 0 > merge.1
        exit exit(switch): 0 > exit:0.0
        take exit:0(exit)
    """)


def test_who_takes_a_constant_that_waits_waits_for_the_same_and_no_unit_for_itself() -> None:
    found = program("""
        p = Feed : bool
        x = Feed : float32
        s = Switch(x, p)
        a = Neg(s:1)
        b = Neg(s:1, ^a)
        c = Neg(x, ^b)
        waiting = Const(^c) value=1.0 : float32
        n = Merge(s:0, b)
        d = Neg(n)
        e = Add(d, waiting)
        fetch e
    """)
    assert program_text(found) == tidy("""
        feed 0 > s.1
        feed 1 > s.0, a.1
        switch s(x, p): 0 > n.0; 1 > a.0
        segment a(s:1, x): b(s:1) > n.1
        merge n(s, b): 0 > d.0
        segment d(n): d(n) > e.0
        segment e(d) after a: e(d, waiting) > e:0.0
        take e:0(e)
    """)


def test_constants_are_bound_to_what_takes_them_and_are_no_unit_of_their_own() -> None:
    found = program(
        """
        one = Const value=1.0 : float32
        x = Feed : float32
        slow = Add(x, one)
        y = Add(slow, one)
        fetch y
    """,
        waits=frozenset({"slow"}),
    )
    assert program_text(found) == tidy("""
        feed 0 > slow.0
        async slow(x): 0 > y.0
        segment y(slow): y(slow, one) > y:0.0
        take y:0(y)
    """)


def test_a_kernel_that_waits_is_a_unit_of_its_own_and_what_does_not_need_it_does_not_wait() -> None:
    text = """
        x = Feed : float32
        a = Neg(x)
        slow = Exp(a)
        b = Neg(a)
        c = Neg(x)
        d = Add(slow, b)
        e = Add(d, c)
        fetch e
    """
    assert program_text(program(text, waits=frozenset({"slow"}))) == tidy("""
        feed 0 > a.0
        segment a(x): a(x) > slow.0; b(a(x)) > d.1; c(x) > d.2
        async slow(a): 0 > d.0
        segment d(slow, b, c): e(d(slow, b), c) > e:0.0
        take e:0(e)
    """)


def test_where_feeds_come_one_by_one_what_waits_for_different_ones_is_apart() -> None:
    found = program(
        "x = Feed : float32 \n y = Feed : float32 \n a = Neg(x) \n b = Neg(y) \n fetch a, b", feeds_wait=True
    )
    assert program_text(found) == tidy("""
        feed 0 > a.0
        feed 1 > b.0
        segment a(x): a(x) > a:0.0
        segment b(y): b(y) > b:0.0
        take a:0(a)
        take b:0(b)
    """)


def test_a_segment_ends_with_what_is_sent_and_what_is_received_keeps_only_its_takers_back() -> None:
    found = program("""
        x = Feed : float32
        r = _Recv key=there : float32
        a = Neg(x)
        s = _Send(a) key=back
        b = Neg(a)
        c = Neg(b)
        d = Neg(r)
        e = Add(d, c)
        fetch e
    """)
    assert program_text(found) == tidy("""
        feed 0 > a.0
        at once: r
        recv r(): 0 > d.0
        segment a(x): a(x) > s.0, b.0
        send s(a)
        segment b(a): c(b(a)) > d.1
        segment d(r, c): e(d(r), c) > e:0.0
        take e:0(e)
    """)
    assert {unit.name: unit.key for unit in found.units if unit.key} == {"r": "there", "s": "back"}


def test_a_trigger_waits_for_both_sides_and_what_waits_for_it_runs_either_way() -> None:
    found = program("""
        p = Feed : bool
        x = Feed : float32
        s = Switch(x, p)
        t = Neg(s:1)
        f = Exp(s:0)
        either = ControlTrigger(^t, ^f)
        y = Neg(x, ^either)
        fetch y
    """)
    assert program_text(found) == tidy("""
        feed 0 > s.1
        feed 1 > s.0, y.0
        switch s(x, p): 0 > f.0; 1 > t.0
        segment t(s:1)
        segment f(s)
        trigger either() after t, f
        segment y(x) after either: y(x) > y:0.0
        take y:0(y)
    """)
