"""tf.contrib.tensorboard.plugins.projector: TensorBoard finds and reads what programs ask it to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format
from tensorboard.plugins.projector import projector_config_pb2

import penstock as tf


def test_the_configuration_is_written_where_tensorboard_looks_for_it(tmp_path: Path) -> None:
    projector = tf.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "embedding:0", "words.tsv"
    projector.visualize_embeddings(tf.summary.FileWriter(str(tmp_path)), config)
    written = (tmp_path / "projector_config.pbtxt").read_text()
    assert text_format.Parse(written, projector_config_pb2.ProjectorConfig()) == config


def test_a_writer_needs_a_folder() -> None:
    projector = tf.contrib.tensorboard.plugins.projector
    with pytest.raises(ValueError, match="logdir"):
        projector.visualize_embeddings("", projector.ProjectorConfig())
