"""Candidate samplers as functions, the losses on top of them, and gradients of quantisation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op

TRUE = [[0, 1], [2, 1]]


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


# --- samplers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["uniform", "log_uniform", "learned_unigram"])
def test_classes_are_drawn_as_often_as_is_expected(name: str) -> None:
    sampler = getattr(tf.nn, f"{name}_candidate_sampler")
    drawn, _, expected = sampler(np.zeros((1, 1), np.int64), 1, 20000, False, 5, seed=3)
    with tf.Session() as session:
        classes, counts = session.run([drawn, expected])
    found = np.bincount(classes, minlength=5)
    wanted = np.array([counts[classes == c][0] for c in range(5)])
    assert wanted.sum() == pytest.approx(20000, rel=1e-4)
    np.testing.assert_allclose(found, wanted, rtol=0.1)


def test_a_sampler_draws_on_in_the_session_and_again_in_a_new_one() -> None:
    drawn = tf.nn.log_uniform_candidate_sampler(TRUE, 2, 8, True, 1000, seed=5).sampled_candidates
    with tf.Session() as session:
        first, second = session.run(drawn).tolist(), session.run(drawn).tolist()
    with tf.Session() as session:
        assert session.run(drawn).tolist() == first
    assert first != second


def test_a_learned_sampler_counts_the_true_classes_of_the_session_so_far() -> None:
    expected = tf.nn.learned_unigram_candidate_sampler(TRUE, 2, 3, False, 4).true_expected_count
    with tf.Session() as session:
        runs = [session.run(expected).tolist() for _ in range(3)]
    assert runs == [[[0.75, 0.75]] * 2, [[0.75, 1.125]] * 2, [[0.75, 1.25]] * 2]
    with tf.Session() as session:
        assert session.run(expected).tolist() == runs[0]


@pytest.mark.parametrize(
    ("name", "more", "counts"),
    [
        ("uniform", {"range_max": 10}, [0.4, 0.4, 0.4]),
        ("log_uniform", {"range_max": 10}, [1.1562593, 0.1236217, np.inf]),
        ("fixed_unigram", {"range_max": 10, "unigrams": [float(n) for n in range(1, 11)]}, [0.07272727, 0, 0]),
        ("all", {}, [1, 1, 1]),
    ],
)
def test_classes_beyond_the_range_have_the_expected_counts_of_the_formula(
    name: str, more: dict[str, Any], counts: list[float]
) -> None:
    # The numbers are TensorFlow 1.15's.
    sampler = getattr(tf.nn, f"{name}_candidate_sampler")
    expected = sampler(np.array([[0], [12], [-1]]), 1, 4, False, **more).true_expected_count
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(expected)[:, 0], counts, rtol=1e-5)


def test_a_learned_sampler_refuses_classes_that_it_cannot_count() -> None:
    expected = tf.nn.learned_unigram_candidate_sampler([[4]], 1, 3, False, 4).true_expected_count
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0, 4\)"):
        session.run(expected)


def test_a_fixed_sampler_reads_weights_from_the_last_field_of_each_line(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.csv"
    path.write_text("a,3\nb,1\nc,0.5\nd,7\ne,2\n")
    sampler = tf.nn.fixed_unigram_candidate_sampler
    whole = sampler(TRUE, 2, 3, False, 6, vocab_file=str(path), num_reserved_ids=1)
    half = sampler(TRUE, 2, 3, False, 3, vocab_file=str(path), num_shards=2)
    with tf.Session() as session:
        weights = np.array([0, 3, 1, 0.5, 7, 2])
        assert session.run(whole.true_expected_count) == pytest.approx(3 * weights[np.array(TRUE)] / weights.sum())
        assert 0 not in session.run(whole.sampled_candidates)
        weights = weights[1::2]
        assert session.run(half.true_expected_count) == pytest.approx(3 * weights[np.array(TRUE)] / weights.sum())


def test_a_fixed_sampler_says_which_line_has_no_number(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.csv"
    path.write_text("a,3\nb\n")
    drawn = tf.nn.fixed_unigram_candidate_sampler(TRUE, 2, 1, True, 2, vocab_file=str(path))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="at line: b"):
        session.run(drawn)


def test_all_classes_and_accidental_hits() -> None:
    every = tf.nn.all_candidate_sampler(TRUE, 2, 3, True)
    hits = tf.nn.compute_accidental_hits(TRUE, every.sampled_candidates, 2)
    with tf.Session() as session:
        indices, ids, weights = session.run(hits)
    assert (indices.tolist(), ids.tolist()) == ([0, 0, 1, 1], [0, 1, 2, 1])
    assert weights.tolist() == [np.finfo(np.float32).min] * 4


# --- losses ---------------------------------------------------------------------------------------------

random = np.random.RandomState(0)
WEIGHTS, BIASES = random.randn(10, 4).astype("f"), random.randn(10).astype("f")
INPUTS, LABELS = random.randn(5, 4).astype("f"), random.randint(0, 10, (5, 2))
DRAWN, OF_TRUE, OF_DRAWN = np.array([3, 1, 7, 7]), np.full((5, 2), 0.3, "f"), np.array([0.1, 0.2, 0.3, 0.4], "f")


def logits(remove: bool) -> np.ndarray:
    """Of the true and the drawn classes, less the log of how often they are expected."""
    of_true = np.einsum("id,ijd->ij", INPUTS, WEIGHTS[LABELS]) + BIASES[LABELS] - np.log(OF_TRUE)
    of_drawn = INPUTS @ WEIGHTS[DRAWN].T + BIASES[DRAWN] - np.log(OF_DRAWN)
    if remove:
        hit = (LABELS[:, :, None] == DRAWN).any(1)
        hit[:, 2] = False  # of the class drawn twice, the last draw is the hit
        of_drawn = np.where(hit, -np.inf, of_drawn)
    return np.concatenate([of_true, of_drawn], 1).astype(np.float64)


def nce(remove: bool) -> np.ndarray:
    x = logits(remove)
    return (
        np.logaddexp(0, -x[:, :2]).sum(1) / 2 + np.logaddexp(0, x[:, :2]).sum(1) / 2 + np.logaddexp(0, x[:, 2:]).sum(1)
    )


def sampled_softmax(remove: bool) -> np.ndarray:
    x = logits(remove)
    return np.log(np.exp(x).sum(1)) - x[:, :2].mean(1)


def parts(array: np.ndarray, strategy: str | None) -> Any:
    if strategy is None:
        return tf.Variable(array)
    cut = [array[i::3] for i in range(3)] if strategy == "mod" else np.array_split(array, 3)
    return [tf.Variable(part) for part in cut]


@pytest.mark.parametrize("strategy", [None, "mod", "div"])
@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize(("loss", "reference"), [("nce_loss", nce), ("sampled_softmax_loss", sampled_softmax)])
def test_a_sampled_loss_is_that_of_the_true_and_the_drawn_classes(
    loss: str, reference: Any, remove: bool, strategy: str | None
) -> None:
    weights, biases = parts(WEIGHTS, strategy), parts(BIASES, strategy)
    found = getattr(tf.nn, loss)(
        weights, biases, LABELS, INPUTS, 4, 10, num_true=2, sampled_values=(DRAWN, OF_TRUE, OF_DRAWN),
        remove_accidental_hits=remove, partition_strategy=strategy or "mod",
    )  # fmt: skip
    variables = tf.global_variables()
    gradients = tf.gradients(found, variables)
    assert all(isinstance(g, tf.IndexedSlices) for g in gradients)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(found), reference(remove), rtol=1e-4)
        dense = session.run([tf.convert_to_tensor(g) for g in gradients])
        step = 1e-2
        for variable, gradient in zip(variables[-1:], dense[-1:], strict=True):  # the last biases
            numeric = []
            for index in range(len(gradient)):
                around = []
                for sign in (1, -1):
                    moved = session.run(variable)
                    moved[index] += sign * step
                    around.append(session.run(found, {variable: moved}).sum(dtype=np.float64))
                numeric.append((around[0] - around[1]) / (2 * step))
            np.testing.assert_allclose(gradient, numeric, atol=2e-3)


def test_a_sampled_loss_draws_classes_itself_and_trains() -> None:
    tf.set_random_seed(1)
    weights, biases = tf.Variable(WEIGHTS), tf.Variable(BIASES)
    labels = tf.placeholder(tf.int32, [None, 1])
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, labels, tf.constant(INPUTS), 3, 10))
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], {labels: LABELS[:, :1]})[0] for _ in range(60)]
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) / 2


# --- quantisation ---------------------------------------------------------------------------------------

X = np.array([-7, -0.26, 0.1, 0.3, 9], "f")


def gradient_of(y: Any, x: Any) -> list[float]:
    with tf.Session() as session:
        return session.run(tf.gradients(y, x)[0]).tolist()


def test_gradients_go_straight_through_fake_quantisation_within_the_range() -> None:
    """FakeQuantWithMinMaxArgs, FakeQuantWithMinMaxVars and FakeQuantWithMinMaxVarsPerChannel."""
    x, low, high = tf.constant(X), tf.constant(-1.0), tf.constant(0.5)
    by_constants = tf.fake_quant_with_min_max_args(x, -1, 0.5)
    assert gradient_of(by_constants, x) == [0, 1, 1, 1, 0]
    by_tensors = tf.fake_quant_with_min_max_vars(x, low, high) * [1.0, 2.0, 3.0, 4.0, 5.0]
    assert gradient_of(by_tensors, x) == [0, 2, 3, 4, 0]
    assert gradient_of(by_tensors, low) == 1
    assert gradient_of(by_tensors, high) == 5
    lows, highs = tf.constant([-1.0] * 5), tf.constant([0.5] * 5)
    by_channels = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, lows, highs)
    assert gradient_of(by_channels, x) == [0, 1, 1, 1, 0]
    assert gradient_of(by_channels, lows) == [1, 0, 0, 0, 0]
    assert gradient_of(by_channels, highs) == [0, 0, 0, 0, 1]


def test_gradients_pass_rounding_as_if_it_were_not_there() -> None:
    """QuantizeAndDequantize, QuantizeAndDequantizeV2 and QuantizeAndDequantizeV3."""
    x = tf.constant(X)
    rounded = tf.quantization.quantize_and_dequantize(x, -1.0, 1.0, range_given=True)
    assert gradient_of(rounded, x) == [1] * 5
    assert gradient_of(get_op("QuantizeAndDequantize")(x), x) == [1] * 5
    assert gradient_of(get_op("QuantizeAndDequantizeV3")(x, -1.0, 1.0, 8), x) == [1] * 5


def test_gradients_of_newer_rounding_pass_within_the_range_only() -> None:
    """QuantizeAndDequantizeV4, and QuantizeAndDequantizeV4Grad, whose own gradient is the same."""
    x, ends = tf.constant([-2.0, -0.6, 0.3, 1.7]), [tf.constant(-1.0), tf.constant(1.0)]
    rounded = get_op("QuantizeAndDequantizeV4")(x, *ends, range_given=True)
    assert gradient_of(rounded, x) == [0, 1, 1, 0]
    assert gradient_of(rounded, ends[0]) == 0
    up = tf.constant([1.0, 2.0, 3.0, 4.0])
    assert gradient_of(get_op("QuantizeAndDequantizeV4Grad")(up, x, *ends)[0], up) == [0, 1, 1, 0]


def test_what_was_quantized_comes_back_within_half_a_step() -> None:
    values = np.linspace(-1, 2, 100, dtype="f").reshape(2, 50)
    with tf.Session() as session:
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for dtype in (tf.quint8, tf.qint8, tf.quint16, tf.qint16):
                if mode == "SCALED" and dtype.name.startswith("qu"):
                    continue  # no negative numbers
                integers, low, high = tf.quantize(values, -1.0, 2.0, dtype, mode=mode)
                assert integers.dtype == dtype
                back = session.run(tf.dequantize(integers, low, high, mode=mode))
                steps = 2 ** (8 * dtype.size)
                np.testing.assert_allclose(back, values, atol=0.51 * (4 if mode == "SCALED" else 3) / (steps - 1))
        last = tf.quantize_v2(values, [-1.0] * 50, [2.0] * 50, tf.quint8, axis=-1)
        assert [t.shape.as_list() for t in last] == [[2, 50], [50], [50]]
        assert session.run(last.output_max).tolist() == [2.0] * 50
