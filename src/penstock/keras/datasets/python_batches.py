"""CIFAR in the version for Python, whose files are pickles of a dict: b"data" [n, 3072] uint8 and lists of labels.

Of a pickle only what such a dict consists of is read: arrays of NumPy, lists, numbers and texts.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from penstock.records import data_pickles


def load_batch(fpath: Any, label_key: str = "labels") -> tuple[np.ndarray, list[int]]:
    """Images [n, 3, 32, 32] uint8 and the list of their labels. Raises ValueError for other files."""
    try:
        with Path(fpath).open("rb") as file:
            found = data_pickles.read(file, "bytes")
        texts = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
        return np.reshape(texts["data"], (-1, 3, 32, 32)), list(texts[label_key])
    except data_pickles.NotDataError as error:
        raise ValueError(f"{fpath} is no batch of CIFAR for Python: {error} is no part of a batch") from None
    except (pickle.UnpicklingError, AttributeError, EOFError, KeyError, TypeError) as error:
        raise ValueError(f"{fpath} is no batch of CIFAR for Python: {error}") from None
