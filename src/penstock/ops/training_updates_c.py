"""Optimizer updates of variables in C: the formulas of `ops/training_updates.py`, for whole gradients and for rows.

Everything is checked before the first write: shapes here, indices at the beginning of the statements.
"""

from __future__ import annotations

import math
import re

from penstock.emit.indices import INDEX_TYPES
from penstock.emit.registry import emits
from penstock.emit.site import Site, Value, local
from penstock.emit.tools import block, check_indices, loop
from penstock.graph.step_graph import Node
from penstock.tensor.dtypes import resource

# C in terms of the op's inputs; @ is their type. Lines before the first blank one are computed once.
_LERP = "{0} = {1} < (@)0.5 ? {0} + {1} * (grad - {0}) : grad - (grad - {0}) * (1 - {1});"
_ADAM_RATE = "const @ rate = (f64)lr * sqrt_f64(1 - (f64)beta2_power) / (1 - (f64)beta1_power);"
_FTRL = (
    "const @ old = sqrt_@(accum); accum = fma_@(grad, grad, accum); const @ fresh = sqrt_@(accum);"
    "linear = linear + {gradient} - (fresh - old) * var / lr;"
    "const @ quadratic = fresh / lr + 2 * l2, edge = l1;"
)
_FTRL_BY_RATE = (
    "const @ old = sqrt_@(accum); accum = fma_@(grad, grad, accum); const @ fresh = sqrt_@(accum);"
    "linear = linear + ({gradient}) * lr - (fresh - old) * var;"
    "const @ quadratic = fma_@(2 * l2, lr, fresh), edge = l1 * lr;"
)
_FTRL_WEIGHT = "var = abs_@(linear) > edge ? (((linear > 0) - (linear < 0)) * edge - linear) / quadratic : 0;"
_SHRUNK = "grad + 2 * var * l2_shrinkage"
_FORMULAS: dict[str, tuple[str, str]] = {
    "GradientDescent": ("", "var = fma_@(-alpha, delta, var);"),
    "Momentum": ("", "accum = accum * momentum + grad; var = fma_@(-lr, accum, var);"),
    "Momentum nesterov": (
        "const @ both = (f64)lr * (f64)momentum;",
        "accum = accum * momentum + grad; var = fma_@(-both, accum, fma_@(-lr, grad, var));",
    ),
    "Adagrad": ("", "accum = fma_@(grad, grad, accum); var -= lr * grad / sqrt_@(accum);"),
    "Adagrad keeping": ("", "var -= lr * grad / sqrt_@(accum);"),
    "AdagradV2": ("", "accum = fma_@(grad, grad, accum); var -= lr * grad / (sqrt_@(accum) + epsilon);"),
    "AdagradV2 keeping": ("", "var -= lr * grad / (sqrt_@(accum) + epsilon);"),
    "Adadelta": (
        "const @ rest = 1 - (f64)rho;",
        "accum = rho * accum + rest * grad * grad;"
        "const @ step = sqrt_@(accum_update + epsilon) / sqrt_@(accum + epsilon) * grad;"
        "var = fma_@(-lr, step, var); accum_update = rho * accum_update + rest * step * step;",
    ),
    "Adam": (
        f"{_ADAM_RATE} const @ rest1 = 1 - beta1, rest2 = 1 - (f64)beta2;",
        f"{_LERP.format('m', 'rest1')} v = v * beta2 + rest2 * grad * grad; var -= rate * m / (sqrt_@(v) + epsilon);",
    ),
    "Adam nesterov": (
        f"{_ADAM_RATE} const @ rest1 = 1 - beta1, rest2 = 1 - (f64)beta2;",
        f"{_LERP.format('m', 'rest1')} v = v * beta2 + rest2 * grad * grad; @ ahead = m;"
        f"{_LERP.format('ahead', 'rest1')} var -= rate * ahead / (sqrt_@(v) + epsilon);",
    ),
    "RMSProp": (
        "const @ rest = 1 - (f64)rho;",
        "ms = ms * rho + rest * grad * grad; mom = mom * momentum + lr * grad / sqrt_@(ms + epsilon); var -= mom;",
    ),
    "CenteredRMSProp": (
        "const @ rest = 1 - (f64)rho, rest_of_mean = 1 - rho;",
        f"ms = ms * rho + rest * grad * grad; {_LERP.format('mg', 'rest_of_mean')}"
        "mom = mom * momentum + lr * grad / sqrt_@(ms - mg * mg + epsilon); var -= mom;",
    ),
    "Ftrl": ("", _FTRL.format(gradient="grad") + _FTRL_WEIGHT),
    "Ftrl by rate": ("", _FTRL_BY_RATE.format(gradient="grad") + _FTRL_WEIGHT),
    "FtrlV2": ("", _FTRL.format(gradient=_SHRUNK) + _FTRL_WEIGHT),
    "FtrlV2 by rate": ("", _FTRL_BY_RATE.format(gradient=_SHRUNK) + _FTRL_WEIGHT),
}
_WORD = re.compile(r"[A-Za-z_]\w*")
_DECLARED = re.compile(r"(?:@|,) (\w+) =")
"""The names that formulas declare for themselves."""
_DENSE = list(dict.fromkeys(name.split()[0] for name in _FORMULAS))
_SPARSE = [op for op in _DENSE if op not in ("GradientDescent", "Adam")]


def formula_of(node: Node) -> tuple[str, str] | None:
    """The C of an update, in terms of the op's inputs, with @ for their type: what is computed once, and for each
    element. None for updates that are not written in C."""
    name = node.op.name.split("Apply")[1]
    if node.attrs.get("use_nesterov"):
        name += " nesterov"
    if not node.attrs.get("update_slots", True):
        name += " keeping"
    if node.attrs.get("multiply_linear_by_lr"):
        name += " by rate"
    if name.startswith("Ftrl"):
        (power,) = (e.node for arg, _, edges in node.grouped_inputs() if arg == "lr_power" for e in edges)
        if not power.is_constant or power.attrs["value"] != -0.5:  # other powers are rare
            return None
    return _FORMULAS.get(name)


def _by_name(s: Site) -> tuple[dict[str, Value], dict[str, Value]]:
    """The variables that change, and the other inputs."""
    states: dict[str, Value] = {}
    others: dict[str, Value] = {}
    for arg, value in zip(s.node.op.inputs, s.inputs, strict=True):
        (states if arg.is_ref or arg.dtype == resource else others)[arg.name] = value
    return states, others


def _update(
    formula: tuple[str, str],
    states: dict[str, Value],
    others: dict[str, Value],
    place: str,
    grad_place: str,
    size: int,
) -> str:
    """The statements for `size` elements of each variable, from `place` on."""
    once, each = formula
    ctype = states["var"].ctype
    (grad,) = (name for name in others if name in ("grad", "delta"))
    names = {name: local(name) for name in (*states, *others, *_DECLARED.findall(once + each))}
    once, each = (_WORD.sub(lambda m: names.get(m[0], m[0]), text).replace("@", ctype) for text in (once, each))
    at = {name: local(f"{name}_at") for name in (*states, grad)}
    i = local("i")
    lines = [
        f"const {ctype} {names[name]} = {v.element(0)};" for name, v in others.items() if name not in (grad, "indices")
    ]
    lines += [f"{ctype} *const {at[name]} = {v.at(place)};" for name, v in states.items()]
    lines += [f"const {ctype} *const {at[grad]} = {others[grad].at(grad_place)};", once]
    steps = [f"const {ctype} {names[grad]} = {at[grad]}[{i}];"]
    steps += [f"{ctype} {names[name]} = {at[name]}[{i}];" for name in states]
    steps += [each, *(f"{at[name]}[{i}] = {names[name]};" for name in states)]
    return block(*lines, loop(i, size, *steps, vector=True))


def _fits(states: dict[str, Value], others: dict[str, Value]) -> bool:
    """Whether the variables have the same float type and shape and distinct memory, and all other values are scalars of
    that type."""
    var = states["var"]
    scalars = [v for name, v in others.items() if name not in ("grad", "delta", "indices")]
    apart = len({v.pointer for v in states.values()}) == len(states)
    return (
        apart
        and var.is_float
        and all(v.shape == var.shape for v in states.values())
        and all(v.ctype == var.ctype and v.shape == () for v in scalars)
    )


@emits(*(f"{kind}Apply{op}" for kind in ("", "Resource") for op in _DENSE))
def dense_update(s: Site) -> str | None:
    states, others = _by_name(s)
    var, (grad,) = states["var"], (v for name, v in others.items() if name in ("grad", "delta"))
    formula = formula_of(s.node)
    if formula is None or not _fits(states, others) or grad.shape != var.shape:
        return None
    return _update(formula, states, others, "0", "0", var.size)


@emits(*(f"{kind}SparseApply{op}" for kind in ("", "Resource") for op in _SPARSE))
def sparse_update(s: Site) -> str | None:
    """A duplicate row is updated twice, in order."""
    states, others = _by_name(s)
    var, grad, indices = states["var"], others["grad"], others["indices"]
    formula = formula_of(s.node)
    if formula is None or not _fits(states, others):
        return None
    if indices.ctype not in INDEX_TYPES or len(indices.shape) != 1 or not var.shape:
        return None
    if grad.shape != (*indices.shape, *var.shape[1:]) or any(grad.pointer == v.pointer for v in states.values()):
        return None
    size = math.prod(var.shape[1:])
    r = local("r")
    update = _update(formula, states, others, f"{indices.element(r)} * {size}", f"{r} * {size}", size)
    return block(check_indices(s, indices, var.shape[0]), loop(r, indices.size, update))
