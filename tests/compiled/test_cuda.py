"""The CUDA source of programs: that compilers take it. Where there is none, a C++ compiler reads the same text."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from penstock.compiled import clusters as clusters_module
from penstock.compiled.source import cuda_source
from tests.compiled import steps
from tests.compiled.test_expressions import KINDS, _case

_SHIM = r"""
#include <math.h>
#define __device__
#define __global__
#define __forceinline__ inline
static float __int_as_float(int i) { float x; __builtin_memcpy(&x, &i, 4); return x; }
static double __longlong_as_double(long long i) { double x; __builtin_memcpy(&x, &i, 8); return x; }
struct dim { unsigned x; } blockDim, gridDim, blockIdx, threadIdx;
"""


@pytest.fixture(scope="module")
def sources() -> list[str]:
    """All ops' expressions, of all types, with inputs of each layout."""
    import penstock as tf

    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters_module, "LEAST", 1)
        patch.setattr(clusters_module._Finder, "_leave_names", lambda self: None)
        for kind in KINDS:
            with tf.Graph().as_default():
                fetches, _, feeds = _case(kind, [None, 3])
                for node in steps.clusters(steps.clustered(fetches, feeds)):
                    pattern = "FSRFSR"[: len(node.inputs)]
                    found.append(cuda_source(node.attrs["program"], pattern))
    return found


def test_nvcc_takes_it(sources: list[str], tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("there is no CUDA compiler")
    for i, source in enumerate(sources):
        (tmp_path / f"{i}.cu").write_text(source)
    command = [nvcc, "-ptx", "--fmad=false", "-w", *(f"{i}.cu" for i in range(len(sources)))]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_it_is_cpp_but_for_the_words_that_cuda_adds(sources: list[str], tmp_path: Path) -> None:
    compiler = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    names = [f"kernel{i}" for i in range(len(sources))]
    for name, source in zip(names, sources, strict=True):
        (tmp_path / f"{name}.cc").write_text(_SHIM + source)
    command = [compiler, "-std=c++17", "-fsyntax-only", *(f"{name}.cc" for name in names)]
    subprocess.run(command, cwd=tmp_path, check=True)
