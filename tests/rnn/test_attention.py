"""Attention mechanisms against their equations, and the wrapper that asks them at each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors, rnn_cell
from penstock.contrib import seq2seq

RNG = np.random.default_rng(1)
MEMORY, QUERY, LENGTHS = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 5)), [4, 2]
STATE = np.zeros((2, 4))


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


def run(found: Any) -> tuple[Any, dict[str, Any]]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value, values = session.run([found, tf.global_variables()])
    return value, {v.op.name: x for v, x in zip(tf.global_variables(), values, strict=True)}


def softmax(score: Any, lengths: Any = LENGTHS) -> Any:
    score = np.where(np.arange(score.shape[1]) < np.array(lengths)[:, None], score, -np.inf)
    exp = np.exp(score - score.max(1, keepdims=True))
    return exp / exp.sum(1, keepdims=True)


@pytest.mark.parametrize("scale", [True, False])
def test_luong_scores_are_products_with_keys(scale: bool) -> None:
    mechanism = seq2seq.LuongAttention(5, tf.constant(MEMORY), LENGTHS, scale=scale)
    with tf.variable_scope("", initializer=tf.constant_initializer(0.5)):
        alignments, state = mechanism(tf.constant(QUERY), tf.constant(STATE))
    assert alignments is state
    found, v = run(alignments)
    assert sorted(v) == (["luong_attention/attention_g"] if scale else []) + ["memory_layer/kernel"]
    np.testing.assert_array_equal(found[1, 2:], 0)
    masked = MEMORY * (np.arange(4) < np.array(LENGTHS)[:, None])[:, :, None]
    keys = masked @ v["memory_layer/kernel"]
    np.testing.assert_allclose(found, softmax((keys @ QUERY[:, :, None])[:, :, 0]))
    with pytest.raises(ValueError, match="inner dimensions"):
        mechanism(tf.constant(QUERY[:, :3]), tf.constant(STATE))


@pytest.mark.parametrize("normalize", [True, False])
def test_bahdanau_scores_are_a_layer_of_tanh(normalize: bool) -> None:
    mechanism = seq2seq.BahdanauAttention(6, tf.constant(MEMORY), LENGTHS, normalize=normalize)
    found, v = run(mechanism(tf.constant(QUERY), tf.constant(STATE))[0])
    name = "bahdanau_attention"
    masked = MEMORY * (np.arange(4) < np.array(LENGTHS)[:, None])[:, :, None]
    hidden = masked @ v["memory_layer/kernel"] + (QUERY @ v[f"{name}/query_layer/kernel"])[:, None]
    weight = v[f"{name}/attention_v"]
    if normalize:
        np.testing.assert_allclose(v[f"{name}/attention_g"], np.sqrt(1 / 6))
        weight = v[f"{name}/attention_g"] * weight / np.linalg.norm(weight)
        hidden = hidden + v[f"{name}/attention_b"]
    np.testing.assert_allclose(found, softmax((weight * np.tanh(hidden)).sum(2)))


def test_a_mechanism_has_its_memory_and_may_have_other_probabilities() -> None:
    mechanism = seq2seq.LuongAttention(
        5, tf.constant(MEMORY), LENGTHS, probability_fn=seq2seq.hardmax, score_mask_value=-1e9
    )
    assert mechanism.batch_size == 2 and mechanism.alignments_size == mechanism.state_size == 4
    (alignments, values), _ = run([mechanism(tf.constant(QUERY), tf.constant(STATE))[0], mechanism.values])
    assert sorted(alignments.reshape(-1)) == [0] * 6 + [1] * 2 and alignments[1, :2].sum() == 1
    np.testing.assert_array_equal(values[1, 2:], 0)
    np.testing.assert_array_equal(values[0], MEMORY[0])
    with pytest.raises(ValueError, match="fully defined inner dims"):
        seq2seq.LuongAttention(5, tf.placeholder(tf.float32, [2, 4, None]))


def test_lengths_of_zero_fail_in_the_step() -> None:
    lengths = tf.placeholder(tf.int32, [2])
    mechanism = seq2seq.LuongAttention(5, tf.constant(MEMORY), lengths)
    found = mechanism(tf.constant(QUERY), tf.constant(STATE))[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match="greater than zero"):
            session.run(found, {lengths: [0, 2]})


def test_hardmax_is_one_at_the_first_maximum() -> None:
    found, _ = run(seq2seq.hardmax(tf.constant([[1.0, 3, 3], [2, 0, 1]])))
    np.testing.assert_array_equal(found, [[0, 1, 0], [1, 0, 0]])


# --- the wrapper ----------------------------------------------------------------------------------------


def wrapped(**kwargs: Any) -> Any:
    mechanism = seq2seq.LuongAttention(5, tf.constant(MEMORY), LENGTHS)
    return seq2seq.AttentionWrapper(rnn_cell.BasicRNNCell(5), mechanism, **kwargs)


def test_the_wrapper_gives_the_attention_of_the_cells_output() -> None:
    cell = wrapped(attention_layer_size=6)
    assert cell.output_size == 6 and cell.state_size.attention == 6 and cell.state_size.cell_state == 5
    state = cell.zero_state(2, tf.float64)
    x = RNG.normal(size=(2, 3))
    (output, after), v = run(cell(tf.constant(x), state._replace(attention=tf.constant(QUERY[:, [0] * 6]))))
    name = "attention_wrapper"
    assert list(v) == [
        "memory_layer/kernel",
        f"{name}/basic_rnn_cell/kernel",
        f"{name}/basic_rnn_cell/bias",
        f"{name}/attention_layer/kernel",
    ]
    inputs = np.hstack([x, QUERY[:, [0] * 6], np.zeros((2, 5))])
    h = np.tanh(inputs @ v[f"{name}/basic_rnn_cell/kernel"] + v[f"{name}/basic_rnn_cell/bias"])
    masked = MEMORY * (np.arange(4) < np.array(LENGTHS)[:, None])[:, :, None]
    alignments = softmax((masked @ v["memory_layer/kernel"] @ h[:, :, None])[:, :, 0])
    context = (alignments[:, :, None] * masked).sum(1)
    np.testing.assert_allclose(after.alignments, alignments)
    np.testing.assert_allclose(output, np.hstack([h, context]) @ v[f"{name}/attention_layer/kernel"])
    np.testing.assert_array_equal(after.attention, output)
    assert after.time == 1 and after.alignment_history == ()


def test_without_a_layer_the_attention_is_the_context_and_the_output_may_be_the_cells() -> None:
    cell = wrapped(output_attention=False, cell_input_fn=lambda inputs, attention: inputs)
    assert cell.output_size == 5 and cell.state_size.attention == 3
    output, after = cell(tf.constant(QUERY), cell.zero_state(2, tf.float64))
    (output, after), v = run([output, after])
    assert v["attention_wrapper/basic_rnn_cell/kernel"].shape == (10, 5)
    np.testing.assert_array_equal(output, after.cell_state)
    np.testing.assert_allclose(after.attention, (after.alignments[:, :, None] * MEMORY).sum(1))


def test_several_mechanisms_are_joined() -> None:
    one = seq2seq.LuongAttention(5, tf.constant(MEMORY), LENGTHS)
    two = seq2seq.BahdanauAttention(6, tf.constant(MEMORY[:, :3]))
    cell = seq2seq.AttentionWrapper(rnn_cell.GRUCell(5), [one, two], [6, 7], alignment_history=True)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(RNG.normal(size=(2, 3, 4))), dtype=tf.float64)
    history = [array.stack() for array in state.alignment_history]
    (outputs, history, last), v = run([outputs, history, state.alignments])
    assert outputs.shape == (2, 3, 13) and [h.shape for h in history] == [(3, 2, 4), (3, 2, 3)]
    np.testing.assert_array_equal(history[1][-1], last[1])
    assert "memory_layer_1/kernel" in v and v["rnn/attention_wrapper/attention_layer_1/kernel"].shape == (8, 7)
    with pytest.raises(ValueError, match="exactly one integer per attention_mechanism"):
        seq2seq.AttentionWrapper(rnn_cell.GRUCell(5), [one, two], [6])
    with pytest.raises(TypeError, match="AttentionMechanism"):
        seq2seq.AttentionWrapper(rnn_cell.GRUCell(5), "attention")
    with pytest.raises(ValueError, match="Only one of"):
        seq2seq.AttentionWrapper(rnn_cell.GRUCell(5), one, 6, attention_layer=tf.layers.Dense(6))


def test_a_state_can_be_cloned_with_other_parts_of_the_same_shape() -> None:
    cell = wrapped(initial_cell_state=tf.constant(QUERY))
    state = cell.zero_state(2, tf.float64)
    other = state.clone(cell_state=tf.zeros([2, 5], tf.float64))
    assert other.attention is state.attention
    (first, second), _ = run([state.cell_state, other.cell_state])
    np.testing.assert_array_equal(first, QUERY)
    np.testing.assert_array_equal(second, np.zeros((2, 5)))
    with pytest.raises(ValueError, match="compatible"):
        state.clone(cell_state=tf.zeros([2, 6], tf.float64))
    with pytest.raises(TypeError, match="AttentionWrapperState"):
        cell(tf.constant(QUERY), tf.constant(QUERY))


def test_a_memory_of_another_batch_size_is_refused() -> None:
    cell = wrapped()
    with pytest.raises(errors.InvalidArgumentError, match="tile_batch"):
        cell.zero_state(3, tf.float64)
    size = tf.placeholder(tf.int32, [])
    state = cell.zero_state(size, tf.float64)
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match="tile_batch"):
        session.run(state.cell_state, {size: 3})


# --- monotonic attention --------------------------------------------------------------------------------


def monotonic(p: Any, before: Any) -> Any:
    """By the definition: from each place, on to the next with 1 - p, until one is chosen."""
    found = np.zeros_like(p)
    for row, start in np.ndindex(*p.shape):
        here = before[row, start]
        for place in range(start, p.shape[1]):
            found[row, place] += here * p[row, place]
            here *= 1 - p[row, place]
    return found


@pytest.mark.parametrize("mode", ["recursive", "parallel", "hard"])
def test_monotonic_attention_goes_on_from_where_it_was(mode: str) -> None:
    p = RNG.uniform(size=(3, 5))
    before = RNG.dirichlet(np.ones(5), 3)
    if mode == "hard":
        p, before = (p > 0.5).astype(float), np.eye(5)[[0, 2, 4]]
    chosen = tf.constant(p)
    found = seq2seq.monotonic_attention(chosen, before, mode)
    (found, slope), _ = run([found, tf.gradients(found[:, 3:], chosen)[0]])
    np.testing.assert_allclose(found, monotonic(p, before), rtol=1e-6, atol=1e-12)
    assert np.isfinite(slope).all()
    with pytest.raises(ValueError, match="mode must be"):
        seq2seq.monotonic_attention(p, before, "soft")


def test_a_safe_product_has_a_gradient_at_zero() -> None:
    x = tf.constant([[0.5, 0.0, 0.5]])
    product = seq2seq.safe_cumprod(x, axis=1)
    (found, slope), _ = run([product, tf.gradients(product, x)[0]])
    np.testing.assert_allclose(found, [[0.5, 0, 0]], atol=1e-30)
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("mode", ["parallel", "hard"])
@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_monotonic_mechanisms_start_at_the_first_step(kind: str, mode: str) -> None:
    make: Any = seq2seq.BahdanauMonotonicAttention if kind == "bahdanau" else seq2seq.LuongMonotonicAttention
    mechanism = make(5, tf.constant(MEMORY), LENGTHS, score_bias_init=-0.5, mode=mode)
    start = mechanism.initial_state(2, tf.float64)
    first, _ = mechanism(tf.constant(QUERY), start)
    noisy = make(5, tf.constant(MEMORY), LENGTHS, sigmoid_noise=1.0)
    assert noisy(tf.constant(QUERY), start)[0].shape.as_list() == [2, 4]
    (start, first), v = run([start, first])
    np.testing.assert_array_equal(start, [[1, 0, 0, 0]] * 2)
    masked = MEMORY * (np.arange(4) < np.array(LENGTHS)[:, None])[:, :, None]
    keys, name = masked @ v["memory_layer/kernel"], f"{kind}_monotonic_attention"
    assert v[f"{name}/attention_score_bias"] == -0.5
    if kind == "luong":
        score = (keys @ QUERY[:, :, None])[:, :, 0]
    else:
        hidden = np.tanh(keys + (QUERY @ v[f"{name}/query_layer/kernel"])[:, None])
        score = (v[f"{name}/attention_v"] * hidden).sum(2)
    score = np.where(np.arange(4) < np.array(LENGTHS)[:, None], score - 0.5, -np.inf)
    p = (score > 0).astype(float) if mode == "hard" else 1 / (1 + np.exp(-score))
    np.testing.assert_allclose(first, monotonic(p, start), rtol=1e-6, atol=1e-9)
