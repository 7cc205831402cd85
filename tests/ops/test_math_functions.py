"""The public functions of mathematics: names, keywords, composites, dynamic gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.gradients.gradients import gradients
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.ops.basic import placeholder
from penstock.session.session import Session
from penstock.tensor.dtypes import as_dtype

INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetches, feeds)


def float_input(*dims: int | None) -> Any:
    return placeholder("float32", list(dims))


# --- names ----------------------------------------------------------------------------------------------

NODE_NAMES: list[tuple[Callable[[Any], Any], str, str]] = [
    (lambda x: tf.add(x, x), "Add", "AddV2"),
    (lambda x: x + x, "add", "AddV2"),
    (lambda x: tf.subtract(x, x), "Sub", "Sub"),
    (lambda x: tf.multiply(x, x), "Mul", "Mul"),
    (lambda x: tf.divide(x, 2.0), "truediv", "RealDiv"),
    (lambda x: tf.div(x, x), "div", "RealDiv"),
    (lambda x: tf.floordiv(x, x), "floordiv", "FloorDiv"),
    (lambda x: tf.mod(x, x), "FloorMod", "FloorMod"),
    (lambda x: tf.pow(x, x), "Pow", "Pow"),
    (lambda x: tf.negative(x), "Neg", "Neg"),
    (lambda x: tf.abs(x), "Abs", "Abs"),
    (lambda x: tf.sigmoid(x), "Sigmoid", "Sigmoid"),
    (lambda x: tf.round(x), "Round", "Round"),
    (lambda x: tf.cast(x, "int32"), "Cast", "Cast"),
    (lambda x: tf.to_int64(x), "ToInt64", "Cast"),
    (lambda x: tf.logical_xor(x > 1, x > 2), "LogicalXor", "LogicalAnd"),
    (lambda x: tf.reduce_mean(x), "Mean", "Mean"),
    (lambda x: tf.reduce_logsumexp(x), "ReduceLogSumExp", "AddV2"),
    (lambda x: tf.count_nonzero(x), "count_nonzero/Sum", "Sum"),
    (lambda x: tf.norm(x), "norm/Squeeze", "Squeeze"),
    (lambda x: tf.argmax(x, 1), "ArgMax", "ArgMax"),
    (lambda x: tf.cumsum(x), "Cumsum", "Cumsum"),
    (lambda x: tf.matmul(x, x, transpose_b=True), "MatMul", "MatMul"),
    (lambda x: tf.matmul([x], [x], transpose_b=True), "MatMul", "BatchMatMulV2"),
    (lambda x: tf.range(3), "range", "Range"),
    (lambda x: tf.linspace(0.0, 1.0, 3), "LinSpace", "LinSpace"),
    (lambda x: tf.add_n([x, x]), "AddN", "AddN"),
    (lambda x: tf.accumulate_n([x, x]), "AccumulateNV2", "AccumulateNV2"),
    (lambda x: tf.complex(x, x), "Complex", "Complex"),
    (lambda x: tf.clip_by_value(x, 0.0, 1.0), "clip_by_value", "Maximum"),
    (lambda x: tf.clip_by_norm(x, 1.0), "clip_by_norm", "Identity"),
    (lambda x: tf.clip_by_average_norm(x, 1.0), "clip_by_average_norm", "Identity"),
    (lambda x: tf.global_norm([x]), "global_norm/global_norm", "Sqrt"),
    (lambda x: tf.saturate_cast(x, "uint8"), "saturate_cast", "Cast"),
    (lambda x: tf.unsorted_segment_mean(x, [0, 0], 1), "UnsortedSegmentMean/truediv", "RealDiv"),
]


@pytest.mark.parametrize(("build", "name", "op"), NODE_NAMES, ids=[row[1] + "_" + row[2] for row in NODE_NAMES])
def test_functions_name_their_nodes_as_tensorflow_does(build: Callable[[Any], Any], name: str, op: str) -> None:
    found = build(float_input(2, 3))
    assert (found.op.name, found.op.type) == (name, op)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.add(x=x, y=x, name="n"),
        lambda x: tf.divide(x, x, name="n"),
        lambda x: tf.reduce_sum(x, axis=1, keepdims=True, name="n"),
        lambda x: tf.reduce_sum(x, 1, True, "n"),
        lambda x: tf.argmax(x, 1, "n"),
        lambda x: tf.matmul(x, x, transpose_a=True, name="n"),
        lambda x: tf.clip_by_value(t=x, clip_value_min=0.0, clip_value_max=1.0, name="n"),
        lambda x: tf.cast(x=x, dtype="int32", name="n"),
        lambda x: tf.abs(x, name="n"),
        lambda x: tf.accumulate_n([x, x], shape=[2, 3], name="n"),
    ],
)
def test_a_given_name_is_the_name_of_the_last_node(build: Callable[[Any], Any]) -> None:
    assert build(float_input(2, 3)).op.name == "n"


def test_the_names_of_tensorflow_0_are_there() -> None:
    assert (tf.sub, tf.mul, tf.neg, tf.inv) == (tf.subtract, tf.multiply, tf.negative, tf.reciprocal)
    assert run(tf.select([True, False], [1, 2], [3, 4])).tolist() == [1, 4]
    assert run(tf.batch_matmul(np.ones((2, 1, 3)), np.ones((2, 3, 1)))).tolist() == [[[3.0]], [[3.0]]]
    assert run(tf.arg_max([1, 5, 2], 0)) == 1 and run(tf.arg_min([1, 5, 0], dimension=0)) == 2


# --- arithmetic -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("int8", "float32"),
        ("uint16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("float32", "float32"),
    ],
)
def test_true_division_turns_integers_into_floats(dtype: str, wanted: str) -> None:
    x = constant(np.array([7, 3], dtype))
    for quotient in (x / 2, tf.truediv(x, x // x * 2), tf.divide(x, np.array(2, dtype))):
        assert quotient.dtype == wanted
        assert run(quotient).tolist() == [3.5, 1.5]
    assert (x / 2).op.name == "truediv_3"


def test_true_division_wants_one_dtype() -> None:
    with pytest.raises(TypeError, match="int32 != float32"):
        tf.truediv(constant([1]), constant([1.0]))


def test_div_rounds_integers_down() -> None:
    assert run(tf.div([7, -7], [2, 2])).tolist() == [3, -4]
    assert run(tf.div([7.0, -7.0], 2.0)).tolist() == [3.5, -3.5]


def test_a_number_takes_the_dtype_of_the_tensor_beside_it() -> None:
    x = constant(np.array([2.0]))
    for found in (tf.add(1, x), tf.multiply(2, x), tf.pow(2, x), tf.maximum(1, x), 3 - x, tf.greater(1, x)):
        assert found.op.inputs[0].dtype == "float64"


def test_add_joins_strings() -> None:
    assert run(tf.add(["a", "b"], "c")).tolist() == [b"ac", b"bc"]


def test_scalar_mul_takes_slices_and_scalars_only() -> None:
    slices = IndexedSlices(constant([[1.0, 2.0]]), constant([3]))
    found = tf.scalar_mul(2.0, slices)
    assert run(found.values).tolist() == [[2.0, 4.0]] and found.indices is slices.indices
    with pytest.raises(ValueError, match="Only scalar multiply works"):
        tf.scalar_mul([1.0, 2.0], constant([1.0, 2.0]))


def test_add_n_of_one_tensor_is_that_tensor() -> None:
    x = constant([1.0])
    assert tf.add_n([x]) is x and tf.accumulate_n([x]) is x
    assert tf.add_n([x], name="n").op.type == "Identity"
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.add_n([])
    with pytest.raises(ValueError, match="same dtype"):
        tf.add_n([x, constant([1])])


def test_add_n_adds_slices_up() -> None:
    slices = IndexedSlices(constant([[1.0, 2.0]]), constant([1]), constant([2, 2]))
    assert run(tf.add_n([slices, constant([[1.0, 1.0], [1.0, 1.0]])])).tolist() == [[1, 1], [2, 3]]


def test_addends_of_different_shapes_are_refused_in_the_step() -> None:
    x, y = float_input(None), float_input(None)
    with pytest.raises(errors.InvalidArgumentError, match=r"same shape, got \[2\], \[1\]"):
        run(tf.add_n([x, y]), {x: [1, 2], y: [1]})


def test_abs_and_parts_of_complex_numbers_are_real() -> None:
    x = tf.complex([3.0], [4.0])
    assert x.dtype == "complex64" and tf.abs(x).dtype == "float32"
    assert run([tf.abs(x), tf.real(x), tf.imag(x), tf.conj(x)]) == [[5.0], [3.0], [4.0], [3 - 4j]]
    assert run(tf.angle(tf.complex(np.zeros(1), np.ones(1)))) == pytest.approx([np.pi / 2])
    y = constant([1.0, -2.0])
    assert tf.real(y) is y and tf.conj(y) is y
    assert run(tf.imag(y)).tolist() == [0, 0]
    assert run(tf.angle(y)) == pytest.approx([0, np.pi])
    with pytest.raises(TypeError, match="Expected numeric"):
        tf.conj(constant(["a"]))
    with pytest.raises(TypeError, match="float32 or float64"):
        tf.complex([1], [2])


def test_rounding_leaves_integers_alone() -> None:
    x = constant([1, 2])
    assert tf.round(x) is x


def test_logical_xor_is_of_bools() -> None:
    x = [True, True, False, False]
    assert run(tf.logical_xor(x, [True, False, True, False])).tolist() == [False, True, True, False]


# --- casts ----------------------------------------------------------------------------------------------


def test_cast_to_the_same_dtype_is_the_tensor_itself() -> None:
    x = constant([1.0])
    assert tf.cast(x, "float32") is x and tf.to_float(x) is x


def test_cast_keeps_slices() -> None:
    slices = IndexedSlices(constant([[1.5]]), constant([3]))
    found = tf.cast(slices, "int32")
    assert isinstance(found, IndexedSlices) and run(found.values).tolist() == [[1]]


def test_the_gradient_of_a_cast_is_cast_back() -> None:
    x = constant([1.0, 2.0])
    (grad,) = gradients(tf.cast(x, "float64") * constant(np.array([3.0, 4.0])), [x])
    assert grad.dtype == "float32" and run(grad).tolist() == [3, 4]
    assert gradients(tf.cast(tf.cast(x, "int32"), "float32"), [x]) == [None]


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (np.array([3e9, -3e9, 5.7], np.float32), "int32", [2147483520, -(2**31), 5]),
        (np.array([3e9, -3e9, 5.7], np.float64), "int32", [2**31 - 1, -(2**31), 5]),
        (np.array([300, -5, 7], np.int32), "uint8", [255, 0, 7]),
        (np.array([300.0, -5, 7], np.float32), "uint8", [255, 0, 7]),
        (np.array([1e30, -1e30], np.float32), "int64", [2**63 - 2**39, -(2**63)]),
        (np.array([1e30, -1e30], np.float32), "float16", [65504, -65504]),
        (np.array([2**64 - 1], np.uint64), "int64", [2**63 - 1]),
        (np.array([-1], np.int64), "uint64", [0]),
        (np.array([3, 4], np.int8), "int32", [3, 4]),
        (np.array([2.0**40], ml_dtypes.bfloat16), "int32", [2**31 - 2**23]),
    ],
)
def test_saturate_cast_clips_to_the_range(value: np.ndarray, dtype: str, wanted: list[float]) -> None:
    found = run(tf.saturate_cast(constant(value), dtype))
    assert found.dtype == as_dtype(dtype).np and found.tolist() == wanted


# --- reductions -----------------------------------------------------------------------------------------

VALUES = np.array([[1.0, -2.0, 3.0], [4.0, 0.0, -6.0]], np.float32)


def test_reductions_take_old_and_new_keywords() -> None:
    x = constant(VALUES)
    assert run(tf.reduce_sum(x)) == 0
    assert run(tf.reduce_sum(x, 0)).tolist() == [5, -2, -3]
    assert run(tf.reduce_sum(x, reduction_indices=[1], keep_dims=True)).tolist() == [[2], [-2]]
    assert run(tf.reduce_mean(x, axis=(0, 1), keepdims=True)).tolist() == [[0]]
    assert run(tf.reduce_max(x, axis=-1)).tolist() == [3, 4]
    assert run(tf.reduce_min(x, axis=[-1])).tolist() == [-2, -6]
    assert run(tf.reduce_prod(x, axis=constant(0))).tolist() == [4, 0, -18]
    assert run(tf.reduce_any(x > 3, 1)).tolist() == [False, True]
    assert run(tf.reduce_all(x > -3, 1)).tolist() == [True, False]
    with pytest.raises(ValueError, match="Cannot specify both 'axis' and 'reduction_indices'"):
        tf.reduce_sum(x, axis=0, reduction_indices=0)
    with pytest.raises(ValueError, match="Cannot specify both 'keepdims' and 'keep_dims'"):
        tf.reduce_sum(x, keepdims=True, keep_dims=True)


def test_a_reduction_of_unknown_rank_takes_all_axes() -> None:
    x = placeholder("float32")
    total = tf.reduce_sum(x)
    assert run(total, {x: VALUES}) == 0 and run(total, {x: 3.0}) == 3
    (grad,) = gradients(total, [x])
    assert run(grad, {x: VALUES}).tolist() == np.ones((2, 3)).tolist()


def test_static_shapes_of_reductions_follow_the_axes() -> None:
    x = float_input(None, 3, 4)
    assert tf.reduce_sum(x, [1]).shape.as_list() == [None, 4]
    assert tf.reduce_sum(x, -1, keepdims=True).shape.as_list() == [None, 3, 1]
    assert tf.reduce_sum(x).shape.as_list() == []
    assert tf.reduce_sum(x, placeholder("int32", [1])).shape.ndims is None
    assert tf.reduce_sum(x, placeholder("int32", [1]), keepdims=True).shape.as_list() == [None] * 3
    assert tf.argmax(x, 1).shape.as_list() == [None, 4]


def test_logsumexp_neither_overflows_nor_loses_infinities() -> None:
    x = constant([[1000.0, 1000.0], [-1000.0, -1001.0]])
    wanted = [1000 + np.log(2), -1000 + np.log1p(np.exp(-1))]
    assert run(tf.reduce_logsumexp(x, 1)) == pytest.approx(wanted)
    assert run(tf.reduce_logsumexp(x, 1, keepdims=True)).shape == (2, 1)
    assert run(tf.reduce_logsumexp([-INF, -INF])) == -INF
    assert run(tf.reduce_logsumexp([INF, 1.0])) == INF
    (grad,) = gradients(tf.reduce_logsumexp(x, 1), [x])
    assert run(grad)[1] == pytest.approx([0.7310586, 0.2689414])


def test_count_nonzero_counts_numbers_bools_and_strings() -> None:
    assert run(tf.count_nonzero([[0.0, 1.0], [2.0, 3.0]])) == 3
    assert run(tf.count_nonzero([[0, 1], [2, 3]], axis=0, dtype="int32")).dtype == np.int32
    assert run(tf.count_nonzero([True, False], keepdims=True)).tolist() == [1]
    assert run(tf.count_nonzero(["", "a"])) == 1


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("ord", "axis"),
    [
        ("euclidean", None),
        (2, 1),
        (1, 0),
        (3, -1),
        (np.inf, 1),
        ("fro", (0, 1)),
        (1, (0, 1)),
        (np.inf, [0, 1]),
    ],
)
def test_norms_are_numpys(ord: Any, axis: Any, keepdims: bool) -> None:
    kind = {"euclidean": None}.get(ord, ord)
    wanted = np.linalg.norm(VALUES, kind, tuple(axis) if isinstance(axis, list) else axis, keepdims)
    found = run(tf.norm(VALUES, ord=ord, axis=axis, keepdims=keepdims))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_norms_of_other_orders_are_refused() -> None:
    for ord, axis in (("fro", None), (-1, None), (3, (0, 1)), ("nuclear", 0)):
        with pytest.raises(ValueError, match="'ord' must be one of"):
            tf.norm(VALUES, ord=ord, axis=axis)
    with pytest.raises(ValueError, match="'axis' must be"):
        tf.norm(VALUES, axis=[0, 0])
    x = placeholder("float32")
    assert run(tf.norm(x), {x: VALUES}) == pytest.approx(np.linalg.norm(VALUES))
    assert run(tf.norm(np.array([3 + 4j, 0]))) == 5 + 0j


def test_standard_deviation_and_variance_are_of_the_population() -> None:
    assert run(tf.math.reduce_variance(VALUES, 0)) == pytest.approx(VALUES.var(0))
    assert run(tf.math.reduce_std(VALUES, axis=1, keepdims=True)) == pytest.approx(VALUES.std(1, keepdims=True))
    assert run(tf.math.reduce_euclidean_norm(VALUES)) == pytest.approx(np.linalg.norm(VALUES))


# --- products and sequences -----------------------------------------------------------------------------


def test_matmul_takes_batches_transposes_and_adjoints() -> None:
    random = np.random.RandomState(0)
    a = random.randn(2, 3, 4) + 1j * random.randn(2, 3, 4)
    b = random.randn(3, 5) + 1j * random.randn(3, 5)
    ah, at = np.conj(a).swapaxes(1, 2), a.swapaxes(1, 2)
    np.testing.assert_allclose(run(tf.matmul(a, b, adjoint_a=True)), ah @ b)
    np.testing.assert_allclose(run(tf.matmul(a, b, transpose_a=True)), at @ b)
    np.testing.assert_allclose(run(tf.matmul(a[0], b, adjoint_a=True)), ah[0] @ b)
    np.testing.assert_allclose(run(tf.matmul(a[0], b.T, transpose_a=True, adjoint_b=True)), at[0] @ np.conj(b))
    np.testing.assert_allclose(run(constant(a[0].T) @ b), at[0] @ b)
    with pytest.raises(ValueError, match="Only one of transpose_a and adjoint_a"):
        tf.matmul(a, b, transpose_a=True, adjoint_a=True)


def test_matmul_says_where_inner_dimensions_differ() -> None:
    with pytest.raises(ValueError, match=r"inner dimensions of a and b are 3 and 4.*MatMul"):
        tf.matmul(float_input(2, 3), float_input(4, 5))
    x, y = placeholder("float32"), placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError):
        run(tf.matmul(x, y), {x: np.ones((2, 3)), y: np.ones((4, 5))})


def test_trace_adds_the_diagonals_up() -> None:
    assert run(tf.trace([[1.0, 2.0], [3.0, 4.0]])) == 5


def test_range_chooses_the_widest_dtype() -> None:
    assert run(tf.range(3)).tolist() == [0, 1, 2]
    assert run(tf.range(1, 7, 2)).dtype == np.int32
    assert tf.range(1.0, 5.0).dtype == "float32" and tf.range(constant(np.int64(3))).dtype == "int64"
    assert tf.range(3, dtype="float64").dtype == "float64"
    assert run(tf.range(start=3, limit=0, delta=-1)).tolist() == [3, 2, 1]
    assert tf.range(2, 8).shape.as_list() == [6]
    n = placeholder("int32", [])
    assert run(tf.range(n), {n: 4}).tolist() == [0, 1, 2, 3]
    with pytest.raises(errors.InvalidArgumentError, match="delta != 0"):
        run(tf.range(0, 5, n), {n: 0})


def test_linspace_takes_integers_as_floats() -> None:
    assert run(tf.lin_space(0, 3, 4)).tolist() == [0, 1, 2, 3]
    assert run(tf.linspace(start=0.0, stop=1.0, num=3)).tolist() == [0, 0.5, 1]


def test_shapes_flow_through_arithmetic() -> None:
    x = float_input(None, 3, 4)
    shape, one = get_op("Shape")(x), constant([1])
    dims = get_op("StridedSlice")(shape, [1], [3], [1])
    for found, wanted in [
        (tf.reduce_prod(dims), 12),
        (tf.reduce_sum(dims), 7),
        (tf.reduce_prod(dims) // 5 * 2 - 1, 3),
        (tf.maximum(tf.reduce_max([1]), tf.reduce_prod(tf.cast(tf.to_int64(dims), "int32"))), None),
        (tf.minimum(tf.reduce_sum(dims), 3) + 1, 4),
    ]:
        made = get_op("Fill")(get_op("Reshape")(found, one), 0.0)
        assert made.shape.as_list() == [wanted]
    assert get_op("Fill")(shape * 2, 0.0).shape.as_list() == [None, 6, 8]
    assert get_op("Fill")(tf.range(2, 5), 0.0).shape.as_list() == [2, 3, 4]


# --- clipping -------------------------------------------------------------------------------------------


def test_clip_by_value_broadcasts_bounds_but_not_the_value() -> None:
    assert run(tf.clip_by_value([[1.0, 5.0], [2.0, 3.0]], [2.0, 4.0], 4.5)).tolist() == [[2, 4.5], [2, 4]]
    with pytest.raises(ValueError, match="incompatible"):
        tf.clip_by_value(1.0, [2.0, 3.0], 4.0)


def test_clip_by_norm_scales_down_only() -> None:
    assert run(tf.clip_by_norm([3.0, 4.0], 1.0)) == pytest.approx([0.6, 0.8])
    assert run(tf.clip_by_norm([0.3, 0.4], 1.0)) == pytest.approx([0.3, 0.4])
    assert run(tf.clip_by_norm([[3.0, 4.0], [0.0, 0.5]], 1.0, axes=[1])).ravel() == pytest.approx([0.6, 0.8, 0, 0.5])
    x = constant([0.0, 0.0])
    (grad,) = gradients(tf.clip_by_norm(x, 1.0), [x])
    assert run(grad).tolist() == [1, 1]
    assert run(tf.clip_by_average_norm([3.0, 4.0], 1.0)) == pytest.approx([1.2, 1.6])


def test_clipping_keeps_slices() -> None:
    slices = IndexedSlices(constant([[3.0, 4.0]]), constant([5]), constant([9, 2]))
    for found in (
        tf.clip_by_norm(slices, 1.0),
        tf.clip_by_value(slices, 0.6, 0.8),
        tf.clip_by_global_norm([slices, None], 1.0)[0][0],
    ):
        assert isinstance(found, IndexedSlices) and found.indices is slices.indices
        assert run(found.values).ravel().tolist() == pytest.approx(
            [0.8, 0.8] if found.values.op.type == "Maximum" else [0.6, 0.8]
        )


def test_clip_by_global_norm_scales_all_by_one_factor() -> None:
    clipped, norm = tf.clip_by_global_norm([constant([3.0]), None, constant([[4.0]])], 2.5)
    assert clipped[1] is None
    assert run(norm) == 5 and run([clipped[0], clipped[2]]) == [[1.5], [[2.0]]]
    same, _ = tf.clip_by_global_norm([constant([3.0])], 10.0)
    assert run(same) == [[3.0]]
    given, _ = tf.clip_by_global_norm([constant([3.0])], 2.0, use_norm=constant(4.0))
    assert run(given) == [[1.5]]
    assert np.isnan(run(tf.clip_by_global_norm([constant([3.0, INF])], 1.0)[0][0])).all()
    assert tf.global_norm([]) is None and tf.global_norm([None]) is None
    with pytest.raises(TypeError, match="sequence"):
        tf.clip_by_global_norm(constant([3.0]), 1.0)


# --- segments -------------------------------------------------------------------------------------------


def test_means_of_unsorted_segments_divide_by_their_sizes() -> None:
    data, ids = constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [1, 1, -1]
    assert run(tf.unsorted_segment_mean(data, ids, 2)).tolist() == [[0, 0], [2, 3]]
    found = run(tf.unsorted_segment_sqrt_n(data, ids, 2))
    assert found == pytest.approx(np.array([[0, 0], [4, 6]]) / np.sqrt(2))
    of_ints = run(tf.unsorted_segment_mean(constant([1, 2, 4], tf.int32), [0, 0, 1], 2))
    assert (of_ints.dtype, of_ints.tolist()) == (np.float64, [1.5, 4.0])


# --- gradients where shapes are known only in the step --------------------------------------------------

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
ROW = np.array([[1.5, 2.5, -2.0]])
DYNAMIC: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "add": (lambda x, y: x + y, [X, ROW[0]]),
    "mul": (lambda x, y: x * y, [ROW, X]),
    "mul by a scalar": (lambda x, y: x * y, [X, np.array(3.0)]),
    "div": (lambda x, y: x / y, [X, ROW]),
    "maximum": (tf.maximum, [X, ROW]),
    "select": (lambda x, y: get_op("SelectV2")(constant([[True], [False]]), x, y), [X, ROW]),
    "clip": (lambda x, y: get_op("ClipByValue")(x, y, constant(np.array(2.5))), [X, np.array(0.1)]),
    "sum": (lambda x: tf.reduce_sum(x, [1]), [X]),
    "sum of all": (lambda x: tf.reduce_sum(x), [X]),
    "mean": (lambda x: tf.reduce_mean(x, -1), [X]),
    "mean of all": (lambda x: tf.reduce_mean(x), [X]),
    "max": (lambda x: tf.reduce_max(x, 0), [X]),
    "max of all": (lambda x: tf.reduce_max(x), [X]),
    "norm": (lambda x: tf.math.reduce_euclidean_norm(x, [-1]), [X]),
    "prod": (lambda x: tf.reduce_prod(x, 1), [X]),
    "batch matmul": (lambda x, y: tf.matmul(x, y), [np.stack([X, X]), np.ones((3, 2))]),
    "segment mean": (lambda x: tf.segment_mean(x, [0, 0]), [X]),
    "unsorted sum": (lambda x: tf.unsorted_segment_sum(x, [1, -1], 2), [X]),
}


def _slopes(fn: Callable[..., Any], values: list[np.ndarray], shapes: list[Any]) -> list[np.ndarray]:
    with Graph().as_default():
        inputs = [placeholder("float64", shape) for shape in shapes]
        y = fn(*inputs)
        return run(gradients(tf.reduce_sum(y * y), inputs), dict(zip(inputs, values, strict=True)))


@pytest.mark.parametrize("name", DYNAMIC)
def test_gradients_do_not_depend_on_what_is_known_of_shapes(name: str) -> None:
    fn, values = DYNAMIC[name]
    known = _slopes(fn, values, [v.shape for v in values])
    unknown = _slopes(fn, values, [None for _ in values])
    partly = _slopes(fn, values, [[None, *v.shape[1:]] if v.ndim else [] for v in values])
    ranked = _slopes(fn, values, [[None] * v.ndim for v in values])
    for slopes in (unknown, partly, ranked):
        for have, want in zip(slopes, known, strict=True):
            assert have.shape == want.shape
            np.testing.assert_allclose(have, want)


def test_axes_known_only_in_the_step_have_gradients_too() -> None:
    axis = placeholder("int32")
    for reduce in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.math.reduce_euclidean_norm, tf.reduce_prod):
        x = placeholder("float64")
        fixed, fluid = (tf.reduce_sum(tf.square(reduce(x, a))) for a in ([1], axis))
        feeds = {x: X, axis: [-1]}
        np.testing.assert_allclose(run(gradients(fluid, [x])[0], feeds), run(gradients(fixed, [x])[0], feeds))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x * 2.0,
        lambda x: -x,
        tf.tanh,
        lambda x: x / 2.0,
        lambda x: x - x[0],
        lambda x: tf.cumsum(x),
        lambda x: tf.maximum(x, 0.0),
        lambda x: tf.add_n([x, x, x]),
        lambda x: tf.reduce_sum(x, [1], keepdims=True),
        lambda x: tf.reduce_max(x, [1]),
        lambda x: tf.matmul(x, [[1.0], [2.0]]),
        lambda x: tf.clip_by_value(x, 0.0, 3.0),
        lambda x: tf.cast(tf.cast(x, "float64"), "float32"),
    ],
)
def test_gradients_that_come_as_slices_pass_through(fn: Callable[..., Any]) -> None:
    x = constant([[1.0, -2.0], [3.0, 4.0]])
    y = fn(x)
    gathered = get_op("GatherV2")(y, np.array([1, 1, 0]), 0)
    one_hot = np.array([[0.0, 1], [0, 1], [1, 0]], np.float32)
    same = tf.matmul(one_hot, y if y.shape.ndims == 2 else get_op("ExpandDims")(y, 1))
    found, wanted = run([convert_to_tensor(gradients(t, [x])[0]) for t in (gathered, same)])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_second_derivatives_of_functions_with_gradient_ops() -> None:
    for fn, second in [
        (tf.tanh, lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)),
        (tf.sqrt, lambda x: -0.25 * x**-1.5),
        (tf.rsqrt, lambda x: 0.75 * x**-2.5),
        (tf.reciprocal, lambda x: 2 * x**-3),
        (tf.sigmoid, lambda x: np.exp(-x) * (np.exp(-x) - 1) / (np.exp(-x) + 1) ** 3),
    ]:
        value = np.array([0.5, 1.5])
        x = constant(value)
        (found,) = gradients(gradients(fn(x), [x])[0], [x])
        np.testing.assert_allclose(run(found), second(value), rtol=1e-9)


def test_gradients_at_ties_and_zeros_are_tensorflows() -> None:
    x, y = constant([1.0, 1.0, 2.0]), constant([1.0, 2.0, 1.0])
    assert [run(g).tolist() for g in gradients(tf.maximum(x, y), [x, y])] == [[1, 0, 1], [0, 1, 0]]
    z = constant([2.0, 1.0, 2.0])
    assert run(gradients(tf.reduce_max(z), [z])[0]).tolist() == [0.5, 0, 0.5]
    w = constant([1.0, 0.0, 2.0])
    assert run(gradients(tf.cumprod(w), [w])[0]).tolist() == [1, 0, 0]
    assert run(gradients(tf.reduce_prod(w), [w])[0]).tolist() == [0, 2, 0]
    base, power = constant([0.0, -2.0, 2.0]), constant([2.0, 2.0, 0.0])
    found = [run(g) for g in gradients(tf.pow(base, power), [base, power])]
    np.testing.assert_allclose(found, [[0, -4, 0], [0, 0, np.log(2)]], rtol=1e-6)
    c = tf.complex(constant([0.0, 3.0]), constant([0.0, 4.0]))
    assert run(gradients(tf.abs(c), [c.op.inputs[0]])[0]) == pytest.approx([0, 0.6])


def test_gradients_of_complex_functions_are_conjugated() -> None:
    random = np.random.RandomState(1)
    point = random.randn(3) + 1j * random.randn(3)
    real, imag = constant(point.real), constant(point.imag)
    for fn, reference in [
        (tf.exp, np.exp),
        (lambda z: z * z * z, lambda z: z**3),
        (lambda z: 1.0 / z, lambda z: 1 / z),
        (tf.conj, np.conj),
        (tf.sin, np.sin),
    ]:
        found = run(gradients(tf.real(fn(tf.complex(real, imag))), [real, imag]))
        for have, direction in zip(found, (1e-6, 1e-6j), strict=True):
            slope = (reference(point + direction) - reference(point - direction)).real / 2e-6
            np.testing.assert_allclose(have, slope, rtol=1e-5, atol=1e-6)
    (grad,) = gradients(tf.angle(tf.complex(real, imag)), [real])
    np.testing.assert_allclose(run(grad), -point.imag / np.abs(point) ** 2)
