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

_EXAMPLE, _QUEUE_RUNNER = "penstock.tensor.example_protos", "penstock.train.queue_runner"
_CONTEXTS, _SAVED_MODEL = "penstock.train.context_protos", "penstock.saved_model.messages"
_DECLARED = {
    "example.example_pb2": (_EXAMPLE, "Example SequenceExample"),
    "example.feature_pb2": (_EXAMPLE, "BytesList FloatList Int64List Feature Features FeatureList FeatureLists"),
    "protobuf.control_flow_pb2": (_CONTEXTS, "CondContextDef WhileContextDef"),
    "protobuf.queue_runner_pb2": (_QUEUE_RUNNER, "QueueRunnerDef"),
    "protobuf.saved_model_pb2": (_SAVED_MODEL, "SavedModel"),
    "protobuf.tensorflow_server_pb2": ("penstock.cluster.spec", "ServerDef"),
}
"""Messages that no dependency has, and where they are declared."""

for _folder, _names in _MESSAGES.items():
    for _name in _names.split():
        _module = importlib.import_module(f"tensorboard.compat.proto.{_name}_pb2")
        add_module(f"{__name__}.{_folder}", **{f"{_name}_pb2": _module})
        sys.modules[f"{__name__}.{_folder}.{_name}_pb2"] = _module

for _path, (_source, _names) in _DECLARED.items():
    _from = importlib.import_module(_source)
    add_module(f"{__name__}.{_path}", **{_name: getattr(_from, _name) for _name in _names.split()})
