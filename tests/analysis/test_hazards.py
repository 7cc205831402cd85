"""Which reads of state are copied, and which fetches; by the order in which a step runs."""

from __future__ import annotations

import pytest

from penstock.analysis.hazards import Hazards, find_hazards, find_reads, kept_reads, state_accesses
from penstock.graph.step_graph import StepGraph
from tests.graphs import COUNTER, edge_text, lines, step_graph, tidy

_VARIABLE = """
    v = VariableV2 : float32[2]
    one = Const value=1.0 : float32[2]
"""


def in_order(graph: StepGraph, looped: frozenset[str] = frozenset()) -> list[tuple[object, bool]]:
    """The graph's own order, in which the nodes named by `looped` are in a loop."""
    return [(node, node.name in looped) for node in graph.nodes]


def hazards_text(graph: StepGraph, found: Hazards) -> str:
    reads = sorted(f"copy {edge_text(node.inputs[i])} for {node.name}" for node, i in found.reads)
    pairs = zip(graph.fetches, found.fetches, strict=True)
    return lines([*reads, *(f"fetch {'a copy of ' * copied}{edge_text(edge)}" for edge, copied in pairs)])


_COPIED = "copy v for read\n"


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        pytest.param(
            "read = Identity(v); y = Neg(read); write = AssignAdd(v, one)", "fetch y", id="a write at the end"
        ),
        pytest.param("read = Identity(v); write = AssignAdd(v, one); y = Neg(read)", _COPIED + "fetch y", id="between"),
        pytest.param("read = Identity(v); y = AssignAdd(v, read)", _COPIED + "fetch a copy of y", id="by its last use"),
        pytest.param("write = AssignAdd(v, one); read = Identity(v); y = Neg(read)", "fetch y", id="before"),
        pytest.param(
            "read = Identity(v); view = StopGradient(read); write = AssignAdd(v, one); y = Neg(view)",
            _COPIED + "fetch y",
            id="before a view is used",
        ),
        pytest.param(
            "read = Identity(v); value = Neg(read); write = AssignAdd(v, one); y = Neg(value)",
            "fetch y",
            id="before what was computed is used",
        ),
        pytest.param(
            "read = Identity(v); write = AssignAdd(v, one); y = StopGradient(read)",
            _COPIED + "fetch a copy of y",
            id="before a view is fetched",
        ),
        pytest.param(
            "w = VariableV2 : float32[2]; read = Identity(v); write = AssignAdd(w, one); y = Neg(read)",
            "fetch y",
            id="to another variable",
        ),
    ],
)
def test_a_read_is_copied_if_a_write_comes_before_its_last_use(nodes: str, wanted: str) -> None:
    graph = step_graph(_VARIABLE + nodes.replace(";", "\n") + "\nfetch y")
    assert hazards_text(graph, find_hazards(graph, in_order(graph))) == wanted


def test_without_an_order_or_with_a_write_in_a_loop_all_reads_of_what_is_written_are_copied() -> None:
    graph = step_graph(_VARIABLE + "read = Identity(v) \n y = Neg(read) \n write = AssignAdd(v, one) \n fetch y")
    assert hazards_text(graph, find_hazards(graph, in_order(graph))) == "fetch y"
    looped = in_order(graph, frozenset({"write"}))
    for order in (None, looped):
        assert hazards_text(graph, find_hazards(graph, order)) == "copy v for read\nfetch y"


def test_what_is_fetched_is_copied_where_it_may_show_memory_of_something_that_stays() -> None:
    graph = step_graph("""
        x = Feed : float32[2]
        c = Const value=1.0 : float32[2]
        v = VariableV2 : float32[2]
        read = Identity(v)
        y = Neg(x)
        same = Identity(y)
        z = Neg(y)
        fetch x, c, read, y, same, z
    """)
    assert hazards_text(graph, find_hazards(graph, in_order(graph))) == tidy("""
        fetch a copy of x
        fetch a copy of c
        fetch a copy of read
        fetch y
        fetch a copy of same
        fetch z
    """)


def test_what_goes_round_a_loop_may_show_the_memory_of_what_enters_and_of_what_goes_back() -> None:
    body = COUNTER.replace("zero = Const value=0", "zero = Feed")
    for graph, back in (
        (step_graph(body.replace("Add(switch:1, one)", "Identity(switch:1)")), set[str]()),
        (step_graph(body), {"add"}),
    ):
        _, roots = find_reads(graph, in_order(graph))
        shown = {edge.node.name: {node.name for node in nodes} for edge, nodes in roots.items()}
        assert shown["less"] == {"less"}
        for name in ("merge", "switch", "exit"):  # an op aliases all its inputs or none, a Switch its condition as well
            assert shown[name] - {"less"} == {"zero"} | back, name


def test_a_read_begins_where_it_runs_and_lasts_to_the_last_node_that_sees_its_value() -> None:
    graph = step_graph("""
        v = VariableV2 : float32[2]
        read = Identity(v)
        view = StopGradient(read)
        y = Neg(read)
        z = Neg(view)
        u = Neg(y)
        w = VariableV2 : float32[2]
        other = Identity(w)
        fetch u, z, other
    """)
    reads, _ = find_reads(graph, in_order(graph))
    names = [node.name for node in graph.nodes] + ["the end"]
    found = (
        f"{r.node.name} of {', '.join(n.name for n in r.roots)}: {names[r.start]} to {names[r.last]}" for r in reads
    )
    assert lines(found) == tidy("""
        read of v: read to z
        other of w: other to the end
    """)


def test_each_use_of_state_reads_it_or_may_write_it() -> None:
    graph = step_graph("""
        v = VariableV2 : float32[2]
        h = VarHandleOp : float32[2]
        alias = Identity(h)
        one = Const value=1.0 : float32[2]
        a = Identity(v)
        b = AssignAdd(v, one)
        c = ReadVariableOp(alias) : float32
        d = AssignVariableOp(alias, one)
        e = Neg(v)
        fetch a, e, c
        target b, d
    """)
    found = [
        f"{node.name} {'writes' if writes else 'reads'} {root.name}" for node, root, writes in state_accesses(graph)
    ]
    assert found == ["a reads v", "b writes v", "c reads h", "d writes h", "e reads v"]


def test_what_sees_a_variable_comes_before_what_overwrites_it_unless_it_sees_a_copy() -> None:
    """v --> early --> x, view --> y     before the first write
    v --> late  --> z                 copied: the second write comes between
    """
    graph = step_graph(
        _VARIABLE
        + """
        early = Identity(v)
        x = Neg(early)
        view = StopGradient(early)
        y = Neg(view)
        first = AssignAdd(v, one)
        late = Identity(v)
        second = AssignAdd(v, one)
        z = Neg(late)
        fetch x, y, z
    """
    )
    copied, pairs = kept_reads(graph)
    assert [node.name for node, _ in copied] == ["late"]
    assert sorted((first.name, second.name) for first, second in pairs) == [
        ("early", "first"), ("view", "first"), ("x", "first"), ("y", "first"),
    ]  # fmt: skip
