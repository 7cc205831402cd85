# Written by `python -m penstock.api.generate`.
from penstock.keras.preprocessing.text.words import Tokenizer as Tokenizer
from penstock.keras.preprocessing.text.words import hashing_trick as hashing_trick
from penstock.keras.preprocessing.text.words import one_hot as one_hot
from penstock.keras.preprocessing.text.words import text_to_word_sequence as text_to_word_sequence

__all__ = [
    "Tokenizer", "hashing_trick", "one_hot", "text_to_word_sequence"
]
