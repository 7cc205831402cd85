"""Ops that only passes create: several nodes of the client's graph as one kernel (paper 5.4: optimised libraries).

They are not registered, have no gradients, and exist only in steps. `passes/fuse.py` creates them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from penstock.analysis.in_place import register_in_place
from penstock.emit.products import product
from penstock.emit.registry import emits
from penstock.emit.site import Site, local
from penstock.emit.tools import loop, written
from penstock.graph.opdef import Kernel, OpDef, make_op
from penstock.ops.matrix import MATMUL
from penstock.ops.nn.conv import CONV_2D
from penstock.ops.nn.conv_kernels import forward_kernel
from penstock.ops.training_updates import hyper
from penstock.runtime.kernels import KernelContext

FUSED_TYPES = "float double"

# --- products -------------------------------------------------------------------------------------------

_TURNED = ["transpose_a: bool", "transpose_b: bool"]


def turned(ctx: KernelContext) -> tuple[Any, Any]:
    """Functions that turn the two matrices of a product into the factors of torch.mm."""
    return (torch.t if ctx["transpose_a"] else _same), (torch.t if ctx["transpose_b"] else _same)


def _same(value: torch.Tensor) -> torch.Tensor:
    return value


PRODUCT_SUM = make_op(
    "_ProductSum", "a: N * T, b: N * T", "sum: T", attrs=["N: int >= 2", "T: type", *_TURNED], launches=True
)
PRODUCT_SUM.flops_fn = lambda node, inputs, outputs: len(inputs) * MATMUL.flops_fn(node, inputs, outputs) / 2  # type: ignore[misc]


@PRODUCT_SUM.kernel(T=FUSED_TYPES)
def product_sum_kernel(ctx: KernelContext) -> Kernel:
    """The sum of products, computed as one product of the matrices concatenated along the axis summed over."""
    left, right = turned(ctx)
    a_axis, b_axis = (0 if ctx["transpose_a"] else 1), (1 if ctx["transpose_b"] else 0)

    def multiply(a: list[torch.Tensor], b: list[torch.Tensor]) -> torch.Tensor:
        if any(x.shape[a_axis] != y.shape[b_axis] for x, y in zip(a, b, strict=True)):
            raise ValueError(f"Matrix size-incompatible: {[list(x.shape) for x in a]}, {[list(y.shape) for y in b]}")
        return torch.mm(left(torch.cat(a, a_axis)), right(torch.cat(b, b_axis)))

    return multiply


ADD_PRODUCT = make_op("_AddProduct", "x: T, a: T, b: T", "sum: T", attrs=["T: type", *_TURNED], launches=True)
"""x + the product of a and b, for x of the product's shape, or for a constant zero."""
ADD_PRODUCT.flops_fn = lambda node, inputs, outputs: MATMUL.flops_fn(node, inputs[1:], outputs)  # type: ignore[misc]


def _add_product(turn_a: bool, turn_b: bool) -> Kernel:
    left, right = (torch.t if turn_a else _same), (torch.t if turn_b else _same)
    return register_in_place(
        lambda x, a, b: torch.addmm(x, left(a), right(b)),
        {0: lambda x, a, b: x.addmm_(left(a), right(b))},
    )


_ADD_PRODUCT = {(a, b): _add_product(a, b) for a in (False, True) for b in (False, True)}
ADD_PRODUCT.kernel(T=FUSED_TYPES)(lambda n: _ADD_PRODUCT[n["transpose_a"], n["transpose_b"]])

# --- means ----------------------------------------------------------------------------------------------

DIVIDE_BY_SIZE = make_op(
    "_DivideBySize", "x: T, of: S", "y: T", attrs=["T: type", "S: type", "divisor: int"], work=1.0, launches=True
)
"""x / (the number of elements of `of` // divisor): the gradient of a mean, without tensors for the count."""


@DIVIDE_BY_SIZE.kernel()
def divide_by_size_kernel(ctx: KernelContext) -> Kernel:
    divisor, dtype, device = ctx["divisor"], ctx.torch_dtype(), ctx.device
    number = torch.scalar_tensor
    return lambda x, of: torch.div(x, number(of.numel() // divisor, dtype=dtype, device=device))


# --- updates --------------------------------------------------------------------------------------------


def _descent_along_product(name: str, var: str, output: str) -> OpDef:
    op = make_op(
        name,
        f"var: {var}, alpha: T, a: T, b: T",
        output,
        attrs=["T: type", *_TURNED],
        stateful=not output,
        aliases=bool(output),
        launches=True,
    )
    op.kernel(T=FUSED_TYPES)(_descent_kernel)
    op.flops_fn = lambda node, inputs, outputs: MATMUL.flops_fn(node, inputs[2:], [inputs[0]])  # type: ignore[misc]
    return op


def _descent_kernel(ctx: KernelContext) -> Kernel:
    """var -= alpha * product, accumulated by the product itself: the gradient is never written to memory."""
    left, right = turned(ctx)
    rate = hyper(ctx, "alpha")

    def update(var: Any, alpha: Any, a: torch.Tensor, b: torch.Tensor) -> Any:
        step = rate(alpha)
        if isinstance(step, torch.Tensor):  # torch accepts only numbers as factors of a product
            var.read().addcmul_(torch.mm(left(a), right(b)), -step)
        else:
            var.read().addmm_(left(a), right(b), alpha=-step)
        return var

    return update


APPLY_PRODUCT_DESCENT = _descent_along_product("_ApplyProductDescent", "Ref(T)", "out: Ref(T)")
RESOURCE_APPLY_PRODUCT_DESCENT = _descent_along_product("_ResourceApplyProductDescent", "resource", "")

# --- convolutions ---------------------------------------------------------------------------------------

CONV_BIAS = OpDef(
    "_ConvBias",
    (*CONV_2D.inputs, replace(MATMUL.inputs[0], name="bias")),
    CONV_2D.outputs,
    CONV_2D.attrs,
    traits=CONV_2D.traits,
)
"""Conv2D and the BiasAdd of its result, with the Conv2D's attributes."""
CONV_BIAS.flops_fn = CONV_2D.flops_fn


@CONV_BIAS.kernel(T=f"{FUSED_TYPES} bfloat16")
def conv_bias_kernel(ctx: KernelContext) -> Kernel:
    return forward_kernel(ctx)


# --- in C -----------------------------------------------------------------------------------------------


@emits("_ProductSum", large=True)
def product_sum_in_c(s: Site) -> str | None:
    half = len(s.inputs) // 2
    parts = [
        product(a, b, s.outputs[0], s.node.attrs["transpose_a"], s.node.attrs["transpose_b"], add=i > 0)
        for i, (a, b) in enumerate(zip(s.inputs[:half], s.inputs[half:], strict=True))
    ]
    return None if None in parts else "\n".join(p for p in parts if p)


@emits("_AddProduct", large=True, adds=True)
def add_product_in_c(s: Site) -> str | None:
    x, a, b = s.inputs
    (to,) = s.outputs
    first = s.node.inputs[0].node
    turned = s.node.attrs["transpose_a"], s.node.attrs["transpose_b"]
    if not x.shape and first.is_constant and first.attrs["value"] == 0:
        return product(a, b, to, *turned)
    text = product(a, b, to, *turned, add=True)
    if text is None or x.shape != to.shape:
        return None
    if to.pointer == x.pointer:
        return text
    return "\n".join([f"memcpy({to.pointer}, {x.pointer}, {to.size} * sizeof({to.ctype}));", text])


@emits("_ApplyProductDescent", "_ResourceApplyProductDescent")
def apply_product_descent_in_c(s: Site) -> str | None:
    to, (_, alpha, a, b) = written(s), s.inputs
    if to is None or alpha.size != 1:
        return None
    turned = s.node.attrs["transpose_a"], s.node.attrs["transpose_b"]
    return product(a, b, to, *turned, alpha=f"-{alpha.element(0)}", add=True)


@emits("_DivideBySize")
def divide_by_size_in_c(s: Site) -> str | None:
    (x, of), (y,) = s.inputs, s.outputs
    if not x.is_float or x.shape != y.shape:
        return None
    number = f"({x.ctype}){of.size // s.node.attrs['divisor']}"
    i = local("i")
    return loop(i, x.size, f"{y.element(i)} = {x.element(i)} / {number};", vector=True)
