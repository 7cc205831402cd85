"""Checkpoints in which recurrent cells have the names that they had before TensorFlow 1.2 are restored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as tf

OLD = {  # as TensorFlow's checkpoint_convert.py has them, and the release notes of 1.0
    "rnn/basic_lstm_cell/kernel": ("rnn/basic_lstm_cell/weights", "RNN/BasicLSTMCell/Linear/Matrix"),
    "rnn/basic_lstm_cell/bias/Adam_1": ("rnn/basic_lstm_cell/biases/Adam_1", "RNN/BasicLSTMCell/Linear/Bias/Adam_1"),
    "rnn/multi_rnn_cell/cell_0/gru_cell/gates/kernel": (
        "rnn/multi_rnn_cell/cell_0/gru_cell/gates/weights",
        "RNN/MultiRNNCell/Cell0/GRUCell/Gates/Linear/Matrix",
    ),
    "rnn/lstm_cell/kernel": ("rnn/lstm_cell/weights", "RNN/LSTMCell/W_0"),
}
VALUE = np.arange(6, dtype=np.float32).reshape(2, 3)


def saved(path: Path, *names: str) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        for name in names:
            tf.Variable(VALUE, name=name)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(path / "model"))
        assert prefix is not None
        return prefix


@pytest.mark.parametrize("version", [0, 1], ids=["1.1", "0.12"])
@pytest.mark.parametrize("today", OLD)
def test_old_names_of_cells_are_found(
    today: str, version: int, tmp_path: Path, session: tf.Session, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = saved(tmp_path, OLD[today][version], "dense/bias")
    cell = tf.get_variable(today, [2, 3])
    dense = tf.get_variable("dense/bias", [2, 3])  # has always been called this
    tf.train.Saver().restore(session, prefix)
    np.testing.assert_array_equal(session.run(cell), VALUE)
    np.testing.assert_array_equal(session.run(dense), VALUE)
    (message,) = [each for each in caplog.messages if "before TensorFlow 1.2" in each]
    assert OLD[today][version] in message and today in message


def test_an_old_name_of_another_shape_is_no_match(tmp_path: Path, session: tf.Session) -> None:
    prefix = saved(tmp_path, "rnn/basic_lstm_cell/weights")
    tf.get_variable("rnn/basic_lstm_cell/kernel", [4, 3])
    with pytest.raises(tf.errors.NotFoundError, match=r"Key rnn/basic_lstm_cell/kernel not found.*it has rnn/basic"):
        tf.train.Saver().restore(session, prefix)


def test_a_name_of_today_is_preferred(tmp_path: Path, session: tf.Session) -> None:
    prefix = saved(tmp_path, "cell/kernel", "cell/weights")
    other = tf.get_variable("cell/weights", [2, 3])
    kernel = tf.get_variable("cell/kernel", [2, 3])
    saver = tf.train.Saver([kernel])
    session.run(other.initializer)
    before = session.run(other)
    saver.restore(session, prefix)
    np.testing.assert_array_equal(session.run(kernel), VALUE)
    np.testing.assert_array_equal(session.run(other), before)
