# Written by `python -m penstock.api.generate`.
from penstock.client.lookup_initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from penstock.client.lookup_initializers import TableInitializerBase as TableInitializerBase
from penstock.client.lookup_initializers import TextFileIdTableInitializer as TextFileIdTableInitializer
from penstock.client.lookup_initializers import TextFileIndex as TextFileIndex
from penstock.client.lookup_initializers import TextFileInitializer as TextFileInitializer
from penstock.client.lookup_initializers import TextFileStringTableInitializer as TextFileStringTableInitializer
from penstock.client.lookup_tables import HashTable as HashTable
from penstock.client.lookup_tables import LookupInterface as LookupInterface
from penstock.client.lookup_tables import MutableDenseHashTable as MutableDenseHashTable
from penstock.client.lookup_tables import MutableHashTable as MutableHashTable
from penstock.client.lookup_vocabularies import FastHashSpec as FastHashSpec
from penstock.client.lookup_vocabularies import HasherSpec as HasherSpec
from penstock.client.lookup_vocabularies import IdTableWithHashBuckets as IdTableWithHashBuckets
from penstock.client.lookup_vocabularies import StrongHashSpec as StrongHashSpec
from penstock.client.lookup_vocabularies import index_table_from_file as index_table_from_file
from penstock.client.lookup_vocabularies import index_table_from_tensor as index_table_from_tensor
from penstock.client.lookup_vocabularies import index_to_string as index_to_string
from penstock.client.lookup_vocabularies import index_to_string_table_from_file as index_to_string_table_from_file
from penstock.client.lookup_vocabularies import index_to_string_table_from_tensor as index_to_string_table_from_tensor
from penstock.client.lookup_vocabularies import string_to_index as string_to_index
from penstock.client.lookup_vocabularies import index_table_from_file as string_to_index_table_from_file
from penstock.client.lookup_vocabularies import index_table_from_tensor as string_to_index_table_from_tensor

__all__ = [
    "KeyValueTensorInitializer", "TableInitializerBase", "TextFileIdTableInitializer", "TextFileIndex",
    "TextFileInitializer", "TextFileStringTableInitializer", "HashTable", "LookupInterface", "MutableDenseHashTable",
    "MutableHashTable", "FastHashSpec", "HasherSpec", "IdTableWithHashBuckets", "StrongHashSpec",
    "index_table_from_file", "index_table_from_tensor", "index_to_string", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor", "string_to_index", "string_to_index_table_from_file",
    "string_to_index_table_from_tensor"
]
