"""tf.compat.v2 in graphs: values and arguments as in TensorFlow 1.15."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
import penstock.compat.v2 as v2
from penstock.compat.v2_arguments import SIGNATURES, signature_of


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_its_functions_take_arguments_in_the_order_of_tensorflow_2() -> None:
    assert run(v2.gather([[1, 2], [3, 4]], [1], None, 1)).tolist() == [[2], [4]]
    assert run(v2.pad([1], [[1, 1]], "CONSTANT", 7)).tolist() == [7, 1, 7]
    assert run(v2.math.in_top_k([1, 0], [[0.1, 0.9], [0.1, 0.9]], 1)).tolist() == [True, False]
    assert run(v2.zeros_like(input=[1.0, 2.0])).tolist() == [0.0, 0.0]
    assert run(v2.nn.dropout(tf.ones([3]), 0.0)).tolist() == [1.0, 1.0, 1.0]
    assert v2.shape([1, 2], v2.int64).dtype == tf.int64
    assert v2.convert_to_tensor(1, dtype_hint=tf.float64).dtype == tf.float64
    with pytest.raises(TypeError, match="unexpected keyword argument 'keep_dims'"):
        v2.reduce_sum([1], keep_dims=True)


def test_every_argument_of_its_functions_is_one_that_the_function_takes() -> None:
    for names in SIGNATURES:
        for name in names.split():
            function: Any = v2
            for part in name.split("."):
                function = getattr(function, part)
            assert inspect.signature(function) == signature_of(name)
    assert v2.math.argmax.__name__ == "argmax" and not v2.math.argmax.__annotations__


def test_its_where_broadcasts_and_its_loops_keep_their_structure() -> None:
    found = run(v2.where([[True], [False]], 1.0, [2.0, 3.0]))
    np.testing.assert_array_equal(found, [[1, 1], [2, 3]])
    np.testing.assert_array_equal(found, run(tf.where_v2([[True], [False]], 1.0, [2.0, 3.0])))
    assert run(v2.where([False, True])).tolist() == [[1]]
    with pytest.raises(ValueError, match="both"):
        v2.where([True], 1.0)
    loop = v2.while_loop(lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)], maximum_iterations=2)
    assert isinstance(loop, list) and run(loop) == [2]


def test_its_variables_are_resource_variables_and_all_variables_are_instances() -> None:
    made = v2.Variable([1.0], False, name="v")
    assert made.handle.dtype == tf.resource and made not in tf.trainable_variables()
    assert isinstance(made, v2.Variable) and isinstance(tf.Variable(1.0), v2.Variable)
    assert not isinstance(tf.constant(1.0), v2.Variable)


def test_its_namespaces_of_models_are_keras_and_all_others_are_of_version_2_too() -> None:
    assert v2.losses is tf.keras.losses and v2.optimizers is tf.keras.optimizers and v2.compat.v1 is tf
    assert v2.random.normal is tf.random.normal and v2.linalg.matmul is tf.matmul
    with pytest.raises(AttributeError, match="no_such_name"):
        v2.math.no_such_name  # noqa: B018


# --- tf.Module ------------------------------------------------------------------------------------------


class Dense(tf.Module):
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        with self.name_scope:
            self.w = tf.Variable(2.0, name="w")
            self.count = tf.Variable(0, trainable=False, name="count")

    @tf.Module.with_name_scope
    def __call__(self, x: Any) -> Any:
        return tf.multiply(x, self.w, name="product")


class TwoLayers(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [Dense("first"), {"b": Dense("second")}]
        self.again = self.layers[0]
        self.bias = tf.Variable(1.0, name="bias")


def test_modules_find_variables_and_modules_in_their_attributes_once() -> None:
    both = TwoLayers()
    first, second = both.layers[0], both.layers[1]["b"]
    assert both.name == "two_layers" and both.submodules == (first, second)
    assert both.variables == (both.bias, first.count, first.w, second.count, second.w)
    assert both.trainable_variables == (both.bias, first.w, second.w)
    paths = [path for path, _ in both._flatten(predicate=lambda leaf: leaf is second, with_path=True)]
    assert paths == [("layers", 1, "b")]


def test_what_a_module_makes_has_names_in_its_scope() -> None:
    layer = Dense("dense")
    assert (
        layer.w.name == "dense/w:0" and layer(3.0).name == "dense/product:0" and layer(3.0).name == "dense/product_1:0"
    )
    assert run(layer(3.0)) == 6.0
    with pytest.raises(ValueError, match="not a valid module name"):
        tf.Module("a b")


# --- small things that libraries ask for ----------------------------------------------------------------


def test_nodes_of_an_init_scope_are_outside_conditionals_and_control_dependencies() -> None:
    found: list[Any] = []

    def branch() -> Any:
        with tf.control_dependencies([tf.no_op()]), tf.init_scope():
            found.append(tf.constant(3.0))
        return found[0] * 2.0

    result = tf.cond(tf.placeholder_with_default(True, []), branch, lambda: tf.constant(0.0))
    assert found[0].op._get_control_flow_context() is None and not found[0].op.control_inputs
    assert run(result) == 6.0


def test_unconnected_gradients_have_an_enum() -> None:
    x, y = tf.constant(1.0), tf.constant(2.0)
    assert tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.NONE) == [None]
    assert run(tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)) == [0.0]
    with pytest.raises(ValueError):
        tf.gradients(y, x, unconnected_gradients="zeros")


def test_python_2s_division_is_a_method_of_tensors() -> None:
    assert run(tf.constant(7).__div__(2)) == 3 and run(tf.constant(7.0).__div__(2.0)) == 3.5
    assert run(tf.constant(2).__rdiv__(7)) == 3
    assert {"__div__", "__rdiv__"} < tf.Tensor.OVERLOADABLE_OPERATORS


def test_linear_operators_tell_their_sizes_as_tensors() -> None:
    matrix = tf.linalg.LinearOperatorFullMatrix(tf.ones([4, 2, 3]))
    sizes = [matrix.range_dimension_tensor(), matrix.domain_dimension_tensor(), matrix.tensor_rank_tensor()]
    assert run(sizes) == [2, 3, 3] and run(matrix.batch_shape_tensor()).tolist() == [4]


def test_an_argument_that_would_change_the_result_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="decode_raw takes only fixed_length=None"):
        v2.io.decode_raw(tf.constant(["ab"]), tf.uint8, fixed_length=4)


def test_namespaces_of_version_2_are_imported_as_modules() -> None:
    columns = importlib.import_module("penstock.compat.v2.feature_column")
    assert columns is v2.feature_column and columns.numeric_column("age").shape == (1,)
    assert importlib.import_module("penstock.compat.v2.io.gfile") is v2.io.gfile
    assert importlib.import_module("penstock.compat.v2.keras.layers") is tf.keras.layers
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("penstock.compat.v2.feature_columns")
    with pytest.raises(ModuleNotFoundError):  # a function, not a module
        importlib.import_module("penstock.compat.v2.nn.relu")
