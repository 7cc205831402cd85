"""Arrays as bit-exact JSON, for communication between the processes and for recordings."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def to_json(value: Any) -> Any:
    """An array, a scalar or a string as {"dtype", "shape", "data"}; strings as a list of base64 texts."""
    array = np.asarray(value)
    if array.dtype.kind == "V" and array.dtype.names:  # a quantised type: a number under a name
        array = array.view(array.dtype[0])
    if array.dtype.kind in "OSU":
        flat = [v.encode() if isinstance(v, str) else bytes(v) for v in array.reshape(-1).tolist()]
        return {"dtype": "string", "shape": list(array.shape), "data": [base64.b64encode(v).decode() for v in flat]}
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "data": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }


def from_json(found: Any) -> np.ndarray:
    """The inverse of `to_json`; bfloat16 and related types through ml_dtypes."""
    if found["dtype"] == "string":
        out = np.empty(len(found["data"]), object)
        out[:] = [base64.b64decode(v) for v in found["data"]]
        return out.reshape(found["shape"])
    try:
        dtype = np.dtype(found["dtype"])
    except TypeError:
        import ml_dtypes

        dtype = np.dtype(getattr(ml_dtypes, found["dtype"]))
    return np.frombuffer(base64.b64decode(found["data"]), dtype).reshape(found["shape"]).copy()
