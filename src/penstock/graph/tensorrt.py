"""Graphs for TensorRT (TF: tf.contrib.tensorrt): without it, as in TensorFlow for CPUs, all of a graph stays as it is.

Facts from TensorFlow 1.15.5 for CPUs, asked: `python/compiler/tensorrt/trt_convert.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.export import export
from penstock.graph.extraction import extract_sub_graph

_MODES = ("FP32", "FP16", "INT8")


@export("contrib.tensorrt.create_inference_graph")
def create_inference_graph(
    input_graph_def: Any,
    outputs: Sequence[Any],
    max_batch_size: int = 1,
    max_workspace_size_bytes: int = 1 << 30,
    precision_mode: str = "FP32",
    minimum_segment_size: int = 3,
    is_dynamic_op: bool = False,
    maximum_cached_engines: int = 1,
    input_saved_model_dir: str | None = None,
    input_saved_model_tags: Any = None,
    output_saved_model_dir: str | None = None,
    session_config: Any = None,
) -> Any:
    """The GraphDef with what `outputs`, tensors or their names, need. Engines of TensorRT are in none of it.

    Raises ValueError for an unknown precision, NotImplementedError for a graph of a SavedModel.
    """
    if str(precision_mode).upper() not in _MODES:
        known = [*_MODES, *map(str.lower, _MODES)]
        raise ValueError(f"precision mode '{precision_mode}' is not supported.It should be one of {known}")
    if input_graph_def is None or output_saved_model_dir is not None:
        raise NotImplementedError(
            "Graphs of saved models are not converted: load one by tf.saved_model.load, and give "
            "tf.graph_util.convert_variables_to_constants of its graph as input_graph_def"
        )
    names = [each if isinstance(each, str) else each.name for each in outputs]
    return extract_sub_graph(input_graph_def, [name.partition(":")[0] for name in names])
