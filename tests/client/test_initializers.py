"""Initializers: what they give, their bounds and variances, and their configurations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import initializers
from penstock.graph.opdef import has_op
from tests.ops.cases_random import LIKELY, cut_cdf, distance, normal_cdf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def value(initializer: Any, shape: Any, *args: Any, **kwargs: Any) -> Any:
    with tf.Session() as session:
        return session.run(initializer(shape, *args, **kwargs))


# --- constants ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool", "complex64", "bfloat16"])
def test_zeros_and_ones_are_of_any_type(dtype: str) -> None:
    for initializer, expected in ((tf.zeros_initializer(), 0), (tf.ones_initializer(), 1)):
        for found in (value(initializer, [2, 3], dtype), value(type(initializer)(dtype=dtype), [2, 3])):
            assert (found.shape, tf.as_dtype(found.dtype).name) == ((2, 3), dtype)
            assert (found == np.array(expected, found.dtype)).all()


def test_zeros_of_strings_are_empty() -> None:
    assert value(tf.zeros_initializer(), [2], tf.string).tolist() == [b"", b""]


def test_constants_fill_or_give_their_elements() -> None:
    assert value(tf.constant_initializer(3), [2]).tolist() == [3, 3]
    assert value(tf.constant_initializer(3), [2], tf.int64).dtype == np.int64
    assert value(tf.constant_initializer([1, 2, 3, 4]), [2, 2]).tolist() == [[1, 2], [3, 4]]
    assert value(tf.constant_initializer(np.array([1, 2])), [2, 2]).tolist() == [[1, 2], [2, 2]]
    with pytest.raises(ValueError, match="Too many elements"):
        tf.constant_initializer([1, 2, 3])([2])
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.constant_initializer([1, 2], verify_shape=True)([2, 1])
    with pytest.raises(TypeError, match="Invalid type for initial value"):
        tf.constant_initializer(tf.constant(1.0))


def test_identity_is_a_matrix_times_its_gain() -> None:
    np.testing.assert_array_equal(value(initializers.identity(gain=3.0), [2, 3]), 3 * np.eye(2, 3))
    np.testing.assert_array_equal(value(initializers.identity(), [2, 2], tf.float64), np.eye(2))
    with pytest.raises(ValueError, match="two-dimensional"):
        initializers.identity()([2])


# --- random numbers -------------------------------------------------------------------------------------


def test_uniform_and_normal_initializers_have_their_distributions() -> None:
    found = value(tf.random_uniform_initializer(-1.0, 3.0, seed=1), [200, 200])
    assert distance((found + 1) / 4, lambda x: x) < LIKELY
    ints = value(tf.random_uniform_initializer(2, 5, seed=1), [1000], tf.int32)
    assert set(ints.tolist()) == {2, 3, 4}
    assert distance((value(tf.random_normal_initializer(1.0, 2.0, seed=1), [20000]) - 1) / 2, normal_cdf) < LIKELY
    found = value(tf.truncated_normal_initializer(1.0, 2.0, seed=1), [20000])
    assert distance(found, cut_cdf(-3, 5, 1, 2)) < LIKELY


SHAPES = [([300, 100], 300, 100), ([3, 3, 40, 60], 360, 540), ([3000], 3000, 3000)]


@pytest.mark.parametrize(("shape", "inputs", "outputs"), SHAPES)
@pytest.mark.parametrize("distribution", ["uniform", "truncated_normal", "normal", "untruncated_normal"])
@pytest.mark.parametrize("mode", ["fan_in", "fan_out", "fan_avg"])
def test_variance_scaling_has_the_variance_of_its_mode(
    shape: list[int], inputs: int, outputs: int, distribution: str, mode: str
) -> None:
    found = value(tf.variance_scaling_initializer(2.0, mode, distribution, seed=3), shape)
    count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[mode]
    assert abs(found.std() / math.sqrt(2 / count) - 1) < 0.04
    assert abs(found.mean()) < 4 * math.sqrt(2 / count / found.size)
    bound = {"uniform": math.sqrt(6 / count), "untruncated_normal": np.inf}.get(
        distribution, 2 * math.sqrt(2 / count) / 0.8796
    )
    assert abs(found).max() <= bound * 1.0001


@pytest.mark.parametrize(
    ("make", "variance"),
    [
        (tf.glorot_uniform_initializer, 2 / 400),
        (tf.glorot_normal_initializer, 2 / 400),
        (initializers.lecun_normal, 1 / 300),
        (initializers.lecun_uniform, 1 / 300),
        (initializers.he_normal, 2 / 300),
        (initializers.he_uniform, 2 / 300),
        (tf.uniform_unit_scaling_initializer, 1 / 300),
    ],
)
def test_named_initializers_have_their_variances(make: Any, variance: float) -> None:
    found = value(make(seed=3), [300, 100])
    assert abs(found.var() / variance - 1) < 0.04


@pytest.mark.skipif(not has_op("Qr"), reason="orthogonal_initializer needs the op Qr")
@pytest.mark.parametrize("shape", [[5, 3], [3, 5], [2, 2, 2, 4]])
def test_orthogonal_initializers_give_orthonormal_columns_or_rows(shape: list[int]) -> None:
    found = value(tf.orthogonal_initializer(gain=2.0, seed=1), shape).reshape(-1, shape[-1])
    short = found if found.shape[0] <= found.shape[1] else found.T
    np.testing.assert_allclose(short @ short.T, 4 * np.eye(len(short)), atol=1e-5)


def test_seeds_make_initial_values_repeatable() -> None:
    for make in (
        tf.glorot_uniform_initializer,
        tf.truncated_normal_initializer,
        tf.random_normal_initializer,
    ):
        np.testing.assert_array_equal(value(make(seed=1), [5]), value(make(seed=1), [5]))
        assert (value(make(seed=1), [5]) != value(make(seed=2), [5])).all()


def test_two_variables_of_one_initializer_begin_differently() -> None:
    tf.set_random_seed(1)
    init = tf.glorot_uniform_initializer()
    v, w = (tf.get_variable(name, [3, 3], initializer=init) for name in "vw")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run([v, w])
    assert (first != second).all()


# --- configurations and arguments -----------------------------------------------------------------------

CONFIGS: list[tuple[Any, dict[str, Any]]] = [
    (tf.zeros_initializer(), {"dtype": "float32"}),
    (tf.ones_initializer(tf.int32), {"dtype": "int32"}),
    (tf.constant_initializer(3), {"value": 3, "dtype": "float32"}),
    (tf.random_uniform_initializer(1, 2, 3), {"minval": 1, "maxval": 2, "seed": 3, "dtype": "float32"}),
    (tf.random_normal_initializer(1, 2, 3), {"mean": 1, "stddev": 2, "seed": 3, "dtype": "float32"}),
    (tf.truncated_normal_initializer(1, 2, 3), {"mean": 1, "stddev": 2, "seed": 3, "dtype": "float32"}),
    (tf.uniform_unit_scaling_initializer(2.0), {"factor": 2.0, "seed": None, "dtype": "float32"}),
    (
        tf.variance_scaling_initializer(2.0, "fan_avg", "uniform"),
        {"scale": 2.0, "mode": "fan_avg", "distribution": "uniform", "seed": None, "dtype": "float32"},
    ),
    (tf.orthogonal_initializer(2.0), {"gain": 2.0, "seed": None, "dtype": "float32"}),
    (tf.glorot_uniform_initializer(3), {"seed": 3, "dtype": "float32"}),
    (tf.glorot_normal_initializer(3, tf.float64), {"seed": 3, "dtype": "float64"}),
    (initializers.identity(2.0), {"gain": 2.0, "dtype": "float32"}),
]


@pytest.mark.parametrize(("initializer", "config"), CONFIGS, ids=lambda x: type(x).__name__)
def test_initializers_are_made_again_from_their_configurations(initializer: Any, config: dict[str, Any]) -> None:
    assert initializer.get_config() == config
    assert type(initializer).from_config(config).get_config() == config


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="`scale` must be a positive float"):
        tf.variance_scaling_initializer(0)
    with pytest.raises(ValueError, match="`mode` should be one of"):
        tf.variance_scaling_initializer(mode="fan")
    with pytest.raises(ValueError, match="`distribution` should be one of"):
        tf.variance_scaling_initializer(distribution="cauchy")
    with pytest.raises(ValueError, match="floating point"):
        tf.glorot_uniform_initializer(dtype=tf.int32)
    with pytest.raises(ValueError, match="two-dimensional"):
        tf.orthogonal_initializer()([3])


def test_the_namespace_has_tensorflows_names() -> None:
    assert initializers.zeros is tf.zeros_initializer
    assert initializers.variance_scaling is tf.variance_scaling_initializer
    assert initializers.global_variables is tf.global_variables_initializer
