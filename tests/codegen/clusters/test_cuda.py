"""Clusters on a GPU, without one: NVRTC takes their source, and what they launch gives the members' values.

The second is seen by reading the same source as C++: blocks and threads are loops, and a kernel is given the addresses
of its arguments, as CUDA's driver gives them. tests/devices/test_cuda.py has what needs a GPU.
"""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import errors
from penstock.codegen.c import patience
from penstock.codegen.c.command import NoCompiler
from penstock.codegen.clusters import clusters as clusters_module, cuda_target as cuda
from penstock.codegen.clusters.cluster_kernel import make_cluster_kernel
from penstock.codegen.clusters.cuda_source import cuda_shared_text, cuda_source
from penstock.codegen.clusters.cuda_target import CudaTarget, compile_cuda
from penstock.codegen.clusters.program import program_of
from penstock.codegen.compiled.members import Members
from penstock.graph.opdef import get_op
from penstock.graph.step_graph import FEED, Edge, Node
from tests.codegen import steps
from tests.codegen.clusters.test_expressions import KINDS, _case, _check, _values
from tests.codegen.clusters.test_kernel import SHAPES

CPU = torch.device("cpu")

_WORDS_OF_CUDA = r"""
#include <math.h>
#include <utility>
#define __device__
#define __global__
#define __forceinline__ inline
static float __int_as_float(int i) { float x; __builtin_memcpy(&x, &i, 4); return x; }
static double __longlong_as_double(long long i) { double x; __builtin_memcpy(&x, &i, 8); return x; }
struct dim { unsigned x; };
static dim blockDim, gridDim, blockIdx, threadIdx;
template <class... T, size_t... I> void call(void (*kernel)(T...), void **given, std::index_sequence<I...>) {
  kernel(*(T *)given[I]...);
}
template <class... T> void launch(void (*kernel)(T...), unsigned blocks, unsigned threads, void **given) {
  gridDim.x = blocks, blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
    for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)
      call(kernel, given, std::index_sequence_for<T...>());
}
"""


class HostGpu:
    """A GPU in host memory: its kernels are compiled as C++, and run in loops."""

    device = CPU
    most_blocks = 3

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.may_load = threading.Event()
        self.may_load.set()
        self.loaded: list[str] = []
        self.blocks: list[int] = []

    def load(self, text: str, names: Sequence[str]) -> dict[str, Any]:
        self.may_load.wait()
        compiler = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
        if compiler is None:
            pytest.skip("there is no C++ compiler")
        self.loaded += names
        target = self._folder / f"{names[0]}.so"
        entry = 'extern "C" void run_{0}(unsigned blocks, unsigned threads, void **given) '
        entries = "".join((entry + "{{ launch({0}, blocks, threads, given); }}\n").format(name) for name in names)
        target.with_suffix(".cc").write_text(_WORDS_OF_CUDA + text + entries)
        command = [compiler, "-std=c++17", "-ffp-contract=off", "-fwrapv", "-fPIC", "-shared", "-w"]
        done = subprocess.run([*command, "-o", target, target.with_suffix(".cc")], capture_output=True, text=True)
        if done.returncode:
            raise NoCompiler(done.stderr)
        library = ctypes.CDLL(str(target))
        return {name: library[f"run_{name}"] for name in names}

    def launch(self, kernel: Any, blocks: int, parameters: ctypes.Array[ctypes.c_void_p]) -> None:
        self.blocks.append(blocks)
        kernel(blocks, cuda.BLOCK, parameters)


@pytest.fixture
def gpu(tmp_path: Path) -> HostGpu:
    return HostGpu(tmp_path)


@pytest.fixture(scope="module")
def shared_gpu(tmp_path_factory: pytest.TempPathFactory) -> HostGpu:
    """One whose compiler has what earlier tests have compiled."""
    return HostGpu(tmp_path_factory.mktemp("gpu"))


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def each_op_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters_module, "LEAST", 1)
    monkeypatch.setattr(clusters_module._Finder, "_leave_names", lambda self: None)


def _node(fetches: list[Any], feeds: list[Any]) -> Node:
    (node,) = steps.clusters(steps.clustered(fetches, feeds))
    return node


def _square_plus() -> Node:
    x, y = (tf.placeholder("float32") for _ in range(2))
    return _node([x * x + y], [x, y])


def _kernel(node: Node, gpu: HostGpu, mode: str = "on", given: tuple[int, ...] = ()) -> Any:
    return make_cluster_kernel(node, CPU, steps.new_state(), mode, given, CudaTarget(gpu))


# --- the source -----------------------------------------------------------------------------------------


def _nvrtc() -> ctypes.CDLL:
    """NVRTC of a wheel of `nvidia-cuda-nvrtc`, or of this machine."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec is not None else []
    found = [path for folder in folders for path in sorted(folder.glob("*/lib/libnvrtc.so.*"))]
    for name in (*map(str, found), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    pytest.skip("NVRTC is not there")


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_nvrtc_takes_the_source_of_every_op_and_type(architecture: str, each_op_alone: None) -> None:
    nvrtc = _nvrtc()
    sources = {}
    for kind in KINDS:
        with tf.Graph().as_default():
            fetches, _, feeds = _case(kind, [None, 3])
            for node in steps.clusters(steps.clustered(fetches, feeds)):
                source = cuda_source(program_of(node.attrs["body"]), "FSRFSR"[: len(node.inputs)])
                sources[source.name] = source.text
    cubin = compile_cuda(nvrtc, cuda_shared_text() + "".join(sources.values()), architecture)
    assert cubin.startswith(b"\x7fELF")
    assert all(name.encode() in cubin for name in sources)


def test_what_nvrtc_has_to_say_is_in_the_error() -> None:
    with pytest.raises(RuntimeError, match=r'identifier "nonsense" is undefined'):
        compile_cuda(_nvrtc(), 'extern "C" __global__ void f() { nonsense; }', "sm_90")


# --- what is launched -----------------------------------------------------------------------------------


@np.errstate(all="ignore")
def check_each_op(kind: str, device: torch.device, make: Callable[[Node], Any]) -> None:
    """Compare the kernels that `make` makes of clusters of all ops with the members' own, on tensors on `device`."""
    fetches, names, feeds = _case(kind, [None, 3])
    x, y = _values(kind)
    condition = np.random.default_rng(1).integers(0, 2, x.shape).astype(bool)
    graph = steps.clustered(fetches, feeds)
    fed = dict(zip(graph.feeds, (x, y, condition), strict=True))
    results = []
    for make_one in (make, lambda node: Members(node.attrs["body"], device, steps.new_state()).run):
        values: dict[Edge, torch.Tensor] = {}
        for node in graph.nodes:
            inputs = [values[edge] for edge in node.inputs]
            if node.op is FEED:
                found: Any = torch.from_numpy(fed[node]).to(device)
            elif node.op.name == "Const":
                found = torch.tensor(node.attrs["value"], device=device)
            else:
                found = make_one(node)(*inputs)
            for port, value in enumerate(found if isinstance(found, tuple) else (found,)):
                values[Edge(node, port)] = value
        results.append([values[edge].cpu().numpy() for edge in graph.fetches])
    for name, a, b in zip(names, *results, strict=True):
        _check(name, a, b, x, y)


@pytest.mark.parametrize("kind", KINDS)
def test_each_op_gives_what_its_kernel_gives(kind: str, gpu: HostGpu, each_op_alone: None) -> None:
    check_each_op(kind, CPU, lambda node: _kernel(node, gpu))
    assert gpu.blocks


@pytest.mark.parametrize(("x_shape", "y_shape"), SHAPES, ids=str)
@pytest.mark.parametrize("swapped", [False, True])
def test_inputs_are_broadcast_as_numpys(
    x_shape: list[int], y_shape: list[int], swapped: bool, shared_gpu: HostGpu
) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=s).astype(np.float32) for s in ((y_shape, x_shape) if swapped else (x_shape, y_shape)))
    before = len(shared_gpu.blocks)
    found = _kernel(_square_plus(), shared_gpu)(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_array_equal(found.numpy(), x * x + y)
    blocks = [min(-(-found.numel() // cuda.BLOCK), HostGpu.most_blocks)] if found.numel() else []
    assert shared_gpu.blocks[before:] == blocks


def test_every_type_is_broadcast_and_outputs_may_be_of_several(gpu: HostGpu) -> None:
    choose, x, y, z = (tf.placeholder(kind) for kind in ("bool", "int64", "float64", "float32"))
    integers = get_op("SelectV2")(choose, x, x + tf.cast(y, "int64"))
    floats = tf.exp(y) + tf.cast(integers, "float64")
    node = _node([integers, floats, get_op("Less")(y, floats), tf.cast(y, "float32") * z], [choose, x, y, z])
    rng = np.random.default_rng(1)
    values = (rng.integers(0, 2, (40, 1)) > 0, rng.integers(-5, 5, 9), rng.normal(0, 9, (40, 9)), np.float32(3))
    given = {tensor: torch.tensor(value) for tensor, value in zip((choose, x, y, z), values, strict=True)}
    inputs = [given[edge.node.attrs["tensor"]] for edge in node.inputs]
    found, wanted = _kernel(node, gpu)(*inputs), Members(node.attrs["body"], CPU, steps.new_state()).run(*inputs)
    assert gpu.blocks == [2]
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-15, atol=0)


def test_strided_inputs_are_taken(shared_gpu: HostGpu) -> None:
    x = torch.arange(24.0).reshape(4, 6)
    kernel = _kernel(_square_plus(), shared_gpu)
    for a, b in ((x.t(), x.t()), (x[:, ::2], x[:, 1::2]), (x[1:, 1:], torch.ones(1).expand(3, 5))):
        before = len(shared_gpu.blocks)
        assert torch.equal(kernel(a, b), a * a + b)
        assert len(shared_gpu.blocks) == before + 1


def test_inputs_of_other_types_and_places_go_to_the_members_kernels(shared_gpu: HostGpu) -> None:
    kernel = _kernel(_square_plus(), shared_gpu)
    x = torch.tensor([1.0, 2.0])
    kernel(x, x)
    before = len(shared_gpu.blocks)
    assert kernel(x.double(), x.double()).dtype == torch.float64
    assert kernel(x.to("meta"), x.to("meta")).is_meta
    assert len(shared_gpu.blocks) == before


def test_a_given_input_lends_its_memory_to_the_output(shared_gpu: HostGpu) -> None:
    kernel = _kernel(_square_plus(), shared_gpu, given=(0,))
    x, y = torch.rand(9001), torch.rand(9001)
    wanted, pointer = x * x + y, x.data_ptr()
    found = kernel(x, y)
    assert found.data_ptr() == pointer and torch.equal(found, wanted)


# --- the life of a kernel -------------------------------------------------------------------------------


def test_compiling_happens_in_the_background_after_some_calls(gpu: HostGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "SECONDS_BEFORE_COMPILING", 0)
    gpu.may_load.clear()
    kernel = _kernel(_square_plus(), gpu, "auto")
    x = torch.rand(10)
    for _ in range(5):
        assert torch.equal(kernel(x, x), x * x + x)
    assert not gpu.blocks and not kernel.settled()
    gpu.may_load.set()
    assert CudaTarget(gpu).compiler().wait(60)
    assert torch.equal(kernel(x, x), x * x + x)
    assert gpu.blocks == [1] and kernel.settled()


def test_sources_that_wait_are_compiled_together_and_equal_ones_once(
    gpu: HostGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "SECONDS_BEFORE_COMPILING", 0)
    monkeypatch.setattr(patience, "CALLS_BEFORE_COMPILING", 1)
    x = tf.placeholder("float32")
    nodes = [_node([tf.exp(x) * x + i], [x]) for i in (1.0, 2.0, 1.0)]
    kernels = [_kernel(node, gpu, "auto") for node in nodes]
    value = torch.rand(5)
    compiler = CudaTarget(gpu).compiler()
    with compiler._working:
        for kernel in kernels:
            kernel(value)
    assert compiler.wait(60)
    for kernel, more in zip(kernels, (1, 2, 1), strict=True):
        torch.testing.assert_close(kernel(value), value.exp() * value + more)
    assert len(gpu.loaded) == len(set(gpu.loaded)) == 2 and len(gpu.blocks) == 3


def test_where_compiling_fails_the_members_kernels_stay(
    gpu: HostGpu, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(patience, "SECONDS_BEFORE_COMPILING", 0)

    def fails(text: str, names: Sequence[str]) -> dict[str, Any]:
        raise NoCompiler("NVRTC: it is Sunday")

    monkeypatch.setattr(gpu, "load", fails)
    kernel = _kernel(_square_plus(), gpu, "auto")
    x = torch.rand(10)
    with caplog.at_level(logging.INFO, "penstock"):
        for _ in range(5):
            kernel(x, x)
        assert CudaTarget(gpu).compiler().wait(60)
        assert torch.equal(kernel(x, x), x * x + x)
    assert kernel.settled() and not gpu.blocks
    told = [(r.levelno, r.getMessage()) for r in caplog.records if r.levelno >= logging.INFO]
    assert told == [(logging.INFO, "Clusters stay uncompiled: NVRTC: it is Sunday")]
    with pytest.raises(errors.UnimplementedError, match="cannot compile a cluster: NVRTC: it is Sunday"):
        _kernel(_square_plus(), gpu, "on")(x, x)


def test_off_never_compiles(gpu: HostGpu) -> None:
    kernel = _kernel(_square_plus(), gpu, "off")
    for _ in range(10):
        assert torch.equal(kernel(torch.ones(3), torch.ones(3)), torch.full((3,), 2.0))
    assert not gpu.loaded


def test_clusters_are_formed_on_gpus_and_not_on_types_of_devices_that_have_no_compiler() -> None:
    x = tf.placeholder("float32", [3])
    with tf.device("/gpu:0"):
        a = tf.exp(tf.exp(x))
    with tf.device("/device:NPU:0"):
        b = tf.tanh(tf.tanh(a))
    assert [c.device for c in steps.clusters(steps.clustered([b], [x]))] == [a.op.device]
