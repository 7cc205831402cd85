"""Reduced precision: which nodes it takes, what it leaves float32, and that training does not mind."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.datasets import load_digits

import penstock as tf
from penstock.engine.pipeline import prepare
from penstock.graph.opdef import registered_ops
from penstock.graph.verify import verify
from penstock.passes import reduced_precision
from penstock.passes.reduced_precision import _paint, reduce_precision, use_bfloat16
from penstock.session.options import step_options
from penstock.tensor.dtypes import bfloat16, float32, float64
from tests.control_flow.programs import Program, build, inputs, programs
from tests.control_flow.test_random_programs import _many
from tests.ops import harness
from tests.ops.test_ops import CASES

ROUNDING = 2.0**-8
"""The most by which rounding a number to bfloat16 changes it, as a part of it."""


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of every size are worth it, so that tests can be small."""
    monkeypatch.setattr(reduced_precision, "LEAST_FLOPS", 0)
    monkeypatch.setattr(reduced_precision, "FLOPS_PER_ELEMENT", 0)


def _config(**rewrites: int) -> Any:
    config = tf.ConfigProto()
    for name in rewrites or {"auto_mixed_precision_onednn_bfloat16"}:
        setattr(config.graph_options.rewrite_options, name, rewrites.get(name, 1))
    return config


def _step(fetches: Any, *feeds: Any) -> Any:
    """The placed graph of a step, before any optimisation."""
    options = dataclasses.replace(step_options(None), passes=frozenset())
    return prepare(list(feeds), [tf.convert_to_tensor(f) for f in fetches], [], options).graph


def _reduced(fetches: Any, *feeds: Any) -> Any:
    graph = use_bfloat16(_step(fetches, *feeds), step_options(None).costs)
    verify(graph, "use_bfloat16")
    return graph


def _ops(graph: Any, dtype: Any = None) -> Counter[str]:
    """How many nodes there are of each op; with `dtype`, of those that compute with it."""
    return Counter(node.op.name for node in graph.nodes if dtype in (None, node.attrs.get("T")))


def _random(*shape: int) -> np.ndarray:
    return np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32)


def _error(found: Any, expected: Any) -> float:
    """The distance of two arrays, as a part of the second's length."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


# --- numbers --------------------------------------------------------------------------------------------


def test_the_gradients_of_an_mlp_are_within_the_error_of_bfloat16() -> None:
    inputs_value, w1_value, w2_value = _random(128, 256), _random(256, 384) / 16, _random(384, 256) / 20
    x, w1, w2 = tf.placeholder(tf.float32, [128, 256]), tf.Variable(w1_value), tf.Variable(w2_value)
    y = tf.matmul(tf.tanh(tf.matmul(x, w1)), w2)
    loss = tf.reduce_mean(tf.square(y))
    grads = tf.gradients(loss, [w1, w2])
    with tf.Session(config=_config()) as session:
        session.run(tf.global_variables_initializer())
        found = session.run([loss, *grads], {x: inputs_value})
    exact_x, exact_w1, exact_w2 = (v.astype(np.float64) for v in (inputs_value, w1_value, w2_value))
    h = np.tanh(exact_x @ exact_w1)
    out = h @ exact_w2
    by_out = 2 * out / out.size
    by_hidden = (by_out @ exact_w2.T) * (1 - h**2)
    expected = [np.mean(out**2), exact_x.T @ by_hidden, h.T @ by_out]
    for value, exact in zip(found, expected, strict=True):
        assert value.dtype == np.float32
        assert _error(value, exact) < 3 * ROUNDING
    assert _error(found[1], expected[1]) > ROUNDING / 8  # float32 would be some 10,000 times closer


@pytest.mark.uncompiled
def test_a_convolution_and_its_gradients_are_within_the_error_of_bfloat16() -> None:
    x_value, w_value = _random(8, 18, 18, 32), _random(3, 3, 32, 48)
    x, w = tf.placeholder(tf.float32, x_value.shape), tf.Variable(w_value)
    y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID")
    by_y_value = _random(8, 16, 16, 48)
    grads = tf.gradients(y, [x, w], tf.constant(by_y_value))
    with tf.Session(config=_config()) as session:
        session.run(tf.global_variables_initializer())
        found = session.run([y, *grads], {x: x_value})
    windows = np.lib.stride_tricks.sliding_window_view(x_value.astype(np.float64), (3, 3), (1, 2))
    padded = np.pad(by_y_value.astype(np.float64), [(0, 0), (2, 2), (2, 2), (0, 0)])
    around = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    expected = [
        np.einsum("nijckl,klco->nijo", windows, w_value, optimize=True),
        np.einsum("nijokl,klco->nijc", around, w_value[::-1, ::-1], optimize=True),
        np.einsum("nijckl,nijo->klco", windows, by_y_value, optimize=True),
    ]
    for value, exact in zip(found, expected, strict=True):
        assert ROUNDING / 8 < _error(value, exact) < ROUNDING


def test_products_add_up_in_float32() -> None:
    """A sum of ones in bfloat16 would stop at 256, where the next number is 258."""
    a, b = tf.placeholder(tf.float32, [64, 4096]), tf.placeholder(tf.float32, [4096, 64])
    x, w = tf.placeholder(tf.float32, [4, 8, 8, 512]), tf.placeholder(tf.float32, [3, 3, 512, 64])
    fetches = [tf.matmul(a, b), tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID")]
    assert not {"MatMul", "Conv2D"} & set(_ops(_reduced(fetches, a, b, x, w), float32))
    with tf.Session(config=_config()) as session:
        product, image = session.run(fetches, {t: np.ones(t.shape.as_list()) for t in (a, b, x, w)})
    assert np.all(product == 4096) and np.all(image == 4608)


@pytest.mark.parametrize(
    "field",
    ["auto_mixed_precision_onednn_bfloat16", pytest.param("auto_mixed_precision_cpu", marks=pytest.mark.slow)],
)
def test_every_op_that_is_reduced_has_kernels_for_it(
    any_size: None, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cases of tests/ops, on which the op is reduced by itself: near their references, which are NumPy's."""
    reducible = {name for name, op in registered_ops().items() if op.traits.bits16 in ("allow", "infer", "clear")}
    monkeypatch.setattr(reduced_precision, "_colour", lambda op: "allow" if op.name in reducible else "")
    config, painted = _config(**{field: 1}), set()

    def paint(*args: Any) -> Any:
        found = _paint(*args)
        painted.update(node.op.name for node in found)
        return found

    monkeypatch.setattr(reduced_precision, "_paint", paint)
    monkeypatch.setattr(harness, "Session", lambda: tf.Session(config=config))
    for case in CASES:
        if case.op in reducible and case.raises is None:
            values, _ = harness._run(case, fed=True)
            arrays = harness._arrays(case)
            expected = case.ref(*arrays) if callable(case.ref) else case.ref
            for value, exact in zip(values, expected if isinstance(expected, tuple) else (expected,), strict=True):
                exact = np.asarray(exact)
                if exact.dtype.kind == "f":
                    size = max(_largest(v) for v in (1.0, exact, *arrays))
                    np.testing.assert_allclose(value, exact, rtol=0, atol=4 * ROUNDING * size, err_msg=str(case))
    assert painted == reducible - {"Identity"}  # which computes nothing and has no case


def _largest(value: Any) -> float:
    """The largest finite number in an array, or in a list of arrays."""
    if isinstance(value, list):
        return max(map(_largest, value))
    numbers = np.abs(np.asarray(value)) if np.asarray(value).dtype.kind in "fiu" else np.zeros(1)
    return float(numbers[np.isfinite(numbers)].max(initial=0))


# --- which nodes ----------------------------------------------------------------------------------------


def test_what_lies_between_two_products_is_reduced_too(any_size: None) -> None:
    x, b = tf.placeholder(tf.float32, [4, 4]), tf.placeholder(tf.float32, [4])
    y = tf.matmul(tf.nn.relu(tf.nn.bias_add(tf.matmul(x, x), b)), x)
    graph = _reduced([tf.nn.bias_add(y, b)], x, b)
    assert _ops(graph, bfloat16) == {"MatMul": 2, "BiasAdd": 1, "Relu": 1}
    assert _ops(graph)["Cast"] == 3  # of x, once for three uses; of b; and back, for the bias that comes last
    assert _ops(graph, float32)["BiasAdd"] == 1


def test_what_follows_something_sensitive_is_not_reduced(any_size: None) -> None:
    x = tf.placeholder(tf.float32, [4, 4])
    products = tf.matmul(tf.exp(x) + tf.matmul(x, x), x), tf.matmul(x + tf.matmul(x, x), x)
    graph = _reduced(products, x)
    assert _ops(graph, bfloat16) == {"MatMul": 4, "AddV2": 1}
    assert _ops(graph, float32) == {"Exp": 1, "AddV2": 1}


def test_what_only_moves_values_is_reduced_where_it_is_next_to_a_product(any_size: None) -> None:
    x = tf.placeholder(tf.float32, [4, 4])
    far = tf.transpose(tf.exp(x))
    graph = _reduced([tf.reduce_sum(tf.transpose(tf.matmul(tf.reshape(x, [4, 4]), x))), far], x)
    assert _ops(graph, bfloat16) == {"Reshape": 1, "MatMul": 1, "Transpose": 1}
    assert _ops(graph, float32) == {"Sum": 1, "Exp": 1, "Transpose": 1}


def test_constants_are_cast_before_the_step(any_size: None) -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    graph = _reduced([tf.matmul(x, [[1.0, 2.0], [3.0, 1 + 2.0**-20]])], x)
    (constant,) = (node for node in graph.nodes if node.op.name == "Const")
    assert constant.dtypes == (bfloat16,)
    np.testing.assert_array_equal(constant.attrs["value"].astype(np.float32), [[1, 2], [3, 1]])
    assert _ops(graph)["Cast"] == 2


def test_a_product_that_gains_less_than_its_casts_cost_is_left() -> None:
    x = tf.placeholder(tf.float32, [64, 64])
    thin = tf.placeholder(tf.float32, [1, 8192]), tf.placeholder(tf.float32, [8192, 8192])
    graph = _step([tf.matmul(x, x), tf.matmul(*thin)], x, *thin)
    assert use_bfloat16(graph, step_options(None).costs) is graph


def test_a_graph_without_products_is_unchanged(any_size: None) -> None:
    x = tf.placeholder(tf.float32, [4, 4])
    graph = _step([tf.nn.relu(tf.reshape(x, [2, 8])) + 1.0], x)
    assert use_bfloat16(graph, step_options(None).costs) is graph


def test_other_dtypes_are_left_alone(any_size: None) -> None:
    fed = [tf.placeholder(dtype, [4, 4]) for dtype in (tf.float64, tf.int32, tf.float16, tf.bfloat16)]
    graph = _step([tf.matmul(x, x) for x in fed], *fed)
    assert use_bfloat16(graph, step_options(None).costs) is graph


def test_devices_that_are_not_named_are_left_alone(any_size: None) -> None:
    x = tf.placeholder(tf.float32, [4, 4])
    graph = _step([tf.matmul(x, x)], x)
    assert reduce_precision(graph, {"GPU": bfloat16}) is graph


# --- what stays float32 ---------------------------------------------------------------------------------


def test_fetches_and_feeds_keep_their_dtypes(any_size: None) -> None:
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    inner = tf.matmul(x, x)
    y = tf.matmul(tf.nn.relu(inner), x)
    value = np.array([[1, 2], [3, 4]], np.float32)
    with tf.Session(config=_config()) as session:
        found = session.run([inner, y, x], {x: value})
        fed = session.run([inner, y], {x: value, inner: value + 2.0**-12})
    assert [v.dtype for v in (*found, *fed)] == [np.float32] * 5
    np.testing.assert_array_equal(found[1], value @ value @ value)  # small integers are exact
    np.testing.assert_array_equal(fed[0], value + 2.0**-12)
    np.testing.assert_array_equal(fed[1], value @ value)


@pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
def test_variables_and_checkpoints_stay_float32(any_size: None, use_resource: bool, tmp_path: Path) -> None:
    start = np.float32(1) + np.arange(4, dtype=np.float32).reshape(2, 2) * np.float32(2.0**-20)
    x, w = tf.placeholder(tf.float32, [2, 2]), tf.Variable(start, name="w", use_resource=use_resource)
    train = tf.train.MomentumOptimizer(2.0**-12, 0.5).minimize(tf.reduce_sum(tf.matmul(x, w)))
    with tf.Session(config=_config()) as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {x: np.ones((2, 2))})
        # The gradient is 2 everywhere; in bfloat16 a variable of about 1 would not change at all.
        np.testing.assert_array_equal(session.run(w), start - np.float32(2.0**-11))
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    saved = {name: tf.train.load_variable(path, name) for name in ("w", "w/Momentum")}
    assert {value.dtype for value in saved.values()} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(saved["w"], start - np.float32(2.0**-11))


def test_a_product_of_a_variable_takes_the_value_of_its_moment(any_size: None) -> None:
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    before = tf.matmul(w, w)
    with tf.control_dependencies([before]):
        change = tf.assign(w, 2 * w)
    with tf.control_dependencies([change]):
        after = tf.matmul(w.read_value(), w.read_value())
    with tf.Session(config=_config()) as session:
        session.run(tf.global_variables_initializer())
        found = session.run([before, after])
    np.testing.assert_array_equal(found, [[[7, 10], [15, 22]], [[28, 40], [60, 88]]])


def test_a_value_that_crosses_to_another_device_is_cast_before(any_size: None) -> None:
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2, 2])
        y = tf.exp(x)
    with tf.device("/cpu:1"):
        products = [tf.matmul(y, y), tf.matmul(y, tf.matmul(y, y))]
    config = _config()
    config.device_count["CPU"] = 2
    graph = prepare([x], products, [], step_options(config)).graph
    assert [node.device[-5:] for node in graph.nodes if node.dtypes == (bfloat16,)] == ["CPU:0", "CPU:1", "CPU:1"]
    with tf.Session(config=config) as session:
        found = session.run(products, {x: np.zeros((2, 2))})
    np.testing.assert_array_equal(found, [np.full((2, 2), 2), np.full((2, 2), 4)])


# --- control flow ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["structured", "dataflow"])
def test_what_a_loop_takes_from_outside_is_cast_before_the_loop(
    any_size: None, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_EXECUTOR", executor)
    x, w = tf.placeholder(tf.float32, [2, 2]), tf.placeholder(tf.float32, [2, 2])
    _, y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.matmul(v, w)), [0, x])
    graph = _reduced([y], x, w)
    entered = [node.inputs[0] for node in graph.nodes if node.op.name == "Enter" and node.dtypes == (bfloat16,)]
    assert [edge.node.op.name for edge in entered] == ["Cast"]
    turn = np.array([[0, 2], [-2, 0]], np.float32)
    with tf.Session(config=_config()) as session:
        found = session.run(y, {x: np.eye(2), w: turn})
    np.testing.assert_array_equal(found, turn @ turn @ turn)


@_many
@given(executor=st.sampled_from(["structured", "dataflow"]), program=programs(), values=inputs())
def test_random_programs_give_the_same_but_for_rounding(executor: str, program: Program, values: Any) -> None:
    """Conditionals and loops of float64, with products, tangents and sines taken for what is to be float32."""
    with tf.Graph().as_default() as graph, pytest.MonkeyPatch.context() as patch:
        built = build(program, tf)
        ys = [tf.convert_to_tensor(r) for r in built.results if r.dtype.base_dtype == tf.float64]
        grads = [g for g in tf.gradients(ys, [built.by(n) for n in ("v0", "v1", "s0")]) if g is not None] if ys else []
        start, feeds, fetches = tf.global_variables_initializer(), built.feeds(values), [*built.results, *grads]
        patch.setenv("PENSTOCK_EXECUTOR", executor)
        patch.setattr(reduced_precision, "float32", float64)
        colour = {**dict.fromkeys(("Mul", "Tanh", "Sin"), "allow"), "MatMul": "infer"}
        patch.setattr(reduced_precision, "_colour", lambda op: colour.get(op.name, op.traits.bits16))
        patch.setattr(reduced_precision, "LEAST_FLOPS", 0)
        patch.setattr(reduced_precision, "FLOPS_PER_ELEMENT", 0)
        patch.setattr(reduced_precision, "bfloat16", float32)
        found = []
        for config in (None, _config()):
            with tf.Session(graph=graph, config=config) as session:
                session.run(start)
                session.run(built.setup, feeds)
                found.append(session.run(fetches, feeds))
    for value, exact in zip(*reversed(found), strict=True):
        assert value.dtype == exact.dtype
        np.testing.assert_allclose(value, exact, rtol=1e-4, atol=1e-5)


# --- asking for it --------------------------------------------------------------------------------------


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("field", "dtype"),
    [
        ("auto_mixed_precision_onednn_bfloat16", "bfloat16"),
        ("auto_mixed_precision_mkl", "bfloat16"),
        ("auto_mixed_precision_cpu", "float16"),
        ("auto_mixed_precision", "float32"),  # of GPUs
    ],
)
def test_the_rewriter_config_says_which_type_a_cpu_computes_with(any_size: None, field: str, dtype: str) -> None:
    x = tf.placeholder(tf.float32, [1, 1])
    config = _config(**{field: 1})
    found = prepare([x], [tf.matmul(x, x)], [], step_options(config)).graph
    assert _ops(found, tf.as_dtype(dtype))["MatMul"] == 1
    with tf.Session(config=config) as session:  # 1 + 2^-9 is a number of float16 but not of bfloat16
        rounded = session.run(tf.matmul(x, x), {x: [[1 + 2.0**-9]]})
    assert rounded == {"bfloat16": 1, "float16": 1 + 2.0**-8, "float32": (1 + 2.0**-9) ** 2}[dtype]


def test_a_net_learns_digits_as_well_as_with_float32() -> None:
    """Three epochs of scikit-learn's scans of digits; both nets see the same batches and begin alike."""
    digits = load_digits()
    images, labels = digits.images[..., None].astype(np.float32) / 16, digits.target
    test = np.arange(len(images)) % 5 == 0
    found = {}
    for name, config in {"float32": None, "bfloat16": _config()}.items():
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            found[name] = _train(session, images[~test], labels[~test], images[test], labels[test])
    (accuracy, loss), (reduced_accuracy, reduced_loss) = found["float32"], found["bfloat16"]
    assert accuracy > 0.9
    assert abs(accuracy - reduced_accuracy) < 0.02
    assert loss != reduced_loss  # it was another computation


def _train(session: Any, images: Any, labels: Any, test_images: Any, test_labels: Any) -> tuple[float, float]:
    """The accuracy and the loss on the test's scans."""
    x, y = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.int64, [None])
    h = x
    for inner, outer in ((1, 32), (32, 32)):
        kernel = tf.Variable(_random(3, 3, inner, outer) * np.sqrt(2 / (9 * inner)).astype(np.float32))
        h = tf.nn.relu(tf.nn.conv2d(h, kernel, [1, 1, 1, 1], "SAME"))
    h = tf.reshape(tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [-1, 512])
    logits = tf.matmul(h, tf.Variable(_random(512, 10) / 30)) + tf.Variable(tf.zeros([10]))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.AdamOptimizer(2e-3).minimize(loss)
    right = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), y)))
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        for first in range(0, len(images), 64):
            session.run(train, {x: images[first : first + 64], y: labels[first : first + 64]})
    accuracy, rest = session.run([right, loss], {x: test_images, y: test_labels})
    return float(accuracy), float(rest)
