"""The text that a compiler is given grows with what is different in a step, not with how often it is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.analysis.hazards import find_hazards
from penstock.analysis.structure import execution_order, structured
from penstock.codegen.compiled.outline import MOST_TEXT, Outline, outlined
from penstock.codegen.regions.function import Written
from penstock.codegen.regions.writer import MOST_DISTINCT, write_step
from penstock.passes.infer_shapes import infer_shapes
from penstock.passes.prune import prune
from tests.codegen.regions.steps import session_with, started


def _written(fetch: Any, feeds: list[Any]) -> Written:
    graph = infer_shapes(prune(feeds, [fetch], []), {})
    statements, _ = structured(graph)
    return write_step(graph, statements, find_hazards(graph, list(execution_order(statements))))


def _functions(written: Written) -> dict[str, str]:
    """The bodies of the functions by name."""
    found = re.findall(r"^(?:APART|static) (?:int|void) (NAME_\w+)\(.*?\) \{\n(.*?)^\}$", written.text, re.M | re.S)
    return dict(found)


def _loops(written: Written) -> int:
    return written.text.count("for (")


def _unrolled(steps: int, size: int = 7) -> tuple[Any, Any]:
    x, w = tf.placeholder(tf.float32, [4, size]), tf.constant(np.eye(size, dtype=np.float32))
    h = x
    for step in range(steps):
        h = tf.tanh(tf.matmul(h, w) * (1 + step / 8)) + x
    return x, tf.reduce_sum(h)


def test_what_an_unrolled_network_says_again_and_again_is_compiled_once() -> None:
    few, many = (_written(fetch, [x]) for x, fetch in (_unrolled(10), _unrolled(100)))
    assert _loops(few) == _loops(many)


def _chain(pairs: int) -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [10])
    h = x
    for factor in np.linspace(1.1, 1.3, pairs):
        h = tf.tanh(h) * float(factor)
    return x, tf.reduce_mean(h)


def test_constants_of_a_chain_are_what_its_loops_take() -> None:
    few, many = (_written(fetch, [x]) for x, fetch in (_chain(100), _chain(1000)))
    assert _loops(few) == _loops(many)


_ONE: list[Callable[[Any], Any]] = [tf.tanh, tf.sigmoid, tf.nn.relu, tf.square, tf.negative, tf.abs]
_TWO: list[Callable[[Any, Any], Any]] = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum]


def _all_different(count: int) -> tuple[Any, Any]:
    """A random graph, in which hardly two pieces are alike."""
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [10])
    values = [x, tf.square(x)]
    while len(values) < count:
        a, b = (values[-1 - rng.randint(min(20, len(values)))] for _ in range(2))
        other = b if rng.rand() < 0.5 else float(np.float32(rng.uniform(0.5, 1.5)))
        one, two = _ONE[rng.randint(len(_ONE))], _TWO[rng.randint(len(_TWO))]
        values.append(tf.tanh(one(a) if rng.rand() < 0.4 else two(a, other)))
    return x, tf.reduce_mean(tf.add_n(values[-20:]))


def test_a_graph_of_nodes_that_are_all_different_has_as_many_loops_as_there_are_kinds_of_nodes() -> None:
    few, many = (_written(fetch, [x]) for x, fetch in (_all_different(500), _all_different(2000)))
    assert 0 <= _loops(many) - _loops(few) <= 6  # of ops that the short one has once


def test_no_function_is_longer_than_compilers_take_well() -> None:
    for x, fetch in (_unrolled(100), _chain(1000), _all_different(1000)):
        for name, body in _functions(_written(fetch, [x])).items():
            statements = re.sub(r"^.* = .*NAME_(?:arena|table|given)\b.*\n", "", body, flags=re.M)
            assert len(statements) <= 2 * MOST_TEXT, name


def test_the_body_of_a_loop_is_divided_as_well() -> None:
    x = tf.placeholder(tf.float32, [10])

    def body(i: Any, h: Any) -> tuple[Any, Any]:
        for step in range(300):
            h = tf.reverse(tf.tanh(h), [0]) if step % 3 else tf.reduce_sum(h) * tf.sigmoid(h)
        return i + 1, h

    y = tf.while_loop(lambda i, h: i < 3, body, [0, x])[1]
    written = _written(y, [x])
    assert _loops(written) < 40


@pytest.mark.parametrize("make", [_unrolled, _chain, _all_different])
def test_they_compute_what_nodes_do_one_by_one(make: Callable[[int], tuple[Any, Any]]) -> None:
    x, fetch = make(300)
    value = np.random.RandomState(1).uniform(-1, 1, x.shape.as_list()).astype(np.float32)
    with session_with() as compiled, session_with(frozenset()) as plain:
        np.testing.assert_allclose(compiled.run(fetch, {x: value}), plain.run(fetch, {x: value}), 1e-4)


def test_many_variables_that_are_updated_under_their_locks_are_compiled_code() -> None:
    """Python does not nest more than 20 blocks, and a lock is one."""
    variables = [tf.Variable(np.full(3, i, np.float32)) for i in range(40)]
    x = tf.placeholder(tf.float32, [3])
    updates = [tf.assign_add(v, x, use_locking=True) for v in variables]
    total = tf.add_n([tf.identity(u) for u in updates])
    with started() as session:
        found = session.run(total, {x: np.ones(3)})
        np.testing.assert_allclose(found, np.full(3, sum(range(40)) + 40.0))
        np.testing.assert_allclose(session.run(variables[39]), np.full(3, 40.0))


# --- the text ------------------------------------------------------------------------------------------

_TYPES = {"NAME_a": "f32 *", "NAME_b": "f32 *", "NAME_c": "const f32 *", "NAME_i": "i32 *"}
_LOOP = (
    "for (i64 i = 0; i < 10; i++) {\n{to}[i] = ({source})[i] * {factor} + (0x1.0p+1f); /* to fill a line or two */\n}"
)


def _texts(*takes: tuple[str, str, str]) -> tuple[list[str], list[str]]:
    outline = Outline(_TYPES)
    block = []
    for to, source, factor in takes:
        text = _LOOP.replace("{to}", to).replace("{source}", source).replace("{factor}", factor)
        block.append(outline.add(text))
    functions, [texts] = outlined([block])
    return functions, texts


def test_names_places_and_constants_are_what_a_function_takes() -> None:
    functions, texts = _texts(("NAME_a", "NAME_b", "(0x1p+0f)"), ("NAME_b", "(NAME_a + 4)", "(0x1.8p+0f)"))
    assert len(functions) == 1
    assert texts == ["NAME_s0(NAME_a, NAME_b, (0x1p+0f));", "NAME_s0(NAME_b, (NAME_a + 4), (0x1.8p+0f));"]
    assert "(0x1.0p+1f)" in functions[0]  # the same in both


def test_what_is_said_once_stays_where_it_is() -> None:
    functions, texts = _texts(("NAME_a", "NAME_b", "(0x1p+0f)"))
    assert not functions
    assert texts[0].startswith("for")


@pytest.mark.parametrize("other", [("NAME_a", "NAME_a", "(0x1p+0f)"), ("NAME_i", "NAME_b", "(0x1p+0f)")])
def test_what_is_the_same_memory_or_of_another_type_is_another_function(other: tuple[str, str, str]) -> None:
    functions, _ = _texts(("NAME_a", "NAME_b", "(0x1p+0f)"), other)
    assert not functions


def test_a_statement_that_may_fail_ends_the_step_from_within_its_function() -> None:
    outline = Outline(_TYPES)
    text = (
        "for (i64 i = 0; i < 10; i++) {\nif (NAME_i[i] < 0) FAIL(); /* an index that is out of range, as it were */\n}"
    )
    functions, [texts] = outlined([[outline.add(text), outline.add(text)]])
    assert texts == ["if (NAME_s0(NAME_i)) return 1;"] * 2
    assert functions[0].endswith("return 0;\n}")


def test_the_limit_on_what_is_distinct_lets_ordinary_steps_have_longer_loops() -> None:
    x, fetch = _unrolled(100)
    together = re.compile(r"const f32 (e\w*) = .*\n(?:.*\n)?const f32 (e\w*) = ")
    assert together.search(_written(fetch, [x]).text)
    x, fetch = _all_different(2000)
    text = _written(fetch, [x]).text
    assert not together.search(text)
    assert sum(len(body) for name, body in _functions(_written(fetch, [x])).items() if "_s" in name) < MOST_DISTINCT
