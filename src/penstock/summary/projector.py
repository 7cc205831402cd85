"""TensorBoard's projector, with vectors from checkpoints: written to files that it can read without TensorFlow."""

from __future__ import annotations

import io
import logging
import posixpath
from typing import Any

import numpy as np
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from penstock import errors
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.replace import write_whole
from penstock.checkpoint.state import latest_checkpoint
from penstock.train.saver import after_save

_LOG = logging.getLogger(__name__)
_CONFIG = "projector_config.pbtxt"

_shown: dict[str, Any] = {}
"""By folder, what is shown of the checkpoints that are saved there."""


def show_checkpoints(folder: str, config: Any) -> None:
    """Writes `config`, a ProjectorConfig, to where TensorBoard looks for it.

    The vectors of its embeddings that have no tensor_path are those of the latest checkpoint in the folder or the one
    above it, if there is one, and of each that this process saves there from now on.
    """
    write_whole(posixpath.join(folder, _CONFIG), text_format.MessageToString(config).encode())
    if all(each.tensor_path for each in config.embeddings):
        _shown.pop(folder, None)
        return
    _shown[folder] = ProjectorConfig.FromString(config.SerializeToString())
    if _follow not in after_save:
        after_save.append(_follow)
    above = posixpath.dirname(folder)
    if found := config.model_checkpoint_path or latest_checkpoint(folder) or (above and latest_checkpoint(above)):
        _write(folder, found)


def write_vectors(folder: str, config: Any, prefix: str) -> Any:
    """Writes the tensors of the checkpoint `prefix` that `config` asks for beside it; returns the config that names
    these files, which is written, too.

    Raises NotFoundError for a tensor that the checkpoint does not have, InvalidArgumentError for one that is no matrix.
    """
    made = ProjectorConfig.FromString(config.SerializeToString())
    with CheckpointReader(prefix) as reader:
        for each in made.embeddings:
            if each.tensor_path:
                continue
            name = each.tensor_name.removesuffix(":0")
            vectors = reader.array(name)
            if vectors.ndim != 2:
                message = f"{name} of {prefix} has shape {list(vectors.shape)}: the projector shows rows of matrices"
                raise errors.InvalidArgumentError(None, None, message)
            ending, data = _as_file(vectors.astype("<f4"))
            each.tensor_path = f"projector.{name.replace('/', '.')}.{ending}"
            each.tensor_shape[:] = vectors.shape
            write_whole(posixpath.join(folder, each.tensor_path), data)
    write_whole(posixpath.join(folder, _CONFIG), text_format.MessageToString(made).encode())
    return made


def _as_file(vectors: np.ndarray) -> tuple[str, bytes]:
    """How the name of the file ends, and what is in it: the numbers' bytes, unless TensorBoard would take them for
    text, as it does if the first line is valid UTF-8."""
    data = vectors.tobytes()
    try:
        data.partition(b"\n")[0].decode()
    except UnicodeDecodeError:
        return "bytes", data
    text = io.BytesIO()
    np.savetxt(text, vectors, "%.9g", "\t")
    return "tsv", text.getvalue()


def _follow(prefix: str) -> None:
    saved_in = posixpath.dirname(prefix)
    for folder in list(_shown):
        if saved_in in (folder, posixpath.dirname(folder)):
            _write(folder, prefix)


def _write(folder: str, prefix: str) -> None:
    """Training does not end because something cannot be shown."""
    try:
        write_vectors(folder, _shown[folder], prefix)
    except errors.OpError as error:
        _LOG.warning("TensorBoard's projector will not show vectors of %s: %s", prefix, error.message)
