"""Masked weights: values, masks and names of TensorFlow 1.15."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import model_pruning
from penstock.contrib.model_pruning import get_pruning_hparams

RAMP = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def trained(params: str, steps: int = 25) -> dict[str, Any]:
    """What 25 steps make of a matrix of random weights, seeded."""
    tf.set_random_seed(1)
    weights = tf.Variable(tf.random_normal([4, 6]), name="weights")
    masked = model_pruning.apply_mask(weights, scope="w")
    count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    pruning = model_pruning.Pruning(get_pruning_hparams().parse(params))
    update = pruning.conditional_mask_update_op()
    pruning.add_pruning_summaries()
    wanted = {
        "mask": model_pruning.get_masks()[0],
        "threshold": model_pruning.get_thresholds()[0],
        "sparsity": model_pruning.get_weight_sparsity()[0],
        "weights": weights,
        "masked": masked,
        "summary": tf.summary.merge_all(),
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(update)
            session.run(count)
        return session.run(wanted)


@pytest.mark.parametrize(
    ("params", "threshold", "mask", "step"),
    [
        (
            "pruning_frequency=2,sparsity_function_end_step=20",
            0.69117266,
            "001010 110110 011101 001010",
            24,
        ),
        (
            "begin_pruning_step=5,end_pruning_step=9,pruning_frequency=1,threshold_decay=0.5,target_sparsity=0.9",
            0.2804334,
            "101011 111111 111111 001110",
            9,
        ),
        ("block_height=2,block_width=2,pruning_frequency=3", 0.634007, "110011 110011 001111 001111", 24),
        (
            "block_height=3,block_width=4,pruning_frequency=3,block_pooling_function=MAX,initial_sparsity=0.2",
            1.7866465,
            "000011 000011 000011 111111",
            24,
        ),
        ("weight_sparsity_map=[weights:0.8],pruning_frequency=3", 0.67086124, "101010 110110 011101 001010", 24),
        ("block_dims_map=[weights:-1x2],pruning_frequency=3", 0.75400794, "001111 001111 001111 001111", 24),
    ],
)
def test_masks_leave_out_what_tensorflow_leaves_out(params: str, threshold: float, mask: str, step: int) -> None:
    found = trained(params)
    wanted = np.array([[int(c) for c in row] for row in mask.split()], np.float32)
    np.testing.assert_array_equal(found["mask"], wanted)
    np.testing.assert_allclose(found["threshold"], threshold, rtol=1e-5)
    np.testing.assert_allclose(found["sparsity"], 1 - wanted.mean(), rtol=1e-5)
    np.testing.assert_allclose(found["masked"], found["weights"] * wanted, rtol=1e-6)
    summary = {value.tag: value.simple_value for value in tf.Summary.FromString(found["summary"]).value}
    assert summary["model_pruning_summaries/last_mask_update_step"] == step
    assert {"model_pruning_summaries/sparsity", "model_pruning_summaries/w/mask/sparsity"} < set(summary)


def test_weights_in_parts_have_masks_in_parts() -> None:
    with tf.variable_scope("p", partitioner=tf.variable_axis_size_partitioner(32)):
        weights = tf.get_variable("w", [6, 4], initializer=tf.random_normal_initializer(seed=3))
        model_pruning.apply_mask(weights, scope=tf.get_variable_scope())
    tf.train.get_or_create_global_step()
    update = model_pruning.Pruning(sparsity=0.25).mask_update_op()
    (mask,) = model_pruning.get_masks()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert [part.shape.as_list() for part in mask] == [[2, 4]] * 3
        assert np.concatenate(session.run(list(mask))).mean() == 0.75


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ("target_sparsity=1.0", "target_sparsity"),
        ("begin_pruning_step=5,end_pruning_step=4", "before it can end"),
        ("begin_pruning_step=-1", "begin_pruning_step"),
        ("sparsity_function_begin_step=100", "begin_step < end_step"),
        ("weight_sparsity_map=[a:1.0]", "exceed"),
        ("block_dims_map=[a:1]", "2 values"),
    ],
)
def test_values_out_of_range_are_refused(params: str, match: str) -> None:
    tf.train.get_or_create_global_step()
    with pytest.raises(ValueError, match=match):
        model_pruning.Pruning(get_pruning_hparams().parse(params))


def network() -> Any:
    x = tf.constant(np.linspace(-1, 1, 150).reshape(2, 5, 5, 3), tf.float32)
    h = model_pruning.masked_conv2d(x, 4, 3, scope="c1", weights_regularizer=tf.contrib.layers.l2_regularizer(0.1))
    h = model_pruning.masked_conv2d(h, 4, [3, 3], 2, normalizer_fn=tf.contrib.layers.batch_norm)
    h = tf.contrib.layers.flatten(model_pruning.masked_fully_connected(h, 3))
    h = model_pruning.masked_fully_connected(h, 2, activation_fn=None)
    outputs, _ = tf.nn.static_rnn(model_pruning.MaskedBasicLSTMCell(3), [h, h], dtype=tf.float32)
    cell = model_pruning.MaskedLSTMCell(3, use_peepholes=True, cell_clip=0.1)
    outputs, _ = tf.nn.static_rnn(cell, outputs, dtype=tf.float32, scope="second")
    return tf.reduce_sum(outputs, name="out")


def test_masked_layers_compute_what_tensorflow_computes_and_are_stripped() -> None:
    tf.set_random_seed(2)
    out = network()
    assert [v.op.name for v in tf.global_variables()][:5] == [
        "c1/mask", "c1/weights", "c1/threshold", "c1/biases", "Conv/mask",
    ]  # fmt: skip
    assert [v.op.name for v in tf.global_variables() if v.op.name.startswith("rnn")] == [
        f"rnn/masked_basic_lstm_cell/{name}" for name in ("kernel", "bias", "mask", "threshold")
    ]
    assert not [v for v in tf.trainable_variables() if v.op.name.endswith(("mask", "threshold"))]
    assert [w.op.name for w in model_pruning.get_masked_weights()][4:] == [
        "rnn/masked_basic_lstm_cell/weights/masked_weight", "second/masked_lstm_cell/weights/masked_weight",
    ]  # fmt: skip
    tf.train.get_or_create_global_step()
    update = model_pruning.Pruning(sparsity=0.5).mask_update_op()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before, losses = session.run([out, tf.losses.get_regularization_losses()])
        session.run(update)
        after, left_out = session.run([out, model_pruning.get_weight_sparsity()])
        frozen = tf.graph_util.convert_variables_to_constants(session, tf.get_default_graph().as_graph_def(), ["out"])
    np.testing.assert_allclose([before, *losses], [0.118992545, 0.17971858], rtol=1e-4)
    np.testing.assert_allclose(after, 0.07588698, rtol=1e-4)
    assert left_out == [0.5] * 6
    stripped = model_pruning.strip_pruning_vars_fn(frozen, ["out"])
    assert not [node for node in stripped.node if node.name.endswith(("/mask", "/threshold"))]
    with tf.Graph().as_default(), tf.Session() as session:
        (again,) = tf.import_graph_def(stripped, return_elements=["out:0"])
        np.testing.assert_allclose(session.run(again), after, rtol=1e-5)


def test_projections_work_and_gradients_stop_at_masks() -> None:
    cell = model_pruning.MaskedLSTMCell(3, num_proj=2, proj_clip=0.5)
    output, _ = cell(tf.ones([4, 5]), cell.zero_state(4, tf.float32))
    assert output.shape.as_list() == [4, 2]
    weights = tf.Variable(RAMP)
    mask = tf.Variable((RAMP > 0).astype("f"))
    (gradient,) = tf.gradients(tf.reduce_sum(weights * mask), weights)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(output).max() <= 0.5
        np.testing.assert_array_equal(session.run(gradient), RAMP > 0)


def test_slims_loop_updates_masks_and_the_last_checkpoint_is_frozen(tmp_path: Path) -> None:
    x = tf.constant(np.linspace(-1, 1, 12).reshape(4, 3), tf.float32)
    start = tf.constant_initializer([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = model_pruning.masked_fully_connected(x, 2, weights_initializer=start)
    loss = tf.losses.mean_squared_error(tf.ones([4, 2]), y)
    tf.train.get_or_create_global_step()
    train_op = tf.contrib.slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
    spec = get_pruning_hparams().parse("pruning_frequency=1,sparsity_function_end_step=5")
    update = model_pruning.Pruning(spec).conditional_mask_update_op()
    model_pruning.train(train_op, str(tmp_path), update, number_of_steps=8)
    frozen = model_pruning.graph_def_from_checkpoint(str(tmp_path), ["fully_connected/Relu"])
    (mask,) = [node for node in frozen.node if node.name == "fully_connected/mask"]
    assert tf.make_ndarray(mask.attr["value"].tensor).mean() == 0.5
    with pytest.raises(ValueError, match="Could not find a checkpoint"):
        model_pruning.graph_def_from_checkpoint(str(tmp_path / "none"), ["out"])
