"""Writes tests/data/fused_cells.json: what TensorFlow 1.15 gives for fused recurrent cells, Resampler, spectrograms and
cepstral coefficients, and their gradients. Run it with TensorFlow 1.15: python tools/make_fused_cells.py."""

import json
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow.contrib.rnn  # loads the gradients of the cells
from tensorflow.contrib.framework.python.ops import audio_ops
from tensorflow.contrib.resampler import resampler
from tensorflow.python.ops import gen_rnn_ops

RANDOM = np.random.RandomState(0)
BATCH, SIZE, UNITS, STEPS = 2, 3, 2, 3


def draw(*shape: int) -> np.ndarray:
    return np.round(RANDOM.randn(*shape), 2).astype(np.float32)


def row(session: Any, op: str, function: Any, inputs: list, attrs: dict, through: list) -> dict:
    """A sample: inputs, attributes, outputs, and the gradients of the sum of squares of the outputs `through`."""
    tensors = [tf.constant(value) for value in inputs]
    found = function(*tensors, **attrs)
    found = list(found) if isinstance(found, tuple) else [found]
    loss = tf.add_n([tf.reduce_sum(tf.square(found[i])) for i in through])
    grads = tf.gradients(loss, [t for t in tensors if t.dtype == tf.float32])
    values, by = session.run([found, grads])
    return {
        "op": op,
        "inputs": [value.tolist() for value in inputs],
        "attrs": attrs,
        "outputs": [np.round(value.astype(float), 6).tolist() for value in values],
        "through": through,
        "gradients": [np.round(value.astype(float), 6).tolist() for value in by],
    }


def main() -> None:
    x, memory, state, xs = draw(BATCH, SIZE), draw(BATCH, UNITS), draw(BATCH, UNITS), draw(STEPS, BATCH, SIZE)
    lstm = [memory, state, draw(SIZE + UNITS, 4 * UNITS), draw(UNITS), draw(UNITS), draw(UNITS), draw(4 * UNITS)]
    gru = [x, state, draw(SIZE + UNITS, 2 * UNITS), draw(SIZE + UNITS, UNITS), draw(2 * UNITS), draw(UNITS)]
    points = np.round(RANDOM.rand(2, 5, 2) * 6 - 1.5, 2).astype(np.float32)
    sound = np.sin(np.arange(800)[:, None] * 0.05).astype(np.float32)
    cell, block, second = gen_rnn_ops.lstm_block_cell, gen_rnn_ops.block_lstm, gen_rnn_ops.block_lstmv2
    peephole = {"use_peephole": True, "cell_clip": 0.6, "forget_bias": 0.25}
    with tf.Session() as session:
        rows = [
            row(session, "LSTMBlockCell", cell, [x, *lstm], peephole, [1, 6]),
            row(session, "LSTMBlockCell", cell, [x, *lstm], {"cell_clip": -1.0}, [1, 6]),
            row(session, "BlockLSTM", block, [np.int64(STEPS), xs, *lstm], peephole, [1, 6]),
            row(session, "BlockLSTM", block, [np.int64(STEPS), xs, *lstm], {}, [6]),
            # Its gradient is BlockLSTM's, whose gates are in another order: it is left out.
            dict(row(session, "BlockLSTMV2", second, [np.int64(STEPS), xs, *lstm], {}, [1, 6]), through=[]),
            row(session, "GRUBlockCell", gen_rnn_ops.gru_block_cell, gru, {}, [3]),
            row(session, "Resampler", resampler, [draw(2, 3, 4, 2), points], {}, [0]),
        ]
        squares = audio_ops.audio_spectrogram(sound, window_size=320, stride=160, magnitude_squared=True)
        plain = audio_ops.audio_spectrogram(sound, window_size=256, stride=200)
        usual = audio_ops.mfcc(squares, 16000, dct_coefficient_count=5)
        limits = {"lower_frequency_limit": 100.0, "upper_frequency_limit": 3000.0, "filterbank_channel_count": 12}
        narrow = audio_ops.mfcc(squares, 8000, dct_coefficient_count=4, **limits)
        values = session.run({"squares": squares, "plain": plain, "usual": usual, "narrow": narrow})
        sounds = {
            name: {"shape": list(value.shape), "part": np.round(value[0, :, ::16].astype(float), 6).tolist()}
            for name, value in values.items()
        }
    with open("tests/data/fused_cells.json", "w") as file:
        json.dump({"rows": rows, "sounds": sounds}, file)


if __name__ == "__main__":
    main()
