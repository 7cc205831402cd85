"""Information for C++ compilers: Penstock has no C++ to build against (TF: tf.sysconfig)."""

from __future__ import annotations

from typing import NoReturn

from penstock import absent as _absent, errors

__all__ = ["CXX11_ABI_FLAG", "MONOLITHIC_BUILD", "get_compile_flags", "get_include", "get_lib", "get_link_flags"]

CXX11_ABI_FLAG = 0
MONOLITHIC_BUILD = 0

_NO_HEADERS = (
    "Penstock has no C++ headers or libraries: its kernels are Python functions of torch tensors. "
    "Write an op with penstock.define_op, as docs/adding-an-op.md shows."
)


def _refuse() -> NoReturn:
    raise errors.UnimplementedError(None, None, _NO_HEADERS)


def get_include() -> str:
    """Raises UnimplementedError: there are no headers (TF: tf.sysconfig.get_include)."""
    _refuse()


def get_lib() -> str:
    """Raises UnimplementedError: there is no library (TF: tf.sysconfig.get_lib)."""
    _refuse()


def get_compile_flags() -> list[str]:
    """Raises UnimplementedError: there is nothing to compile against (TF: tf.sysconfig.get_compile_flags)."""
    _refuse()


def get_link_flags() -> list[str]:
    """Raises UnimplementedError: there is nothing to link with (TF: tf.sysconfig.get_link_flags)."""
    _refuse()


_absent.tell_in(__name__)
