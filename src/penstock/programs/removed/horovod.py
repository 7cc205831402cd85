"""Horovod, of which that of today does not build without TensorFlow: for a program that is one process, as it then was.

Facts from Horovod 0.19.5: what its functions do where `size()` is 1. One that is installed goes before.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from penstock.programs.removed.giving import ModuleOf
from penstock.programs.report import REPORT

Average, Sum, Adasum = 0, 1, 2
"""How tensors of the processes become one: `op` of `allreduce`."""
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE")
"""Variables in which mpirun and horovodrun say how many processes there are."""

_begun = False


def init(comm: Any = None) -> None:
    """Raises RuntimeError in one process of several, which would each train by itself."""
    global _begun
    for name in _SIZES:
        if int(os.environ.get(name) or 1) > 1:
            raise RuntimeError(
                f"Horovod is not installed, and Penstock's is for one process, not for {os.environ[name]} ({name}): "
                "run the program without mpirun and horovodrun"
            )
    _begun = True
    REPORT.note("horovod is Penstock's, of one process")


def shutdown() -> None:
    global _begun
    _begun = False


def is_initialized() -> bool:
    return _begun


def _of_one(value: Any) -> Any:
    if not _begun:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return value


def size() -> int:
    return _of_one(1)


def local_size() -> int:
    return _of_one(1)


def rank() -> int:
    return _of_one(0)


def local_rank() -> int:
    return _of_one(0)


def is_homogeneous() -> bool:
    return _of_one(True)


def mpi_threads_supported() -> bool:
    return _of_one(False)


def mpi_enabled() -> bool:
    return _of_one(False)


def no() -> bool:
    """Whether a way to other processes has been built."""
    return False


# --- tensors ---------------------------------------------------------------------------------------------


def _tensorflow() -> Any:
    return importlib.import_module("penstock")


class NoneCompressor:
    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return tensor


class FP16Compressor:
    """Floats go to others with 16 bits."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        tf = _tensorflow()
        return (tf.cast(tensor, tf.float16) if tensor.dtype.is_floating else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return _tensorflow().cast(tensor, ctx) if ctx.is_floating else tensor


class Compression:
    """What `compression` of `allreduce` may be."""

    none = NoneCompressor
    fp16 = FP16Compressor


def _allreduce(tensor: Any, name: str | None = None, op: int = Sum) -> Any:
    _of_one(op)
    return _tensorflow().identity(tensor, name)


def allreduce(
    tensor: Any,
    average: bool | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    op: int | None = None,
) -> Any:
    """A tensor or IndexedSlices, of all processes. Whole numbers become float64 if they are averaged, by `/`."""
    tf, mean = _tensorflow(), op == Average if op is not None else average is not False
    if isinstance(tensor, tf.IndexedSlices):
        values = _allreduce(tensor.values)
        values = values / tf.cast(size(), values.dtype) if mean else values
        return tf.IndexedSlices(values, _allreduce(tensor.indices), dense_shape=tensor.dense_shape)
    packed, kept = compression.compress(tf.convert_to_tensor(tensor))
    total = compression.decompress(_allreduce(packed), kept)
    return total / tf.cast(size(), total.dtype) if mean else total


def allgather(tensor: Any, name: str | None = None) -> Any:
    """The rows of all processes."""
    return _allreduce(tensor, name)


def broadcast(tensor: Any, root_rank: int, name: str | None = None) -> Any:
    if root_rank != _of_one(0):
        raise ValueError(f"root_rank is {root_rank}, of one process")
    return _allreduce(tensor, name)


def broadcast_variables(variables: Sequence[Any], root_rank: int) -> Any:
    """An operation: variables get the values that they have in the root."""
    return _tensorflow().group(*(each.assign(broadcast(each, root_rank)) for each in variables))


def broadcast_global_variables(root_rank: int) -> Any:
    return broadcast_variables(_tensorflow().global_variables(), root_rank)


# --- training --------------------------------------------------------------------------------------------


def _hook(tf: Any) -> type:
    class BroadcastGlobalVariablesHook(tf.train.SessionRunHook):
        """Global variables get the values of the root when a session is made."""

        def __init__(self, root_rank: int, device: str = "") -> None:
            self.root_rank, self.device, self.bcast_op = root_rank, device, None

        def begin(self) -> None:
            if self.bcast_op is None or self.bcast_op.graph is not tf.get_default_graph():
                with tf.device(self.device):
                    self.bcast_op = broadcast_global_variables(self.root_rank)

        def after_create_session(self, session: Any, coord: Any) -> None:
            session.run(self.bcast_op)

    return BroadcastGlobalVariablesHook


def _delegating() -> Any:
    """The class of optimizers that let another work: its gradients are the means of all processes, of one its own."""
    return importlib.import_module("penstock.train.delegating").DelegatingOptimizer


def DistributedOptimizer(
    optimizer: Any,
    name: str | None = None,
    use_locking: bool = False,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: int = Average,
) -> Any:
    """An optimizer of `tf.train` or of Keras, for all processes. Raises ValueError for what is neither, and for several
    passes of a step."""
    size()
    if backward_passes_per_step > 1:
        raise ValueError(
            "backward_passes_per_step > 1 is not there: add gradients up in variables of the program's own"
        )
    if isinstance(optimizer, _tensorflow().train.Optimizer):
        return _delegating()(optimizer, name or f"Distributed{type(optimizer).__name__}", use_locking)
    if isinstance(optimizer, _tensorflow().keras.optimizers.Optimizer):
        return type(optimizer).from_config(optimizer.get_config())
    raise ValueError(f"an optimizer of tf.train or of Keras is needed, not {optimizer!r}")


# --- modules ---------------------------------------------------------------------------------------------

_PROCESSES = (
    "init shutdown is_initialized size local_size rank local_rank is_homogeneous mpi_threads_supported mpi_enabled"
)
_BUILT = "mpi_built gloo_enabled gloo_built nccl_built ddl_built ccl_built"
COMMON: dict[str, Any] = {
    **{name: globals()[name] for name in _PROCESSES.split()},
    **dict.fromkeys(_BUILT.split(), no),
    "Average": Average,
    "Sum": Sum,
    "Adasum": Adasum,
}
"""Of all of its modules: which process this is, of how many."""
_GRAPHS = (_allreduce, allgather, broadcast)
_TRAINING: tuple[Any, ...] = (
    Compression,
    allreduce,
    broadcast_variables,
    broadcast_global_variables,
    DistributedOptimizer,
)


class OfOneProcess(ModuleOf):
    """A module whose members are the names themselves."""

    def make(self, name: str) -> ModuleType:
        module = ModuleType(name)
        vars(module).update(self.members)
        return module


class _OfTensorFlow(OfOneProcess):
    """With what is made of classes of TensorFlow, which is not imported before."""

    def make(self, name: str) -> ModuleType:
        module = super().make(name)
        vars(module).update(
            BroadcastGlobalVariablesHook=_hook(_tensorflow()),
            mpi_ops=MODULES[f"{name}.mpi_ops"].make(f"{name}.mpi_ops"),
        )
        return module


_MPI: dict[str, Any] = {**COMMON, **{each.__name__: each for each in _GRAPHS}}
MODULES: dict[str, ModuleOf] = {
    "horovod": OfOneProcess(None, {"__version__": "0.19.5"}),
    "horovod.tensorflow": _OfTensorFlow(None, {**_MPI, **{each.__name__: each for each in _TRAINING}}),
    "horovod.tensorflow.mpi_ops": OfOneProcess(None, _MPI),
}
