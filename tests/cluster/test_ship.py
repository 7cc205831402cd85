"""What travels to other tasks arrives as it was."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import penstock
from penstock.cluster.ship import _named, _op
from penstock.graph.opdef import OpDef, has_op


def test_every_op_that_passes_add_to_steps_can_travel() -> None:
    found = set()
    for module in pkgutil.walk_packages(penstock.__path__, "penstock."):
        if any(part in module.name for part in ("__main__", ".ray")):
            continue
        found |= {value for value in vars(importlib.import_module(module.name)).values() if isinstance(value, OpDef)}
    internal = {op for op in found if not has_op(op.name)}
    assert {"_ValidIds", "_Send", "_AddProduct", "_SwapIn"} <= {op.name for op in internal}
    for op in internal:
        assert _op(pickle.loads(pickle.dumps(_named(op)))) is op
