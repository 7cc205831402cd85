"""What programs import from inside TensorFlow: `tensorflow.python.ops.array_ops`, `tensorflow.python.client.timeline`.

Most of it is public too, and is taken from there (`inner/paths.py`); timelines and devices have no public names.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, NamedTuple

from penstock.api.old_paths import add_module, names_of
from penstock.devices.device import HOST_PREFIX
from penstock.inner.paths import AUTOGRAPH, GENERATED, KERAS_INNER, OTHER_NAMES, PUBLIC
from penstock.session.session import Session
from penstock.session.step_timeline import StepTimeline

__path__: list[str] = []  # the modules below are submodules


class LocalDevice(NamedTuple):
    """A device, with the fields of TensorFlow's message DeviceAttributes."""

    name: str
    device_type: str
    memory_limit: int
    incarnation: int
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[LocalDevice]:
    """The devices of this process (TF: tensorflow.python.client.device_lib)."""
    with Session(config=session_config) as session:
        return [
            LocalDevice(
                device.name.removeprefix(HOST_PREFIX), device.device_type, device.memory_limit_bytes, device.incarnation
            )
            for device in session.list_devices()
        ]


add_module(f"{__name__}.client.timeline", Timeline=StepTimeline)
add_module(f"{__name__}.client.device_lib", list_local_devices=list_local_devices)

_ELSEWHERE = {
    **{f"autograph.{path}": "penstock.inner.autograph" for path in AUTOGRAPH.split()},
    "debug": "penstock.debug",
    "debug.lib.debug_data": "penstock.debug",
    "debug.lib.debug_utils": "penstock.debug",
    "debug.wrappers.dumping_wrapper": "penstock.debug",
    "debug.wrappers.framework": "penstock.debug",
    "debug.wrappers.hooks": "penstock.debug",
    "debug.wrappers.local_cli_wrapper": "penstock.debug",
    "estimator.util": "penstock.inner.functions",
    "client.session": "penstock.session.conversions",
    "eager.context": "penstock.inner.functions",
    "data.ops.dataset_ops": "penstock.data",
    "data.util.nest": "penstock.nest",
    "framework.composite_tensor": "penstock.inner.composite_tensor",
    "framework.function": "penstock.client.defun",
    "framework.graph_io": "penstock.train",
    "framework.graph_util_impl": "penstock.graph_util",
    "estimator.canned.optimizers": "",
    "framework.op_def_registry": "",
    "framework.ops": "penstock.inner.functions penstock.tensor.messages",
    "framework.type_spec": "penstock.inner.composite_tensor",
    "framework.tensor_shape": "penstock.tensor.shapes",
    **dict.fromkeys(
        ("keras.utils.conv_utils", "keras.utils.generic_utils", "keras.utils.layer_utils", "keras.utils.np_utils"),
        "penstock.keras.utils.inner",
    ),
    "keras.backend_config": "penstock.keras.backend",
    "keras.utils.data_utils": "penstock.keras.utils.files",
    "keras.engine": "penstock.keras.engine.network penstock.keras.engine.input_spec",
    "keras.engine.network": "penstock.keras.engine.network",
    "keras.engine.topology": "penstock.keras.engine.network penstock.keras.engine.node",
    "keras.engine.base_layer": "penstock.keras.engine.node",
    "keras.callbacks": "penstock.keras.callbacks.base",
    "keras.optimizers": "penstock.keras.optimizers.base",
    "framework.dtypes": "penstock.tensor.dtypes",
    "framework.smart_cond": "penstock.contrib.framework",
    "layers.utils": "penstock.inner.layer_arguments penstock.contrib.framework.choices penstock.contrib.layers.utils",
    "keras.utils.losses_utils": "penstock.keras.losses.inner",
    "keras.utils.tf_utils": "penstock.inner.keras_utils",
    "lib.io.file_io": "penstock.inner.file_io",
    "lib.io.tf_record": "penstock.python_io",
    "ops.custom_gradient": "penstock",
    "ops.metrics": "penstock.metrics",
    "ops.metrics_impl": "penstock.metrics",
    "tf2": "penstock.inner.functions",
    "ops.confusion_matrix": "penstock.ops.confusion_matrix",
    "ops.control_flow_ops": "penstock.inner.functions penstock.ops.basic",
    "ops.partitioned_variables": "penstock.client.partitioners",
    "ops.control_flow_util": "penstock.inner.control_flow_util",
    "ops.inplace_ops": "penstock.inner.functions penstock.inner.gen_ops",
    "ops.io_ops": "penstock.inner.gen_ops",
    "ops.linalg.linear_operator_addition": "",
    "ops.weights_broadcast_ops": "penstock.metrics.base",
    "ops.lookup_ops": "penstock.client.lookup_tables",
    "ops.nccl_ops": "penstock.contrib.nccl",
    "ops.rnn": "penstock.python.ops",
    "ops.resource_variable_ops": "penstock.client.resource_variable penstock.inner.functions penstock.inner.gen_ops",
    "ops.resources": "penstock.inner.functions",
    "ops.state_ops": "penstock.inner.functions",
    "ops.variables": "penstock.client.partitioned_variable",
    "pywrap_tensorflow": "penstock.inner.events_writer",
    "tools.inspect_checkpoint": "penstock.checkpoint.inspect",
    "tools.optimize_for_inference_lib": "penstock.graph.inference_graph",
    "tools.strip_unused_lib": "penstock.graph.strip_unused",
    "training.device_setter": "penstock.train.device_setter",
    "training.monitored_session": "penstock.training_loop.wrapped_sessions penstock.training_loop.monitored_session",
    "training.evaluation": "penstock.training_loop.evaluation penstock.contrib.training",
    "training.slot_creator": "penstock.train.slot_creator",
    "training.gen_training_ops": "penstock.inner.gen_ops",
    "training.training_ops": "penstock.inner.gen_ops",
    "util.all_util": "penstock.inner.functions",
    "util.tf_contextlib": "contextlib",
    "util.tf_decorator": "penstock.inner.functions",
    "util.tf_export": "penstock.inner.functions",
    "util.deprecation": "penstock.inner.deprecation penstock.contrib.framework.checks",
    "util.lazy_loader": "penstock.inner.functions",
    "util.function_utils": "penstock.inner.functions",
    "util.tf_inspect": "penstock.inner.functions inspect",
    **{f"ops.gen_{name}_ops": "penstock.inner.gen_ops" for name in GENERATED.split()},
    "tools.freeze_graph": "penstock.saved_model.freeze_graph",
    **dict.fromkeys(("tpu.bfloat16", "tpu.topology"), "penstock.estimator.on_tpus"),
}
"""The inner modules of which programs use what is not public, and where that is; nowhere for what they import for
nothing."""

_COLUMNS = {
    "categorical": (
        "HashedCategoricalColumn IdentityCategoricalColumn VocabularyFileCategoricalColumn "
        "VocabularyListCategoricalColumn WeightedCategoricalColumn"
    ),
    "base": "CategoricalColumn DenseColumn FeatureColumn",
    "crossed": "CrossedColumn",
    "dense": "EmbeddingColumn IndicatorColumn SharedEmbeddingColumn",
    "numeric": "BucketizedColumn NumericColumn",
    "sequence_ids": "SequenceCategoricalColumn",
    "sequences": "SequenceNumericColumn",
}
"""Classes of columns: `_NumericColumn` in TensorFlow's feature_column, `NumericColumn` in its feature_column_v2."""

_RENAMED = {
    **{
        f"feature_column.{path}{name}": f"penstock.feature_column.{module}.{name}"
        for module, names in _COLUMNS.items()
        for name in names.split()
        for path in ("feature_column._", "feature_column_lib.", "feature_column_v2.")
    },
    "estimator.estimator._load_global_step_from_checkpoint_dir": "penstock.train.checkpoint_utils.saved_global_step",
    "estimator.canned.head._Head": "penstock.estimator.canned.head_base.HeadBase",
    "estimator.canned.head.LossSpec": "penstock.estimator.canned.head_base.LossSpec",
    "estimator.canned.optimizers.get_optimizer_instance": "penstock.estimator.canned.model.optimizer_of",
    **{
        f"estimator.canned.head._{name}": f"penstock.estimator.canned.inner_heads.{head}"
        for name, head in {
            "binary_logistic_head_with_sigmoid_cross_entropy_loss": "binary_head",
            "binary_logistic_or_multi_class_head": "binary_or_multi_class_head",
            "multi_class_head_with_softmax_cross_entropy_loss": "softmax_head",
            "regression_head": "squares_head",
            "regression_head_with_mean_squared_error_loss": "squares_head",
        }.items()
    },
    **{
        f"{module}.{name}": f"penstock.{public}"
        for module, names in OTHER_NAMES.items()
        for name, _, public in (pair.partition("=") for pair in names.split())
    },
    "util.compat.collections_abc": "collections.abc",
    "keras.engine.topology.Container": "penstock.keras.Model",
    **{
        f"data.ops.dataset_ops.get_legacy_output_{n}": f"penstock.data.get_output_{n}"
        for n in ("classes", "shapes", "types")
    },
    "distribute.collective_all_reduce_strategy.CollectiveAllReduceStrategy": (
        "penstock.distribute.experimental.MultiWorkerMirroredStrategy"
    ),
    "distribute.distribute_lib.get_distribution_strategy": "penstock.distribute.get_strategy",
    "distribute.distribute_lib.has_distribution_strategy": "penstock.distribute.has_strategy",
    "framework.common_shapes.call_cpp_shape_fn": "penstock.inner.functions.known_shapes",
    "framework.common_shapes.unknown_shape": "penstock.inner.functions.unknown_shapes",
    "framework.test_util.TensorFlowTestCase": "penstock.test.TestCase",
    "framework.ops.register_proto_function": "penstock.train.collection_protos.register_proto_function",
    "framework.ops._colocate_with": "penstock.colocate_with",
    "framework.tensor_util.MakeNdarray": "penstock.make_ndarray",
    "framework.tensor_util.TensorShapeProtoToList": "penstock.inner.functions.sizes_in_message",
    "framework.tensor_util.constant_value_as_shape": "penstock.graph.constants.constant_value_as_shape",
    "layers.base._Layer": "penstock.layers.Layer",
    "data.ops.dataset_ops.DatasetV2": "penstock.data.Dataset",
    "ops.array_ops.shape_internal": "penstock.shape",
    "ops.init_ops._compute_fans": "penstock.client.initializers.fans",
    "ops.init_ops._assert_float_dtype": "penstock.inner.functions.assert_float_dtype",
    "ops.metrics_impl._confusion_matrix_at_thresholds": "penstock.metrics.thresholds.confusion_matrix_at_thresholds",
    "ops.metrics_impl._streaming_confusion_matrix": "penstock.metrics.means.streaming_confusion_matrix",
    "ops.metrics_impl.metric_variable": "penstock.metrics.base.metric_variable",
    "ops.nn_ops.Convolution": "penstock.inner.convolution.Convolution",
    "ops.nn_ops.nth_element": "penstock.contrib.nn.nth_element",
    "ops.nn_ops._get_noise_shape": "penstock.ops.nn.dropout.as_noise_shape",
    "ops.rnn_cell_impl.LayerRNNCell": "penstock.rnn_cell.RNNCell",
    "ops.rnn._best_effort_input_batch_size": "penstock.contrib.rnn.best_effort_input_batch_size",
    "ops.rnn._concat": "penstock.inner.functions.concat_shapes",
    "ops.rnn._transpose_batch_time": "penstock.contrib.rnn.transpose_batch_time",
    "ops.rnn_cell_impl._BIAS_VARIABLE_NAME": "penstock.inner.functions.CELL_BIAS",
    "ops.rnn_cell_impl._WEIGHTS_VARIABLE_NAME": "penstock.inner.functions.CELL_WEIGHTS",
    "ops.rnn_cell_impl._concat": "penstock.inner.functions.concat_shapes",
    "platform.benchmark.TensorFlowBenchmark": "penstock.test.Benchmark",
    "training.evaluation._StopAfterNEvalsHook": "penstock.contrib.training.StopAfterNEvalsHook",
    "training.evaluation._evaluate_once": "penstock.contrib.training.evaluate_once",
    "training.evaluation._get_or_create_eval_step": "penstock.contrib.training.get_or_create_eval_step",
    "saved_model.load.load": "penstock.saved_model.load_v2",
    "ops.summary_ops_v2.all_v2_summary_ops": "penstock.summary.all_v2_summary_ops",
    "ops.variable_scope._VARSCOPE_KEY": "penstock.client.variable_scope.OPEN_KEY",
    "ops.variable_scope._pure_variable_scope": "penstock.client.variable_scope.pure_variable_scope",
    "ops.variable_scope.variable": "penstock.Variable",
}
"""Names that are different here."""


class InnerModule(ModuleType):
    """Has the public names of some namespaces, and loads them on first access."""

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__.removeprefix(f'{__name__}.')}.{name}"
        elsewhere, _, other = _RENAMED.get(path, "").rpartition(".")
        if not elsewhere and name.endswith(("V1", "_v1")):  # TextLineDatasetV1 is public as TextLineDataset
            other = name[:-2].removesuffix("_")
        for source in [elsewhere] if elsewhere else vars(self)["_sources"]:
            try:
                value = getattr(importlib.import_module(source), other or name)
            except (AttributeError, ImportError):
                continue
            vars(self)[name] = value
            return value
        raise AttributeError(f"Penstock has no {name!r} in {self.__name__.replace('penstock', 'tensorflow', 1)}")

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *names_of(map(importlib.import_module, vars(self)["_sources"]))})


def _add_inner_modules() -> None:
    sources: dict[str, list[str]] = {}
    for namespace, paths in PUBLIC.items():
        for path in paths.split():
            sources.setdefault(path, []).append(f"penstock.{namespace}".rstrip("."))
    for namespace, paths in KERAS_INNER.items():
        for path in paths.split():
            sources.setdefault(f"keras.{path}", []).append(f"penstock.keras{namespace}")
    for path, modules in _ELSEWHERE.items():
        sources.setdefault(path, []).extend(modules.split())
    for name in GENERATED.split():  # these modules have the names of the generated ones as well
        sources.setdefault(f"ops.{name}_ops", []).append("penstock.inner.gen_ops")
    for path, found in sources.items():
        module = add_module(f"{__name__}.{path}")
        module.__class__ = InnerModule
        vars(module)["_sources"] = found


_add_inner_modules()


def __getattr__(name: str) -> Any:
    """tensorflow.python has the names of tensorflow itself, too."""
    found = None if name.startswith("_") else getattr(importlib.import_module("penstock"), name, None)
    if found is None:
        raise AttributeError(f"Penstock has no {name!r} in tensorflow.python")
    return found
