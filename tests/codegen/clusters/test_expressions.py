"""Each op's expression, compiled, beside the op's own kernel; and the functions that expressions call beside NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.codegen.c.source import shared_text
from penstock.codegen.c.toolchain import find_toolchain
from penstock.codegen.clusters import clusters as clusters_module
from penstock.emit.expressions import C_TYPES, express, expressed_ops, ulps_of
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.passes.prune import prune
from tests.codegen import steps

KINDS = ["float32", "float64", "int32", "int64", "bool"]

ABSOLUTE = {"TanhGrad", "SigmoidGrad", "EluGrad", "SeluGrad"}
"""Where 1 - y² and the like cancel, torch may round once less: compared by ulps of what is subtracted."""


def _build(name: str, x: Tensor, y: Tensor, condition: Tensor) -> list[Tensor]:
    """Nodes of the op `name` on tensors like these; none where it takes no such type."""
    op = get_op(name)
    try:
        match name:
            case "Cast":
                return [op(x, DstT=kind) for kind in KINDS]
            case "Pow":
                exponents = (-1.0, 1.0, 2.0, 3.0)
                return [op(x, tf.constant(e, x.dtype)) for e in exponents] if x.dtype.is_floating else []
            case "AddN":
                return [op([x, y, x, y])]
            case "AccumulateNV2":
                return [op([x, y, x], shape=x.shape)]
            case "BiasAdd" | "BiasAddV1":
                return [op(x, tf.constant(np.array([3, 4, -5]), x.dtype))]
            case "FloorDiv" | "FloorMod" if not x.dtype.is_floating:
                return [op(x, tf.constant(divisor, x.dtype)) for divisor in (1, 2, 7, -3)]
            case "Select" | "SelectV2":
                return [op(condition, x, y)]
            case "LogicalAnd" | "LogicalOr":
                return [op(x, y)] if x.dtype == tf.bool else []
            case _:
                return [op(*[x, y][: len(op.inputs)])]
    except (TypeError, ValueError):
        return []


def _values(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of all extreme values with each other, and of ordinary ones; [n, 3] with an odd n."""
    rng = np.random.default_rng(7)
    dtype = np.dtype(kind)
    if kind == "bool":
        special = np.array([False, True])
        more = rng.integers(0, 2, (2, 1100)).astype(bool)
    elif dtype.kind == "i":
        info = np.iinfo(dtype)
        special = np.array([info.min, info.min + 1, -7, -1, 0, 1, 2, 6, 7, info.max - 1, info.max], dtype)
        more = rng.integers(info.min, info.max, (2, 1100), dtype, endpoint=True)
    else:
        f = np.finfo(dtype)
        positive = [0, f.smallest_subnormal, f.tiny, f.eps, 0.3, 0.5, 1, 1.5, 2.5, 6, 20.25, 88, 103, f.max, np.inf]
        special = np.array([*positive, *(-np.array(positive)), np.nan], dtype)
        bits = np.frombuffer(rng.bytes(2 * 600 * dtype.itemsize), dtype).reshape(2, 600)
        more = np.concatenate([bits, rng.normal(0, 3, (2, 500)).astype(dtype)], axis=1)
    x, y = (a.reshape(-1) for a in np.meshgrid(special, special))
    size = (x.size + more.shape[1]) // 3
    size -= 1 - size % 2
    x, y = (np.concatenate([a, b])[: 3 * size].reshape(size, 3) for a, b in ((x, more[0]), (y, more[1])))
    return x, y


def _case(kind: str, shape: list[int | None]) -> tuple[list[Tensor], list[str], list[Tensor]]:
    """A node of each op for a type, with the op's name; and what they are fed."""
    x, y = (tf.placeholder(kind, shape) for _ in range(2))
    condition = tf.placeholder("bool", shape)
    fetches: list[Tensor] = []
    names: list[str] = []
    for name in expressed_ops():
        for tensor in _build(name, x, y, condition):
            node = next(n for n in prune([x, y, condition], [tensor], []).nodes if n.name == tensor.op.name)
            if express(node) is not None:
                fetches.append(tensor)
                names.append(name)
    return fetches, names, [x, y, condition]


def _check(name: str, found: np.ndarray, wanted: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, name
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted, name)
        return
    apart = steps.ulps_apart(found, wanted)
    if name in ABSOLUTE:
        with np.errstate(all="ignore"):
            pair = (x, y) if name in ("TanhGrad", "SigmoidGrad") else (y, x)
            values, gradients = (a.astype(np.longdouble) for a in pair)
            scale = np.finfo(found.dtype).eps * np.abs(gradients) * (1 + values * values)
            apart = np.where(np.abs(found - wanted) <= 2 * scale, 0, apart)
    worst = np.unravel_index(apart.argmax(), apart.shape)
    assert apart[worst] <= ulps_of(name), f"{name}: {found[worst]!r}, but the kernel gives {wanted[worst]!r}"


@pytest.fixture(autouse=True)
def _every_op_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters_module, "LEAST", 1)
    # Names are only taken into a cluster between other members: here all nodes are fetched.
    monkeypatch.setattr(clusters_module._Finder, "_leave_names", lambda self: None)


@pytest.mark.parametrize("kind", KINDS)
@np.errstate(all="ignore")
def test_each_op_gives_what_its_kernel_gives(kind: str) -> None:
    with tf.Graph().as_default():
        fetches, names, feeds = _case(kind, [None, 3])
        x, y = _values(kind)
        condition = np.random.default_rng(1).integers(0, 2, x.shape).astype(bool)
        values = dict(zip(feeds, (x, y, condition), strict=True))
        found, wanted = (steps.run(fetches, values, mode) for mode in ("on", "off"))
    for name, a, b in zip(names, found, wanted, strict=True):
        _check(name, a, b, x, y)


FUNCTIONS: dict[str, tuple[float, Callable[[Any], Any]]] = {
    "exp": (1.1, np.exp),
    "expm1": (1.9, np.expm1),
    "log": (0.9, np.log),
    "log1p": (0.9, np.log1p),
    "tanh": (2.6, np.tanh),
    "sqrt": (0.51, np.sqrt),
}
"""The ulps that preamble.py promises, and the exact function."""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions of the preamble, each over an array."""
    text = shared_text()
    for kind in ("f32", "f64"):
        for name in FUNCTIONS:
            text += f"void v_{name}_{kind}(const {kind} *x, {kind} *y, i64 n) {{\n  VECTOR\n"
            text += f"  for (i64 i = 0; i < n; i++) y[i] = {name}_{kind}(x[i]);\n}}\n"
    target = Path(tmp_path_factory.mktemp("functions"), "functions.so")
    find_toolchain().compile(text, target)
    return ctypes.CDLL(str(target))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", ["float32", "float64"])
@np.errstate(all="ignore")
def test_functions_are_as_exact_as_the_preamble_says(functions: ctypes.CDLL, kind: str, name: str) -> None:
    promised, exact = FUNCTIONS[name]
    rng = np.random.default_rng(3)
    dtype = np.dtype(kind)
    everything = np.frombuffer(rng.bytes(100_000 * dtype.itemsize), dtype)
    ends = 110 if kind == "float32" else 750
    x = np.concatenate(
        [_values(kind)[0].reshape(-1), everything, rng.uniform(-ends, ends, 50_000), rng.normal(0, 1, 50_000)]
    )
    x = x.astype(dtype)
    y = np.empty_like(x)
    code = C_TYPES[tf.as_dtype(kind)]
    functions[f"v_{name}_{code}"](*(ctypes.c_void_p(a.ctypes.data) for a in (x, y)), ctypes.c_int64(x.size))
    wanted = exact(x.astype(np.longdouble))
    nearest = wanted.astype(dtype)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(nearest))
    finite = np.isfinite(nearest)
    np.testing.assert_array_equal(y[~finite], nearest[~finite])
    apart = np.abs(y[finite] - wanted[finite]) / np.spacing(np.abs(nearest[finite])).astype(np.longdouble)
    assert apart.max() <= promised, f"{name}({x[finite][apart.argmax()]!r}) = {y[finite][apart.argmax()]!r}"
    np.testing.assert_array_equal(np.signbit(y[x == 0]), np.signbit(nearest[x == 0]))


def test_every_op_of_the_table_is_tried() -> None:
    tried: set[str] = set()
    with tf.Graph().as_default():
        for kind in KINDS:
            tried.update(_case(kind, [None, 3])[1])
    assert tried == set(expressed_ops())
