"""Results that a later version of TensorFlow added are left out where programs take fewer."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import output_of, penstock_run

PROGRAM = """
import tensorflow as tf
from tensorflow.contrib.seq2seq import dynamic_decode

def decoder():
    cell = tf.contrib.rnn.BasicLSTMCell(4, reuse=tf.AUTO_REUSE)
    helper = tf.contrib.seq2seq.TrainingHelper(tf.ones([2, 3, 5]), [3, 2])
    return tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))

outputs, state = tf.contrib.seq2seq.dynamic_decode(decoder())
(logits, ids), _ = final = dynamic_decode(decoder())
first, *rest = dynamic_decode(decoder())
three = outputs3, state3, lengths = tf.contrib.seq2seq.dynamic_decode(decoder())
print(outputs.rnn_output.shape[-1], state.c.shape, ids.dtype.name, len(final), len(rest), len(three))
"""


def test_decoding_gives_outputs_and_state_where_a_program_unpacks_two(tmp_path: Path) -> None:
    """As until TensorFlow 1.1."""
    assert output_of(tmp_path, PROGRAM) == "4 (2, 4) int32 2 2 3\n"
    assert "dynamic_decode of 2 results (2 uses)" in penstock_run(tmp_path, "program.py").stderr


def test_a_function_of_that_name_of_the_program_gives_what_it_gives(tmp_path: Path) -> None:
    text = "def dynamic_decode(x):\n    return [x, 1, 2]\n"
    text += "a, b = dynamic_decode(5)[:2]\nprint(a, b)\ntry:\n    a, b = dynamic_decode(5)\n"
    text += "except ValueError as error:\n    print(error)\n"
    assert output_of(tmp_path, text) == "5 1\ntoo many values to unpack (expected 2)\n"
