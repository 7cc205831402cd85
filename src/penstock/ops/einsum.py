"""Sums of products by index names, and products over chosen axes (TF: tf.einsum, tf.tensordot)."""

from __future__ import annotations

import functools
import math
import string
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import more_nodes, name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.elementwise import COMPLEX, FLOATS, INTEGERS, conjugate, sum_to
from penstock.ops.matrix import trace
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int32
from penstock.tensor.shapes import TensorShape, broadcast_shape

EINSUM = define_op("Einsum", "inputs: N * T", "output: T", attrs=["equation: string", "N: int >= 1", "T: type"])


@functools.lru_cache(512)
def parse(equation: str, count: int) -> tuple[list[str], str]:
    """The subscripts of each input, and of the output. Raises ValueError for an invalid equation."""
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    found = inputs.split(",")
    if not arrow:  # letters that appear once are kept, in alphabetical order
        names = inputs.replace(",", "").replace("...", "")
        output = ("..." if "..." in inputs else "") + "".join(sorted(n for n in set(names) if names.count(n) == 1))
    if len(found) != count:
        raise ValueError(f"einsum {equation!r} has {len(found)} subscripts for {count} inputs")
    for part in (*found, output):
        if not all(c in string.ascii_letters for c in part.replace("...", "")) or part.count("...") > 1:
            raise ValueError(f"einsum {equation!r}: {part!r} is not made of letters and at most one '...'")
    unknown = set(output.replace("...", "")) - set("".join(found))
    if unknown or len(set(output.replace("...", ""))) < len(output.replace("...", "")):
        raise ValueError(
            f"einsum {equation!r}: the output has {output!r}, which must be distinct letters of the inputs"
        )
    return found, output


def _axes(subscript: str, rank: int, equation: str) -> tuple[list[str], int]:
    """A name for each dimension, "" for those of the ellipsis, and their number."""
    letters = subscript.replace("...", "")
    hidden = rank - len(letters)
    if hidden < 0 or (hidden and "..." not in subscript):
        raise ValueError(f"einsum {equation!r}: {subscript!r} names {len(letters)} dimensions of one of rank {rank}")
    if "..." not in subscript:
        return list(letters), 0
    before = subscript.index("...")
    return [*letters[:before], *[""] * hidden, *letters[before:]], hidden


@EINSUM.flops
def einsum_flops(node: Any, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> float:
    """The cost of one product over all letters; several successive products do not cost more."""
    equation = node.attrs["equation"].decode()
    subscripts, output = parse(equation, len(inputs))
    sizes: dict[str, int] = {}
    for subscript, shape in zip(subscripts, inputs, strict=True):
        if len(shape) >= len(subscript.replace("...", "")):  # otherwise its rank is not known
            sizes |= zip(_axes(subscript, len(shape), equation)[0], shape, strict=True)
    summed = math.prod(size for name, size in sizes.items() if name and name not in output)
    return 2.0 * math.prod(outputs[0]) * summed


@EINSUM.shape
def einsum_shape(c: ShapeContext, inputs: list[TensorShape]) -> TensorShape:
    equation = c.attrs["equation"].decode()
    subscripts, output = parse(equation, len(inputs))
    sizes: dict[str, Any] = {}
    hidden = TensorShape([])
    for subscript, shape in zip(subscripts, inputs, strict=True):
        if shape.ndims is None:
            return TensorShape(None) if "..." in output else _partly(subscripts, output, inputs, equation)
        names, _ = _axes(subscript, shape.ndims, equation)
        rest = []
        for name, dim in zip(names, shape.tuple, strict=True):
            if not name:
                rest.append(dim)
            elif sizes.get(name) is None:
                sizes[name] = dim
            elif dim is not None and dim != sizes[name] and 1 not in (dim, sizes[name]):
                raise ValueError(f"einsum {equation!r}: dimension {name!r} is {sizes[name]} and {dim}")
        hidden = broadcast_shape(hidden, TensorShape(rest))
    before, _, after = output.partition("...")
    shape = TensorShape([sizes[n] for n in before])
    return shape.concatenate(hidden if "..." in output else []).concatenate([sizes[n] for n in after])


def _partly(subscripts: list[str], output: str, inputs: list[TensorShape], equation: str) -> TensorShape:
    """The output's shape if the ranks of some inputs are unknown."""
    sizes: dict[str, Any] = {}
    for subscript, shape in zip(subscripts, inputs, strict=True):
        if shape.ndims is not None:
            for name, dim in zip(_axes(subscript, shape.ndims, equation)[0], shape.tuple, strict=True):
                if name and sizes.get(name) is None:
                    sizes[name] = dim
    return TensorShape([sizes.get(n) for n in output])


@EINSUM.kernel("CPU", T=f"{FLOATS} {COMPLEX} {INTEGERS}")
@EINSUM.kernel("GPU", T=f"{FLOATS} {COMPLEX}")
def einsum_kernel(ctx: KernelContext) -> Kernel:
    equation = ctx.text("equation").replace(" ", "")
    subscripts, output = parse(equation, ctx["N"])
    text = f"{','.join(subscripts)}->{output}"

    def einsum(inputs: list[torch.Tensor]) -> torch.Tensor:
        try:
            found = torch.einsum(text, inputs)
        except RuntimeError as error:
            shapes = ", ".join(str(list(x.shape)) for x in inputs)
            raise errors.InvalidArgumentError(None, None, f"einsum {equation!r} of {shapes}: {error}") from None
        shared = any(torch._C._is_alias_of(found, x) for x in inputs)  # type: ignore[attr-defined]
        return found.clone() if shared else found

    return einsum


@EINSUM.gradient
def einsum_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    equation = op.attrs["equation"].decode()
    subscripts, output = parse(equation, len(op.inputs))
    free = [c for c in string.ascii_letters if c not in equation]
    ranks = [x.shape.ndims for x in op.inputs]
    if any("..." in s and rank is None for s, rank in zip(subscripts, ranks, strict=True)):
        raise NotImplementedError("The gradient of einsum with '...' needs to know the ranks of its inputs.")
    # Dimensions of ellipses get new letters, aligned at the end.
    lengths = [0 if r is None else r - len(s.replace("...", "")) for s, r in zip(subscripts, ranks, strict=True)]
    most = max(lengths, default=0)
    named = [s.replace("...", "".join(free[most - k : most])) for s, k in zip(subscripts, lengths, strict=True)]
    out = output.replace("...", "".join(free[:most]))
    found = []
    for i, x in enumerate(op.inputs):
        others = [conjugate(y) for j, y in enumerate(op.inputs) if j != i]
        rest = [s for j, s in enumerate(named) if j != i]
        found.append(_by_input(grad, out, x, named[i], others, rest))
    return found


def _by_input(grad: Tensor, out: str, x: Tensor, mine: str, others: list[Tensor], rest: list[str]) -> Tensor:
    once = "".join(dict.fromkeys(mine))
    there = [n for n in once if n in out or any(n in s for s in rest)]
    equation = f"{','.join([out, *rest])}->{''.join(there)}"
    result = EINSUM([grad, *others], equation=equation)
    expand, mul = get_op("ExpandDims"), get_op("Mul")
    for place, name in enumerate(once):  # dimensions of x alone were summed over
        if name not in there:
            result = expand(result, place)
    for place, name in enumerate(mine):  # only the diagonal of a dimension named twice counts
        if name in mine[:place]:
            first = mine.index(name)
            result = expand(result, place)
            side = get_op("Shape")(x)[first]
            eye = get_op("MatrixDiag")(get_op("Fill")(get_op("Pack")([side]), convert_to_tensor(1, dtype=x.dtype)))
            repeated = sum(n in mine[:k] for k, n in enumerate(mine[: place + 1]))
            dims: list[Any] = [convert_to_tensor(1, dtype="int32")] * (len(once) + repeated)
            dims[first] = dims[place] = side
            result = mul(result, get_op("Reshape")(eye, get_op("Pack")(dims)))
    if x.shape.is_fully_defined() and result.shape.is_fully_defined() and x.shape == result.shape:
        return result
    shape = get_op("Shape")(x)
    if any(name not in there for name in once):
        one = get_op("Fill")(shape, convert_to_tensor(1, dtype=x.dtype))
        result = mul(result, one)
    return sum_to(result, x)


@export("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """The sum of products given by `equation`, e.g. "ij,jk->ik" (TF: tf.einsum).

    Letters name dimensions, "..." leading ones that broadcast; dimensions that are not named after the arrow are summed
    over. More than two inputs are multiplied in pairs from the left. An equation of one input, without an arrow, that
    reads the same backwards and names a dimension twice ("ii", "ijji") is `trace`, over the last two dimensions, as in
    TensorFlow 1.15 and unlike NumPy. Raises ValueError for an invalid equation.
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(kwargs))}")
    if not inputs:
        raise ValueError("einsum needs an input")
    with name_scope(name, "einsum", list(inputs)) as scope:
        if len(inputs) == 1 and _is_trace(equation):
            return trace(inputs[0], name=scope)
        tensors = [convert_to_tensor(x) for x in inputs]
        subscripts, output = parse(equation, len(tensors))
        while len(tensors) > 2:
            needed = set("".join([*subscripts[2:], output]))
            joined = subscripts[0] + subscripts[1]
            kept = "".join(n for n in dict.fromkeys(joined.replace("...", "")) if n in needed)
            kept = ("..." if "..." in joined else "") + kept
            first = EINSUM(tensors[:2], equation=f"{subscripts[0]},{subscripts[1]}->{kept}")
            tensors, subscripts = [first, *tensors[2:]], [kept, *subscripts[2:]]
        return EINSUM(tensors, equation=f"{','.join(subscripts)}->{output}", name=scope)


def _is_trace(equation: str) -> bool:
    text = equation.replace(" ", "")
    return text.isalpha() and text == text[::-1] and any(text.count(name) == 2 for name in text)


# --- tensordot ------------------------------------------------------------------------------------------


@export("tensordot", "linalg.tensordot")
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The product of `a` and `b` summed over axes: the last n of `a` and the first n of `b` for an int n, or
    [axes of a, axes of b]. The result has the other dimensions of `a`, then those of `b`. TF: tf.tensordot."""
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        first, second = _chosen(axes, a, b)
        left, left_dims, left_static = _as_matrix(a, first, last=True)
        right, right_dims, right_static = _as_matrix(b, second, last=False)
        product = get_op("MatMul")(left, right)
        more_nodes(_more_of_sides(left, right, left_static, right_static))
        if left_static is None or right_static is None:
            return get_op("Reshape")(product, get_op("ConcatV2")([left_dims, right_dims], 0), name=scope)
        static = [*left_static, *right_static]
        if None not in static:
            return get_op("Reshape")(product, np.array(static, np.int32), name=scope)
        found = get_op("Reshape")(product, get_op("ConcatV2")([left_dims, right_dims], 0), name=scope)
        found.set_shape(static)
        return found


def _more_of_sides(left: Tensor, right: Tensor, left_static: Any, right_static: Any) -> int:
    """How many more nodes TensorFlow makes: it always transposes, and joins shapes that are not all known."""
    if left_static is None or right_static is None:
        return 0
    sides = [side.op._inputs for side in (left, right)]
    turned = sum(turned.op.type == "Transpose" for turned, _ in sides)
    computed = sum(to.op.type != "Const" for _, to in sides)
    return 2 * (2 - turned) + computed + (computed > 0 and None not in [*left_static, *right_static])


def _chosen(axes: Any, a: Tensor, b: Tensor) -> tuple[Any, Any]:
    """The axes of both to sum over: lists, or vectors if they are only known in the step."""
    known = constant_value(axes) if isinstance(axes, Tensor) else axes
    if known is None:
        axes = get_op("Cast")(axes, DstT=int32)
        return axes[0], axes[1]
    if isinstance(known, int | np.integer) or (isinstance(known, np.ndarray) and not known.ndim):
        count, ranks = int(known), [x.shape.ndims for x in (a, b) if x.shape.ndims is not None]
        if count < 0 or any(count > rank for rank in ranks):
            raise ValueError(f"'axes' must be between 0 and the ranks of the tensors, not {count}.")
        if a.shape.ndims is not None:
            return list(range(a.shape.ndims - count, a.shape.ndims)), list(range(count))
        rank = get_op("Rank")(a)
        return get_op("Range")(rank - count, rank, 1), list(range(count))
    pair = list(known)
    if len(pair) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    first, second = ([int(x)] if np.ndim(x) == 0 else [int(v) for v in x] for x in pair)
    if len(first) != len(second):
        raise ValueError(f"Different number of contraction axes 'a' and 'b', {len(first)} != {len(second)}.")
    return first, second


def _as_matrix(x: Tensor, axes: Any, last: bool) -> tuple[Tensor, Any, Any]:
    """The tensor as a matrix whose columns (or rows) run over `axes`; the other dimensions, as tensors and
    statically."""
    rank = x.shape.ndims
    if rank is None or isinstance(axes, Tensor):
        return _as_matrix_of_any_rank(x, axes, last)
    axes = [axis + rank if axis < 0 else axis for axis in axes]
    if any(not 0 <= axis < rank for axis in axes):
        raise ValueError(f"tensordot: axes {axes} of a tensor of rank {rank}")
    others = [i for i in range(rank) if i not in axes]
    order = [*others, *axes] if last else [*axes, *others]
    turned = x if order == list(range(rank)) else get_op("Transpose")(x, order)
    static = [x.shape.as_list()[i] for i in others]
    inner = [x.shape.as_list()[i] for i in axes]
    sizes_now = [d for d in (*static, *inner) if d is not None]
    if len(sizes_now) == rank:
        rows, columns = math.prod(sizes_now[: len(static)]), math.prod(sizes_now[len(static) :])
        shape: Any = [rows, columns] if last else [columns, rows]
        return get_op("Reshape")(turned, np.array(shape, np.int32)), np.array(static, np.int32), static
    matrix, other_dims = _reshaped(x, turned, np.array(others, np.int32), np.array(axes, np.int32), last)
    return matrix, other_dims, static


def _as_matrix_of_any_rank(x: Tensor, axes: Any, last: bool) -> tuple[Tensor, Any, None]:
    rank = get_op("Rank")(x)
    axes = get_op("Reshape")(convert_to_tensor(axes, dtype=int32), [-1])
    axes = get_op("SelectV2")(get_op("Less")(axes, 0), axes + rank, axes)
    others, _ = get_op("ListDiff")(get_op("Range")(0, rank, 1), axes)
    turned = get_op("Transpose")(x, get_op("ConcatV2")([others, axes] if last else [axes, others], 0))
    matrix, other_dims = _reshaped(x, turned, others, axes, last)
    return matrix, other_dims, None


def _reshaped(x: Tensor, turned: Tensor, others: Any, axes: Any, last: bool) -> tuple[Tensor, Tensor]:
    dims = get_op("Shape")(x)
    gather, prod, pack = get_op("GatherV2"), get_op("Prod"), get_op("Pack")
    other_dims = gather(dims, others, 0)
    sizes = [prod(other_dims, [0]), prod(gather(dims, axes, 0), [0])]
    return get_op("Reshape")(turned, pack(sizes if last else sizes[::-1])), other_dims
