"""Datasets without functions give what TensorFlow's give: elements, types and shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import penstock as tf
from tests.datasets.pipelines import run
from tests.datasets.plain_pipelines import PIPELINES, RECORDED

EXPECTED: dict[str, Any] = json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_gives_tensorflows_elements(name: str) -> None:
    found, expected = run(tf, PIPELINES[name]), EXPECTED[name]
    assert found["elements"] == expected["elements"]
    assert found["types"] == expected["types"]
    assert found["shapes"] == expected["shapes"]
