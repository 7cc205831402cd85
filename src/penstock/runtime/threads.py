"""How many threads the kernels of a step use: one, where more would gain nothing.

torch's threads wait for each other in busy loops. While other programs keep the processor busy, one of them is often
not running, and the others wait for the rest of its time slice: a small step then takes up to a thousand times as long.
So a step uses threads only if some node of it is large enough to be quicker by them. That is decided when its plan is
made, so that the same step gives the same bits each time, whatever else runs.

The number is the calling thread's own: `torch.set_num_threads` would give it to threads that begin meanwhile as well.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from penstock.compiled.expressions import is_supported_op
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.placement.cost_model import FREE
from penstock.runtime.hazards import is_state

LEAST = 1 << 15
"""Elements from which addition gains from threads; below them torch uses none. Other work is counted in these."""
QUIET = LEAST >> 6
"""Work below which no kernel uses threads, so that nothing has to be said."""
FLOPS = 16
"""Operations of a product or a convolution that take as long as an element of an addition: 64 x 64 x 64 is the least
product that gains."""

_FUNCTIONS = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Erfc", "Exp", "Expm1", "Log", "Log1p",
    "Pow", "Rsqrt", "Sin", "Sinh", "Sqrt", "Tan", "Tanh",
)  # fmt: skip
_SOFTMAXES = ("LogSoftmax", "Softmax", "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")
_SUMS = ("All", "Any", "BiasAddGrad", "L2Loss", "Max", "Mean", "Min", "Prod", "Sum", "_DivideBySize")
_MOVES = (
    "BroadcastGradientArgs", "BroadcastTo", "Concat", "ConcatV2", "Fill", "Gather", "GatherNd", "GatherV2",
    "InvertPermutation", "OneHot", "Pack", "Pad", "PadV2", "RandomStandardNormal", "RandomUniform", "Range", "Rank",
    "Reverse", "ReverseV2", "Shape", "ShapeN", "Size", "Slice", "Split", "SplitV", "StridedSlice", "StridedSliceGrad",
    "Tile", "Transpose", "TruncatedNormal", "Unpack",
)  # fmt: skip
_STATE = (
    "ApplyAdadelta", "ApplyAdagrad", "ApplyAdam", "ApplyGradientDescent", "ApplyMomentum", "ApplyRMSProp", "Assign",
    "AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "AssignVariableOp", "ReadVariableOp",
    "ResourceApplyAdadelta", "ResourceApplyAdagrad", "ResourceApplyAdam", "ResourceApplyGradientDescent",
    "ResourceApplyMomentum", "ResourceApplyRMSProp", "StackPopV2", "StackPushV2", "StackV2", "TensorArrayCloseV3",
    "TensorArrayGatherV3", "TensorArrayGradV3", "TensorArrayReadV3", "TensorArrayScatterV3", "TensorArraySizeV3",
    "TensorArrayV3", "TensorArrayWriteV3",
)  # fmt: skip
WEIGHTS = {
    **dict.fromkeys(_FUNCTIONS, 16.0),  # in MKL, which uses threads sooner than torch
    **dict.fromkeys(_SOFTMAXES, 8.0),
    **dict.fromkeys(_SUMS, 0.25),  # nothing is written
    **dict.fromkeys((*_MOVES, *_STATE), 1.0),
    **dict.fromkeys(("PyFunc", "PyFuncStateless"), math.inf),  # what the client's code does is its own affair
}
"""The time that an element takes, by op; 1 for those that have an expression in C, UNKNOWN for all others."""
UNKNOWN = 64.0

Fn = Callable[..., Any]


def work_on(graph: StepGraph, device: torch.device) -> float:
    """The work of the graph's largest node for the processor, in elements of an addition.

    Infinite where a shape is not known; nothing on other devices.
    """
    return _largest(graph.nodes) if device.type == "cpu" else 0.0


def threads_for(work: float) -> str:
    """The threads of a step whose largest node has so much work, in words."""
    return "all threads" if work >= LEAST else "one thread"


def suited(fn: Fn, work: float) -> Fn:
    """A function that does what `fn` does, with one thread if that is enough for so much work.

    The calling thread has its number again afterwards. Where torch has no OpenMP, it is `fn` itself.
    """
    setters = _setters()
    if not QUIET <= work < LEAST or setters is None:
        return fn
    set_openmp, set_mkl = setters
    count = torch.get_num_threads  # torch's own number is settled by the first call of it in each thread

    def run(*args: Any) -> Any:
        before = count()
        if before == 1:
            return fn(*args)
        set_openmp(1)
        mkl_before = set_mkl(1)
        try:
            return fn(*args)
        finally:
            set_mkl(mkl_before)
            set_openmp(before)

    return run


def _largest(nodes: Iterable[Node]) -> float:
    return max(map(_work, nodes), default=0.0)


def _work(node: Node) -> float:
    body = node.attrs.get("body")
    if isinstance(body, StepGraph):  # a node that stands for others, which run by themselves until they are compiled
        return _largest(body.nodes)
    inputs, outputs = node.inputs, [Edge(node, port) for port in range(len(node.dtypes))]
    views = node.op.aliases and not any(map(is_state, inputs))
    if node.op is FEED or node.op.name in FREE or views:
        return 0.0
    known = [_dims(edge) for edge in (*inputs, *outputs)]
    shapes = [dims for dims in known if dims is not None]
    if len(shapes) < len(known):
        return math.inf
    if node.op.flops_fn is not None:
        flops: float = node.op.flops_fn(node, shapes[: len(inputs)], shapes[len(inputs) :])
        return flops / FLOPS
    weight = WEIGHTS.get(node.op.name, 1.0 if is_supported_op(node.op.name) else UNKNOWN)
    return weight * max(map(math.prod, shapes), default=0)


def _dims(edge: Edge) -> tuple[int, ...] | None:
    """The dimensions of a value, None if they are not known; of what is no tensor, none."""
    if edge.dtype.base_dtype.torch is None:
        return ()
    dims = edge.node.shapes[edge.port].tuple
    return None if dims is None or None in dims else tuple(d for d in dims if d is not None)


@functools.cache
def _setters() -> tuple[Callable[[int], None], Callable[[int], int]] | None:
    """What sets the calling thread's number of OpenMP and of MKL, which gives the one before. None without OpenMP."""
    for path in Path(torch.__file__).parent.glob("lib/libtorch_cpu.*"):
        try:
            library = ctypes.PyDLL(str(path))  # PyDLL: they return at once, so the interpreter's lock is kept
            openmp = library.omp_set_num_threads
        except (OSError, AttributeError):
            continue
        openmp.argtypes, openmp.restype = (ctypes.c_int,), None
        mkl = getattr(library, "MKL_Set_Num_Threads_Local", None)
        if mkl is None:
            return openmp, lambda number: 0
        mkl.argtypes, mkl.restype = (ctypes.c_int,), ctypes.c_int
        return openmp, mkl
    return None
