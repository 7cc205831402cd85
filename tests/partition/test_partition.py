"""A placed graph in, each device's part out: its nodes and edges, what it sends and receives, its loops."""

from __future__ import annotations

import pytest

from penstock import errors
from penstock.graph.step_graph import Node
from penstock.partition.partition import Partition, partition
from tests.graphs import device, graph_text, lines, step_graph, tidy


def parts_text(text: str, compress: bool = False) -> str:
    """The parts of a graph: each device's nodes, with the keys of what is sent and received."""
    return lines(map(_part_text, partition(step_graph(text), compress)))


def _part_text(part: Partition) -> str:
    number = part.device.rpartition(":")[2]
    keys = {node.name: _key(node) for node in part.graph.nodes if "key" in node.attrs}
    found = [f"device {number}, feeds {part.feeds}, fetches {part.fetches}:"]
    for line in graph_text(part.graph).splitlines():
        found.append(f"  {line}{keys.get(line.split(' =')[0], '')}")
    return lines(found).replace("[]", "-").replace("[", "").replace("]", "")


def _key(node: Node) -> str:
    return f" as {node.attrs['key'].replace(device(0), '0').replace(device(1), '1')}"


def test_a_value_that_another_device_takes_is_sent_and_received_once() -> None:
    assert parts_text("""
        x = Feed : float32[2]
        a = Neg(x) @ 0
        b = Exp(a) @ 1
        c = Mul(a, b) @ 1
        d = Neg(a) @ 0
        fetch c, d
    """) == tidy("""
        device 0, feeds 0, fetches 1:
          x = Feed()
          a = Neg(x)
          _send_a_0 = _Send(a) as a:0 to 1
          d = Neg(a)
          fetch d
        device 1, feeds -, fetches 0:
          _recv_a_0 = _Recv() as a:0 to 1
          b = Exp(_recv_a_0)
          c = Mul(_recv_a_0, b)
          fetch c
    """)


def test_feeds_and_constants_are_on_each_device_that_takes_them_and_are_not_sent() -> None:
    assert parts_text("""
        x = Feed : float32
        y = Feed : float32
        one = Const value=1.0 : float32 @ 0
        a = Add(y, one) @ 0
        b = Add(x, one) @ 1
        fetch a, b
    """) == tidy("""
        device 0, feeds 1, fetches 0:
          y = Feed()
          one = Const()
          a = Add(y, one)
          fetch a
        device 1, feeds 0, fetches 1:
          x = Feed()
          one = Const()
          b = Add(x, one)
          fetch b
    """)


def test_a_control_edge_between_devices_is_sent_without_a_value_and_once() -> None:
    assert parts_text("""
        x = Feed : float32
        a = Neg(x) @ 0
        b = Neg(x, ^a) @ 1
        c = Exp(x, ^a) @ 1
        d = NoOp(^b) @ 0
        fetch c
        target d
    """) == tidy("""
        device 0, feeds 0, fetches -:
          x = Feed()
          a = Neg(x)
          _send_control_a = _SendControl(^a) as ^a to 1
          _recv_control_b = _RecvControl() as ^b to 0
          d = NoOp(^_recv_control_b)
          target d
        device 1, feeds 0, fetches 0:
          x = Feed()
          _recv_control_a = _RecvControl() as ^a to 1
          b = Neg(x, ^_recv_control_a)
          c = Exp(x, ^_recv_control_a)
          _send_control_b = _SendControl(^b) as ^b to 0
          fetch c
    """)


def test_a_reference_is_read_on_its_own_device_and_the_value_is_sent() -> None:
    assert parts_text("""
        v = VariableV2 : float32[2] @ 0
        a = Neg(v) @ 1
        fetch a
    """) == tidy("""
        device 0, feeds -, fetches -:
          v = VariableV2()
          _read_v = Identity(v)
          _send__read_v_0 = _Send(_read_v) as _read_v:0 to 1
        device 1, feeds -, fetches 0:
          _recv_v_0 = _Recv() as _read_v:0 to 1
          a = Neg(_recv_v_0)
          fetch a
    """)


def test_a_reader_elsewhere_of_a_variable_that_is_written_reads_it_at_home_in_the_order_of_building() -> None:
    """The read waits for what its reader waits for; the write built after it waits for the read."""
    assert parts_text("""
        v = VariableV2 : float32[2] @ 0
        x = Feed : float32[2]
        first = AssignAdd(v, x) @ 0
        b = Add(v, x, ^first) @ 1
        second = AssignAdd(v, x) @ 0
        fetch b
        target second
    """) == tidy("""
        device 0, feeds 0, fetches -:
          x = Feed()
          v = VariableV2()
          first = AssignAdd(v, x)
          _read_0_for_b = Identity(v, ^first)
          _send__read_0_for_b_0 = _Send(_read_0_for_b) as _read_0_for_b:0 to 1
          _send_control_first = _SendControl(^first) as ^first to 1
          second = AssignAdd(v, x, ^first, ^_read_0_for_b)
          target second
        device 1, feeds 0, fetches 0:
          x = Feed()
          _recv__read_0_for_b_0 = _Recv() as _read_0_for_b:0 to 1
          _recv_control_first = _RecvControl() as ^first to 1
          b = Add(_recv__read_0_for_b_0, x, ^_recv_control_first)
          fetch b
    """)


_LOOP = """
    zero = Const value=0 : int32
    one = Const value=1 : int32
    limit = Const value=3 : int32
    enter = Enter(zero) frame_name=loop @ 0
    merge = Merge(enter, next) @ 0
    less = Less(merge, limit) @ 0
    cond = LoopCond(less) @ 0
    switch = Switch(merge, cond) @ 0
    add = Add(switch:1, one) @ {add}
    next = NextIteration(add) @ 0
    exit = Exit(switch:0) @ 0
    fetch exit
"""


def test_a_device_without_a_variable_of_the_loop_goes_through_it_by_a_control_loop_of_its_own() -> None:
    """As in the paper's section 4.4: the condition is sent, and the device's Recvs wait for its own Merge."""
    assert parts_text(_LOOP.format(add=1)) == tidy("""
        device 0, feeds -, fetches 0:
          zero = Const()
          limit = Const()
          enter = Enter(zero)
          merge = Merge(enter, next)
          less = Less(merge, limit)
          cond = LoopCond(less)
          switch = Switch(merge, cond)
          _send_cond_0 = _Send(cond) as cond:0 to 1
          _send_switch_1 = _Send(switch:1) as switch:1 to 1
          _recv_add_0 = _Recv(^merge) as add:0 to 0
          next = NextIteration(_recv_add_0)
          exit = Exit(switch)
          fetch exit
        device 1, feeds -, fetches -:
          _begin_loop = Const()
          one = Const()
          _enter_loop = Enter(_begin_loop)
          _merge_loop = Merge(_enter_loop, _next_loop)
          _recv_cond = _Recv(^_merge_loop) as cond:0 to 1
          _cond = LoopCond(_recv_cond)
          _switch_loop = Switch(_merge_loop, _cond)
          _next_loop = NextIteration(_switch_loop:1)
          _recv_switch_1 = _Recv(^_merge_loop) as switch:1 to 1
          add = Add(_recv_switch_1, one)
          _send_add_0 = _Send(add) as add:0 to 0
    """)


def test_devices_with_loop_variables_share_the_condition_and_a_constant_of_the_loop_is_received_once_outside() -> None:
    text = _LOOP.format(add=0).replace("    fetch exit", "").replace("one =", "x = Feed : float32 \n one =")
    assert parts_text(f"""
        {text}
        c = Exp(x) @ 0
        constant = Enter(c) frame_name=loop is_constant=True @ 0
        v_enter = Enter(x) frame_name=loop @ 1
        v_merge = Merge(v_enter, v_next) @ 1
        v_switch = Switch(v_merge, cond) @ 1
        v_add = Add(v_switch:1, constant) @ 1
        v_next = NextIteration(v_add) @ 1
        v_exit = Exit(v_switch:0) @ 1
        fetch exit, v_exit
    """) == tidy("""
        device 0, feeds 0, fetches 0:
          zero = Const()
          x = Feed()
          one = Const()
          limit = Const()
          enter = Enter(zero)
          merge = Merge(enter, next)
          less = Less(merge, limit)
          cond = LoopCond(less)
          switch = Switch(merge, cond)
          add = Add(switch:1, one)
          next = NextIteration(add)
          exit = Exit(switch)
          c = Exp(x)
          constant = Enter(c)
          _send_cond_0 = _Send(cond) as cond:0 to 1
          _send_c_0 = _Send(c) as c:0 to 1
          fetch exit
        device 1, feeds 0, fetches 1:
          x = Feed()
          v_enter = Enter(x)
          v_merge = Merge(v_enter, v_next)
          _recv_cond = _Recv(^v_merge) as cond:0 to 1
          _cond = LoopCond(_recv_cond)
          v_switch = Switch(v_merge, _cond)
          _recv_c_0 = _Recv() as c:0 to 1
          _enter_constant = Enter(_recv_c_0)
          v_add = Add(v_switch:1, _enter_constant)
          v_next = NextIteration(v_add)
          v_exit = Exit(v_switch)
          fetch v_exit
    """)


def test_a_branch_on_another_device_is_sent_what_the_switch_gives_dead_or_not() -> None:
    assert parts_text("""
        x = Feed : float32
        p = Feed : bool
        s = Switch(x, p) @ 0
        t = Neg(s:1) @ 1
        m = Merge(s:0, t) @ 0
        fetch m
    """) == tidy("""
        device 0, feeds 0, 1, fetches 0:
          x = Feed()
          p = Feed()
          s = Switch(x, p)
          _send_s_1 = _Send(s:1) as s:1 to 1
          _recv_t_0 = _Recv() as t:0 to 0
          m = Merge(s, _recv_t_0)
          fetch m
        device 1, feeds -, fetches -:
          _recv_s_1 = _Recv() as s:1 to 1
          t = Neg(_recv_s_1)
          _send_t_0 = _Send(t) as t:0 to 0
    """)


def test_a_loop_on_several_devices_needs_a_condition() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="the loop 'odd', on several devices, has no LoopCond"):
        parts_text("""
            x = Feed : float32
            enter = Enter(x) frame_name=odd @ 0
            a = Neg(enter) @ 1
            exit = Exit(a) @ 1
            fetch exit
        """)


def test_only_floats_travel_as_16_bits_and_both_ends_say_so() -> None:
    for compress in (False, True):
        graph = step_graph("""
            x = Feed : float32
            i = Feed : int32
            a = Neg(x) @ 0
            j = Neg(i) @ 0
            b = Neg(a) @ 1
            k = Neg(j) @ 1
            fetch b, k
        """)
        found = [n for part in partition(graph, compress) for n in part.graph.nodes if "key" in n.attrs]
        assert {node.name: node.attrs["compress"] for node in found} == {
            "_send_a_0": compress,
            "_recv_a_0": compress,
            "_send_j_0": False,
            "_recv_j_0": False,
        }
