# Written by `python -m penstock.api.generate`.
from penstock.inner.autograph import do_not_convert as do_not_convert

__all__ = [
    "do_not_convert"
]
