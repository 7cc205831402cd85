"""Every case of every `cases_*.py` beside this file."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import tests.ops
from tests.ops.harness import OpCase, check_op

CASES: list[OpCase] = [
    case
    for module in pkgutil.iter_modules(tests.ops.__path__)
    if module.name.startswith("cases_")
    for case in importlib.import_module(f"tests.ops.{module.name}").CASES
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_op_gives_the_reference_value_shape_dtype_and_gradient(case: OpCase) -> None:
    check_op(case)
