"""Tensors as TensorInfo messages, and back (TF: tf.saved_model.utils)."""

from __future__ import annotations

import os
from typing import Any

from tensorboard.compat.proto import meta_graph_pb2

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.graph import Graph
from penstock.graph.operation import Tensor
from penstock.graph.scopes import get_default_graph
from penstock.saved_model import constants
from penstock.tensor.dtypes import as_dtype


@export("saved_model.build_tensor_info")
def build_tensor_info(tensor: Any) -> Any:
    """The name, dtype and shape of a tensor or sparse tensor, as a TensorInfo."""
    info = meta_graph_pb2.TensorInfo(
        dtype=as_dtype(tensor.dtype).base_dtype.as_datatype_enum, tensor_shape=tensor.get_shape().as_proto()
    )
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


@export("saved_model.get_tensor_from_tensor_info")
def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Tensor | SparseTensor:
    """The tensor that a TensorInfo names, in `graph` (the default one). Raises KeyError if it is not there."""
    graph = graph or get_default_graph()

    def tensor(name: str) -> Tensor:
        found = graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name, allow_operation=False)
        assert isinstance(found, Tensor)
        return found

    match tensor_info.WhichOneof("encoding"):
        case "name":
            return tensor(tensor_info.name)
        case "coo_sparse":
            parts = tensor_info.coo_sparse
            return SparseTensor(
                tensor(parts.indices_tensor_name),
                tensor(parts.values_tensor_name),
                tensor(parts.dense_shape_tensor_name),
            )
        case other:
            raise ValueError(f"Invalid TensorInfo.encoding: {other}")


def variables_prefix(export_dir: str) -> str:
    return os.path.join(export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)


def assets_directory(export_dir: str) -> str:
    return os.path.join(export_dir, constants.ASSETS_DIRECTORY)
