"""Cells of tf.contrib.rnn against their equations, their variables, and runs over all steps at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import rnn_cell
from penstock.contrib import rnn
from tests.rnn.reference import lstm, sigmoid

RNG = np.random.default_rng(0)
X, C, H = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 4)), RNG.normal(size=(2, 4))
XS = RNG.normal(size=(5, 2, 3))


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


def run(build: Any) -> tuple[Any, dict[str, Any]]:
    """(what `build` makes, variables by name), the variables being random."""
    with tf.variable_scope("", initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
        found = build()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value, values = session.run([found, tf.global_variables()])
    return value, {v.op.name: x for v, x in zip(tf.global_variables(), values, strict=True)}


def lstm_state() -> Any:
    return rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H))


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def test_a_ugrnn_cell_mixes_its_state_with_a_candidate() -> None:
    (output, state), v = run(lambda: rnn.UGRNNCell(4)(tf.constant(X), tf.constant(H)))
    assert list(v) == ["ugrnn_cell/kernel", "ugrnn_cell/bias"]
    gate, candidate = np.split(np.hstack([X, H]) @ v["ugrnn_cell/kernel"] + v["ugrnn_cell/bias"], 2, 1)
    g = sigmoid(gate + 1)
    np.testing.assert_allclose(state, g * H + (1 - g) * np.tanh(candidate))
    np.testing.assert_array_equal(output, state)


def test_an_intersection_rnn_cell_projects_inputs_of_another_size() -> None:
    with pytest.raises(ValueError, match="num_in_proj"):
        rnn.IntersectionRNNCell(4)(tf.constant(X), tf.constant(H), scope="refused")
    (output, state), v = run(lambda: rnn.IntersectionRNNCell(4, num_in_proj=4)(tf.constant(X), tf.constant(H)))
    name = "intersection_rnn_cell"
    x = X @ v[f"{name}/in_projection/kernel"] + v[f"{name}/in_projection/bias"]
    gate_h, h, gate_y, y = np.split(np.hstack([x, H]) @ v[f"{name}/kernel"] + v[f"{name}/bias"], 4, 1)
    keep, through = sigmoid(gate_h + 1), sigmoid(gate_y + 1)
    np.testing.assert_allclose(state, keep * H + (1 - keep) * np.tanh(h))
    np.testing.assert_allclose(output, through * x + (1 - through) * relu(y))


def test_a_nas_cell_follows_its_tree_and_projects_its_output() -> None:
    before = rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H[:, :2]))
    (output, state), v = run(lambda: rnn.NASCell(4, num_proj=2, use_bias=True)(tf.constant(X), before))
    assert set(v) == {f"nas_cell/{part}" for part in ("recurrent_kernel", "kernel", "bias", "projection_weights")}
    s = np.split(H[:, :2] @ v["nas_cell/recurrent_kernel"] + v["nas_cell/bias"], 8, 1)
    x = np.split(X @ v["nas_cell/kernel"], 8, 1)
    leaves = [
        sigmoid(x[0] + s[0]), relu(x[1] + s[1]), sigmoid(x[2] + s[2]), relu(x[3] * s[3]),
        np.tanh(x[4] + s[4]), sigmoid(x[5] + s[5]), np.tanh(x[6] + s[6]), sigmoid(x[7] + s[7]),
    ]  # fmt: skip
    c = np.tanh(np.tanh(leaves[0] * leaves[1]) + C) * np.tanh(leaves[2] + leaves[3])
    rest = np.tanh(np.tanh(leaves[4] * leaves[5]) + sigmoid(leaves[6] + leaves[7]))
    np.testing.assert_allclose(state.c, c)
    np.testing.assert_allclose(output, np.tanh(c * rest) @ v["nas_cell/projection_weights"])


@pytest.mark.parametrize("as_tuple", [True, False])
def test_a_coupled_lstm_takes_in_what_it_forgets(as_tuple: bool) -> None:
    cell = rnn.CoupledInputForgetGateLSTMCell(
        4, use_peepholes=True, num_proj=2, proj_clip=0.5, state_is_tuple=as_tuple, num_unit_shards=2
    )
    before = rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H[:, :2]))
    given = before if as_tuple else tf.concat(list(before), 1)
    (output, state), v = run(lambda: cell(tf.constant(X), given))
    v = {key.removeprefix("coupled_input_forget_gate_lstm_cell/"): value for key, value in v.items()}
    assert v["W_0"].shape == (3, 12) and v["W_1"].shape == (2, 12)
    j, f, o = np.split(np.hstack([X, H[:, :2]]) @ np.vstack([v["W_0"], v["W_1"]]) + v["B"], 3, 1)
    f = sigmoid(f + 1 + v["w_f_diag"] * C)
    c = f * C + (1 - f) * np.tanh(j)
    h = np.clip(sigmoid(o + v["w_o_diag"] * c) * np.tanh(c) @ v["W_P_0"], -0.5, 0.5)
    np.testing.assert_allclose(output, h)
    np.testing.assert_allclose(np.hstack(state) if as_tuple else state, np.hstack([c, h]))


def test_a_coupled_lstm_can_normalize_its_gates() -> None:
    cell = rnn.CoupledInputForgetGateLSTMCell(4, layer_norm=True, norm_gain=0.5, norm_shift=0.1)
    (_, state), v = run(lambda: cell(tf.constant(X), lstm_state()))
    name = "coupled_input_forget_gate_lstm_cell"
    assert f"{name}/B" not in v and f"{name}/transform/gamma" in v

    def norm(x: Any) -> Any:
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) * 0.5 + 0.1

    j, f, o = map(norm, np.split(np.hstack([X, H]) @ v[f"{name}/W_0"], 3, 1))
    f = sigmoid(f + 1)
    c = norm(f * C + (1 - f) * np.tanh(j))
    np.testing.assert_allclose(state.c, c, rtol=1e-6)
    np.testing.assert_allclose(state.h, sigmoid(o) * np.tanh(c), rtol=1e-6)


def test_a_convolutional_lstm_whose_kernel_is_one_step_is_an_lstm_in_each_place() -> None:
    images = RNG.normal(size=(2, 3, 2, 3))
    c, h = RNG.normal(size=(2, 3, 2, 4)), RNG.normal(size=(2, 3, 2, 4))
    cell = rnn.Conv2DLSTMCell(input_shape=[3, 2, 3], output_channels=4, kernel_shape=[1, 1], skip_connection=True)
    assert cell.output_size.as_list() == [3, 2, 7]
    before = rnn_cell.LSTMStateTuple(tf.constant(c), tf.constant(h))
    (output, state), v = run(lambda: cell(tf.constant(images), before))
    assert list(v) == ["conv_2d_lstm_cell/kernel", "conv_2d_lstm_cell/biases"]
    kernel = v["conv_2d_lstm_cell/kernel"].reshape(7, 16)
    x, old_c, old_h = (value.reshape(-1, value.shape[-1]) for value in (images, c, h))
    new_c, new_h = lstm(x, old_c, old_h, kernel, v["conv_2d_lstm_cell/biases"])
    np.testing.assert_allclose(state.c.reshape(-1, 4), new_c)
    np.testing.assert_allclose(output, np.concatenate([new_h.reshape(2, 3, 2, 4), images], -1))


@pytest.mark.parametrize("ndims", [1, 2, 3])
def test_convolutional_lstms_run_in_any_number_of_dimensions(ndims: int) -> None:
    make = {1: rnn.Conv1DLSTMCell, 2: rnn.Conv2DLSTMCell, 3: rnn.Conv3DLSTMCell}[ndims]
    cell = make(input_shape=[4] * ndims + [2], output_channels=3, kernel_shape=[3] * ndims)
    inputs = tf.constant(RNG.normal(size=(2, 5, *[4] * ndims, 2)).astype("float32"))
    outputs, state = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 5, *[4] * ndims, 3]
    (grad,) = tf.gradients(tf.reduce_sum(outputs), [tf.trainable_variables()[0]])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, last, slope = session.run([outputs, state, grad])
    np.testing.assert_array_equal(found[:, -1], last.h)
    assert np.abs(slope).sum() > 0
    with pytest.raises(ValueError, match="Invalid input_shape"):
        rnn.ConvLSTMCell(ndims, [4, 4, 4, 4, 2], 3, [3])


@pytest.mark.parametrize("as_tuple", [True, False])
def test_an_attention_cell_attends_to_its_last_outputs(as_tuple: bool) -> None:
    inner = rnn_cell.BasicRNNCell(4)
    cell = rnn.AttentionCellWrapper(inner, attn_length=3, attn_vec_size=5, state_is_tuple=as_tuple)
    seen, kept = RNG.normal(size=(2, 4)), RNG.normal(size=(2, 12))
    parts = [tf.constant(value) for value in (H, seen, kept)]
    (output, state), v = run(lambda: cell(tf.constant(X), tuple(parts) if as_tuple else tf.concat(parts, 1)))
    v = {key.removeprefix("attention_cell_wrapper/"): value for key, value in v.items()}
    x = np.hstack([X, seen]) @ v["kernel"] + v["bias"]
    h = np.tanh(np.hstack([x, H]) @ v["basic_rnn_cell/kernel"] + v["basic_rnn_cell/bias"])
    past = kept.reshape(2, 3, 4)
    query = (h @ v["attention/kernel"] + v["attention/bias"])[:, None]
    score = (v["attention/attn_v"] * np.tanh(past @ v["attention/attn_w"][0, 0] + query)).sum(2)
    share = np.exp(score) / np.exp(score).sum(1, keepdims=True)
    mixed = (share[:, :, None] * past).sum(1)
    expected = np.hstack([h, mixed]) @ v["attn_output_projection/kernel"] + v["attn_output_projection/bias"]
    np.testing.assert_allclose(output, expected)
    after = np.hstack([h, mixed, past[:, 1:].reshape(2, 8), expected])
    np.testing.assert_allclose(np.hstack(state) if as_tuple else state, after)


@pytest.mark.parametrize("coupled", [True, False])
def test_a_highway_carries_inputs_past_the_cell(coupled: bool) -> None:
    cell = rnn.HighwayWrapper(rnn_cell.BasicRNNCell(3), couple_carry_transform_gates=coupled, carry_bias_init=0.5)
    h = RNG.normal(size=(2, 3))
    (output, state), v = run(lambda: cell(tf.constant(X), tf.constant(h)))
    carry = sigmoid(X @ v["carry_w"] + v["carry_b"])
    np.testing.assert_array_equal(v["carry_b"], [0.5] * 3)
    transform = 1 - carry if coupled else sigmoid(X @ v["transform_w"] + v["transform_b"])
    assert coupled or (v["transform_b"] == -0.5).all()
    np.testing.assert_allclose(output, X * carry + state * transform)


def test_a_fused_lstm_is_an_lstm_over_time_with_names_of_its_own() -> None:
    lengths = [5, 3]
    fused = rnn.LSTMBlockFusedCell(4, use_peephole=True, cell_clip=1.0)
    (outputs, state), v = run(lambda: fused(tf.constant(XS), lstm_state(), sequence_length=lengths))
    assert set(v) == {f"lstm_fused_cell/{p}" for p in ("kernel", "bias", "w_i_diag", "w_f_diag", "w_o_diag")}
    with tf.Graph().as_default():
        cell = rnn_cell.LSTMCell(4, use_peepholes=True, cell_clip=1.0)
        found = tf.nn.dynamic_rnn(cell, tf.constant(XS), lengths, lstm_state(), time_major=True)
        with tf.Session() as session:
            feed = {var: v[var.op.name.replace("rnn/lstm_cell", "lstm_fused_cell")] for var in tf.global_variables()}
            session.run([var.assign(value) for var, value in feed.items()])
            plain, last = session.run(found)
    np.testing.assert_allclose(outputs, plain)
    np.testing.assert_allclose(np.hstack(state), np.hstack(last))


def test_fused_lstms_in_one_scope_have_variables_of_their_own() -> None:
    x = tf.constant(XS)
    with tf.variable_scope("both"):
        ahead, back = rnn.LSTMBlockFusedCell(4), rnn.LSTMBlockFusedCell(4)
        ahead(x, dtype=tf.float64)
        rnn.TimeReversedFusedRNN(back)(x, dtype=tf.float64, sequence_length=[5, 3])
        ahead(x, dtype=tf.float64)
    rnn.LSTMBlockFusedCell(4, name="named")(x, dtype=tf.float64, scope="other")
    with tf.variable_scope("both", reuse=True):
        shared = rnn.LSTMBlockFusedCell(4, reuse=True)
        shared(x, dtype=tf.float64)
    scopes = ["both/lstm_fused_cell", "both/lstm_fused_cell_1", "other"]
    assert [v.op.name for v in tf.global_variables()] == [f"{s}/{p}" for s in scopes for p in ("kernel", "bias")]
    assert shared.variables == ahead.variables and shared.name == back.name == "lstm_fused_cell"


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("lengths", [None, [5, 3]])
def test_a_time_reversed_fused_rnn_starts_at_the_end(dynamic: bool, as_list: bool, lengths: Any) -> None:
    if as_list and lengths is not None:
        return  # a list is turned as a whole
    inputs: Any = tf.unstack(tf.constant(XS)) if as_list else tf.constant(XS)
    adaptor = rnn.FusedRNNCellAdaptor(rnn_cell.BasicRNNCell(4), use_dynamic_rnn=dynamic)
    fused = rnn.TimeReversedFusedRNN(adaptor)
    (outputs, state), v = run(lambda: fused(inputs, dtype=tf.float64, sequence_length=lengths))
    assert isinstance(outputs, list) == as_list
    outputs = np.array(outputs)
    for row, length in enumerate(lengths or [5, 5]):
        h = np.zeros(4)
        for step in reversed(range(length)):
            h = np.tanh(np.hstack([XS[step, row], h]) @ v["rnn/basic_rnn_cell/kernel"] + v["rnn/basic_rnn_cell/bias"])
            np.testing.assert_allclose(outputs[step, row], h)
        np.testing.assert_allclose(state[row], h)


def test_stacked_bidirectional_rnns_join_both_outputs_for_the_next_layer() -> None:
    def build() -> Any:
        fw, bw = ([rnn_cell.BasicRNNCell(4), rnn_cell.BasicRNNCell(2)] for _ in range(2))
        return rnn.stack_bidirectional_rnn(fw, bw, tf.unstack(tf.constant(XS)), dtype=tf.float64)

    (outputs, forward, backward), v = run(build)
    assert outputs[0].shape == (2, 4) and [s.shape[1] for s in forward] == [4, 2]
    np.testing.assert_array_equal(outputs[-1][:, :2], forward[-1])
    np.testing.assert_array_equal(outputs[0][:, 2:], backward[-1])
    assert v["stack_bidirectional_rnn/cell_1/bidirectional_rnn/fw/basic_rnn_cell/kernel"].shape == (10, 2)
    with pytest.raises(ValueError, match="as many"):
        rnn.stack_bidirectional_rnn([rnn_cell.BasicRNNCell(4)], [rnn_cell.BasicRNNCell(4)] * 2, [])


def test_small_functions_of_contrib_rnn() -> None:
    value = tf.placeholder(tf.float32, [5, None, 3])
    assert rnn.transpose_batch_time(value).shape.as_list() == [None, 5, 3]
    assert rnn.best_effort_input_batch_size([tf.zeros([5, 2, 3])]) == 2
    assert rnn.core_rnn_cell.GRUCell is rnn.GRUCell
    assert rnn.CompiledWrapper(rnn_cell.GRUCell(4)).state_size == 4


def test_units_of_an_ind_rnn_see_only_their_own_states() -> None:
    (output, state), v = run(lambda: rnn.IndRNNCell(4)(tf.constant(X), tf.constant(H)))
    assert list(v) == ["ind_rnn_cell/kernel_w", "ind_rnn_cell/kernel_u", "ind_rnn_cell/bias"]
    assert v["ind_rnn_cell/kernel_u"].shape == (1, 4)
    weights, own, bias = v.values()
    np.testing.assert_allclose(state, np.tanh(X @ weights + own * H + bias))
    np.testing.assert_array_equal(output, state)


def phased(time: np.ndarray, x: np.ndarray, c: np.ndarray, h: np.ndarray, v: Any, peepholes: bool, leak: float) -> Any:
    """The equations of Neil, Pfeiffer and Liu (2016)."""

    def product(gate: str, *parts: np.ndarray) -> np.ndarray:
        return np.hstack(parts) @ v[f"phased_lstm_cell/{gate}/kernel"] + v[f"phased_lstm_cell/{gate}/bias"]

    i, f = np.split(sigmoid(product("mask_gates", x, h, *([c] if peepholes else []))), 2, 1)
    new_c = f * c + i * np.tanh(product("new_input", x, h))
    new_h = np.tanh(new_c) * sigmoid(product("output_gate", x, h, *([new_c] if peepholes else [])))
    period, phase, on = (v[f"phased_lstm_cell/{name}"] for name in ("period", "phase", "ratio_on"))
    cycle = (time - phase) % period / period
    k = np.where(cycle < on / 2, 2 * cycle / on, np.where(cycle < on, 2 - 2 * cycle / on, leak * cycle))
    return k * new_c + (1 - k) * c, k * new_h + (1 - k) * h


@pytest.mark.parametrize("peepholes", [False, True])
def test_a_phased_lstm_changes_its_units_in_a_part_of_their_periods(peepholes: bool) -> None:
    times = np.linspace(0, 30, 60, dtype=np.float32).reshape(60, 1)
    x, c, h = (RNG.normal(size=(60, n)).astype(np.float32) for n in (3, 4, 4))

    def build() -> Any:
        cell = rnn.PhasedLSTMCell(4, peepholes, leak=0.01, ratio_on=0.4, period_init_min=2.0, period_init_max=9.0)
        state = rnn_cell.LSTMStateTuple(tf.constant(c), tf.constant(h))
        return cell((tf.constant(times), tf.constant(x)), state)

    (output, (new_c, new_h)), v = run(build)
    gates = ("mask_gates", "new_input", "output_gate")
    assert list(v) == [
        *(f"phased_lstm_cell/{gate}/{part}" for gate in gates for part in ("kernel", "bias")),
        *(f"phased_lstm_cell/{name}" for name in ("period", "phase", "ratio_on")),
    ]
    period, phase = v["phased_lstm_cell/period"], v["phased_lstm_cell/phase"]
    assert ((period >= 2) & (period <= 9) & (phase >= 0) & (phase <= 9)).all()
    expected_c, expected_h = phased(times, x, c, h, v, peepholes, 0.01)
    np.testing.assert_allclose(new_c, expected_c, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(new_h, expected_h, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(output, new_h)


def test_a_phased_lstm_learns_its_periods_over_a_sequence() -> None:
    cell = rnn.PhasedLSTMCell(5, trainable_ratio_on=False)
    times = tf.constant(np.arange(12, dtype=np.float32).reshape(2, 6, 1) * 7)
    values = tf.constant(RNG.normal(size=(2, 6, 3)).astype(np.float32))
    outputs, state = tf.nn.dynamic_rnn(cell, (times, values), dtype=tf.float32)
    trained = [v.op.name.removeprefix("rnn/phased_lstm_cell/") for v in tf.trainable_variables()]
    assert trained[-2:] == ["period", "phase"]
    slopes = tf.gradients(tf.reduce_sum(outputs**2), tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, last, *slopes = session.run([outputs, state.h, *slopes])
    np.testing.assert_array_equal(found[:, -1], last)
    assert all(np.isfinite(slope).all() and np.abs(slope).max() > 0 for slope in slopes)


def test_a_layer_cell_of_a_program_builds_its_own_variables() -> None:
    class Doubling(rnn.LayerRNNCell):
        state_size = output_size = 3

        def build(self, inputs_shape: Any) -> None:
            self._kernel = self.add_variable("kernel", [inputs_shape[-1], 3])
            self.built = True

        def call(self, inputs: Any, state: Any) -> Any:
            found = tf.matmul(inputs, self._kernel) + 2 * state
            return found, found

    state = np.ones((2, 3))
    (output, _), v = run(lambda: Doubling()(tf.constant(X), tf.constant(state)))
    np.testing.assert_allclose(output, X @ v["doubling/kernel"] + 2 * state)
