"""The element-wise ops that are compiled: for each its expression, in the words that C and CUDA share.

An expression computes one element. It says what it computes from as `{0}`, `{1}`, …; its functions are those of
`preamble.py`. Values are of the C types f32, f64, i32, i64 and u8 (TensorFlow's bool). Ints wrap around as torch's:
they are added as unsigned numbers, whose overflow C defines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.graph.step_graph import Node
from penstock.tensor.dtypes import DType, bool as bool_dtype, float32, float64, int32, int64

C_TYPES: dict[DType, str] = {float32: "f32", float64: "f64", int32: "i32", int64: "i64", bool_dtype: "u8"}
_UNSIGNED = {"i32": "u32", "i64": "u64"}

BROADCAST = "broadcast"
SAME = "same"
BIAS = "bias"
SELECT = "select"
"""How the shape of a result comes about: inputs are broadcast; are all of one shape; the second is a vector of the
first's last dimension; the condition of a Select is a scalar or of the shape of the others."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One element of an op's result. `weight`: its cost, an addition being 1 and a copy 0."""

    text: str
    ctype: str
    shape: str
    weight: int
    alone: bool = False
    """Whether it is worth a cluster by itself: torch's kernel takes three times as long."""


Rule = Callable[[Node], Expression | None]


def express(node: Node) -> Expression | None:
    """The expression of `node`, None if its op, its types or its attributes have none."""
    rule = _RULES.get(node.op.name)
    if rule is None or len(node.dtypes) != 1:
        return None
    if any(dtype not in C_TYPES for dtype in (*(e.dtype for e in node.inputs), *node.dtypes)):
        return None
    return rule(node)


def is_supported_op(name: str) -> bool:
    return name in _RULES


def supported_ops() -> list[str]:
    """The names of the ops that have an expression for some types."""
    return list(_RULES)


def literal(value: np.ndarray, ctype: str) -> str:
    """A scalar constant as C text, exact to the bit (but for the payload of NaNs)."""
    if ctype == "u8":
        return str(int(value))
    if ctype in _UNSIGNED:
        return f"({ctype})({int(value) + 2**63}ULL - 9223372036854775808ULL)" if value < 0 else f"({ctype}){value}LL"
    number = float(value)
    if number != number:
        return f"NAN_{ctype}"
    if number in (np.inf, -np.inf):
        return f"({'-' if number < 0 else ''}INF_{ctype})"
    return f"({number.hex()}{'f' if ctype == 'f32' else ''})"


# --- the table ------------------------------------------------------------------------------------------


def _rule(
    floats: str = "", ints: str = "", bools: str = "", shape: str = BROADCAST, weight: int = 1, alone: bool = False
) -> Rule:
    """A rule that chooses by the type of the first input; `@` is that type, `#` its unsigned twin."""

    def rule(node: Node) -> Expression | None:
        source = C_TYPES[node.inputs[0].dtype]
        text = floats if source in ("f32", "f64") else ints if source in _UNSIGNED else bools
        if not text:
            return None
        text = text.replace("@", source).replace("#", _UNSIGNED.get(source, source))
        return Expression(text, C_TYPES[node.dtypes[0]], shape, weight, alone)

    return rule


def _arithmetic(operator: str) -> Rule:
    return _rule(f"{{0}} {operator} {{1}}", f"(@)((#){{0}} {operator} (#){{1}})")


def _comparison(operator: str, bools: bool = False) -> Rule:
    text = f"{{0}} {operator} {{1}}"
    return _rule(text, text, text if bools else "")


def _equality(operator: str) -> Rule:
    compare = _comparison(operator, bools=True)

    def rule(node: Node) -> Expression | None:
        return compare(node) if node.attrs["incompatible_shape_error"] else None

    return rule


def _add_n(node: Node) -> Expression | None:
    """The sum from left to right, as the kernel's."""
    ctype = C_TYPES[node.dtypes[0]]
    if ctype == "u8":
        return None
    unsigned = _UNSIGNED.get(ctype, ctype)
    text = " + ".join(f"({unsigned}){{{i}}}" for i in range(len(node.inputs)))
    return Expression(f"({ctype})({text})", ctype, SAME, len(node.inputs) - 1)


def _select(shape: str) -> Rule:
    def rule(node: Node) -> Expression | None:
        return Expression("{0} ? {1} : {2}", C_TYPES[node.dtypes[0]], shape, 1, alone=True)

    return rule


def _cast(node: Node) -> Expression | None:
    source, target = C_TYPES[node.attrs["SrcT"]], C_TYPES[node.attrs["DstT"]]
    if node.attrs["Truncate"] and (source, target) == ("f64", "f32"):
        return None
    return Expression("{0} != 0" if target == "u8" else f"({target}){{0}}", target, BROADCAST, int(source != target))


_POWERS = {-1.0: "1 / {0}", 1.0: "{0}", 2.0: "{0} * {0}", 3.0: "{0} * {0} * {0}"}


def _pow(node: Node) -> Expression | None:
    """Powers by constants that are a product or a quotient; those of roots differ in signs of zero and infinity."""
    exponent, base = node.inputs[1].node, node.inputs[0]
    if not exponent.is_constant or exponent.attrs["value"].ndim or base.dtype not in (float32, float64):
        return None
    text = _POWERS.get(float(exponent.attrs["value"]))
    return Expression(text, C_TYPES[base.dtype], BROADCAST, 1) if text else None


def _by_constant(floats: str, ints: str) -> Rule:
    """Integer division, by constants that no quotient fails for: it would end the process."""
    others = _rule(floats)

    def rule(node: Node) -> Expression | None:
        divisor, ctype = node.inputs[1].node, C_TYPES[node.dtypes[0]]
        if ctype not in _UNSIGNED:
            return others(node)
        if not divisor.is_constant or np.isin(divisor.attrs["value"], (0, -1)).any():
            return None
        return Expression(ints, ctype, BROADCAST, 4)

    return rule


def _bias_add(node: Node) -> Expression | None:
    if node.attrs.get("data_format") == b"NCHW":
        return None
    return _rule("{0} + {1}", "(@)((#){0} + (#){1})", shape=BIAS)(node)


def _leaky(text: str, shape: str) -> Rule:
    def rule(node: Node) -> Expression | None:
        ctype = C_TYPES[node.dtypes[0]]
        alpha = literal(np.array(node.attrs["alpha"], node.dtypes[0].as_numpy_dtype), ctype)
        return Expression(text.replace("$", alpha), ctype, shape, 1)

    return rule


_WRONG_SIGN = "{0} % {1} != 0 & ({0} < 0) != ({1} < 0)"
"""Where a quotient that is rounded towards zero is not the floor."""
_COPY = _rule("{0}", "{0}", "{0}", weight=0)
_SELU = 1.0507009873554804934193349852946
_SELU_ALPHA = 1.7580993408473768599402175208123
_FUNCTION = 8
"""The weight of an exponential, about."""

_RULES: dict[str, Rule] = {
    "Identity": _COPY,
    "StopGradient": _COPY,
    "PreventGradient": _COPY,
    "Snapshot": _COPY,
    "Cast": _cast,
    # arithmetic
    "Add": _arithmetic("+"),
    "AddV2": _arithmetic("+"),
    "Sub": _arithmetic("-"),
    "Mul": _arithmetic("*"),
    "RealDiv": _rule("{0} / {1}"),
    "Div": _rule("{0} / {1}"),
    "DivNoNan": _rule("{1} == 0 ? 0 : {0} / {1}"),
    "FloorDiv": _by_constant("floor_@({0} / {1})", f"{{0}} / {{1}} - ({_WRONG_SIGN})"),
    "FloorMod": _by_constant("", f"{{0}} % {{1}} + (({_WRONG_SIGN}) ? {{1}} : 0)"),
    "TruncateDiv": _rule("trunc_@({0} / {1})"),
    "SquaredDifference": _rule("({0} - {1}) * ({0} - {1})", "(@)(((#){0} - (#){1}) * ((#){0} - (#){1}))"),
    "Maximum": _rule("maximum_@({0}, {1})", "{0} > {1} ? {0} : {1}"),
    "Minimum": _rule("minimum_@({0}, {1})", "{0} < {1} ? {0} : {1}"),
    "Pow": _pow,
    "AddN": _add_n,
    "AccumulateNV2": _add_n,
    "BiasAdd": _bias_add,
    "BiasAddV1": _bias_add,
    # of one input
    "Neg": _rule("-{0}", "(@)(0 - (#){0})"),
    "Abs": _rule("abs_@({0})", "{0} < 0 ? (@)(0 - (#){0}) : {0}"),
    "Square": _rule("{0} * {0}", "(@)((#){0} * (#){0})"),
    "Sign": _rule("sign_@({0})", "(@)(({0} > 0) - ({0} < 0))"),
    "Sqrt": _rule("sqrt_@({0})", weight=2),
    "Rsqrt": _rule("1 / sqrt_@({0})", weight=2),
    "Reciprocal": _rule("1 / {0}"),
    "Inv": _rule("1 / {0}"),
    "Floor": _rule("floor_@({0})"),
    "Ceil": _rule("ceil_@({0})"),
    "Round": _rule("rint_@({0})", "{0}"),
    "Rint": _rule("rint_@({0})"),
    "IsNan": _rule("{0} != {0}"),
    "IsInf": _rule("abs_@({0}) == INF_@"),
    "IsFinite": _rule("abs_@({0}) < INF_@"),
    "ZerosLike": _rule("0", "0", "0", weight=0),
    "OnesLike": _rule("1", "1", "1", weight=0),
    "Exp": _rule("exp_@({0})", weight=_FUNCTION),
    "Expm1": _rule("expm1_@({0})", weight=_FUNCTION),
    "Log": _rule("log_@({0})", weight=_FUNCTION),
    "Log1p": _rule("log1p_@({0})", weight=_FUNCTION),
    "Tanh": _rule("tanh_@({0})", weight=_FUNCTION, alone=True),
    "Sigmoid": _rule("sigmoid_@({0})", weight=_FUNCTION),
    "Relu": _rule("{0} < 0 ? 0 : {0}", "{0} < 0 ? 0 : {0}"),
    "Relu6": _rule("{0} < 0 ? 0 : {0} > 6 ? 6 : {0}", "{0} < 0 ? 0 : {0} > 6 ? 6 : {0}"),
    "LeakyRelu": _leaky("{0} > 0 ? {0} : {0} * $", BROADCAST),
    "Elu": _rule("elu_@({0})", weight=_FUNCTION),
    "Selu": _rule(f"(@){_SELU} * ({{0}} > 0 ? {{0}} : (@){_SELU_ALPHA / _SELU} * expm1_@({{0}}))", weight=_FUNCTION),
    "Softplus": _rule("softplus_@({0})", weight=2 * _FUNCTION),
    "Softsign": _rule("{0} / (abs_@({0}) + 1)"),
    # gradients
    "TanhGrad": _rule("{1} * (1 - {0} * {0})", shape=SAME),
    "SigmoidGrad": _rule("{1} * (1 - {0}) * {0}", shape=SAME),
    "SqrtGrad": _rule("{1} / {0} * (@)0.5", shape=SAME),
    "RsqrtGrad": _rule("{0} * {0} * {0} * {1} * (@)-0.5", shape=SAME),
    "ReciprocalGrad": _rule("-({0} * {0} * {1})", shape=SAME),
    "InvGrad": _rule("-({0} * {0} * {1})", shape=SAME),
    # As TensorFlow's product with (features > 0): an infinite gradient gives NaN where that is 0.
    "ReluGrad": _rule("{1} > 0 ? {0} : {0} * 0", "{1} > 0 ? {0} : 0", shape=SAME),
    "Relu6Grad": _rule("{1} > 0 & {1} < 6 ? {0} : 0", "{1} > 0 & {1} < 6 ? {0} : 0", shape=SAME),
    "LeakyReluGrad": _leaky("{1} > 0 ? {0} : {0} * $", SAME),
    "EluGrad": _rule("{1} > 0 ? {0} : {0} * ({1} + 1)", shape=SAME),
    "SeluGrad": _rule(f"({{1}} < 0 ? {{1}} + (@){_SELU_ALPHA} : (@){_SELU}) * {{0}}", shape=SAME),
    "SoftplusGrad": _rule("sigmoid_@({1}) * {0}", shape=SAME, weight=_FUNCTION),
    "SoftsignGrad": _rule("{0} / ((abs_@({1}) + 1) * (abs_@({1}) + 1))", shape=SAME),
    # comparisons, logic, choosing
    "Less": _comparison("<"),
    "LessEqual": _comparison("<="),
    "Greater": _comparison(">"),
    "GreaterEqual": _comparison(">="),
    "Equal": _equality("=="),
    "NotEqual": _equality("!="),
    "LogicalAnd": _rule(bools="{0} & {1}"),
    "LogicalOr": _rule(bools="{0} | {1}"),
    "LogicalNot": _rule(bools="!{0}"),
    "Select": _select(SELECT),
    "SelectV2": _select(BROADCAST),
}
