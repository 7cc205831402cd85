"""Programs with feature columns: variables and values are those that TensorFlow had."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.feature_column.programs import PROGRAMS, RECORDED, run

TENSORFLOW: dict[str, Any] = json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_variables_shapes_values_and_gradients_are_those_of_tensorflow(name: str) -> None:
    found, expected = run(tf, name), TENSORFLOW[name]
    assert found["variables"] == expected["variables"]
    assert found["shapes"] == expected["shapes"]
    for what in ("values", "gradients"):
        assert found[what].keys() == expected[what].keys()
        for key in expected[what]:
            np.testing.assert_allclose(found[what][key], expected[what][key], rtol=1e-5, atol=1e-5, err_msg=key)
