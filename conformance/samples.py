"""The samples: the rows of tests/ops/cases_*.py, variants in other types and shapes, edge values, and state.

A sample is a graph of one op (TensorFlow's GraphDef, so both frameworks read the same bytes), once with placeholders of
unknown shape and once with constants, along with its feeds, its fetches, and the inputs to differentiate by.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.values import to_json
from penstock.graph.codec import tensor_proto
from penstock.graph.constants import make_array
from penstock.graph.graph import Graph
from penstock.graph.opdef import OpDef, get_gradient, get_op
from penstock.ops.basic import placeholder
from penstock.tensor.dtypes import DType, as_dtype
from tests.ops.harness import OpCase
from tests.ops.test_ops import CASES

VARIED = 3  # cases of an op that are repeated in every other type
INTS = [0, 1, 2, 3, 7, 100]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 3e4, np.inf, -np.inf, np.nan]


def samples() -> Iterator[dict[str, Any]]:
    """All samples of pure ops, each once."""
    seen: set[str] = set()
    for case in itertools.chain(CASES, in_other_types(), at_the_edges(), with_empties()):
        sample = make_sample(case)
        if sample is not None and (text := repr(sample)) not in seen:
            seen.add(text)
            yield sample


def in_other_types() -> Iterator[OpCase]:
    """The first cases of each op with its inputs in every type that its signature allows."""
    taken: dict[tuple[str, str], int] = {}
    for case in CASES:
        op = get_op(case.op)
        for attr in {i.type_attr for i in op.inputs if i.type_attr and not i.is_ref}:
            arrays = inputs_of(case)
            having = _types_of(op, arrays, attr)
            key = (case.op, attr)
            if not having or taken.setdefault(key, 0) >= VARIED:
                continue
            taken[key] += 1
            for dtype in op.attrs[attr].allowed or ALL:
                if dtype not in having and _castable(next(iter(having)), dtype):
                    attrs = {k: v for k, v in case.attrs.items() if k != attr}
                    yield OpCase(case.op, _in_type(op, arrays, attr, dtype), attrs, raises=case.raises)


def at_the_edges() -> Iterator[OpCase]:
    """Element-wise ops of one or two operands on zeros, infinities, NaNs, extremes; scalars and broadcasting."""
    for name in sorted({case.op for case in CASES}):
        op = get_op(name)
        attr = op.inputs[0].type_attr if op.inputs else None
        if len(op.inputs) > 2 or not attr or any(i.type_attr != attr or i.is_list for i in op.inputs):
            continue
        if any(a.default is None or repr(a.default) == "NO_DEFAULT" for a in op.attrs.values() if a.name != attr):
            continue  # attributes that have to be chosen
        for dtype in op.attrs[attr].allowed or ALL:
            values = _edges(dtype)
            if values is None:
                continue
            if len(op.inputs) == 1:
                for array in (values, values[1], values[:1], np.zeros((2, 0, 3), values.dtype), values.reshape(-1, 1)):
                    yield OpCase(name, [array])
            elif name.endswith("Grad"):  # an output or an input, and a gradient of the same shape
                yield OpCase(name, [np.repeat(values, len(values)), np.tile(values, len(values))])
            else:
                yield OpCase(name, [values[:, None], values[None, :]])
                yield OpCase(name, [values[2], values])
                yield OpCase(name, [values[:1], np.zeros((0, 1), values.dtype)])
                yield OpCase(name, [values[:2], values[:3]])


def with_empties() -> Iterator[OpCase]:
    """The first cases of each op with its first input emptied along its first axis."""
    taken: dict[str, int] = {}
    for case in CASES:
        arrays = inputs_of(case)
        if not arrays or isinstance(arrays[0], list) or not arrays[0].ndim or taken.setdefault(case.op, 0) >= 2:
            continue
        if arrays[0].size:
            taken[case.op] += 1
            yield OpCase(case.op, [arrays[0][:0], *arrays[1:]], case.attrs)


# --- a case as a sample ---------------------------------------------------------------------------------


def inputs_of(case: OpCase) -> list[Any]:
    lists = [i.is_list for i in get_op(case.op).inputs]
    return [
        [make_array(v) for v in value] if is_list else make_array(value)
        for value, is_list in zip(case.inputs, lists, strict=False)
    ]


def make_sample(case: OpCase) -> dict[str, Any] | None:
    """None for a case that Penstock rejects before there is a node: the check is in its Python code, not in the op."""
    op_def = get_op(case.op)
    feeds: dict[str, np.ndarray] = {}
    graph = Graph()
    with graph.as_default():

        def one(array: np.ndarray) -> Any:
            tensor = placeholder(as_dtype(array.dtype), name=f"in{len(feeds)}")
            feeds[tensor.name] = array
            return tensor

        try:
            built = [[one(v) for v in a] if isinstance(a, list) else one(a) for a in inputs_of(case)]
            op_def(*built, name="sample", **case.attrs)
        except (TypeError, ValueError, NotImplementedError):
            return None
    op = graph.get_operation_by_name("sample")
    proto = graph.as_graph_def()
    floats = [name for name, a in feeds.items() if as_dtype(a.dtype).is_floating and a.dtype.name != "bfloat16"]
    return {
        "op": case.op,
        "what": str(case),
        "graph": _encoded(proto),
        "constant": _encoded(_with_constants(proto, feeds)),
        "feeds": {name: to_json(a) for name, a in feeds.items()},
        "fetches": [t.name for t in op.outputs] or ["sample"],
        "differentiate": floats if _differentiable(op_def, feeds) else [],
    }


def _differentiable(op: OpDef, feeds: dict[str, np.ndarray]) -> bool:
    """Both sides in float32 and float64 only: half-precision gradients round differently on every machine."""
    try:
        has_gradient = get_gradient(op.name) is not None
    except LookupError:
        return False
    kinds = {a.dtype.name for a in feeds.values() if a.dtype.kind not in "iubOSU"}
    return has_gradient and bool(kinds) and kinds <= {"float32", "float64"}


def _with_constants(proto: Any, feeds: dict[str, np.ndarray]) -> Any:
    constant = type(proto)()
    constant.CopyFrom(proto)
    for node in constant.node:
        if node.op == "Placeholder":
            array = feeds[f"{node.name}:0"]
            node.op = "Const"
            del node.attr["shape"]
            node.attr["value"].tensor.CopyFrom(tensor_proto(array))
    return constant


def _encoded(proto: Any) -> str:
    return base64.b64encode(proto.SerializeToString(deterministic=True)).decode()


# --- types ----------------------------------------------------------------------------------------------

ALL = tuple(
    as_dtype(name)
    for name in (
        *("bfloat16", "half", "float", "double", "complex64", "complex128", "bool"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)


def _types_of(op: OpDef, arrays: list[Any], attr: str) -> set[DType]:
    of_attr = [a for i, a in zip(op.inputs, arrays, strict=False) if i.type_attr == attr]
    return {as_dtype(v.dtype) for a in of_attr for v in (a if isinstance(a, list) else [a])}


def _castable(source: DType, target: DType) -> bool:
    def numeric(t: DType) -> bool:
        return t.is_floating or t.is_integer or t.is_complex or t.name == "bool"

    return numeric(source) and numeric(target) and not target.is_quantized and not source.is_quantized


def _in_type(op: OpDef, arrays: list[Any], attr: str, dtype: DType) -> list[Any]:
    def cast(array: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            if dtype.is_unsigned:
                array = np.abs(array)
            if not dtype.is_complex:
                array = array.real
            if not dtype.is_floating and not dtype.is_complex and array.dtype.kind == "f":
                array = np.nan_to_num(array, nan=3, posinf=100, neginf=-100)
                array = np.clip(array, -100 if not dtype.is_unsigned else 0, 100)
            return array.astype(dtype.as_numpy_dtype)

    return [
        ([cast(v) for v in a] if isinstance(a, list) else cast(a)) if i.type_attr == attr else a
        for i, a in zip(op.inputs, arrays, strict=False)
    ]


def _edges(dtype: DType) -> np.ndarray | None:
    kind = dtype.as_numpy_dtype
    if dtype.is_quantized or dtype.name in ("string", "variant", "resource"):
        return None
    if dtype.name == "bool":
        return np.array([False, True, True, False])
    if dtype.is_complex:
        return np.array([0, 1, -1j, 2.5 - 0.5j, -3 + 4j], kind)
    if dtype.is_floating:
        return np.array(FLOATS, kind)
    limits = np.iinfo(kind)
    return np.array([limits.min, limits.max, *INTS, *([-1, -2, -7] if limits.min else [])], kind)
