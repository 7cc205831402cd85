# Written by `python -m penstock.api.generate`.
from penstock.autograph import experimental as experimental
from penstock.inner.autograph import set_verbosity as set_verbosity

__all__ = [
    "experimental", "set_verbosity"
]
