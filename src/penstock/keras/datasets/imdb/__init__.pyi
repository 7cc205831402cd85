# Written by `python -m penstock.api.generate`.
from penstock.keras.datasets.texts import imdb_words as get_word_index
from penstock.keras.datasets.texts import imdb as load_data

__all__ = [
    "get_word_index", "load_data"
]
