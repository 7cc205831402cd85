"""Random ops without a seed of their own draw TensorFlow 1.15's numbers in a graph that has one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from tools.make_op_seeds import op_seeds

PROGRAMS = json.loads((Path(__file__).parent.parent / "data" / "op_seeds.json").read_text())


@pytest.mark.parametrize("program", PROGRAMS)
def test_op_seeds_are_those_that_tensorflow_gives(program: str) -> None:
    assert op_seeds(PROGRAMS[program]["statements"], tf) == PROGRAMS[program]["seeds"]


def test_a_seed_and_other_integers_may_be_floats_which_are_rounded_towards_zero() -> None:
    """As programs give `seed=time.time()` and quotients. The numbers are TensorFlow 1.15's for a seed of 5."""
    with tf.Graph().as_default(), tf.Session() as session:
        drawn = tf.random_uniform([2], seed=5.7)
        np.testing.assert_allclose(session.run(drawn), [0.38831127, 0.6636828], rtol=1e-6)
        assert tf.one_hot([1], 3, axis=-1.0).shape == (1, 3)
        assert tf.squeeze(tf.zeros([2, 1]), [1.0]).shape == (2,)
        assert session.run(tf.nn.lrn(tf.zeros([1, 4, 4, 1]), depth_radius=4 / 2)).shape == (1, 4, 4, 1)
        with pytest.raises(TypeError, match="expected an int"):
            tf.one_hot([1], 3, axis="1")
