"""Python types and strings, dates, and what TensorFlow 2 has switches for (TF: tf.compat)."""

from __future__ import annotations

import datetime
import numbers
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.scopes import name_scope
from penstock.tensor.shapes import TensorShape

integral_types: tuple[type, ...] = export("compat.integral_types")((numbers.Integral, np.integer))
real_types: tuple[type, ...] = export("compat.real_types")((numbers.Real, np.integer, np.floating))
complex_types: tuple[type, ...] = export("compat.complex_types")((numbers.Complex, np.number))
bytes_or_text_types: tuple[type, ...] = export("compat.bytes_or_text_types")((bytes, str))

# --- strings --------------------------------------------------------------------------------------------


@export("compat.as_bytes")
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Encodes text; bytes are unchanged. Raises TypeError for anything else (TF: tf.compat.as_bytes)."""
    if isinstance(bytes_or_text, bytearray | bytes):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_text", "compat.as_str")
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Decodes bytes; text is unchanged. Raises TypeError for anything else (TF: tf.compat.as_text)."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_str_any")
def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Decodes bytes, and converts anything else by `str` (TF: tf.compat.as_str_any)."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@export("compat.path_to_str")
def path_to_str(path: Any) -> Any:
    """A path object as text; anything else is unchanged (TF: tf.compat.path_to_str)."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


# --- dates ----------------------------------------------------------------------------------------------

_horizon: datetime.date | None = None


@export("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether that day is in the past, so that a new op may be used (TF: tf.compat.forward_compatible)."""
    return (_horizon or datetime.date.today()) > datetime.date(year, month, day)


@export("compat.forward_compatibility_horizon")
@contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Inside, `forward_compatible` treats that day as today (TF: tf.compat.forward_compatibility_horizon)."""
    global _horizon
    outside, _horizon = _horizon, datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon = outside


# --- TensorFlow 2 ---------------------------------------------------------------------------------------

_NO_V2 = (
    "Penstock has no eager execution: it builds a graph, then runs parts of it in a session, as TensorFlow 1 does. "
    "Write `with tf.Session() as session: session.run(...)`."
)


@export(
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "compat.disable_control_flow_v2",
    "compat.disable_eager_execution",
    "compat.disable_tensor_equality",
    "compat.disable_v2_behavior",
    "compat.disable_v2_tensorshape",
)
def disable_v2_behavior() -> None:
    """Does nothing: Penstock only has the behaviour of TensorFlow 1 (TF: tf.disable_v2_behavior)."""


@export("enable_control_flow_v2", "compat.enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Does nothing: loops and conditionals are run and differentiated the same way, whichever of TensorFlow's two kinds
    of ops a graph has for them, and a program's own get those of version 1 (TF: tf.enable_control_flow_v2)."""


@export("control_flow_v2_enabled", "compat.control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """False: see enable_control_flow_v2 (TF: tf.control_flow_v2_enabled)."""
    return False


@export("enable_eager_execution", "compat.enable_eager_execution")
def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Raises NotImplementedError: Penstock builds graphs (TF: tf.enable_eager_execution)."""
    raise NotImplementedError(_NO_V2)


@export("enable_v2_behavior", "compat.enable_v2_behavior")
def enable_v2_behavior() -> None:
    """Raises NotImplementedError: Penstock builds graphs (TF: tf.enable_v2_behavior)."""
    raise NotImplementedError(_NO_V2)


@export("executing_eagerly", "compat.executing_eagerly")
def executing_eagerly() -> bool:
    """False (TF: tf.executing_eagerly)."""
    return False


@export("compat.dimension_value", "dimension_value")
def dimension_value(dimension: Any) -> int | None:
    """A `Dimension` as an int or None; an int is unchanged (TF: tf.compat.dimension_value)."""
    value: int | None = getattr(dimension, "value", dimension)
    return value


@export("compat.dimension_at_index", "dimension_at_index")
def dimension_at_index(shape: TensorShape, index: int) -> Any:
    """One `Dimension` of a shape, unknown if the rank is (TF: tf.compat.dimension_at_index)."""
    return shape.with_rank_at_least(index + 1)[index] if shape.ndims is None else shape[index]


# --- older names ----------------------------------------------------------------------------------------


@export("op_scope", "compat.op_scope")
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> AbstractContextManager[str]:
    """`name_scope(name, default_name, values)`, as it was before TensorFlow 1.0 (TF: tf.op_scope)."""
    return name_scope(name, default_name, values)
