# Written by `python -m penstock.api.generate`.
from penstock.client.lookup_initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from penstock.client.lookup_initializers import TextFileIndex as TextFileIndex
from penstock.client.lookup_initializers import TextFileInitializer as TextFileInitializer
from penstock.client.lookup_tables import StaticHashTable as StaticHashTable
from penstock.client.lookup_tables import experimental as experimental
from penstock.client.lookup_vocabularies import StaticVocabularyTable as StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer", "TextFileIndex", "TextFileInitializer", "StaticHashTable", "experimental",
    "StaticVocabularyTable"
]
