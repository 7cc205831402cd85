"""Tables from keys to values in a graph (TF: tf.lookup.StaticHashTable, tf.contrib.lookup, tf.tables_initializer)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.functions import init_scope
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.scopes import GraphKeys, add_to_collection, get_collection, name_scope
from penstock.ops.basic import group, no_op
from penstock.ops.lookup import (
    LOOKUP_TABLE_EXPORT_V2,
    LOOKUP_TABLE_FIND_V2,
    LOOKUP_TABLE_IMPORT_V2,
    LOOKUP_TABLE_INSERT_V2,
    LOOKUP_TABLE_REMOVE_V2,
    LOOKUP_TABLE_SIZE_V2,
)
from penstock.ops.lookup_tables import MUTABLE_DENSE_HASH_TABLE_V2
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape


@export("initializers.tables_initializer", "tables_initializer")
def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that initialises all existing tables (TF: tf.tables_initializer)."""
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


@export("initialize_all_tables")
def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """TF 0.x's name for `tables_initializer`."""
    return tables_initializer(name)


@export("contrib.lookup.LookupInterface")
class LookupInterface:
    """A table that maps keys of one dtype to values of another."""

    def __init__(self, key_dtype: Any, value_dtype: Any, name: str) -> None:
        self._key_dtype = as_dtype(key_dtype).base_dtype
        self._value_dtype = as_dtype(value_dtype).base_dtype
        self._name = name.split("/")[-1]

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        return self._value_dtype

    @property
    def name(self) -> str:
        return self._name

    def check_keys(self, keys: Tensor) -> None:
        """Raises TypeError unless the dtype of `keys` is the table's."""
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}.")


class _Table(LookupInterface):
    """A table with a handle. The value of missing keys is `default_value`."""

    _keys_are_scalars = True

    def __init__(self, handle: Tensor, key_dtype: Any, value_dtype: Any, default_value: Tensor) -> None:
        super().__init__(key_dtype, value_dtype, handle.op.name)
        self._handle = handle
        self._default_value = default_value

    @property
    def resource_handle(self) -> Tensor:
        return self._handle

    @property
    def table_ref(self) -> Tensor:
        """The older name of `resource_handle`."""
        return self._handle

    @property
    def default_value(self) -> Tensor:
        return self._default_value

    def size(self, name: str | None = None) -> Tensor:
        """How many entries the table has; int64."""
        with name_scope(name, f"{self.name}_Size", [self._handle]) as scope:
            return LOOKUP_TABLE_SIZE_V2(self._handle, name=scope)

    @of_ragged("elements")
    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of `keys`, with the default value for missing ones; sparse and ragged keys return such values.

        Raises TypeError if the dtype of keys is not the table's; a step that runs before the table is initialised
        raises FailedPreconditionError.
        """
        given = keys.values if isinstance(keys, SparseTensor) else convert_to_tensor(keys, name="keys")
        self.check_keys(given)
        with name_scope(name, f"{self.name}_Lookup", [self._handle, given]) as scope:
            values = LOOKUP_TABLE_FIND_V2(self._handle, given, self._default_value, name=scope)
        return SparseTensor(keys.indices, values, keys.dense_shape) if isinstance(keys, SparseTensor) else values

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and their values, in the same order."""
        with name_scope(name, f"{self.name}_Export", [self._handle]) as scope:
            return self._exported(scope)

    def _exported(self, name: str | None) -> tuple[Tensor, Tensor]:
        op = LOOKUP_TABLE_EXPORT_V2
        keys, values = op(self._handle, Tkeys=self.key_dtype, Tvalues=self.value_dtype, name=name)
        if self._keys_are_scalars:
            keys.set_shape([None])
        values.set_shape(TensorShape([None]).concatenate(self._default_value.shape))
        return keys, values


@export("contrib.lookup.HashTable")
class HashTable(_Table):
    """A table that its initializer fills and that never changes afterwards (TF: tf.contrib.lookup.HashTable).

    `initializer` is a KeyValueTensorInitializer or a TextFileInitializer. The operation that fills the table is
    `init`; `tf.tables_initializer` runs those of all tables.
    """

    def __init__(
        self, initializer: Any, default_value: Any, shared_name: str | None = None, name: str | None = None
    ) -> None:
        key, value = initializer.key_dtype, initializer.value_dtype
        with init_scope(), name_scope(name, "hash_table") as scope:
            handle = get_op("HashTableV2")(key_dtype=key, value_dtype=value, shared_name=shared_name, name=scope)
            default = convert_to_tensor(default_value, value)
            default.shape.assert_has_rank(0)
            super().__init__(handle, key, value, default)
            self._init = initializer.initialize(self)

    @property
    def init(self) -> Operation:
        return self._init

    @property
    def initializer(self) -> Operation:
        return self._init


@export("lookup.StaticHashTable")
class StaticHashTable(HashTable):
    """The same as HashTable (TF: tf.lookup.StaticHashTable)."""

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None) -> None:
        super().__init__(initializer, default_value, name=name)


class _MutableTable(_Table):
    @property
    def init(self) -> None:
        """None: there is nothing to initialise."""

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and their values, in the same order."""
        with name_scope(name, f"{self.name}_lookup_table_export_values", [self._handle]):
            return self._exported(None)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Set the values of `keys`: a value for each."""
        with name_scope(name, f"{self.name}_lookup_table_insert", [self._handle, keys, values]) as scope:
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            values = convert_to_tensor(values, self._value_dtype, name="values")
            return LOOKUP_TABLE_INSERT_V2(self._handle, keys, values, name=scope)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Remove `keys`; missing ones are ignored."""
        keys = convert_to_tensor(keys, name="keys")
        self.check_keys(keys)
        with name_scope(name, f"{self.name}_lookup_table_remove", [self._handle, keys]) as scope:
            return LOOKUP_TABLE_REMOVE_V2(self._handle, keys, name=scope)

    def _save(self) -> None:
        """Make savers save the entries, as two tensors."""
        from penstock.client.saveables import SaveableObject, SaveSpec  # savers import variables and tables

        table, name = self, self._handle.op.name
        keys, values = self.export()

        class Saveable(SaveableObject):
            def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Operation:
                return LOOKUP_TABLE_IMPORT_V2(table.resource_handle, *restored_tensors)

        specs = [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")]
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, Saveable(self._handle.op, specs, name))


@export("contrib.lookup.MutableHashTable")
class MutableHashTable(_MutableTable):
    """A table, empty at first, that steps write to (TF: tf.contrib.lookup.MutableHashTable).

    Values have the shape of `default_value`. With `checkpoint`, savers of all variables also save the entries.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        default = convert_to_tensor(default_value, value_dtype)
        shape = default.shape.as_list()
        handle = get_op("MutableHashTableOfTensorsV2" if shape else "MutableHashTableV2")(
            key_dtype=as_dtype(key_dtype),
            value_dtype=as_dtype(value_dtype),
            shared_name=shared_name,
            use_node_name_sharing=checkpoint and shared_name is None,
            name=name,
            **({"value_shape": shape} if shape else {}),
        )
        super().__init__(handle, key_dtype, value_dtype, default)
        if checkpoint:
            self._save()


@export("contrib.lookup.MutableDenseHashTable")
class MutableDenseHashTable(_MutableTable):
    """Like MutableHashTable; keys may be vectors (TF: tf.contrib.lookup.MutableDenseHashTable).

    `empty_key` and `deleted_key` may not be used as keys.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        shared_name: str | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        default = convert_to_tensor(default_value, value_dtype, name="default_value")
        empty = convert_to_tensor(empty_key, key_dtype, name="empty_key")
        self._keys_are_scalars = empty.shape.ndims == 0
        handle = MUTABLE_DENSE_HASH_TABLE_V2(
            empty,
            convert_to_tensor(deleted_key, key_dtype, name="deleted_key"),
            value_dtype=as_dtype(value_dtype),
            value_shape=default.shape,
            shared_name=shared_name,
            use_node_name_sharing=checkpoint and shared_name is None,
            initial_num_buckets=initial_num_buckets,
            name=name,
        )
        super().__init__(handle, key_dtype, value_dtype, default)
        if checkpoint:
            self._save()


class DenseHashTable(MutableDenseHashTable):
    """The same as MutableDenseHashTable (TF: tf.lookup.experimental.DenseHashTable)."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(
            key_dtype,
            value_dtype,
            default_value,
            empty_key,
            deleted_key,
            initial_num_buckets,
            name=name,
            checkpoint=checkpoint,
        )


experimental = export("lookup.experimental")(
    SimpleNamespace(DenseHashTable=DenseHashTable, MutableHashTable=MutableHashTable)
)
