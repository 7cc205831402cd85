# Written by `python -m penstock.api.generate`.
from penstock.keras.preprocessing import image as image
from penstock.keras.preprocessing import sequence as sequence
from penstock.keras.preprocessing import text as text

__all__ = [
    "image", "sequence", "text"
]
