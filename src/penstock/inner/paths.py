"""Where TensorFlow has its public names inside itself: `tensorflow.python.ops.array_ops`."""

from __future__ import annotations


def _under(package: str, names: str, folder: str = "") -> str:
    """Paths of modules in a package."""
    return " ".join([package, *(f"{package}.{folder}{name}" for name in names.split())])


_KERAS = (
    "activations applications applications.densenet applications.imagenet_utils applications.inception_resnet_v2 "
    "applications.inception_v3 applications.mobilenet applications.mobilenet_v2 applications.resnet50 "
    "applications.vgg16 applications.vgg19 applications.xception backend callbacks constraints datasets "
    "datasets.boston_housing datasets.cifar10 datasets.cifar100 datasets.fashion_mnist datasets.imdb datasets.mnist "
    "datasets.reuters estimator initializers layers losses metrics models optimizers preprocessing preprocessing.image "
    "preprocessing.sequence preprocessing.text regularizers utils wrappers wrappers.scikit_learn"
)
KERAS_INNER = {
    "": "engine engine.network engine.sequential engine.topology engine.training",
    ".backend": "backend.tensorflow_backend",
    ".models": "engine.saving saving saving.hdf5_format saving.save saving.saved_model",
    ".layers": (
        "engine engine.base_layer engine.input_layer engine.topology layers.advanced_activations layers.convolutional "
        "layers.convolutional_recurrent layers.core layers.cudnn_recurrent layers.embeddings layers.local layers.merge "
        "layers.noise layers.normalization layers.pooling layers.recurrent layers.wrappers"
    ),
    ".utils": (
        "engine.topology utils.data_utils utils.generic_utils utils.io_utils utils.layer_utils utils.multi_gpu_utils "
        "utils.np_utils utils.vis_utils"
    ),
}
"""Keras's own modules, by the namespace in which their names are public."""

PUBLIC = {
    "": (
        "client.session eager.context framework.common_shapes framework.constant_op framework.device framework.dtypes "
        "framework.function framework.importer framework.ops framework.random_seed framework.sparse_tensor "
        "framework.tensor_shape framework.tensor_util ops.array_ops ops.check_ops ops.clip_ops ops.control_flow_ops "
        "ops.data_flow_ops ops.functional_ops ops.gradients ops.gradients_impl ops.histogram_ops ops.init_ops "
        "ops.io_ops ops.linalg_ops ops.logging_ops ops.constant_op ops.lookup_ops ops.math_ops ops.parsing_ops "
        "ops.partitioned_variables ops.random_ops ops.resource_variable_ops ops.script_ops ops.sparse_ops "
        "ops.special_math_ops ops.standard_ops ops.state_ops ops.string_ops ops.template ops.tensor_array_ops "
        "ops.variable_scope ops.variables eager.backprop eager.function framework.composite_tensor "
        "framework.device_spec framework.indexed_slices framework.meta_graph framework.stack framework.tensor "
        "framework.tensor_conversion_registry framework.tensor_like framework.tensor_spec framework.tensor_util "
        "framework.type_spec ops.batch_ops ops.bincount_ops ops.cond ops.cond_v2 ops.control_flow_case "
        "ops.control_flow_switch_case ops.control_flow_v2_toggles ops.critical_section_ops ops.gradients_util "
        "ops.map_fn ops.numerics ops.parallel_for ops.parsing_config ops.quantized_ops ops.resource_variables_toggle "
        "ops.session_ops ops.sort_ops ops.tensor_array_grad ops.variable_v1 ops.while_loop ops.while_v2 "
        "compat.v2_compat ops.array_grad ops.control_flow_grad ops.data_flow_grad ops.image_grad ops.linalg_grad "
        "ops.math_grad ops.nn_grad ops.sparse_grad ops.state_grad ops.ragged.ragged_tensor "
        "ops.unconnected_gradients module.module"
    ),
    "app": "platform.app",
    "compat": "util.compat compat.compat",
    "dtypes": "framework.dtypes",
    "errors": "framework.errors framework.errors_impl",
    "estimator": (
        "estimator.estimator estimator.estimator_lib estimator.exporter estimator.model_fn estimator.run_config "
        "estimator.training estimator.canned.baseline estimator.canned.dnn estimator.canned.dnn_linear_combined "
        "estimator.canned.linear"
    ),
    "estimator.export": "estimator.export.export estimator.export.export_output",
    "estimator.tpu": "tpu.tpu_config tpu.tpu_estimator",
    "estimator.inputs": "estimator.inputs.inputs estimator.inputs.numpy_io estimator.inputs.pandas_io",
    "feature_column": (
        "feature_column.feature_column feature_column.feature_column_lib feature_column.feature_column_v2 "
        "feature_column.sequence_feature_column"
    ),
    "flags": "platform.flags",
    "gfile": "platform.gfile",
    "graph_util": "client.graph_util framework.convert_to_constants framework.graph_util graph_util",
    "image": "ops.image_ops ops.image_ops_impl",
    "initializers": "ops.init_ops ops.init_ops_v2",
    "keras": "keras",
    **{f"keras.{name}": f"keras.{name}" for name in _KERAS.split()},
    "keras.optimizers": "keras.optimizers "
    + _under("keras.optimizer_v2", "adadelta adagrad adam adamax gradient_descent nadam optimizer_v2 rmsprop"),
    "keras.optimizers.schedules": "keras.optimizer_v2.learning_rate_schedule",
    "layers": (
        "keras.engine.input_spec layers.base layers.convolutional layers.core layers.layers layers.normalization "
        "layers.pooling"
    ),
    "load_library": "framework.load_library",
    "logging": "platform.tf_logging",
    "resource_loader": "platform.resource_loader",
    "losses": "ops.losses.losses ops.losses.losses_impl ops.losses.util",
    "metrics": "ops.metrics",
    "nest": "util.nest",
    "nn": (
        "ops.candidate_sampling_ops ops.ctc_ops ops.embedding_ops ops.nn ops.nn_impl ops.nn_ops ops.rnn "
        "ops.batch_norm_ops ops.nn_batchnorm ops.nn_fused_batch_norm_grad keras.layers.legacy_rnn.rnn_cell_impl"
    ),
    "contrib.estimator": "estimator.canned.head",
    "contrib.framework.nest": "util.nest",
    "contrib.lookup": "ops.lookup_ops",
    "contrib.staging": "ops.data_flow_ops",
    "contrib.legacy_seq2seq": "ops.seq2seq",
    "contrib.util": "framework.tensor_util",
    "rnn_cell": "ops.rnn_cell ops.rnn_cell_impl keras.layers.legacy_rnn.rnn_cell_impl",
    "saved_model": "saved_model.load saved_model.save saved_model.saved_model",
    "saved_model.builder": "saved_model.builder saved_model.builder_impl",
    "saved_model.constants": "saved_model.constants",
    "saved_model.loader": "saved_model.loader saved_model.loader_impl",
    "saved_model.main_op": "saved_model.main_op saved_model.main_op_impl",
    "saved_model.signature_constants": "saved_model.signature_constants",
    "saved_model.signature_def_utils": "saved_model.signature_def_utils saved_model.signature_def_utils_impl",
    "saved_model.simple_save": "saved_model.simple_save",
    "saved_model.tag_constants": "saved_model.tag_constants",
    "saved_model.utils": "saved_model.utils saved_model.utils_impl",
    "profiler": "profiler.model_analyzer profiler.option_builder profiler.profiler profiler.tfprof_logger",
    "summary": (
        "summary.summary summary.summary_iterator summary.writer.writer summary.writer.writer_cache "
        "ops.summary_op_util ops.summary_ops summary.text_summary summary.plugin_asset"
    ),
    "test": (
        "framework.test_util platform.googletest platform.test platform.benchmark ops.gradient_checker "
        "framework.test_ops"
    ),
    "train": (
        "pywrap_tensorflow pywrap_tensorflow_internal training.adadelta training.adagrad training.adam "
        "training.device_setter training.basic_loops training.basic_session_run_hooks training.checkpoint_utils "
        "training.coordinator "
        "training.ftrl training.gradient_descent training.input training.learning_rate_decay training.momentum "
        "training.monitored_session training.moving_averages training.optimizer training.queue_runner "
        "training.queue_runner_impl training.rmsprop training.saver training.session_manager training.session_run_hook "
        "training.slot_creator training.summary_io training.supervisor training.sync_replicas_optimizer "
        "training.training training.training_util training.adagrad_da checkpoint.checkpoint "
        "checkpoint.checkpoint_management "
        "training.checkpoint_management training.checkpoint_ops training.checkpoint_state_pb2 training.checkpointable "
        "training.evaluation training.learning_rate_decay_v2 training.proximal_adagrad "
        "training.proximal_gradient_descent training.py_checkpoint_reader training.saveable_object training.server_lib "
        "training.tracking training.tracking.base training.tracking.tracking training.tracking.util "
        "training.warm_starting_util keras.optimizer_v2.legacy_learning_rate_decay"
    ),
    "bitwise": "ops.bitwise_ops ops.gen_bitwise_ops",
    "config.experimental": "framework.config",
    "contrib.summary": "ops.summary_ops_v2",
    "data": "data data.ops.dataset_ops data.ops.iterator_ops data.ops.options data.ops.readers",
    "data.experimental": _under(
        "data.experimental",
        "batching counter enumerate_ops error_ops get_single_element grouping interleave_ops iterator_ops optimization "
        "optimization_options parsing_ops prefetching_ops random_ops readers resampling scan_ops shuffle_ops "
        "sleep snapshot stats_ops take_while_ops threadpool threading_options distribute_options stats_options unique "
        "writers",
        "ops.",
    )
    + " data.ops.options",
    "distribute": _under(
        "distribute",
        "cross_device_ops distribute_lib distribution_strategy_context mirrored_strategy one_device_strategy "
        "reduce_util "
        "values",
    )
    + " training.distribute",
    "distribute.experimental": _under(
        "distribute",
        "central_storage_strategy collective_all_reduce_strategy collective_util parameter_server_strategy",
    ),
    "distributions": _under(
        "ops.distributions",
        "bernoulli beta bijector categorical dirichlet dirichlet_multinomial distribution distributions exponential "
        "gamma identity_bijector kullback_leibler laplace multinomial normal special_math student_t "
        "transformed_distribution uniform util",
    ),
    "linalg": _under(
        "ops.linalg",
        "linalg linalg_impl linear_operator linear_operator_block_diag linear_operator_circulant "
        "linear_operator_composition linear_operator_diag linear_operator_full_matrix linear_operator_identity "
        "linear_operator_kronecker linear_operator_low_rank_update linear_operator_lower_triangular "
        "linear_operator_toeplitz linear_operator_util linear_operator_zeros",
    )
    + " ops.linalg_ops",
    "lookup": "ops.lookup_ops",
    "debugging": "ops.check_ops ops.numerics",
    "io": "ops.io_ops ops.parsing_ops",
    "manip": "ops.manip_ops",
    "math": "ops.math_ops ops.special_math_ops",
    "quantization": "ops.array_ops",
    "queue": "ops.data_flow_ops",
    "ragged": _under(
        "ops.ragged",
        "ragged_array_ops ragged_concat_ops ragged_conversion_ops ragged_factory_ops ragged_functional_ops "
        "ragged_gather_ops ragged_map_ops ragged_math_ops ragged_string_ops ragged_tensor_value segment_id_ops",
    ),
    "random": "ops.random_ops ops.stateful_random_ops ops.stateless_random_ops",
    "sets": "ops.sets ops.sets_impl",
    "signal": _under(
        "ops.signal",
        "dct_ops fft_ops mel_ops mfcc_ops reconstruction_ops shape_ops signal spectral_ops util_ops window_ops",
    ),
    "sparse": "ops.sparse_ops",
    "spectral": "ops.spectral_ops ops.signal.fft_ops",
    "sysconfig": "platform.sysconfig",
    "tpu": "tpu.tpu tpu.tpu_function tpu.tpu_optimizer tpu.ops.tpu_ops",
    "train.experimental": _under(
        "training.experimental", "loss_scale loss_scale_optimizer loss_scaling_gradient_tape mixed_precision"
    ),
    "user_ops": "user_ops.user_ops",
}
"""The inner modules whose names are public in a namespace."""

GENERATED = (
    "array audio batch candidate_sampling checkpoint control_flow ctc data_flow dataset functional image io "
    "linalg list logging lookup manip math nn parsing random resource_variable rnn script set sparse spectral "
    "state stateless_random string summary user"
)

OTHER_NAMES = {
    "distribute.cross_device_ops": "CollectiveCommunication=distribute.experimental.CollectiveCommunication",
    "distribute.distribution_strategy_context": (
        "get_distribution_strategy=distribute.get_strategy has_distribution_strategy=distribute.has_strategy"
    ),
    "keras.optimizer_v2.optimizer_v2": "OptimizerV2=keras.optimizers.Optimizer",
    "layers.convolutional": " ".join(
        f"{alias}{dims}=layers.{name}{dims}"
        for aliases, name, all_dims in (
            ("Convolution", "Conv", "1D 2D 3D"),
            ("Convolution2DTranspose Deconv2D Deconvolution2D", "Conv2DTranspose", ""),
            ("Convolution3DTranspose Deconv3D Deconvolution3D", "Conv3DTranspose", ""),
            ("SeparableConvolution", "SeparableConv", "2D"),
            ("convolution", "conv", "1d 2d 3d"),
            ("convolution2d_transpose deconv2d deconvolution2d", "conv2d_transpose", ""),
            ("convolution3d_transpose deconv3d deconvolution3d", "conv3d_transpose", ""),
            ("separable_convolution", "separable_conv", "2d"),
        )
        for alias in aliases.split()
        for dims in all_dims.split() or [""]
    ),
    "layers.core": "FullyConnected=layers.Dense fully_connected=layers.dense",
    "layers.normalization": "BatchNorm=layers.BatchNormalization batch_norm=layers.batch_normalization",
    "layers.pooling": (
        "AvgPool2D=layers.AveragePooling2D MaxPool2D=layers.MaxPooling2D avg_pool2d=layers.average_pooling2d "
        "max_pool2d=layers.max_pooling2d"
    ),
    "lib.io.file_io": (
        "copy_v2=io.gfile.copy create_dir_v2=io.gfile.mkdir delete_file_v2=io.gfile.remove "
        "delete_recursively_v2=io.gfile.rmtree file_exists_v2=io.gfile.exists get_matching_files_v2=io.gfile.glob "
        "is_directory_v2=io.gfile.isdir list_directory_v2=io.gfile.listdir rename_v2=io.gfile.rename "
        "recursive_create_dir_v2=io.gfile.makedirs stat_v2=io.gfile.stat walk_v2=io.gfile.walk"
    ),
    "ops.array_ops": "extract_image_patches_v2=image.extract_patches",
    "ops.image_ops_impl": "non_max_suppression_with_overlaps=image.non_max_suppression_overlaps",
    "ops.init_ops": "identity_initializer=initializers.identity",
    "ops.linalg.linalg_impl": "matrix_exponential=linalg.expm",
    "ops.logging_ops": "print_v2=print",
    "ops.math_ops": "_bucketize=inner.gen_ops.bucketize matvec=linalg.matvec",
    "ops.nn_impl": "normalize=linalg.normalize",
    "ops.ragged.ragged_string_ops": (
        "ngrams=strings.ngrams string_bytes_split=strings.bytes_split string_split=string_split "
        "strings_split_v1=strings.split"
    ),
    "ops.script_ops": "eager_py_func=py_function",
    "ops.sparse_ops": "sparse_expand_dims=sparse.expand_dims sparse_eye=sparse.eye",
    "ops.stateless_random_ops": (
        "stateless_random_normal=random.stateless_normal stateless_random_uniform=random.stateless_uniform"
    ),
    "ops.string_ops": (
        "regex_full_match=strings.regex_full_match string_format=strings.format string_length=strings.length "
        "substr_deprecated=substr"
    ),
    "ops.variables": "RefVariable=client.ref_variable.RefVariable",
}
"""Names that are public under another one, which follows."""

AUTOGRAPH = (
    "converters.break_statements converters.continue_statements converters.return_statements core.converter "
    "core.naming impl.api pyct.anno pyct.common_transformers.anf pyct.compiler pyct.inspect_utils "
    "pyct.parser pyct.qual_names pyct.templates pyct.transformer utils.ag_logging"
)
