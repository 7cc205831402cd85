"""Operations: their inputs, outputs and attributes; and the registries of ops, kernels and gradients.

An `OpDef` is TensorFlow's OpDef (white paper section 2) with its rules attached: shape, kernels, gradient.
Its signature is written as text, in OpDef terms::

    CONCAT = define_op("ConcatV2", "values: N * T, axis: Tidx", "output: T",
                       attrs=["N: int >= 2", "T: type", "Tidx: {int32, int64} = int32"])

Everything about an op is reached through the object that `define_op` returns; calling it adds a node.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from penstock.export import export
from penstock.graph.node_kernel import NodeKernel
from penstock.graph.op_modules import MODULE_OF_GRADIENT, MODULE_OF_OP
from penstock.graph.operators import call
from penstock.graph.traits import Traits
from penstock.tensor.dtypes import DType, dtype_from_opdef_name
from penstock.tensor.shapes import TensorShape

Kernel = Callable[..., Any]


class Bound:
    """Returned by a factory if the output is this object in every step: constants and handles of state."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class PassThrough:
    """Returned by a factory if the output is the first input, so that the node costs a step nothing."""


PASS_THROUGH = PassThrough()

KernelFactory = Callable[[Any], Kernel | NodeKernel | Bound | PassThrough | None]
"""A function from a `KernelContext` (runtime/kernels.py) to the kernel of a node."""
ShapeFn = Callable[..., Any]
GradientFn = Callable[..., Any]

NO_DEFAULT: Any = type("NoDefault", (), {"__repr__": lambda self: "NO_DEFAULT", "__slots__": ()})()

TYPE_GROUPS: dict[str, str] = {
    "numbertype": "float double int32 uint8 int16 int8 complex64 int64 qint8 quint8 qint32 bfloat16 qint16 "
    "quint16 uint16 complex128 half uint32 uint64",
    "realnumbertype": "float double int32 uint8 int16 int8 int64 bfloat16 uint16 half uint32 uint64",
    "floattype": "half bfloat16 float double",
    "indextype": "int32 int64",
}


@dataclass(frozen=True, slots=True)
class ArgDef:
    """One input or output. Exactly one of `dtype`, `type_attr` and `type_list_attr` is set."""

    name: str
    dtype: DType | None = None
    type_attr: str | None = None
    type_list_attr: str | None = None
    number_attr: str | None = None
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        return self.number_attr is not None or self.type_list_attr is not None

    def dtypes(self, attrs: dict[str, Any]) -> list[DType]:
        """The dtypes of the tensors that this argument stands for, given the node's attributes."""
        if self.type_list_attr is not None:
            found = list(attrs[self.type_list_attr])
        else:
            one = self.dtype if self.type_attr is None else attrs[self.type_attr]
            found = [one] * (attrs[self.number_attr] if self.number_attr else 1)
        return [d._as_ref for d in found] if self.is_ref else found


@dataclass(frozen=True, slots=True)
class AttrDef:
    """One attribute: `type` is TensorFlow's word for it ("int", "list(type)", "shape", …)."""

    name: str
    type: str
    default: Any = NO_DEFAULT
    allowed: tuple[Any, ...] | None = None
    minimum: int | None = None


@dataclass(frozen=True, slots=True)
class KernelDef:
    """One implementation of an op: for which devices and types, and how to make it for a node.

    `host` names inputs and outputs that live in host memory on every device (shapes, axes, strings).
    """

    devices: tuple[str, ...]
    factory: KernelFactory
    types: dict[str, frozenset[DType]]
    host: frozenset[str]

    def accepts(self, attrs: dict[str, Any]) -> bool:
        return all(attrs[name] in allowed for name, allowed in self.types.items())


@dataclass(eq=False, slots=True)
class OpDef:
    """An operation.

    `aliases`: an output may share memory with an input (a view, or the input itself). `reads`: the reference and
    resource inputs whose state the op only reads; it may write to the state of all others. `keeps`: the inputs whose
    values the op keeps after it has run (elements of a stack, for example). `traits`: see `traits.py`, which also
    derives further facts from them.
    """

    name: str
    inputs: tuple[ArgDef, ...]
    outputs: tuple[ArgDef, ...]
    attrs: dict[str, AttrDef]
    stateful: bool = False
    commutative: bool = False
    aggregate: bool = False
    allows_uninitialized_input: bool = False
    aliases: bool = False
    reads: frozenset[str] = frozenset()
    keeps: frozenset[str] = frozenset()
    doc: str = ""
    shape_fn: ShapeFn | None = None
    value_fn: Callable[..., Any] | None = None
    fold_fn: Callable[..., Any] | None = None
    flops_fn: Callable[..., float] | None = None
    puts_fn: ShapeFn | None = None
    takes_fn: ShapeFn | None = None
    traits: Traits = field(default_factory=Traits)
    derived: dict[Any, Any] = field(default_factory=dict, repr=False)
    kernels: list[KernelDef] = field(default_factory=list)

    @property
    def is_stateful(self) -> bool:
        """The field of TensorFlow's OpDef message, by which libraries tell the nodes that keep something."""
        return self.stateful

    def shape(self, fn: ShapeFn) -> ShapeFn:
        """Decorator: the shape rule, `fn(c, *input_shapes) -> TensorShape | list`. List inputs are passed as lists."""
        self.shape_fn = fn
        return fn

    def value(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the value rule of an op that computes shapes, used while the graph is built.

        `fn(op, *inputs)` takes each input as an object array of ints, with None for unknown elements (or None for an
        input about which nothing is known), and returns such an array, or None; if there are several outputs, a list.
        See `constants.py`.
        """
        self.value_fn = fn
        return fn

    def fold(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: `fn(op, *inputs)` computes arrays of any size and type that are known while the graph is built.

        For the few ops that TensorFlow's `constant_value` computes; use `value` for shape arithmetic.
        """
        self.fold_fn = fn
        return fn

    def flops(self, fn: Callable[..., float]) -> Callable[..., float]:
        """Decorator: `fn(node, inputs, outputs)` returns the multiplications and additions of a node of a step.

        `inputs` and `outputs` are shapes as tuples, with guesses for unknown sizes. Ops without such a rule count as
        element-wise: the cost model (placement/cost_model.py) counts the bytes that they read and write.
        """
        self.flops_fn = fn
        return fn

    def puts(self, fn: ShapeFn) -> ShapeFn:
        """Decorator: `fn(input_shapes)` returns the shape of an element that the op adds to a stack or TensorArray, its
        first input."""
        self.puts_fn = fn
        return fn

    def takes(self, fn: ShapeFn) -> ShapeFn:
        """Decorator: `fn(element, input_shapes)` returns the shape of the first output of an op that takes elements
        from a stack or TensorArray, its first input."""
        self.takes_fn = fn
        return fn

    def kernel(
        self, *devices: str, host: Iterable[str] = (), **types: Iterable[str | DType] | str
    ) -> Callable[[KernelFactory], KernelFactory]:
        """Decorator: a kernel factory for `devices` (by default CPU and GPU), called once per node.

        `types` restricts attributes (`T="float double"`); kernels are tried in the order of registration.
        The factory takes a `KernelContext` and returns a plain function of the input values. That function returns one
        value, or a flat tuple if the op has several outputs or a list output; if it has none, the result is ignored.
        The factory may also return a `NodeKernel`, which can do more, `Bound(value)`, PASS_THROUGH, or None for a node
        without outputs that does nothing.
        """

        def register(factory: KernelFactory) -> KernelFactory:
            restricted = {name: frozenset(_types(given)) for name, given in types.items()}
            unknown = [name for name in restricted if name not in self.attrs]
            if unknown:
                raise ValueError(f"op {self.name} has no attribute {unknown[0]!r} to restrict a kernel by")
            self.kernels.append(KernelDef(devices or ("CPU", "GPU"), factory, restricted, frozenset(host)))
            return factory

        return register

    def gradient(self, fn: GradientFn) -> GradientFn:
        """Decorator: `fn(op, *output_gradients)` returns one gradient (or None) for each input tensor."""
        register_gradient(self.name, fn)
        return fn

    def not_differentiable(self) -> None:
        """Declare that no gradient flows through this op (TensorFlow's NotDifferentiable)."""
        register_gradient(self.name, None)

    def find_kernel(self, device_type: str, attrs: dict[str, Any]) -> KernelDef | None:
        for kernel in self.kernels:
            if device_type in kernel.devices and kernel.accepts(attrs):
                return kernel
        return None

    def __call__(self, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        """Add a node to the current graph. Inputs by position or name, attributes by name or inferred.

        Returns the output tensor, a tuple if there are several (a list for a list output), or the `Operation` if there
        is none.
        """
        return call("apply_op", self, args, kwargs, name)

    def __repr__(self) -> str:
        return f"<OpDef {self.name}>"


# --- Registries -----------------------------------------------------------------------------------------

_ops: dict[str, OpDef] = {}
_gradients: dict[str, GradientFn | None] = {}


@export("define_op")
def define_op(name: str, *args: Any, **kwargs: Any) -> OpDef:
    """Register an operation and return it, ready for `@op.shape`, `@op.kernel` and `@op.gradient`.

    The arguments are those of `make_op`. Raises ValueError if the name is taken or the signature does not parse.
    """
    _import(MODULE_OF_OP.get(name))
    if name in _ops:
        raise ValueError(f"op {name} is already registered")
    op = _ops[name] = make_op(name, *args, **kwargs)
    return op


def define_alias(name: str, op: OpDef, without: Iterable[str] = ()) -> OpDef:
    """Register `op`, which must be complete, under another name as well, without those of its attributes."""
    _import(MODULE_OF_OP.get(name))
    if name in _ops:
        raise ValueError(f"op {name} is already registered")
    attrs = {key: attr for key, attr in op.attrs.items() if key not in set(without)}
    found = _ops[name] = replace(op, name=name, attrs=attrs, kernels=list(op.kernels), derived={})
    _gradients[name] = get_gradient(op.name)
    return found


def make_op(
    name: str,
    inputs: str = "",
    outputs: str = "",
    attrs: Iterable[str] = (),
    *,
    stateful: bool = False,
    commutative: bool = False,
    aggregate: bool = False,
    allows_uninitialized_input: bool = False,
    aliases: bool = False,
    reads: str = "",
    keeps: str = "",
    shape: ShapeFn | None = None,
    doc: str = "",
    **traits: Any,
) -> OpDef:
    """An operation outside the registry, which passes add to steps and clients never see. `traits`: fields of
    `Traits`."""
    parsed = {a.name: a for a in map(parse_attr, attrs)}
    return OpDef(
        name,
        tuple(parse_arg(text, parsed) for text in _split(inputs)),
        tuple(parse_arg(text, parsed) for text in _split(outputs)),
        parsed,
        stateful,
        commutative,
        aggregate,
        allows_uninitialized_input,
        aliases,
        frozenset(reads.split()),
        frozenset(keeps.split()),
        doc,
        shape,
        traits=Traits(**traits),
    )


def get_op(name: str) -> OpDef:
    """The op registered under `name`; NotImplementedError, with the nearest name, if there is none."""
    if name not in _ops:
        _import(MODULE_OF_OP.get(name))
    if name not in _ops:
        near = get_close_matches(name, {*_ops, *MODULE_OF_OP}, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise NotImplementedError(f"Op type not registered: {name!r}.{hint}")
    return _ops[name]


def has_op(name: str) -> bool:
    return name in _ops or name in MODULE_OF_OP


def registered_ops() -> dict[str, OpDef]:
    """All ops by name; imports all their modules."""
    for name in MODULE_OF_OP:
        get_op(name)
    return dict(_ops)


def register_gradient(name: str, fn: GradientFn | None) -> None:
    """Register `fn` under `name`: that of an op, or one that `Graph.gradient_override_map` maps to."""
    _import(_module_of_gradient(name))
    if name in _gradients:
        raise KeyError(f"a gradient for {name!r} is already registered")
    _gradients[name] = fn


def get_gradient(name: str) -> GradientFn | None:
    """The gradient registered under `name`, None if it is not differentiable; raises LookupError if neither."""
    if name not in _gradients:
        _import(_module_of_gradient(name))
    try:
        return _gradients[name]
    except KeyError:
        raise LookupError(f"No gradient is registered for {name!r}") from None


def _module_of_gradient(name: str) -> str | None:
    return MODULE_OF_GRADIENT.get(name) or MODULE_OF_OP.get(name)


def _import(module: str | None) -> None:
    """Import an op's module. Waits if another thread is importing it; returns at once if this thread is."""
    if module is not None:
        importlib.import_module(module)


# --- Parsing --------------------------------------------------------------------------------------------

_ARG = re.compile(r"^(\w+)\s*:\s*(?:(Ref)\((.+)\)|(.+))$")


def parse_arg(text: str, attrs: dict[str, AttrDef]) -> ArgDef:
    """Parse `x: T`, `x: float`, `x: N * T`, `x: Tlist` or `x: Ref(T)`."""
    match = _ARG.match(text.strip())
    if not match:
        raise ValueError(f"cannot parse argument {text!r}: expected 'name: type'")
    name, ref, inside, plain = match.groups()
    spec, number = (inside or plain).strip(), None
    if "*" in spec:
        number, spec = (part.strip() for part in spec.split("*"))
        if number not in attrs:
            raise ValueError(f"argument {text!r}: no attribute {number!r}")
    if spec not in attrs:
        return ArgDef(name, dtype=dtype_from_opdef_name(spec), number_attr=number, is_ref=bool(ref))
    if attrs[spec].type == "list(type)":
        return ArgDef(name, type_list_attr=spec, is_ref=bool(ref))
    return ArgDef(name, type_attr=spec, number_attr=number, is_ref=bool(ref))


_ATTR = re.compile(
    r"^(?P<name>\w+)\s*:\s*(?P<list>list\()?(?P<type>\{[^}]*\}|\w+)\)?"
    r"(?:\s*>=\s*(?P<minimum>-?\d+))?(?:\s*=\s*(?P<default>.+))?$",
    re.DOTALL,
)


def parse_attr(text: str) -> AttrDef:
    """Parse `name: type`, with `>= minimum` and `= default` if given.

    A type is int, float, bool, string, shape, tensor, type, func, `list(…)` of one, a set of dtypes
    (`{float, int32}`), a set of strings (`{'SAME', 'VALID'}`) or a name in TYPE_GROUPS.
    """
    match = _ATTR.match(text.strip())
    if not match:
        raise ValueError(f"cannot parse attribute {text!r}: expected 'name: type [>= minimum] [= default]'")
    kind, allowed = match["type"], None
    if kind in TYPE_GROUPS:
        kind, allowed = "type", tuple(_types(TYPE_GROUPS[kind]))
    elif kind.startswith("{"):
        items = [item.strip() for item in kind[1:-1].split(",")]
        if items[0][0] in "'\"":
            kind, allowed = "string", tuple(ast.literal_eval(item).encode() for item in items)
        else:
            kind, allowed = "type", tuple(_types(items))
    element = kind
    if match["list"]:
        kind = f"list({kind})"
    default = NO_DEFAULT if match["default"] is None else _default(match["default"].strip(), element, kind)
    minimum = None if match["minimum"] is None else int(match["minimum"])
    return AttrDef(match["name"], kind, default, allowed, minimum)


def _default(text: str, element: str, kind: str) -> Any:
    if kind.startswith("list("):
        items = _split(text.strip("[]"))
        return [_default(item, element, element) for item in items]
    match element:
        case "type":
            return dtype_from_opdef_name(text)
        case "shape":
            return TensorShape(None if text == "unknown" else ast.literal_eval(text))
        case "bool":
            return {"true": True, "false": False}[text.lower()]
        case "string":
            return ast.literal_eval(text).encode()
        case "float":
            return float(text)
        case "tensor":
            # Only ImageSummary has such a default, written as a dtype and a literal: "uint8 [255, 0, 0, 255]".
            import numpy as np

            dtype, _, values = text.partition(" ")
            return np.array(ast.literal_eval(values), dtype_from_opdef_name(dtype).as_numpy_dtype)
        case _:
            return ast.literal_eval(text)


def _types(given: Iterable[str | DType] | str) -> list[DType]:
    if isinstance(given, str):
        given = TYPE_GROUPS.get(given, given).replace(",", " ").split()
    return [t if isinstance(t, DType) else dtype_from_opdef_name(t) for t in given]


def _split(text: str) -> list[str]:
    """Split at commas that stand outside brackets and quotes."""
    parts = re.findall(r"(?:[^,(\[{'\"]|\([^)]*\)|\[[^\]]*\]|\{[^}]*\}|'[^']*'|\"[^\"]*\")+", text)
    return [part.strip() for part in parts if part.strip()]
