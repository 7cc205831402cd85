"""`np.random.seed` in programs of Keras as a package of its own: it fixes initial weights."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import output_of

WEIGHTS = """
import numpy as np
np.random.seed(7)
from keras.layers import Dense, Dropout, LSTM
from keras.models import Sequential

model = Sequential([Dense(2, input_shape=(3, 2)), Dropout(0.5), LSTM(1), Dense(2, kernel_initializer="he_normal")])
for w in model.get_weights():
    print(np.float64(w).ravel()[:3].round(5).tolist())
"""


def test_initial_weights_are_those_of_numpys_seed(tmp_path: Path) -> None:
    # Keras 2.2.5 prints the same.
    assert output_of(tmp_path, WEIGHTS) == (
        "[0.4399, 0.46108, -0.43596]\n[0.0, 0.0]\n[-0.33547, -0.54456, -0.31137]\n[-0.02532, 0.27263, -0.74625]\n"
        "[0.0, 1.0, 0.0]\n[0.5021, 0.65789]\n[0.0, 0.0]\n"
    )
