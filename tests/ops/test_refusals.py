"""What ops refuse, when, and in which words: those that TensorFlow's programs look for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

WHEN_BUILT: dict[str, tuple[Callable[[], Any], str]] = {
    "broadcast": (lambda: tf.ones([4]) + tf.ones([2, 3]), "Dimensions must be equal, but are 4 and 3"),
    "check of constants": (lambda: tf.assert_less(tf.ones([4]), tf.ones([3])), "Dimensions must be equal"),
    "rank too low": (lambda: tf.matrix_diag_part(tf.ones([4])), "Shape must be at least rank 2 but is rank 1"),
    "rank too high": (lambda: tf.reduce_sum(tf.ones([4]), [[0]]), "Shape must be at most rank 1 but is rank 2"),
    "sizes": (lambda: tf.stack([tf.ones([4]), tf.ones([3])]), "dimension 0 in both shapes must be equal, but are 4"),
    "scalars joined": (lambda: tf.concat([1.0, 2.0], 0), r"Can't concatenate scalars \(use tf.stack instead\)"),
    "axis as vector": (lambda: tf.concat([[1], [2]], [0]), "must be rank 0"),
    "reshape": (lambda: tf.reshape(tf.ones([7]), [2, -1]), "7 must be evenly divisible by 2"),
    "fill": (lambda: tf.fill([2, -3], 1), "dimensions must be >= 0"),
    "reverse": (lambda: tf.reverse_sequence(tf.ones([4, 2]), [1] * 4, seq_dim=2), "seq_dim must be < input rank"),
    "join": (lambda: tf.reduce_join([["a"]], 2), "Invalid reduction dimension 2"),
    "loss weights": (lambda: tf.losses.absolute_difference([1.0] * 3, [2.0] * 3, [1.0] * 2), "can not be broadcast"),
}
IN_A_STEP: dict[str, tuple[Callable[[], Any], str]] = {
    "scan axis": (lambda: tf.cumsum(tf.ones([2, 3]), 2), r"Expected scan axis in the range \[-2, 2\)"),
    "scan axes": (lambda: tf.cumprod(tf.ones([2, 3]), [1]), "axis must be a scalar"),
    "partition": (lambda: tf.dynamic_partition([1, 2], [0, 5], 3), r"partitions\[1\] = 5 is not in \[0, 3\)"),
    "one partition": (lambda: tf.dynamic_partition([1, 2], 5, 3), r"partitions = 5 is not in \[0, 3\)"),
    "segments back": (lambda: tf.segment_sum([1, 2, 3], [0, 2, 1]), r"not increasing: segment_ids\[2\] = 1 after 2"),
    "segment": (lambda: tf.segment_sum([1, 2], [-1, 3]), r"Segment id -1 out of range \[0, 4\), possibly because"),
    "no rows": (lambda: tf.gather_nd(tf.zeros([0, 2]), [[0]]), "Requested more than 0 entries, but params is empty"),
    "singular": (lambda: tf.matrix_solve([[1.0, 2.0], [2.0, 4.0]], [[1.0], [1.0]]), "Input matrix is not inv"),
    "no classes": (lambda: tf.multinomial(tf.zeros([2, 0]), 3), "num_classes should be positive"),
    "softmax axis": (lambda: tf.nn.softmax([1.0, 2.0], 5), r"range \[-1, 1\) but was 5"),
    "offsets": (
        lambda: tf.raw_ops.ConcatOffset(concat_dim=0, shape=[[2, 3], [2, 4]]),
        "All dimensions except 0 must m",
    ),
    "offset axis": (lambda: tf.raw_ops.ConcatOffset(concat_dim=2, shape=[[2, 3], [2, 4]]), "out of range: 2 vs. 2"),
    "not fed": (lambda: tf.placeholder(tf.float32, [None, 3], name="p"), r"'p' with dtype float and shape \[\?,3\]"),
}


@pytest.mark.parametrize("what", WHEN_BUILT)
def test_what_can_be_told_from_shapes_is_refused_when_it_is_built(what: str) -> None:
    build, words = WHEN_BUILT[what]
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize("what", IN_A_STEP)
def test_what_only_a_step_can_tell_is_an_invalid_argument(what: str) -> None:
    build, words = IN_A_STEP[what]
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=words),
    ):
        session.run(build())


def test_a_product_of_a_vector_that_is_fed_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="takes batches of matrices"):
            session.run(tf.raw_ops.BatchMatMulV2(x=x, y=y), {x: np.ones(3), y: np.ones((3, 4))})


@pytest.mark.parametrize("op", [tf.matrix_diag, tf.matrix_diag_part])
def test_a_diagonal_of_a_scalar_is_refused_in_the_step_where_its_rank_is_not_known_before(op: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"input must be at least [12]-dim"):
            session.run(op(x), {x: 3.0})


def test_nothing_is_assigned_to_an_empty_slice_whatever_the_shape_of_the_value() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.arange(6.0).reshape(2, 3))
        session.run(v.initializer)
        assert session.run(v[2:, 3:].assign(np.zeros([1, 0]))).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_values_of_sparse_tensors_stand_for_sparse_tensors() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.SparseTensorValue([[0, 1], [2, 0]], np.float32([5, 6]), [3, 4])
        assert session.run([tf.shape(value), tf.size(value), tf.rank(value)])[1:] == [12, 2]
        converted = tf.convert_to_tensor_or_sparse_tensor(value)
        assert isinstance(converted, tf.SparseTensor) and session.run(converted).values.tolist() == [5, 6]
        assert isinstance(tf.convert_to_tensor_or_sparse_tensor([1, 2]), tf.Tensor)
        with pytest.raises(RuntimeError, match="requested = int32, actual = float32"):
            tf.convert_to_tensor_or_sparse_tensor(value, tf.int32)
        labels = tf.SparseTensorValue(np.array([[0, 0], [1, 0]]), np.array([2, 0]), np.array([2, 1]))
        recall, update = tf.metrics.recall_at_k(labels, [[0.1, 0.7, 0.2], [0.1, 0.2, 0.7]], 2)
        session.run(tf.local_variables_initializer())
        assert session.run(update) == 0.5 and session.run(recall) == 0.5


def test_a_number_of_a_csv_record_is_hexadecimal_only_with_0x() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.decode_csv(["0x1p4"], [[0.0]]))[0].tolist() == [16]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Field 0 in record 1 is not a valid float"):
            session.run(tf.decode_csv(["1.5", "2.5ef"], [[0.0]]))


def test_blocks_of_nothing_go_to_as_many_batches_as_blocks_of_something() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for shape, wanted in [([2, 3, 0], (6, 1, 0)), ([2, 0, 4], (6, 0, 4))]:
            x = tf.placeholder(tf.float32)
            blocks = tf.space_to_batch_nd(x, tf.constant([3]), [[0, 0]])
            assert session.run(blocks, {x: np.zeros(shape)}).shape == wanted


def test_least_squares_of_nothing_are_zeros() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for a, b, wanted in [([3, 0], [3, 0], (0, 0)), ([3, 2], [3, 0], (2, 0)), ([0, 2], [0, 4], (2, 4))]:
            for fast in (True, False):
                solution = session.run(tf.matrix_solve_ls(np.ones(a), np.ones(b), fast=fast))
                assert solution.shape == wanted and not solution.any()


def test_weights_of_losses_that_do_not_fit_are_refused_in_the_step_where_shapes_are_not_known_before() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        for loss in (tf.losses.mean_squared_error(x, 2 * x, w), tf.losses.mean_pairwise_squared_error(x, 2 * x, w)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
                session.run(loss, {x: np.ones([2, 3]), w: np.ones([3])})


def test_what_lookup_tables_are_made_of_is_checked() -> None:
    L = tf.contrib.lookup
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(TypeError, match="two integers"):
            L.StrongHashSpec([None, 3])
        with pytest.raises(TypeError, match="HasherSpec"):
            L.IdTableWithHashBuckets(None, 2, hasher_spec=7)
        empty = L.HashTable(L.KeyValueTensorInitializer([], [], tf.string, tf.int64), -1)
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be empty"):
            session.run(empty.init)
        L.index_table_from_file(tf.placeholder(tf.string, []), num_oov_buckets=1)
        assert tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS) == []


def test_sparse_functions_take_int32_shapes_and_leave_the_shapes_of_what_they_are_given() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.SparseTensor([[0, 1], [1, 2]], [5, 6], tf.placeholder_with_default(np.array([2, 3]), [2]))
        assert session.run(tf.sparse_reshape(sparse, tf.constant([3, 2]))).indices.tolist() == [[0, 1], [2, 1]]
        new = tf.placeholder(tf.int32)
        larger = tf.sparse_reset_shape(sparse, new)
        assert new.shape.ndims is None and larger.dense_shape.shape.as_list() == [2]
        assert session.run(larger, {new: [4, 4]}).dense_shape.tolist() == [4, 4]
        with pytest.raises(tf.errors.InvalidArgumentError, match="x == y did not hold"):
            session.run(larger, {new: [4, 4, 4]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="requires a multiple of 4"):
            session.run(tf.sparse_reshape(sparse, tf.placeholder_with_default([4, -1], [2])))
        with pytest.raises(ValueError, match="axis is required"):
            tf.sparse_split(sp_input=sparse, num_split=2)


def test_a_delimiter_that_is_fed_must_be_one_string_and_k_not_negative() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        text, k = tf.placeholder(tf.string), tf.placeholder(tf.int32)
        pieces = tf.string_split(["a|b"], text)
        assert session.run(pieces, {text: "|"}).values.tolist() == [b"a", b"b"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="delimiter must be a scalar"):
            session.run(pieces, {text: ["|"]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Need k >= 0, got -3"):
            session.run(tf.nn.top_k([1.0, 2.0], k), {k: -3})


def test_seeds_wrap_but_never_to_none() -> None:
    with tf.Graph().as_default():
        for graph_seed, op_seed, wanted in [(2**31 - 1, 0, (0, 2**31 - 1)), (2**31 + 4, 2**31, (5, 1)), (0, 7, (0, 7))]:
            tf.set_random_seed(graph_seed)
            assert tf.get_seed(op_seed) == wanted


def test_a_message_of_a_tensor_has_the_shape_that_is_to_be_verified() -> None:
    assert tf.make_tensor_proto(np.ones([2, 3]), shape=[2, 3], verify_shape=True).tensor_shape.dim[1].size == 3
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3, 2\), got \(2, 3\)"):
        tf.make_tensor_proto(np.ones([2, 3]), shape=[3, 2], verify_shape=True)


def test_what_is_no_tensor_may_say_what_its_sum_with_one_is() -> None:
    class Units:
        def __radd__(self, other: Any) -> str:
            return f"{other.op.type} of units"

    with tf.Graph().as_default():
        assert tf.constant([1.0]) + Units() == "Const of units"
        with pytest.raises(TypeError):
            tf.constant([1.0]) - Units()


def test_all_and_any_of_nothing_take_it_for_bools() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run([tf.reduce_all([]), tf.reduce_any([]), tf.reduce_all([[True], [False]], 1)[0]]) == [
            True,
            False,
            True,
        ]
