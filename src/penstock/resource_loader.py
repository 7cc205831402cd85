"""Files next to a program or in Penstock itself (TF: tf.resource_loader)."""

from __future__ import annotations

import os
import sys

from penstock import absent as _absent


def load_resource(path: str) -> bytes:
    """The content of a file of the penstock package (TF: tf.resource_loader.load_resource)."""
    with open(os.path.join(get_root_dir_with_all_resources(), path), "rb") as file:
        return file.read()


def get_root_dir_with_all_resources() -> str:
    """The directory of the penstock package (TF: tf.resource_loader.get_root_dir_with_all_resources)."""
    return os.path.dirname(os.path.abspath(__file__))


def get_data_files_path() -> str:
    """The directory of the calling file (TF: tf.resource_loader.get_data_files_path)."""
    return os.path.dirname(sys._getframe(1).f_code.co_filename)


def get_path_to_datafile(path: str) -> str:
    """`path` in the directory of the calling file (TF: tf.resource_loader.get_path_to_datafile)."""
    return os.path.join(os.path.dirname(sys._getframe(1).f_code.co_filename), path)


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """`path`: there is nothing to read ahead (TF: tf.resource_loader.readahead_file_path)."""
    return path


_absent.tell_in(__name__)
