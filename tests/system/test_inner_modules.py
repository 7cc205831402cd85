"""What programs import from inside TensorFlow."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

import penstock as tf

PROGRAM = """
import tensorflow as tf
import tensorflow.core.protobuf.config_pb2 as config
from tensorflow.contrib.tensorboard.plugins import projector
from tensorflow.core.example import example_pb2, feature_pb2
from tensorflow.core.framework import graph_pb2, variable_pb2
from tensorflow.core.protobuf import queue_runner_pb2, saved_model_pb2, tensorflow_server_pb2
from tensorflow.core.util.event_pb2 import SessionLog
from tensorflow.python import debug as tf_debug
from tensorflow.python.client import device_lib, timeline

assert (example_pb2.Example, feature_pb2.Feature) == (tf.train.Example, tf.train.Feature)
assert tensorflow_server_pb2.ServerDef is tf.train.ServerDef
assert tf_debug.has_inf_or_nan(None, [1.0, float("nan")]) and not tf_debug.has_inf_or_nan(None, [1, 2])
assert tf_debug.LocalCLIDebugWrapperSession and tf_debug.DumpingDebugHook
assert (config.ConfigProto, graph_pb2.GraphDef, SessionLog) == (tf.ConfigProto, tf.GraphDef, tf.SessionLog)
assert [device.name for device in device_lib.list_local_devices()][0] == "/device:CPU:0"
metadata = tf.RunMetadata()
with tf.Session() as session:
    session.run(tf.constant(1) + 2, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
assert "traceEvents" in timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
"""


LOGS = """
import logging
import sys
import tensorflow as tf

logging.getLogger("tensorflow").addHandler(logging.FileHandler(sys.argv[1]))
tf.logging.set_verbosity(tf.logging.INFO)
tf.logging.info("step %d", 3)
"""


def test_handlers_of_tensorflows_logger_get_what_is_logged(tmp_path: Path) -> None:
    program, log = tmp_path / "program.py", tmp_path / "log"
    program.write_text(LOGS)
    subprocess.run([sys.executable, "-m", "penstock", str(program), str(log)], check=True, timeout=300)
    assert log.read_text() == "step 3\n"


def test_messages_timelines_and_devices_are_where_tensorflow_has_them(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, "-m", "penstock", str(program)], check=True, timeout=300)


INNER = """
import tensorflow as tf
from tensorflow.python import shape
from tensorflow.python.feature_column import feature_column, feature_column_v2
from tensorflow.python.framework import dtypes, ops
from tensorflow.python.keras.layers import Dense
from tensorflow.python.ops import array_ops, control_flow_ops, math_ops, rnn_cell, variable_scope as vs
from tensorflow.python.ops.rnn import rnn_cell_impl, static_rnn
from tensorflow.python.platform import gfile, tf_logging as logging
from tensorflow.python.estimator.canned import dnn, head
from tensorflow.python.estimator.inputs import numpy_io
from tensorflow.python.saved_model import builder, loader, main_op, signature_def_utils_impl, simple_save
from tensorflow.python.training import monitored_session, moving_averages, session_run_hook
from tensorflow.python.util import nest, tf_contextlib, tf_decorator, tf_inspect
from tensorflow.python.util.tf_export import tf_export
import tensorflow.python.training.saver as saver

assert ops.convert_to_tensor is tf.convert_to_tensor and dtypes.float32 is tf.float32
assert (shape, array_ops.shape, math_ops.add, control_flow_ops.cond) == (tf.shape, tf.shape, tf.add, tf.cond)
assert (vs.get_variable, rnn_cell.LSTMCell, Dense) == (tf.get_variable, tf.nn.rnn_cell.LSTMCell, tf.keras.layers.Dense)
assert (gfile.GFile, logging.info, nest.flatten) == (tf.gfile.GFile, tf.logging.info, tf.contrib.framework.nest.flatten)
assert session_run_hook.SessionRunHook is tf.train.SessionRunHook and saver.Saver is tf.train.Saver
assert moving_averages.assign_moving_average is tf.train.assign_moving_average
assert monitored_session.MonitoredSession is tf.train.MonitoredSession and monitored_session._HookedSession
assert (builder.SavedModelBuilder, loader.load) == (tf.saved_model.Builder, tf.saved_model.load)
assert (simple_save.simple_save, main_op.main_op) == (tf.saved_model.simple_save, tf.saved_model.main_op.main_op)
assert signature_def_utils_impl.predict_signature_def is tf.saved_model.predict_signature_def
assert numpy_io.numpy_input_fn is tf.estimator.inputs.numpy_input_fn
assert dnn.DNNClassifier is tf.estimator.DNNClassifier
assert isinstance(head._binary_logistic_head_with_sigmoid_cross_entropy_loss(thresholds=[0.5]), head._Head)
assert head._multi_class_head_with_softmax_cross_entropy_loss(3).logits_dimension == 3
assert head._regression_head_with_mean_squared_error_loss(label_dimension=2).logits_dimension == 2
assert tf_inspect.isclass(tf.Graph)
assert (rnn_cell_impl.LSTMCell, static_rnn) == (tf.nn.rnn_cell.LSTMCell, tf.nn.static_rnn)

@tf_export("nn.halves")
def halves(size):
    return size / 2

@tf_contextlib.contextmanager
def scope():
    yield 3

class OwnHead(head._Head):
    name, logits_dimension = "own", 1

    def create_loss(self, features, mode, logits, labels):
        return head.LossSpec(tf.reduce_sum(logits), logits, 1.0, labels)

    def create_estimator_spec(self, features, mode, logits, labels=None, optimizer=None, **options):
        loss = self.create_loss(features, mode, logits, labels).training_loss
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=loss)

spec = OwnHead().create_estimator_spec({}, "train", tf.ones([2, 1]))
assert spec.loss is spec.train_op and isinstance(head._multi_class_head_with_softmax_cross_entropy_loss(3), head._Head)
try:
    type("Partial", (head._Head,), {})()
except TypeError as error:
    assert "create_estimator_spec" in str(error) and "create_loss" in str(error)

from tensorflow.python.keras.optimizer_v2 import learning_rate_schedule, rmsprop
from tensorflow.python.keras.optimizer_v2.adam import Adam
from tensorflow.python.keras.optimizer_v2.optimizer_v2 import OptimizerV2
assert Adam is tf.keras.optimizers.Adam and issubclass(rmsprop.RMSprop, OptimizerV2)
assert learning_rate_schedule.ExponentialDecay is tf.keras.optimizers.schedules.ExponentialDecay
from tensorflow.python.estimator.canned.optimizers import get_optimizer_instance
assert type(get_optimizer_instance("Ftrl", learning_rate=0.2)) is tf.train.FtrlOptimizer
age = feature_column.numeric_column("age")
assert isinstance(age, feature_column._NumericColumn) and isinstance(age, feature_column_v2.NumericColumn)
assert not isinstance(feature_column_v2.bucketized_column(age, [3.0]), feature_column._NumericColumn)
doubled = tf_decorator.make_decorator(halves, lambda size: 2 * halves(size))
assert doubled.__name__ == "halves" and doubled(3) == 3 and tf_decorator.unwrap(doubled) == ([doubled], halves)
assert list(tf_inspect.signature(doubled).parameters) == ["size"]
with scope() as found:
    assert found == 3
try:
    array_ops.no_such_function
except AttributeError as error:
    assert "'no_such_function' in tensorflow.python.ops.array_ops" in str(error)
else:
    raise AssertionError
"""


def test_public_names_are_also_in_the_inner_modules_that_define_them(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(INNER)
    subprocess.run([sys.executable, "-m", "penstock", str(program)], check=True, timeout=300)


INNER_NAMES: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parent.parent / "data" / "inner_names.json").read_text()
)
NOT_THERE = {
    "distribute.collective_all_reduce_strategy.CollectiveAllReduceStrategyV1",
    "distribute.collective_util.CommunicationImplementation",  # TensorFlow 2's
    "framework.tensor_util.is_tf_type",
    "ops.sparse_ops._sparse_cross",
    "ops.sparse_ops._sparse_cross_hashed",
    "ops.sparse_ops.from_dense",
    "ops.sparse_ops.sparse_cross",
    "ops.sparse_ops.sparse_cross_hashed",
}
"""Under other names inside TensorFlow 2 than in public; so are those of file_io that end in _v2."""


def _public(path: str) -> Any:
    """What TensorFlow's API has as `path`, if Penstock has it."""
    try:
        return reduce(getattr, path.split("."), tf)
    except (AttributeError, ImportError):
        return None


@pytest.mark.parametrize("module", INNER_NAMES)
def test_what_tensorflow_defines_in_a_module_can_be_imported_from_there(module: str) -> None:
    for name, paths in INNER_NAMES[module].items():
        values = [value for path in paths if (value := _public(path)) is not None]
        if values and f"{module}.{name}" not in NOT_THERE and not name.endswith("_v2"):
            found = getattr(importlib.import_module(f"penstock.python.{module}"), name)
            assert found in values or module.startswith("ops.gen_"), name  # which have the arguments of the ops


@pytest.mark.parametrize(
    ("path", "public"),
    {
        "layers.convolutional.Convolution2D": "layers.Conv2D",
        "layers.convolutional.deconv2d": "layers.conv2d_transpose",
        "layers.core.fully_connected": "layers.dense",
        "layers.normalization.batch_norm": "layers.batch_normalization",
        "lib.io.file_io.list_directory_v2": "io.gfile.listdir",
        "ops.linalg_ops.lu": "linalg.lu",
        "ops.logging_ops.print_v2": "print",
        "ops.math_ops.bessel_i0e": "math.bessel_i0e",
        "ops.string_ops.regex_full_match": "strings.regex_full_match",
        "ops.unconnected_gradients.UnconnectedGradients": "UnconnectedGradients",
    }.items(),
)
def test_names_that_only_tensorflow_1_had_inside_are_there(path: str, public: str) -> None:
    module, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(f"penstock.python.{module}"), name) is _public(public)


def test_bucketize_is_only_inside_math_ops() -> None:
    math_ops = importlib.import_module("penstock.python.ops.math_ops")
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(math_ops._bucketize([5.0, 0.0, 11.0], boundaries=[1.0, 10.0])).tolist() == [1, 0, 2]


FUNCTIONS = """
import os, sys
import numpy as np
import tensorflow as tf
from tensorflow.core.util.event_pb2 import Event
from tensorflow.python import pywrap_tensorflow
from tensorflow.python.client import session as session_module
from tensorflow.python.framework import common_shapes, ops, tensor_shape, tensor_util, test_util
from tensorflow.python.lib.io import file_io
from tensorflow.python.ops import control_flow_ops, gen_math_ops, gen_nn_ops, gen_random_ops, resources, state_ops
from tensorflow.python.ops import confusion_matrix
from tensorflow.python.ops.nn_ops import _get_noise_shape
from tensorflow.python.platform import googletest
from tensorflow.python.training import training_ops
from tensorflow.python.util import tf_inspect

folder = sys.argv[1]
file_io.recursive_create_dir(folder + "/a/b")
file_io.write_string_to_file(folder + "/a/b/c.txt", "text")
assert file_io.file_exists(folder + "/a/b/c.txt") and file_io.read_file_to_string(folder + "/a/b/c.txt") == "text"
file_io.atomic_write_string_to_file(folder + "/a/b/c.txt", "other")
assert file_io.get_matching_files(folder + "/a/*/*") == [folder + "/a/b/c.txt"]
assert file_io.FileIO(folder + "/a/b/c.txt", "rb").read() == b"other"

writer = pywrap_tensorflow.EventsWriter((folder + "/log/run").encode())
writer.WriteEvent(Event(step=7))
writer.Close()
assert os.path.basename(writer.FileName()).startswith(b"run.out.tfevents.")
assert [event.step for event in tf.train.summary_iterator(writer.FileName().decode())] == [0, 7]

class Pair:
    def __init__(self, a, b):
        self.parts = [a, b]

session_module.register_session_run_conversion_functions(
    Pair, lambda pair: (pair.parts, tuple), lambda pair, value: list(zip(pair.parts, value)), lambda pair: pair.parts)
with tf.Session() as session:
    x = tf.constant([-1.0, 2.0])
    assert session.run(confusion_matrix.confusion_matrix([1], [1], 2)).tolist() == [[0, 0], [0, 1]]
    assert _get_noise_shape(tf.ones([2, 3]), [None, 1]) == [2, 1]
    grad = gen_nn_ops._relu_grad(tf.constant([5.0, 6.0]), x)
    false, true = control_flow_ops.switch(x, tf.constant(True))
    merged = control_flow_ops.merge([false * 10, true * 2])
    pool = gen_nn_ops._max_pool_grad(*[tf.ones([1, 2, 2, 1])] * 3, [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    found = session.run([grad, merged.output, merged.value_index, gen_math_ops._sum(x, 0, keep_dims=True), pool])
    assert [each.ravel().tolist() for each in found] == [[0, 6], [-2, 4], [1], [1], [1, 1, 1, 1]]
    pair = Pair(tf.placeholder(tf.float32), tf.placeholder(tf.float32))
    assert session.run(pair, {pair: (1.0, 2.0)}) == (1.0, 2.0)
    assert session.run([pair.parts[0] + pair.parts[1], pair], {pair: (1.0, 2.0)}) == [3.0, (1.0, 2.0)]
    v = tf.Variable([0.0, 0.0])
    session.run(state_ops.init_variable(v, tf.ones_initializer()))
    assert session.run(v).tolist() == [1, 1]
    session.run(resources.initialize_resources(resources.shared_resources()))
assert session.run is not None and gen_random_ops._random_uniform and training_ops.apply_rms_prop
assert tensor_shape.scalar() == tf.TensorShape([]) and tensor_util.MakeNdarray is tf.make_ndarray
assert common_shapes.unknown_shape(x.op)[0].ndims is None
assert ops.RegisterShape("Op")(None) is None and ops.prepend_name_scope("^a", "s") == "^s/a"
assert ops.strip_name_scope("loc:@s/a", "s") == "loc:@a"
assert test_util.TensorFlowTestCase is tf.test.TestCase is googletest.TestCase
assert tf_inspect.getargspec(lambda a, b=1: 0).args == ["a", "b"] and tf_inspect.isclass(tf.Graph)
"""


LAYERS = """
from tensorflow.contrib.framework.python.framework import checkpoint_utils
from tensorflow.contrib.layers.python.layers import embedding_ops, feature_column, normalization
from tensorflow.python import tf2
from tensorflow.python.framework import smart_cond, tensor_util
from tensorflow.python.layers import utils
from tensorflow.python.ops import init_ops, math_ops, metrics, resource_variable_ops
import tensorflow as tf

assert utils.normalize_tuple(3, 2, "k") == (3, 3) and utils.normalize_tuple([1, 2], 2, "k") == (1, 2)
for wrong in ([1, 2, 3], None, "ab"):
    try:
        utils.normalize_tuple(wrong, 2, "kernel_size")
    except ValueError as error:
        assert "`kernel_size` argument must be a tuple of 2 integers" in str(error)
    else:
        raise AssertionError(wrong)
assert utils.convert_data_format("channels_last", 4) == "NHWC"
assert utils.convert_data_format("channels_first", 5) == "NCDHW"
assert utils.normalize_data_format("Channels_First") == "channels_first" and utils.normalize_padding("SAME") == "same"
assert [utils.conv_output_length(7, 3, p, 2, 2) for p in ("same", "valid", "full")] == [4, 2, 6]
assert [utils.conv_input_length(4, 3, p, 2) for p in ("same", "valid", "full")] == [7, 9, 5]
assert [utils.deconv_output_length(4, 3, p, 2) for p in ("same", "valid", "full")] == [8, 9, 5]
assert utils.smart_cond(True, lambda: 1, lambda: 2) == smart_cond.smart_cond(True, lambda: 1, lambda: 2) == 1
assert init_ops._compute_fans([3, 3, 4, 5]) == (36, 45) and init_ops._compute_fans([7]) == (7, 7)
known = tensor_util.constant_value_as_shape(tf.stack([tf.constant(2), tf.placeholder(tf.int32, [])]))
assert known.as_list() == [2, None]
assert resource_variable_ops.is_resource_variable(tf.get_variable("r", [], use_resource=True))
assert not resource_variable_ops.is_resource_variable(tf.get_variable("v", []))
assert not tf2.enabled() and metrics.mean is tf.metrics.mean and math_ops.xlogy is tf.math.xlogy
assert checkpoint_utils.init_from_checkpoint is tf.train.init_from_checkpoint
assert embedding_ops.safe_embedding_lookup_sparse is tf.contrib.layers.safe_embedding_lookup_sparse
assert feature_column.real_valued_column is tf.contrib.layers.real_valued_column
assert normalization.group_norm is tf.contrib.layers.group_norm
"""


def test_what_layers_and_optimizers_of_ones_own_take_from_inside_is_there(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(LAYERS)
    subprocess.run([sys.executable, "-m", "penstock", str(program)], check=True, timeout=300)


def test_functions_that_have_no_public_names_work(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FUNCTIONS)
    subprocess.run([sys.executable, "-m", "penstock", str(program), str(tmp_path)], check=True, timeout=300)


CONTRIB = """
import tempfile
import numpy as np
import tensorflow as tf
from tensorflow.contrib.data.python.ops import prefetching_ops, threadpool
from tensorflow.contrib.data.python.ops.batching import map_and_batch
from tensorflow.contrib.rnn.python.ops import core_rnn_cell_impl
from tensorflow.contrib.rnn.python.ops.core_rnn import static_rnn
from tensorflow.contrib.seq2seq.python.ops import attention_wrapper
from tensorflow.contrib.tpu.python.tpu import tpu_config, tpu_estimator
from tensorflow.examples.tutorials.mnist import input_data, mnist
import tensorflow.contrib.legacy_seq2seq.python.ops.seq2seq as seq2seq

assert core_rnn_cell_impl.BasicLSTMCell is tf.contrib.rnn.BasicLSTMCell and core_rnn_cell_impl._linear
assert static_rnn is tf.nn.static_rnn and map_and_batch is tf.contrib.data.map_and_batch
assert prefetching_ops.prefetch_to_device is tf.contrib.data.prefetch_to_device
assert tf.contrib.data.python.ops.unique.unique is tf.contrib.data.unique
doubled = tf.data.Dataset.range(4).map(lambda value: value * 2, num_parallel_calls=2)
pool = threadpool.PrivateThreadPool(3, display_name="pool")
batch = threadpool.override_threadpool(doubled, pool).batch(4).make_one_shot_iterator().get_next()
assert tf.Session().run(batch).tolist() == [0, 2, 4, 6]
assert attention_wrapper.AttentionWrapper is tf.contrib.seq2seq.AttentionWrapper
assert seq2seq.sequence_loss is tf.contrib.legacy_seq2seq.sequence_loss
assert tpu_config.TPUConfig is tf.contrib.tpu.TPUConfig and tpu_estimator.TPUEstimator is tf.contrib.tpu.TPUEstimator
from tensorflow.python.framework import ops
from tensorflow.python.tpu import bfloat16, topology, tpu_config as config, tpu_estimator as estimator
assert (config.TPUConfig, estimator.TPUEstimator) == (tf.estimator.tpu.TPUConfig, tf.estimator.tpu.TPUEstimator)
assert bfloat16.bfloat16_scope is tf.tpu.bfloat16_scope and not isinstance(b"", topology.Topology)
class Stored:
    name = dtype = property(lambda self: "stored")
assert not ops.is_dense_tensor_like(Stored())
ops.register_dense_tensor_like_type(Stored)
assert ops.is_dense_tensor_like(Stored()) and ops.is_dense_tensor_like(tf.constant(1))
try:
    ops.register_dense_tensor_like_type(int)
except TypeError as error:
    assert "Type int does not define a `name` property" in str(error)
else:
    raise AssertionError
assert tf.contrib.distributions.python.ops.normal.Normal is tf.contrib.distributions.Normal
assert tf.python.ops.array_ops.shape is tf.shape
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.framework import graph_io, graph_util_impl, op_def_registry
from tensorflow.python.keras.engine.topology import Layer
from tensorflow.python.keras.layers.core import Dense
from tensorflow.python.ops import metrics, metrics_impl, rnn, rnn_cell_impl, string_ops, weights_broadcast_ops
assert dataset_ops.Dataset is tf.data.Dataset and graph_io.write_graph is tf.train.write_graph
assert (Layer, Dense, metrics_impl.mean_iou) == (tf.keras.layers.Layer, tf.keras.layers.Dense, tf.metrics.mean_iou)
assert graph_util_impl.extract_sub_graph is tf.graph_util.extract_sub_graph
assert rnn_cell_impl.LayerRNNCell is tf.nn.rnn_cell.RNNCell
assert (rnn_cell_impl._WEIGHTS_VARIABLE_NAME, rnn_cell_impl._BIAS_VARIABLE_NAME) == ("kernel", "bias")
assert rnn._transpose_batch_time(tf.zeros([2, 3])).shape == [3, 2]
assert rnn._best_effort_input_batch_size([tf.zeros([2, 3])]) == 3
assert metrics.mean is tf.metrics.mean and string_ops.string_length is not None
assert weights_broadcast_ops.broadcast_weights(1.0, tf.zeros([2])).shape == [2]
assert rnn_cell_impl._concat(None, 3, static=True) is None and rnn_cell_impl._concat(2, [3], static=True) == [2, 3]
with tf.Session() as session:
    assert session.run(rnn_cell_impl._concat(tf.constant(2), tf.TensorShape([3, 4]))).tolist() == [2, 3, 4]
try:
    attention_wrapper.nothing
except AttributeError as error:
    assert "'nothing' in tensorflow.contrib.seq2seq.python.ops.attention_wrapper" in str(error)
else:
    raise AssertionError

images, labels = tf.placeholder(tf.float32, [None, mnist.IMAGE_PIXELS]), tf.placeholder(tf.int32, [None])
logits = mnist.inference(images, 32, 16)
loss = mnist.loss(logits, labels)
train, right = mnist.training(loss, 0.1), mnist.evaluation(logits, labels)
names = [f"{scope}/{name}:0" for scope in ("hidden1", "hidden2", "softmax_linear") for name in ("weights", "biases")]
assert [variable.name for variable in tf.trainable_variables()] == names
x = np.random.default_rng(1).random((20, 784), np.float32)
feed = {images: x, labels: np.arange(20) % 10}
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss, feed)
    for _ in range(400):
        session.run(train, feed)
    assert session.run(loss, feed) < first / 2 and session.run(right, feed) >= 15

import tensorflow_core, tensorflow_estimator
from tensorflow_core.python.keras.layers import Conv2D
from tensorflow_estimator.python.estimator import estimator
from tensorflow_estimator.python.estimator.canned import head as head_lib
assert tensorflow_core.Session is tf.Session and Conv2D is tf.keras.layers.Conv2D and head_lib._Head
assert estimator.Estimator is tf.estimator.Estimator is tensorflow_estimator.estimator.Estimator
with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.Session() as session:
    assert estimator._load_global_step_from_checkpoint_dir(folder) == 0
    step = tf.train.create_global_step()
    session.run([tf.global_variables_initializer()])
    session.run(step.assign_add(7))
    tf.train.Saver().save(session, folder + "/model", step)
    assert estimator._load_global_step_from_checkpoint_dir(folder) == 7

old = tf.contrib.data.Dataset.range(3).map(lambda x: x * 2, num_threads=2, output_buffer_size=10)
with tf.Session() as session:
    assert session.run([old.make_one_shot_iterator().get_next()]) == [0]
"""


def test_names_of_contrib_and_tutorials_are_at_their_inner_paths(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CONTRIB)
    found = subprocess.run(
        [sys.executable, "-m", "penstock", str(program)], check=True, timeout=300, stderr=subprocess.PIPE, text=True
    )
    assert found.stderr.count("is from before TensorFlow 1.4: write Dataset.map(map_func") == 1


MODELS = """
import numpy as np
import tensorflow as tf
from tensorflow.models.rnn import rnn, rnn_cell, seq2seq
from tensorflow.models.rnn.linear import linear
from tensorflow.models.rnn.ptb import reader
import tensorflow.models.rnn.rnn_cell as cells

for name, text in (("train", " a b \\n a c \\n a b \\n"), ("valid", " c x \\n"), ("test", " b \\n")):
    open(f"ptb.{name}.txt", "w").write(text)
train, valid, test, size = reader.ptb_raw_data(".")
assert (train, valid, test, size) == ([1, 2, 0, 1, 3, 0, 1, 2, 0], [3, 0], [2, 0], 4)  # <eos> a b c
pairs = [(x.tolist(), y.tolist()) for x, y in reader.ptb_iterator(range(11), 2, 2)]
assert pairs == [([[0, 1], [5, 6]], [[1, 2], [6, 7]]), ([[2, 3], [7, 8]], [[3, 4], [8, 9]])]
x, y = reader.ptb_producer(range(11), 2, 2)

assert cells is rnn_cell and cells.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell and x.shape == (2, 2)
outputs, state = rnn.rnn(cells.BasicLSTMCell(3), [tf.ones([2, 4])] * 2, dtype=tf.float32)
loss = seq2seq.sequence_loss_by_example([linear(outputs[-1], 5, True)], [tf.zeros([2], tf.int32)], [tf.ones([2])])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    assert session.run(loss).shape == (2,)
    threads = tf.train.start_queue_runners(session)
    assert [tuple(each.tolist() for each in session.run([x, y])) for _ in range(3)] == [*pairs, pairs[0]]
    try:
        next(reader.ptb_iterator([1, 2], 1, 2))
    except ValueError as error:
        assert "epoch_size == 0" in str(error)
    else:
        raise AssertionError
"""


def test_what_tensorflow_had_as_models_works(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MODELS)
    subprocess.run([sys.executable, "-m", "penstock", "program.py"], cwd=tmp_path, check=True, timeout=300)


def test_metrics_of_programs_make_their_variables_as_those_of_tensorflow() -> None:
    from penstock.python.ops.metrics_impl import metric_variable

    with tf.Graph().as_default():
        total = metric_variable([2], tf.float32, name="total")
        assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.local_variables() == [total]
        assert total.op.name == "total" and not tf.trainable_variables()


def test_metrics_of_programs_take_the_streaming_confusion_matrix() -> None:
    """Values of TensorFlow 1.15."""
    from penstock.python.ops.metrics_impl import _streaming_confusion_matrix

    with tf.Graph().as_default(), tf.Session() as session:
        labels, predictions = tf.constant([[0, 1], [2, 2]]), tf.constant([[0, 2], [2, 1]])
        total, update = _streaming_confusion_matrix(labels, predictions, 3, tf.constant([[1.0, 2.0], [0.5, 1.0]]))
        session.run(tf.local_variables_initializer())
        session.run(update)
        assert session.run(update).tolist() == [[2, 0, 0], [0, 0, 4], [0, 2, 1]]
        assert session.run(total).dtype == "float64"


def test_metrics_of_programs_take_the_counts_at_thresholds() -> None:
    """Values of TensorFlow 1.15."""
    from penstock.python.ops.metrics_impl import _confusion_matrix_at_thresholds as counts_at

    with tf.Graph().as_default(), tf.Session() as session:
        labels, predictions = tf.constant([[True, False], [True, True]]), tf.constant([[0.2, 0.6], [0.7, 0.4]])
        values, updates = counts_at(labels, predictions, [0.0, 0.5])
        weights = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        _, weighted = counts_at(labels, predictions, [0.5], weights=weights, includes=("fp", "tp"))
        session.run(tf.local_variables_initializer())
        session.run(updates)
        found = {kind: value.tolist() for kind, value in session.run(values).items()}
        assert found == {"tp": [3, 1], "fn": [0, 2], "tn": [0, 0], "fp": [1, 1]}
        assert {kind: value.tolist() for kind, value in session.run(weighted).items()} == {"fp": [2], "tp": [3]}
        with pytest.raises(ValueError, match="Invalid key: xx"):
            counts_at(labels, predictions, [0.5], includes=("xx",))


OF_LIBRARIES = """
import tensorflow as tf
import tensorflow.compat.v2 as tf2
from tensorflow.contrib.eager.python import tfe
from tensorflow.python import tf2 as version
from tensorflow.python.autograph.pyct import transformer
from tensorflow.python.framework import composite_tensor, dtypes, ops, type_spec
from tensorflow.python.keras.utils import losses_utils, tf_utils
from tensorflow.python.ops import control_flow_util, inplace_ops, weights_broadcast_ops
from tensorflow.python.util import deprecation, lazy_loader, tf_inspect

from tensorflow.python.data.ops.dataset_ops import DatasetV2
from tensorflow.python.estimator.util import fn_args

@tf.autograph.experimental.do_not_convert()
def converted_by_nobody(x):
    return x

assert converted_by_nobody(3) == tf.autograph.experimental.do_not_convert(converted_by_nobody)(3) == 3
assert tf.autograph.set_verbosity(0) is None and fn_args(converted_by_nobody) == ("x",)
try:
    tf.autograph.to_graph
except AttributeError as error:
    assert "TensorFlow's tf.autograph.to_graph is not in Penstock yet" in str(error) and "tf.cond" in str(error)
else:
    raise AssertionError
assert isinstance(tf.data.Dataset.range(3), DatasetV2)
assert tf2.math.reduce_sum and tfe.Variable and not version.enabled()
lazy = lazy_loader.LazyLoader("lazy", globals(), "tensorflow.contrib.slim")
assert "conv2d" in dir(lazy) and lazy.conv2d is tf.contrib.slim.conv2d and lazy is tf.contrib.slim

class Visitor(transformer.Base):
    pass

try:
    Visitor()
except NotImplementedError as error:
    assert "AutoGraph" in str(error)
else:
    raise AssertionError

from tensorflow.python.framework import tensor_util
from tensorflow.python.ops import nn_ops
from tensorflow.python.tools import optimize_for_inference_lib

assert tensor_util.TensorShapeProtoToList(tf.TensorShape([2, None]).as_proto()) == [2, -1]
assert nn_ops.nth_element is tf.contrib.nn.nth_element
assert optimize_for_inference_lib.node_name_from_input("^a") == "a"
assert isinstance(tf.SparseTensor([[0]], [1], [2]), composite_tensor.CompositeTensor)
assert not isinstance(tf.constant(1), composite_tensor.CompositeTensor) and type_spec.BatchableTypeSpec
assert tf_inspect.getfullargspec(tf.cast) == tf_inspect.getfullargspec(lambda x, dtype, name=None: x)
assert tf_inspect.getfullargspec(tf2.transpose).args == ["a", "perm", "conjugate", "name"]

assert dtypes.float16_ref == tf.float16._as_ref and dtypes.qint8_ref.base_dtype == tf.qint8
assert tf.Variable(1.0).dtype == dtypes.float32_ref and dtypes.as_dtype("resource_ref") == dtypes.resource_ref
found = []
tf.while_loop(lambda i: i < 3, lambda i: found.append(i + 1) or i + 1, [tf.constant(0)])
tf.cond(tf.constant(True), lambda: found.append(tf.constant(1)) or 1, lambda: 2)
in_loop = [control_flow_util.IsInWhileLoop(x.op) for x in found]
in_cond = [control_flow_util.IsInCond(x.op) for x in found]
assert (in_loop, in_cond) == ([True, False], [False, True]), (in_loop, in_cond)
contexts = [x.op._get_control_flow_context() for x in found]
assert [c.IsWhileContext() for c in contexts] == [True, False] == [not c.IsCondContext() for c in contexts]
assert [c.GetWhileContext() for c in contexts] == [contexts[0], None]
assert not any(c.IsXLAContext() or c.outer_context for c in contexts)
assert tf_utils.smart_cond(1, lambda: "yes", lambda: "no") == "yes"
assert tf_utils.constant_value(tf.Variable(True)) is None

class Doubling:
    @tf_utils.shape_type_conversion
    def compute_output_shape(self, shape):
        return shape[:1] + (2 * shape[1],)

assert Doubling().compute_output_shape(tf.TensorShape([None, 3])).as_list() == [None, 6]

@deprecation.deprecated_args(None, "Use size.", "length", ("extra", None))
def area(size=None, length=None, extra=None):
    return deprecation.deprecated_argument_lookup("size", size, "length", length)

assert area(length=3) == 3 and area(4, extra=None) == 4
rows = tf.zeros([3, 2])
losses = tf.constant([[1.0, 2.0], [3.0, 4.0]])
reduced = [losses_utils.compute_weighted_loss(losses, [1.0, 0.5], how) for how in losses_utils.ReductionV2.all()]
with tf.Session() as session:
    assert [x.tolist() for x in session.run(reduced)] == [1.625, [[1, 2], [1.5, 2]], 6.5, 1.625]
    changed = session.run(inplace_ops.alias_inplace_update(rows, 1, [1.0, 2.0]))
    assert changed.tolist() == [[0, 0], [1, 2], [0, 0]]
    assert session.run(inplace_ops.inplace_add(rows, [0, 2], [[1.0, 1.0], [2.0, 2.0]])).sum() == 6
    assert session.run(inplace_ops.inplace_sub(rows, None, tf.ones([3, 2]))).sum() == -6
    assert session.run(weights_broadcast_ops.broadcast_weights([[2.0]], rows)).tolist() == [[2, 2]] * 3
scope = tf.name_scope(None, "layer")
assert scope.name == "layer"
with scope as entered:
    assert entered == "layer/"
"""


def test_what_libraries_import_from_inside_tensorflow_works(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(OF_LIBRARIES)
    found = subprocess.run(
        [sys.executable, "-m", "penstock", str(program)], capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr
    assert "calling area (from __main__) with length is deprecated" in found.stderr
    assert "with extra" not in found.stderr
