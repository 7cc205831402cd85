"""CUDA devices through torch: separate streams for computing and for copies, pinned memory, limits, graphs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from penstock import errors
from penstock.devices.device import Device, device_name

MIB = 1 << 20

R = TypeVar("R")


class CudaDevice(Device):
    """One GPU, or (gpu_options.experimental.virtual_devices) a part of its memory as a separate device.

    Kernels run on `compute`, copies in and out on `copies`, ordered by events: copies overlap with computation. The
    host waits only for what the client fetches.
    """

    def __init__(self, name: str, ordinal: int, memory_limit: int) -> None:
        super().__init__(name, "GPU", torch.device("cuda", ordinal), memory_limit)
        self.compute = torch.cuda.Stream(ordinal)
        self.copies = torch.cuda.Stream(ordinal)
        self.recorder = CudaRecorder(self.torch)
        self._threads = threading.local()

    @staticmethod
    def found(config: Any, count: int) -> Iterator[CudaDevice]:
        """The GPUs that the config lets a session see, at most `count`."""
        options = config.gpu_options if config is not None else None
        visible = list(range(torch.cuda.device_count()))
        if options is not None and options.visible_device_list:
            asked = [int(part) for part in options.visible_device_list.split(",")]
            if not set(asked) <= set(visible):
                raise errors.InvalidArgumentError(
                    None, None, f"visible_device_list {options.visible_device_list!r}: this machine has GPUs {visible}"
                )
            visible = asked
        index = 0
        for place, ordinal in enumerate(visible[:count]):
            total = torch.cuda.get_device_properties(ordinal).total_memory
            limits = [int(total * _fraction(options))]
            if options is not None and place < len(options.experimental.virtual_devices):
                limits = [int(mib) * MIB for mib in options.experimental.virtual_devices[place].memory_limit_mb]
            for limit in limits:
                yield CudaDevice(device_name("GPU", index), ordinal, limit)
                index += 1
            if sum(limits) < total:
                torch.cuda.set_per_process_memory_fraction(min(1.0, sum(limits) / total), ordinal)

    @property
    def runs_anywhere(self) -> bool:
        return False

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with torch.cuda.stream(self.compute):
            if not hasattr(self._threads, "known"):
                torch.cuda.mem_get_info(self.torch)  # CUDA's driver launches only where its runtime was called before
                self._threads.known = True
            yield

    def receive(self, value: Any, source: Device) -> Any:
        """Starts a copy on the copying stream; neither the host nor this device's kernels wait for it yet."""
        if not isinstance(value, torch.Tensor) or value.device == self.torch:
            return value
        if isinstance(source, CudaDevice):
            self.copies.wait_stream(source.compute)
        with torch.cuda.stream(self.copies):
            held = value if value.is_cuda or value.numel() == 0 else value.pin_memory()
            copy = held.to(self.torch, non_blocking=True)
        if held.is_cuda:
            held.record_stream(self.copies)
        return _InFlight(copy, held, self.copies.record_event())

    def arrived(self, value: Any) -> Any:
        """Returns the copy after making all kernels launched from now on wait for it."""
        if not isinstance(value, _InFlight):
            return value
        self.compute.wait_event(value.event)
        value.copy.record_stream(self.compute)
        return value.copy

    def to_host(self, value: Any) -> Any:
        """Returns a copy in pinned host memory, complete when this returns."""
        if not isinstance(value, torch.Tensor) or not value.is_cuda:
            return value
        self.copies.wait_stream(self.compute)
        with torch.cuda.stream(self.copies):
            copy = torch.empty(value.shape, dtype=value.dtype, pin_memory=True).copy_(value, non_blocking=True)
        value.record_stream(self.copies)
        self.copies.synchronize()
        return copy

    def memory_in_use(self) -> tuple[int, int]:
        return torch.cuda.memory_allocated(self.torch), torch.cuda.max_memory_allocated(self.torch)


class CudaRecorder:
    """Captures CUDA graphs of a device (see `codegen/python/cuda_graphs.py`), which share one memory pool.

    It uses its own stream, so that what other threads launch on the computing stream meanwhile is not captured.
    """

    _one_at_a_time = threading.Lock()
    """One for the whole process, as `torch.cuda.graph` requires."""

    def __init__(self, device: torch.device) -> None:
        self.lock = threading.Lock()
        self._device = device
        # Torch has a few streams of each priority and hands them out in turn: no device computes on this one.
        self._stream = torch.cuda.Stream(device, priority=-1)
        self._pool = torch.cuda.graph_pool_handle()

    def record(self, launch: Callable[[], R]) -> tuple[Callable[[], None], R]:
        """Capture what `launch` launches, without running it. Returns a function that replays it on the current stream,
        and what `launch` returned: tensors that the replay fills.

        Raises RuntimeError for what cannot be captured: first launches, waiting for the device, copies to the host.
        """
        graph = torch.cuda.CUDAGraph()
        here = torch.cuda.stream(torch.cuda.current_stream(self._device))  # the stream to return to if capture fails
        recording = torch.cuda.graph(graph, self._pool, self._stream, capture_error_mode="thread_local")
        with self._one_at_a_time, here, recording:
            found = launch()
        return graph.replay, found


@dataclass(slots=True)
class _InFlight:
    """A copy in progress, and what must stay alive until it is done."""

    copy: torch.Tensor
    source: torch.Tensor
    event: torch.cuda.Event


def _fraction(options: Any) -> float:
    fraction = float(options.per_process_gpu_memory_fraction) if options is not None else 0.0
    return fraction if 0 < fraction <= 1 else 1.0
