# Written by `python -m penstock.api.generate`.
from penstock.ops.audio import decode_wav as decode_wav
from penstock.ops.audio import encode_wav as encode_wav

__all__ = [
    "decode_wav", "encode_wav"
]
