"""tf.contrib.framework: argument scopes, model variables, values from arrays and checkpoints."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors

framework = tf.contrib.framework
arg_scope = framework.arg_scope


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@framework.add_arg_scope
def first(x: int, a: int = 1, b: int = 2) -> tuple[int, int, int]:
    """What it does."""
    return x, a, b


@framework.add_arg_scope
def second(x: int, a: int = 1) -> tuple[int, int]:
    return x, a


# --- arg_scope ------------------------------------------------------------------------------------------


def test_a_scope_gives_defaults_that_calls_and_inner_scopes_override() -> None:
    with arg_scope([first, second], a=10):
        assert (first(0), second(0), first(0, a=3, b=4)) == ((0, 10, 2), (0, 10), (0, 3, 4))
        with arg_scope([first], b=20):
            assert first(0) == (0, 10, 20)
            with arg_scope([first], a=11):
                assert (first(0), second(0)) == ((0, 11, 20), (0, 10))
        assert first(0) == (0, 10, 2)
    assert first(0) == (0, 1, 2)


def test_a_scope_is_left_when_its_block_raises() -> None:
    with pytest.raises(ZeroDivisionError), arg_scope([first], a=10):
        raise ZeroDivisionError
    assert first(0) == (0, 1, 2)


def test_a_scope_can_be_kept_and_entered_again_in_the_place_of_others() -> None:
    with arg_scope([first], a=10) as kept:
        pass
    with arg_scope([first, second], a=99, b=98), arg_scope(kept):
        assert (first(0), second(0)) == ((0, 10, 2), (0, 1))
    with pytest.raises(ValueError, match="no further arguments"), arg_scope(kept, a=1):
        pass


def test_functions_must_be_decorated_to_be_in_a_scope() -> None:
    def plain() -> None:
        pass

    with pytest.raises(ValueError, match="plain is not decorated"), arg_scope([plain], a=1):
        pass
    with pytest.raises(TypeError, match="list, a tuple or a scope"), arg_scope(first, a=1):
        pass
    assert framework.has_arg_scope(first) and not framework.has_arg_scope(plain)
    assert framework.arg_scoped_arguments(first) == ("a", "b")
    assert (first.__name__, first.__doc__) == ("first", "What it does.")


def test_the_longer_paths_of_tensorflow_lead_to_the_same_functions() -> None:
    root = "penstock.contrib.framework.python.ops"
    assert importlib.import_module(root).add_arg_scope is framework.add_arg_scope
    assert importlib.import_module(f"{root}.arg_scope").arg_scope is arg_scope
    assert importlib.import_module(f"{root}.variables").model_variable is framework.model_variable
    assert framework.python.ops.arg_scope is arg_scope
    layers = "penstock.contrib.layers.python.layers"
    assert importlib.import_module(f"{layers}.initializers").xavier_initializer is tf.contrib.layers.xavier_initializer
    assert importlib.import_module(f"{layers}.layers").batch_norm is tf.contrib.layers.batch_norm


# --- variables ------------------------------------------------------------------------------------------


def test_a_scope_for_variables_sets_nothing_of_model_variables() -> None:
    with arg_scope([framework.variable], initializer=tf.ones_initializer(), regularizer=tf.reduce_sum, device="/cpu:0"):
        w = framework.model_variable("w", [2], initializer=tf.zeros_initializer())
        tf.contrib.layers.fully_connected(tf.ones([1, 2]), 3, weights_initializer=tf.zeros_initializer())
        v = framework.variable("v", [2])
    assert (w.device, v.device) == ("", "/device:CPU:0")
    assert len(tf.losses.get_regularization_losses()) == 1
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [value.tolist() for value in session.run([w, v])] == [[0.0, 0.0], [1.0, 1.0]]


def test_model_variables_are_in_their_collection_and_on_the_device_of_a_scope() -> None:
    with arg_scope([framework.model_variable, framework.variable], device="/cpu:0"):
        w = framework.model_variable("w", [2], regularizer=lambda v: tf.reduce_sum(v), collections=["mine"])
    v = framework.variable("v", [3], trainable=False)
    assert (w.device, v.device) == ("/device:CPU:0", "")
    assert tf.model_variables() == tf.get_collection("mine") == tf.trainable_variables() == [w]
    assert tf.global_variables() == [w, v]
    assert len(tf.losses.get_regularization_losses()) == 1
    framework.add_model_variable(v)
    framework.add_model_variable(v)
    assert framework.get_model_variables() == [w, v]


def some_variables() -> list[str]:
    with tf.variable_scope("a"):
        tf.get_variable("weights", [1])
        with tf.variable_scope("b"):
            tf.get_variable("weights", [1])
            tf.get_variable("biases", [1], trainable=False)
    tf.get_variable("weights", [1])
    framework.local_variable(0.0, name="a/local")
    return [v.op.name for v in tf.global_variables()]


def test_variables_are_found_by_scope_suffix_and_name() -> None:
    every = some_variables()

    def names(found: list[Any]) -> list[str]:
        return [v.op.name for v in found]

    assert names(framework.get_variables()) == every == ["a/weights", "a/b/weights", "a/b/biases", "weights"]
    assert names(framework.get_variables("a/b")) == ["a/b/weights", "a/b/biases"]
    with tf.variable_scope("a") as scope:
        assert names(framework.get_variables(scope, "weights")) == ["a/weights", "a/b/weights"]
    assert names(framework.get_trainable_variables("a/b")) == ["a/b/weights"]
    assert names(framework.get_local_variables()) == ["a/local"]
    assert names(framework.get_variables_by_suffix("iases")) == ["a/b/biases"]
    assert names(framework.get_variables_by_name("weights")) == ["a/weights", "a/b/weights", "weights"]
    assert framework.get_unique_variable("a/weights").op.name == "a/weights"
    with pytest.raises(ValueError, match="find variable a/nothing"):
        framework.get_unique_variable("a/nothing")
    assert names(framework.get_variables_to_restore(["a"], ["a/b"])) == ["a/weights"]
    assert names(framework.get_variables_to_restore(exclude=["a"])) == ["weights"]
    with pytest.raises(TypeError, match="exclude"):
        framework.get_variables_to_restore(exclude="a")
    kept = framework.filter_variables(tf.global_variables(), ["weights"], ["/b/"])
    assert names(kept) == ["a/weights", "weights"]
    assert names(framework.filter_variables(tf.global_variables(), ["weights"], reg_search=False)) == ["weights"]


# --- values -----------------------------------------------------------------------------------------------


def test_values_are_assigned_without_being_in_the_graph() -> None:
    v = tf.get_variable("v", [2, 2])
    operation, feeds = framework.assign_from_values({"v": np.arange(4.0)})
    again = framework.assign_from_values_fn({"v": np.ones((2, 2))})
    with tf.Session() as session:
        session.run(operation, feeds)
        np.testing.assert_array_equal(session.run(v), [[0, 1], [2, 3]])
        again(session)
        np.testing.assert_array_equal(session.run(v), np.ones((2, 2)))
    with pytest.raises(ValueError, match="find variable w"):
        framework.assign_from_values({"w": 1})


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("a", initializer=tf.constant([1.0, 2.0, 3.0, 4.0]))
        tf.get_variable("b", initializer=tf.constant(5.0))
        session.run(tf.global_variables_initializer())
        return str(tf.train.Saver().save(session, tmp_path / "model"))


def test_a_checkpoint_is_assigned_under_other_names_and_by_parts(checkpoint: str) -> None:
    x = tf.get_variable("x", [4], partitioner=tf.fixed_size_partitioner(2))
    y = tf.get_variable("y", [])
    operation, feeds = framework.assign_from_checkpoint(checkpoint, {"a": list(x), "b": y})
    with tf.Session() as session:
        session.run(operation, feeds)
        assert session.run([tf.identity(x), y])[0].tolist() == [1, 2, 3, 4]
    assert framework.list_variables(checkpoint) == [("a", [4]), ("b", [])]
    assert framework.load_variable(checkpoint, "b") == 5


def test_missing_variables_are_an_error_unless_they_are_ignored(checkpoint: str) -> None:
    b, c = tf.get_variable("b", []), tf.get_variable("c", [])
    with pytest.raises(ValueError, match=r"missing variable \[c\]"):
        framework.assign_from_checkpoint(checkpoint, [b, c])
    restore = framework.assign_from_checkpoint_fn(checkpoint, [b, c], ignore_missing_vars=True)
    with tf.Session() as session:
        assert restore is not None
        restore(session)
        assert session.run(b) == 5
        operation, feeds = framework.assign_from_checkpoint(checkpoint, [b, c], ignore_missing_vars=True)
        session.run(operation, {key: value + 1 for key, value in feeds.items()})
        assert session.run(b) == 6
    assert framework.assign_from_checkpoint_fn(checkpoint, [c], ignore_missing_vars=True) is None
    with pytest.raises(ValueError, match="cannot be empty"):
        framework.assign_from_checkpoint_fn(checkpoint, [])


def test_shapes_must_agree_unless_they_may_be_changed(checkpoint: str) -> None:
    a = tf.get_variable("a", [2, 2])
    with pytest.raises(ValueError, match=r"shape \[4\].*\(2, 2\)"):
        framework.assign_from_checkpoint(checkpoint, [a])
    restore = framework.assign_from_checkpoint_fn(checkpoint, [a], reshape_variables=True)
    with tf.Session() as session:
        assert restore is not None
        restore(session)
        assert session.run(a).tolist() == [[1, 2], [3, 4]]


# --- checks ---------------------------------------------------------------------------------------------


def test_with_shape_checks_while_building_where_it_can_and_in_the_step_otherwise() -> None:
    known = tf.constant([1.0, 2.0])
    assert framework.with_shape([2], known) is known
    with pytest.raises(ValueError, match="expected"):
        framework.with_shape([3], known)
    x = tf.placeholder(tf.float32)
    checked = framework.with_shape([2], x)
    assert checked.shape.as_list() == [2]
    with tf.Session() as session:
        assert session.run(checked, {x: [1, 2]}).tolist() == [1, 2]
        with pytest.raises(errors.InvalidArgumentError):
            session.run(checked, {x: [1, 2, 3]})
    assert framework.is_tensor(x) and not framework.is_tensor(np.ones(2))


def test_a_deprecated_function_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    @framework.deprecated("2017-01-01", "Use the new one.")
    def old(x: int) -> int:
        return x + 1

    with caplog.at_level("WARNING", logger="penstock"):
        assert [old(1), old(2)] == [2, 3]
    assert len([r for r in caplog.records if "Use the new one." in r.getMessage()]) == 1


# --- choices --------------------------------------------------------------------------------------------


def test_a_branch_is_chosen_when_the_graph_is_built_if_the_condition_is_known() -> None:
    fed = tf.placeholder(tf.bool, [])
    for known in (True, 1, tf.constant(True)):
        assert framework.smart_cond(known, lambda: "yes", lambda: "no") == "yes"
    assert framework.smart_cond(0, lambda: "yes", lambda: "no") == "no"
    found = framework.smart_cond(fed, true_fn=lambda: tf.constant(1), false_fn=lambda: tf.constant(2))
    assert framework.smart_constant_value(fed) is None
    assert framework.smart_constant_value(False) is False
    with tf.Session() as session:
        assert [session.run(found, {fed: each}) for each in (True, False)] == [1, 2]
    with pytest.raises(TypeError, match="must be a Tensor, or a Python bool"):
        framework.smart_cond("yes", lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match="callable"):
        framework.smart_cond(True, 1, lambda: 2)
