"""SavedModel: TensorFlow's message, which holds meta graphs."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import message, message_factory, text_format
from tensorboard.compat.proto import meta_graph_pb2

from penstock import gfile
from penstock.saved_model import constants
from penstock.tensor.messages import add_message, new_file


def _build() -> Any:
    """The class, in the pool of the messages that it holds."""
    held = meta_graph_pb2.DESCRIPTOR
    file = new_file("penstock/saved_model.proto", "penstock")
    file.dependency.append(held.name)
    add_message(file, "SavedModel", "int64 saved_model_schema_version", "repeated MetaGraphDef meta_graphs")
    file.message_type[0].field[1].type_name = f".{held.package}.MetaGraphDef"
    held.pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(held.pool.FindMessageTypeByName("penstock.SavedModel"))


SavedModel: Any = _build()


def saved_model_file(export_dir: str) -> str | None:
    """The path of a SavedModel's message, binary or text; None if there is none."""
    names = constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT
    return next((path for name in names if gfile.Exists(path := os.path.join(export_dir, name))), None)


def read_saved_model(export_dir: str) -> Any:
    """The SavedModel of a folder. Raises OSError if there is none, or if it cannot be parsed."""
    path = saved_model_file(export_dir)
    if path is None:
        names = f"{{{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}"
        raise OSError(f"SavedModel file does not exist at: {export_dir}/{names}")
    with gfile.GFile(path, "rb") as file:
        data = file.read()
    try:
        if path.endswith(constants.SAVED_MODEL_FILENAME_PBTXT):
            return text_format.Parse(data.decode(), SavedModel())
        return SavedModel.FromString(data)
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None
