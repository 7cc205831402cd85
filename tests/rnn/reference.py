"""The equations of the cells, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm(x: Any, c: Any, h: Any, kernel: Any, bias: Any, forget_bias: float = 1.0) -> tuple[Any, Any]:
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, 1)
    c = sigmoid(f + forget_bias) * c + sigmoid(i) * np.tanh(j)
    return c, sigmoid(o) * np.tanh(c)


def gru(x: Any, h: Any, gates: Any, gate_bias: Any, kernel: Any, bias: Any) -> Any:
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ gates + gate_bias), 2, 1)
    candidate = np.tanh(np.concatenate([x, r * h], 1) @ kernel + bias)
    return u * h + (1 - u) * candidate


def lstm_run(xs: Any, lengths: Any, kernel: Any, bias: Any) -> tuple[Any, Any, Any]:
    """(outputs [batch, time, units], c, h) of xs [batch, time, n], row by row."""
    units = len(bias) // 4
    batch, time, _ = xs.shape
    outputs = np.zeros([batch, time, units])
    cs, hs = np.zeros([batch, units]), np.zeros([batch, units])
    for row in range(batch):
        c, h = cs[row : row + 1], hs[row : row + 1]
        for step in range(lengths[row]):
            c, h = lstm(xs[row : row + 1, step], c, h, kernel, bias)
            outputs[row, step] = h
        cs[row], hs[row] = c, h
    return outputs, cs, hs
