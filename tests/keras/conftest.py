"""Each test has a graph and a session of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    tf.keras.backend.clear_session()
    tf.set_random_seed(1)
    np.random.seed(1)
    yield
    tf.keras.backend.clear_session()
