"""The public functions of sparse tensors, sets, edit distances and CTC."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops.edit_distance import levenshtein
from penstock.ops.sparse_maps import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)
from penstock.ops.sparse_serialize import deserialize_sparse
from penstock.session.gradient_checker import compute_gradient_error

# [[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, -4]]
INDICES = np.array([[0, 1], [0, 3], [2, 0], [2, 3]])
VALUES = np.array([1, 2, 3, -4], np.float32)
DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, -4]], np.float32)
OTHER = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
BAD = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def sparse(values: Any = VALUES, order: Any = slice(None)) -> Any:
    return tf.SparseTensor(INDICES[order], values if not isinstance(values, np.ndarray) else values[order], [3, 4])


def matrix(rows: list[list[Any]], dtype: Any = np.int64, width: int | None = None) -> Any:
    indices = np.array([(i, j) for i, row in enumerate(rows) for j in range(len(row))], np.int64).reshape(-1, 2)
    values = np.array([value for row in rows for value in row], dtype)
    return tf.SparseTensor(indices, values, [len(rows), width or max(map(len, rows))])


def dense(sp: Any, feeds: Any = None) -> list[Any]:
    found: list[Any] = run(tf.sparse_tensor_to_dense(sp, validate_indices=False), feeds).tolist()
    return found


# --- the tensor itself ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fed", [tf.SparseTensorValue([(0, 1)], [2.0], [2, 4]), ([(0, 1)], [2.0], [2, 4])])
def test_a_sparse_placeholder_is_fed_three_arrays(fed: Any) -> None:
    x = tf.sparse_placeholder(tf.float32, shape=[None, 4], name="x")
    assert (x.indices.name, x.values.name, x.dense_shape.name) == ("x/indices:0", "x/values:0", "x/shape:0")
    assert x.shape.as_list() == [None, 4]
    assert dense(x, {x: fed}) == [[0, 2, 0, 0], [0, 0, 0, 0]]


def test_what_is_made_of_the_parts_of_a_sparse_placeholder_has_its_known_shape() -> None:
    given = tf.sparse_placeholder(tf.int64, [2, 3], name="given")
    made = tf.SparseTensor(given.indices, given.values + 1, given.dense_shape)
    assert (given.dense_shape.op.name, given.dense_shape.op.type) == ("given/shape", "Const")
    assert made.get_shape().as_list() == tf.sparse_tensor_to_dense(made).shape.as_list() == [2, 3]


def test_a_sparse_placeholder_of_known_shape_may_be_fed_without_it() -> None:
    x = tf.sparse.placeholder(tf.float32, [2, 2])
    assert dense(x, {x.indices: [(1, 1)], x.values: [5.0]}) == [[0, 0], [0, 5]]
    anything = tf.sparse_placeholder(tf.int32)
    assert anything.shape.ndims is None
    assert dense(anything, {anything: ([(1,)], [7], [3])}) == [0, 7, 0]


def test_a_sparse_tensor_is_fetched_as_three_arrays() -> None:
    found = run(sparse())
    assert isinstance(found, tf.SparseTensorValue)
    assert found.indices.tolist() == INDICES.tolist()
    assert found.dense_shape.tolist() == [3, 4]


def test_operators_work_on_the_elements_that_are_there() -> None:
    assert dense(sparse() * OTHER) == (DENSE * OTHER).tolist()
    assert dense(tf.constant(OTHER) * sparse()) == (DENSE * OTHER).tolist()
    assert dense(OTHER * sparse()) == (DENSE * OTHER).tolist()
    assert dense(sparse() / 2.0) == (DENSE / 2).tolist()
    assert run(sparse() + OTHER).tolist() == (DENSE + OTHER).tolist()
    assert dense(sparse() + sparse()) == (2 * DENSE).tolist()
    halves = sparse(np.array([1, 2, 3, -4], np.int32)) / 2
    assert halves.dtype == tf.float64
    assert run(halves.values).tolist() == [0.5, 1, 1.5, -2]


# --- conversions and arithmetic -------------------------------------------------------------------------


def test_sparse_to_dense_takes_lists_and_a_scalar_for_all() -> None:
    labels = tf.stack([tf.range(2), tf.constant([2, 0])], axis=1)
    found = tf.sparse_to_dense(labels, tf.stack([2, 3]), 1.0, 0.0)
    assert found.op.name == "SparseToDense"
    assert run(found).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_the_default_of_a_dense_tensor_is_zero_or_the_empty_string() -> None:
    assert run(tf.sparse_tensor_to_dense(sparse())).tolist() == DENSE.tolist()
    assert run(tf.sparse_tensor_to_dense(sparse(), default_value=-1))[1].tolist() == [-1, -1, -1, -1]
    assert run(tf.sparse_tensor_to_dense(tf.SparseTensor([[1]], ["a"], [2]))).tolist() == [b"", b"a"]


def test_unsorted_indices_are_refused_until_they_are_reordered() -> None:
    mixed = sparse(order=[2, 0, 3, 1])
    with pytest.raises(BAD, match="out of order"):
        run(tf.sparse_tensor_to_dense(mixed))
    ordered = tf.sparse_reorder(mixed)
    assert ordered.shape.as_list() == [3, 4]
    assert run(ordered.indices).tolist() == INDICES.tolist()


def test_ids_become_an_indicator() -> None:
    ids = matrix([[3, 1], [], [4]], np.int32)
    assert run(tf.sparse_to_indicator(ids, 5)).astype(int).tolist() == [[0, 1, 0, 1, 0], [0] * 5, [0, 0, 0, 0, 1]]


def test_from_dense_keeps_what_is_not_zero() -> None:
    found = run(tf.sparse.from_dense(DENSE))
    assert found.indices.tolist() == INDICES.tolist()
    assert found.values.tolist() == VALUES.tolist()


def test_sparse_add_takes_either_kind_but_not_two_dense_tensors() -> None:
    assert run(tf.sparse_add(OTHER, sparse())).tolist() == (DENSE + OTHER).tolist()
    small = tf.sparse_add(sparse(), sparse(-VALUES + np.float32(0.25)), thresh=0.5)
    assert small.shape.as_list() == [3, 4]
    assert run(small.values).size == 0
    with pytest.raises(TypeError, match="At least one"):
        tf.sparse_add(OTHER, OTHER)


def test_absent_elements_count_as_zero_in_maximum_and_minimum() -> None:
    other = matrix([[5.0, -6.0, 0.0, 0.0], [], []], np.float32)
    assert dense(tf.sparse_maximum(sparse(), other)) == [[5, 1, 0, 2], [0] * 4, [3, 0, 0, 0]]
    assert dense(tf.sparse_minimum(sparse(), other)) == [[0, -6, 0, 0], [0] * 4, [0, 0, 0, -4]]


def test_dense_matrices_are_multiplied_by_sparse_ones_from_either_side() -> None:
    assert run(tf.sparse_tensor_dense_matmul(sparse(), OTHER, adjoint_a=True)).tolist() == (DENSE.T @ OTHER).tolist()
    assert run(tf.sparse.matmul(tf.constant(OTHER.T), sparse())).tolist() == (OTHER.T @ DENSE).tolist()
    assert (
        run(tf.sparse_matmul(OTHER, DENSE, transpose_b=True, b_is_sparse=True)).tolist() == (OTHER @ DENSE.T).tolist()
    )


# --- layout ---------------------------------------------------------------------------------------------


def test_concat_may_fill_up_the_other_dimensions() -> None:
    wide = tf.SparseTensor([[1, 5]], [9.0], [2, 6])
    joined = tf.sparse_concat(0, [sparse(), wide], expand_nonconcat_dims=True)
    assert joined.shape.as_list() == [5, 6]
    assert dense(joined)[4] == [0, 0, 0, 0, 0, 9]
    assert tf.sparse_concat(0, [wide]) is wide
    with pytest.raises(BAD, match="must match"):
        run(tf.sparse_concat(0, [sparse(), wide]))


def test_what_is_split_is_joined_again() -> None:
    parts = tf.sparse_split(sp_input=sparse(), num_split=3, axis=1)
    assert [dense(part) for part in parts] == [DENSE[:, :2].tolist(), DENSE[:, 2:3].tolist(), DENSE[:, 3:].tolist()]
    assert dense(tf.sparse_concat(axis=1, sp_inputs=parts)) == DENSE.tolist()
    with pytest.raises(ValueError, match="Keyword"):
        tf.sparse_split(sparse(), 2, 0)


def test_slices_end_where_the_tensor_does() -> None:
    assert dense(tf.sparse_slice(sparse(), [0, 1], [2, 9])) == DENSE[:2, 1:].tolist()


def test_reshape_knows_its_shape_and_refuses_another_size() -> None:
    turned = tf.sparse_reshape(sparse(), [2, -1])
    assert turned.shape.as_list() == [2, 6]
    assert dense(turned) == DENSE.reshape(2, 6).tolist()
    with pytest.raises(ValueError, match="Cannot reshape"):
        tf.sparse_reshape(sparse(), [5, 5])


def test_transpose_reverses_or_permutes() -> None:
    assert dense(tf.sparse_transpose(sparse())) == DENSE.T.tolist()
    assert dense(tf.sparse.transpose(sparse(), perm=[1, 0])) == DENSE.T.tolist()


def test_reset_shape_finds_the_smallest_or_takes_a_larger_one() -> None:
    small = tf.SparseTensor([[0, 1]], [7.0], [9, 9])
    assert dense(tf.sparse_reset_shape(small)) == [[0, 7]]
    assert run(tf.sparse_reset_shape(small, [10, 9]).dense_shape).tolist() == [10, 9]
    with pytest.raises(ValueError, match="new_shape"):
        tf.sparse_reset_shape(small, [3, 10])
    fed = tf.placeholder(tf.int64, [2])
    with pytest.raises(BAD):
        run(tf.sparse_reset_shape(small, fed), {fed: [3, 10]})


def test_expand_dims_adds_a_dimension_anywhere() -> None:
    for axis in (None, 0, -2, 2):
        expected = np.expand_dims(DENSE, -1 if axis is None else axis)
        assert dense(tf.sparse.expand_dims(sparse(), axis)) == expected.tolist()
    with pytest.raises(ValueError, match="out of range"):
        tf.sparse.expand_dims(sparse(), 4)


def test_eye_has_ones_on_the_diagonal() -> None:
    assert dense(tf.sparse.eye(2, 3, tf.int32)) == [[1, 0, 0], [0, 1, 0]]


def test_retain_keeps_what_is_true_and_mask_what_is_not_named() -> None:
    kept = tf.sparse_retain(sparse(), VALUES > 1)
    assert run(kept.values).tolist() == [2, 3]
    with pytest.raises(ValueError):
        tf.sparse_retain(sparse(), [True])
    slices = tf.IndexedSlices(tf.constant(OTHER), tf.constant([4, 7, 9]), tf.constant([10, 4]))
    masked = run(tf.sparse_mask(slices, [7, 1]))
    assert masked.indices.tolist() == [4, 9]
    assert masked.values.tolist() == OTHER[[0, 2]].tolist()


def test_merge_puts_values_under_their_ids() -> None:
    ids, values = matrix([[2, 0], [1]], np.int32), matrix([[1.0, 2.0], [3.0]], np.float32)
    assert dense(tf.sparse_merge(ids, values, vocab_size=3)) == [[2, 0, 1], [0, 3, 0]]
    twice = tf.sparse_merge([ids, ids], values, [3, 4])
    assert run(twice.indices).tolist() == [[0, 0, 0], [0, 2, 2], [1, 1, 1]]
    assert twice.shape.as_list() == [2, 3, 4]


def test_empty_rows_are_filled_and_named() -> None:
    filled, empty = tf.sparse_fill_empty_rows(sparse(), 9)
    assert dense(filled)[1] == [9, 0, 0, 0]
    assert run(empty).tolist() == [False, True, False]


@pytest.mark.parametrize("keys", [("axis", "keepdims"), ("reduction_axes", "keep_dims")])
def test_reductions_take_the_old_names_too(keys: tuple[str, str]) -> None:
    axis, keep = keys
    for axes in (0, [1], [0, -1]):
        options = {axis: axes, keep: True}
        expected = DENSE.sum(tuple(np.atleast_1d(axes)), keepdims=True)
        assert run(tf.sparse_reduce_sum(sparse(), **options)).tolist() == expected.tolist()
        assert dense(tf.sparse_reduce_sum_sparse(sparse(), **options)) == expected.tolist()
    assert run(tf.sparse_reduce_max(sparse())) == 3
    assert run(tf.sparse_reduce_max_sparse(sparse(), 1).values).tolist() == [2, 3]
    with pytest.raises(ValueError, match="both"):
        tf.sparse_reduce_sum(sparse(), axis=0, reduction_axes=0)


def test_serialized_tensors_come_back() -> None:
    words = tf.SparseTensor(INDICES, ["a", "", "x" * 300, "d"], [3, 4])
    for sp in (sparse(), words):
        rows = tf.deserialize_many_sparse(tf.serialize_many_sparse(sp), sp.dtype, rank=2)
        again, given = run(rows), run(sp)
        assert again.indices.tolist() == given.indices.tolist()
        assert again.values.tolist() == given.values.tolist()
        assert run(deserialize_sparse(tf.serialize_sparse(sp), sp.dtype)).values.tolist() == given.values.tolist()


def test_sparse_tensors_wait_in_a_map_until_they_are_taken() -> None:
    handles = add_many_sparse_to_tensors_map(sparse())
    fed = tf.placeholder(tf.int64, [None])
    taken = take_many_sparse_from_tensors_map(handles.op, fed, rank=2)
    one = add_sparse_to_tensors_map(matrix([[5.0]], np.float32), shared_name="shared")
    other = take_many_sparse_from_tensors_map(one, tf.expand_dims(one, 0), rank=3)
    with tf.Session() as session:
        first = session.run(handles)
        assert len(set(first.tolist())) == 3
        found = session.run(taken, {fed: first[[2, 0]]})
        assert found.indices.tolist() == [[0, 0], [0, 3], [1, 1], [1, 3]]
        assert found.values.tolist() == [3, -4, 1, 2]
        with pytest.raises(BAD, match="Unable to find"):
            session.run(taken, {fed: first[:1]})
        assert session.run(other).indices.tolist() == [[0, 0, 0]]


def test_the_names_are_tensorflows() -> None:
    for name in ("add", "concat", "to_dense", "reduce_sum", "segment_mean", "placeholder", "softmax", "retain"):
        assert callable(getattr(tf.sparse, name))
    assert tf.sparse_softmax(sparse()).values.op.name == "SparseSoftmax/SparseSoftmax"
    assert tf.sparse_segment_sum(OTHER, [0, 2], [0, 0], num_segments=3).op.type == "SparseSegmentSumWithNumSegments"


# --- gradients ------------------------------------------------------------------------------------------


def _slope(build: Callable[[Any], Any], value: np.ndarray) -> float:
    """By how much the gradient of `build` is off that of finite differences."""
    x = tf.placeholder(tf.as_dtype(value.dtype), value.shape)
    y = build(x)
    with tf.Session():
        return compute_gradient_error(x, value.shape, y, y.shape.as_list(), x_init_value=value)


def test_gradients_flow_through_the_values() -> None:
    values, other = VALUES.astype(np.float64), tf.constant(OTHER.astype(np.float64))

    def everything(v: Any) -> Any:
        sp = sparse(v)
        parts = [
            tf.sparse_tensor_to_dense(sp) ** 2,
            tf.sparse_tensor_dense_matmul(sp, tf.transpose(other)),
            tf.sparse_tensor_to_dense(tf.sparse_transpose(sp) * tf.transpose(other)) ** 2,
            tf.sparse_reduce_sum(tf.sparse_softmax(sp) / other, 1) ** 2,
            tf.sparse_tensor_to_dense(tf.sparse_add(sp, tf.sparse_reorder(sp))),
            tf.sparse_add(sp, other) ** 2,
        ]
        return tf.expand_dims(tf.add_n([tf.reduce_sum(part) for part in parts]), 0)

    assert _slope(everything, values) < 1e-4


@pytest.mark.parametrize("turns", list(itertools.product([False, True], repeat=2)))
def test_sparse_matmul_has_the_gradient_of_a_product(turns: tuple[bool, bool]) -> None:
    """SparseMatMul takes float32 alone."""
    random = np.random.RandomState(1)
    a, b = (random.uniform(-1, 1, shape).astype(np.float32) for shape in ((2, 3), (3, 2)))
    options: Any = {"transpose_a": turns[0], "transpose_b": turns[1]}
    a, b = (a.T if turns[0] else a), (b.T if turns[1] else b)
    assert _slope(lambda x: tf.sparse_matmul(x, b, **options), a) < 1e-2
    assert _slope(lambda x: tf.sparse_matmul(a, x, **options), b) < 1e-2


@pytest.mark.parametrize("fn", [tf.sparse_segment_sum, tf.sparse_segment_mean, tf.sparse_segment_sqrt_n])
def test_the_gradient_of_chosen_rows_may_be_sparse(fn: Any) -> None:
    data = tf.constant(OTHER)
    indices, ids = [2, 0, 2, 1], [0, 0, 0, 1]
    slopes = [
        tf.gradients(fn(data, indices, ids, sparse_gradient=sparse_gradient) ** 2, data)[0]
        for sparse_gradient in (False, True)
    ]
    assert isinstance(slopes[1], tf.IndexedSlices)
    whole, slices = run([slopes[0], tf.convert_to_tensor(slopes[1])])
    np.testing.assert_allclose(whole, slices, rtol=1e-5)


@pytest.mark.parametrize("fn", [tf.sparse_maximum, tf.sparse_minimum])
def test_the_chosen_element_has_the_gradient_and_equal_ones_share_it(fn: Any) -> None:
    a, b = tf.constant([1.0, 5.0, 3.0]), tf.constant([2.0, 5.0])
    found = fn(tf.SparseTensor([[0], [1], [2]], a, [4]), tf.SparseTensor([[0], [1]], b, [4]))
    to_a, to_b = run(tf.gradients(found.values, [a, b]))
    greater = fn is tf.sparse_maximum
    assert to_a.tolist() == ([0, 0.5, 1] if greater else [1, 0.5, 0])
    assert to_b.tolist() == ([1, 0.5] if greater else [0, 0.5])


# --- embeddings -----------------------------------------------------------------------------------------

TABLE = np.arange(20, dtype=np.float32).reshape(10, 2)
IDS = [[1, 3], [0], [9]]
WEIGHTS = [[1.0, 2.0], [0.5], [3.0]]


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_embeddings_are_combined_row_by_row(combiner: str, weighted: bool) -> None:
    weights = WEIGHTS if weighted else [[1.0] * len(row) for row in IDS]
    expected = []
    for ids, row in zip(IDS, weights, strict=True):
        total = (TABLE[ids] * np.array(row)[:, None]).sum(0)
        scale = {"sum": 1, "mean": np.sum(row), "sqrtn": np.sqrt(np.sum(np.square(row)))}[combiner]
        expected.append(total / scale)
    sp_weights = matrix(WEIGHTS, np.float32) if weighted else None
    for params, strategy in ((TABLE, "mod"), ([TABLE[::2], TABLE[1::2]], "mod"), ([TABLE[:5], TABLE[5:]], "div")):
        found = tf.nn.embedding_lookup_sparse(
            params, matrix(IDS), sp_weights, partition_strategy=strategy, combiner=combiner
        )
        np.testing.assert_allclose(run(found), expected, rtol=1e-5)


def test_a_row_without_ids_gives_zeros() -> None:
    found = tf.nn.embedding_lookup_sparse(TABLE, matrix([[1, 3], [], [9]]), None, combiner="mean")
    assert run(found).tolist() == [[4, 5], [0, 0], [18, 19]]


def test_a_safe_lookup_leaves_out_bad_ids_and_weights() -> None:
    ids, weights = matrix([[1, -3], [0], [], [9]]), matrix([[1.0, 2.0], [-1.0], [], [3.0]], np.float32)
    lookup = tf.nn.safe_embedding_lookup_sparse
    assert run(lookup(TABLE, ids)).tolist() == [[2, 3], [0, 1], [0, 0], [18, 19]]
    assert run(lookup([TABLE[:5], TABLE[5:]], ids, weights)).tolist() == [[2, 3], [0, 0], [0, 0], [18, 19]]
    assert run(lookup(TABLE, ids, combiner="sum", default_id=4)).tolist() == [[2, 3], [0, 1], [8, 9], [18, 19]]
    cube = tf.SparseTensor([[0, 0, 0], [0, 1, 1], [1, 0, 0]], np.array([1, 3, 2]), [2, 2, 2])
    found = lookup(TABLE, cube)
    assert found.shape.as_list() == [2, 2, 2]
    assert run(found).tolist() == [[[2, 3], [6, 7]], [[4, 5], [0, 0]]]
    with pytest.raises(ValueError, match="Missing"):
        lookup([], ids)


# --- sets and edit distances ----------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", list(itertools.product(["dense", "sparse"], repeat=2)))
def test_sets_are_compared_row_by_row(kinds: tuple[str, str]) -> None:
    rows = ([[1, 2, 2], [3, 4, 5]], [[2, 9, 9], [5, 6, 3]])
    a, b = (matrix(r) if kind == "sparse" else np.array(r) for r, kind in zip(rows, kinds, strict=True))
    assert dense(tf.sets.set_intersection(a, b)) == [[2, 0], [3, 5]]
    assert dense(tf.sets.set_union(a, b)) == [[1, 2, 9, 0], [3, 4, 5, 6]]
    assert dense(tf.sets.set_difference(a, b)) == [[1], [4]]
    assert dense(tf.sets.difference(a, b, aminusb=False)) == [[9], [6]]


def test_the_size_of_a_set_leaves_out_repeats() -> None:
    assert run(tf.sets.set_size(matrix([[1, 2, 2], [], [7]]))).tolist() == [2, 0, 1]
    with pytest.raises(TypeError, match="SparseTensor"):
        tf.sets.set_size([[1, 2]])


def test_edit_distances_are_those_of_the_plain_table() -> None:
    random = np.random.RandomState(2)

    def table(a: list[int], b: list[int]) -> int:
        row = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            before, row[0] = row[0], i
            for j, y in enumerate(b, 1):
                before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
        return row[-1]

    for _ in range(60):
        a, b = (random.randint(4, size=random.randint(90)).tolist() for _ in range(2))
        assert levenshtein(a, b) == table(a, b)


def test_edit_distance_takes_fed_sequences() -> None:
    truth = tf.sparse_placeholder(tf.int32)
    found = tf.edit_distance(matrix([[1, 2], [3, 0]], np.int32), truth, normalize=False)
    assert found.op.name == "edit_distance"
    assert run(found, {truth: ([(0, 0), (1, 0), (1, 1)], [1, 1, 2], [2, 2])}).tolist() == [1, 2]


# --- CTC ------------------------------------------------------------------------------------------------

LOGITS = np.random.RandomState(0).randn(5, 2, 4)
LABELS = [[0, 1], [2]]


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("merge", [True, False])
def test_ctc_loss_has_its_gradient_in_both_layouts(time_major: bool, merge: bool) -> None:
    """CTCLoss computes its gradient as a second output."""
    labels, scale = matrix(LABELS, np.int32), tf.constant([2, 3], tf.float64)

    def loss(x: Any) -> Any:
        return tf.nn.ctc_loss(labels, x, [5, 4], ctc_merge_repeated=merge, time_major=time_major) * scale

    assert _slope(loss, LOGITS if time_major else LOGITS.transpose(1, 0, 2)) < 1e-4


def test_ctc_loss_of_blanks_alone_is_that_of_their_path() -> None:
    scores = LOGITS - np.log(np.exp(LOGITS).sum(2, keepdims=True))
    found = tf.nn.ctc_loss(labels=matrix([[3], [3, 3]], np.int32), inputs=LOGITS, sequence_length=[5, 2])
    np.testing.assert_allclose(run(found), [-scores[:, 0, 3].sum(), -scores[:2, 1, 3].sum()])


def test_ctc_loss_without_a_path_is_infinite() -> None:
    x = tf.constant(LOGITS)
    loss = tf.nn.ctc_loss(matrix([[0, 0, 0], [1]], np.int32), x, [3, 5])
    assert np.isinf(run(loss)).tolist() == [True, False]
    (slope,) = tf.gradients(loss, x)
    assert np.isfinite(run(slope)).all()


def test_ctc_labels_that_do_not_fit_are_refused_or_left_out() -> None:
    labels, short = matrix([[0, 1, 0], [1]], np.int32), tf.constant([2, 4])
    with pytest.raises(BAD, match="Not enough time"):
        run(tf.nn.ctc_loss(labels, LOGITS, short))
    found = run(tf.nn.ctc_loss(labels, LOGITS, short, ignore_longer_outputs_than_inputs=True))
    assert found[0] == 0
    assert found[1] > 0


def test_ctc_decoders_give_sparse_sequences() -> None:
    frames = np.eye(3, dtype=np.float32)[[[0], [0], [2], [0], [1]]] * 9
    (greedy,), score = tf.nn.ctc_greedy_decoder(frames, [5])
    assert dense(greedy) == [[0, 0, 1]]
    assert run(score).tolist() == [[-45]]
    assert dense(tf.nn.ctc_greedy_decoder(frames, [5], merge_repeated=False)[0][0]) == [[0, 0, 0, 1]]
    paths, scores = tf.nn.ctc_beam_search_decoder(frames, [5], beam_width=10, top_paths=2, merge_repeated=False)
    assert len(paths) == 2
    assert scores.shape.as_list() == [1, 2]
    assert dense(paths[0]) == [[0, 0, 1]]
    merged, _ = tf.nn.ctc_beam_search_decoder(frames, [5], beam_width=10)
    assert dense(merged[0]) == [[0, 1]]


def test_functions_that_keep_zeros_take_sparse_tensors() -> None:
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [-4.0, 9.0], [2, 2])
    halved = tf.divide(sparse, tf.fill([2, 2], 2.0))
    with tf.Session() as session:
        found = session.run([tf.abs(sparse), tf.negative(sparse), tf.square(sparse), tf.sign(sparse), halved])
    values = [f.values.tolist() for f in found]
    assert values == [[4.0, 9.0], [4.0, -9.0], [16.0, 81.0], [-1.0, 1.0], [-2.0, 4.5]]
    assert all(f.dense_shape.tolist() == [2, 2] for f in found)


# --- functions that keep zeros --------------------------------------------------------------------------

KEEP_ZERO = (
    "abs negative square sqrt sign tanh sin tan asin atan sinh asinh atanh expm1 log1p erf erfinv bessel_i1 bessel_i1e "
    "ceil floor rint round conj identity stop_gradient"
)


@pytest.mark.parametrize("name", KEEP_ZERO.split())
def test_what_keeps_zeros_takes_sparse_tensors(name: str) -> None:
    function = getattr(tf, name, None) or getattr(tf.math, name)
    values = np.array([0.25, 0.5, 0.75, 0.125], np.float32)
    sparse = tf.SparseTensor(INDICES, tf.constant(values), DENSE.shape)
    found, dense = run([function(sparse), function(tf.constant(values))])
    assert isinstance(found, tf.SparseTensorValue)
    np.testing.assert_array_equal(found.indices, INDICES)
    np.testing.assert_array_equal(found.values, dense)
    assert run(function(tf.constant(0.0))) == 0


# --- embeddings -----------------------------------------------------------------------------------------

EMBEDDED = {  # TensorFlow's values, and its gradients of the sum of their squares by rows 1 and 3
    ("sum", False): ([[6, 8], [10, 12], [7, 8]], [[44, 56], [34, 40]]),
    ("sum", True): ([[9, 12], [33, 40], [35, 40]], [[318, 392], [548, 640]]),
    ("mean", False): ([[3, 4], [5, 6], [7, 8]], [[11, 14], [19, 22]]),
    ("mean", True): ([[3, 4], [4.7142859, 5.7142859], [7, 8]], [[11.3878002, 14.5305996], [18.0408001, 20.8980007]]),
    ("sqrtn", False): ([[4.2426405, 5.6568542], [7.0710678, 8.485281], [7, 8]], [[22, 28], [24, 28]]),
    ("sqrtn", True): (
        [[4.0249224, 5.3665628], [6.6, 8], [7, 8]],
        [[21.3600006, 27.2000008], [21.9200001, 25.6000004]],
    ),
}


@pytest.mark.parametrize(("combiner", "weighted"), EMBEDDED)
def test_the_gradient_of_an_embedding_has_one_row_for_each_id(combiner: str, weighted: bool) -> None:
    table = tf.Variable(np.arange(10, dtype=np.float32).reshape(5, 2) + 1)
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]], tf.constant([1, 1, 3, 1, 3], tf.int64), [3, 2])
    weights = tf.SparseTensor(ids.indices, tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]), ids.dense_shape)
    found = tf.nn.embedding_lookup_sparse(table, ids, weights if weighted else None, combiner=combiner)
    (slope,) = tf.gradients(tf.reduce_sum(found * found), table)
    values, rows = EMBEDDED[combiner, weighted]
    with tf.Session() as session:
        session.run(table.initializer)
        got, indices, gradient, norm = session.run([found, slope.indices, slope.values, tf.global_norm([slope])])
    np.testing.assert_allclose(got, values, rtol=1e-6)
    assert indices.tolist() == [1, 3]
    np.testing.assert_allclose(gradient, rows, rtol=2e-5)
    np.testing.assert_allclose(norm, np.linalg.norm(rows), rtol=1e-5)


# --- what is out of the dense shape ----------------------------------------------------------------------


def test_a_hypothesis_may_be_longer_than_its_dense_shape_says() -> None:
    hypothesis = tf.SparseTensor([[0, 0], [0, 1], [0, 2]], tf.constant([0, 1, 2]), [1, 1])
    truth = tf.SparseTensor([[0, 0]], tf.constant([0]), [1, 1])
    assert run(tf.edit_distance(hypothesis, truth, normalize=False)).tolist() == [2]
    outside = tf.SparseTensor([[3, 0]], tf.constant([0]), [2, 1])
    with pytest.raises(BAD, match="out of bounds"):
        run(tf.edit_distance(outside, truth))


def test_what_comes_after_the_end_of_a_sequence_counts_for_no_ctc_loss() -> None:
    inside = np.random.RandomState(0).randn(3, 2, 4).astype(np.float32)
    labels = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], tf.constant([1, 0, 2]), [2, 2])
    losses = []
    for rest in (np.zeros((2, 2, 4), np.float32), np.full((2, 2, 4), np.nan, np.float32)):
        x = tf.constant(np.concatenate([inside, rest]))
        loss = tf.nn.ctc_loss(labels, x, [3, 3])
        losses.append(run([loss, tf.gradients(loss, x)[0]]))
    np.testing.assert_array_equal(losses[0][0], losses[1][0])
    np.testing.assert_array_equal(losses[0][1], losses[1][1])
    assert not losses[1][1][3:].any()
