"""`Session.explain(graph=...)`: the graph after each pass, to read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import penstock as tf


def _text(graph: bool | str) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.add(x, tf.add(tf.constant(1.0, name="one"), 2.0, name="three"), name="y")
        return session.explain(y, {x: np.zeros((4, 2))}, graph=graph)


def test_the_graph_is_shown_after_a_pass_with_the_shapes_that_were_fed() -> None:
    lines = _text("fold_constants").splitlines()
    assert lines == [
        "_feed_x_0 = _Feed() : float32 (4, 2)",
        "three/folded = Const() value=3.0 : float32 ()",
        "y = AddV2(_feed_x_0:0, three/folded:0) : float32 (4, 2)",
        "fetch y:0",
    ]


def test_the_graph_is_shown_after_pruning_and_after_each_pass_that_changed_it() -> None:
    parts = _text(True).split("# after ")[1:]
    names = [part.splitlines()[0] for part in parts]
    assert names[0] == "prune" and "fold_constants" in names and "place" in names
    graphs = [part.split("\n", 1)[1] for part in parts]
    assert all(before != after for before, after in itertools.pairwise(graphs))
    assert "three = AddV2(" in parts[0] and "three = AddV2(" not in parts[names.index("fold_constants")]
    assert all(" @ /job:localhost" in line for line in parts[names.index("place")].splitlines()[1:-2] if line)


def test_nodes_that_stand_for_others_show_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "auto")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(tf.ones([3]), name="v")
        step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v * v * v + tf.tanh(v)))
        lines = session.explain(step, graph="form_regions").splitlines()
    (region,) = [i for i, line in enumerate(lines) if "= _Region(" in line]
    assert lines[region + 1].startswith("    ")


def test_nothing_is_compiled_for_who_asks_for_determinism(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code comes into use at some step, and may differ in the last bits."""
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    for asked, compiled in (("0", True), ("1", False)):
        monkeypatch.setenv("TF_DETERMINISTIC_OPS", asked)
        assert ("form_regions" in _text(True)) == compiled


def test_a_pass_that_did_not_run_is_named_with_those_that_did() -> None:
    with pytest.raises(ValueError, match=r"no pass 'fold' ran; these did: prune, .*fold_constants.*, place"):
        _text("fold")
