"""What fills a table: tensors, or the lines of a file (TF: tf.lookup.KeyValueTensorInitializer, …)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.functions import init_scope
from penstock.graph.operation import Operation
from penstock.graph.scopes import GraphKeys, add_to_collection, name_scope
from penstock.ops.lookup_initialization import (
    INITIALIZE_TABLE_FROM_TEXT_FILE_V2,
    INITIALIZE_TABLE_V2,
    LINE_NUMBER,
    WHOLE_LINE,
)
from penstock.tensor.dtypes import DType, as_dtype, int64, string


@export("contrib.lookup.TableInitializerBase")
class TableInitializerBase:
    """What fills a table: `initialize` returns the operation that does (TF: tf.contrib.lookup.TableInitializerBase)."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = as_dtype(key_dtype).base_dtype
        self._value_dtype = as_dtype(value_dtype).base_dtype

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        return self._value_dtype

    def initialize(self, table: Any) -> Operation:
        raise NotImplementedError("Calling an abstract method.")


@export("lookup.KeyValueTensorInitializer", "contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table with `keys` and `values`, two vectors of the same length (TF:
    tf.lookup.KeyValueTensorInitializer)."""

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        with init_scope(), name_scope(name, "key_value_init", [keys, values]) as scope:
            self._keys = convert_to_tensor(keys, key_dtype, name="keys")
            self._values = convert_to_tensor(values, value_dtype, name="values")
            self._scope = scope
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Operation:
        """The operation that fills `table`; `tf.tables_initializer` runs it."""
        with name_scope(self._scope, "key_value_init", [table.resource_handle]) as scope:
            op = INITIALIZE_TABLE_V2(table.resource_handle, self._keys, self._values, name=scope)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        return op


@export("lookup.TextFileIndex", "contrib.lookup.TextFileIndex")
class TextFileIndex:
    """What to take from a line instead of a column: all of it, or its number (from 0)."""

    WHOLE_LINE = WHOLE_LINE
    LINE_NUMBER = LINE_NUMBER


@export("lookup.TextFileInitializer", "contrib.lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Fills a table from the lines of a file (TF: tf.lookup.TextFileInitializer).

    Keys and values are columns separated by `delimiter`, or given by a TextFileIndex. If `vocab_size` is given, only
    that many lines are read: raises InvalidArgumentError if the file has fewer. `value_index_offset` is added to
    numbers of lines.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if isinstance(filename, str) and not filename:
            raise ValueError("Filename required")
        for what, dtype, index in (
            ("key", as_dtype(key_dtype), key_index),
            ("value", as_dtype(value_dtype), value_index),
        ):
            if index < WHOLE_LINE:
                raise ValueError(f"Invalid {what} index {index}.")
            if index == LINE_NUMBER and dtype != int64:
                raise ValueError(f"Signature mismatch. {what.title()}s must be dtype int64, got {dtype.name}.")
            if index == WHOLE_LINE and dtype != string and not dtype.is_integer:
                raise ValueError(f"Signature mismatch. {what.title()}s must be string or integer, got {dtype.name}.")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename = filename
        super().__init__(key_dtype, value_dtype)
        self._columns = key_index, value_index
        self._vocab_size = -1 if vocab_size is None else vocab_size
        self._delimiter = delimiter
        self._name = name
        self._offset = value_index_offset

    def initialize(self, table: Any) -> Operation:
        """The operation that fills `table`; `tf.tables_initializer` runs it."""
        with name_scope(self._name, "text_file_init", [table.resource_handle]) as scope:
            filename = convert_to_tensor(self._filename, string, name="asset_filepath")
            filename.shape.assert_has_rank(0)
            op = INITIALIZE_TABLE_FROM_TEXT_FILE_V2(
                table.resource_handle,
                filename,
                key_index=self._columns[0],
                value_index=self._columns[1],
                vocab_size=self._vocab_size,
                delimiter=self._delimiter,
                offset=self._offset,
                name=scope,
            )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        if filename.op.op_def.traits.constant:  # a fed file name is not an asset of the program
            add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return op


@export("contrib.lookup.TextFileStringTableInitializer")
class TextFileStringTableInitializer(TextFileInitializer):
    """Line numbers (int64) to lines (TF: the same, in tf.contrib.lookup)."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = LINE_NUMBER,
        value_column_index: int = WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ) -> None:
        super().__init__(filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter, name)


@export("contrib.lookup.TextFileIdTableInitializer")
class TextFileIdTableInitializer(TextFileInitializer):
    """Lines to line numbers (int64) (TF: the same, in tf.contrib.lookup)."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = WHOLE_LINE,
        value_column_index: int = LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: Any = string,
    ) -> None:
        super().__init__(filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter, name)
