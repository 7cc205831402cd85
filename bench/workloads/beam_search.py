"""Beam search in nested loops, 12 steps of 4 beams: a small matmul and top_k for each, TensorArrays, gathers.

Each step starts from the states that the one before ended with, so the check values depend on every choice.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

STEPS, BEAMS, UNITS, WORDS = 12, 4, 32, 64


def parameters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights [UNITS, WORDS], a vector for each word [WORDS, UNITS], and the first states [BEAMS, UNITS]."""
    rng = np.random.RandomState(0)
    weights, words, states = rng.randn(UNITS, WORDS) * 0.3, rng.randn(WORDS, UNITS), rng.randn(BEAMS, UNITS)
    return weights.astype(np.float32), words.astype(np.float32), states.astype(np.float32)


def build(tf: ModuleType) -> Callable[[], float]:
    weights_value, words_value, states_value = parameters()
    weights, words = tf.Variable(weights_value), tf.Variable(words_value)
    first_states = tf.placeholder(tf.float32, [BEAMS, UNITS])

    def one_step(t: Any, states: Any, scores: Any, chosen: Any) -> Any:
        """Continue each beam by its best words, and keep the best of all those."""

        def one_beam(beam: Any, values: Any, indices: Any) -> Any:
            state = tf.expand_dims(tf.gather(states, beam), 0)
            best, which = tf.nn.top_k(tf.nn.log_softmax(tf.matmul(state, weights)), BEAMS)
            return beam + 1, values.write(beam, best + tf.gather(scores, beam)), indices.write(beam, which)

        arrays = tf.TensorArray(tf.float32, BEAMS), tf.TensorArray(tf.int32, BEAMS)
        _, values, indices = tf.while_loop(lambda beam, *_: beam < BEAMS, one_beam, (tf.constant(0), *arrays))
        scores, places = tf.nn.top_k(tf.reshape(values.stack(), [-1]), BEAMS)
        word = tf.gather(tf.reshape(indices.stack(), [-1]), places)
        states = tf.tanh(tf.gather(states, places // BEAMS) + tf.gather(words, word))
        return t + 1, states, scores, chosen.write(t, word)

    _, last_states, scores, chosen = tf.while_loop(
        lambda t, *_: t < STEPS,
        one_step,
        (tf.constant(0), first_states, tf.zeros([BEAMS]), tf.TensorArray(tf.int32, STEPS)),
    )
    fetches = [scores, last_states, chosen.stack()]

    session = tf.Session()
    session.run(tf.global_variables_initializer())

    def step() -> float:
        nonlocal states_value
        scores_value, states_value, _ = session.run(fetches, {first_states: states_value})
        return float(scores_value.sum())

    return step
