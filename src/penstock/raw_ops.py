"""Every registered op by its OpDef name, with keyword arguments only (TF: tf.raw_ops)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.opdef import get_op, has_op, registered_ops


def __getattr__(name: str) -> Callable[..., Any]:
    """A function that adds a node of the op: inputs and attributes by their names in the OpDef, and `name`."""
    if not has_op(name):
        try:
            get_op(name)
        except NotImplementedError as error:  # the error names the nearest op
            raise AttributeError(str(error)) from None
    op = get_op(name)

    def raw_op(**kwargs: Any) -> Any:
        return op(**kwargs)

    raw_op.__name__ = raw_op.__qualname__ = name
    arguments = [i.name for i in op.inputs] + list(op.attrs)
    raw_op.__doc__ = f"The op {name}({', '.join(arguments)})."
    return raw_op


def __dir__() -> list[str]:
    return sorted(registered_ops())
