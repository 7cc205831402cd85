"""Tables from keys to values: words to ids, and back (TF: tf.contrib.lookup)."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.client.lookup_initializers import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TableInitializerBase as TableInitializerBase,
    TextFileIdTableInitializer as TextFileIdTableInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
    TextFileStringTableInitializer as TextFileStringTableInitializer,
)
from penstock.client.lookup_tables import (
    HashTable as HashTable,
    LookupInterface as LookupInterface,
    MutableDenseHashTable as MutableDenseHashTable,
    MutableHashTable as MutableHashTable,
)
from penstock.client.lookup_vocabularies import (
    FastHashSpec as FastHashSpec,
    HasherSpec as HasherSpec,
    IdTableWithHashBuckets as IdTableWithHashBuckets,
    StrongHashSpec as StrongHashSpec,
    index_table_from_file as index_table_from_file,
    index_table_from_tensor as index_table_from_tensor,
    index_to_string as index_to_string,
    index_to_string_table_from_file as index_to_string_table_from_file,
    index_to_string_table_from_tensor as index_to_string_table_from_tensor,
    string_to_index as string_to_index,
)

# The names of TF 1.0.
string_to_index_table_from_file = index_table_from_file
string_to_index_table_from_tensor = index_table_from_tensor

_absent.tell_in(__name__)
