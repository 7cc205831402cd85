"""Whether two results of one sample agree: `difference` returns None, or a short description of the difference."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from conformance.known import FILES, RANDOM, SINGLE
from conformance.values import from_json

TOLERANCE = {"bfloat16": 2e-2, "float16": 4e-3, "float32": 2e-5, "float64": 1e-9, "complex64": 2e-5, "complex128": 1e-9}
NO_KERNEL = re.compile(
    r"No OpKernel|not supported|unsupported|only supports|not support|NHWC|dilation rates? larger|input shapes: \?|"
    r"data format|dilation",
    re.I,
)


def usable(theirs: dict[str, Any]) -> bool:
    """Whether TensorFlow runs the sample on a CPU: it lacks kernels for types, layouts and dilations that its
    signatures allow, and cannot build some ops with inputs of unknown shape."""
    if theirs.get("error") in ("NotFoundError", "UnimplementedError", "crash"):
        return False
    return not ("error" in theirs and NO_KERNEL.search(theirs["message"]))


def difference(sample: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """Compare values, dtypes, inferred shapes, gradients, and errors: whether and how a sample is rejected."""
    if "error" in theirs or "error" in ours:
        return _compare_errors(ours, theirs)
    if len(ours["values"]) != len(theirs["values"]):
        return "values: another number of outputs"
    op = sample["op"]
    for n, (a, b) in enumerate(zip(ours["values"], theirs["values"], strict=True)):
        found = same_value(op, a, b)
        if found:
            return f"values[{n}]: {found}"
    for when in ("shapes", "unknown"):
        if when in theirs and (found := _compare_shapes(ours[when], theirs[when], theirs["values"])):
            return f"{when}: {found}"
    return _compare_gradients(op, ours.get("gradients"), theirs.get("gradients"))


def _compare_errors(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """A wrong shape may be detected when the graph is built (ValueError) or when it runs (InvalidArgumentError)."""
    a, b = ours.get("error"), theirs.get("error")
    refused = {"ValueError", "InvalidArgumentError"}
    if a == b or (a in refused and b in refused):
        return None
    why = ours.get("message") if b is None else theirs["message"]
    return f"error: {a or 'a value'}, TensorFlow {b or 'a value'} ({why})".replace("\n", " ").replace("|", "/")


def same_value(op: str, a: Any, b: Any) -> str | None:
    if a["dtype"] != b["dtype"]:
        return f"dtype {a['dtype']}, TensorFlow {b['dtype']}"
    if a["shape"] != b["shape"]:
        return f"shape {a['shape']}, TensorFlow {b['shape']}"
    if op in RANDOM:
        return None
    x, y = from_json(a), from_json(b)
    if a["dtype"] in TOLERANCE:
        tolerance = TOLERANCE["float32" if op in SINGLE and a["dtype"] == "float64" else a["dtype"]]
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        x, y = x.astype(wide), y.astype(wide)
        with np.errstate(all="ignore"):
            size = np.abs(y[np.isfinite(y)]).max(initial=1.0) if y.size else 1.0
            same = np.isclose(x, y, rtol=tolerance, atol=tolerance * min(size, 1e3), equal_nan=True)
    elif op in FILES and a["dtype"] == "uint8":
        same = np.abs(x.astype(int) - y.astype(int)) <= FILES[op]
    else:
        same = np.asarray(x == y)
    if same.all():
        return None
    where = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{x[where]!r}, TensorFlow {y[where]!r} at {where}"


def _compare_shapes(ours: Any, theirs: Any, values: list[Any]) -> str | None:
    """Ours may be more precise than TensorFlow's, and must not contradict the value."""
    if ours == "build error" or theirs == "build error":
        return None if ours == theirs else f"{ours}, TensorFlow {theirs}"
    for n, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if b is not None and (a is None or any(i is None and j is not None for i, j in zip(a, b, strict=False))):
            return f"{a} of output {n}, TensorFlow {b}"
        if a is not None and n < len(values):
            real = values[n]["shape"]
            if len(real) != len(a) or any(i is not None and i != j for i, j in zip(a, real, strict=True)):
                return f"{a} inferred for output {n}, which is {real}"
    return None


def _compare_gradients(op: str, ours: Any, theirs: Any) -> str | None:
    if theirs is None or isinstance(theirs, str):
        return None  # TensorFlow has none here (or fails at it); ours is checked by finite differences
    if isinstance(ours, str) or ours is None:
        return f"gradient: {ours}"
    for n, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if b is None:
            continue
        if a is None:
            if np.any(from_json(b)):
                return f"gradient[{n}]: None, TensorFlow has one"
        elif found := same_value(op, a, b):
            return f"gradient[{n}]: {found}"
    return None
