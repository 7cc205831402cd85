"""C++ for TensorFlow, which Penstock cannot build against or load: errors that say what to write instead."""

from __future__ import annotations

from typing import NoReturn

from penstock import errors
from penstock.export import export

_NO_OP_LIBRARY = (
    "{path} is a library of TensorFlow kernels, which Penstock cannot run: its kernels are Python functions of torch "
    "tensors. Define the op with penstock.define_op, giving its shape, kernel and gradient, as docs/adding-an-op.md "
    "shows; a kernel may call C++ or CUDA through torch.utils.cpp_extension."
)
_NO_FILE_SYSTEM = (
    "{path} is a TensorFlow file system, which Penstock cannot load: its files go through fsspec. Install the fsspec "
    "package of the store (s3fs, gcsfs, ...), or register a class with fsspec.register_implementation."
)
_NO_HEADERS = (
    "Penstock has no C++ headers or libraries: its kernels are Python functions of torch tensors. "
    "Write an op with penstock.define_op, as docs/adding-an-op.md shows."
)

# --- building ------------------------------------------------------------------------------------------

CXX11_ABI_FLAG: int = export("CXX11_ABI_FLAG", "__cxx11_abi_flag__", "sysconfig.CXX11_ABI_FLAG")(0)
MONOLITHIC_BUILD: int = export("MONOLITHIC_BUILD", "__monolithic_build__", "sysconfig.MONOLITHIC_BUILD")(0)


def _refuse() -> NoReturn:
    raise errors.UnimplementedError(None, None, _NO_HEADERS)


@export("sysconfig.get_include")
def get_include() -> str:
    """Raises UnimplementedError: there are no headers (TF: tf.sysconfig.get_include)."""
    _refuse()


@export("sysconfig.get_lib")
def get_lib() -> str:
    """Raises UnimplementedError: there is no library (TF: tf.sysconfig.get_lib)."""
    _refuse()


@export("sysconfig.get_compile_flags")
def get_compile_flags() -> list[str]:
    """Raises UnimplementedError: there is nothing to compile against (TF: tf.sysconfig.get_compile_flags)."""
    _refuse()


@export("sysconfig.get_link_flags")
def get_link_flags() -> list[str]:
    """Raises UnimplementedError: there is nothing to link with (TF: tf.sysconfig.get_link_flags)."""
    _refuse()


# --- loading -------------------------------------------------------------------------------------------


@export("load_op_library")
def load_op_library(library_filename: str) -> NoReturn:
    """Raises UnimplementedError, which says how to write the op for Penstock (TF: tf.load_op_library)."""
    raise errors.UnimplementedError(None, None, _NO_OP_LIBRARY.format(path=library_filename))


@export("load_library")
def load_library(library_location: str) -> NoReturn:
    """Raises UnimplementedError, like `load_op_library` (TF: tf.load_library)."""
    raise errors.UnimplementedError(None, None, _NO_OP_LIBRARY.format(path=library_location))


@export("load_file_system_library")
def load_file_system_library(library_filename: str) -> NoReturn:
    """Raises UnimplementedError, which says what to use instead (TF: tf.load_file_system_library)."""
    raise errors.UnimplementedError(None, None, _NO_FILE_SYSTEM.format(path=library_filename))
