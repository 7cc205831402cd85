"""What variables of recurrent cells were called before TensorFlow 1.2, for checkpoints of that time."""

from __future__ import annotations

from collections.abc import Iterator

_OF_1_1 = {"kernel": "weights", "bias": "biases"}
_OF_0 = {
    "rnn": "RNN",
    "multi_rnn_cell": "MultiRNNCell",
    "basic_rnn_cell": "BasicRNNCell",
    "basic_lstm_cell": "BasicLSTMCell",
    "gru_cell": "GRUCell",
    "lstm_cell": "LSTMCell",
    "gates": "Gates",
    "candidate": "Candidate",
    "kernel": "Linear/Matrix",
    "bias": "Linear/Bias",
}
_LSTM_OF_0 = {**_OF_0, "kernel": "W_0", "bias": "B"}  # LSTMCell had its own, for its shards


def old_cell_names(name: str) -> Iterator[str]:
    """What a variable or its slot was called: "lstm_cell/kernel/Adam" was "lstm_cell/weights/Adam", say.

    TensorFlow 1.15 converts such checkpoints with a tool (contrib/rnn/python/tools/checkpoint_convert.py).
    """
    parts = name.split("/")
    if not _OF_1_1.keys().isdisjoint(parts):
        yield "/".join(_OF_1_1.get(part, part) for part in parts)
        of_0 = _LSTM_OF_0 if "lstm_cell" in parts else _OF_0
        yield "/".join(f"Cell{part[5:]}" if part.startswith("cell_") else of_0.get(part, part) for part in parts)
