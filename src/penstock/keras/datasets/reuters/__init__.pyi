# Written by `python -m penstock.api.generate`.
from penstock.keras.datasets.texts import reuters_words as get_word_index
from penstock.keras.datasets.texts import reuters as load_data

__all__ = [
    "get_word_index", "load_data"
]
