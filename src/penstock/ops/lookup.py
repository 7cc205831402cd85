"""Reading and writing tables (TF: LookupTableFindV2, LookupTableInsertV2, LookupTableExportV2, …)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.handles import maker_of
from penstock.ops.kernel_tools import invalid
from penstock.ops.lookup_tables import KINDS, LookupTable, as_value, elements
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape


def define_both(
    name: str,
    inputs: str,
    outputs: str,
    attrs: list[str],
    shape: Callable[..., Any],
    factory: Callable[[Any], Kernel],
    reads: bool = False,
    versions: str = "12",
) -> OpDef:
    """Defines an op on tables twice: its first version with a reference, and V2 with a resource, which is returned."""
    for version in versions:
        handle = "table_handle: resource" if version == "2" else "table_handle: Ref(string)"
        op = define_op(
            name + ("V2" if version == "2" else ""),
            f"{handle}, {inputs}" if inputs else handle,
            outputs,
            attrs=attrs,
            stateful=version == "2",
            reads="table_handle" if reads else "",
            work=SERIAL,
        )
        op.shape(shape)
        op.kernel("CPU")(factory)
        op.not_differentiable()
    return op


# --- reading --------------------------------------------------------------------------------------------


def _find_kernel(ctx: KernelContext) -> Kernel:
    key_dtype, value_dtype = ctx["Tin"], ctx["Tout"]

    def find(table: LookupTable, keys: Any, default: Any) -> Any:
        table.check(key_dtype, value_dtype)
        entries, wanted = table.read(), table.keys(keys)
        outer, inner = table.outer_shape(keys), table.value_shape
        if tuple(default.shape) == inner:
            (other,) = elements(default, value_dtype, inner)
            found = [entries.get(key, other) for key in wanted]
        elif table.mutable and tuple(default.shape) == outer + inner:
            others = elements(default, value_dtype, inner)
            found = [entries.get(key, other) for key, other in zip(wanted, others, strict=True)]
        else:
            raise invalid(f"Expected a default value of shape {list(inner)}, got {list(default.shape)}")
        return as_value(found, value_dtype, outer, inner)

    return find


def _find_shape(c: ShapeContext, handle: TensorShape, keys: TensorShape, default: TensorShape) -> TensorShape:
    table = maker_of(c.op._inputs[0])
    if table.type not in KINDS or keys.ndims is None:
        return UNKNOWN
    key = table.inputs[0].shape if table.inputs else TensorShape([])
    if key.ndims is None:
        return UNKNOWN
    return keys[: keys.ndims - key.ndims].concatenate(table.attrs.get("value_shape", TensorShape([])))


LOOKUP_TABLE_FIND_V2 = define_both(
    "LookupTableFind",
    "keys: Tin, default_value: Tout",
    "values: Tout",
    ["Tin: type", "Tout: type"],
    _find_shape,
    _find_kernel,
    reads=True,
)

LOOKUP_TABLE_SIZE_V2 = define_both(
    "LookupTableSize",
    "",
    "size: int64",
    [],
    shape_rules.scalar,
    lambda n: lambda table: torch.tensor(table.size()),
    reads=True,
)


def _export_kernel(ctx: KernelContext) -> Kernel:
    key_dtype, value_dtype = ctx["Tkeys"], ctx["Tvalues"]

    def export(table: LookupTable) -> tuple[Any, Any]:
        table.check(key_dtype, value_dtype)
        with table.lock:
            entries = dict(table.read())
        count = (len(entries),)
        keys = as_value(entries, key_dtype, count, table.key_shape)
        return keys, as_value(entries.values(), value_dtype, count, table.value_shape)

    return export


LOOKUP_TABLE_EXPORT_V2 = define_both(
    "LookupTableExport",
    "",
    "keys: Tkeys, values: Tvalues",
    ["Tkeys: type", "Tvalues: type"],
    shape_rules.unknown,
    _export_kernel,
    reads=True,
)

# --- writing --------------------------------------------------------------------------------------------


def _insert_kernel(ctx: KernelContext) -> Kernel:
    key_dtype, value_dtype = ctx["Tin"], ctx["Tout"]

    def insert(table: LookupTable, keys: Any, values: Any) -> None:
        table.check(key_dtype, value_dtype)
        new = table.pairs(keys, values)
        with table.lock:
            table.change().update(new)

    return insert


def _import_kernel(ctx: KernelContext) -> Kernel:
    key_dtype, value_dtype = ctx["Tin"], ctx["Tout"]

    def replace(table: LookupTable, keys: Any, values: Any) -> None:
        """Replaces all entries; an immutable table is initialised, as in graphs of later versions."""
        table.check(key_dtype, value_dtype)
        if table.reserved:  # TensorFlow exports such tables with their empty buckets, each entry as a row
            named = elements(keys.reshape(-1, *table.key_shape), key_dtype, table.key_shape)
            found = elements(values.reshape(-1, *table.value_shape), value_dtype, table.value_shape)
            new = [pair for pair in zip(named, found, strict=True) if pair[0] not in table.reserved]
        else:
            new = table.pairs(keys, values)
        if not table.mutable:
            table.initialize(new)
            return
        with table.lock:
            table.entries = dict(new)

    return replace


def _remove_kernel(ctx: KernelContext) -> Kernel:
    key_dtype = ctx["Tin"]

    def remove(table: LookupTable, keys: Any) -> None:
        table.check(key_dtype, None)
        gone = table.keys(keys)
        with table.lock:
            entries = table.change()
            for key in gone:
                entries.pop(key, None)

    return remove


_PAIRS = ("keys: Tin, values: Tout", "", ["Tin: type", "Tout: type"], shape_rules.no_outputs)
LOOKUP_TABLE_INSERT_V2 = define_both("LookupTableInsert", *_PAIRS, _insert_kernel)
LOOKUP_TABLE_IMPORT_V2 = define_both("LookupTableImport", *_PAIRS, _import_kernel)
LOOKUP_TABLE_REMOVE_V2 = define_both(
    "LookupTableRemove", "keys: Tin", "", ["Tin: type"], shape_rules.no_outputs, _remove_kernel, versions="2"
)
