"""Updates of some rows of a variable: `ref[indices] = updates`, `+= updates`, and so on.

Each exists in four forms: for references and for resources, with indices of rows (`Scatter…`) and of elements or slices
of any rank (`ScatterNd…`). For duplicate indices, updates are applied in the given order on CPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import TORCH_LACKS
from penstock.ops.resource_variables import handle_shape
from penstock.ops.row_updates import UPDATES, RowUpdate, misfit, nd_kernel, row_kernel
from penstock.ops.state import NUMBERS, is_reference, locked
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

# --- shapes ---------------------------------------------------------------------------------------------


def _check_rows(params: TensorShape, indices: TensorShape, updates: TensorShape) -> None:
    if params.ndims is None or indices.ndims is None or updates.ndims in (None, 0):
        return
    if not updates.is_compatible_with(indices.concatenate(params.with_rank_at_least(1)[1:])):
        raise ValueError(misfit(*(s.as_list() for s in (params, indices, updates))))


def check_nd(params: TensorShape, indices: TensorShape, updates: TensorShape) -> None:
    depth = None if indices.ndims is None else indices.with_rank_at_least(1).as_list()[-1]
    if depth is None or params.ndims is None or updates.ndims in (None, 0):
        return
    if depth > params.ndims:
        raise ValueError(f"indices.shape[-1] is {depth}, but the variable has {params.ndims} dimensions: {params}")
    wanted = TensorShape([*indices.as_list()[:-1], *params.as_list()[depth:]])
    if not updates.is_compatible_with(wanted):
        raise ValueError(f"updates must have the shape {wanted}, got {updates} (indices {indices}, variable {params})")


# --- definitions ----------------------------------------------------------------------------------------

REAL_NUMBERS = NUMBERS.replace("complex64 complex128", "")
_SMALL = "T: {half, bfloat16, float, double, int32, int64}"
_POLICY = "bad_indices_policy: string = ''"


def _ref_shape(check: Callable[..., None]) -> Callable[..., TensorShape]:
    def shape(c: ShapeContext, ref: TensorShape, indices: TensorShape, updates: TensorShape) -> TensorShape:
        check(ref, indices, updates)
        return ref

    return shape


def _resource_shape(check: Callable[..., None]) -> Callable[..., list[TensorShape]]:
    def shape(c: ShapeContext, ref: TensorShape, indices: TensorShape, updates: TensorShape) -> list[TensorShape]:
        check(handle_shape(c.op._inputs[0]), indices, updates)
        return []

    return shape


def _add_kernels(op: OpDef, attr: str, kind: str, make: Callable[[Any, RowUpdate], Kernel]) -> None:
    usual, unsigned = UPDATES[kind]
    allowed = op.attrs[attr].allowed
    types = {} if kind == "Update" else {attr: REAL_NUMBERS if kind in ("Min", "Max") else NUMBERS}
    op.kernel(**types)(lambda n: make(n, usual))
    if kind != "Update" and (allowed is None or len(allowed) > 6):
        op.kernel(**{attr: TORCH_LACKS})(lambda n: make(n, unsigned))
    op.not_differentiable()


def _define_ref(kind: str, types: str = "T: numbertype", nd: bool = False) -> OpDef:
    locking = "use_locking: bool = true" if kind == "Update" else "use_locking: bool = false"
    op = define_op(
        f"Scatter{'Nd' if nd else ''}{kind}",
        "ref: Ref(T), indices: Tindices, updates: T",
        "output_ref: Ref(T)",
        attrs=[types, "Tindices: indextype", locking, *([_POLICY] if nd else [])],
        aliases=True,
        work=1.0,
        part=True,
    )
    op.shape(_ref_shape(check_nd if nd else _check_rows))

    def make(ctx: KernelContext, update: RowUpdate) -> Kernel:
        kernel = nd_kernel(update, ctx.text("bad_indices_policy")) if nd else row_kernel(update)
        return locked(kernel) if ctx["use_locking"] else kernel

    _add_kernels(op, "T", kind, make)
    return op


def _define_resource(kind: str, types: str = "dtype: numbertype") -> OpDef:
    op = define_op(
        f"ResourceScatter{kind}",
        "resource: resource, indices: Tindices, updates: dtype",
        "",
        attrs=[types, "Tindices: indextype"],
        stateful=True,
        work=1.0,
        part=True,
    )
    op.shape(_resource_shape(_check_rows))
    _add_kernels(op, "dtype", kind, lambda n, update: locked(row_kernel(update)))
    return op


def _define_resource_nd(kind: str) -> OpDef:
    op = define_op(
        f"ResourceScatterNd{kind}",
        "ref: resource, indices: Tindices, updates: T",
        "",
        attrs=["T: type", "Tindices: indextype", "use_locking: bool = true", _POLICY],
        stateful=True,
        work=1.0,
        part=True,
    )
    op.shape(_resource_shape(check_nd))
    _add_kernels(op, "T", kind, lambda n, update: locked(nd_kernel(update, n.text("bad_indices_policy"))))
    return op


SCATTER_UPDATE = _define_ref("Update", "T: type")
SCATTER_ADD = _define_ref("Add")
SCATTER_SUB = _define_ref("Sub")
SCATTER_MUL = _define_ref("Mul")
SCATTER_DIV = _define_ref("Div")
SCATTER_MIN = _define_ref("Min", _SMALL)
SCATTER_MAX = _define_ref("Max", _SMALL)
SCATTER_ND_UPDATE = _define_ref("Update", "T: type", nd=True)
SCATTER_ND_ADD = _define_ref("Add", nd=True)
SCATTER_ND_SUB = _define_ref("Sub", nd=True)
SCATTER_ND_MIN = _define_ref("Min", nd=True)
SCATTER_ND_MAX = _define_ref("Max", nd=True)
RESOURCE_SCATTER_UPDATE = _define_resource("Update", "dtype: type")
RESOURCE_SCATTER_ADD = _define_resource("Add")
RESOURCE_SCATTER_SUB = _define_resource("Sub")
RESOURCE_SCATTER_MUL = _define_resource("Mul")
RESOURCE_SCATTER_DIV = _define_resource("Div")
RESOURCE_SCATTER_MIN = _define_resource("Min")
RESOURCE_SCATTER_MAX = _define_resource("Max")
RESOURCE_SCATTER_ND_UPDATE = _define_resource_nd("Update")
RESOURCE_SCATTER_ND_ADD = _define_resource_nd("Add")
RESOURCE_SCATTER_ND_SUB = _define_resource_nd("Sub")
RESOURCE_SCATTER_ND_MIN = _define_resource_nd("Min")
RESOURCE_SCATTER_ND_MAX = _define_resource_nd("Max")

# --- functions ------------------------------------------------------------------------------------------


def _scatter(
    ops: tuple[OpDef, OpDef], ref: Any, indices: Any, updates: Any, use_locking: bool, name: str | None
) -> Any:
    """The new contents of the variable: a reference for a reference variable."""
    if is_reference(ref):
        return ops[0](ref, indices, updates, use_locking=use_locking, name=name)
    attr = "T" if "T" in ops[1].attrs else "dtype"
    return ref._lazy_read(ops[1](ref.handle, indices, updates, name=name, **{attr: ref.dtype}))


@export("scatter_update")
def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """`ref[indices] = updates`: sets rows of the variable `ref` [n, ...].

    `updates` has the shape `indices.shape + ref.shape[1:]`, or is a scalar. Raises InvalidArgumentError at run time for
    an index outside [0, n). TF: tf.scatter_update.
    """
    return _scatter((SCATTER_UPDATE, RESOURCE_SCATTER_UPDATE), ref, indices, updates, use_locking, name)


@export("scatter_add")
def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """`ref[indices] += updates`; see `scatter_update`. A duplicate index adds both. TF: tf.scatter_add."""
    return _scatter((SCATTER_ADD, RESOURCE_SCATTER_ADD), ref, indices, updates, use_locking, name)


@export("scatter_sub")
def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """`ref[indices] -= updates`; see `scatter_update`. TF: tf.scatter_sub."""
    return _scatter((SCATTER_SUB, RESOURCE_SCATTER_SUB), ref, indices, updates, use_locking, name)


@export("scatter_mul")
def scatter_mul(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """`ref[indices] *= updates`; see `scatter_update`. TF: tf.scatter_mul."""
    return _scatter((SCATTER_MUL, RESOURCE_SCATTER_MUL), ref, indices, updates, use_locking, name)


@export("scatter_div")
def scatter_div(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """`ref[indices] /= updates`; see `scatter_update`. Integers round towards zero. TF: tf.scatter_div."""
    return _scatter((SCATTER_DIV, RESOURCE_SCATTER_DIV), ref, indices, updates, use_locking, name)


@export("scatter_min")
def scatter_min(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """`ref[indices] = min(ref[indices], updates)`; see `scatter_update`. TF: tf.scatter_min."""
    return _scatter((SCATTER_MIN, RESOURCE_SCATTER_MIN), ref, indices, updates, use_locking, name)


@export("scatter_max")
def scatter_max(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """`ref[indices] = max(ref[indices], updates)`; see `scatter_update`. TF: tf.scatter_max."""
    return _scatter((SCATTER_MAX, RESOURCE_SCATTER_MAX), ref, indices, updates, use_locking, name)


@export("scatter_nd_update")
def scatter_nd_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """Set elements or slices of the variable `ref`: `indices` [..., k] index its first k dimensions.

    `updates` has the shape `indices.shape[:-1] + ref.shape[k:]`. TF: tf.scatter_nd_update.
    """
    return _scatter((SCATTER_ND_UPDATE, RESOURCE_SCATTER_ND_UPDATE), ref, indices, updates, use_locking, name)


@export("batch_scatter_update")
def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Set `ref[b, indices[b, i]] = updates[b, i]` for every b, the first dimensions of `indices` [..., n].

    `updates` has the shape `indices.shape + ref.shape[indices.ndims:]`. Raises ValueError if the rank of `indices` is
    unknown. TF: tf.batch_scatter_update.
    """
    with name_scope(name, "batch_scatter_update", [indices]):
        indices = convert_to_tensor(indices, name="indices")
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("batch_scatter_update does not allow indices with unknown shape.")
        sizes = get_op("Shape")(indices, out_type=indices.dtype)
        zero, one = convert_to_tensor(0, indices.dtype), convert_to_tensor(1, indices.dtype)
        places = []
        for axis in range(rank - 1):
            along = get_op("Reshape")(
                get_op("Range")(zero, sizes[axis], one), [-1 if i == axis else 1 for i in range(rank)]
            )
            places.append(get_op("BroadcastTo")(along, sizes))
        return scatter_nd_update(ref, get_op("Pack")([*places, indices], axis=-1), updates, use_locking)


@export("scatter_nd_add")
def scatter_nd_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Add to elements or slices of `ref`; see `scatter_nd_update`. TF: tf.scatter_nd_add."""
    return _scatter((SCATTER_ND_ADD, RESOURCE_SCATTER_ND_ADD), ref, indices, updates, use_locking, name)


@export("scatter_nd_sub")
def scatter_nd_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Subtract from elements or slices of `ref`; see `scatter_nd_update`. TF: tf.scatter_nd_sub."""
    return _scatter((SCATTER_ND_SUB, RESOURCE_SCATTER_ND_SUB), ref, indices, updates, use_locking, name)
