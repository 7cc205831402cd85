"""TensorFlow's messages under the paths that programs import them from: `tensorflow.core.framework.graph_pb2`, …"""

from __future__ import annotations

import importlib
import sys

from penstock.api.old_paths import add_module

__path__: list[str] = []  # the modules below are submodules

_MESSAGES = {
    "framework": (
        "allocation_description attr_value cost_graph full_type function graph node_def op_def resource_handle "
        "step_stats summary tensor tensor_description tensor_shape types variable versions"
    ),
    "protobuf": "cluster config debug meta_graph rewriter_config saved_object_graph saver struct verifier_config",
    "util": "event",
}

for _folder, _names in _MESSAGES.items():
    for _name in _names.split():
        _module = importlib.import_module(f"tensorboard.compat.proto.{_name}_pb2")
        add_module(f"{__name__}.{_folder}", **{f"{_name}_pb2": _module})
        sys.modules[f"{__name__}.{_folder}.{_name}_pb2"] = _module
