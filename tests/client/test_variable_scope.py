"""`get_variable` and its scopes: names, sharing, defaults, regularizers, getters, templates, threads."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.client.initializers import GlorotUniform
from penstock.client.ref_variable import RefVariable
from penstock.client.resource_variable import ResourceVariable
from penstock.graph.scopes import GraphKeys


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


# --- names ----------------------------------------------------------------------------------------------


def test_scopes_prefix_the_names_of_variables_and_nodes() -> None:
    with tf.variable_scope("a"):
        v = tf.get_variable("v", [1])
        with tf.variable_scope("b") as inner:
            w = tf.get_variable("w", [1])
            c = tf.constant(1.0, name="c")
    assert (v.name, w.name, c.name) == ("a/v:0", "a/b/w:0", "a/b/c:0")
    assert (inner.name, inner.original_name_scope) == ("a/b", "a/b/")


def test_entering_again_gives_nodes_new_names_and_variables_the_old() -> None:
    with tf.variable_scope("a") as scope:
        tf.constant(1.0, name="c")
    for entered, name in ((scope, "a_1/c:0"), ("a", "a_2/c:0")):
        with tf.variable_scope(entered) as again:
            assert tf.constant(1.0, name="c").name == name
            assert again.name == "a"
    with tf.variable_scope("x"), tf.variable_scope(scope) as again:
        assert tf.get_variable("v", [1]).name == "a/v:0"
        assert tf.constant(1.0, name="c").name == "x/a/c:0"
        assert again.original_name_scope == "a/"


def test_name_scopes_do_not_change_the_names_of_variables() -> None:
    with tf.name_scope("n"), tf.variable_scope("a"):
        assert tf.get_variable("v", [1]).name == "a/v:0"
        assert tf.constant(1.0, name="c").name == "n/a/c:0"


def test_default_names_are_made_unique() -> None:
    names = []
    for _ in range(2):
        with tf.variable_scope(None, "layer") as scope:
            names.append((scope.name, tf.get_variable("v", [1]).name))
            with tf.variable_scope(None, "inner") as inner:
                names.append(inner.name)
    assert names == [("layer", "layer/v:0"), "layer/inner", ("layer_1", "layer_1/v:0"), "layer_1/inner"]
    with tf.variable_scope("layer"), tf.variable_scope(None, "inner") as inner:
        assert inner.name == "layer/inner"  # leaving "layer" forgot what was opened inside
    with tf.variable_scope("named", "unused") as scope:
        assert scope.name == "named"
    with tf.variable_op_scope([], None, "layer") as scope:
        assert scope.name == "layer_2"


def test_the_name_scope_can_be_left_out() -> None:
    with tf.name_scope("n"), tf.variable_scope("a", auxiliary_name_scope=False) as scope:
        assert tf.get_variable("v", [1]).name == "a/v:0"
        assert tf.constant(1.0, name="c").name == "n/c:0"
        assert scope.original_name_scope == "n/"


def test_nodes_of_get_variable_have_tensorflows_names(graph: tf.Graph) -> None:
    with tf.variable_scope("s"):
        tf.get_variable("w", [2, 3])
        tf.get_variable("k", initializer=tf.constant([1.0]))
    assert [op.name for op in graph.get_operations()] == [
        *(f"s/w/Initializer/random_uniform{part}" for part in (
            "/shape", "/min", "/max", "/RandomUniform", "/sub", "/mul", "")),
        *("s/w", "s/w/Assign", "s/w/read", "s/Const", "s/k", "s/k/Assign", "s/k/read"),
    ]  # fmt: skip


# --- sharing --------------------------------------------------------------------------------------------


def test_reuse_shares_variables_in_inner_scopes_too() -> None:
    with tf.variable_scope("a"), tf.variable_scope("b"):
        v = tf.get_variable("v", [2])
    with tf.variable_scope("a", reuse=True) as scope:
        assert scope.reuse is True
        with tf.variable_scope("b"):
            assert tf.get_variable("v", [2]) is tf.get_variable("v") is v
    with tf.variable_scope("a"):
        tf.get_variable_scope().reuse_variables()
        with tf.variable_scope("b"):
            assert tf.get_variable("v") is v
    assert tf.get_variable_scope().reuse is False


def test_auto_reuse_shares_or_makes() -> None:
    found = []
    for _ in range(2):
        with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
            found.append(tf.get_variable("v", [2]))
    assert found[0] is found[1]


def test_making_a_variable_twice_is_refused_and_says_where_it_was_made() -> None:
    tf.get_variable("v", [2])
    with pytest.raises(ValueError, match=r"Variable v already exists, disallowed(.|\n)*test_variable_scope\.py"):
        tf.get_variable("v", [2])


def test_sharing_what_does_not_exist_is_refused() -> None:
    tf.Variable(1.0, name="v")
    with (
        tf.variable_scope(tf.get_variable_scope(), reuse=True),
        pytest.raises(ValueError, match=r"Variable v does not exist, or was not created with tf\.get_variable"),
    ):
        tf.get_variable("v", [])


def test_sharing_needs_the_same_shape_and_dtype() -> None:
    tf.get_variable("v", [2])
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        with pytest.raises(ValueError, match=r"Trying to share variable v, but specified shape \(3,\)"):
            tf.get_variable("v", [3])
        with pytest.raises(ValueError, match="specified dtype int32 and found dtype float32"):
            tf.get_variable("v", [2], tf.int32)


def test_wrong_scopes_are_refused() -> None:
    with (
        pytest.raises(TypeError, match="default_name is None then name_or_scope is required"),
        tf.variable_scope(None),
    ):
        pass
    with (
        pytest.raises(ValueError, match="reuse=True cannot be used without"),
        tf.variable_scope(None, "d", reuse=True),
    ):
        pass
    with pytest.raises(TypeError, match="must be a string or VariableScope"), tf.variable_scope(3):
        pass
    with pytest.raises(ValueError, match="reuse parameter"), tf.variable_scope("a", reuse="yes"):
        pass


# --- initial values -------------------------------------------------------------------------------------


def values(*variables: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.variables_initializer(variables))
        return session.run(list(variables))


def test_without_an_initializer_floats_are_glorot_uniform_and_others_zero() -> None:
    tf.set_random_seed(1)
    w, i, b = (tf.get_variable(*a) for a in (("w", [20, 40]), ("i", [2], tf.int64), ("b", [2], tf.bool)))
    found = values(w, i, b)
    limit = np.sqrt(6 / 60)
    assert -limit <= found[0].min() < -0.9 * limit < 0.9 * limit < found[0].max() <= limit
    assert found[1].tolist() == [0, 0]
    assert found[2].tolist() == [False, False]
    with pytest.raises(ValueError, match="An initializer for variable c of complex64 is required"):
        tf.get_variable("c", [2], tf.complex64)


def test_initializers_may_be_objects_classes_functions_and_values() -> None:
    made = [
        tf.get_variable("object", [2], initializer=tf.constant_initializer(3.0)),
        tf.get_variable("class", [2], initializer=tf.ones_initializer),
        tf.get_variable("function", [2], initializer=lambda shape, dtype: tf.zeros(shape, dtype) + 4),
        tf.get_variable("thunk", initializer=lambda: tf.constant([5.0, 5.0])),
        tf.get_variable("tensor", initializer=tf.constant([6.0, 6.0])),
        tf.get_variable("list", initializer=[7.0, 7.0]),
        tf.get_variable("old", [2], initializer=lambda shape, dtype, partition_info: tf.zeros(shape, dtype)),
    ]
    assert [x.tolist() for x in values(*made)] == [[x, x] for x in (3, 1, 4, 5, 6, 7, 0)]


def test_initializers_and_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="If initializer is a constant, do not specify shape"):
        tf.get_variable("v", [2], initializer=tf.constant([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"Shape of a new variable \(v\) must be fully defined"):
        tf.get_variable("v", [None, 2])
    with pytest.raises(ValueError, match="Initializer type 'float32' and explicit dtype 'int32' don't match"):
        tf.get_variable("v", dtype=tf.int32, initializer=1.0)


# --- defaults of scopes ---------------------------------------------------------------------------------


def test_scopes_hand_their_defaults_down() -> None:
    ones = tf.ones_initializer()
    with tf.variable_scope("a", initializer=ones, dtype=tf.float64, use_resource=True, constraint=abs):
        with tf.variable_scope("b", initializer=tf.zeros_initializer()) as inner:
            v = tf.get_variable("v", [1])
            w = tf.get_variable("w", [1], initializer=ones, use_resource=False, dtype=tf.float32)
        u = tf.get_variable("u", [1])
    assert (type(v), v.dtype, v.constraint) == (ResourceVariable, tf.float64, abs)
    assert (type(w), w.dtype.base_dtype) == (RefVariable, tf.float32)
    assert [x.tolist() for x in values(v, w, u)] == [[0], [1], [1]]
    assert inner.use_resource is True


def test_the_open_scope_can_be_changed() -> None:
    with tf.variable_scope("a") as scope:
        scope.set_initializer(tf.ones_initializer())
        scope.set_dtype(tf.float64)
        scope.set_use_resource(True)
        scope.set_regularizer(tf.no_regularizer)
        scope.set_partitioner(None)
        scope.set_custom_getter(None)
        scope.set_caching_device(None)
        v = tf.get_variable("v", [1])
    assert (v.dtype, type(v)) == (tf.float64, ResourceVariable)
    assert scope.trainable_variables() == scope.global_variables() == [v]
    assert scope.local_variables() == []


def test_variables_go_to_the_collections_asked_for() -> None:
    v = tf.get_variable("v", [1], trainable=False, collections=["mine", GraphKeys.GLOBAL_VARIABLES])
    local = tf.get_local_variable("l", [1])
    assert tf.get_collection("mine") == tf.global_variables() == [v]
    assert tf.trainable_variables() == []
    assert tf.local_variables() == [local]


def test_losses_of_regularizers_are_collected(graph: tf.Graph) -> None:
    with tf.variable_scope("a", regularizer=lambda v: tf.reduce_sum(v * v)):
        v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
        tf.get_variable("w", [2], regularizer=tf.no_regularizer)
    with tf.variable_scope("a", reuse=True, regularizer=tf.reduce_sum):
        tf.get_variable("v")
    (loss,) = tf.get_collection(GraphKeys.REGULARIZATION_LOSSES)
    assert loss.name.startswith("a/v/Regularizer/")
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(loss) == 5


def test_custom_getters_stand_in_for_the_true_one_outermost_last() -> None:
    calls: list[str] = []

    def outer(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        calls.append(f"outer {name} {kwargs['shape']}")
        return getter(name, *args, **kwargs)

    def inner(getter: Any, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
              regularizer: Any = None, reuse: Any = None, trainable: Any = None, collections: Any = None,
              caching_device: Any = None, partitioner: Any = None, validate_shape: Any = None,
              use_resource: Any = None) -> Any:  # fmt: skip
        calls.append(f"inner {name}")
        return getter(name + "_x", shape=shape, initializer=tf.ones_initializer(), trainable=False) * 2

    with tf.variable_scope("a", custom_getter=outer), tf.variable_scope("b", custom_getter=inner):
        doubled = tf.get_variable("v", [1])
    assert calls == ["inner a/b/v", "outer a/b/v_x [1]"]
    (v,) = tf.global_variables()
    assert (v.name, tf.trainable_variables()) == ("a/b/v_x:0", [])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(doubled).tolist() == [2]


# --- graphs and threads ---------------------------------------------------------------------------------


def test_values_say_which_graph_is_meant() -> None:
    other = tf.Graph()
    with other.as_default():
        tensor = tf.constant(1.0)
    with tf.variable_scope("a", values=[tensor]):
        v = tf.get_variable("v", [1])
    assert v.graph is other
    assert tf.get_variable("v", [1]).graph is not other


def test_threads_have_scopes_of_their_own_and_share_variables(graph: tf.Graph) -> None:
    found: list[Any] = []
    start = threading.Barrier(4)

    def work() -> None:
        with graph.as_default():
            start.wait()
            assert tf.get_variable_scope().name == ""
            with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
                found.extend(tf.get_variable(f"v{i}", [1]) for i in range(10))

    with tf.variable_scope("outer"):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 40
    assert sorted(v.name for v in set(found)) == sorted(f"a/v{i}:0" for i in range(10))


# --- templates ------------------------------------------------------------------------------------------


def dense(x: Any, size: int = 1) -> Any:
    return x * tf.get_variable("w", [size], initializer=tf.ones_initializer())


def test_a_template_shares_the_variables_of_its_first_call() -> None:
    layer = tf.make_template("layer", dense, size=2)
    assert layer.variable_scope is None
    layer(1.0)
    with tf.variable_scope("elsewhere"):
        layer(2.0)
    other = tf.make_template("layer", dense)
    other(1.0)
    assert [v.name for v in tf.global_variables()] == ["layer/w:0", "layer_1/w:0"]
    assert [v.shape.as_list() for v in tf.global_variables()] == [[2], [1]]
    assert layer.variables == layer.trainable_variables == layer.global_variables == tf.global_variables()[:1]
    assert layer.local_variables == layer.non_trainable_variables == []
    assert (layer.name, layer.variable_scope_name, layer.var_scope.name) == ("layer", "layer/", "layer")


def test_a_template_is_where_it_is_first_called_or_made() -> None:
    with tf.variable_scope("made"):
        now = tf.make_template("t", dense, create_scope_now_=True)
        lazy = tf.make_template("t", dense)
        unique = tf.make_template("t", dense, unique_name_="u")
    with tf.variable_scope("called"):
        for template in (now, lazy, unique):
            template(1.0)
    assert [v.name for v in tf.global_variables()] == ["made/t/w:0", "called/t/w:0", "called/u/w:0"]


def test_a_template_with_an_empty_name_keeps_its_slash() -> None:
    template = tf.make_template("", dense)
    with tf.variable_scope("outer"):
        template(1.0)
    assert template.variable_scope_name == "outer/"
    assert [v.name for v in tf.global_variables()] == ["outer//w:0"]


def test_later_calls_of_a_template_make_no_variables() -> None:
    template = tf.make_template("t", lambda: tf.Variable(1.0))
    template()
    with pytest.raises(ValueError, match=r"New variable\(s\) created when calling a template after the first time"):
        template()
    fresh = tf.make_template("f", lambda name: tf.get_variable(name, [1]))
    fresh("a")
    with pytest.raises(ValueError, match="f/b does not exist"):
        fresh("b")


def test_custom_getters_are_told_whether_variables_are_trainable() -> None:
    told: dict[str, Any] = {}

    def getter(get: Any, name: str, **kwargs: Any) -> Any:
        told[name] = kwargs["trainable"], kwargs["synchronization"], kwargs["aggregation"]
        return get(name, **kwargs)

    with tf.variable_scope("", custom_getter=getter):
        tf.get_variable("a", [1])
        tf.get_variable("b", [1], trainable=False)
        tf.get_variable("c", [1], synchronization=tf.VariableSynchronization.ON_READ)
        tf.get_variable("d", [1], synchronization=None, aggregation=None)
    assert {name: each[0] for name, each in told.items()} == {"a": True, "b": False, "c": False, "d": True}
    assert told["d"][1:] == (tf.VariableSynchronization.AUTO, tf.VariableAggregation.NONE)
    assert [v.op.name for v in tf.trainable_variables()] == ["a", "d"]


def test_custom_getters_are_told_the_initializers_that_layers_and_cells_choose() -> None:
    told: dict[str, Any] = {}

    def getter(get: Any, name: str, **kwargs: Any) -> Any:
        told[name] = type(kwargs["initializer"]).__name__
        return get(name, **kwargs)

    class Counter(tf.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.add_weight("w", [2])
            self.add_weight("i", [2], dtype=tf.int32)

    with tf.variable_scope("a", custom_getter=getter):
        tf.layers.dense(tf.zeros([2, 3]), 4)
        tf.nn.rnn_cell.BasicRNNCell(2)(tf.zeros([1, 2]), tf.zeros([1, 2]))
        Counter(name="n")(tf.zeros([1]))
        tf.get_variable("v", [2])
    with tf.variable_scope("b", custom_getter=getter, initializer=tf.ones_initializer()):
        tf.layers.dense(tf.zeros([2, 3]), 4)
    assert told == {
        "a/dense/kernel": "GlorotUniform",
        "a/dense/bias": "Zeros",
        "a/basic_rnn_cell/kernel": "GlorotUniform",
        "a/basic_rnn_cell/bias": "Zeros",
        "a/n/w": "GlorotUniform",
        "a/n/i": "Zeros",
        "a/v": "NoneType",
        "b/dense/kernel": "Ones",
        "b/dense/bias": "Zeros",
    }


def test_a_template_may_have_a_custom_getter() -> None:
    def doubled(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(*args, **kwargs) * 2

    template = tf.make_template("t", dense, custom_getter_=doubled)
    result = template(3.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(result).tolist() == [6]


def test_the_default_initializer_is_glorots() -> None:
    assert GlorotUniform().get_config() == {"seed": None, "dtype": "float32"}


def test_libraries_replace_the_open_scope_in_the_graphs_collection() -> None:
    """PrettyTensor opens scopes so: https://github.com/google/prettytensor/blob/master/prettytensor/scopes.py."""
    variable_scope = importlib.import_module("penstock.python.ops.variable_scope")

    with tf.Graph().as_default() as graph:
        outer = tf.get_variable_scope()
        held = tf.get_collection_ref(variable_scope._VARSCOPE_KEY)
        assert list(held) == [outer] and len(held) == 1
        held[0] = tf.VariableScope(None, name="mine")
        assert tf.get_variable_scope() is held[0]
        assert tf.get_variable("w", []).op.name == "mine/w"
        held[0] = outer
        assert tf.get_variable("w", []).op.name == "w"
        with pytest.raises(IndexError):
            held[1] = outer
        with tf.variable_scope("next") as scope:
            assert held[0] is scope
        assert graph.get_all_collection_keys() == [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES]


def test_libraries_open_a_variable_scope_without_a_name_scope() -> None:
    """Sonnet's `reuse_variables` does: https://github.com/google-deepmind/sonnet/blob/v1.36/sonnet/python/modules."""
    inner = importlib.import_module("penstock.python.ops.variable_scope")
    with tf.Graph().as_default():
        with tf.variable_scope("module") as scope:
            pass
        with inner._pure_variable_scope(scope, reuse=False) as opened:
            w = tf.get_variable("w", [])
            assert opened.name == "module" and w.op.name == "module/w"
            assert tf.constant(1, name="c").op.name == "c"
        with inner._pure_variable_scope(scope, reuse=True):
            assert tf.get_variable("w", []) is w
