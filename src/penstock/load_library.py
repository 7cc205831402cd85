"""TensorFlow's C++ plug-ins, which Penstock cannot load: errors that say what to write instead."""

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
