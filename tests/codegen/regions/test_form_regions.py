"""A small graph in, what becomes one C function and what stays out: each region's nodes, and the graph around it."""

from __future__ import annotations

from penstock.codegen.regions.regions import form_regions
from penstock.graph.step_graph import FEED, StepGraph
from tests.graphs import COUNTER, edge_text, graph_text, lines, names, step_graph, tidy


def regions_text(graph: StepGraph) -> str:
    """The graph with its regions; then of each the nodes, in their order, and what it gives."""
    found = [graph_text(graph).replace("_Region", "Region")]
    for node in graph.nodes:
        if node.op.name == "_Region":
            body = node.attrs["body"]
            inside = names(n for n in body.nodes if n.op is not FEED)
            found.append(f"{node.name}: {inside} -> {', '.join(map(edge_text, body.fetches))}")
    return lines(found)


def formed(text: str) -> str:
    return regions_text(form_regions(step_graph(text)))


def test_small_nodes_are_one_region_whose_inputs_are_what_is_fed() -> None:
    assert formed("""
        x = Feed : float32[4]
        y = Feed : float32[4]
        a = Exp(x)
        b = Tanh(a)
        c = Mul(b, y)
        fetch c, a
    """) == tidy("""
        x = Feed()
        y = Feed()
        c/region = Region(x, y)
        fetch c/region:1, c/region
        c/region: a, b, c -> a, c
    """)


def test_what_cannot_be_written_divides_and_what_comes_after_is_a_level_higher() -> None:
    """`side` waits for nothing, but only the second region takes it: there it need not come out."""
    assert formed("""
        x = Feed : float32[2,2]
        a = Exp(x)
        b = Tanh(a)
        side = Neg(x)
        between = MatrixInverse(b)
        c = Mul(between, a)
        d = Add(c, side)
        fetch d
    """) == tidy("""
        x = Feed()
        b/region = Region(x)
        between = MatrixInverse(b/region:1)
        d/region = Region(x, between, b/region)
        fetch d/region
        b/region: a, b -> a, b
        d/region: side, c, d -> d
    """)


def test_one_call_is_not_worth_a_region_unless_no_other_is_left() -> None:
    text = "x = Feed : float32[2,2] \n a = Exp(x) \n"
    assert formed(text + "fetch a") == "x = Feed()\na/region = Region(x)\nfetch a/region\na/region: a -> a"
    graph = step_graph(text + "b = MatrixInverse(a) \n fetch b")
    assert form_regions(graph) is graph


def test_what_is_large_or_of_unknown_shape_stays() -> None:
    for shape in ("400,400", "?,4"):
        graph = step_graph(f"x = Feed : float32[{shape}] \n a = Exp(x) \n b = Tanh(a) \n fetch b")
        assert form_regions(graph) is graph


def test_a_loop_is_in_a_region_whole_with_the_constants_that_it_takes() -> None:
    assert formed(COUNTER + "y = Neg(exit) \n fetch y") == tidy("""
        y/region = Region()
        fetch y/region
        y/region: zero, limit, one, enter, merge, less, cond, switch, add, next, exit, y -> y
    """)


def test_a_loop_with_a_node_that_cannot_be_written_stays_whole_and_parts_what_is_around_it() -> None:
    assert formed("""
        x = Feed : float32[2,2]
        p = Feed : bool
        a = Exp(x)
        b = Tanh(a)
        enter = Enter(b) frame_name=loop
        again = Enter(p) frame_name=loop is_constant=True
        merge = Merge(enter, next)
        cond = LoopCond(again)
        switch = Switch(merge, cond)
        inside = Exp(switch:1)
        inverse = MatrixInverse(inside)
        next = NextIteration(inverse)
        exit = Exit(switch:0)
        c = Exp(exit)
        d = Tanh(c)
        fetch d
    """) == tidy("""
        x = Feed()
        p = Feed()
        b/region = Region(x)
        enter = Enter(b/region)
        again = Enter(p)
        merge = Merge(enter, next)
        cond = LoopCond(again)
        switch = Switch(merge, cond)
        inside = Exp(switch:1)
        inverse = MatrixInverse(inside)
        next = NextIteration(inverse)
        exit = Exit(switch)
        d/region = Region(exit)
        fetch d/region
        b/region: a, b -> b
        d/region: c, d -> d
    """)


def test_a_variable_stays_outside_and_is_updated_inside_after_all_else() -> None:
    assert formed("""
        v = VariableV2 : float32[4]
        x = Feed : float32[4]
        read = Identity(v)
        a = Mul(read, x)
        update = AssignSub(v, a)
        b = Exp(x)
        c = Mul(b, x)
        fetch c
        target update
    """) == tidy("""
        v = VariableV2()
        x = Feed()
        c/region = Region(x, v)
        fetch c/region
        target c/region
        c/region: v, read, a, b, c, update -> c
    """)


def test_what_does_not_run_in_every_step_stays() -> None:
    text = """
        p = Feed : bool
        x = Feed : float32[4]
        a = Exp(x)
        b = Tanh(a)
        s = Switch(b, p)
        t = Exp(s:1)
        u = Tanh(t)
        m = Merge(s:0, u)
        fetch m
    """
    assert formed(text) == tidy("""
        p = Feed()
        x = Feed()
        b/region = Region(x)
        s = Switch(b/region, p)
        t = Exp(s:1)
        u = Tanh(t)
        m = Merge(s, u)
        fetch m
        b/region: a, b -> b
    """)


def test_a_control_edge_into_a_region_is_waited_for_and_none_goes_round() -> None:
    assert formed("""
        x = Feed : float32[2,2]
        a = Exp(x)
        b = Tanh(a)
        inverse = MatrixInverse(x, ^b)
        c = Exp(b, ^inverse)
        d = Tanh(c)
        fetch d
        target inverse
    """) == tidy("""
        x = Feed()
        b/region = Region(x)
        inverse = MatrixInverse(x, ^b/region)
        d/region = Region(b/region, ^inverse)
        fetch d/region
        target inverse
        b/region: a, b -> b
        d/region: c, d -> d
    """)


def test_with_several_devices_or_switched_off_the_graph_is_as_it_was() -> None:
    text = "x = Feed : float32[4] @ 0 \n a = Exp(x) @ 0 \n b = Tanh(a) @ {} \n fetch b"
    graph = step_graph(text.format(1))
    assert form_regions(graph) is graph
    graph = step_graph(text.format(0))
    assert form_regions(graph, "off") is graph
    assert form_regions(graph) is not graph
