"""The error for a name that a namespace does not have.

For a public name of TensorFlow 1.x (tf1_names.txt lists them all) it says that the name is missing here, and what to
write instead if there is something. Any other name is a mistake, or belongs to another namespace.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib import import_module, resources
from typing import NoReturn

_FEED = (
    "Make batches in Python and feed them, `session.run(train_op, feed_dict={x: batch})`; tf.read_file, "
    "tf.parse_example and tf.image.decode_image read files and records in the graph."
)
_MODEL = "Build the model with tf.layers, tf.losses and an optimizer of tf.train, and train it in a tf.Session."
_ONE_PROCESS = "A step runs in one process, on the devices that `with tf.device(...)` or tf.placement choose."
_SAVE = (
    "Save variables with tf.train.Saver, graphs with tf.train.export_meta_graph, or both in one file with "
    "tf.graph_util.convert_variables_to_constants and tf.train.write_graph."
)
_WITHOUT_CLASSES = (
    "Write the model as a function with tf.layers and tf.losses (a linear SVM: tf.layers.dense, a regularizer, and "
    "tf.losses.hinge_loss), and train it with tf.estimator.Estimator or in a tf.Session."
)
_RECURRENT = "Use tf.nn.rnn_cell.LSTMCell or GRUCell with tf.nn.dynamic_rnn, or tf.keras.layers.LSTM or GRU."
_SCORES = (
    "tf.contrib.gan.eval.classifier_score and frechet_classifier_distance take a function of images, such as a network "
    "of tf.contrib.slim.nets with restored variables."
)
_MATRICES = "Compute with matrices: tf.matrix_band_part(x, -1, 0) is a lower triangle, tf.matrix_diag a diagonal."
_GRAPHS = "There is no eager execution: build a graph, take tf.gradients, and run it in a tf.Session."

_RAGGED = (
    "tf.RaggedTensor.from_sparse makes rows of different lengths of what tf.io.VarLenFeature and tf.data give, "
    "tf.RaggedTensor.to_tensor a tensor filled up, whose rows tf.data has."
)
_SCRIPTS = "unicodedata.name says which script a character is of: call it in a tf.py_func."
_STRUCTURES = (
    "Shapes and dtypes are given one by one: to tf.placeholder, or as output_types and output_shapes of "
    "tf.data.Dataset.from_generator; tf.data.get_output_shapes and get_output_types return those of a dataset."
)
_CONFIG = (
    "Options are fields of the tf.ConfigProto that a tf.Session is given: gpu_options, allow_soft_placement, "
    "log_device_placement, intra_op_parallelism_threads, inter_op_parallelism_threads."
)
_ELSEWHERE = "`penstock export` writes a saved model for ONNX Runtime, which phones and browsers have, too."
_DRAWS = (
    "tf.set_random_seed and the seeds of ops make draws the same; tf.random.stateless_uniform and its kin draw from a "
    "seed that the step is given."
)
_BY_ITSELF = "Steps are compiled by themselves: leave it out."
_SCIPY = "Call NumPy's or SciPy's function in a tf.py_func."
_PICTURES = "Call Pillow's or OpenCV's function in a tf.py_func."
_CODE = "Graphs are built by calls: write conditions with tf.cond and loops with tf.while_loop."

_OWN_FUNCTION = "The function is one of NumPy's or Python's: call it in a tf.py_func."
_LAYERS = "tf.layers, tf.contrib.layers and tf.nn have the layers to build it from."
_READ = "tf.data.Dataset reads records, lines and what a Python function yields (Dataset.from_generator)."
_CLOUD = "Copy the data to this machine, or read it in a Python generator: tf.data.Dataset.from_generator."
_CARDINALITY = "Count the elements in the program, which repeats a dataset itself (Dataset.repeat)."
_TABLES = "tf.contrib.lookup.HashTable and the tables of files hold what datasets of keys and values would."
_OPTIONAL = "tf.errors.OutOfRangeError says in Python that there are no more elements."
_GRAPH_CHECKS = "tf.add_check_numerics_ops and tf.check_numerics check the values of a graph."
_TRACEBACKS = "Errors name the line of the program that built the node: there is nothing to filter."
_WITHOUT_V2 = "The name without its ending is there, with the arguments of TensorFlow 1."
_LINEAR_MODELS = "Minimise with tf.train.FtrlOptimizer, which has l1 and l2 terms, or tf.train.AdagradOptimizer."
_QUANTIZED = "tf.quantization.fake_quant_with_min_max_vars trains for it; frozen quantised graphs are loaded and run."
_DISTRIBUTIONS = "tf.distributions and tf.contrib.distributions have the common ones, and bijectors."
_CLEANING = "tf.contrib.graph_editor changes graphs, tf.graph_util.extract_sub_graph copies parts of them."
_NAMED_AXES = "Axes have numbers: tf.transpose, tf.einsum and tf.expand_dims move and name them."
_SERVICES = "Call the service in Python between steps, or in a tf.py_func."
_CHECKS_IN_TESTS = "tf.test.TestCase compares values; compare the text of `graph.as_graph_def()` for graphs."
_OPTIMIZERS = "tf.train has the common optimizers; a subclass of tf.train.Optimizer is a further one."
_SCORES_IN_PYTHON = "tf.metrics counts and averages over batches; scikit-learn scores what a program fetches."
_BUILT_WITH = "tf.test.is_gpu_available and tf.test.is_built_with_cuda say what there is."

INSTEAD: tuple[tuple[str, str], ...] = (
    ("tf.LMDBReader", _FEED),
    ("tf.RaggedTensorSpec tf.io.RaggedFeature tf.data.experimental.*agged*", _RAGGED),
    ("tf.strings.unicode_script", _SCRIPTS),
    ("tf.TypeSpec tf.*Spec tf.type_spec_from_value tf.data.*Spec tf.data.*Structure", _STRUCTURES),
    ("tf.data.experimental.*Structure tf.data.experimental.get_structure", _STRUCTURES),
    ("tf.config.* tf.debugging.*log_device_placement", _CONFIG),
    ("tf.autograph tf.autograph.* tf.vectorized_map", _CODE),
    ("tf.lite tf.mlir tf.quantization.experimental", _ELSEWHERE),
    ("tf.random.*", _DRAWS),
    ("tf.xla tf.contrib.compiler.* tf.mixed_precision tf.data.*Options", _BY_ITSELF),
    ("tf.linalg.logm tf.linalg.sqrtm tf.linalg.*tridiagonal* tf.linalg.experimental tf.matrix_square_root", _SCIPY),
    ("tf.math.special tf.math.sobol_sample tf.math.erfcinv tf.*fftnd tf.signal.*", _SCIPY),
    ("tf.image.*", _PICTURES),
    ("tf.saved_model.save tf.saved_model.experimental", "tf.saved_model.simple_save writes a graph and its variables."),
    ("tf.distribute.cluster_resolver", "tf.contrib.cluster_resolver has what reads addresses."),
    (
        "tf.distribute.* tf.contrib.distribute.*",
        "tf.distribute.MirroredStrategy trains on all devices, tf.train.Server in several processes.",
    ),
    ("tf.contrib.learn.*", _WITHOUT_CLASSES),
    ("tf.contrib.summary.create_db_writer", "tf.contrib.summary.create_file_writer writes files for TensorBoard."),
    ("tf.contrib.cudnn_rnn.*", _RECURRENT),
    ("tf.contrib.cluster_resolver.*", "tf.train.ClusterSpec and the environment variable TF_CONFIG name the tasks."),
    ("tf.contrib.distributions.*", _DISTRIBUTIONS),
    ("tf.contrib.image.*", _PICTURES),
    ("tf.contrib.layers.* tf.contrib.nn.* tf.contrib.slim.*", _LAYERS),
    ("tf.contrib.metrics.*", _SCORES_IN_PYTHON),
    ("tf.contrib.opt.*", _OPTIMIZERS),
    ("tf.contrib.rnn.* tf.contrib.legacy_seq2seq.*", _RECURRENT),
    ("tf.contrib.tpu.*", _ONE_PROCESS),
    ("tf.contrib.gan.estimator", "tf.contrib.gan.gan_train trains what gan_train_ops returns."),
    ("tf.contrib.gan.eval.*", _SCORES),
    ("tf.contrib.timeseries.*", "ARRegressor and models of steps (SequentialTimeSeriesModel) are there."),
    ("tf.estimator.* tf.keras.* tf.contrib.estimator.*", _MODEL),
    ("tf.train.Server", _ONE_PROCESS),
    ("tf.tpu.*", _ONE_PROCESS),
    ("tf.contrib.saved_model tf.contrib.session_bundle", _SAVE),
    ("tf.linalg.LinearOperator* tf.contrib.linalg.*", _MATRICES),
    ("tf.GradientTape tf.function tf.contrib.eager.* tf.autograph tf.enable_*", _GRAPHS),
    ("tf.contrib.optimizer_v2", "The optimizers of tf.train have the same names, and update the same variables."),
    ("tf.*_v2 tf.nn.*_v2 tf.quantization.quantize_and_dequantize_v2", _WITHOUT_V2),
    ("tf.approx_top_k tf.nn.approx_* tf.math.approx_*", "tf.nn.top_k finds the largest values, exactly."),
    ("tf.conv tf.nn.conv_transpose", "tf.nn.convolution, tf.nn.conv2d_transpose and tf.nn.conv3d_transpose are there."),
    ("tf.nn.depthwise_conv2d_backprop_filter", "It is tf.nn.depthwise_conv2d_native_backprop_filter here."),
    ("tf.nn.depthwise_conv2d_backprop_input", "It is tf.nn.depthwise_conv2d_native_backprop_input here."),
    ("tf.nn.with_space_to_batch", "tf.nn.convolution has dilations; tf.space_to_batch_nd and tf.batch_to_space_nd."),
    ("tf.nn.collapse_repeated tf.nn.ctc_unique_labels", "tf.nn.ctc_greedy_decoder and tf.nn.ctc_loss merge repeats."),
    ("tf.nn.compute_average_loss tf.nn.scale_regularization_loss", "Divide by the number of rows: tf.reduce_mean."),
    ("tf.nn.quantized_* tf.quantized_* tf.quantization.* tf.contrib.quantization", _QUANTIZED),
    ("tf.train.do_quantize_training_on_graphdef", _QUANTIZED),
    (
        "tf.tensor_scatter_nd_max tf.tensor_scatter_nd_min",
        "tf.tensor_scatter_update, with tf.maximum and tf.gather_nd.",
    ),
    ("tf.extract_volume_patches", "tf.extract_image_patches cuts pictures; tf.space_to_batch_nd cuts any axes."),
    ("tf.random_index_shuffle", "tf.random_shuffle changes the order of rows."),
    ("tf.wrap_function tf.*batch_function tf.is_symbolic_tensor tf.experimental tf.types", _GRAPHS),
    ("tf.executing_eagerly_outside_functions tf.nn.experimental tf.layers.experimental", _GRAPHS),
    ("tf.pywrap_tensorflow tf.check_pinned", "It is no public interface; tf.train.load_checkpoint reads checkpoints."),
    ("tf.CXX_VERSION tf.sysconfig.*", "Nothing is compiled with TensorFlow: tf.__version__ is the version."),
    ("tf.contrib.autograph", _CODE),
    ("tf.contrib.batching", "`penstock serve` gathers requests to batches; tf.train.batch does so in queues."),
    ("tf.contrib.bayesflow tf.contrib.statistical", _DISTRIBUTIONS),
    ("tf.contrib.bigtable tf.contrib.cloud tf.contrib.hadoop tf.contrib.kinesis", _CLOUD),
    ("tf.contrib.libsvm tf.contrib.input_pipeline tf.contrib.text tf.contrib.ffmpeg tf.contrib.proto", _READ),
    ("tf.io.decode_proto tf.io.encode_proto", _OWN_FUNCTION),
    ("tf.contrib.coder tf.contrib.nearest_neighbor tf.contrib.periodic_resample", _OWN_FUNCTION),
    ("tf.contrib.reduce_slice_ops", "tf.segment_sum and tf.unsorted_segment_sum reduce parts of tensors."),
    ("tf.contrib.checkpoint.*", "tf.train.Checkpoint saves attributes with variables: keep numbers in a tf.Variable."),
    ("tf.train.experimental.*", _SAVE),
    ("tf.contrib.constrained_optimization", "Add the constraints to the loss, with weights that a program changes."),
    ("tf.contrib.copy_graph tf.contrib.meta_graph_transform", _CLEANING),
    ("tf.contrib.decision_trees", "tf.contrib.tensor_forest grows forests."),
    ("tf.contrib.ndlstm tf.contrib.recurrent", _RECURRENT),
    ("tf.contrib.kernel_methods tf.contrib.specs tf.contrib.sparsemax", _LAYERS),
    ("tf.contrib.labeled_tensor", _NAMED_AXES),
    ("tf.contrib.linear_optimizer tf.train.sdca_*", _LINEAR_MODELS),
    ("tf.contrib.rate", "Divide tf.train.get_global_step by the time that passed, between steps."),
    ("tf.contrib.remote_fused_graph", _ELSEWHERE),
    ("tf.contrib.rpc tf.data.experimental.service", _SERVICES),
    ("tf.contrib.solvers", _SCIPY),
    ("tf.contrib.stat_summarizer", "tf.RunMetadata has the times of a step, which tf.profiler.profile adds up."),
    ("tf.contrib.testing tf.test.assert_equal_graph_def tf.test.StubOutForTesting", _CHECKS_IN_TESTS),
    ("tf.test.is_* tf.test.experimental tf.test.*disable* tf.test.with_*", _BUILT_WITH),
    ("tf.test.benchmark_config tf.test.test_src_dir_path", "tf.test.Benchmark and tf.test.get_temp_dir are there."),
    ("tf.contrib.gan.features.VBN", "tf.layers.batch_normalization normalises by batches."),
    ("tf.contrib.gan.features.*", "Clip variables after a step: tf.assign with tf.clip_by_value."),
    (
        "tf.contrib.training.batch_sequences_with_states",
        "tf.contrib.training.bucket_by_sequence_length; tf.nn.dynamic_rnn.",
    ),
    ("tf.data.*CARDINALITY tf.data.experimental.*cardinality", _CARDINALITY),
    ("tf.data.experimental.*table_from_dataset tf.data.experimental.DatasetInitializer", _TABLES),
    ("tf.data.experimental.Optional tf.data.experimental.get_next_as_optional tf.data.NumpyIterator", _OPTIONAL),
    ("tf.data.experimental.TFRecordWriter", "tf.python_io.TFRecordWriter writes records."),
    ("tf.data.experimental.parse_example_dataset", "Call tf.parse_example in Dataset.map."),
    ("tf.data.experimental.map_and_batch_*", "It is tf.data.experimental.map_and_batch here."),
    ("tf.data.experimental.Auto* tf.data.experimental.*Policy tf.data.experimental.SHARD_HINT", _BY_ITSELF),
    ("tf.data.experimental.*", _READ),
    ("tf.debugging.*traceback_filtering*", _TRACEBACKS),
    ("tf.debugging.*check_numerics tf.debugging.experimental", _GRAPH_CHECKS),
    (
        "tf.errors.raise_exception_on_not_ok_status",
        "Errors are raised by tf.Session.run itself: catch tf.errors.OpError.",
    ),
    ("tf.flags.tf_decorator tf.dtypes.experimental", "It is no public interface: leave it out."),
    ("tf.io.decode_jxl tf.io.decode_webp", _PICTURES),
    ("tf.io.gfile.*", "os.path joins paths; tf.gfile has the functions of files."),
    (
        "tf.logging.TaskLevelStatusMessage",
        "tf.logging.log and tf.logging.debug write it.",
    ),
    ("tf.saved_model.Asset tf.saved_model.SaveOptions", _SAVE),
    ("tf.saved_model.signature_def_utils.*", "The field method_name of a SignatureDef can be assigned."),
    ("tf.sparse.bincount", "tf.bincount counts the values of a sparse tensor."),
    ("tf.train.noisy_linear_cosine_decay", "tf.train.linear_cosine_decay plus tf.random_normal."),
)
"""Patterns of TensorFlow's names, the first that fits, and what to write instead."""


class NotInPenstockError(AttributeError):
    """A public name of TensorFlow 1.x that Penstock does not have. (An AttributeError, so `hasattr` returns False.)"""


@cache
def tensorflow_names() -> dict[str, frozenset[str]]:
    """TensorFlow's public names by namespace: {"tf.train": {"Saver", …}, …}."""
    names: dict[str, frozenset[str]] = {}
    entries = resources.files("penstock").joinpath("tf1_names.txt").read_text("utf-8").replace("\n  ", " ")
    for entry in entries.splitlines():
        if not entry.startswith("#"):
            namespace, _, found = entry.partition(": ")
            names[namespace] = frozenset(found.split())
    return names


def tell_in(module: str) -> None:
    """Give `module` a `__getattr__` that reports missing names. (If it were written in the module, type checkers would
    accept any name.)"""
    vars(sys.modules[module])["__getattr__"] = partial(refuse, module)


def refuse(module: str, name: str) -> NoReturn:
    """Raise the error that `module` has no attribute of that name, as its `__getattr__` does."""
    if name.startswith("__"):  # Python itself looks these up and expects a plain error
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    where = "tf.nn.rnn_cell" if module == "penstock.rnn_cell" else "tf" + module.removeprefix("penstock")
    if name in tensorflow_names().get(where, ()):
        raise NotInPenstockError(f"TensorFlow's {where}.{name} is not in Penstock yet. {_instead(f'{where}.{name}')}")
    if where.startswith("tf.python."):
        raise AttributeError(f"{where} has no {name!r} here: Penstock has few names from inside TensorFlow.")
    raise AttributeError(f"{where} has no {name!r}, here or in TensorFlow 1.x.{_meant(module, where, name)}")


def _instead(path: str) -> str:
    for patterns, advice in INSTEAD:
        if any(fnmatchcase(path, pattern) for pattern in patterns.split()):
            return advice
    return "Penstock's README lists what is missing."


def _meant(module: str, where: str, name: str) -> str:
    """The same name in another namespace, or the nearest name in this one."""
    for other in ("", ".nn", ".train", ".layers", ".contrib.layers", ".contrib.rnn"):
        if name in tensorflow_names().get(f"tf{other}", ()) and name in dir(import_module(f"penstock{other}")):
            return f" There is tf{other}.{name}."
    here = [known for known in dir(sys.modules[module]) if not known.startswith("_")]
    near = get_close_matches(name, here, n=1, cutoff=0.75)
    return f" Did you mean {where}.{near[0]}?" if near else ""
