"""Clusters on a GPU: compiled with NVRTC, launched with CUDA's driver.

NVRTC is called directly, not through `torch.cuda._compile_kernel`, which requires a CUDA toolkit that torch's wheels do
not include. torch loads the result. Nothing is cached on disk: NVRTC takes a fraction of a second.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from penstock.codegen.c.command import NoCompiler
from penstock.codegen.c.compiler import Compiler, other_compiler
from penstock.codegen.c.object_cache import Function
from penstock.codegen.c.source import Source
from penstock.codegen.clusters.cluster_launch import Reused
from penstock.codegen.clusters.cuda_source import cuda_shared_text, cuda_source
from penstock.codegen.clusters.program import ClusterProgram, Fit

BLOCK = 256
"""Threads of a block."""
BLOCKS_AT_ONCE = 8
"""How many blocks with this many threads a multiprocessor runs at once; more would only wait."""
# Products and sums are not contracted, so that + - * / produce torch's bits; subnormal numbers are kept by default.
_OPTIONS = (b"--std=c++17", b"--fmad=false", b"-w")


class Gpu(Protocol):
    """What launching needs from a device."""

    device: torch.device
    most_blocks: int
    """A larger grid is not faster."""

    def __hash__(self) -> int: ...

    def load(self, text: str, names: Sequence[str]) -> dict[str, Any]:
        """The kernels called `names` in CUDA text. Raises NoCompiler with the compiler's messages if it does not
        compile."""

    def launch(self, kernel: Any, blocks: int, parameters: ctypes.Array[ctypes.c_void_p]) -> None:
        """Start `kernel` on torch's current stream. `parameters`: the addresses of its arguments."""


class CudaTarget:
    """Where the clusters of a GPU run (see `cluster_kernel.Target`)."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.device = gpu.device

    def compiler(self) -> Compiler:
        return other_compiler(self.gpu, functools.partial(CudaCompiler, self.gpu))

    def source(self, program: ClusterProgram, pattern: str, reused: Reused) -> Source:
        return cuda_source(program, pattern)

    def bound(self, function: Function, found: Fit) -> Function:
        """A call of the kernel on a number of elements. The caller's threads and layout only matter on the host."""
        launch, numbers = self.gpu.launch, (found.size, *found.layout)
        blocks = min(-(-found.size // BLOCK), self.gpu.most_blocks)

        def run(size: int, threads: int, layout: int, *pointers: int) -> None:
            count = len(numbers) + len(pointers)
            values = (ctypes.c_int64 * count)(*numbers, *pointers)
            first = ctypes.addressof(values)
            launch(function, blocks, (ctypes.c_void_p * count)(*range(first, first + 8 * count, 8)))

        return run


class CudaCompiler(Compiler):
    """The compiler thread of a GPU."""

    MOST_THREADS = 1

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self._gpu = gpu

    def get_ready(self) -> None:
        """There is nothing to prepare: NVRTC either exists or not."""

    def build(self, sources: Sequence[Source]) -> dict[str, Function | None]:
        text = cuda_shared_text() + "".join(source.text for source in sources)
        return self._gpu.load(text, [source.name for source in sources])


@functools.cache
def cuda_target(device: torch.device) -> CudaTarget:
    """The target that all clusters on `device` share."""
    return CudaTarget(CudaGpu(device))


class CudaGpu:
    """An existing GPU."""

    def __init__(self, device: torch.device) -> None:
        properties = torch.cuda.get_device_properties(device)
        self.device = device
        self.most_blocks = properties.multi_processor_count * BLOCKS_AT_ONCE
        self._architecture = f"sm_{properties.major}{properties.minor}"

    def load(self, text: str, names: Sequence[str]) -> dict[str, Any]:
        from torch.cuda._utils import _cuda_load_module, _get_gpu_rtc_library

        try:
            cubin = compile_cuda(_get_gpu_rtc_library(), text, self._architecture)
            with torch.cuda.device(self.device):
                torch.cuda.mem_get_info()  # a thread has a context only after a call that needs it
                found = _cuda_load_module(cubin, list(names))
        except (OSError, RuntimeError) as error:
            raise NoCompiler(f"NVRTC: {error}") from error
        assert isinstance(found, dict)  # by name, because there are name expressions
        return {name: kernel.func for name, kernel in found.items()}

    @functools.cached_property
    def _launch(self) -> Callable[..., int]:
        from torch.cuda._utils import _get_gpu_runtime_library

        function: Callable[..., int] = _get_gpu_runtime_library().cuLaunchKernel
        return function

    def launch(self, kernel: Any, blocks: int, parameters: ctypes.Array[ctypes.c_void_p]) -> None:
        from torch.cuda._utils import _check_cuda

        stream = ctypes.c_void_p(torch.cuda.current_stream(self.device).cuda_stream)
        _check_cuda(self._launch(kernel, blocks, 1, 1, BLOCK, 1, 1, 0, stream, parameters, None))


def compile_cuda(nvrtc: ctypes.CDLL, text: str, architecture: str) -> bytes:
    """The object ("cubin") of CUDA text for an architecture such as "sm_90". Raises RuntimeError with NVRTC's
    messages."""
    program = ctypes.c_void_p()
    _check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"clusters.cu", 0, None, None))
    try:
        options = (f"--gpu-architecture={architecture}".encode(), *_OPTIONS)
        failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if failed:
            raise RuntimeError(_read(nvrtc, "ProgramLog", program).decode(errors="replace").strip("\0\n")[:500])
        return _read(nvrtc, "CUBIN", program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(nvrtc: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _check(nvrtc, nvrtc[f"nvrtcGet{what}Size"](program, ctypes.byref(size)))
    found = ctypes.create_string_buffer(size.value)
    _check(nvrtc, nvrtc[f"nvrtcGet{what}"](program, found))
    return found.raw


def _check(nvrtc: ctypes.CDLL, result: int) -> None:
    if result:
        raise RuntimeError(f"NVRTC failed with error {result}")
