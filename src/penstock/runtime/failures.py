"""From an exception in a kernel to the typed error that the client sees, which names node, values and line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from google.protobuf.message import DecodeError

from penstock import errors
from penstock.graph.step_graph import Node
from penstock.runtime.waits_report import HEADING
from penstock.tensor.dtypes import as_dtype

_KINDS: list[tuple[type[BaseException], type[errors.OpError]]] = [
    (torch.OutOfMemoryError, errors.ResourceExhaustedError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
    (FileNotFoundError, errors.NotFoundError),
    (PermissionError, errors.PermissionDeniedError),
    (OSError, errors.UnknownError),
    (ValueError, errors.InvalidArgumentError),
    (IndexError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
    (ArithmeticError, errors.InvalidArgumentError),  # a size of zero, or one too large for any integer
    (RuntimeError, errors.InvalidArgumentError),  # what torch raises for bad arguments
    (DecodeError, errors.InvalidArgumentError),  # from a protobuf message that is an op's input
]


def invalid(message: str) -> errors.InvalidArgumentError:
    """Returns the error for a kernel to raise if its input is invalid; the runtime adds the node and its line."""
    return errors.InvalidArgumentError(None, None, message)


@contextlib.contextmanager
def planning_errors() -> Iterator[None]:
    """Turns unexpected exceptions during planning into an InternalError that says so."""
    try:
        yield
    except (errors.OpError, TypeError, ValueError, NotImplementedError, OSError):
        raise
    except Exception as error:
        raise errors.InternalError(None, None, _UNFORESEEN.format(type(error).__name__, error)) from error


_UNFORESEEN = (
    "The step cannot be planned ({}: {}). If its graph runs in TensorFlow, this is a bug of Penstock: please report it."
)


def node_error(error: BaseException, node: Node, inputs: list[Any], where: str = "") -> errors.OpError:
    """`error`, raised by the kernel of `node` on `inputs`, as an `OpError` of the matching kind."""
    said, heading, waits = str(error).partition(HEADING)
    message = _in_our_words(said.split("\nException raised from")[0], inputs)
    if isinstance(error, errors.OpError):
        kind: Any = type(error)
        if error.op is not None:
            return error
    else:
        kind = next((k for cls, k in _KINDS if isinstance(error, cls)), errors.InternalError)
        wrong = next((v for v in inputs if message.startswith(f"'{type(v).__name__}' object has no attribute")), None)
        if isinstance(error, AttributeError) and wrong is not None:
            kind = errors.InvalidArgumentError
            message = f"{node.op.name} takes another kind of resource than {describe(wrong)} ({type(wrong).__name__})"
        if isinstance(error, RuntimeError) and "not implemented for" in message:
            kind = errors.UnimplementedError
        elif isinstance(error, RuntimeError) and "can't allocate memory" in message:
            kind = errors.ResourceExhaustedError
    source = node.source
    lines = [
        message or type(error).__name__,
        f"  node {node.name} = {node.op.name}({', '.join(map(describe, inputs))})",
    ]
    if node.device:
        lines[-1] += f" on {node.device}"
    if where:
        lines[-1] += f", in {where}"
    if source is not None and source.user_line:
        lines.append(f"  built at {source.user_line}")
    if source is not None and source._original_op is not None:
        original = source._original_op
        lines.append(f"  in the gradient of {original.name}, built at {original.user_line}")
    found = kind(source.node_def if source is not None else None, source, "\n".join(lines) + heading + waits)
    found.__cause__ = error if not isinstance(error, errors.OpError) else error.__cause__
    return found


def _in_our_words(message: str, inputs: list[Any]) -> str:
    """Translates torch's messages about mismatched shapes to TensorFlow's; other messages stay unchanged.

    Kernels leave these checks to torch, which makes them anyway.
    """
    shapes = [list(value.shape) if isinstance(value, torch.Tensor) else [] for value in inputs[:2]]
    if _UNFIT_MATRICES.match(message) and len(shapes) == 2:
        return f"Matrix size-incompatible: In[0]: {shapes[0]}, In[1]: {shapes[1]}"
    if found := _TOO_MANY_INDICES.match(message):
        return f"Index out of range using input dim {found[1]}; input has only {found[1]} dims"
    if message.startswith("Length of pad should be no more than twice"):
        return f"The first dimension of paddings must be the rank of inputs: {shapes[-1]} for {shapes[0]}"
    return message


_UNFIT_MATRICES = re.compile("mat1 and mat2 shapes cannot be mult|Expected size for first two dimensions of batch2")
_TOO_MANY_INDICES = re.compile(r"too many indices for tensor of dimension (\d+)")


def describe(value: Any) -> str:
    """A value's dtype and shape, and its contents if it is small."""
    if isinstance(value, torch.Tensor):
        text = f"{as_dtype(value.dtype).name}{list(value.shape)}"
        return f"{text} {value.tolist()}" if value.numel() <= 8 else text
    if isinstance(value, np.ndarray):
        text = f"string{list(value.shape)}"
        return f"{text} {value.tolist()}" if value.size <= 8 and len(str(value)) < 200 else text
    if isinstance(value, list):
        return f"[{', '.join(map(describe, value))}]"
    return getattr(value, "name", type(value).__name__)
