"""Public names without a decorator: messages, dtypes, versions, and the namespaces themselves.

{namespace: {module: names}}, with "name=attribute" for those that have a different name in the module. Module names are
relative to the package.
"""

from __future__ import annotations

_DTYPES = (
    "bfloat16 bool complex64 complex128 double float16 float32 float64 half int8 int16 int32 int64 "
    "qint8 qint16 qint32 quint8 quint16 resource string uint8 uint16 uint32 uint64 variant QUANTIZED_DTYPES"
)
_CONVOLUTIONS = "conv1d conv2d conv2d_transpose conv3d conv3d_transpose convolution1d convolution2d convolution3d"

ELSEWHERE: dict[str, dict[str, str]] = {
    "penstock": {
        "penstock": (
            "app audio autograph bitwise cluster compat config contrib debugging distribute distributions dtypes "
            "errors estimator feature_column flags gfile graph_util hub image data initializers io keras layers linalg "
            "logging lookup losses manip math metrics nest nn placement profiler python python_io quantization queue "
            "ragged random raw_ops resource_loader saved_model sets signal sparse spectral strings summary sysconfig "
            "test tpu train tune user_ops version versions=version"
        ),
        "penstock.client.variable_store": "AUTO_REUSE",
        "penstock.logging": "get_logger",
        "penstock.ops.array": "newaxis",
        "penstock.tensor.dtypes": _DTYPES,
        "penstock.version": (
            "COMPILER_VERSION GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
            "GRAPH_DEF_VERSION_MIN_PRODUCER VERSION "
            "__version__=VERSION __git_version__=GIT_VERSION __compiler_version__=COMPILER_VERSION"
        ),
        "tensorboard.compat.proto.attr_value_pb2": "AttrValue NameAttrList",
        "tensorboard.compat.proto.config_pb2": (
            "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions"
        ),
        "tensorboard.compat.proto.event_pb2": "Event LogMessage SessionLog",
        "tensorboard.compat.proto.graph_pb2": "GraphDef",
        "tensorboard.compat.proto.meta_graph_pb2": "MetaGraphDef TensorInfo",
        "tensorboard.compat.proto.node_def_pb2": "NodeDef",
        "tensorboard.compat.proto.rewriter_config_pb2": "RewriterConfig",
        "tensorboard.compat.proto.summary_pb2": "HistogramProto Summary SummaryMetadata",
        "tensorboard.compat.proto.tensor_pb2": "TensorProto",
    },
    "penstock.autograph": {"penstock.autograph": "experimental"},
    "penstock.compat": {"penstock.compat": "v1 v2"},
    "penstock.config": {"penstock.config": "experimental"},
    "penstock.contrib.eager": {
        "penstock.client.compatibility": ("enable_eager_execution executing_eagerly in_eager_mode=executing_eagerly"),
        "penstock.client.custom_gradient": "custom_gradient",
        "penstock.client.resource_variable": "Variable=ResourceVariable",
        "penstock.client.template": "make_template",
        "penstock.ops.py_func": "py_func=py_function",
        "penstock.train.saver": "Saver",
    },
    "penstock.contrib.factorization": {
        "penstock.contrib.factorization.kmeans": (
            "COSINE_DISTANCE KMEANS_PLUS_PLUS_INIT RANDOM_INIT SQUARED_EUCLIDEAN_DISTANCE"
        )
    },
    "penstock.contrib.framework": {"penstock": "nest", "penstock.contrib.framework": "arg_scopes variables"},
    "penstock.contrib.keras": {
        "penstock.keras": (
            "activations applications backend callbacks constraints datasets initializers layers losses metrics "
            "models optimizers preprocessing regularizers utils wrappers"
        ),
        "penstock.keras.engine.input_layer": "Input",
        "penstock.keras.engine.model": "Model",
        "penstock.keras.engine.sequential": "Sequential",
    },
    "penstock.contrib.layers": {
        "penstock.contrib.layers": "initializers normalization optimizers regularizers summaries utils",
        "penstock.contrib.layers.convolutions": _CONVOLUTIONS,
        "penstock.contrib.layers.optimizers": "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES",
    },
    "penstock.data": {"penstock.data": "experimental"},
    "penstock.contrib.learn": {
        "penstock.contrib.learn": "datasets monitors preprocessing",
        "penstock.estimator.cluster": "TaskType",
    },
    "penstock.contrib.lookup": {"penstock.client.lookup_vocabularies": "FastHashSpec"},
    "penstock.contrib.rnn": {"penstock": "rnn_cell core_rnn_cell=rnn_cell", "penstock.rnn.linear": "_linear=linear"},
    "penstock.contrib.slim": {
        "penstock.contrib": "layers losses metrics",
        "penstock.contrib.framework": "variables",
        "penstock.contrib.layers": "initializers regularizers utils",
        "penstock.contrib.layers.convolutions": _CONVOLUTIONS,
        "penstock.contrib.layers.optimizers": "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES",
        "penstock.contrib.slim": (
            "data_decoder data_provider dataset dataset_data_provider evaluation learning model_analyzer nets "
            "parallel_reader prefetch_queue queues summaries tfexample_decoder"
        ),
        # What slim's modules import, and `import *` made names of slim: programs say slim.init_ops.zeros_initializer().
        "penstock.python.framework": "dtypes ops sparse_tensor tensor_shape",
        "penstock.python.ops": (
            "array_ops clip_ops control_flow_ops embedding_ops init_ops math_ops nn nn_ops parsing_ops random_ops "
            "sparse_ops string_ops variable_scope vs=variable_scope"
        ),
        "penstock.python.training": "moving_averages",
        "penstock.python.util": "nest",
    },
    "penstock.contrib.gan.eval": {"penstock.contrib.gan.eval.classifiers": "INCEPTION_DEFAULT_IMAGE_SIZE"},
    "penstock.contrib.tensor_forest": {"penstock.contrib.tensor_forest": "random_forest tensor_forest"},
    "penstock.dtypes": {"penstock.tensor.dtypes": _DTYPES},
    "penstock.distribute": {"penstock.distribute": "experimental"},
    "penstock.io": {"penstock.io": "gfile"},
    "penstock.rnn_cell": {
        "penstock.rnn.base": (
            "_RNNCell=RNNCell _like_rnncell=is_like_cell _zero_state_tensors=zeros_of "
            "assert_like_rnncell=assert_like_cell"
        ),
        "penstock.rnn.linear": "_linear=linear _Linear=Linear",
    },
    "penstock.estimator": {"penstock.estimator": "experimental export inputs tpu"},
    "penstock.keras": {
        "penstock.keras": (
            "activations applications backend callbacks constraints datasets estimator initializers layers losses "
            "metrics models optimizers preprocessing regularizers utils wrappers"
        ),
        "penstock.keras.engine.files": "__version__=VERSION",
    },
    "penstock.keras.applications": {
        "penstock.keras.applications": (
            "densenet imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 resnet resnet50 resnet_v2 "
            "vgg16 vgg19 xception"
        )
    },
    "penstock.keras.datasets": {
        "penstock.keras.datasets": "boston_housing cifar10 cifar100 fashion_mnist imdb mnist reuters"
    },
    "penstock.keras.optimizers": {"penstock.keras.optimizers": "schedules"},
    "penstock.keras.preprocessing": {"penstock.keras.preprocessing": "image sequence text"},
    "penstock.keras.wrappers": {"penstock.keras.wrappers": "scikit_learn"},
    "penstock.nn": {"penstock": "rnn_cell", "penstock.contrib": "seq2seq=legacy_seq2seq"},
    "penstock.profiler": {
        "penstock.profiler.messages": "AdviceProto GraphNodeProto MultiGraphNodeProto",
        "tensorboard.compat.proto.tfprof_log_pb2": "OpLogProto",
    },
    "penstock.saved_model": {
        "penstock.saved_model": (
            "builder constants loader main_op signature_constants signature_def_utils tag_constants utils"
        ),
        "penstock.saved_model.constants": (
            "ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY MAIN_OP_KEY "
            "SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY "
            "VARIABLES_FILENAME"
        ),
        "penstock.saved_model.signature_constants": (
            "CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
            "DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS "
            "REGRESS_METHOD_NAME REGRESS_OUTPUTS"
        ),
        "penstock.saved_model.tag_constants": "GPU SERVING TPU TRAINING",
    },
    "penstock.summary": {
        "tensorboard.compat.proto.event_pb2": "Event SessionLog TaggedRunMetadata",
        "tensorboard.compat.proto.summary_pb2": "Summary SummaryDescription",
    },
    "penstock.test": {"unittest": "mock"},
    "penstock.train": {
        "penstock.checkpoint.state": "CheckpointState",
        "penstock.cluster.spec": "ServerDef",
        "penstock.tensor.example_protos": (
            "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample"
        ),
        "penstock.train": "experimental queue_runner",
        "tensorboard.compat.proto.cluster_pb2": "ClusterDef JobDef",
        "tensorboard.compat.proto.saver_pb2": "SaverDef",
    },
}
