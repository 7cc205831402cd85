"""Sequences of numbers as arrays (TF: tf.keras.preprocessing.sequence)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export


@export("keras.preprocessing.sequence.pad_sequences")
def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:
    """Sequences of different lengths as rows of one array, filled up with `value`.

    padding, truncating: "pre" or "post": where longer and shorter ones are changed.
    """
    if padding not in ("pre", "post") or truncating not in ("pre", "post"):
        raise ValueError(f'padding and truncating are "pre" or "post", got {padding!r} and {truncating!r}')
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for sequence in sequences:
        if not hasattr(sequence, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {sequence}")
    maxlen = max(map(len, sequences), default=0) if maxlen is None else maxlen
    inner = next((np.shape(sequence)[1:] for sequence in sequences if len(sequence)), ())
    rows = np.full((len(sequences), maxlen, *inner), value, dtype=dtype)
    for row, sequence in zip(rows, sequences, strict=True):
        kept = np.asarray(sequence[-maxlen:] if truncating == "pre" else sequence[:maxlen], dtype=dtype)
        if not len(kept) or not maxlen:
            continue
        if kept.shape[1:] != inner:
            raise ValueError(f"Shape of sample {kept.shape[1:]} is different from the expected shape {inner}")
        if padding == "post":
            row[: len(kept)] = kept
        else:
            row[-len(kept) :] = kept
    return rows
