"""What a program fetches by name in TensorFlow has that name here: results of layers, losses, loops, optimizers, …"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock as tf
from penstock.contrib import slim
from tests.system.fetched_names import run

PROGRAMS: dict[str, list[tuple[str, list[str]]]] = json.loads(
    (Path(__file__).parent.parent / "data" / "fetched_names.json").read_text()
)

NOT_1_15 = "the names were recorded with TensorFlow 2.21, where they are others than in TensorFlow 1.15"
OWN_OPS = "the result is that of another op"
OWN_GRADIENT = "gradients of loops are built in another way"

DIFFERENT = {
    "tf.layers.dropout(y, 0.5, training=True)": NOT_1_15,
    "y = slim.dropout(y, 0.5)": NOT_1_15,
    "y = tf.nn.dropout(y, keep_prob=tf.placeholder(tf.float32, name='k'))": NOT_1_15,
    "y = tf.nn.dropout(y, 0.5)": NOT_1_15,
    "tf.nn.dropout(y, rate=0.3)": NOT_1_15,
    "y = tf.nn.dropout(tf.reshape(y, [-1, 64]), keep_prob=0.5)": NOT_1_15,
    "tf.confusion_matrix(i, i)": NOT_1_15,
    "tf.einsum('ij,kj->ik', x, y)": NOT_1_15,
    "tf.accumulate_n([x, x])": NOT_1_15,
    "tf.lin_space(0.0, 1.0, 5)": NOT_1_15,
    "tf.linspace(0.0, 1.0, 3)": NOT_1_15,
    "tf.ones_like(x)": NOT_1_15,
    "tf.assert_equal(i, i)": NOT_1_15,
    "tf.random_uniform([2])": NOT_1_15,
    "tf.train.natural_exp_decay(0.1, s, 1, 0.5)": NOT_1_15,
    "tf.nn.zero_fraction(f)": NOT_1_15,
    "tf.eye(3)": NOT_1_15,
    "tf.nn.swish(y)": OWN_OPS,
    "tf.nn.atrous_conv2d(x, w, 2, 'SAME')": OWN_OPS,
    "tf.meshgrid(i, i)": OWN_OPS,
    "tf.Assert(tf.reduce_all(x > 0), [x])": OWN_OPS,
    "tf.assert_positive(i)": OWN_OPS,
    "tf.train.piecewise_constant(s, [10, 20], [1.0, 2.0, 3.0])": OWN_OPS,
    "s = c.zero_state(3, tf.float32)": OWN_OPS,
    "tf.image.random_flip_left_right(u)": OWN_OPS,
    "tf.image.per_image_standardization(u)": OWN_OPS,
    "tf.gradients(y, [x])": OWN_GRADIENT,
    "tf.gradients(tot, [x, y])": "sums of gradients are numbered in another order",
    "slim.unit_norm(y, 3)": "truediv, not div",
    "tf.add(x, y)": "a slice that begins at a tensor adds its one inside its own scope",
    "a.initialized_value()": "initialized_value, not cond",
    "tf.is_variable_initialized(a)": "as the last",
    "tf.train.cosine_decay(0.1, s, 10)": "named as a whole",
    "tf.image.random_brightness(u, 0.1)": "named as a whole",
    "tf.image.adjust_contrast(u, 2.0)": "named as a whole",
    "tf.foldl(lambda a, b: a + b, x)": "the loop counts its iterations once, not twice",
}
"""Statements whose results have another name, or are of another type, than the recorded ones, and why."""


@pytest.mark.parametrize("title", PROGRAMS)
def test_results_have_the_names_that_they_have_in_tensorflow(title: str) -> None:
    statements = [statement for statement, _ in PROGRAMS[title]]
    expected = dict(PROGRAMS[title])
    found = dict(zip(statements, run(statements, tf, slim), strict=True))
    differing = {statement for statement in statements if found[statement] != expected[statement]}
    assert differing == DIFFERENT.keys() & set(statements), {s: (found[s], expected[s]) for s in differing}
