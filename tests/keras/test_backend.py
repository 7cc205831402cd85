"""tf.keras.backend against NumPy, and its session."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

K = tf.keras.backend
A = np.random.RandomState(0).uniform(-2, 2, (3, 4)).astype(np.float32)
B = np.random.RandomState(1).uniform(0.1, 0.9, (3, 4)).astype(np.float32)
C = np.random.RandomState(2).uniform(-1, 1, (2, 3, 4)).astype(np.float32)


def hard_sigmoid(x: Any) -> Any:
    return np.clip(0.2 * x + 0.5, 0, 1)


CASES: list[tuple[Any, Any]] = [
    (lambda: K.sum(A, axis=1, keepdims=True), A.sum(1, keepdims=True)),
    (lambda: K.mean(A > 0), (A > 0).mean()),
    (lambda: K.std(A, axis=0), A.std(0)),
    (lambda: K.var(A), A.var()),
    (lambda: K.any(A > 1.5, axis=1), (A > 1.5).any(1)),
    (lambda: K.dot(A, A.T), A @ A.T),
    (lambda: K.dot(C, A.T), C @ A.T),
    (lambda: K.batch_dot(C, C, axes=[2, 2]), np.einsum("aij,akj->aik", C, C)),
    (lambda: K.batch_dot(A, B, axes=1), (A * B).sum(1, keepdims=True)),
    (lambda: K.batch_dot(C[None], C[None] + 1, [3, 3]), np.einsum("naij,nakj->naik", C[None], C[None] + 1)),
    (lambda: K.batch_dot(C, C[..., None] + 1, [2, 2]), np.einsum("aij,aijk->aik", C, C[..., None] + 1)),
    (lambda: K.batch_dot(C, C[:, :, 0], [1, 1]), np.einsum("aij,ai->aj", C, C[:, :, 0])),
    (lambda: K.batch_dot(C[:, :, 0], C, [1, 1]), np.einsum("ai,aij->aj", C[:, :, 0], C)),
    (lambda: K.batch_flatten(C), C.reshape(2, 12)),
    (lambda: K.repeat_elements(A, 3, axis=0), A.repeat(3, 0)),
    (lambda: K.permute_dimensions(C, (0, 2, 1)), C.transpose(0, 2, 1)),
    (lambda: K.clip(A, -1, 1), A.clip(-1, 1)),
    (lambda: K.sqrt(A), np.sqrt(A.clip(0))),
    (lambda: K.relu(A, alpha=0.1, max_value=1.0), np.where(A > 0, A.clip(max=1), 0.1 * A)),
    (lambda: K.hard_sigmoid(A), hard_sigmoid(A)),
    (lambda: K.elu(A, 0.5), np.where(A > 0, A, 0.5 * np.expm1(A))),
    (lambda: K.switch(A > 0, A, -A), np.abs(A)),
    (lambda: K.binary_crossentropy(B > 0.5, B), -np.where(B > 0.5, np.log(B), np.log(1 - B))),
    (lambda: K.categorical_crossentropy(np.eye(4)[:3], B), -np.log(np.diag(B) / B.sum(1))),
    (lambda: K.sparse_categorical_crossentropy([0, 1, 2], B / B.sum(1, keepdims=True)), -np.log(np.diag(B) / B.sum(1))),
    (lambda: K.one_hot([1, 0], 3), np.eye(3)[[1, 0]]),
    (lambda: K.arange(2, 8, 3), np.arange(2, 8, 3)),
    (lambda: K.concatenate([A, B]), np.concatenate([A, B], -1)),
    (lambda: K.reverse(A, 1), A[:, ::-1]),
    (lambda: K.temporal_padding(C, (1, 0)), np.pad(C, [(0, 0), (1, 0), (0, 0)])),
    (lambda: K.logsumexp(A, axis=1), np.log(np.exp(A).sum(1))),
    (lambda: K.l2_normalize(A, 1), A / np.linalg.norm(A, axis=1, keepdims=True)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_function_computes_what_numpy_does(case: int) -> None:
    made, expected = CASES[case]
    np.testing.assert_allclose(K.eval(made()), expected, rtol=1e-4, atol=1e-5)


def test_a_function_of_arrays_feeds_fetches_and_updates_in_one_step() -> None:
    x, count = K.placeholder((None, 2)), K.variable(0.0)
    double = K.function([x], [2 * x, K.sum(x)], updates=[(count, count + 1), K.update_add(K.variable(1.0), 2.0)])
    for i in range(3):
        doubled, total = double([np.ones((i + 1, 2))])
        np.testing.assert_array_equal(doubled, np.full((i + 1, 2), 2.0))
        assert total == 2 * (i + 1)
    assert K.get_value(count) == 3


def test_variables_have_their_values_in_any_session_that_is_the_default_or_set() -> None:
    v = K.variable([1.0, 2.0])
    K.set_value(v, [3.0, 4.0])
    np.testing.assert_array_equal(K.get_value(v), [3.0, 4.0])
    with tf.Session() as session:
        np.testing.assert_array_equal(K.get_value(v), [1.0, 2.0])  # a session of its own, initialised anew
        assert K.get_session() is session
    np.testing.assert_array_equal(K.get_value(v), [3.0, 4.0])


def test_what_a_program_has_initialised_or_restored_is_left_as_it_is() -> None:
    v = tf.Variable(1.0)
    session = tf.Session()
    session.run(v.assign(5.0))
    K.set_session(session)
    assert K.get_value(v) == 5.0


def test_clear_session_begins_with_an_empty_graph_and_names_from_the_start() -> None:
    tf.keras.layers.Dense(1)(tf.keras.Input((2,)))
    K.clear_session()
    made = [op.name for op in tf.get_default_graph().get_operations()]
    assert made == ["keras_learning_phase/input", "keras_learning_phase"]  # as in TensorFlow 1.15
    assert tf.keras.layers.Dense(1).name == "dense"


def test_gradients_of_a_layer_with_respect_to_an_input() -> None:
    x = tf.keras.Input((2,))
    layer = tf.keras.layers.Dense(1, use_bias=False)
    (gradient,) = K.gradients(K.sum(layer(x)), [x])
    found = K.function([x], [gradient])([np.ones((3, 2))])[0]
    np.testing.assert_allclose(found, np.tile(layer.get_weights()[0].T, (3, 1)), rtol=1e-6)


def test_a_fixed_learning_phase_needs_no_feed() -> None:
    K.set_learning_phase(1)
    model = tf.keras.Sequential([tf.keras.layers.Dropout(0.5, input_shape=(100,))])
    assert (model.predict(np.ones((10, 100))) == 0).any()


def test_loops_over_time_are_the_same_unrolled_with_a_mask_and_backwards() -> None:
    mask = np.array([[1, 1, 0], [0, 1, 1]], bool)

    def step(x: Any, states: Any) -> Any:
        return states[0] + x, [states[0] + x]

    for backwards in (False, True):
        results = [
            K.get_session().run(K.rnn(step, C, [tf.zeros([2, 4])], backwards, tf.constant(mask), unroll=unroll))
            for unroll in (False, True)
        ]
        order = range(2, -1, -1) if backwards else range(3)
        total, outputs = np.zeros((2, 4)), []
        for t in order:
            total = total + C[:, t] * mask[:, t, None]
            outputs.append(total)
        for last, all_outputs, states in results:
            np.testing.assert_allclose(last, total, rtol=1e-6)
            np.testing.assert_allclose(all_outputs, np.stack(outputs, 1), rtol=1e-6)
            np.testing.assert_allclose(states[0], total, rtol=1e-6)


def test_variables_are_of_floatx_whatever_the_array_is() -> None:
    assert K.dtype(K.variable(np.ones(2))) == "float32"  # as in TensorFlow 1.15, for whole numbers, too
    assert K.dtype(K.variable(np.arange(2))) == "float32"
    assert K.dtype(K.variable(np.ones(2), dtype="float64")) == "float64"


def test_functions_take_what_programs_give_them() -> None:
    # TensorFlow 1.15 gives the same.
    K = tf.keras.backend
    assert K.eval(K.arange(-20)).tolist() == []
    x = K.constant([-3.0, -2.0, 0.3, 9.0])
    np.testing.assert_allclose(K.eval(K.relu(x, max_value=5.0, threshold=-2.8)), [0, 0, 0.3, 5], rtol=1e-6)
    assert [K.int_shape(each) for each in K.stop_gradient([x, x])] == [(4,), (4,)]
    with pytest.raises(ValueError, match="channels_middle"):
        K.resize_images(K.ones((1, 2, 2, 1)), 2, 2, "channels_middle")
    fed = K.placeholder(shape=())
    feeds = {fed: 3.0}
    function = K.function([], [fed * 10.0], feed_dict=feeds)
    assert function([]) == [30.0]
    feeds[fed] = 4.0
    assert function([]) == [40.0]


def test_random_numbers_have_a_seed_from_numpy() -> None:
    np.random.seed(3)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.keras.backend.random_normal((3,)))
    np.testing.assert_allclose(found, [0.8688274, -0.26793116, 0.2541825], rtol=1e-5)  # TensorFlow 1.15's


@pytest.mark.parametrize(("name", "value"), [("zeros", 0.0), ("ones", 1.0)])
def test_zeros_and_ones_of_sizes_that_steps_know_are_tensors(name: str, value: float) -> None:
    K = tf.keras.backend
    make = getattr(K, name)
    batch = K.placeholder((None, 3))
    tensor = make(shape=(K.shape(batch)[0], 2))
    assert tensor.shape.as_list() == [None, 2]
    assert isinstance(make((2, 3)), tf.Variable)
    found = K.get_session().run([tensor, make(K.shape(batch), "int32")], {batch: np.ones((4, 3))})
    np.testing.assert_array_equal(found[0], np.full((4, 2), value))
    np.testing.assert_array_equal(found[1], np.full((4, 3), int(value)))


def test_variables_begin_as_variables_and_sparse_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    K = tf.keras.backend
    first = K.variable(np.array([[1.0, 2.0]]))
    second = K.variable(first)
    K.set_value(first, np.zeros((1, 2)))
    assert K.eval(second).tolist() == [[1.0, 2.0]]
    matrix = sparse.csc_matrix(np.array([[0, 2.0], [3.0, 0]], np.float32))
    found = K.variable(matrix)
    assert K.is_sparse(found)
    assert K.eval(K.dot(found, K.constant([[1.0, 2], [3, 4]]))).tolist() == [[6.0, 8.0], [3.0, 6.0]]
