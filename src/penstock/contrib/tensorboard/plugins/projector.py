"""What TensorBoard's Embedding Projector shows (TF: tf.contrib.tensorboard.plugins.projector)."""

from __future__ import annotations

import posixpath
from typing import Any

from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig, SpriteMetadata

from penstock.checkpoint.replace import write_whole

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write `config`, a ProjectorConfig, to where TensorBoard looks for it: next to the events of `summary_writer`.

    It may also be the path of that folder. The embeddings themselves are read from checkpoints: those that TensorBoard
    can read have TensorFlow's format. Raises ValueError for a writer without a folder.
    """
    folder = summary_writer if isinstance(summary_writer, str) else summary_writer.get_logdir()
    if not folder:
        raise ValueError("Summary writer must have a logdir")
    path = posixpath.join(str(folder), "projector_config.pbtxt")
    write_whole(path, text_format.MessageToString(config).encode())
