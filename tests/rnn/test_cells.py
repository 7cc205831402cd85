"""Cells against their equations, and the names of their variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import rnn_cell
from penstock.contrib import rnn as contrib_rnn
from penstock.rnn.static import static_rnn
from tests.rnn.reference import gru, lstm, sigmoid

RNG = np.random.default_rng(0)
X, C, H = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 4)), RNG.normal(size=(2, 4))


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


def names() -> list[str]:
    return [v.op.name for v in tf.global_variables()]


def run_cell(cell: Any, state: Any) -> tuple[Any, Any, dict[str, Any]]:
    """(output, new state, variables by the last part of their name), the variables being random."""
    with tf.variable_scope("", initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
        found = cell(tf.constant(X), state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        output, new_state, values = session.run([*found, tf.global_variables()])
    return output, new_state, dict(zip(names(), values, strict=True))


def test_a_basic_rnn_cell_is_a_tanh_of_a_product() -> None:
    output, state, v = run_cell(rnn_cell.BasicRNNCell(4), tf.constant(H))
    expected = np.tanh(np.concatenate([X, H], 1) @ v["basic_rnn_cell/kernel"] + v["basic_rnn_cell/bias"])
    np.testing.assert_allclose(output, expected)
    np.testing.assert_allclose(state, expected)


def test_a_gru_follows_its_equations_and_its_gates_start_open() -> None:
    _, state, v = run_cell(rnn_cell.GRUCell(4), tf.constant(H))
    parts = [f"gru_cell/{part}" for part in ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")]
    assert list(v) == parts
    np.testing.assert_array_equal(v["gru_cell/gates/bias"], np.ones(8))
    np.testing.assert_allclose(state, gru(X, H, *(v[part] for part in parts)))


def test_block_grus_are_grus_by_two_sets_of_names() -> None:
    _, state, v = run_cell(contrib_rnn.GRUBlockCell(4), tf.constant(H))
    parts = [v[f"gru_cell/{part}"] for part in ("w_ru", "b_ru", "w_c", "b_c")]
    np.testing.assert_allclose(state, gru(X, H, *parts))
    contrib_rnn.GRUBlockCellV2(cell_size=4)(tf.constant(X), tf.constant(H), scope="two")
    assert "two/candidate/kernel" in names()


@pytest.mark.parametrize("as_tuple", [True, False])
@pytest.mark.parametrize("kind", ["basic_lstm_cell", "lstm_cell"])
def test_an_lstm_follows_its_equations_with_both_kinds_of_state(kind: str, as_tuple: bool) -> None:
    make = rnn_cell.BasicLSTMCell if kind == "basic_lstm_cell" else rnn_cell.LSTMCell
    state = rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H)) if as_tuple else tf.constant(np.hstack([C, H]))
    output, new_state, v = run_cell(make(4, forget_bias=0.5, state_is_tuple=as_tuple), state)
    c, h = lstm(X, C, H, v[f"{kind}/kernel"], v[f"{kind}/bias"], 0.5)
    np.testing.assert_allclose(output, h)
    np.testing.assert_allclose(np.hstack(new_state) if as_tuple else new_state, np.hstack([c, h]))


@pytest.mark.parametrize("block", [True, False])
def test_an_lstm_with_peepholes_clipping_and_projection_follows_its_equations(block: bool) -> None:
    cell: Any = rnn_cell.LSTMCell(4, use_peepholes=True, cell_clip=0.3, num_proj=2, proj_clip=0.1)
    if block:
        cell = contrib_rnn.LSTMBlockCell(4, use_peephole=True, cell_clip=0.3)
    before = H if block else H[:, :2]
    output, state, v = run_cell(cell, rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(before)))
    v = {name.removeprefix("lstm_cell/"): value for name, value in v.items()}
    i, j, f, o = np.split(np.concatenate([X, before], 1) @ v["kernel"] + v["bias"], 4, 1)
    f, i = f + 1 + v["w_f_diag"] * C, i + v["w_i_diag"] * C
    c = np.clip(sigmoid(f) * C + sigmoid(i) * np.tanh(j), -0.3, 0.3)
    h = sigmoid(o + v["w_o_diag"] * c) * np.tanh(c)
    np.testing.assert_allclose(state.c, c)
    np.testing.assert_allclose(output, h if block else np.clip(h @ v["projection/kernel"], -0.1, 0.1))


def test_layer_normalization_in_an_lstm_follows_its_equations() -> None:
    state = rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H))
    output, new_state, v = run_cell(contrib_rnn.LayerNormBasicLSTMCell(4), state)
    assert "layer_norm_basic_lstm_cell/transform/gamma" in v
    assert "layer_norm_basic_lstm_cell/bias" not in v

    def norm(x: Any) -> Any:
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)

    i, j, f, o = map(norm, np.split(np.concatenate([X, H], 1) @ v["layer_norm_basic_lstm_cell/kernel"], 4, 1))
    c = norm(C * sigmoid(f + 1) + sigmoid(i) * np.tanh(j))
    np.testing.assert_allclose(new_state.c, c, atol=1e-7)
    np.testing.assert_allclose(output, np.tanh(c) * sigmoid(o), atol=1e-7)


def test_stacked_cells_are_named_by_their_number() -> None:
    cell = rnn_cell.MultiRNNCell([rnn_cell.DropoutWrapper(rnn_cell.BasicLSTMCell(4)), rnn_cell.GRUCell(2)])
    outputs, state = static_rnn(cell, [tf.zeros([5, 3])] * 2, dtype=tf.float32)
    assert [name for name in names() if name.endswith("kernel")] == [
        "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel",
        "rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel",
        "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/kernel",
    ]
    assert outputs[0].shape.as_list() == [5, 2]
    assert isinstance(state[0], rnn_cell.LSTMStateTuple)
    assert len(cell.trainable_weights) == 6


def test_stacked_cells_without_tuples_join_their_states() -> None:
    cell = rnn_cell.MultiRNNCell([rnn_cell.GRUCell(4), rnn_cell.GRUCell(2)], state_is_tuple=False)
    assert cell.state_size == 6
    _, state = cell(tf.zeros([5, 3]), cell.zero_state(5, tf.float32))
    assert state.shape.as_list() == [5, 6]
    with pytest.raises(ValueError, match="state_is_tuple"):
        rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(4)], state_is_tuple=False)


def test_a_cell_shares_its_variables_between_calls_and_two_cells_do_not() -> None:
    one, other = rnn_cell.BasicRNNCell(4), rnn_cell.BasicRNNCell(4)
    x, state = tf.zeros([2, 3]), tf.zeros([2, 4])
    one(x, state)
    one(x, state)
    other(x, state)
    assert names() == [
        f"{cell}/{part}" for cell in ("basic_rnn_cell", "basic_rnn_cell_1") for part in ("kernel", "bias")
    ]


def test_a_scope_opened_again_with_reuse_shares_the_variables_of_a_new_cell() -> None:
    x = [tf.zeros([2, 3])]
    for reuse in (None, True):
        with tf.variable_scope("model", reuse=reuse):
            static_rnn(rnn_cell.BasicLSTMCell(4), x, dtype=tf.float32)
    static_rnn(rnn_cell.BasicLSTMCell(4, reuse=tf.AUTO_REUSE, name="own"), x, dtype=tf.float32, scope="there")
    assert names() == [
        "model/rnn/basic_lstm_cell/kernel",
        "model/rnn/basic_lstm_cell/bias",
        "there/own/kernel",
        "there/own/bias",
    ]


def test_a_given_scope_takes_the_place_of_the_cells_own() -> None:
    rnn_cell.BasicRNNCell(4)(tf.zeros([2, 3]), tf.zeros([2, 4]), scope="mine")
    assert names() == ["mine/kernel", "mine/bias"]


def test_cells_of_other_makers_may_override_only_the_call_operator() -> None:
    class Counter(rnn_cell.RNNCell):
        def __init__(self, size: int) -> None:
            self.size = size

        @property
        def state_size(self) -> int:
            return self.size

        @property
        def output_size(self) -> int:
            return self.size

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            with tf.variable_scope(scope or "counter"):
                step = tf.get_variable("step", [], initializer=tf.ones_initializer())
            return state + step, state + step

    outputs, _ = static_rnn(Counter(3), [tf.zeros([2, 1])] * 4, dtype=tf.float32)
    assert names() == ["rnn/counter/step"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(outputs[3]), np.full([2, 3], 4))


def test_cells_of_other_makers_may_build_variables_and_override_call() -> None:
    class Scaled(rnn_cell.RNNCell):
        state_size = output_size = 3

        def build(self, inputs_shape: Any) -> None:
            self.gain = self.add_variable("gain", [inputs_shape[-1]], initializer=tf.ones_initializer())
            self.built = True

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs * self.gain, state

    cell = Scaled()
    cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    assert names() == ["scaled/gain"]
    assert cell.trainable_weights == [cell.gain]


def test_the_zero_state_has_the_structure_of_the_state_size() -> None:
    state = rnn_cell.BasicLSTMCell(4).zero_state(tf.placeholder(tf.int32, []), tf.float64)
    assert isinstance(state, rnn_cell.LSTMStateTuple)
    assert state.c.shape.as_list() == [None, 4]
    assert state.dtype == tf.float64
    assert rnn_cell.GRUCell(4).zero_state(3, tf.float32).shape.as_list() == [3, 4]


def test_cells_of_programs_find_what_is_inside_tensorflows() -> None:
    """`_Linear` makes its variables once, and then is a function."""
    from penstock.rnn_cell import _like_rnncell, _Linear, assert_like_rnncell

    a, b = tf.ones([2, 3]), tf.ones([2, 1])
    with tf.variable_scope("gates"):
        linear = _Linear([a, b], 4, True, bias_initializer=tf.constant_initializer(1.0), kernel_initializer=tf.ones)
    with tf.Session() as session:
        first, again = linear([a, b]), linear([2 * a, b])
        assert [variable.op.name for variable in tf.trainable_variables()] == ["gates/kernel", "gates/bias"]
        session.run(tf.global_variables_initializer())
        assert [each[0, 0] for each in session.run([first, again])] == [5.0, 8.0]
    assert _like_rnncell(tf.nn.rnn_cell.GRUCell(3)) and not _like_rnncell(tf.nn.tanh)
    with pytest.raises(TypeError, match=r"'cell' .* is not an RNNCell"):
        assert_like_rnncell("cell", tf.nn.tanh)


def test_one_cell_for_layers_of_other_input_sizes_is_a_cell_each_as_before_tensorflow_1_1() -> None:
    """`[cell] * layers` in programs for TensorFlow 0.x and 1.0."""
    stack = rnn_cell.MultiRNNCell([rnn_cell.DropoutWrapper(rnn_cell.BasicRNNCell(4))] * 3)
    zeros = tuple(tf.zeros([2, 4], tf.float64) for _ in range(3))
    with tf.variable_scope("net"):
        first, _ = stack(tf.constant(X), zeros)
    with tf.variable_scope("net", reuse=True):
        again, _ = stack(tf.constant(X), zeros)
    kernels = [v for v in tf.trainable_variables() if "kernel" in v.name]
    assert [v.op.name for v in kernels] == [f"net/multi_rnn_cell/cell_{n}/basic_rnn_cell/kernel" for n in range(3)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, same, *weights = session.run([first, again, *kernels])
    expected = X
    for kernel in weights:
        expected = np.tanh(expected @ kernel[:-4])
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(found, same)


def test_one_cell_for_layers_of_the_same_input_size_has_one_weight() -> None:
    rnn_cell.MultiRNNCell([rnn_cell.BasicRNNCell(3)] * 2)(
        tf.constant(X), tuple(tf.zeros([2, 3], tf.float64) for _ in "ab")
    )
    assert [name for name in names() if "kernel" in name] == ["multi_rnn_cell/cell_0/basic_rnn_cell/kernel"]


def test_cells_take_states_whose_size_is_not_known() -> None:  # what TensorFlow 1.15 gives, for kernels of 0.1
    expected = {
        tf.nn.rnn_cell.BasicRNNCell(3): [0.20153718] * 3,
        tf.nn.rnn_cell.GRUCell(3): [0.20251517] * 3,
        tf.nn.rnn_cell.BasicLSTMCell(3): [0.12258439] * 3,
        tf.nn.rnn_cell.LSTMCell(3, use_peepholes=True): [0.12527533] * 3,
        tf.nn.rnn_cell.LSTMCell(3, num_proj=2): [0.03187833] * 2,
    }
    for number, (cell, last) in enumerate(expected.items()):
        x, size = tf.placeholder(tf.float32, [None, None, 2]), cell.state_size
        sizes = list(size) if isinstance(size, tuple) else [size]
        parts = [tf.placeholder(tf.float32, [None, None]) for _ in sizes]
        state = tf.nn.rnn_cell.LSTMStateTuple(*parts) if isinstance(size, tuple) else parts[0]
        with tf.variable_scope(f"cell_{number}", initializer=tf.constant_initializer(0.1)):
            outputs, _ = tf.nn.dynamic_rnn(cell, x, initial_state=state)
        begin = [[0.1], [0.2]] if isinstance(size, tuple) else [[0.3]]
        feeds = {x: np.arange(8.0).reshape(1, 4, 2) / 8}
        feeds |= {part: [first * n] for part, first, n in zip(parts, begin, sizes, strict=True)}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            np.testing.assert_allclose(session.run(outputs, feeds)[0, -1], last, rtol=1e-5)
