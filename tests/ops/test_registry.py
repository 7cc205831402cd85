"""Nothing is registered in name only: each op has its rules, and a gradient that is checked.

That every op also runs in some test is checked at the end of a whole run, in tests/conftest.py.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from penstock.graph.inline import is_functional
from penstock.graph.opdef import OpDef, get_gradient, registered_ops
from penstock.graph.primitives import PRIMITIVES
from tests.ops.test_ops import CASES

TESTS = Path(__file__).parent.parent
# The executor is the kernel of Switch and its kin, and the backward walk their gradient; If and While are written with
# them: tests/control_flow.
WRITTEN_OUT = {name for name, op in registered_ops().items() if is_functional(name) and not op.kernels}
OPS = [op for name, op in registered_ops().items() if name not in PRIMITIVES | WRITTEN_OUT]
GRADIENT_CHECKED = {case.op for case in CASES if case.raises is None and case.grad}
# A gradient that a row of samples cannot check (of a reference, of several nodes) is checked by a test that names it.
PROGRAMS = "\n".join(path.read_text() for path in TESTS.rglob("test_*.py"))

with gzip.open(TESTS / "data" / "tf_opdefs.json.gz", "rt") as file:
    REFERENCE = json.load(file)

DIFFERENT_FROM_TENSORFLOW = {
    "ResizeBilinearGrad", "PartitionedCall", "StatefulPartitionedCall", "LSTMBlockCell", "GRUBlockCell",
    "Resampler",
}  # fmt: skip
"""Ops that have a gradient where TensorFlow has none, or the other way round. (TensorFlow's gradients of calls are not
registered; those of cells are in contrib.)"""


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_an_op_has_a_shape_rule_and_a_kernel(op: OpDef) -> None:
    assert op.shape_fn is not None
    assert op.kernels


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_an_op_has_a_gradient_where_tensorflow_has_one_and_it_is_checked(op: OpDef) -> None:
    gradient = get_gradient(op.name)  # LookupError: neither a gradient nor not_differentiable()
    wanted = op.name in REFERENCE and REFERENCE[op.name]["gradient"]  # ops of contrib have none
    assert ((gradient is not None) == wanted) != (op.name in DIFFERENT_FROM_TENSORFLOW)
    assert gradient is None or op.name in GRADIENT_CHECKED or re.search(rf"\b{op.name}\b", PROGRAMS)
