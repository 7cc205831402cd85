"""What compiled code takes for granted is checked: shapes that are only known when fed, and what variables hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from conformance.samples import inputs_of
from penstock import errors
from penstock.codegen.c import compiler, toolchain
from penstock.engine.pipeline import BEFORE_PLACING
from penstock.graph.opdef import get_op
from tests.codegen.regions.steps import session_with, started
from tests.codegen.regions.sweep import OPS, Built, cases, constants_for, is_state
from tests.codegen.regions.together import Together
from tests.ops.harness import OpCase

MOST = 1000 if "PENSTOCK_EXAMPLES" in os.environ else 1
PLAIN = frozenset(BEFORE_PLACING)
COMPILED = {"regions": PLAIN | {"form_regions_at_once"}, "clusters": PLAIN | {"compile_at_once"}}

PARTS = 3
"""Tests that share what can be fed wrongly; one in so many of it."""

Outcome = tuple[str, Any]
"""The class of an error and nothing, or "" and values."""


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> Together:
    flags = tuple("-O1" if flag == "-O2" else flag for flag in toolchain._FLAGS)
    monkeypatch.setattr(toolchain, "_FLAGS", flags)
    found = Together()
    monkeypatch.setattr(compiler, "_compiler", found)
    return found


def _fed_wrongly() -> Iterator[tuple[OpCase, tuple[str, ...], int, int, np.ndarray]]:
    """Cases, the inputs that are constants, and of each other input and axis of them what is fed in its place: of
    one more, and of one alone."""
    seen: set[str] = set()
    for case in cases(MOST):
        constants = constants_for(case) if MOST > 1 or case.op not in seen else None
        if constants is None:
            continue
        seen.add(case.op)
        number = 0
        for arg, value in zip(get_op(case.op).inputs, inputs_of(case), strict=True):
            for array in value if isinstance(value, list) else [value]:
                for axis in range(0 if is_state(arg) or arg.name in constants else array.ndim):
                    for count in {array.shape[axis] + 1, 1} - {array.shape[axis]}:
                        yield case, constants, number, axis, np.take(array, np.arange(count), axis, mode="wrap")
                number += 1


def _outcome(
    case: OpCase, constants: tuple[str, ...], at: tuple[int, int] | None, given: np.ndarray | None, passes: Any
) -> Outcome:
    with tf.Graph().as_default(), session_with(passes) as session:
        feeds: dict[Any, Any] = {}
        try:
            built = Built(case, "fed", constants, feeds, at)
        except ValueError:
            return "not built", None
        if at is not None:
            feeds[next(t for t in feeds if not t.shape.is_fully_defined())] = given
        session.run(tf.global_variables_initializer())
        try:
            found = session.run([built.outputs, built.states, built.op], feeds)[:1]
        except errors.OpError as error:
            return type(error).__name__, None
        return "", [*found[0], *session.run(built.states)]


def _with_other_constants() -> Iterator[tuple[OpCase, tuple[str, ...]]]:
    """Cases of which one constant has one more axis, another length or other values, and which are constants."""
    seen: set[str] = set()
    for case in cases(MOST):
        constants = constants_for(case) if MOST > 1 or case.op not in seen else None
        if not constants:
            continue
        seen.add(case.op)
        inputs = inputs_of(case)
        for number, arg in enumerate(get_op(case.op).inputs):
            if arg.name not in constants or isinstance(inputs[number], list):
                continue
            value = np.asarray(inputs[number])
            others = [value[None]]
            if value.ndim:
                others += [np.concatenate([value, value[-1:]]), value[:-1]]
            if value.dtype.kind == "i":
                others += [value + 1, value + 100, value - 100]
            for other in others:
                yield OpCase(case.op, [*inputs[:number], other, *inputs[number + 1 :]], case.attrs), constants


def test_a_constant_of_another_shape_or_value_gives_what_kernels_give(together: Together) -> None:
    compiled, problems = [], []
    for case, constants in _with_other_constants():
        asked = together.asked
        _outcome(case, constants, None, None, COMPILED["regions"])
        if together.asked > asked:
            compiled.append((case, constants))
    together.build_all()
    for case, constants in compiled:
        wanted, have = (_outcome(case, constants, None, None, passes) for passes in (PLAIN, COMPILED["regions"]))
        if wanted[0] != have[0] or (not wanted[0] and not all(map(_close, have[1], wanted[1]))):
            problems.append(f"{case}: {have} instead of {wanted}")
    assert not problems, "\n".join([f"{len(problems)} of {len(compiled)} differ", *problems[:10]])
    assert len({case.op for case, _ in compiled}) > 20


@pytest.mark.parametrize("part", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, PARTS))])
@pytest.mark.parametrize("way", COMPILED)
def test_a_size_that_is_fed_otherwise_gives_what_kernels_give(way: str, part: int, together: Together) -> None:
    with np.errstate(all="ignore"):
        ways, compiled, problems = list(_fed_wrongly()), [], []
        for case, constants, number, axis, given in ways[part::PARTS]:
            asked = together.asked
            _outcome(case, constants, (number, axis), given, COMPILED[way])
            if together.asked > asked:  # else kernels run, whatever comes
                compiled.append((case, constants, number, axis, given))
        together.build_all()
        for case, constants, number, axis, given in compiled:
            wanted, have = (
                _outcome(case, constants, (number, axis), given, passes) for passes in (PLAIN, COMPILED[way])
            )
            if wanted[0] != have[0] or (not wanted[0] and not all(map(_close, have[1], wanted[1]))):
                problems.append(f"{case}, input {number} fed as {list(given.shape)}: {have} instead of {wanted}")
    assert not problems, "\n".join([f"{len(problems)} of {len(compiled)} differ", *problems[:10]])
    assert {case.op for case, *_ in ways} > {"ConcatV2", "Pack", "Cumsum", "MatMul", "ScatterAdd", "ResourceScatterMul"}
    assert len({case.op for case, *_ in ways}) > len(OPS) * 0.8


def _close(have: Any, want: Any) -> bool:
    have, want = np.asarray(have), np.asarray(want)
    if have.dtype != want.dtype or have.shape != want.shape:
        return False
    return np.allclose(have, want, 1e-4, 1e-4, equal_nan=True) if have.dtype.kind == "f" else np.array_equal(have, want)


# --- by name --------------------------------------------------------------------------------------------

AT_ONCE = PLAIN | {"form_regions_at_once", "compile_at_once"}


def test_a_join_of_matrices_of_different_heights_is_an_error() -> None:
    with tf.Graph().as_default(), session_with(AT_ONCE) as session:
        a = tf.placeholder(tf.int64, [None, 2])
        joined = tf.concat([a, tf.ones([3, 5], tf.int64)], 1)
        assert session.run(joined, {a: np.ones((3, 2))}).shape == (3, 7)
        with pytest.raises(errors.InvalidArgumentError, match="concat"):
            session.run(joined, {a: np.ones((1, 2))})


def test_a_stack_of_tensors_of_different_sizes_is_an_error() -> None:
    with tf.Graph().as_default(), session_with(AT_ONCE) as session:
        a, b = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.float64, [3])
        stacked = tf.stack([a, b])
        with pytest.raises(errors.InvalidArgumentError, match="stack"):
            session.run(stacked, {a: np.ones(2), b: np.ones(3)})


def test_a_shape_that_was_only_claimed_is_not_believed() -> None:
    with tf.Graph().as_default(), session_with(AT_ONCE) as session:
        x = tf.placeholder(tf.float32, [None])
        sums = tf.cumsum(x)
        sums.set_shape([3])
        assert session.run(tf.concat([sums * 2, [3.0]], 0), {x: np.ones(5)}).tolist() == [2, 4, 6, 8, 10, 3]


@pytest.mark.parametrize("kind", ["Mul", "Div", "Max", "Min", "Add", "Sub", "Update"])
def test_updates_of_another_type_than_the_variables_are_an_error_and_change_nothing(kind: str) -> None:
    with tf.Graph().as_default():
        variable = tf.Variable(np.ones((4, 2), np.float32), use_resource=True)
        update = get_op(f"ResourceScatter{kind}")(variable.handle, [0, 2], np.full((2, 2), 3.0))
        with started(AT_ONCE) as session:
            with pytest.raises(errors.OpError):
                session.run(update)
            assert session.run(variable).tolist() == np.ones((4, 2)).tolist()


def test_a_read_of_another_type_than_the_variables_is_not_compiled() -> None:
    with tf.Graph().as_default():
        variable = tf.Variable(np.arange(4, dtype=np.float32), use_resource=True)
        read = get_op("ReadVariableOp")(variable.handle, dtype="int32")
        plain = started(PLAIN)
        with started(AT_ONCE) as session, plain:
            outcomes = [_try(s, tf.cumsum(read) + 1) for s in (plain, session)]
    assert outcomes[0] == outcomes[1]


def _try(session: tf.Session, fetch: Any) -> Any:
    try:
        return session.run(fetch).tolist()
    except errors.OpError as error:
        return type(error)


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_that_was_given_another_shape_is_used_as_it_is(use_resource: bool) -> None:
    with tf.Graph().as_default():
        variable = tf.Variable(np.ones(4, np.float32), use_resource=use_resource)
        sums = tf.cumsum(variable) * 2
        handle = variable.handle if use_resource else variable._ref()
        other = tf.placeholder(tf.float32)
        if use_resource:
            assign = get_op("AssignVariableOp")(handle, other)
        else:
            assign = get_op("Assign")(handle, other, validate_shape=False)
        with started(AT_ONCE) as session:
            assert session.run(sums).tolist() == [2, 4, 6, 8]
            session.run(assign, {other: np.ones(6)})
            assert session.run(sums).tolist() == [2, 4, 6, 8, 10, 12]


def test_indices_beside_elements_of_an_array_of_another_number_are_an_error() -> None:
    with tf.Graph().as_default(), session_with(AT_ONCE) as session:
        indices, values = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [3, 2])
        array = tf.TensorArray(tf.float32, 5).scatter(indices, values)
        assert session.run(array.gather([2, 1]), {indices: [0, 1, 2], values: np.ones((3, 2))}).shape == (2, 2)
        with pytest.raises(errors.OpError):
            session.run(array.gather([2, 1]), {indices: [0, 1, 2, 3, 4], values: np.ones((3, 2))})


def test_a_condition_that_is_no_scalar_is_an_error() -> None:
    with tf.Graph().as_default(), session_with(AT_ONCE) as session:
        x = tf.placeholder(tf.float32, [None])
        less = tf.less(tf.cumsum(x), 3.0)
        found = tf.while_loop(lambda i: tf.reshape(less, tf.shape(x)[:0]), lambda i: i + 1, [0])
        with pytest.raises(errors.OpError):
            session.run(found, {x: [1.0, 2.0]})
