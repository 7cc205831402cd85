"""Arguments that TensorFlow's functions got up to 1.15, with its values.

The arguments of diagonals do here what its documentation says; TensorFlow 1.15 itself leaves them unread.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps


def test_a_diagonal_beside_the_main_one_and_bands_of_them() -> None:
    with ps.Session() as session:
        one = session.run(ps.matrix_diag([[1, 2, 3], [4, 5, 6]], k=1))
        band = session.run(ps.linalg.diag([[1.0, 2.0], [3.0, 4.0]], k=(-1, 0), num_rows=3, num_cols=2))
        filled = session.run(ps.linalg.diag([1, 2], k=-1, num_rows=3, padding_value=9))
    np.testing.assert_array_equal(one[0], np.diag([1, 2, 3], 1))
    np.testing.assert_array_equal(one[1], np.diag([4, 5, 6], 1))
    np.testing.assert_array_equal(band, [[1, 0], [3, 2], [0, 4]])
    np.testing.assert_array_equal(filled, [[9, 9], [1, 9], [9, 2]])


def test_parts_beside_the_main_diagonal_are_read_and_set() -> None:
    matrix = np.arange(12.0).reshape(3, 4)
    with ps.Session() as session:
        np.testing.assert_array_equal(session.run(ps.matrix_diag_part(matrix, k=-1)), np.diag(matrix, -1))
        bands = session.run(ps.linalg.diag_part(matrix, k=(1, 2), padding_value=-1.0))
        np.testing.assert_array_equal(bands, [[2, 7, -1], [1, 6, 11]])
        found = session.run(ps.matrix_set_diag(matrix, [70.0, 80.0], k=2))
    wanted = matrix.copy()
    wanted[0, 2], wanted[1, 3] = 70, 80
    np.testing.assert_array_equal(found, wanted)


def test_frames_are_made_along_any_axis() -> None:
    x = np.arange(24.0).reshape(2, 6, 2)
    with ps.Session() as session:
        whole = session.run(ps.signal.frame(x, 3, 2, axis=1))
        padded = session.run(ps.signal.frame(x, 4, 3, pad_end=True, pad_value=-1.0, axis=-2))
    np.testing.assert_array_equal(whole, np.stack([x[:, 0:3], x[:, 2:5]], 1))
    last = np.concatenate([x[:, 3:6], np.full((2, 1, 2), -1.0)], 1)
    np.testing.assert_array_equal(padded, np.stack([x[:, 0:4], last], 1))


def test_what_is_known_of_a_stack_can_be_asked_for() -> None:
    stack = ps.stack([ps.placeholder(ps.int32, []), 3])
    assert ps.get_static_value(stack) is None
    assert list(ps.contrib.util.constant_value(stack, partial=True)) == [None, 3]


def test_a_proto_of_one_number_has_any_shape_if_broadcasting_is_allowed() -> None:
    proto = ps.make_tensor_proto([1.0], shape=[2, 2], allow_broadcast=True)
    np.testing.assert_array_equal(ps.make_ndarray(proto), np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 2\), got \(2,\)"):
        ps.make_tensor_proto([1.0, 2.0], shape=[2, 2], allow_broadcast=True)


def test_a_hint_of_a_dtype_has_two_names() -> None:
    assert ps.convert_to_tensor([1, 2], dtype_hint=ps.float32).dtype == ps.float32
    assert ps.convert_to_tensor(["a"], dtype_hint=ps.float32).dtype == ps.string


@pytest.mark.parametrize(
    "summed, wanted",
    [
        ({"sum_over_timesteps": True, "sum_over_batch": True}, 2.109436511993408),
        ({"sum_over_timesteps": True}, [2.4168195724487305, 1.4946703910827637]),
        ({"sum_over_batch": True}, [2.173670768737793, 1.9809682369232178, 0.0]),
    ],
)
def test_losses_of_sequences_are_sums_over_what_has_a_weight(summed: dict[str, bool], wanted: Any) -> None:
    logits = np.random.RandomState(0).randn(2, 3, 5).astype(np.float32)
    averaged = {"average_across_timesteps": False, "average_across_batch": False}
    loss = ps.contrib.seq2seq.sequence_loss(
        ps.constant(logits), [[1, 2, 3], [4, 0, 1]], [[1.0, 1.0, 0.0], [0.5, 0.0, 0.0]], **averaged, **summed
    )
    with ps.Session() as session:
        np.testing.assert_allclose(session.run(loss), wanted, rtol=1e-6)


def test_a_loss_of_sequences_is_not_both_an_average_and_a_sum() -> None:
    with pytest.raises(ValueError, match="average_across_batch and sum_over_batch cannot be set to True"):
        ps.contrib.seq2seq.sequence_loss(np.zeros((1, 1, 2)), [[0]], [[1.0]], sum_over_batch=True)


# --- datasets -------------------------------------------------------------------------------------------


def all_of(dataset: Any) -> list[Any]:
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with ps.Session() as session:
        try:
            while True:
                found.append(session.run(element))
        except ps.errors.OutOfRangeError:
            return found


def test_interleaving_without_a_length_reads_as_many_datasets_as_there_are_processors() -> None:
    dataset = ps.data.Dataset.range(5).interleave(lambda x: ps.data.Dataset.from_tensors(x).repeat(2))
    assert sorted(all_of(dataset)) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_buckets_leave_their_last_batch_out_if_it_is_not_full() -> None:
    by_length = ps.data.experimental.bucket_by_sequence_length(
        lambda x: x, [4], [2, 2], padded_shapes=[], drop_remainder=True
    )
    found = all_of(ps.data.Dataset.from_tensor_slices([1, 2, 3, 4, 5, 6, 7]).apply(by_length))
    assert [batch.tolist() for batch in found] == [[1, 2], [4, 5], [6, 7]]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, text in {"a": "a\nb\n", "b": "c\nd\n"}.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / "a"), str(tmp_path / "b")]


def test_lines_and_records_of_several_files_are_read_alternately(files: list[str]) -> None:
    assert all_of(ps.data.TextLineDataset(files, num_parallel_reads=2)) == [b"a", b"c", b"b", b"d"]
    records = ps.data.FixedLengthRecordDataset(files, 2, num_parallel_reads=2)
    assert all_of(records) == [b"a\n", b"c\n", b"b\n", b"d\n"]


def test_names_of_files_of_lines_may_be_a_dataset(files: list[str]) -> None:
    names = ps.data.Dataset.from_tensor_slices(files)
    assert all_of(ps.data.TextLineDataset(names)) == [b"a", b"b", b"c", b"d"]
    assert all_of(ps.data.FixedLengthRecordDataset(names, 4)) == [b"a\nb\n", b"c\nd\n"]


def test_rows_that_cannot_be_read_are_left_out_of_tables_if_asked(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("x,y\n1,2\nq\n3,4\n")
    options = {"column_defaults": [0, 0], "num_epochs": 1, "shuffle": False}
    table = ps.data.experimental.make_csv_dataset(str(tmp_path / "rows.csv"), 2, ignore_errors=True, **options)
    (batch,) = all_of(table)
    assert batch["x"].tolist() == [1, 3] and batch["y"].tolist() == [2, 4]


def test_sparse_features_are_forwarded_with_a_default() -> None:
    estimator = ps.contrib.estimator.forward_features(
        ps.estimator.LinearRegressor([ps.feature_column.numeric_column("x")]), "key", sparse_default_values={"key": -1}
    )
    ps.reset_default_graph()
    features = {"x": ps.constant([[1.0], [2.0]]), "key": ps.SparseTensor([[0, 1]], [7], [2, 2])}
    spec = estimator.model_fn(features, None, ps.estimator.ModeKeys.PREDICT, estimator.config)
    with ps.Session() as session:
        np.testing.assert_array_equal(session.run(spec.predictions["key"]), [[-1, 7], [-1, -1]])
