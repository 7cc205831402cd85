"""Plans and their generated functions: what runs, in which order, and what is copied."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import penstock as tf
from penstock.engine.plan import Plan


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def plan_of(session: tf.Session, fetches: object, feeds: tuple[object, ...] = ()) -> Plan:
    return session._runner(fetches, dict.fromkeys(feeds))[0]


@pytest.mark.uncompiled
def test_only_what_the_fetches_need_runs_cut_at_the_feeds(session: tf.Session) -> None:
    a = tf.constant(1.0, name="a")
    b = tf.add(a, 1.0, name="b")
    c = tf.add(b, 1.0, name="c")
    tf.add(c, 1.0, name="d")
    assert [node.name for node in plan_of(session, c, (b,)).graph.nodes] == ["_feed_b_0", "c/y", "c"]


@pytest.mark.uncompiled
def test_the_generated_function_is_readable_and_frees_values_after_their_last_use(
    session: tf.Session,
) -> None:
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    y = tf.tanh(tf.matmul(x, x))
    source = plan_of(session, y, (x,)).source
    assert [line.strip() for line in source.splitlines()] == [
        "def step(a0):",
        "v0 = feed0(a0)",
        "v1 = matmul(v0, v0)",
        "del v0",
        "v2 = tanh_into_0(v1)",  # over the memory of v1, which nobody needs any more
        "del v1",
        "return (fetch0(v2),)",
    ]


def test_nodes_run_in_the_order_in_which_they_were_built(session: tf.Session) -> None:
    v = tf.Variable(1.0, name="v")
    session.run(v.initializer)
    double = tf.assign(v, v * 2.0)
    with tf.control_dependencies([double]):
        plus = tf.assign_add(v, 3.0)
    assert session.run([plus, double])[0] == 5.0


def test_a_read_that_is_overwritten_before_its_last_use_keeps_its_value(session: tf.Session) -> None:
    """What is fetched of it does; a reference's read shows what waits for the update the updated variable."""
    for use_resource in (False, True):
        v = tf.Variable([1.0, 2.0], use_resource=use_resource)
        session.run(v.initializer)
        read = v.read_value()
        view = tf.reshape(read, [2, 1])
        with tf.control_dependencies([view]):
            update = v.assign_add([10.0, 10.0])
        with tf.control_dependencies([update]):
            late = tf.identity(view) + 0.0
            new = v.read_value() + 0.0
        found = session.run([read, view, late, new])
        assert found[0].tolist() == [1, 2]
        assert found[1].tolist() == [[1], [2]]
        assert found[2].tolist() == ([[1], [2]] if use_resource else [[11], [12]])
        assert found[3].tolist() == [11, 12]


def test_a_read_that_is_done_before_the_update_is_not_copied(session: tf.Session) -> None:
    v = tf.Variable([1.0, 2.0])
    loss = tf.reduce_sum(v * v)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(v.initializer)
    assert "copy" not in plan_of(session, [loss, train]).source
    read = v.read_value()
    with tf.control_dependencies([read]):
        update = v.assign_add([1.0, 1.0])
    assert "copy" in plan_of(session, [read, update]).source


def test_a_variable_does_not_alias_what_was_assigned_to_it(session: tf.Session) -> None:
    import numpy as np

    a, b = tf.Variable([1.0, 1.0]), tf.Variable([2.0, 2.0])
    x = tf.placeholder(tf.float32, [2])
    session.run(tf.global_variables_initializer())
    fed = np.array([5.0, 5.0], np.float32)
    session.run(a.assign(x), {x: fed})
    fed[:] = 0
    assert session.run(a).tolist() == [5, 5]
    session.run(a.assign(b))
    session.run(b.assign_add([1.0, 1.0]))
    assert session.run(a).tolist() == [2, 2]


def test_a_fetched_read_keeps_its_value_however_many_conditionals_the_step_has(session: tf.Session) -> None:
    p, v = tf.placeholder(tf.bool, []), tf.Variable(0)
    seen = v.read_value()
    y = tf.cond(p, lambda: tf.constant(5) + 1, lambda: tf.constant(7) + 1)
    z = tf.cond(p, lambda: y + 1, lambda: y + 2)
    update = tf.assign(v, z)
    session.run(v.initializer)
    assert session.run([seen, update.op], {p: True})[0] == 0
    assert session.run(v) == 7
