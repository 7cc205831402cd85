# Written by `python -m penstock.api.generate`.
from penstock.ops.image_resampler import resampler as resampler

__all__ = [
    "resampler"
]
