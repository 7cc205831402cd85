# Written by `python -m penstock.api.generate`.
from penstock.keras.preprocessing.sequence.padding import pad_sequences as pad_sequences

__all__ = [
    "pad_sequences"
]
