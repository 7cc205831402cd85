"""CUDA source of a program.

Each thread computes elements in registers, in a grid-stride loop, so any grid size works. NVRTC has no headers of the C
library, so the types have their own names here.
"""

from __future__ import annotations

import functools

from penstock.codegen.c.preamble import shared_functions
from penstock.codegen.c.source import Source
from penstock.codegen.clusters.program import EXPANDED, FULL, REPEATED, SCALAR, ClusterProgram
from penstock.codegen.compiled.elementwise import one_round

_WORDS = r"""
typedef unsigned char u8; typedef int i32; typedef long long i64;
typedef unsigned int u32; typedef unsigned long long u64; typedef float f32; typedef double f64;
#define FN static __device__ __forceinline__
#define NAN_f32 __int_as_float(0x7fc00000)
#define NAN_f64 __longlong_as_double(0x7ff8000000000000LL)
#define INF_f32 __int_as_float(0x7f800000)
#define INF_f64 __longlong_as_double(0x7ff0000000000000LL)
#define abs_f32 fabsf
#define abs_f64 fabs
"""

_FUNCTIONS = ("sqrt", "floor", "ceil", "trunc", "rint", "exp", "expm1", "log", "log1p", "tanh")


@functools.cache
def cuda_shared_text() -> str:
    """The text before the sources of one file: CUDA's functions (of 1 to 2 ulps) under the names of the C ones."""
    names = "".join(f"#define {name}_f32 {name}f\n#define {name}_f64 {name}\n" for name in _FUNCTIONS)
    return _WORDS + names + "".join(map(shared_functions, ("f32", "f64")))


def cuda_source(program: ClusterProgram, pattern: str) -> Source:
    """The kernel of `program` for inputs that fill the outputs' shape according to `pattern` (see `program.Fit`).

    Its arguments have 8 bytes each: the number of elements, the numbers of the layout, the addresses of the inputs and
    of the outputs. An output may share the memory of a FULL input.
    """
    inputs, outputs = program.inputs, program.outputs
    pattern = pattern.replace(EXPANDED, FULL)
    repeated = [i for i, way in enumerate(pattern) if way == REPEATED]
    parameters = ["i64 size", *(f"i64 inner{i}, i64 times{i}" for i in repeated)]
    parameters += [f"const {ctype} *a{i}" for i, ctype in enumerate(inputs)]
    parameters += [f"{program.ctype(output)} *y{i}" for i, output in enumerate(outputs)]
    lines = [f'extern "C" __global__ void NAME({", ".join(parameters)}) {{']
    lines += [f"  const {inputs[i]} s{i} = *a{i};" for i, way in enumerate(pattern) if way == SCALAR]
    lines.append("  const i64 step = (i64)blockDim.x * gridDim.x;")
    lines.append("  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {")
    for i, way in enumerate(pattern):
        index = f"i / (inner{i} * times{i}) * inner{i} + i % inner{i}" if way == REPEATED else "i"
        if way != SCALAR:
            lines.append(f"    const {inputs[i]} s{i} = a{i}[{index}];")
    names = {value: f"s{value}" for value in range(len(inputs) + len(program.instructions))}
    elements = [program.element(value, {}, names) for value in range(len(inputs), len(names))]
    lines += one_round(elements, {}, {names[output]: f"y{i}[i]" for i, output in enumerate(outputs)})
    return Source.named_after_itself("\n".join([*lines, "  }", "}", ""]), cuda_shared_text())
