"""Tables from keys to values (TF: tf.lookup)."""

from __future__ import annotations

from types import SimpleNamespace

from penstock import absent as _absent
from penstock.client.lookup_initializers import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
from penstock.client.lookup_tables import DenseHashTable, MutableHashTable, StaticHashTable as StaticHashTable
from penstock.client.lookup_vocabularies import StaticVocabularyTable as StaticVocabularyTable

experimental = SimpleNamespace(DenseHashTable=DenseHashTable, MutableHashTable=MutableHashTable)

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]

_absent.tell_in(__name__)
