"""One op, one case, all checks: value, dtype, shape, traits, sharing of memory, gradient by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from penstock.gradients.gradients import gradients
from penstock.graph.constants import make_array
from penstock.graph.convert import constant
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_gradient, get_op
from penstock.graph.step_graph import Edge, Node
from penstock.graph.traits import allocates, shape_class
from penstock.ops.basic import placeholder
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager
from penstock.runtime.values import to_runtime
from penstock.session.session import Session
from penstock.tensor.dtypes import as_dtype, float32


@dataclass
class OpCase:
    """`op` on `inputs` (arrays or Python values; a list input is a list of them) must give `ref(*inputs)`.

    `ref` is NumPy code or a literal (an array, or a tuple of them for several outputs), never Penstock's own
    output. `grad` False leaves the finite-difference check out (an integer op; a kink at the sample); `check`
    replaces the comparison of values (random ops). `raises` is the class of error expected when run, or built.
    """

    op: str
    inputs: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    ref: Any = None
    grad: bool = True
    check: Callable[..., None] | None = None
    raises: type[Exception] | None = None
    match: str = ""
    rtol: float = 1e-5
    atol: float = 1e-6
    note: str = ""

    def __str__(self) -> str:
        shapes = ",".join(str(list(np.shape(i))) if not isinstance(i, list) else "…" for i in self.inputs)
        attrs = ",".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"{self.op}({shapes}){'{' + attrs + '}' if attrs else ''}{' ' + self.note if self.note else ''}"


def check_op(case: OpCase) -> None:
    """Run every check that applies to the case."""
    if case.raises is not None:
        with pytest.raises(case.raises, match=case.match or None):
            _run(case, fed=False)
        return
    values, tensors = _run(case, fed=False)
    fed_values, _ = _run(case, fed=True)
    expected = case.ref(*_arrays(case)) if callable(case.ref) else case.ref
    if case.check is not None:
        case.check(*_arrays(case), *values)
    else:
        if not isinstance(expected, tuple):
            expected = (expected,)
        assert len(values) == len(expected), "number of outputs"
        for have, again, want in zip(values, fed_values, expected, strict=True):
            _assert_same(case, have, want)
            _assert_same(case, again, want)
    for value, tensor in zip(values, tensors, strict=True):
        assert tensor.shape.is_compatible_with(np.shape(value)), f"inferred {tensor.shape}, got {np.shape(value)}"
        assert as_dtype(np.asarray(value).dtype) == tensor.dtype.base_dtype, "dtype"
    check_shape_class(case, values)
    check_aliasing(case)
    if case.grad and _differentiable(case):
        check_gradient(case)


def _arrays(case: OpCase) -> list[Any]:
    return [[make_array(i) for i in v] if isinstance(v, list) and _is_list(case, n) else make_array(v)
            for n, v in enumerate(case.inputs)]  # fmt: skip


def _is_list(case: OpCase, n: int) -> bool:
    return get_op(case.op).inputs[n].is_list


def _assert_same(case: OpCase, have: Any, want: Any) -> None:
    # NumPy's own dtype for bytes forgets zero bytes at the end.
    have, want = (np.asarray(v, object if isinstance(v, bytes) else None) for v in (have, want))
    assert have.shape == want.shape, f"shape {have.shape}, expected {want.shape}"
    if want.dtype == object or have.dtype == object:
        assert have.tolist() == want.tolist()
    elif have.dtype.kind in "fcV":
        loose = 2e-2 if have.dtype.itemsize == 2 else 0
        wide = complex if have.dtype.kind == "c" else float
        np.testing.assert_allclose(
            have.astype(wide), want.astype(wide), rtol=max(case.rtol, loose), atol=max(case.atol, loose)
        )
    else:
        np.testing.assert_array_equal(have, want)


def _inputs(case: OpCase, fed: bool, feeds: dict[Any, Any]) -> list[Any]:
    def one(value: Any) -> Any:
        array = make_array(value)
        if not fed:
            return constant(array)
        tensor = placeholder(as_dtype(array.dtype))
        feeds[tensor] = array
        return tensor

    return [[one(v) for v in value] if _is_list(case, n) else one(value) for n, value in enumerate(case.inputs)]


def _run(case: OpCase, fed: bool) -> tuple[list[Any], list[Any]]:
    """The outputs with inputs as constants, or fed through placeholders of unknown shape."""
    with Graph().as_default():
        feeds: dict[Any, Any] = {}
        op = _node(get_op(case.op)(*_inputs(case, fed, feeds), **case.attrs))
        with Session() as session:
            return session.run(op.outputs or [op], feeds), op.outputs


def _node(found: Any) -> Any:
    while isinstance(found, list | tuple):
        found = next(item for item in found if not isinstance(item, list) or item)
    return getattr(found, "op", found)


def check_shape_class(case: OpCase, values: list[Any]) -> None:
    """What follows of the shape rule for all shapes must hold for these."""
    op = get_op(case.op)
    found = shape_class(op)
    if found is None:
        return
    arrays = {arg.name: array for arg, array in zip(op.inputs, _arrays(case), strict=True)}
    firsts = [a[0] if isinstance(a, list) else a for a in arrays.values()]
    if found.kind == "asked":
        wanted = np.ravel(arrays[found.input]).tolist()
        expected = tuple(wanted) if -1 not in wanted else np.shape(values[0])
    elif found.kind == "broadcast":
        expected = np.broadcast_shapes(*map(np.shape, firsts))
    else:
        expected = np.shape(firsts[0])
    assert np.shape(values[0]) == expected, f"{case.op} is of class {found}"


def check_aliasing(case: OpCase) -> None:
    """A kernel whose output shares memory with an input must be of an op that says `aliases=True`; what says that it
    allocates gives dense memory that nobody else has, each time."""
    with Graph().as_default():
        op = _node(get_op(case.op)(*_inputs(case, False, {}), **case.attrs))
    if op.op_def.aliases or (op.op_def.stateful and not allocates(op.op_def)):
        return
    nodes = [Node(t.op.name, t.op.op_def, t.op.attrs, (), (), "", (t.dtype,), (t.shape,), t.op) for t in op.inputs]
    node = Node(op.name, op.op_def, op.attrs, tuple(Edge(n, 0) for n in nodes), (), "",
                tuple(t.dtype for t in op.outputs), tuple(t.shape for t in op.outputs), op)  # fmt: skip
    kernel = make_kernel(node, "CPU", torch.device("cpu"), SessionState(ResourceManager()))
    if not callable(kernel):
        return
    flat = [to_runtime(t.op.attrs["value"].copy(), t.dtype) for t in op.inputs]
    grouped, position = [], 0
    for _, is_list, edges in node.grouped_inputs():
        part = flat[position : position + len(edges)]
        grouped.append(part if is_list else part[0])
        position += len(edges)
    before = [v.clone() if isinstance(v, torch.Tensor) else v.copy() for v in flat]
    found = kernel(*grouped)
    outputs = found if isinstance(found, tuple) else (found,)
    for out in outputs:
        for value in flat:
            if isinstance(out, torch.Tensor) and isinstance(value, torch.Tensor) and out.numel() and value.numel():
                shared = out.untyped_storage().data_ptr() == value.untyped_storage().data_ptr()
                assert not shared, f"{case.op} shares memory with an input: say aliases=True"
    if allocates(op.op_def):
        again = kernel(*grouped)
        _assert_all_new((*outputs, *(again if isinstance(again, tuple) else (again,))), case)
    for value, old in zip(flat, before, strict=True):
        same = torch.equal(value, old) if isinstance(value, torch.Tensor) else value.tolist() == old.tolist()
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
            same = torch.allclose(value, old, equal_nan=True)
        assert same, f"the kernel of {case.op} wrote to its input"


def _assert_all_new(outputs: tuple[Any, ...], case: OpCase) -> None:
    given = [out for out in outputs if isinstance(out, torch.Tensor) and out.numel()]
    places = {out.untyped_storage().data_ptr() for out in given}
    assert len(places) == len(given), f"results of {case.op} share memory: say allocates=False"
    overlaps = any(torch._debug_has_internal_overlap(out) == 1 for out in given)
    assert not overlaps, f"elements of a result of {case.op} share memory: say allocates=False"


def _differentiable(case: OpCase) -> bool:
    try:
        if get_gradient(case.op) is None:
            return False
    except LookupError:
        return False
    flat = [i for a in _arrays(case) for i in (a if isinstance(a, list) else [a])]
    return any(a.dtype in (np.float32, np.float64) and a.size for a in flat)


def check_gradient(case: OpCase) -> None:
    """Compare the registered gradient with central differences of a random projection, in double precision where
    the op has it."""
    op_def = get_op(case.op)
    double = not any(arg.dtype == float32 for arg in (*op_def.inputs, *op_def.outputs))
    eps, rtol, atol = (1e-5, 1e-3, 1e-4) if double else (1e-2, 1e-2, 5e-3)
    inputs = [
        [_precise(i, arg) for i in a] if isinstance(a, list) else _precise(a, arg)
        for a, arg in zip(_arrays(case), op_def.inputs, strict=True)
    ]
    random = np.random.RandomState(7)
    with Graph().as_default():
        fed: list[tuple[Any, np.ndarray]] = []

        def one(array: np.ndarray) -> Any:
            if array.dtype.kind != "f":
                return constant(array)  # shapes and axes are constants in real graphs
            tensor = placeholder(as_dtype(array.dtype), shape=array.shape)
            fed.append((tensor, array))
            return tensor

        built = [[one(i) for i in a] if isinstance(a, list) else one(a) for a in inputs]
        inferred = {arg.type_attr for arg in get_op(case.op).inputs}  # double now, whatever the case says
        attrs = {k: v for k, v in case.attrs.items() if k not in inferred}
        op = _node(get_op(case.op)(*built, **attrs))
        ys = [t for t in op.outputs if t.dtype.is_floating]
        with Session() as session:
            feeds = dict(fed)
            weights = [np.asarray(random.uniform(0.5, 1.5, np.shape(v)), v.dtype) for v in session.run(ys, feeds)]
            grads = gradients(ys, [t for t, _ in fed], grad_ys=[constant(w) for w in weights])

            def value(feeds: dict[Any, np.ndarray]) -> float:
                return float(
                    sum((np.float64(w) * v).sum() for w, v in zip(weights, session.run(ys, feeds), strict=True))
                )

            for (tensor, array), grad in zip(fed, grads, strict=True):
                numeric = _numeric(value, feeds, tensor, array, eps)
                if grad is None:
                    assert np.allclose(numeric, 0, atol=atol), (
                        f"no gradient for {tensor.name}, but it matters: {numeric}"
                    )
                    continue
                assert grad.shape.is_compatible_with(array.shape), f"gradient shape {grad.shape} for {array.shape}"
                analytic = session.run(_dense(grad), feeds)
                np.testing.assert_allclose(analytic, numeric, rtol=rtol, atol=atol, err_msg=f"gradient of {case.op}")


def _dense(grad: Any) -> Any:
    from penstock.graph.convert import convert_to_tensor

    return convert_to_tensor(grad)


def _precise(array: np.ndarray, arg: Any) -> np.ndarray:
    return array.astype(np.float64) if array.dtype == np.float32 and arg.dtype is None else array


def _numeric(value: Any, feeds: Any, tensor: Any, array: np.ndarray, eps: float) -> np.ndarray:
    numeric = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        up, down = array.copy(), array.copy()
        up[index] += eps
        down[index] -= eps
        numeric[index] = (value({**feeds, tensor: up}) - value({**feeds, tensor: down})) / (2 * eps)
    return numeric
