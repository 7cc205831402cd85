"""Every op that is written in C, of every type, in steps: what it gives is what its own kernel gives.

The ops come from the registries, so that a new emitter or expression is among them. PENSTOCK_EXAMPLES asks for all
cases of each, compiled as they are for users; without it there are a few, and the compiler optimizes little.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pytest

import penstock as tf
from conformance.samples import inputs_of
from penstock.codegen.c import compiler, toolchain
from penstock.codegen.regions import regions
from penstock.emit.expressions import expressed_ops, ulps_of
from penstock.graph.opdef import get_op
from tests.codegen import steps
from tests.codegen.clusters import test_expressions as expressions
from tests.codegen.regions.harness import Sample, is_state as is_variable, sample
from tests.codegen.regions.steps import session_with
from tests.codegen.regions.sweep import OPS, SOURCES, Built, cases, constants_for, is_state, turned
from tests.codegen.regions.test_emitters import tolerance
from tests.codegen.regions.together import Together
from tests.ops.harness import OpCase

ALL = "PENSTOCK_EXAMPLES" in os.environ
UNDECIDED = {"EluGrad", "Relu6Grad", "SeluGrad"}
"""Ops of which torch's vector code and its code for what is left over do different things with NaN."""
TOGETHER = 400
"""Cases in one step."""
REGIONS = frozenset({"infer_shapes", "form_regions_at_once"})
"""Nothing else: constants are to be computed with in the step."""


@pytest.fixture(autouse=True, scope="module")
def _strict() -> Iterator[None]:
    """What is not initialised is an error as well, which it cannot be for all compilers that users have."""
    more = ("-Winit-self", "-Werror=uninitialized")
    flags = tuple("-O1" if flag == "-O2" and not ALL else flag for flag in toolchain._FLAGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "_FLAGS", (*flags, *more))
        patch.setattr(compiler, "_compiler", compiler.Compiler())
        yield


@dataclass(frozen=True, eq=False)
class Wanted:
    """A case, the inputs that must be constants, and what its kernel gives, alone."""

    case: OpCase
    constants: tuple[str, ...]
    alone: Sample

    @property
    def has_state(self) -> bool:
        return any(map(is_state, get_op(self.case.op).inputs))


@pytest.fixture(scope="module")
def wanted() -> list[Wanted]:
    found = []
    with np.errstate(all="ignore"):
        for case in cases(1000 if ALL else 2):
            alone = sample(get_op(case.op), inputs_of(case), case.attrs)
            constants = constants_for(case)
            if alone is not None and alone.outputs is not None and constants is not None:
                found.append(Wanted(case, constants, alone))
    assert sorted(set(OPS) - {w.case.op for w in found}) == []
    return found


# --- comparing ------------------------------------------------------------------------------------------


def problem(name: str, have: np.ndarray, want: np.ndarray, inputs: list[np.ndarray]) -> str | None:
    """How `have` differs from what the kernel of the op gives; None if that is right."""
    if have.dtype != want.dtype or have.shape != want.shape:
        return f"{have.dtype}{list(have.shape)}, not {want.dtype}{list(want.shape)}"
    if have.dtype.kind != "f":
        return None if np.array_equal(have, want) else f"{have} instead of {want}"
    with np.errstate(all="ignore"):
        have, want = np.atleast_1d(have, want)
        apart = steps.ulps_apart(have, want)
        if name in expressed_ops() and not tolerance(name):
            apart[apart <= ulps_of(name)] = 0
        bound = tolerance(name)
        if bound or name in expressions.ABSOLUTE:
            finite = [a[np.isfinite(a)] for a in (want, *inputs) if a.dtype.kind == "f"]
            scale = max((float(np.abs(a).max()) for a in finite if a.size), default=1.0)
            close = np.abs(have - want) <= (bound or 4) * np.finfo(have.dtype).eps * (scale + np.abs(want))
            apart = np.where(close, 0, apart)
    if name in UNDECIDED and any(np.isnan(a).any() for a in inputs):
        return None
    worst = np.unravel_index(apart.argmax(), apart.shape) if apart.size else ()
    return f"{have[worst]!r} at {list(worst)} instead of {want[worst]!r}" if apart.size and apart[worst] else None


# --- steps ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [SOURCES[0], *(pytest.param(s, marks=pytest.mark.slow) for s in SOURCES[1:])])
def test_every_op_gives_in_c_what_its_kernel_gives(wanted: list[Wanted], source: str) -> None:
    """Hundreds in one step, each by itself and in a chain."""
    pure = [w for w in wanted if not w.has_state]
    problems = []
    for start in range(0, len(pure), TOGETHER):
        made = [(w, chained) for w in pure[start : start + TOGETHER] for chained in (False, True)]
        problems += _differences(made, source)
    assert not problems, "\n".join([f"{len(problems)} differ", *problems[:20]])


@pytest.mark.slow
def test_every_op_alone_in_a_step_gives_what_its_kernel_gives(
    wanted: list[Wanted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that change variables from all sources, others only fed."""
    together = Together()
    monkeypatch.setattr(compiler, "_compiler", together)
    seen: set[Any] = set()
    ways = []
    for w in wanted:
        key = (w.case.op, w.alone.inputs[0].dtype if w.alone.inputs else None)
        sources = SOURCES if w.has_state else SOURCES[: 1 if ALL or key not in seen else 0]
        seen.add(key)
        ways += [(w, source) for source in sources]
    for w, source in ways:
        _differences([(w, False)], source)
    together.build_all()
    problems = [text for w, source in ways for text in _differences([(w, False)], source)]
    assert not problems, "\n".join([f"{len(problems)} differ", *problems[:20]])


def _differences(made: list[tuple[Wanted, bool]], source: str) -> list[str]:
    """What is wrong with the results of a step of these, and with the variables after it."""
    problems = []
    with tf.Graph().as_default(), session_with(REGIONS) as session:
        feeds: dict[Any, Any] = {}
        built = [Built(w.case, source, w.constants, feeds) for w, _ in made]
        ends = [
            [_used(y) for y in b.outputs] if chained else b.outputs or b.op
            for b, (_, chained) in zip(built, made, strict=True)
        ]
        session.run(tf.global_variables_initializer())
        with mock.patch.object(regions, "MOST_NODES", 1 << 20):
            found = session.run(ends, feeds)
        states = session.run([b.states for b in built])
    for (w, chained), values, after in zip(made, found, states, strict=True):
        assert w.alone.outputs is not None
        outputs = [_used_alone(y) if chained else y for y in w.alone.outputs]
        changed = [a for a, edge in zip(w.alone.after, w.alone.node.inputs, strict=True) if is_variable(edge)]
        for have, want in [*zip(values or [], outputs, strict=False), *zip(after, changed, strict=True)]:
            wrong = problem(w.case.op, np.asarray(have), want, w.alone.inputs)
            if wrong:
                problems.append(f"{w.case}{' in a chain' * chained} from {source}: {wrong}")
    return problems


def _used(y: Any) -> Any:
    return turned(tf.stack([turned(y), y]))


def _used_alone(y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.stack([y, ~y if y.dtype == bool else -y])
