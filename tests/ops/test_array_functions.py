"""The public array functions: TF 1.x names and arguments, static shapes, composed functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops.layout import INVERT_PERMUTATION
from penstock.ops.sorting import top_k

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as g:
        yield g


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def placeholder(*dims: int | None, dtype: Any = tf.float32) -> tf.Tensor:
    return tf.placeholder(dtype, list(dims))


def any_rank(dtype: Any = tf.float32) -> tf.Tensor:
    return tf.placeholder(dtype)


def op_types(g: tf.Graph) -> list[str]:
    return [op.type for op in g.get_operations()]


# --- shapes ---------------------------------------------------------------------------------------------


def test_shape_size_and_rank_are_constants_where_they_are_known(graph: tf.Graph) -> None:
    x = placeholder(2, 3)
    found = [
        tf.shape(x),
        tf.size(x),
        tf.rank(x),
        tf.shape(x, out_type=tf.int64),
        tf.rank(placeholder(None, 3)),
    ]
    assert op_types(graph).count("Const") == len(found)
    assert [v.tolist() for v in run(found)] == [[2, 3], 6, 2, [2, 3], 2]
    assert [t.op.name for t in found[:4]] == ["Shape", "Size", "Rank", "Shape_1"]


def test_shape_size_and_rank_of_an_unknown_shape_are_found_at_run_time() -> None:
    x = any_rank()
    assert [v.tolist() for v in run([tf.shape(x), tf.size(x), tf.rank(x)], {x: X})] == [[2, 3], 6, 2]


def test_shape_of_a_sparse_tensor_is_its_dense_shape() -> None:
    sparse = tf.SparseTensor([[0, 1]], [5.0], [3, 4])
    assert [v.tolist() for v in run([tf.shape(sparse), tf.size(sparse), tf.rank(sparse)])] == [[3, 4], 12, 2]


@pytest.mark.parametrize(
    ("build", "static"),
    [
        (lambda x: tf.reshape(x, [-1, tf.shape(x)[1] * 2]), [None, 6]),
        (lambda x: tf.reshape(x, tf.shape(x)), [None, 3]),
        (lambda x: tf.reshape(x, [tf.shape(x)[0], 1, 3]), [None, 1, 3]),
        (lambda x: tf.reshape(x, tf.concat([tf.shape(x)[:1], [3, 1]], 0)), [None, 3, 1]),
        (lambda x: tf.reshape(x, tf.stack([1, tf.shape(x)[0], -1])), [1, None, None]),
        (lambda x: tf.reshape(tf.zeros([4, 3]), [-1, x.shape[1]]), [4, 3]),
        (lambda x: tf.reshape(tf.zeros([4, 3]), [2, tf.size(x)]), [2, 6]),
        (lambda x: tf.zeros(tf.gather(tf.shape(x), [1, 1])), [3, 3]),
        (lambda x: tf.zeros(tf.slice(tf.shape(x), [1], [1])), [3]),
        (lambda x: tf.zeros(tf.squeeze(tf.expand_dims(tf.shape(x), 0), [0])), [None, 3]),
        (lambda x: tf.zeros(tf.fill([tf.rank(x)], 4)), [4, 4]),
        (lambda x: tf.zeros(tf.reshape(tf.shape(x)[1], [1])), [3]),
        (lambda x: tf.tile(x, [1, tf.shape(x)[1]]), [None, 9]),
        (lambda x: tf.broadcast_to(x, tf.broadcast_dynamic_shape(tf.shape(x), [5, 1, 3])), [5, None, 3]),
        (lambda x: x[:, : tf.shape(x)[1] - 1], [None, 2]),
        (lambda x: tf.transpose(x, INVERT_PERMUTATION([1, 0])), [3, None]),
    ],
)
def test_static_shapes_flow_through_computed_shapes(build: Any, static: list[int | None]) -> None:
    assert build(placeholder(None, 3)).shape.as_list() == static


def test_reshape_says_which_shapes_do_not_fit_and_where() -> None:
    with pytest.raises(
        ValueError, match=r"Cannot reshape a tensor with 6 elements to shape \[4\] \(4 elements\): it is \(2, 3\)"
    ):
        tf.reshape(placeholder(2, 3), [4])
    x = any_rank()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Reshape"):
        run(tf.reshape(x, [4]), {x: X})


def test_older_argument_names_of_expand_dims_and_squeeze_work() -> None:
    x = placeholder(2, 1)
    assert tf.expand_dims(x, dim=0).shape.as_list() == [1, 2, 1]
    assert tf.squeeze(x, squeeze_dims=[1]).shape.as_list() == [2]
    assert tf.squeeze(x, axis=1).shape.as_list() == [2]
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.squeeze(x, axis=1, squeeze_dims=1)
    with pytest.raises(ValueError, match="Must specify 'axis'"):
        tf.expand_dims(x)


def test_squeeze_of_an_axis_that_turns_out_longer_fails_at_run_time() -> None:
    x = any_rank()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Can not squeeze dim\[0\]"):
        run(tf.squeeze(x, 0), {x: X})


# --- joining and stacking -------------------------------------------------------------------------------


def test_concat_takes_keywords_in_any_order_and_one_value() -> None:
    x = placeholder(2, 3)
    assert tf.concat(axis=0, values=[x, x], name="both").op.name == "both"
    single = tf.concat([x], 1)
    assert single.op.type == "Identity"
    assert run(single, {x: X}).tolist() == X.tolist()


def test_concat_along_an_axis_only_known_at_run_time_has_gradients() -> None:
    x, y, axis = any_rank(), any_rank(), any_rank(tf.int32)
    joined = tf.concat([x, y], axis)
    grads = tf.gradients(joined * joined, [x, y])
    assert [g.tolist() for g in run(grads, {x: X, y: X[:, :1], axis: -1})] == [(2 * X).tolist(), [[0], [6]]]


def test_split_takes_a_number_a_list_and_a_tensor() -> None:
    x = placeholder(None, 6)
    value = np.arange(12, dtype=np.float32).reshape(2, 6)
    assert [p.shape.as_list() for p in tf.split(x, 3, axis=1)] == [[None, 2]] * 3
    assert [p.shape.as_list() for p in tf.split(x, [1, -1], 1)] == [[None, 1], [None, 5]]
    sizes = tf.placeholder(tf.int32, [2])
    parts = run(tf.split(x, sizes, 1), {x: value, sizes: [4, 2]})
    assert [p.shape for p in parts] == [(2, 4), (2, 2)]
    with pytest.raises(ValueError, match="Rank-0"):
        tf.split(x, tf.constant(2))
    with pytest.raises(ValueError, match="Cannot infer"):
        tf.split(x, tf.placeholder(tf.int32, [None]))


def test_an_uneven_split_found_out_at_run_time_is_refused() -> None:
    x = any_rank()
    with pytest.raises(tf.errors.InvalidArgumentError, match="evenly divide"):
        run(tf.split(x, 2, 1), {x: X})


def test_stack_of_python_values_is_a_constant(graph: tf.Graph) -> None:
    assert tf.stack([1, 2]).op.type == "Const"
    assert tf.stack([1, tf.constant(2)]).op.type == "Pack"
    assert run(tf.stack([[1, 2], [3, 4]], axis=1)).tolist() == [[1, 3], [2, 4]]
    with pytest.raises(ValueError, match="`axis` = 3 not in range"):
        tf.stack([placeholder(2), placeholder(2)], axis=3)


def test_unstack_needs_to_know_how_many() -> None:
    x = placeholder(None, 3)
    assert len(tf.unstack(x, axis=1)) == len(tf.unstack(x, axis=-1)) == 3
    with pytest.raises(ValueError, match="Cannot infer argument `num`"):
        tf.unstack(x)
    assert [row.tolist() for row in run(tf.unstack(x, 2), {x: X})] == X.tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="must equal 3, got 2"):
        run(tf.unstack(x, 3), {x: X})


def test_parts_of_a_split_that_are_not_used_get_zero_gradients() -> None:
    x = placeholder(2, 3)
    grad = tf.gradients(tf.unstack(x, axis=1)[1], x)[0]
    assert run(grad, {x: X}).tolist() == [[0, 1, 0], [0, 1, 0]]


# --- indexing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1], np.s_[-1], np.s_[:, 1:], np.s_[..., 0], np.s_[None], np.s_[:, None, ::-1], np.s_[1, 2],
        np.s_[::-2, -1:0:-1], np.s_[5:], np.s_[...], np.s_[()], np.s_[np.int64(1)], np.s_[:, np.array(2)],
    ],
    ids=str,
)  # fmt: skip
def test_indexing_is_numpys(index: Any) -> None:
    for x in (placeholder(2, 3), placeholder(None, None), any_rank()):
        y = x[index]
        want = X[index]
        assert y.shape.is_compatible_with(want.shape)
        got = run(y, {x: X})
        assert got.shape == want.shape and got.tolist() == want.tolist()
        assert run(tf.gradients(y, x)[0], {x: X}).sum() == want.size
    assert placeholder(2, 3)[index].shape.as_list() == list(X[index].shape)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_indices_may_be_tensors(dtype: Any) -> None:
    x, i = placeholder(2, 3), tf.placeholder(dtype, [])
    y = x[i, i - 1 :: i]
    assert y.shape.as_list() == [None]
    assert run(y, {x: X, i: 1}).tolist() == [3, 4, 5]
    assert x[i].shape.as_list() == [3]


def test_indices_may_be_dimensions_and_variables() -> None:
    x = placeholder(2, 3)
    assert x[: x.shape[0], x.shape[1] - 1].shape.as_list() == [2]
    v = tf.Variable(1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(x[v], {x: X}).tolist() == [3, 4, 5]


@pytest.mark.parametrize("index", [1.0, "a", [[0, 1]], np.array([0, 1])], ids=str)
def test_other_indices_are_refused(index: Any) -> None:
    with pytest.raises(TypeError, match="Only integers, slices"):
        placeholder(2, 3)[index]
    with pytest.raises(TypeError, match="Only integers, slices"):
        placeholder(2, 3)[tf.constant(index)]


def test_an_index_out_of_range_is_refused_as_soon_as_it_is_known() -> None:
    with pytest.raises(ValueError, match="slice index 2 of a dimension of size 2 out of bounds"):
        placeholder(2, 3)[2]
    with pytest.raises(ValueError, match="Index out of range using input dim 2"):
        placeholder(2, 3)[0, 0, 0]
    x, i = any_rank(), tf.placeholder(tf.int32, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="index 2 is out of bounds"):
        run(x[i], {x: X, i: 2})


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_slice_of_a_variable_can_be_assigned_to(use_resource: bool) -> None:
    v = tf.Variable(X, use_resource=use_resource)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(v[:, ::-2].assign([[10, 11], [12, 13]]))
        assert found.tolist() == session.run(v).tolist() == [[11, 1, 10], [13, 4, 12]]
        session.run(v[0].assign(tf.zeros([3])))
        assert session.run(v[0, 1:]).tolist() == [0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2\] does not match .* \[3\]"):
            session.run(v[:, 0].assign(tf.zeros([3])))


def test_a_boolean_mask_as_index_selects_elements() -> None:
    x, mask = placeholder(None, 3), tf.placeholder(tf.bool, [None])
    assert x[mask].shape.as_list() == [None, 3]
    assert run(x[mask], {x: X, mask: [False, True]}).tolist() == [[3, 4, 5]]
    assert run(tf.boolean_mask(X, [True, False, True], axis=1)).tolist() == [[0, 2], [3, 5]]
    assert run(tf.boolean_mask(X, X > 2)).tolist() == [3, 4, 5]
    weights = tf.sequence_mask([1, 3], 3, dtype=tf.float32)
    assert run(tf.boolean_mask(X, weights)).tolist() == [0, 3, 4, 5]
    assert run(tf.boolean_mask(X, [0, 2])).tolist() == [[3, 4, 5]]
    flat = tf.boolean_mask(any_rank(), tf.placeholder(tf.bool, [None, None]))
    assert flat.shape.ndims is None
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        x[True]
    with pytest.raises(ValueError, match="Number of mask dimensions must be specified"):
        tf.boolean_mask(x, any_rank(tf.bool))
    with pytest.raises(ValueError, match="incompatible"):
        tf.boolean_mask(x, [[True, False]])


def test_a_boolean_mask_passes_gradients_to_what_it_selects() -> None:
    x = placeholder(2, 3)
    grad = tf.gradients(tf.boolean_mask(x, [[True, False, True]] * 2), x)[0]
    assert run(grad, {x: X}).tolist() == [[1, 0, 1], [1, 0, 1]]


def test_strided_slice_fills_in_strides_and_takes_masks() -> None:
    x = placeholder(2, 3)
    assert run(tf.strided_slice(x, [0, 1], [2, 3]), {x: X}).tolist() == [[1, 2], [4, 5]]
    assert tf.strided_slice(x, [0, 1], [1, 1], [1, 1], end_mask=2, shrink_axis_mask=1).shape.as_list() == [2]


def test_a_slice_too_large_is_refused_at_run_time() -> None:
    x = any_rank()
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not fit shape"):
        run(tf.slice(x, [0, 1], [2, 3]), {x: X})


def test_the_gradient_of_a_slice_with_unknown_shapes_is_padded() -> None:
    x, begin = any_rank(), tf.placeholder(tf.int32, [2])
    grad = tf.gradients(tf.slice(x, begin, [-1, 2]), x)[0]
    assert run(grad, {x: X, begin: [1, 0]}).tolist() == [[0, 0, 0], [1, 1, 0]]


# --- gather ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_resource", [False, True])
def test_the_gradient_of_a_gather_is_indexed_slices(use_resource: bool) -> None:
    v = tf.Variable(X, use_resource=use_resource)
    grad = tf.gradients(tf.gather(v, [[1, 1], [0, 1]]) * 2.0, v)[0]
    assert isinstance(grad, tf.IndexedSlices)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, indices, shape = session.run([grad.values, grad.indices, grad.dense_shape])
        assert (indices.tolist(), values.tolist(), shape.tolist()) == ([1, 1, 0, 1], [[2] * 3] * 4, [2, 3])
        assert session.run(tf.convert_to_tensor(grad)).tolist() == [[2] * 3, [6] * 3]


def test_the_gradient_of_a_gather_from_an_unknown_shape_works() -> None:
    x, i = any_rank(), any_rank(tf.int32)
    grad = tf.gradients(tf.gather(x, i), x)[0]
    dense = run(tf.convert_to_tensor(grad), {x: X, i: [[0, 0]]})
    assert dense.tolist() == [[2, 2, 2], [0, 0, 0]]


def test_gather_takes_an_axis() -> None:
    x = placeholder(2, 3)
    assert run(tf.gather(x, [2, 0], axis=1), {x: X}).tolist() == [[2, 0], [5, 3]]
    assert run(tf.batch_gather(x, [[2], [0]]), {x: X}).tolist() == [[2], [3]]
    axis = tf.placeholder(tf.int32, [])
    assert run(tf.gather(x, [1], axis=axis), {x: X, axis: 0}).tolist() == [[3, 4, 5]]


def test_gather_nd_and_scatter_nd_undo_each_other() -> None:
    indices = [[0, 2], [1, 0]]
    assert run(tf.gather_nd(X, indices)).tolist() == [2, 3]
    assert run(tf.scatter_nd(indices, [2.0, 3.0], [2, 3])).tolist() == [[0, 0, 2], [3, 0, 0]]


# --- transposes and pads --------------------------------------------------------------------------------


def test_transpose_without_a_permutation_reverses_the_axes() -> None:
    for x in (placeholder(2, 3), any_rank()):
        assert run(tf.transpose(x), {x: X}).tolist() == X.T.tolist()
        assert run(tf.matrix_transpose(x), {x: X}).tolist() == X.T.tolist()
    batch = placeholder(5, 2, None)
    assert tf.matrix_transpose(batch).shape.as_list() == [5, None, 2]
    assert tf.transpose(batch, [1, 2, 0]).shape.as_list() == [2, None, 5]
    with pytest.raises(ValueError, match="rank >= 2"):
        tf.matrix_transpose(placeholder(3))


def test_transpose_conjugates_complex_tensors_when_asked() -> None:
    z = tf.constant([[1 + 2j, 3]], tf.complex64)
    assert run(tf.transpose(z, conjugate=True)).tolist() == [[1 - 2j], [3]]
    assert tf.transpose(placeholder(2, 3), conjugate=True).op.type == "Transpose"


@pytest.mark.parametrize(
    ("mode", "padded"),
    [("CONSTANT", [0, 1, 2, 3, 0]), ("reflect", [2, 1, 2, 3, 2]), ("Symmetric", [1, 1, 2, 3, 3])],
)
def test_pad_knows_three_modes(mode: str, padded: list[int]) -> None:
    assert run(tf.pad([1, 2, 3], [[1, 1]], mode)).tolist() == padded


def test_pad_takes_a_value_and_refuses_other_modes() -> None:
    assert run(tf.pad([1, 2], [[1, 0]], constant_values=7)).tolist() == [7, 1, 2]
    assert tf.pad(placeholder(None, 3), [[1, 1], [2, 0]]).shape.as_list() == [None, 5]
    with pytest.raises(ValueError, match="Unknown padding mode"):
        tf.pad([1], [[1, 1]], "EDGE")


def test_paddings_may_be_fed_and_pass_gradients() -> None:
    x, paddings = placeholder(2, 3), tf.placeholder(tf.int32, [2, 2])
    grad = tf.gradients(tf.pad(x, paddings) * 3.0, x)[0]
    assert run(grad, {x: X, paddings: [[1, 0], [0, 2]]}).tolist() == [[3] * 3] * 2


# --- filling --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3), [2, 3], tf.TensorShape([2, 3]), np.array([2, 3]), [tf.Dimension(2), 3]])
def test_zeros_and_ones_take_shapes_of_every_kind(shape: Any) -> None:
    assert run(tf.zeros(shape)).tolist() == [[0] * 3] * 2
    assert run(tf.ones(shape, tf.int64)).dtype == np.int64
    assert run(tf.zeros(shape, tf.bool)).tolist() == [[False] * 3] * 2
    assert run(tf.zeros(shape, dtype=tf.string, name="empty")).tolist() == [[b""] * 3] * 2


def test_zeros_are_a_constant_when_small_and_filled_when_large(graph: tf.Graph) -> None:
    assert tf.zeros([999]).op.type == "Const"
    assert tf.zeros([1000]).op.type == "Fill"
    assert tf.zeros([1000]).shape.as_list() == [1000]
    assert tf.zeros([]).shape.as_list() == []
    assert tf.zeros(3).shape.as_list() == [3]


def test_zeros_take_a_shape_with_tensors_in_it() -> None:
    x = any_rank()
    z = tf.zeros([tf.shape(x)[0], 4])
    assert z.shape.as_list() == [None, 4]
    assert run(z, {x: X}).shape == (2, 4)
    assert run(tf.ones(tf.shape(x)), {x: X}).tolist() == [[1] * 3] * 2
    assert run(tf.zeros(tf.size(x)), {x: X}).shape == (6,)


def test_zeros_like_and_ones_like_follow_the_value_at_run_time() -> None:
    x = any_rank()
    found = run(
        [tf.zeros_like(x), tf.ones_like(x), tf.zeros_like(x, tf.int32), tf.ones_like(x, dtype=tf.bool)],
        {x: X},
    )
    assert [v.tolist() for v in found] == [[[0] * 3] * 2, [[1] * 3] * 2, [[0] * 3] * 2, [[True] * 3] * 2]
    assert [v.dtype.name for v in found] == ["float32", "float32", "int32", "bool"]


def test_zeros_like_a_known_shape_takes_a_false_dtype_for_none() -> None:
    """As TensorFlow does; of a shape that is not known, it refuses it."""
    zeros = tf.zeros_like(tf.ones([2], tf.int32), False)
    assert (zeros.dtype, zeros.shape.as_list()) == (tf.int32, [2])
    assert tf.zeros_like(tf.ones([2], tf.int32), np.dtype("float32")).dtype == tf.float32
    with pytest.raises(TypeError):
        tf.zeros_like(tf.placeholder(tf.float32, [None]), False)


def test_zeros_like_a_known_shape_is_a_constant_unless_asked_otherwise() -> None:
    x = placeholder(2, 3)
    assert tf.zeros_like(x).op.type == tf.ones_like(x).op.type == "Const"
    assert tf.zeros_like(x, optimize=False).op.type == "ZerosLike"
    assert tf.ones_like(placeholder(None, 3)).shape.as_list() == [None, 3]


def test_eye_takes_columns_a_batch_and_tensors() -> None:
    assert run(tf.eye(2)).tolist() == [[1, 0], [0, 1]]
    assert run(tf.eye(2, 3, dtype=tf.int32)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert tf.eye(2, batch_shape=[4]).shape.as_list() == [4, 2, 2]
    n = tf.placeholder(tf.int32, [])
    assert run(tf.eye(n), {n: 2}).tolist() == [[1, 0], [0, 1]]
    assert run(tf.eye(n, 3), {n: 2}).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert run(tf.eye(2, batch_shape=tf.stack([n])), {n: 3}).shape == (3, 2, 2)


def test_one_hot_has_defaults_by_dtype() -> None:
    assert run(tf.one_hot([1, -1], 2)).tolist() == [[0, 1], [0, 0]]
    assert tf.one_hot([1], 2).dtype == tf.float32
    assert run(tf.one_hot([1], depth=2, on_value=5, off_value=-1, axis=0)).tolist() == [[-1], [5]]
    assert tf.one_hot([1], 2, on_value=2, dtype=tf.int64).dtype == tf.int64
    assert tf.one_hot(placeholder(None, dtype=tf.int32), 7).shape.as_list() == [None, 7]
    with pytest.raises(TypeError, match="differ"):
        tf.one_hot([1], 2, on_value=1, off_value=0.0)


def test_sequence_mask_marks_what_is_before_each_length() -> None:
    assert run(tf.sequence_mask([1, 3], 3)).tolist() == [[True, False, False], [True, True, True]]
    assert run(tf.sequence_mask([1, 2], dtype=tf.float32)).tolist() == [[1, 0], [1, 1]]
    lengths = placeholder(None, dtype=tf.int64)
    assert run(tf.sequence_mask(lengths), {lengths: [0, 1]}).tolist() == [[False], [True]]
    assert tf.sequence_mask([[1], [2]], maxlen=4).shape.as_list() == [2, 1, 4]


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("vectors", [([1, 2],), ([1, 2], [3, 4, 5]), ([1, 2], [3, 4, 5], [6, 7])])
def test_meshgrid_is_numpys(vectors: Any, indexing: str) -> None:
    found = tf.meshgrid(*vectors, indexing=indexing)
    want = np.meshgrid(*vectors, indexing=indexing)
    assert [g.shape.as_list() for g in found] == [list(w.shape) for w in want]
    assert [g.tolist() for g in run(found)] == [w.tolist() for w in want]


def test_broadcast_shapes_statically_and_at_run_time() -> None:
    assert tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])).as_list() == [2, 3]
    assert run(tf.broadcast_dynamic_shape([2, 1], [3])).tolist() == [2, 3]


# --- the rest -------------------------------------------------------------------------------------------


def test_where_of_version_2_broadcasts() -> None:
    condition, x = np.array([[True], [False]]), np.array([1.0, 2.0, 3.0], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        chosen = tf.where_v2(condition, x, 0.0)
        assert (chosen.op.type, chosen.shape.as_list()) == ("SelectV2", [2, 3])
        np.testing.assert_array_equal(session.run(chosen), np.where(condition, x, np.float32(0)))
        assert session.run(tf.where_v2([False, True])).tolist() == [[1]]
        with pytest.raises(ValueError, match="both be non-None"):
            tf.where_v2(condition, x)


def test_where_gives_indices_or_chooses() -> None:
    condition = tf.constant([True, False])
    assert run(tf.where(condition)).tolist() == [[0]]
    x = tf.constant(X)
    assert run(tf.where(condition, x, -x)).tolist() == [[0, 1, 2], [-3, -4, -5]]
    assert run(tf.where(x > 2, x, tf.zeros_like(x))).tolist() == [[0, 0, 0], [3, 4, 5]]
    with pytest.raises(ValueError, match="both be non-None"):
        tf.where(condition, x)


def test_partition_and_stitch_undo_each_other_and_pass_gradients() -> None:
    x, which = placeholder(4), tf.constant([1, 0, 1, 0])
    parts = tf.dynamic_partition(x, which, 2)
    places = tf.dynamic_partition(tf.range(4), which, 2)
    whole = tf.dynamic_stitch(places, [parts[0] * 2.0, parts[1] * 3.0])
    value = np.array([1, 2, 3, 4], np.float32)
    assert run(whole, {x: value}).tolist() == [3, 4, 9, 8]
    assert run(tf.gradients(whole, x)[0], {x: value}).tolist() == [3, 2, 3, 2]


def test_top_k_names_its_results() -> None:
    x = placeholder(None, 3)
    found = top_k(x, k=2)
    assert found.values.shape.as_list() == [None, 2] and found.indices.dtype == tf.int32
    assert [v.tolist() for v in run(list(found), {x: [[1, 3, 3]]})] == [[[3, 3]], [[1, 2]]]
    k = tf.placeholder(tf.int32, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"at least 4 columns\. Had 3"):
        run(top_k(x, k), {x: X, k: 4})


def test_unique_and_setdiff_name_their_results() -> None:
    y, idx, count = tf.unique_with_counts([5, 2, 5])
    assert [v.tolist() for v in run([y, idx, count])] == [[5, 2], [0, 1, 0], [2, 1]]
    assert tf.unique(["a"], tf.int64).idx.dtype == tf.int64
    assert run(tf.setdiff1d([1, 2, 3], [2]).out).tolist() == [1, 3]


def test_check_numerics_names_the_tensor_and_its_gradient_checks_too() -> None:
    x = placeholder(2)
    y = tf.verify_tensor_all_finite(x, "x is bad")
    assert run(y, {x: [1, 2]}).tolist() == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="x is bad : Tensor had Inf values"):
        run(y, {x: [1, np.inf]})
    grad = tf.gradients(tf.check_numerics(x, "here"), x, grad_ys=x * np.nan)[0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"detected in gradient\. here : Tensor had NaN"):
        run(grad, {x: [1, 2]})


def test_add_check_numerics_ops_finds_the_first_bad_tensor() -> None:
    x = placeholder(2)
    y = x / x
    _ = y + 1.0
    check = tf.add_check_numerics_ops()
    run(check, {x: [1, 2]})
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{y.name} : Tensor had NaN"):
        run(check, {x: [0, 1]})


def test_ensure_shape_is_known_afterwards_and_checked() -> None:
    x = any_rank()
    y = tf.ensure_shape(x, [None, 3])
    assert y.shape.as_list() == [None, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible with expected shape"):
        run(y, {x: X.T})


def test_gradients_stop_and_are_prevented() -> None:
    x = placeholder(2)
    assert tf.gradients(tf.stop_gradient(x), x) == [None]
    from penstock.ops.passing import PREVENT_GRADIENT

    with pytest.raises(LookupError, match=r"explicitly disabled\. Reason: not yet"):
        tf.gradients(PREVENT_GRADIENT(x, message="not yet"), x)


def test_reverse_sequence_takes_both_spellings() -> None:
    new = tf.reverse_sequence(X, [1, 3], seq_axis=1, batch_axis=0)
    old = tf.reverse_sequence(X, [1, 3], seq_dim=1)
    assert run(new).tolist() == run(old).tolist() == [[0, 1, 2], [5, 4, 3]]


def test_space_to_batch_pads_to_whole_blocks() -> None:
    paddings, crops = tf.required_space_to_batch_paddings([5, 6], [2, 4], [[1, 0], [0, 1]])
    assert [v.tolist() for v in run([paddings, crops])] == [[[1, 0], [0, 2]], [[0, 0], [0, 1]]]
    size = placeholder(2, dtype=tf.int32)
    fed = tf.required_space_to_batch_paddings(size, [2, 4], [[1, 0], [0, 1]])
    assert [v.tolist() for v in run(list(fed), {size: [5, 6]})] == [[[1, 0], [0, 2]], [[0, 0], [0, 1]]]
    x = placeholder(1, 3, 3, 1)
    batched = tf.space_to_batch(x, [[0, 1], [0, 1]], block_size=2)
    assert batched.shape.as_list() == [4, 2, 2, 1]
    back = tf.batch_to_space(batched, [[0, 1], [0, 1]], block_size=2)
    value = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    assert run(back, {x: value}).tolist() == value.tolist()


DEQUANTIZED = {  # TensorFlow's values of 0, 2, 4, 100 between -1 and 7
    ("quint8", "MIN_COMBINED"): [-1, -0.9372549, -0.8745098, 2.137255],
    ("quint8", "SCALED"): [0, 0.05490196, 0.10980392, 2.745098],
    ("qint8", "MIN_COMBINED"): [3.0156865, 3.0784316, 3.1411767, 6.152942],
    ("qint8", "MIN_FIRST"): [3.011765, 3.07451, 3.1372552, 6.14902],
    ("quint16", "MIN_COMBINED"): [-1, -0.99975586, -0.9995117, -0.9877928],
    ("qint16", "SCALED"): [0, 0.00042725913, 0.00085451827, 0.021362957],
    ("qint32", "MIN_FIRST"): [3, 3, 3, 3],
}


@pytest.mark.parametrize(("name", "mode"), DEQUANTIZED)
def test_constants_of_quantised_types_are_made_of_whole_numbers(name: str, mode: str) -> None:
    dtype, values = getattr(tf, name), [0, 2, 4, 100]
    for given in (values, np.array(values), np.array(values, dtype.as_numpy_dtype[0])):
        constant = tf.constant(given, dtype)
        assert constant.dtype == dtype
        found = run(tf.dequantize(constant, -1.0, 7.0, mode=mode))
        np.testing.assert_allclose(found, DEQUANTIZED[name, mode], rtol=1e-6)
    assert run(tf.dequantize(tf.constant([2**40], dtype), -1.0, 7.0, mode=mode)) == found[0]  # it wraps around to 0
    with pytest.raises(TypeError, match=f"Expected {name}"):
        tf.constant([1.5], dtype)


def test_a_slice_that_does_not_fit_is_an_error_only_where_it_is_taken() -> None:
    x, taken = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.bool, [])
    y = tf.cond(taken, lambda: tf.slice(x, [0, 1], [2, 3]), lambda: x)
    assert y.shape == (2, 3)
    with tf.Session() as session:
        values = np.ones((2, 3), np.float32)
        for _ in range(4):  # until it is compiled
            assert session.run(tf.reduce_sum(y * 2.0), {x: values, taken: False}) == 12
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not fit"):
            session.run(y, {x: values, taken: True})
