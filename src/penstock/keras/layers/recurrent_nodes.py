"""How many nodes TensorFlow 1.15 makes for a recurrent layer, by which the seeds of what follows are counted.

It makes the step's nodes twice, once to see what a step gives. The numbers are those of its graphs.
"""

from __future__ import annotations

from typing import Any

from penstock.keras import activations

_HARD = 7 * 2
"""A hard sigmoid has 7 nodes more than a sigmoid."""
_GATES = {"LSTMCell": 3, "GRUCell": 2, "SimpleRNNCell": 0}
_WITH_SIGMOIDS = {"LSTMCell": 198, "GRUCell": 210, "SimpleRNNCell": 94}
_IN_ONE_PRODUCT = {"LSTMCell": -68, "GRUCell": -36}
"""implementation=2."""
_UNBIASED = {"LSTMCell": -17, "GRUCell": -37, "SimpleRNNCell": -5}
_MASKED = {"LSTMCell": 33, "GRUCell": 30, "SimpleRNNCell": 30}
_DROPPED = {"LSTMCell": (107, 98), "GRUCell": (81, 75), "SimpleRNNCell": (29, 29)}
"""For a dropout of inputs or states, where gates have products of their own, and where they have one."""
_GIVEN = {"LSTMCell": -21, "GRUCell": -13, "SimpleRNNCell": -13}
"""With initial states that the call gives."""
_KEPT = {"LSTMCell": -10, "GRUCell": -6, "SimpleRNNCell": -9}
"""With states that the layer keeps."""
_RESET_AFTER = 28


def nodes_of(layer: Any, masked: bool, given: bool) -> int | None:
    """The nodes of a call of `layer`, None for what is not counted: other cells, steps that are unrolled."""
    cell = layer.cell
    kind = type(cell).__name__
    if kind not in _GATES or not type(cell).__module__.startswith("penstock.") or layer.unroll:
        return None
    together = getattr(cell, "implementation", 1) == 2
    nodes = _WITH_SIGMOIDS[kind] + (_IN_ONE_PRODUCT.get(kind, 0) if together else 0)
    if _GATES[kind] and cell.recurrent_activation is activations.get("hard_sigmoid"):
        nodes += _HARD * _GATES[kind]
    nodes += 0 if cell.use_bias else _UNBIASED[kind]
    nodes += _MASKED[kind] if masked else 0
    nodes += _DROPPED[kind][together] * sum(rate > 0 for rate in (cell.dropout, cell.recurrent_dropout))
    nodes += _RESET_AFTER if cell.reset_after and kind == "GRUCell" else 0
    nodes += _GIVEN[kind] if given else _KEPT[kind] if layer.stateful else 0
    return nodes + (2 if layer.go_backwards else 0)
