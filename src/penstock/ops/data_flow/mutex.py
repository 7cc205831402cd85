"""Mutexes (TF: MutexV2, MutexLock, ConsumeMutexLock; the paper's table 1 calls them MutexAcquire and MutexRelease)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import shape_rules
from penstock.graph.node_kernel import NodeKernel, asynchronous
from penstock.graph.opdef import Bound, define_op
from penstock.graph.traits import SERIAL
from penstock.ops.data_flow.lines import NOT_YET, Attempt, Done, Shared, shared
from penstock.runtime.kernels import KernelContext


class Mutex(Shared):
    """Held by one `Lock` at a time."""

    kind = "mutex"
    held = False

    def acquire(self, done: Done) -> Attempt | None:
        def attempt() -> Any:
            if self.held:
                return NOT_YET
            self.held = True
            return Lock(self)

        return self.submit("lock", "MutexLock", "the lock", attempt, done)

    def release(self) -> None:
        def change() -> None:
            self.held = False
            self.wake("lock")

        self.change(change)

    def forget(self) -> None:
        """Releases it, whoever holds it."""


class Lock:
    """What `MutexLock` returns. It releases the mutex once: when it is consumed, or when nothing refers to it any more,
    as after a step that failed in between."""

    def __init__(self, mutex: Mutex) -> None:
        self._mutex: Mutex | None = mutex

    def release(self) -> None:
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.release()

    __del__ = release


MUTEX_V2 = define_op(
    "MutexV2", "", "resource: resource", attrs=["container: string = ''", "shared_name: string = ''"], stateful=True
)
MUTEX_LOCK = define_op(
    "MutexLock", "mutex: resource", "mutex_lock: variant", stateful=True, work=SERIAL, waits=True, shared=True
)
CONSUME_MUTEX_LOCK = define_op("ConsumeMutexLock", "mutex_lock: variant", "", stateful=True, work=SERIAL)
for _op in (MUTEX_V2, MUTEX_LOCK, CONSUME_MUTEX_LOCK):
    _op.not_differentiable()
MUTEX_V2.shape(shape_rules.scalar)
MUTEX_LOCK.shape(shape_rules.scalar)
CONSUME_MUTEX_LOCK.shape(shape_rules.no_outputs)


@MUTEX_V2.kernel("CPU")
def mutex_kernel(ctx: KernelContext) -> Bound:
    return Bound(shared(ctx, Mutex, Mutex))


@MUTEX_LOCK.kernel("CPU")
def lock_kernel(ctx: KernelContext) -> NodeKernel:
    return asynchronous(lambda done, mutex: mutex.acquire(done))


@CONSUME_MUTEX_LOCK.kernel("CPU")
def consume_kernel(ctx: KernelContext) -> Callable[[Lock], None]:
    return lambda lock: lock.release()
