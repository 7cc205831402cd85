"""Samples of ops that change state: a variable is set, the op runs, and its outputs and the variable are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.samples import _encoded
from conformance.values import to_json
from penstock.graph.graph import Graph
from penstock.graph.opdef import OpDef, get_op, registered_ops
from penstock.graph.scopes import control_dependencies
from penstock.ops.basic import placeholder
from penstock.tensor.dtypes import as_dtype

WEIGHTS = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [-0.125, 0.75, 2.0], [1.5, -0.5, -3.0]])
POSITIVE = np.array([[0.1, 0.2, 0.5], [0.4, 0.3, 1.0], [2.0, 0.6, 0.15], [0.7, 0.9, 0.8]])
ROWS = np.array([[0.5, -1.0, 0.25], [0.75, 1.0, 2.0]])
SCALARS = {
    "lr": 0.1, "alpha": 0.1, "rho": 0.9, "momentum": 0.5, "epsilon": 0.01, "l1": 0.02, "l2": 0.05, "lr_power": -0.5,
    "beta1_power": 0.81, "beta2_power": 0.998, "beta1": 0.9, "beta2": 0.999, "l2_shrinkage": 0.03, "logbase": 2.0,
    "sign_decay": 0.9, "beta": 0.9,
}  # fmt: skip
TYPES = ("float", "double", "half", "int32", "int64")
INDICES = {"usual": [2, 0], "repeated": [1, 1], "negative": [-1, 0], "beyond": [0, 4]}
FAMILIES = ("Assign", "Scatter", "Apply", "SparseApply")


def state_samples() -> Iterator[dict[str, Any]]:
    """Assignments, scatters and training updates, of reference and of resource variables."""
    for name, op in sorted(registered_ops().items()):
        if name.removeprefix("Resource").startswith(FAMILIES) and not name.endswith("CountUpTo"):
            sparse = any(i.name == "indices" for i in op.inputs)
            for dtype in TYPES:
                for what, indices in INDICES.items() if sparse else [("dense", [0, 1])]:
                    sample = _sample(op, dtype, np.array(indices, np.int32), what)
                    if sample is not None:
                        yield sample


def _sample(op: OpDef, dtype: str, indices: np.ndarray, what: str) -> dict[str, Any] | None:
    kind = as_dtype(dtype)
    feeds: dict[str, np.ndarray] = {}
    graph = Graph()
    variables: list[Any] = []
    initial: list[Any] = []
    with graph.as_default():

        def fed(array: np.ndarray) -> Any:
            tensor = placeholder(as_dtype(array.dtype), shape=array.shape, name=f"in{len(feeds)}")
            feeds[tensor.name] = array
            return tensor

        def variable(arg: Any) -> Any:
            first = fed(np.asarray(WEIGHTS if not variables else POSITIVE).astype(kind.as_numpy_dtype))
            name = f"state{len(variables)}"
            if arg.is_ref:
                handle = get_op("VariableV2")(shape=first.shape, dtype=kind, name=name)
                initial.append(get_op("Assign")(handle, first, name=f"{name}/set").op)
            else:
                handle = get_op("VarHandleOp")(dtype=kind, shape=first.shape, shared_name=name, name=name)
                initial.append(get_op("AssignVariableOp")(handle, first, name=f"{name}/set"))
            variables.append(handle)
            return handle

        def value(arg: Any) -> Any:
            if arg.name == "indices":
                return fed(indices[:, None] if "Nd" in op.name else indices)
            if arg.name in SCALARS:
                return fed(np.asarray(SCALARS[arg.name]).astype(kind.as_numpy_dtype))
            if arg.name == "global_step":
                return fed(np.asarray(3, np.int64))
            rows = ROWS if any(i.name == "indices" for i in op.inputs) else WEIGHTS[::-1] + 0.5
            return fed(rows.astype(kind.as_numpy_dtype))

        try:
            inputs = [variable(a) if a.is_ref or a.dtype == as_dtype("resource") else value(a) for a in op.inputs]
            with control_dependencies(initial):
                op(*inputs, name="sample")
            node = graph.get_operation_by_name("sample")
            with control_dependencies([node]):
                after = [
                    get_op("ReadVariableOp")(v, dtype=kind, name=f"after{n}")
                    if v.dtype == as_dtype("resource")
                    else get_op("Identity")(v, name=f"after{n}")
                    for n, v in enumerate(variables)
                ]
        except (TypeError, ValueError, KeyError, NotImplementedError):
            return None  # a type that the op does not take
    return {
        "op": op.name,
        "what": f"{op.name}({dtype}, {what})",
        "graph": _encoded(graph.as_graph_def()),
        "constant": "",
        "feeds": {name: to_json(a) for name, a in feeds.items()},
        "fetches": [t.name for t in after] + [t.name for t in node.outputs if t.dtype != as_dtype("resource")],
        "differentiate": [],
    }
