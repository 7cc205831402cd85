"""tf.contrib.crf: scores and best sequences, compared with an enumeration of all sequences of tags."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf

crf = tf.contrib.crf
TAGS = 3
LENGTHS = np.array([4, 1, 3, 0, 2], np.int64)


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def problem(time: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of tags, tags, scores of pairs."""
    random = np.random.RandomState(4)
    batch = len(LENGTHS)
    return random.randn(batch, time, TAGS), random.randint(0, TAGS, (batch, time)), random.randn(TAGS, TAGS)


def score(inputs: np.ndarray, tags: tuple[int, ...], transitions: np.ndarray) -> float:
    alone = sum(inputs[t, tag] for t, tag in enumerate(tags))
    return float(alone + sum(transitions[pair] for pair in itertools.pairwise(tags)))


def scores(inputs: np.ndarray, length: int, transitions: np.ndarray) -> dict[tuple[int, ...], float]:
    """Of all sequences of tags."""
    return {tags: score(inputs, tags, transitions) for tags in itertools.product(range(TAGS), repeat=length)}


@pytest.mark.parametrize("time", [4, 1])
@pytest.mark.parametrize("known", [True, False])
def test_scores_and_norms_are_those_of_an_enumeration(session: tf.Session, time: int, known: bool) -> None:
    inputs, tags, transitions = problem(time)
    lengths = np.minimum(LENGTHS, time)
    fed = tf.placeholder(tf.float64, inputs.shape if known else [None, None, TAGS])
    sequence = session.run(crf.crf_sequence_score(fed, tags, lengths, transitions), {fed: inputs})
    norm = session.run(crf.crf_log_norm(fed, lengths, transitions), {fed: inputs})
    for i, length in enumerate(lengths):
        mine = score(inputs[i], tuple(tags[i, :length]), transitions)
        np.testing.assert_allclose(sequence[i], mine, atol=1e-12)
        total = sum(np.exp(s) for s in scores(inputs[i], length, transitions).values())
        np.testing.assert_allclose(norm[i], np.log(total) if length else 0.0, atol=1e-12)


def test_probabilities_of_all_sequences_add_up_to_one(session: tf.Session) -> None:
    inputs, _, transitions = problem()
    every = np.array(list(itertools.product(range(TAGS), repeat=3)))
    repeated = np.repeat(inputs[:1, :3], len(every), 0)
    likelihood, same = crf.crf_log_likelihood(repeated, every, [3] * len(every), tf.constant(transitions))
    found, kept = session.run([likelihood, same])
    np.testing.assert_allclose(np.exp(found).sum(), 1.0)
    np.testing.assert_array_equal(kept, transitions)


def test_allowed_tags_are_summed_over(session: tf.Session) -> None:
    inputs, _, transitions = problem()
    allowed = np.random.RandomState(1).rand(*inputs.shape) > 0.4
    allowed[..., 0] = True
    found = session.run(crf.crf_multitag_sequence_score(inputs, allowed, LENGTHS, transitions))
    for i, length in enumerate(LENGTHS):
        each = scores(inputs[i], length, transitions).items()
        some = [np.exp(s) for tags, s in each if all(allowed[i, t, tag] for t, tag in enumerate(tags))]
        np.testing.assert_allclose(found[i], np.log(sum(some)) if length else 0.0, atol=1e-12)


@pytest.mark.parametrize("time", [4, 1])
def test_the_best_sequence_is_that_of_an_enumeration(session: tf.Session, time: int) -> None:
    inputs, _, transitions = problem(time)
    lengths = np.minimum(LENGTHS, time)
    found, best = session.run(crf.crf_decode(inputs, transitions, lengths))
    assert (found.dtype, found.shape) == (np.int32, (len(lengths), time))
    for i, length in enumerate(lengths):
        if length:
            each = scores(inputs[i], length, transitions)
            expected = max(each, key=each.__getitem__)
            assert tuple(found[i, :length]) == expected
            np.testing.assert_allclose(best[i], each[expected])
            tags, value = crf.viterbi_decode(inputs[i, :length], transitions)
            assert tuple(tags) == expected
            np.testing.assert_allclose(value, each[expected])


def test_the_gradient_is_that_of_finite_differences(session: tf.Session) -> None:
    inputs, tags, transitions = problem()
    x, pairs = tf.placeholder(tf.float64, inputs.shape), tf.placeholder(tf.float64, transitions.shape)
    total = tf.reduce_sum(crf.crf_log_likelihood(x, tags, LENGTHS, pairs)[0])
    given = {x: inputs, pairs: transitions}
    for grad, (fed, value) in zip(session.run(tf.gradients(total, [x, pairs]), given), given.items(), strict=True):
        for place in list(np.ndindex(value.shape))[::7]:
            step = np.zeros(value.shape)
            step[place] = 1e-6
            above, below = (session.run(total, {**given, fed: value + sign * step}) for sign in (1, -1))
            np.testing.assert_allclose(grad[place], (above - below) / 2e-6, atol=1e-6)


def test_transitions_are_learned(session: tf.Session) -> None:
    tags = np.array([[0, 1, 2, 0, 1, 2]] * 4)
    likelihood, transitions = crf.crf_log_likelihood(tf.zeros([4, 6, TAGS]), tags, [6] * 4)
    assert transitions.op.name == "transitions"
    train = tf.train.GradientDescentOptimizer(0.5).minimize(-tf.reduce_mean(likelihood))
    session.run(tf.global_variables_initializer())
    for _ in range(30):
        session.run(train)
    learned = session.run(transitions)
    assert learned.argmax(1).tolist() == [1, 2, 0]
    assert crf.viterbi_decode(np.eye(6, TAGS), learned)[0] == [0, 1, 2, 0, 1, 2]
