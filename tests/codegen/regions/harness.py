"""Nodes by themselves, as their emitters write them in C and as their kernels compute them."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from penstock.codegen.c.source import shared_text
from penstock.codegen.c.toolchain import find_toolchain
from penstock.emit.expressions import C_TYPES
from penstock.emit.registry import emitter_of, support_text
from penstock.emit.site import Site, Value, numbered
from penstock.graph.constants import make_array
from penstock.graph.convert import constant
from penstock.graph.graph import Graph
from penstock.graph.opdef import PASS_THROUGH, OpDef, get_op, has_op
from penstock.graph.step_graph import FEED, Edge, Node
from penstock.ops.basic import placeholder
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager, VariableState
from penstock.runtime.values import to_runtime
from penstock.tensor.dtypes import as_dtype, resource
from penstock.tensor.shapes import TensorShape


@dataclass
class Sample:
    """One node, what it is given (variables as their contents), and what its kernel makes of that.

    `outputs` is None where the kernel raises; `after` has the inputs as they are then: variables change.
    """

    what: str
    node: Node
    inputs: list[np.ndarray]
    outputs: list[np.ndarray] | None
    after: list[np.ndarray]
    text: str | None = None

    def __str__(self) -> str:
        return self.what


def sample(op: OpDef, inputs: Sequence[Any], attrs: dict[str, Any], fed: bool | set[int] = False) -> Sample | None:
    """`op` on arrays (a list of them for a list input), as constants or `fed` (all, or those of these numbers).

    None where there is no such node, and for types that C does not know. Ops that only passes make want all their
    attributes.
    """
    arrays = [
        [make_array(v) for v in value] if arg.is_list else make_array(value)
        for value, arg in zip(inputs, op.inputs, strict=True)
    ]
    flat = [v for value in arrays for v in (value if isinstance(value, list) else [value])]
    if any(as_dtype(array.dtype) not in C_TYPES for array in flat):
        return None
    with Graph().as_default():
        try:
            node = _node(op, arrays, attrs, fed)
        except (TypeError, ValueError, NotImplementedError):
            return None
    if any(d.base_dtype not in C_TYPES for d in node.dtypes):
        return None
    shapes = [[np.shape(v) for v in i] if isinstance(i, list) else np.shape(i) for i in arrays]
    what = f"{op.name} of {shapes} {flat[0].dtype} {attrs}{' fed' if fed else ''}"
    found = Sample(what, node, flat, *_run_kernel(node, flat))
    _write(found)
    return found


def _node(op: OpDef, inputs: Sequence[Any], attrs: dict[str, Any], fed: bool | set[int]) -> Node:
    def one(array: Any, arg: Any) -> Any:
        dtype = as_dtype(array.dtype)
        if arg.is_ref or arg.dtype == resource:
            made = get_op("VariableV2" if arg.is_ref else "VarHandleOp")(shape=array.shape, dtype=dtype)
        else:
            given = fed if isinstance(fed, bool) else len(flat) in fed
            made = placeholder(dtype, array.shape) if given else constant(array)
        flat.append(made)
        return made

    flat: list[Any] = []
    built = [
        [one(v, arg) for v in value] if isinstance(value, list) else one(value, arg)
        for value, arg in zip(inputs, op.inputs, strict=True)
    ]
    edges = tuple(Edge(_source(t.op), 0) for t in flat)
    if not has_op(op.name):
        dtypes = tuple(d for arg in op.outputs for d in arg.dtypes(attrs))
        return Node("node", op, attrs, edges, (), "", dtypes, (TensorShape(None),) * len(dtypes))
    made = op(*built, **attrs)
    while isinstance(made, list | tuple):
        made = next(item for item in made if not isinstance(item, list) or item)
    source = getattr(made, "op", made)
    dtypes, shapes = tuple(t.dtype for t in source.outputs), tuple(t.shape for t in source.outputs)
    return Node(source.name, op, source.attrs, edges, (), "", dtypes, shapes, source)


def _source(op: Any) -> Node:
    dtypes, shapes = tuple(t.dtype for t in op.outputs), tuple(t.shape for t in op.outputs)
    definition = FEED if op.type == "Placeholder" else op.op_def
    return Node(op.name, definition, op.attrs, (), (), "", dtypes, shapes, op)


def is_state(edge: Edge) -> bool:
    return edge.dtype == resource or edge.dtype._is_ref_dtype


def _run_kernel(node: Node, arrays: list[np.ndarray]) -> tuple[list[np.ndarray] | None, list[np.ndarray]]:
    flat: list[Any] = []
    for edge, array in zip(node.inputs, arrays, strict=True):
        value = to_runtime(array.copy(), as_dtype(array.dtype))
        if is_state(edge):
            state = VariableState(edge.node.name, as_dtype(array.dtype), TensorShape(array.shape))
            state.value = value
            value = state
        flat.append(value)
    grouped: list[Any] = []
    position = 0
    for _, is_list, edges in node.grouped_inputs():
        part = flat[position : position + len(edges)]
        grouped.append(part if is_list else part[0])
        position += len(edges)
    with torch.inference_mode():
        try:
            kernel = make_kernel(node, "CPU", torch.device("cpu"), SessionState(ResourceManager()))
            found = flat[0] if kernel is PASS_THROUGH else kernel(*grouped) if callable(kernel) else kernel.value
        except Exception:
            return None, arrays
    values = found if isinstance(found, tuple | list) else () if found is None else (found,)
    outputs = [_array(v) for v, dtype in zip(values, node.dtypes, strict=False) if not dtype._is_ref_dtype]
    return outputs, [_array(v.value if isinstance(v, VariableState) else v) for v in flat]


def _array(value: Any) -> np.ndarray:
    return np.array(value.numpy() if isinstance(value, torch.Tensor) else value)


def _write(s: Sample) -> None:
    """The C of a sample; shapes of outputs that a kernel did not give are those that are inferred."""
    emitter = emitter_of(s.node.op.name)
    if emitter is None:
        return
    if s.outputs is None:
        if not all(shape.is_fully_defined() for shape in s.node.shapes):
            return
        kinds = [
            (d.as_numpy_dtype, tuple(shape.as_list())) for d, shape in zip(s.node.dtypes, s.node.shapes, strict=True)
        ]
    else:
        kinds = [(array.dtype, array.shape) for array in s.outputs]
    inputs = [_value(i, array.dtype, array.shape) for i, array in enumerate(s.inputs)]
    outputs = [_value(len(inputs) + i, dtype, shape) for i, (dtype, shape) in enumerate(kinds)]
    s.text = emitter.write(Site(s.node, inputs, outputs))


def _value(number: int, dtype: Any, shape: tuple[int, ...]) -> Value:
    ctype = C_TYPES[as_dtype(dtype)]
    return Value(f"(({ctype} *)given[{number}])", ctype, shape)


def compiled(samples: Sequence[Sample], blas: bool = True) -> list[Any]:
    """A function for each of `samples`, all of which have a text; compiled together. `blas` False: as if torch had
    none."""
    support = support_text() if blas else support_text().replace("libtorch_cpu.so", "nothing.so")
    lines = [shared_text(), "#define FAIL() return 1\n", support]
    for i, s in enumerate(samples):
        assert s.text is not None
        lines += [f"int op_{i}(void *const *const given) {{", numbered(s.text, {}), "return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "ops.so")
        find_toolchain().compile("\n".join(lines), target)
        library = ctypes.CDLL(str(target))
    return [library[f"op_{i}"] for i in range(len(samples))]


def call(function: Any, s: Sample) -> tuple[list[np.ndarray] | None, list[np.ndarray]]:
    """What the C gives, as `Sample` has it of the kernel: outputs, None if it failed, and the inputs afterwards."""
    inputs = [np.array(a, order="C") for a in s.inputs]
    like = s.outputs
    if like is None:
        pairs = zip(s.node.dtypes, s.node.shapes, strict=True)
        like = [np.empty(shape.as_list(), d.as_numpy_dtype) for d, shape in pairs]
    outputs = [np.empty_like(a, order="C") for a in like]
    for output in outputs:
        output.reshape(-1).view(np.uint8)[...] = 0xAB  # what is not written shows
    table = (ctypes.c_void_p * (len(inputs) + len(outputs)))(*(a.ctypes.data for a in (*inputs, *outputs)))
    return (None if function(table) else outputs), inputs
