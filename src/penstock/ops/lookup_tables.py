"""Tables from keys to values that outlast a step (TF: HashTableV2, MutableHashTableV2, MutableDenseHashTableV2, …).

Each op exists twice: with a resource as its handle, and, as in early versions, with a reference. Ops that use tables
are in lookup.py and lookup_initialization.py.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.graph import shape_rules
from penstock.graph.opdef import Bound, Kernel, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime
from penstock.tensor.dtypes import DType, int64, string
from penstock.tensor.shapes import TensorShape

Shape = tuple[int, ...]


class LookupTable:
    """A table in a container. One that is not `mutable` has no entries (None) until it is initialised, once.

    Keys and values are Python objects, or tuples of them if `key_shape` or `value_shape` is not (). `reserved` are keys
    that must not be used.
    """

    __slots__ = (
        "entries",
        "key_dtype",
        "key_shape",
        "lock",
        "mutable",
        "name",
        "reserved",
        "value_dtype",
        "value_shape",
    )

    def __init__(
        self,
        name: str,
        key_dtype: DType,
        value_dtype: DType,
        mutable: bool,
        value_shape: Shape = (),
        key_shape: Shape = (),
        reserved: Iterable[Any] = (),
    ) -> None:
        self.name = name
        self.key_dtype, self.key_shape = key_dtype, key_shape
        self.value_dtype, self.value_shape = value_dtype, value_shape
        self.mutable = mutable
        self.reserved = frozenset(reserved)
        self.entries: dict[Any, Any] | None = {} if mutable else None
        self.lock = threading.RLock()

    def clear(self) -> None:
        self.entries = {} if self.mutable else None

    def size(self) -> int:
        return len(self.entries or ())

    def read(self) -> dict[Any, Any]:
        """The entries; raises FailedPreconditionError if they are not initialised yet."""
        if self.entries is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"Table not initialized: {self.name}. Run its initializer first, e.g. "
                "sess.run(tf.tables_initializer()).",
            )
        return self.entries

    def change(self) -> dict[Any, Any]:
        """The entries, for writing; raises UnimplementedError unless the table is mutable."""
        if not self.mutable:
            raise errors.UnimplementedError(None, None, f"Table {self.name} is not mutable: its initializer fills it")
        return self.read()

    def initialize(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Set the entries, once, or again to the same ones."""
        if self.mutable:
            raise invalid(f"Table {self.name} is mutable: it has no initializer")
        entries: dict[Any, Any] = {}
        for key, value in pairs:
            if entries.setdefault(key, value) != value:
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key: {key!r} has {entries[key]!r} and is to get {value!r} "
                    f"in table {self.name}",
                )
        with self.lock:
            if self.entries is not None and self.entries != entries:
                raise errors.FailedPreconditionError(
                    None, None, f"Table {self.name} was already initialized with different data."
                )
            self.entries = entries

    def check(self, key_dtype: DType | None, value_dtype: DType | None) -> None:
        """Raises InvalidArgumentError unless the table maps `key_dtype` to `value_dtype`, if they are given."""
        for what, asked, have in (("key", key_dtype, self.key_dtype), ("value", value_dtype, self.value_dtype)):
            if asked is not None and asked != have:
                raise invalid(f"Table {self.name} has {what} dtype {have.name}, not {asked.name}")

    # --- between tensors and entries --------------------------------------------------------------------

    def outer_shape(self, keys: Any) -> Shape:
        """The shape of a tensor of keys without the shape of a key."""
        shape, inner = tuple(keys.shape), len(self.key_shape)
        outer = shape[: len(shape) - inner]
        if outer + self.key_shape != shape:
            raise invalid(f"Table {self.name} has keys of shape {list(self.key_shape)}: got keys {list(shape)}")
        return outer

    def keys(self, keys: Any) -> list[Any]:
        """The keys of a tensor. Raises InvalidArgumentError for one that is reserved."""
        self.outer_shape(keys)
        found = elements(keys, self.key_dtype, self.key_shape)
        for key in self.reserved.intersection(found):
            raise invalid(
                f"Using the empty_key or the deleted_key as a table key is not allowed: {key!r} in keys for table "
                f"{self.name}"
            )
        return found

    def pairs(self, keys: Any, values: Any) -> list[tuple[Any, Any]]:
        """The entries in two tensors. Raises InvalidArgumentError if their shapes do not match."""
        expected = self.outer_shape(keys) + self.value_shape
        if tuple(values.shape) != expected:
            raise invalid(f"Expected shape {list(expected)} for value, got {list(values.shape)}, in table {self.name}")
        return list(zip(self.keys(keys), elements(values, self.value_dtype, self.value_shape), strict=True))


def elements(value: Any, dtype: DType, inner: Shape = ()) -> list[Any]:
    """All elements as Python objects; blocks of shape `inner`, if that is not (), as tuples."""
    array = np.asarray(from_runtime(value, dtype))
    if not inner:
        return array.reshape(-1).tolist()
    count, size = math.prod(array.shape[: array.ndim - len(inner)]), math.prod(inner)
    return [tuple(row) for row in array.reshape(count, size).tolist()]


def as_value(found: Iterable[Any], dtype: DType, outer: Shape, inner: Shape = ()) -> Any:
    """Converts the result of `elements` to a kernel's value of shape `outer + inner`."""
    flat = list(itertools.chain.from_iterable(found)) if inner else list(found)
    if dtype == int64:  # ids, mostly: NumPy takes half the time
        return torch.from_numpy(np.array(flat, np.int64).reshape(outer + inner))
    if dtype != string:
        return torch.tensor(flat, dtype=dtype.torch).reshape(outer + inner)
    array = np.empty(outer + inner, object)
    array.reshape(-1)[:] = flat
    return array


# --- ops ------------------------------------------------------------------------------------------------

_CONTAINER = ["container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false"]
_TYPES = ["key_dtype: type", "value_dtype: type"]
_VALUE_SHAPE = ["value_shape: shape = ()"]
_DENSE = ["initial_num_buckets: int = 131072", "max_load_factor: float = 0.800000011920929"]
KINDS: set[str] = set()  # the names of all ops that make a table


def _table_of(ctx: KernelContext, create: Callable[[str], LookupTable]) -> LookupTable:
    """The table of this node: private to the session, or, with a name, the one of that name in the node's container."""
    shared = ctx.text("shared_name") or (ctx.name if ctx["use_node_name_sharing"] else "")
    if not shared:
        return ctx.state.keep(("table", ctx.name), lambda: create(ctx.name))
    table = ctx.resources.lookup_or_create(ctx.text("container"), LookupTable, shared, lambda: create(shared))
    wanted = create(shared)
    table.check(wanted.key_dtype, wanted.value_dtype)
    for what in ("mutable", "value_shape", "key_shape", "reserved"):
        have, asked = getattr(table, what), getattr(wanted, what)
        if have != asked:
            raise invalid(f"Table {shared} already exists, with {what} {have}, not {asked}")
    return table


def _define_table(name: str, attrs: list[str], mutable: bool) -> None:
    for version, handle in (("", "Ref(string)"), ("V2", "resource")):
        op = define_op(
            name + version, "", f"table_handle: {handle}", attrs=[*_CONTAINER, *_TYPES, *attrs], stateful=True
        )
        op.shape(shape_rules.scalar if version else lambda c: TensorShape([2]))
        op.not_differentiable()
        KINDS.add(op.name)

        @op.kernel("CPU")
        def table_kernel(ctx: KernelContext) -> Bound:
            shape = _value_shape(ctx) if attrs else ()
            return Bound(
                _table_of(ctx, lambda name: LookupTable(name, ctx["key_dtype"], ctx["value_dtype"], mutable, shape))
            )


def _value_shape(ctx: KernelContext) -> Shape:
    shape: TensorShape = ctx["value_shape"]
    known = tuple(dim for dim in shape.tuple or () if dim is not None)
    if shape.ndims != len(known):
        raise invalid(f"value_shape must be known, got {shape}")
    return known


_define_table("HashTable", [], mutable=False)
_define_table("MutableHashTable", [], mutable=True)
_define_table("MutableHashTableOfTensors", _VALUE_SHAPE, mutable=True)


# A dictionary does not need keys that mark empty and deleted buckets, but programs must not use them.
MUTABLE_DENSE_HASH_TABLE = define_op(
    "MutableDenseHashTable",
    "empty_key: key_dtype",
    "table_handle: Ref(string)",
    attrs=[*_CONTAINER, *_TYPES, *_VALUE_SHAPE, *_DENSE],
    stateful=True,
    work=SERIAL,
)
MUTABLE_DENSE_HASH_TABLE_V2 = define_op(
    "MutableDenseHashTableV2",
    "empty_key: key_dtype, deleted_key: key_dtype",
    "table_handle: resource",
    attrs=[*_CONTAINER, *_TYPES, *_VALUE_SHAPE, *_DENSE],
    stateful=True,
    work=SERIAL,
)


def _dense_kernel(ctx: KernelContext) -> Kernel:
    shape, key_dtype, value_dtype = _value_shape(ctx), ctx["key_dtype"], ctx["value_dtype"]

    def table(*markers: Any) -> LookupTable:
        key_shape = tuple(markers[0].shape)
        keys = [elements(marker, key_dtype, key_shape)[0] for marker in markers]
        if len(set(keys)) < len(keys):
            raise invalid(f"Empty and deleted keys cannot be equal: {keys[0]!r}")
        return _table_of(ctx, lambda name: LookupTable(name, key_dtype, value_dtype, True, shape, key_shape, keys))

    return table


def _dense_shape(c: ShapeContext, *markers: TensorShape) -> TensorShape:
    for marker in markers:
        markers[0].assert_is_compatible_with(marker)
    return TensorShape([2]) if c.op.type == "MutableDenseHashTable" else TensorShape([])


for _op in (MUTABLE_DENSE_HASH_TABLE, MUTABLE_DENSE_HASH_TABLE_V2):
    _op.shape(_dense_shape)
    _op.kernel("CPU")(_dense_kernel)
    _op.not_differentiable()
    KINDS.add(_op.name)
