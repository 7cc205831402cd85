"""The dataflow executor: tokens in, firings out. Programs are written by hand; values are written down, not computed.

A line of a program is a unit: kind, name, inputs, outputs, and what it is besides::

    feed x, p
    switch s: x, p -> no, yes
    segment neg: no -> n             # gives "neg(...)", or what a function of the test says
    merge m: n, yes -> m, which
    segment late: m -> l after neg   # a control edge
    enter e: x -> e of loop [constant] [parallel 2]
    exit out: no -> out of loop
    take y: m

Edges are known by name. What the executor does is read off as one line a firing: the unit, what it was given, and the
iteration. `-` is a dead token.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from penstock import errors
from penstock.graph.step_graph import FEED, Edge, Node
from penstock.runtime import tokens
from penstock.runtime.executor import _DEAD, Execution
from penstock.runtime.rendezvous import Rendezvous
from penstock.runtime.tokens import DataflowProgram, Iteration, Tokens, Unit
from penstock.tensor.dtypes import float32
from tests.graphs import lines, tidy

_LINE = re.compile(
    r"(?P<kind>\w+) (?P<name>\w+):(?P<inputs>[ \w,]*?)(?:->(?P<outputs>[ \w,]+?))?(?P<after> after [\w, ]+?)?"
    r"(?: of (?P<frame>\w+))?(?P<constant> constant)?(?: parallel (?P<parallel>\d+))?(?: key (?P<key>\w+))?"
)

Functions = Mapping[str, Callable[..., Any]]
NONE: Functions = MappingProxyType({})


def program(text: str, functions: Functions = NONE) -> DataflowProgram:
    """The program that `text` says (see above)."""
    units: dict[str, Unit] = {}
    feeds: list[str] = []
    for line in filter(None, (line.split("#")[0].strip() for line in text.splitlines())):
        if line.startswith("feed "):
            feeds = _words(line.removeprefix("feed "))
        else:
            found = _LINE.fullmatch(line)
            assert found, f"no line of a program: {line!r}"
            _add_unit(found, units, functions)
    frames = {unit.frame_name for unit in units.values() if unit.kind == tokens.ENTER}
    for frame in frames:
        enters = [u for u in units.values() if u.kind == tokens.ENTER and u.frame_name == frame]
        exits = [u for u in units.values() if u.kind == tokens.EXIT and u.frame_name == frame]
        for unit in enters:
            unit.enters, unit.exits = len(enters), exits
    consumers: dict[str, list[tuple[Unit, int]]] = {}
    for unit in units.values():
        for index, edge in enumerate(unit.inputs):
            consumers.setdefault(edge.node.name, []).append((unit, index))
    for unit in units.values():
        unit.consumers = [consumers.get(edge.node.name, []) for edge in unit.outputs]
    results = [unit for unit in units.values() if unit.kind == tokens.TAKE]
    sources = [unit for unit in units.values() if not unit.inputs and not unit.controls]
    return DataflowProgram(sources, [consumers.get(name, []) for name in feeds], results, list(units.values()))


def _add_unit(found: re.Match[str], units: dict[str, Unit], functions: Functions) -> None:
    name = found["name"]
    unit = units[name] = Unit(
        getattr(tokens, found["kind"].upper()),
        name,
        [_edge(word) for word in _words(found["inputs"])],
        [_edge(word) for word in _words(found["outputs"] or "")],
        frame_name=found["frame"] or "",
        is_constant=bool(found["constant"]),
        parallel_iterations=int(found["parallel"] or 10),
        loop_merge=found["kind"] == "merge" and bool(found["frame"]),
        key=found["key"] or "",
        explain=lambda error, where: RuntimeError(f"{name} failed in {where or 'the step'}: {error}"),
    )
    if unit.kind in (tokens.SEGMENT, tokens.ASYNC):
        unit.run = functions.get(name, lambda *values: (f"{name}({', '.join(map(_show, values))})",))
    if unit.kind == tokens.SEND:
        unit.run = lambda value: value
    for control in _words((found["after"] or "").removeprefix(" after")):
        units[control].control_consumers.append(unit)
        unit.controls += 1


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _edge(name: str) -> Edge:
    return Edge(Node(name, FEED, {}, (), (), "", (float32,), ()), 0)


def _show(value: Any) -> str:
    return "-" if value is _DEAD else str(value.item() if hasattr(value, "item") else value)


class Recorded(Execution):
    """An execution that writes down what fires."""

    def __init__(self, program: DataflowProgram, rendezvous: Rendezvous | None = None) -> None:
        super().__init__(program, threading.Event(), None, rendezvous)
        self.fired: list[str] = []

    def _execute(self, unit: Unit, iteration: Iteration, tokens: Tokens) -> None:
        where = iteration.where()
        given = ", ".join(map(_show, tokens.values)) + (", ^-" if tokens.dead_control else "")
        self.fired.append(f"{unit.name}({given.removeprefix(', ')})" + (f" in {where}" if where else ""))
        super()._execute(unit, iteration, tokens)

    def under_way(self) -> str:
        """What is in the frames and iterations of the step, a line each, between two firings."""
        assert self._root is not None
        return lines(self._lines(self._root.iterations[0], ""))

    def _lines(self, iteration: Iteration, inner: str) -> list[str]:
        waiting = [
            f"{unit.name}({', '.join(map(_show, each.values))})"
            for unit, each in iteration.tokens.items()
            if not each.fired
        ]
        name = "step" if iteration.frame.parent is None else f"iteration {iteration.number}"
        found = [f"{inner}{name}: {iteration.outstanding} under way" + "".join(f"; {each} waits" for each in waiting)]
        for frame in iteration.children.values():
            later = "".join(f"; iteration {number} is to get {_show(v)}" for _, v, number in frame.deferred)
            entering = f"; {frame.enters_pending} to enter" if frame.enters_pending else ""
            found.append(f"{inner}  {frame.name}{entering}{later}")
            for each in frame.iterations.values():
                found += self._lines(each, inner + "    ")
        return found


def fired(program: DataflowProgram, *values: Any) -> str:
    """The firings of a step, in order; and what it gives."""
    execution = Recorded(program)
    results = execution.run(values)
    return lines([*execution.fired, f"gives {', '.join(map(_show, results))}"])


def test_a_unit_runs_when_all_that_it_takes_has_come() -> None:
    step = program("""
        feed x, y
        segment a: x -> a
        segment b: a, y -> b
        segment c: a -> c
        segment d: c, b -> d
        take z: d
    """)
    assert fired(step, "x", "y") == tidy("""
        a(x)
        b(a(x), y)
        c(a(x))
        d(c(a(x)), b(a(x), y))
        z(d(c(a(x)), b(a(x), y)))
        gives d(c(a(x)), b(a(x), y))
    """)


_CONDITIONAL = """
    feed x, p
    switch s: x, p -> no, yes
    segment f: no -> f
    segment g: f -> g
    segment t: yes -> t
    merge m: g, t -> m, which
    take y: m
    take which: which
"""


def test_a_switch_sends_a_dead_token_where_its_value_does_not_go_and_a_merge_takes_the_live_one() -> None:
    assert fired(program(_CONDITIONAL), "x", np.bool_(True)) == tidy("""
        s(x, True)
        f(-)
        t(x)
        g(-)
        m(-, t(x))
        y(t(x))
        which(1)
        gives t(x), 1
    """)
    assert fired(program(_CONDITIONAL), "x", np.bool_(False)) == tidy("""
        s(x, False)
        f(x)
        t(-)
        g(f(x))
        m(g(f(x)), -)
        y(g(f(x)))
        which(0)
        gives g(f(x)), 0
    """)


def test_a_merge_of_dead_tokens_is_dead_and_so_is_what_waits_for_what_is_dead_but_no_trigger() -> None:
    step = program("""
        feed x, p
        switch s: x, p -> no, yes
        segment a: yes -> a
        segment b: yes -> b
        merge m: a, b -> m, which
        segment late: x -> late after a
        segment later: late -> later
        trigger either: after a, b
        segment runs: x -> runs after either
        segment live: no -> live after runs
        take y: live
    """)
    assert fired(step, "x", np.bool_(False)) == tidy("""
        s(x, False)
        a(-)
        b(-)
        late(x, ^-)
        m(-, -)
        either(^-)
        later(-)
        runs(x)
        live(x)
        y(live(x))
        gives live(x)
    """)


_LOOP = """
    enter e: x -> e of loop
    merge m: e, n -> m, which of loop
    segment less: m -> less
    pass cond: less -> cond
    switch s: m, cond -> done, on
    segment add: on -> add
    next n: add -> n
    exit out: done -> out of loop
"""


def _counting(most: int) -> Functions:
    return {"less": lambda i: (np.bool_(i < most),), "add": lambda i, by=1: (i + by,)}


def test_a_loop_runs_one_iteration_after_the_other_and_its_last_value_leaves_it() -> None:
    assert fired(program(f"feed x \n {_LOOP} \n take y: out", _counting(2)), 0) == tidy("""
        e(0)
        m(0, -) in iteration 0 of loop
        less(0) in iteration 0 of loop
        cond(True) in iteration 0 of loop
        s(0, True) in iteration 0 of loop
        out(-) in iteration 0 of loop
        add(0) in iteration 0 of loop
        n(1) in iteration 0 of loop
        m(-, 1) in iteration 1 of loop
        less(1) in iteration 1 of loop
        cond(True) in iteration 1 of loop
        s(1, True) in iteration 1 of loop
        out(-) in iteration 1 of loop
        add(1) in iteration 1 of loop
        n(2) in iteration 1 of loop
        m(-, 2) in iteration 2 of loop
        less(2) in iteration 2 of loop
        cond(False) in iteration 2 of loop
        s(2, False) in iteration 2 of loop
        out(2) in iteration 2 of loop
        add(-) in iteration 2 of loop
        y(2)
        n(-) in iteration 2 of loop
        gives 2
    """)


def test_a_constant_of_a_loop_comes_to_every_iteration_be_it_late() -> None:
    """The step is fed the constant when the loop is in its first iteration."""
    text = _LOOP.replace("add: on ->", "add: on, by ->") + "enter by: step -> by of loop constant"
    execution = Recorded(program(f"feed x, step \n {text} \n take y: out", _counting(5)))
    execution.begin()
    execution.feed(0, 0)
    assert execution.advance()
    assert execution.under_way() == tidy("""
        step: 0 under way
          loop; 1 to enter
            iteration 0: 0 under way; add(0, -) waits
    """)
    execution.feed(1, 3)
    assert execution.advance()
    assert [line for line in execution.fired if line.startswith("add")] == [
        "add(0, 3) in iteration 0 of loop",
        "add(3, 3) in iteration 1 of loop",
        "add(-, 3) in iteration 2 of loop",
    ]
    assert execution.result(0) == 6 and execution.under_way() == "step: 0 under way"


def test_as_many_iterations_overlap_as_a_loop_allows_and_they_end_in_order() -> None:
    under_way: list[Callable[[Any], None]] = []
    text = _LOOP.replace("of loop", "of loop parallel 2", 1) + "async slow: on -> slow"
    functions = {**_counting(3), "slow": lambda done, i: under_way.append(done)}
    execution = Recorded(program(f"feed x \n {text} \n take y: out", functions))
    execution.begin()
    execution.feed(0, 0)
    assert execution.advance()
    assert execution.under_way() == tidy("""
        step: 0 under way
          loop; iteration 2 is to get 2
            iteration 0: 1 under way
            iteration 1: 1 under way
    """)
    under_way[0]("done")  # iteration 0 ends, so another may begin
    execution.advance()
    assert execution.under_way() == tidy("""
        step: 0 under way
          loop; iteration 3 is to get 3
            iteration 1: 1 under way
            iteration 2: 1 under way
    """)
    under_way[2]("done")  # it cannot end before iteration 1
    execution.advance()
    assert execution.under_way() == tidy("""
        step: 0 under way
          loop; iteration 3 is to get 3
            iteration 1: 1 under way
            iteration 2: 0 under way
    """)
    assert not execution.has_result(0)
    under_way[1]("done")
    execution.advance()
    assert execution.under_way() == "step: 0 under way"
    assert execution.result(0) == 3 and len(under_way) == 3


def test_a_loop_that_is_entered_by_dead_tokens_runs_once_through_and_gives_dead_tokens() -> None:
    step = program(
        f"""
        feed a, p
        switch branch: a, p -> no, x
        {_LOOP}
        merge either: no, out -> either, side
        take y: either
        segment after: out -> after
        """,
        _counting(2),
    )
    assert fired(step, 0, np.bool_(False)) == tidy("""
        branch(0, False)
        either(0, -)
        e(-)
        y(0)
        m(-, -) in iteration 0 of loop
        less(-) in iteration 0 of loop
        cond(-) in iteration 0 of loop
        s(-, -) in iteration 0 of loop
        out(-) in iteration 0 of loop
        add(-) in iteration 0 of loop
        n(-) in iteration 0 of loop
        after(-)
        gives 0
    """)


def test_a_loop_in_a_loop_has_a_frame_for_each_iteration_around_it() -> None:
    """The inner loop counts to two from where the outer one is, which goes on with what it gives plus one."""
    step = program(
        """
        feed x
        enter oe: x -> oe of outer
        merge om: oe, on -> om, ow of outer
        segment oless: om -> oless
        pass ocond: oless -> ocond
        switch os: om, ocond -> odone, oon
        enter e: oon -> e of inner
        merge m: e, n -> m, w of inner
        segment less: m -> less
        pass cond: less -> cond
        switch s: m, cond -> done, on_
        segment add: on_ -> add
        next n: add -> n
        exit out: done -> out of inner
        segment oadd: out -> oadd
        next on: oadd -> on
        exit oout: odone -> oout of outer
        take y: oout
        """,
        {**_counting(2), "oless": lambda i: (np.bool_(i < 4),), "oadd": lambda i: (i + 1,)},
    )
    found = fired(step, 0).splitlines()
    assert [line for line in found if line.startswith(("add", "oadd", "gives"))] == [
        "add(0) in iteration 0 of inner, iteration 0 of outer",
        "add(1) in iteration 1 of inner, iteration 0 of outer",
        "add(-) in iteration 2 of inner, iteration 0 of outer",
        "oadd(2) in iteration 0 of outer",
        "add(-) in iteration 0 of inner, iteration 1 of outer",
        "oadd(3) in iteration 1 of outer",
        "add(-) in iteration 0 of inner, iteration 2 of outer",
        "oadd(-) in iteration 2 of outer",
        "gives 4",
    ]


def test_what_is_sent_goes_before_what_only_computes_and_keys_say_the_iteration() -> None:
    rendezvous = Rendezvous()
    text = _LOOP + "send there: on key there \n segment last: out -> last \n send end: out key end"
    execution = Recorded(program(f"feed x \n {text} \n take y: last", _counting(2)), rendezvous)
    execution.run([0])
    assert rendezvous._values == {
        ("there", ("loop", 0)): 0,
        ("there", ("loop", 1)): 1,
        ("there", ("loop", 2)): _DEAD,
        ("end", ()): 2,
    }
    there, end = "there(0) in iteration 0 of loop", "end(2)"
    assert execution.fired.index(there) < execution.fired.index("out(-) in iteration 0 of loop")
    assert execution.fired.index(end) < execution.fired.index("last(2)")


def test_a_received_value_is_a_token_of_its_iteration_be_it_dead() -> None:
    rendezvous = Rendezvous()
    step = program("""
        recv r: -> r key k
        recv q: -> q key l
        segment a: r -> a
        merge m: q, a -> m, which
        take y: m
    """)
    rendezvous.send(("k", ()), "sent")
    rendezvous.send(("l", ()), _DEAD)
    execution = Recorded(step, rendezvous)
    assert execution.run([]) == ["a(sent)"]
    assert execution.fired == ["q()", "r()", "a(sent)", "m(-, a(sent))", "y(a(sent))"]


def test_a_step_that_misses_a_value_says_which_unit_waits_for_what() -> None:
    step = program("feed x, z \n segment b: x -> b \n segment a: x, z -> a after b \n take y: a")
    with pytest.raises(errors.InternalError) as raised:
        Recorded(step).run(["x"])
    assert str(raised.value) == tidy("""
        The step cannot go on: nothing is under way, and there is no y.
          a waits for z:0
    """)


def test_fetching_a_dead_value_is_an_error_and_so_is_what_a_unit_raises_in_which_iteration() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"Retval\[0\] does not have value: y is in a branch"):
        Recorded(program("feed x, p \n switch s: x, p -> no, yes \n take y: yes")).run(["x", np.bool_(False)])

    def add(i: int) -> tuple[int]:
        if i:
            raise ValueError("too much")
        return (i + 1,)

    functions = {**_counting(3), "add": add}
    with pytest.raises(RuntimeError, match="add failed in iteration 1 of loop: too much"):
        Recorded(program(f"feed x \n {_LOOP} \n take y: out", functions)).run([0])
