"""Tensors that stay in the session between steps: one step returns a handle, and later ones use the value by its
handle."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import device, name_scope
from penstock.graph.traits import SERIAL
from penstock.ops.basic import placeholder
from penstock.runtime.kernels import KernelContext, SessionState
from penstock.runtime.resources import DEFAULT_CONTAINER
from penstock.runtime.values import from_runtime
from penstock.tensor.dtypes import DType, as_dtype, string


class KeptTensors:
    """The values that handles refer to."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._numbers = itertools.count()

    def keep(self, name: str, value: Any, device: str) -> str:
        handle = f"{name};{next(self._numbers)};{device}"
        self._values[handle] = value
        return handle

    def get(self, handle: str) -> Any:
        """Raises InvalidArgumentError unless there is such a handle."""
        try:
            return self._values[handle]
        except KeyError:
            raise errors.InvalidArgumentError(
                None, None, f"The tensor with handle {handle!r} is not in the session store."
            ) from None

    def drop(self, handle: str) -> None:
        self._values.pop(handle, None)

    def release(self, handle: str) -> None:
        """Drop it soon. Never waits: called when a `TensorHandle` is freed, in whatever thread that happens."""
        self.drop(handle)

    def clear(self) -> None:
        self._values.clear()


def kept_tensors(state: SessionState) -> KeptTensors:
    """Those of a session. Sessions of the same local target share them; those of a cluster have their own."""
    return state.keep(
        KeptTensors,
        lambda: state.resources.lookup_or_create(DEFAULT_CONTAINER, KeptTensors, "session_tensors", KeptTensors),
    )


def device_of_handle(handle: Any) -> str:
    """The device that the value is on; "" if the handle does not say."""
    text = handle.decode(errors="replace") if isinstance(handle, bytes) else str(handle)
    parts = text.split(";")
    return parts[2] if len(parts) == 3 else ""


def _copied(value: Any, to: torch.device | None = None) -> Any:
    """The kept value must be neither a variable's buffer nor memory that a later node of the step overwrites."""
    return value.copy() if isinstance(value, np.ndarray) else value.to(to or value.device, copy=True)


def _text(handle: Any) -> str:
    return bytes(handle[()]).decode()


GET_SESSION_HANDLE = define_op(
    "GetSessionHandle", "value: T", "handle: string", attrs=["T: type"], stateful=True, shape=shape_rules.scalar
)
GET_SESSION_TENSOR = define_op(
    "GetSessionTensor", "handle: string", "value: dtype", attrs=["dtype: type"], stateful=True, work=SERIAL
)
DELETE_SESSION_TENSOR = define_op("DeleteSessionTensor", "handle: string", "", stateful=True)
for _op in (GET_SESSION_HANDLE, GET_SESSION_TENSOR, DELETE_SESSION_TENSOR):
    _op.not_differentiable()
GET_SESSION_TENSOR.shape(shape_rules.unknown)
DELETE_SESSION_TENSOR.shape(shape_rules.no_outputs)


@GET_SESSION_HANDLE.kernel(host=("handle",))
def get_handle_kernel(ctx: KernelContext) -> Kernel:
    kept, name, device = kept_tensors(ctx.state), ctx.name, ctx.node.device
    return lambda value: np.array(kept.keep(name, _copied(value), device).encode(), object)


@GET_SESSION_TENSOR.kernel(host=("handle",))
def get_tensor_kernel(ctx: KernelContext) -> Kernel:
    kept, device = kept_tensors(ctx.state), ctx.device
    return lambda handle: _copied(kept.get(_text(handle)), device)


@DELETE_SESSION_TENSOR.kernel(host=("handle",))
def delete_tensor_kernel(ctx: KernelContext) -> Kernel:
    kept = kept_tensors(ctx.state)
    return lambda handle: kept.drop(_text(handle))


class TensorHandle:
    """A tensor that stays in its session as long as this object lives, or until it is deleted (TF: TensorHandle).

    If it is fed, its value is used.
    """

    def __init__(self, handle: bytes, dtype: DType, kept: KeptTensors) -> None:
        self._handle, self._dtype, self._kept = handle.decode(), dtype, kept
        self._owns = True

    @property
    def handle(self) -> str:
        return self._handle

    def get_raw_handle(self) -> str:
        """The handle; from now on the value is kept until `delete_session_tensor`."""
        self._owns = False
        return self._handle

    def eval(self) -> Any:
        """The value. Raises TypeError if the handle no longer owns it."""
        return from_runtime(_copied(self._kept.get(self._owned())), self._dtype)

    def delete(self) -> None:
        """Free the value now. Raises TypeError if the handle no longer owns it."""
        handle, self._owns = self._owned(), False
        self._kept.drop(handle)

    def _owned(self) -> str:
        if not self._owns:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")
        return self._handle

    def __str__(self) -> str:
        return self._handle

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.eval(), dtype)

    def __del__(self) -> None:
        if getattr(self, "_owns", False):
            self._kept.release(self._handle)


@export("get_session_handle")
def get_session_handle(data: Any, name: str | None = None) -> Tensor:
    """A tensor whose fetched value is a `TensorHandle` of `data`'s value, kept in the session (TF)."""
    with name_scope(name, "get_session_handle", [data]) as scope:
        return GET_SESSION_HANDLE(convert_to_tensor(data), name=scope)


@export("get_session_tensor")
def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A placeholder for a handle, and the tensor that the handle refers to (TF: tf.get_session_tensor).

    Both are on the device of `handle`, where its value is. Any handle of a tensor of `dtype` may be fed.
    """
    with name_scope(name, "get_session_tensor"), device(device_of_handle(handle)):
        holder = placeholder(string, [])
        return holder, GET_SESSION_TENSOR(holder, dtype=as_dtype(dtype))


@export("delete_session_tensor")
def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """A placeholder for a handle, and the operation that frees its tensor (TF: tf.delete_session_tensor)."""
    with name_scope(name, "delete_session_tensor"), device(device_of_handle(handle)):
        holder = placeholder(string, [])
        return holder, DELETE_SESSION_TENSOR(holder)
