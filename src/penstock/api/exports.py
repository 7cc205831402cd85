"""The public names of each namespace, and where they are. Written by `python -m penstock.api.generate`."""

EXPORTS: dict[str, dict[str, str]] = {
    "penstock": {
        "penstock": (
            "app audio autograph bitwise cluster compat config contrib data debugging distribute distributions dtypes "
            "errors estimator feature_column flags gfile graph_util hub image initializers io keras layers linalg "
            "logging lookup losses manip math metrics nest nn placement profiler python python_io quantization queue "
            "ragged random raw_ops resource_loader saved_model sets signal sparse spectral strings summary sysconfig "
            "test tpu train tune user_ops version versions=version"
        ),
        "penstock.client.accumulators": (
            "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator"
        ),
        "penstock.client.compatibility": (
            "control_flow_v2_enabled dimension_at_index dimension_value disable_control_flow_v2=disable_v2_behavior "
            "disable_eager_execution=disable_v2_behavior disable_tensor_equality=disable_v2_behavior "
            "disable_v2_behavior disable_v2_tensorshape=disable_v2_behavior enable_control_flow_v2 "
            "enable_eager_execution enable_v2_behavior executing_eagerly op_scope"
        ),
        "penstock.client.critical_section": "CriticalSection",
        "penstock.client.custom_gradient": "custom_gradient grad_pass_through recompute_grad",
        "penstock.client.initializers": (
            "constant_initializer=Constant glorot_normal_initializer=GlorotNormal "
            "glorot_uniform_initializer=GlorotUniform ones_initializer=Ones orthogonal_initializer=Orthogonal "
            "random_normal_initializer=RandomNormal random_uniform_initializer=RandomUniform "
            "truncated_normal_initializer=TruncatedNormal uniform_unit_scaling_initializer=UniformUnitScaling "
            "variance_scaling_initializer=VarianceScaling zeros_initializer=Zeros"
        ),
        "penstock.client.lookup_tables": "initialize_all_tables tables_initializer",
        "penstock.client.module": "Module",
        "penstock.client.partitioners": (
            "create_partitioned_variables fixed_size_partitioner min_max_variable_partitioner "
            "variable_axis_size_partitioner"
        ),
        "penstock.client.queues": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
        "penstock.client.readers": (
            "FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader WholeFileReader"
        ),
        "penstock.client.template": "make_template",
        "penstock.client.variable": (
            "Variable VariableAggregation VariableSynchronization disable_resource_variables enable_resource_variables "
            "resource_variables_enabled"
        ),
        "penstock.client.variable_creators": "variable_creator_scope",
        "penstock.client.variable_scope": (
            "VariableScope get_local_variable get_variable get_variable_scope no_regularizer variable_op_scope "
            "variable_scope"
        ),
        "penstock.client.variable_store": "AUTO_REUSE",
        "penstock.client.variables": (
            "all_variables assert_variables_initialized global_variables global_variables_initializer "
            "initialize_all_variables initialize_local_variables initialize_variables local_variables "
            "local_variables_initializer model_variables moving_average_variables report_uninitialized_variables "
            "trainable_variables variables_initializer"
        ),
        "penstock.contrib.framework.checks": "is_tensor",
        "penstock.errors": "OpError",
        "penstock.exporting.onnx.model": "to_onnx",
        "penstock.exporting.torch.module": "to_torch",
        "penstock.gradients.aggregate": "AggregationMethod",
        "penstock.gradients.gradients": (
            "NoGradient=NotDifferentiable NotDifferentiable RegisterGradient UnconnectedGradients gradients "
            "no_gradient=NotDifferentiable"
        ),
        "penstock.graph.codec": "make_ndarray make_tensor_proto",
        "penstock.graph.composite": (
            "IndexedSlices IndexedSlicesValue SparseTensor SparseTensorValue convert_to_tensor_or_indexed_slices "
            "convert_to_tensor_or_sparse_tensor"
        ),
        "penstock.graph.constants": "get_static_value=constant_value",
        "penstock.graph.convert": "constant convert_to_tensor register_tensor_conversion_function",
        "penstock.graph.default_session": "get_default_session",
        "penstock.graph.device_spec": "DeviceSpec",
        "penstock.graph.functions": "init_scope",
        "penstock.graph.graph": "Graph",
        "penstock.graph.importer": "import_graph_def",
        "penstock.graph.opdef": "define_op",
        "penstock.graph.operation": "Operation Tensor",
        "penstock.graph.scopes": (
            "GraphKeys add_to_collection add_to_collections colocate_with container control_dependencies device "
            "get_all_collection_keys get_collection get_collection_ref get_default_graph get_seed name_scope "
            "reset_default_graph set_random_seed"
        ),
        "penstock.load_library": (
            "CXX11_ABI_FLAG MONOLITHIC_BUILD __cxx11_abi_flag__=CXX11_ABI_FLAG __monolithic_build__=MONOLITHIC_BUILD "
            "load_file_system_library load_library load_op_library"
        ),
        "penstock.logging": "get_logger",
        "penstock.ops.add_n": "accumulate_n add_n",
        "penstock.ops.arg_reductions": "arg_max arg_min argmax argmin",
        "penstock.ops.arithmetic": (
            "add atan2 maximum minimum mul=multiply multiply pow scalar_mul squared_difference sub=subtract subtract"
        ),
        "penstock.ops.array": "expand_dims newaxis rank reshape shape shape_n size squeeze",
        "penstock.ops.array_more": "guarantee_const parallel_stack roll",
        "penstock.ops.array_more_search": "searchsorted",
        "penstock.ops.basic": "group identity no_op placeholder placeholder_with_default tuple=gate_tuple",
        "penstock.ops.broadcasting": "broadcast_dynamic_shape broadcast_static_shape broadcast_to meshgrid",
        "penstock.ops.cast": (
            "cast saturate_cast to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 to_int64"
        ),
        "penstock.ops.checks": (
            "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near "
            "assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive"
        ),
        "penstock.ops.clip": "clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm",
        "penstock.ops.clock": "timestamp",
        "penstock.ops.compare": (
            "approximate_equal equal greater greater_equal less less_equal logical_and logical_not logical_or "
            "logical_xor not_equal"
        ),
        "penstock.ops.complex_numbers": "angle complex conj imag real",
        "penstock.ops.confusion_matrix": "confusion_matrix",
        "penstock.ops.control_flow.cond": "case cond switch_case",
        "penstock.ops.control_flow.functional": "foldl foldr map_fn scan",
        "penstock.ops.control_flow.tensor_array": "TensorArray",
        "penstock.ops.control_flow.while_loop": "while_loop",
        "penstock.ops.decoding": "decode_compressed decode_json_example decode_raw",
        "penstock.ops.decoding_csv": "decode_csv",
        "penstock.ops.diagonal": (
            "batch_matrix_band_part=matrix_band_part batch_matrix_diag=matrix_diag "
            "batch_matrix_diag_part=matrix_diag_part batch_matrix_set_diag=matrix_set_diag diag diag_part "
            "matrix_band_part matrix_diag matrix_diag_part matrix_set_diag"
        ),
        "penstock.ops.division": (
            "div div_no_nan divide floor_div floordiv floormod mod=floormod realdiv truediv truncatediv truncatemod"
        ),
        "penstock.ops.edit_distance": "edit_distance",
        "penstock.ops.einsum": "einsum tensordot",
        "penstock.ops.fft": (
            "batch_fft=fft batch_fft2d=fft2d batch_fft3d=fft3d batch_ifft=ifft batch_ifft2d=ifft2d batch_ifft3d=ifft3d "
            "fft fft2d fft3d ifft ifft2d ifft3d"
        ),
        "penstock.ops.files": "matching_files read_file write_file",
        "penstock.ops.filling": "eye fill one_hot ones ones_like sequence_mask zeros zeros_like",
        "penstock.ops.gather": "batch_gather boolean_mask gather",
        "penstock.ops.gather_nd": "gather_nd scatter_nd",
        "penstock.ops.histograms": "bincount histogram_fixed_width histogram_fixed_width_bins",
        "penstock.ops.image_patches": "extract_image_patches",
        "penstock.ops.joining": "concat split split_v=split",
        "penstock.ops.layout": "batch_matrix_transpose=matrix_transpose invert_permutation matrix_transpose transpose",
        "penstock.ops.linalg": (
            "batch_matrix_determinant=matrix_determinant batch_matrix_inverse=matrix_inverse matrix_determinant "
            "matrix_inverse"
        ),
        "penstock.ops.linalg_cross": "cross",
        "penstock.ops.linalg_solve": (
            "batch_cholesky=cholesky batch_cholesky_solve=cholesky_solve batch_matrix_solve=matrix_solve "
            "batch_matrix_solve_ls=matrix_solve_ls batch_matrix_triangular_solve=matrix_triangular_solve cholesky "
            "cholesky_solve matrix_solve matrix_solve_ls matrix_triangular_solve"
        ),
        "penstock.ops.linalg_spectra": (
            "batch_self_adjoint_eig=self_adjoint_eig batch_self_adjoint_eigvals=self_adjoint_eigvals batch_svd=svd qr "
            "self_adjoint_eig self_adjoint_eigvals svd"
        ),
        "penstock.ops.logging": "Assert Print",
        "penstock.ops.matrix": "matmul trace",
        "penstock.ops.old_names": "batch_matmul concat_v2 select",
        "penstock.ops.padding": "pad",
        "penstock.ops.parsing": (
            "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature parse_example parse_single_example"
        ),
        "penstock.ops.parsing_sequence": "parse_single_sequence_example",
        "penstock.ops.parsing_sequences": "parse_sequence_example",
        "penstock.ops.parsing_tensors": "parse_tensor serialize_tensor",
        "penstock.ops.partition": "dynamic_partition dynamic_stitch where where_v2",
        "penstock.ops.passing": (
            "add_check_numerics_ops bitcast check_numerics ensure_shape identity_n stop_gradient "
            "verify_tensor_all_finite"
        ),
        "penstock.ops.py_func": "numpy_function py_func py_function",
        "penstock.ops.quantization": "dequantize quantize quantize_v2",
        "penstock.ops.quantization_fake": (
            "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars "
            "fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel "
            "fake_quant_with_min_max_vars_per_channel_gradient"
        ),
        "penstock.ops.random": "multinomial random_crop random_normal random_shuffle random_uniform truncated_normal",
        "penstock.ops.random_distributions": "random_gamma random_poisson",
        "penstock.ops.reduce": (
            "count_nonzero norm reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod "
            "reduce_sum"
        ),
        "penstock.ops.repeat": "repeat",
        "penstock.ops.reversing": "reverse reverse_sequence reverse_v2=reverse tile",
        "penstock.ops.rounding": "ceil floor is_finite is_inf is_nan rint round",
        "penstock.ops.scan": "cumprod cumsum",
        "penstock.ops.scatter": (
            "batch_scatter_update scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd_add "
            "scatter_nd_sub scatter_nd_update scatter_sub scatter_update"
        ),
        "penstock.ops.segment": (
            "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max unsorted_segment_min "
            "unsorted_segment_prod unsorted_segment_sum"
        ),
        "penstock.ops.segment_gradients": "unsorted_segment_mean unsorted_segment_sqrt_n",
        "penstock.ops.sequences": "lin_space=linspace linspace range",
        "penstock.ops.session_tensors": "delete_session_tensor get_session_handle get_session_tensor",
        "penstock.ops.shape_checks": (
            "assert_integer assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in "
            "assert_same_float_dtype assert_scalar assert_type is_non_decreasing is_numeric_tensor "
            "is_strictly_increasing"
        ),
        "penstock.ops.slicing": "slice strided_slice",
        "penstock.ops.sort": "argsort sort",
        "penstock.ops.sorting": "list_diff=setdiff1d listdiff=setdiff1d setdiff1d unique unique_with_counts",
        "penstock.ops.space": (
            "batch_to_space batch_to_space_nd depth_to_space required_space_to_batch_paddings space_to_batch "
            "space_to_batch_nd space_to_depth"
        ),
        "penstock.ops.sparse_arithmetic": "sparse_add sparse_maximum sparse_minimum",
        "penstock.ops.sparse_functions": (
            "sparse_mask sparse_merge sparse_placeholder sparse_reset_shape sparse_retain sparse_to_indicator"
        ),
        "penstock.ops.sparse_joining": "sparse_concat sparse_split",
        "penstock.ops.sparse_layout": "sparse_reorder sparse_reshape sparse_slice sparse_transpose",
        "penstock.ops.sparse_matmul": "sparse_matmul sparse_tensor_dense_matmul",
        "penstock.ops.sparse_reduce": (
            "sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse sparse_softmax"
        ),
        "penstock.ops.sparse_rows": "sparse_fill_empty_rows",
        "penstock.ops.sparse_segment": "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum",
        "penstock.ops.sparse_serialize": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
        "penstock.ops.sparse_to_dense": "sparse_tensor_to_dense sparse_to_dense",
        "penstock.ops.special": "digamma erf erfc lgamma polygamma",
        "penstock.ops.special_binary": "betainc lbeta",
        "penstock.ops.special_gamma": "igamma igammac zeta",
        "penstock.ops.stacking": "pack=stack stack unpack=unstack unstack",
        "penstock.ops.state": "assign assign_add assign_sub count_up_to is_variable_initialized",
        "penstock.ops.string_conversions": "as_string decode_base64 encode_base64 string_to_number",
        "penstock.ops.string_format": "print=print_v2",
        "penstock.ops.string_hashing": (
            "fingerprint string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong"
        ),
        "penstock.ops.string_joining": "reduce_join string_join",
        "penstock.ops.string_patterns": "regex_replace",
        "penstock.ops.string_splitting": "string_split",
        "penstock.ops.strings": "string_strip substr",
        "penstock.ops.tensor_scatter": (
            "tensor_scatter_add tensor_scatter_nd_add=tensor_scatter_add tensor_scatter_nd_sub=tensor_scatter_sub "
            "tensor_scatter_nd_update=tensor_scatter_update tensor_scatter_sub tensor_scatter_update unravel_index"
        ),
        "penstock.ops.trigonometry": "acos acosh asin asinh atan atanh cos cosh sin sinh tan",
        "penstock.ops.unary": (
            "abs complex_abs=abs exp expm1 inv=reciprocal log log1p log_sigmoid neg=negative negative reciprocal rsqrt "
            "sigmoid sign sqrt square tanh"
        ),
        "penstock.ragged.tensor": "RaggedTensor",
        "penstock.session.gradient_checker": "hessians",
        "penstock.session.session": "InteractiveSession Session",
        "penstock.summary.functions": (
            "audio_summary histogram_summary image_summary merge_all_summaries merge_summary scalar_summary"
        ),
        "penstock.tensor.dtypes": (
            "DType QUANTIZED_DTYPES as_dtype bfloat16 bool complex128 complex64 double float16 float32 float64 half "
            "int16 int32 int64 int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 "
            "variant"
        ),
        "penstock.tensor.shapes": "Dimension TensorShape",
        "penstock.tensor.specs": "SparseTensorSpec TensorSpec",
        "penstock.version": (
            "COMPILER_VERSION GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
            "GRAPH_DEF_VERSION_MIN_PRODUCER VERSION __compiler_version__=COMPILER_VERSION __git_version__=GIT_VERSION "
            "__version__=VERSION"
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
    "penstock.audio": {
        "penstock.ops.audio": "decode_wav encode_wav",
    },
    "penstock.autograph": {
        "penstock.autograph": "experimental",
        "penstock.inner.autograph": "set_verbosity",
    },
    "penstock.autograph.experimental": {
        "penstock.inner.autograph": "do_not_convert",
    },
    "penstock.bitwise": {
        "penstock.ops.bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    },
    "penstock.cluster": {
        "penstock.cluster.launch.cluster": "Cluster Task connect names start",
    },
    "penstock.compat": {
        "penstock.client.compatibility": (
            "as_bytes as_str=as_text as_str_any as_text bytes_or_text_types complex_types control_flow_v2_enabled "
            "dimension_at_index dimension_value disable_control_flow_v2=disable_v2_behavior "
            "disable_eager_execution=disable_v2_behavior disable_tensor_equality=disable_v2_behavior "
            "disable_v2_behavior disable_v2_tensorshape=disable_v2_behavior enable_control_flow_v2 "
            "enable_eager_execution enable_v2_behavior executing_eagerly forward_compatibility_horizon "
            "forward_compatible integral_types op_scope path_to_str real_types"
        ),
        "penstock.compat": "v1 v2",
    },
    "penstock.config": {
        "penstock.client.physical_devices": "list_physical_devices",
        "penstock.config": "experimental",
    },
    "penstock.config.experimental": {
        "penstock.client.physical_devices": "get_memory_growth list_physical_devices set_memory_growth",
        "penstock.devices.determinism": "enable_op_determinism",
    },
    "penstock.contrib.checkpoint": {
        "penstock.client.trackable": (
            "Checkpointable=AutoTrackable CheckpointableBase=Trackable List Mapping NoDependency"
        ),
        "penstock.train.checkpoint_manager": "CheckpointManager",
        "penstock.train.object_graph": "list_objects object_metadata",
    },
    "penstock.contrib.cluster_resolver": {
        "penstock.estimator.on_tpus": "TPUClusterResolver",
    },
    "penstock.contrib.crf": {
        "penstock.contrib.crf.decoding": "CrfDecodeBackwardRnnCell CrfDecodeForwardRnnCell crf_decode viterbi_decode",
        "penstock.contrib.crf.scores": (
            "CrfForwardRnnCell crf_binary_score crf_log_likelihood crf_log_norm crf_multitag_sequence_score "
            "crf_sequence_score crf_unary_score"
        ),
    },
    "penstock.contrib.cudnn_rnn": {
        "penstock.contrib.cudnn_rnn.cells": "CudnnCompatibleGRUCell CudnnCompatibleLSTMCell",
        "penstock.contrib.cudnn_rnn.layers": "CudnnGRU CudnnLSTM",
    },
    "penstock.contrib.data": {
        "penstock.data.asked": "AUTOTUNE",
        "penstock.data.contrib_functions": "map_and_batch parallel_interleave scan",
        "penstock.data.contrib_transformations": (
            "Counter RandomDataset assert_element_shape batch_and_drop_remainder choose_from_datasets copy_to_device "
            "dense_to_sparse_batch enumerate_dataset get_single_element ignore_errors padded_batch_and_drop_remainder "
            "prefetch_to_device sample_from_datasets shuffle_and_repeat sliding_window_batch unbatch unique"
        ),
        "penstock.data.dataset": "Dataset",
        "penstock.data.features": "make_batched_features_dataset read_batch_features",
        "penstock.data.files": "FixedLengthRecordDataset TFRecordDataset TextLineDataset",
        "penstock.data.grouping": "Reducer bucket_by_sequence_length group_by_reducer group_by_window",
        "penstock.data.iterators": "Iterator make_saveable_from_iterator",
        "penstock.data.parquet": "ParquetDataset",
        "penstock.data.resampling": "rejection_resample",
        "penstock.data.tables": "CsvDataset SqlDataset make_csv_dataset",
        "penstock.training_loop.input_pipeline_hook": "CheckpointInputPipelineHook",
    },
    "penstock.contrib.deprecated": {
        "penstock.summary.functions": (
            "audio_summary histogram_summary image_summary merge_all_summaries merge_summary scalar_summary"
        ),
    },
    "penstock.contrib.distribute": {
        "penstock.distribute.multi_worker": "CollectiveAllReduceStrategy",
        "penstock.distribute.reduction": (
            "AllReduceCrossDeviceOps AllReduceCrossTowerOps=AllReduceCrossDeviceOps CrossDeviceOps "
            "CrossTowerOps=CrossDeviceOps ReductionToOneDeviceCrossDeviceOps=ReductionToOneDevice "
            "ReductionToOneDeviceCrossTowerOps=ReductionToOneDevice"
        ),
        "penstock.distribute.strategies": (
            "MirroredStrategy=ContribMirroredStrategy OneDeviceStrategy=ContribOneDeviceStrategy "
            "ParameterServerStrategy=ContribParameterServerStrategy"
        ),
        "penstock.distribute.strategy": (
            "DistributionStrategy=Strategy get_cross_replica_context get_cross_tower_context=get_cross_replica_context "
            "get_distribution_strategy=get_strategy get_replica_context get_tower_context=get_replica_context "
            "has_distribution_strategy=has_strategy"
        ),
        "penstock.estimator.distributed": "DistributeConfig",
    },
    "penstock.contrib.distributions": {
        "penstock.contrib.distributions.composed": "Independent Mixture MixtureSameFamily",
        "penstock.contrib.distributions.counts": "Binomial Geometric NegativeBinomial",
        "penstock.contrib.distributions.functions": (
            "fill_triangular fill_triangular_inverse matrix_diag_transform reduce_weighted_logsumexp softplus_inverse"
        ),
        "penstock.contrib.distributions.multivariate_normal": "MultivariateNormalFullCovariance MultivariateNormalTriL",
        "penstock.contrib.distributions.numbers": "Cauchy Deterministic Gumbel Logistic Poisson RelaxedBernoulli",
        "penstock.contrib.distributions.positive_numbers": (
            "Chi2 Chi2WithAbsDf HalfNormal InverseGamma InverseGammaWithSoftplusConcentrationRate"
        ),
        "penstock.contrib.distributions.statistics": "percentile",
        "penstock.contrib.distributions.transformed": "TransformedDistribution",
        "penstock.distributions.discrete": "Bernoulli Categorical OneHotCategorical",
        "penstock.distributions.distribution": (
            "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED ReparameterizationType"
        ),
        "penstock.distributions.gamma": "Beta Dirichlet Exponential Gamma",
        "penstock.distributions.kullback_leibler": "RegisterKL kl=kl_divergence kl_divergence",
        "penstock.distributions.location_scale": "Laplace StudentT Uniform",
        "penstock.distributions.multinomial": "DirichletMultinomial Multinomial",
        "penstock.distributions.normal": "MultivariateNormalDiag Normal",
        "penstock.distributions.relaxed": "ExpRelaxedOneHotCategorical RelaxedOneHotCategorical",
        "penstock.distributions.unconstrained": (
            "BernoulliWithSigmoidProbs BetaWithSoftplusConcentration ExponentialWithSoftplusRate "
            "GammaWithSoftplusConcentrationRate LaplaceWithSoftplusScale NormalWithSoftplusScale "
            "StudentTWithAbsDfSoftplusScale"
        ),
    },
    "penstock.contrib.distributions.bijectors": {
        "penstock.contrib.distributions.bijectors.autoregressive": (
            "MaskedAutoregressiveFlow masked_autoregressive_default_template masked_dense"
        ),
        "penstock.contrib.distributions.bijectors.bijector": "Bijector",
        "penstock.contrib.distributions.bijectors.combined": "Chain Inline Invert",
        "penstock.contrib.distributions.bijectors.elementwise": (
            "AffineScalar Exp Gumbel Identity PowerTransform Sigmoid Softplus Softsign Square"
        ),
        "penstock.contrib.distributions.bijectors.shapes": "FillTriangular Reshape",
        "penstock.contrib.distributions.bijectors.vectors": (
            "Affine Permute RealNVP SoftmaxCentered real_nvp_default_template"
        ),
    },
    "penstock.contrib.eager": {
        "penstock.client.compatibility": "enable_eager_execution executing_eagerly in_eager_mode=executing_eagerly",
        "penstock.client.custom_gradient": "custom_gradient",
        "penstock.client.resource_variable": "Variable=ResourceVariable",
        "penstock.client.template": "make_template",
        "penstock.client.traced_calls": "defun",
        "penstock.ops.py_func": "py_func=py_function",
        "penstock.tensor.specs": "TensorSpec",
        "penstock.train.object_checkpoint": "Checkpoint",
        "penstock.train.saver": "Saver",
    },
    "penstock.contrib.estimator": {
        "penstock.estimator.canned.boosted_trees_in_memory": (
            "boosted_trees_classifier_train_in_memory boosted_trees_regressor_train_in_memory"
        ),
        "penstock.estimator.canned.class_heads": "binary_classification_head multi_class_head multi_label_head",
        "penstock.estimator.canned.combined": "DNNLinearCombinedEstimator",
        "penstock.estimator.canned.dnn": "DNNEstimator",
        "penstock.estimator.canned.linear": "LinearEstimator",
        "penstock.estimator.canned.multi_head": "multi_head",
        "penstock.estimator.canned.regression_heads": (
            "logistic_regression_head poisson_regression_head regression_head"
        ),
        "penstock.estimator.early_stopping": (
            "make_early_stopping_hook read_eval_metrics stop_if_higher_hook stop_if_lower_hook "
            "stop_if_no_decrease_hook stop_if_no_increase_hook"
        ),
        "penstock.estimator.extenders": "add_metrics clip_gradients_by_norm forward_features",
        "penstock.estimator.towers": "TowerOptimizer replicate_model_fn",
    },
    "penstock.contrib.factorization": {
        "penstock.contrib.factorization.kmeans": (
            "COSINE_DISTANCE KMEANS_PLUS_PLUS_INIT KMeans RANDOM_INIT SQUARED_EUCLIDEAN_DISTANCE"
        ),
        "penstock.contrib.factorization.kmeans_clustering": "KMeansClustering",
        "penstock.contrib.factorization.mixture_estimator": "GMM",
        "penstock.contrib.factorization.mixtures": "GmmAlgorithm gmm",
        "penstock.contrib.factorization.wals": "WALSModel",
        "penstock.contrib.factorization.wals_estimator": "WALSMatrixFactorization",
    },
    "penstock.contrib.feature_column": {
        "penstock.feature_column.dense": "shared_embedding_columns",
        "penstock.feature_column.sequence_ids": (
            "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
            "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list"
        ),
        "penstock.feature_column.sequences": "concatenate_context_input sequence_input_layer sequence_numeric_column",
    },
    "penstock.contrib.framework": {
        "penstock": "nest",
        "penstock.checkpoint.inspect": "print_tensors_in_checkpoint_file",
        "penstock.client.critical_section": "CriticalSection",
        "penstock.client.readers": "RecordInput",
        "penstock.contrib.framework": "arg_scopes variables",
        "penstock.contrib.framework.arg_scopes": (
            "add_arg_scope arg_scope arg_scope_func_key arg_scoped_arguments current_arg_scope has_arg_scope"
        ),
        "penstock.contrib.framework.assignments": (
            "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn"
        ),
        "penstock.contrib.framework.checks": (
            "deprecated get_name_scope get_placeholders is_tensor with_same_shape with_shape"
        ),
        "penstock.contrib.framework.choices": "smart_cond smart_constant_value",
        "penstock.contrib.framework.variables": (
            "add_model_variable filter_variables get_local_variables get_model_variables get_trainable_variables "
            "get_unique_variable get_variable_full_name get_variables get_variables_by_name get_variables_by_suffix "
            "get_variables_to_restore global_variable local_variable model_variable variable"
        ),
        "penstock.ops.shape_checks": "assert_same_float_dtype assert_scalar",
        "penstock.ops.sort": "argsort sort",
        "penstock.tensor.specs": "TensorSpec",
        "penstock.train.checkpoint_utils": "init_from_checkpoint list_variables load_checkpoint load_variable",
        "penstock.train.global_step": "assert_global_step create_global_step get_global_step get_or_create_global_step",
    },
    "penstock.contrib.gan": {
        "penstock.contrib.gan.models": "acgan_model cyclegan_model gan_model infogan_model",
        "penstock.contrib.gan.namedtuples": (
            "ACGANModel CycleGANLoss CycleGANModel GANLoss GANModel GANTrainOps GANTrainSteps InfoGANModel"
        ),
        "penstock.contrib.gan.training": (
            "RunTrainOpsHook cyclegan_loss gan_loss gan_train gan_train_ops get_joint_train_hooks "
            "get_sequential_train_hooks get_sequential_train_steps"
        ),
    },
    "penstock.contrib.gan.eval": {
        "penstock.contrib.gan.eval.classifiers": (
            "INCEPTION_DEFAULT_IMAGE_SIZE frechet_inception_distance get_graph_def_from_disk inception_score "
            "preprocess_image run_image_classifier run_inception"
        ),
        "penstock.contrib.gan.eval.pictures": (
            "add_gan_model_image_summaries add_gan_model_summaries add_image_comparison_summaries "
            "add_regularization_loss_summaries image_grid image_reshaper"
        ),
        "penstock.contrib.gan.eval.scores": (
            "classifier_score classifier_score_from_logits frechet_classifier_distance "
            "frechet_classifier_distance_from_activations"
        ),
    },
    "penstock.contrib.gan.features": {
        "penstock.contrib.gan.features.conditioning": "condition_tensor condition_tensor_from_onehot",
        "penstock.contrib.gan.features.pool": "tensor_pool",
    },
    "penstock.contrib.gan.losses": {
        "penstock.contrib.gan.losses.of_models": (
            "acgan_discriminator_loss acgan_generator_loss combine_adversarial_loss cycle_consistency_loss "
            "least_squares_discriminator_loss least_squares_generator_loss minimax_discriminator_loss "
            "minimax_generator_loss modified_discriminator_loss modified_generator_loss mutual_information_penalty "
            "wasserstein_discriminator_loss wasserstein_generator_loss wasserstein_gradient_penalty"
        ),
    },
    "penstock.contrib.grid_rnn": {
        "penstock.contrib.grid_rnn.cells": (
            "Grid1BasicLSTMCell Grid1BasicRNNCell Grid1LSTMCell Grid2BasicLSTMCell Grid2BasicRNNCell Grid2GRUCell "
            "Grid2LSTMCell Grid3LSTMCell"
        ),
        "penstock.contrib.grid_rnn.grid": "GridRNNCell",
    },
    "penstock.contrib.image": {
        "penstock.ops.image_maps": (
            "angles_to_projective_transforms compose_transforms flat_transforms_to_matrices "
            "matrices_to_flat_transforms rotate transform translate translations_to_projective_transforms"
        ),
        "penstock.ops.image_warping": "dense_image_warp interpolate_spline sparse_image_warp",
        "penstock.ops.image_yiq": "adjust_hsv_in_yiq random_hsv_in_yiq",
    },
    "penstock.contrib.integrate": {
        "penstock.contrib.integrate.adaptive": "odeint",
        "penstock.contrib.integrate.fixed": "odeint_fixed",
    },
    "penstock.contrib.keras": {
        "penstock.keras": (
            "activations applications backend callbacks constraints datasets initializers layers losses metrics models "
            "optimizers preprocessing regularizers utils wrappers"
        ),
        "penstock.keras.engine.input_layer": "Input",
        "penstock.keras.engine.model": "Model",
        "penstock.keras.engine.sequential": "Sequential",
    },
    "penstock.contrib.layers": {
        "penstock.contrib.layers": "initializers normalization optimizers regularizers summaries utils",
        "penstock.contrib.layers.convolutions": (
            "conv1d conv2d conv2d_in_plane=convolution2d_in_plane conv2d_transpose conv3d conv3d_transpose convolution "
            "convolution1d convolution2d convolution2d_in_plane convolution2d_transpose convolution3d "
            "convolution3d_transpose separable_conv2d=separable_convolution2d separable_convolution2d"
        ),
        "penstock.contrib.layers.dense": "bias_add elu fully_connected linear relu relu6",
        "penstock.contrib.layers.embeddings": "embed_sequence embedding_lookup_unique",
        "penstock.contrib.layers.feature_columns": (
            "bucketized_column create_feature_spec_for_parsing crossed_column embedding_column "
            "input_from_feature_columns one_hot_column real_valued_column sparse_column_with_hash_bucket "
            "sparse_column_with_integerized_feature sparse_column_with_keys sparse_column_with_vocabulary_file "
            "weighted_sparse_column"
        ),
        "penstock.contrib.layers.group_normalization": "group_norm",
        "penstock.contrib.layers.initializers": (
            "variance_scaling_initializer xavier_initializer xavier_initializer_conv2d=xavier_initializer"
        ),
        "penstock.contrib.layers.normalization": "batch_norm instance_norm layer_norm",
        "penstock.contrib.layers.optimizers": (
            "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES adaptive_clipping_fn optimize_loss"
        ),
        "penstock.contrib.layers.plain": (
            "dense_to_sparse dropout flatten maxout one_hot_encoding repeat softmax spatial_softmax stack unit_norm"
        ),
        "penstock.contrib.layers.pooling": "avg_pool2d avg_pool3d max_pool2d max_pool3d pool",
        "penstock.contrib.layers.recompute": "recompute_grad",
        "penstock.contrib.layers.regularizers": (
            "apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer"
        ),
        "penstock.contrib.layers.summaries": (
            "summarize_activation summarize_activations summarize_biases summarize_collection summarize_tensor "
            "summarize_tensors summarize_variables summarize_weights"
        ),
        "penstock.ops.sparse_embedding": "safe_embedding_lookup_sparse",
    },
    "penstock.contrib.learn": {
        "penstock.contrib.factorization.kmeans_clustering": "KMeansClustering=LearnKMeansClustering",
        "penstock.contrib.learn": "datasets monitors preprocessing",
        "penstock.contrib.learn.canned": (
            "DNNClassifier DNNLinearCombinedClassifier DNNLinearCombinedRegressor DNNRegressor LinearClassifier "
            "LinearRegressor PredictionKey"
        ),
        "penstock.contrib.learn.estimator": "Estimator SKCompat",
        "penstock.contrib.learn.experiment": "Experiment",
        "penstock.contrib.learn.export_strategy": "ExportStrategy make_export_strategy",
        "penstock.contrib.learn.graph_actions": "evaluate infer run_feeds run_n train",
        "penstock.contrib.learn.graph_io": (
            "read_batch_examples read_batch_features read_batch_record_features read_keyed_batch_examples "
            "read_keyed_batch_features"
        ),
        "penstock.contrib.learn.inputs": "infer_real_valued_columns_from_input infer_real_valued_columns_from_input_fn",
        "penstock.contrib.learn.metric_spec": "MetricSpec",
        "penstock.contrib.learn.model_fn": "ModeKeys ModelFnOps",
        "penstock.contrib.learn.run_config": "RunConfig",
        "penstock.contrib.learn.serving": "InputFnOps build_parsing_serving_input_fn",
        "penstock.contrib.learn.skflow": (
            "TensorFlowDNNClassifier TensorFlowDNNRegressor TensorFlowEstimator TensorFlowLinearClassifier "
            "TensorFlowLinearRegressor"
        ),
        "penstock.contrib.tensor_forest.random_forest": "TensorForestEstimator",
        "penstock.estimator.cluster": "TaskType",
    },
    "penstock.contrib.legacy_seq2seq": {
        "penstock.rnn.attention_seq2seq": "attention_decoder embedding_attention_decoder embedding_attention_seq2seq",
        "penstock.rnn.legacy_seq2seq": (
            "basic_rnn_seq2seq embedding_rnn_decoder embedding_rnn_seq2seq model_with_buckets rnn_decoder"
        ),
        "penstock.rnn.sequence_loss": "sequence_loss=legacy_sequence_loss sequence_loss_by_example",
        "penstock.rnn.tied_seq2seq": "embedding_tied_rnn_seq2seq one2many_rnn_seq2seq tied_rnn_seq2seq",
    },
    "penstock.contrib.linalg": {
        "penstock.client.linear_operator": (
            "LinearOperator LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorIdentity "
            "LinearOperatorLowerTriangular LinearOperatorScaledIdentity "
            "LinearOperatorTriL=LinearOperatorLowerTriangular"
        ),
    },
    "penstock.contrib.lookup": {
        "penstock.client.lookup_initializers": (
            "KeyValueTensorInitializer TableInitializerBase TextFileIdTableInitializer TextFileIndex "
            "TextFileInitializer TextFileStringTableInitializer"
        ),
        "penstock.client.lookup_tables": "HashTable LookupInterface MutableDenseHashTable MutableHashTable",
        "penstock.client.lookup_vocabularies": (
            "FastHashSpec HasherSpec IdTableWithHashBuckets StrongHashSpec index_table_from_file "
            "index_table_from_tensor index_to_string index_to_string_table_from_file index_to_string_table_from_tensor "
            "string_to_index string_to_index_table_from_file=index_table_from_file "
            "string_to_index_table_from_tensor=index_table_from_tensor"
        ),
    },
    "penstock.contrib.losses": {
        "penstock.contrib.losses.predictions_first": (
            "absolute_difference add_loss compute_weighted_loss cosine_distance hinge_loss log_loss "
            "mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy "
            "sparse_softmax_cross_entropy sum_of_pairwise_squares=mean_pairwise_squared_error "
            "sum_of_squares=mean_squared_error"
        ),
        "penstock.losses.collected": "get_losses get_regularization_losses get_total_loss",
    },
    "penstock.contrib.losses.metric_learning": {
        "penstock.contrib.losses.metric_learning.embeddings": (
            "contrastive_loss lifted_struct_loss npairs_loss triplet_semihard_loss"
        ),
    },
    "penstock.contrib.memory_stats": {
        "penstock.ops.memory_stats": "BytesInUse=bytes_in_use BytesLimit=bytes_limit MaxBytesInUse=max_bytes_in_use",
    },
    "penstock.contrib.metrics": {
        "penstock.metrics.agreement": "cohen_kappa streaming_covariance streaming_pearson_correlation",
        "penstock.metrics.means": (
            "streaming_mean=mean streaming_mean_tensor=mean_tensor streaming_percentage_less=percentage_below"
        ),
        "penstock.metrics.streaming": (
            "accuracy aggregate_metric_map aggregate_metrics f1_score streaming_accuracy streaming_auc "
            "streaming_false_negatives streaming_false_positives streaming_mean_absolute_error "
            "streaming_mean_cosine_distance streaming_mean_iou streaming_mean_relative_error "
            "streaming_mean_squared_error streaming_precision streaming_precision_at_thresholds streaming_recall "
            "streaming_recall_at_thresholds streaming_root_mean_squared_error streaming_sensitivity_at_specificity "
            "streaming_specificity_at_sensitivity streaming_true_negatives streaming_true_positives"
        ),
        "penstock.metrics.streaming_ranking": (
            "sparse_recall_at_top_k streaming_recall_at_k streaming_sparse_average_precision_at_k "
            "streaming_sparse_average_precision_at_top_k streaming_sparse_precision_at_k "
            "streaming_sparse_precision_at_top_k streaming_sparse_recall_at_k"
        ),
        "penstock.ops.confusion_matrix": "confusion_matrix",
    },
    "penstock.contrib.mixed_precision": {
        "penstock.train.loss_scale_managers": (
            "ExponentialUpdateLossScaleManager FixedLossScaleManager LossScaleManager LossScaleOptimizer"
        ),
    },
    "penstock.contrib.model_pruning": {
        "penstock.contrib.model_pruning.cells": "MaskedBasicLSTMCell MaskedLSTMCell",
        "penstock.contrib.model_pruning.layers": (
            "masked_conv2d=masked_convolution masked_convolution masked_fully_connected"
        ),
        "penstock.contrib.model_pruning.learning": "train",
        "penstock.contrib.model_pruning.masks": (
            "apply_mask get_masked_weights get_masks get_thresholds get_weight_sparsity get_weights"
        ),
        "penstock.contrib.model_pruning.pruning": "Pruning get_pruning_hparams",
        "penstock.contrib.model_pruning.stripping": "graph_def_from_checkpoint strip_pruning_vars_fn",
    },
    "penstock.contrib.nccl": {
        "penstock.contrib.nccl.reductions": "all_max all_min all_prod all_sum broadcast reduce_sum",
    },
    "penstock.contrib.nn": {
        "penstock.ops.nn.dropout": "alpha_dropout",
        "penstock.ops.nn.logits_first_functions": (
            "deprecated_flipped_sigmoid_cross_entropy_with_logits=flipped_sigmoid "
            "deprecated_flipped_softmax_cross_entropy_with_logits=flipped_softmax "
            "deprecated_flipped_sparse_softmax_cross_entropy_with_logits=flipped_sparse_softmax"
        ),
        "penstock.ops.nn.nth_element": "nth_element",
    },
    "penstock.contrib.opt": {
        "penstock.contrib.opt.adam": "AdaMaxOptimizer LazyAdamOptimizer NadamOptimizer",
        "penstock.contrib.opt.external": "ExternalOptimizerInterface ScipyOptimizerInterface",
        "penstock.contrib.opt.layerwise": "LARSOptimizer",
        "penstock.contrib.opt.moving_average": "MovingAverageOptimizer",
        "penstock.contrib.opt.signs": "AddSignOptimizer PowerSignOptimizer",
        "penstock.contrib.opt.weight_decay": (
            "AdamWOptimizer DecoupledWeightDecayExtension MomentumWOptimizer extend_with_decoupled_weight_decay"
        ),
    },
    "penstock.contrib.predictor": {
        "penstock.estimator.predictor": "from_estimator from_saved_model",
    },
    "penstock.contrib.quantize": {
        "penstock.contrib.quantize.rewrite": (
            "create_eval_graph create_training_graph experimental_create_eval_graph experimental_create_training_graph"
        ),
    },
    "penstock.contrib.receptive_field": {
        "penstock.contrib.receptive_field.field": "compute_receptive_field_from_graph_def",
        "penstock.contrib.receptive_field.order": "get_compute_order",
    },
    "penstock.contrib.resampler": {
        "penstock.ops.image_resampler": "resampler",
    },
    "penstock.contrib.rnn": {
        "penstock": "core_rnn_cell=rnn_cell rnn_cell",
        "penstock.rnn.base": "LayerRNNCell=RNNCell RNNCell",
        "penstock.rnn.bidirectional": "stack_bidirectional_dynamic_rnn",
        "penstock.rnn.cells": "BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple MultiRNNCell",
        "penstock.rnn.contrib_cells": "GRUBlockCell GRUBlockCellV2 LSTMBlockCell LayerNormBasicLSTMCell",
        "penstock.rnn.contrib_wrappers": "AttentionCellWrapper CompiledWrapper HighwayWrapper",
        "penstock.rnn.conv_cells": "Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell ConvLSTMCell",
        "penstock.rnn.dynamic": "transpose_batch_time=swap_batch_and_time",
        "penstock.rnn.fused": "FusedRNNCell FusedRNNCellAdaptor LSTMBlockFusedCell TimeReversedFusedRNN",
        "penstock.rnn.gated_cells": "CoupledInputForgetGateLSTMCell IntersectionRNNCell NASCell UGRNNCell",
        "penstock.rnn.linear": "_linear=linear",
        "penstock.rnn.projection": "EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper",
        "penstock.rnn.static": "stack_bidirectional_rnn static_bidirectional_rnn static_rnn static_state_saving_rnn",
        "penstock.rnn.steps": "best_effort_input_batch_size",
        "penstock.rnn.timed_cells": "IndRNNCell PhasedLSTMCell",
        "penstock.rnn.wrappers": "DeviceWrapper DropoutWrapper ResidualWrapper",
    },
    "penstock.contrib.seq2seq": {
        "penstock.ops.gather_tree": "gather_tree",
        "penstock.rnn.sequence_loss": "sequence_loss",
        "penstock.seq2seq.attention": "AttentionMechanism BahdanauAttention LuongAttention",
        "penstock.seq2seq.attention_wrapper": (
            "AttentionWrapper AttentionWrapperState DynamicAttentionWrapper=AttentionWrapper hardmax"
        ),
        "penstock.seq2seq.basic_decoder": "BasicDecoder BasicDecoderOutput",
        "penstock.seq2seq.beam_arrays": "gather_tree_from_array",
        "penstock.seq2seq.beam_search": "BeamSearchDecoder FinalBeamSearchDecoderOutput tile_batch",
        "penstock.seq2seq.beam_step": "BeamSearchDecoderOutput BeamSearchDecoderState",
        "penstock.seq2seq.decoder": "Decoder dynamic_decode",
        "penstock.seq2seq.decoder_fn": (
            "attention_decoder_fn_inference attention_decoder_fn_train dynamic_rnn_decoder prepare_attention "
            "simple_decoder_fn_inference simple_decoder_fn_train"
        ),
        "penstock.seq2seq.helpers": (
            "CustomHelper GreedyEmbeddingHelper Helper InferenceHelper SampleEmbeddingHelper TrainingHelper"
        ),
        "penstock.seq2seq.monotonic": (
            "BahdanauMonotonicAttention LuongMonotonicAttention monotonic_attention safe_cumprod"
        ),
        "penstock.seq2seq.scheduled_helpers": "ScheduledEmbeddingTrainingHelper ScheduledOutputTrainingHelper",
    },
    "penstock.contrib.signal": {
        "penstock.ops.signal": (
            "frame hamming_window hann_window inverse_stft inverse_stft_window_fn linear_to_mel_weight_matrix "
            "mfccs_from_log_mel_spectrograms overlap_and_add stft"
        ),
    },
    "penstock.contrib.slim": {
        "penstock.contrib": "layers losses metrics",
        "penstock.contrib.framework": "variables",
        "penstock.contrib.framework.arg_scopes": (
            "add_arg_scope arg_scope arg_scope_func_key arg_scoped_arguments current_arg_scope has_arg_scope"
        ),
        "penstock.contrib.framework.assignments": (
            "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn"
        ),
        "penstock.contrib.framework.variables": (
            "add_model_variable filter_variables get_local_variables get_model_variables get_trainable_variables "
            "get_unique_variable get_variable_full_name get_variables get_variables_by_name get_variables_by_suffix "
            "get_variables_to_restore global_variable local_variable model_variable variable"
        ),
        "penstock.contrib.layers": "initializers regularizers utils",
        "penstock.contrib.layers.convolutions": (
            "conv1d conv2d conv2d_in_plane=convolution2d_in_plane conv2d_transpose conv3d conv3d_transpose convolution "
            "convolution1d convolution2d convolution2d_in_plane convolution2d_transpose convolution3d "
            "convolution3d_transpose separable_conv2d=separable_convolution2d separable_convolution2d"
        ),
        "penstock.contrib.layers.dense": "bias_add elu fully_connected linear relu relu6",
        "penstock.contrib.layers.embeddings": "embed_sequence embedding_lookup_unique",
        "penstock.contrib.layers.group_normalization": "group_norm",
        "penstock.contrib.layers.initializers": (
            "variance_scaling_initializer xavier_initializer xavier_initializer_conv2d=xavier_initializer"
        ),
        "penstock.contrib.layers.normalization": "batch_norm instance_norm layer_norm",
        "penstock.contrib.layers.optimizers": (
            "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES adaptive_clipping_fn optimize_loss"
        ),
        "penstock.contrib.layers.plain": (
            "dense_to_sparse dropout flatten maxout one_hot_encoding repeat softmax spatial_softmax stack unit_norm"
        ),
        "penstock.contrib.layers.pooling": "avg_pool2d avg_pool3d max_pool2d max_pool3d pool",
        "penstock.contrib.layers.regularizers": (
            "apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer"
        ),
        "penstock.contrib.layers.summaries": (
            "summarize_activation summarize_activations summarize_biases summarize_collection summarize_tensor "
            "summarize_tensors summarize_variables summarize_weights"
        ),
        "penstock.contrib.slim": (
            "data_decoder data_provider dataset dataset_data_provider evaluation learning model_analyzer nets "
            "parallel_reader prefetch_queue queues summaries tfexample_decoder"
        ),
        "penstock.python.framework": "dtypes ops sparse_tensor tensor_shape",
        "penstock.python.ops": (
            "array_ops clip_ops control_flow_ops embedding_ops init_ops math_ops nn nn_ops parsing_ops random_ops "
            "sparse_ops string_ops variable_scope vs=variable_scope"
        ),
        "penstock.python.training": "moving_averages",
        "penstock.python.util": "nest",
        "penstock.train.global_step": "assert_global_step create_global_step get_global_step get_or_create_global_step",
    },
    "penstock.contrib.staging": {
        "penstock.client.staging_areas": "StagingArea",
    },
    "penstock.contrib.stateless": {
        "penstock.ops.random_stateless": (
            "stateless_multinomial stateless_random_normal stateless_random_uniform stateless_truncated_normal"
        ),
    },
    "penstock.contrib.summary": {
        "penstock.contrib.summary.recording": "audio generic histogram image scalar",
        "penstock.contrib.summary.writers": (
            "SummaryWriter all_summary_ops always_record_summaries create_file_writer "
            "create_summary_file_writer=create_file_writer eval_dir flush graph=write_graph import_event initialize "
            "never_record_summaries record_summaries_every_n_global_steps should_record_summaries "
            "summary_writer_initializer_op"
        ),
    },
    "penstock.contrib.tensor_forest": {
        "penstock.contrib.tensor_forest": "random_forest tensor_forest",
    },
    "penstock.contrib.tensorrt": {
        "penstock.graph.tensorrt": "create_inference_graph",
    },
    "penstock.contrib.timeseries": {
        "penstock.contrib.timeseries.ar_model": "ARModel",
        "penstock.contrib.timeseries.estimators": "ARRegressor",
        "penstock.contrib.timeseries.feature_keys": "FilteringResults TrainEvalFeatures",
        "penstock.contrib.timeseries.reading": "CSVReader NumpyReader",
        "penstock.contrib.timeseries.windows": "RandomWindowInputFn WholeDatasetInputFn predict_continuation_input_fn",
    },
    "penstock.contrib.tpu": {
        "penstock.estimator.on_tpus": (
            "CrossShardOptimizer InputPipelineConfig RunConfig=TPURunConfig TPUConfig TPUEstimator TPUEstimatorSpec "
            "bfloat16_scope cross_replica_sum"
        ),
    },
    "penstock.contrib.training": {
        "penstock.contrib.training.buckets": "bucket bucket_by_sequence_length",
        "penstock.contrib.training.checkpoints": "wait_for_new_checkpoint",
        "penstock.contrib.training.hparams": "HParams parse_values",
        "penstock.contrib.training.train_ops": (
            "add_gradients_summaries clip_gradient_norms clip_gradient_norms_fn create_train_op multiply_gradients"
        ),
        "penstock.contrib.training.training": "train",
        "penstock.train.checkpoint_utils": "checkpoints_iterator",
        "penstock.train.device_setter": "GreedyLoadBalancingStrategy RandomStrategy byte_size_load_fn",
        "penstock.training_loop.evaluation": "evaluate_once evaluate_repeatedly get_or_create_eval_step",
        "penstock.training_loop.evaluation_hooks": "StopAfterNEvalsHook SummaryAtEndHook",
    },
    "penstock.contrib.util": {
        "penstock.graph.codec": "make_ndarray make_tensor_proto",
        "penstock.graph.constants": "constant_value",
        "penstock.graph.extraction": "ops_used_by_graph_def",
    },
    "penstock.data": {
        "penstock.data": "experimental",
        "penstock.data.asked": "AUTOTUNE get_output_classes get_output_shapes get_output_types",
        "penstock.data.dataset": "Dataset",
        "penstock.data.files": "FixedLengthRecordDataset TFRecordDataset TextLineDataset",
        "penstock.data.iterators": "Iterator make_initializable_iterator make_one_shot_iterator",
        "penstock.data.options": "Options",
    },
    "penstock.data.experimental": {
        "penstock.data.asked": "AUTOTUNE",
        "penstock.data.contrib_functions": (
            "map_and_batch map_and_batch_with_legacy_function=map_and_batch parallel_interleave scan take_while"
        ),
        "penstock.data.contrib_transformations": (
            "Counter RandomDataset choose_from_datasets copy_to_device dense_to_sparse_batch enumerate_dataset "
            "get_single_element ignore_errors prefetch_to_device sample_from_datasets shuffle_and_repeat unbatch "
            "unique"
        ),
        "penstock.data.features": "make_batched_features_dataset parse_example_dataset",
        "penstock.data.grouping": "Reducer bucket_by_sequence_length group_by_reducer group_by_window",
        "penstock.data.iterators": "make_saveable_from_iterator",
        "penstock.data.options": (
            "DistributeOptions MapVectorizationOptions OptimizationOptions StatsOptions ThreadingOptions"
        ),
        "penstock.data.parquet": "ParquetDataset",
        "penstock.data.resampling": "rejection_resample",
        "penstock.data.tables": "CsvDataset SqlDataset make_csv_dataset",
        "penstock.data.writing": "TFRecordWriter",
        "penstock.training_loop.input_pipeline_hook": "CheckpointInputPipelineHook",
    },
    "penstock.debugging": {
        "penstock.ops.checks": (
            "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near "
            "assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive"
        ),
        "penstock.ops.logging": "Assert",
        "penstock.ops.passing": "assert_all_finite=verify_tensor_all_finite check_numerics",
        "penstock.ops.rounding": "is_finite is_inf is_nan",
        "penstock.ops.shape_checks": (
            "assert_integer assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in "
            "assert_same_float_dtype assert_scalar assert_type is_non_decreasing is_numeric_tensor "
            "is_strictly_increasing"
        ),
        "penstock.ops.shape_relations": "assert_shapes",
    },
    "penstock.distribute": {
        "penstock.distribute": "experimental",
        "penstock.distribute.inputs": "InputContext",
        "penstock.distribute.reduction": (
            "CrossDeviceOps HierarchicalCopyAllReduce=AllReduceCrossDeviceOps NcclAllReduce=AllReduceCrossDeviceOps "
            "ReduceOp ReductionToOneDevice"
        ),
        "penstock.distribute.strategies": "MirroredStrategy OneDeviceStrategy",
        "penstock.distribute.strategy": (
            "Strategy get_replica_context get_strategy has_strategy in_cross_replica_context"
        ),
    },
    "penstock.distribute.experimental": {
        "penstock.distribute.multi_worker": "CollectiveCommunication MultiWorkerMirroredStrategy",
        "penstock.distribute.strategies": "CentralStorageStrategy ParameterServerStrategy",
    },
    "penstock.distributions": {
        "penstock.distributions.discrete": "Bernoulli Categorical",
        "penstock.distributions.distribution": (
            "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED ReparameterizationType"
        ),
        "penstock.distributions.gamma": "Beta Dirichlet Exponential Gamma",
        "penstock.distributions.kullback_leibler": "RegisterKL kl_divergence",
        "penstock.distributions.location_scale": "Laplace StudentT Uniform",
        "penstock.distributions.multinomial": "DirichletMultinomial Multinomial",
        "penstock.distributions.normal": "Normal",
    },
    "penstock.dtypes": {
        "penstock.ops.cast": "cast saturate_cast",
        "penstock.ops.complex_numbers": "complex",
        "penstock.ops.string_conversions": "as_string",
        "penstock.tensor.dtypes": (
            "DType QUANTIZED_DTYPES as_dtype bfloat16 bool complex128 complex64 double float16 float32 float64 half "
            "int16 int32 int64 int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 "
            "variant"
        ),
    },
    "penstock.estimator": {
        "penstock.estimator": "experimental export inputs tpu",
        "penstock.estimator.canned.baseline": "BaselineClassifier BaselineEstimator BaselineRegressor",
        "penstock.estimator.canned.boosted_trees": "BoostedTreesClassifier BoostedTreesEstimator BoostedTreesRegressor",
        "penstock.estimator.canned.combined": (
            "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor"
        ),
        "penstock.estimator.canned.dnn": "DNNClassifier DNNEstimator DNNRegressor",
        "penstock.estimator.canned.head_classes": (
            "BinaryClassHead LogisticRegressionHead MultiClassHead MultiLabelHead PoissonRegressionHead RegressionHead"
        ),
        "penstock.estimator.canned.linear": "LinearClassifier LinearEstimator LinearRegressor",
        "penstock.estimator.canned.parsing": "classifier_parse_example_spec regressor_parse_example_spec",
        "penstock.estimator.estimator": "Estimator",
        "penstock.estimator.exporter": "BestExporter Exporter FinalExporter LatestExporter",
        "penstock.estimator.extenders": "add_metrics",
        "penstock.estimator.mode_keys": "ModeKeys",
        "penstock.estimator.run_config": "RunConfig",
        "penstock.estimator.spec": "EstimatorSpec",
        "penstock.estimator.specs": "EvalSpec TrainSpec",
        "penstock.estimator.train_and_evaluate": "train_and_evaluate",
        "penstock.estimator.warm_start": "WarmStartSettings",
        "penstock.train.session_run_hook": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
        "penstock.train.warm_starting": "VocabInfo",
        "penstock.training_loop.hooks": (
            "FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError NanTensorHook "
            "StepCounterHook StopAtStepHook"
        ),
        "penstock.training_loop.profiler_hook": "ProfilerHook",
        "penstock.training_loop.saving_hooks": "CheckpointSaverHook CheckpointSaverListener SummarySaverHook",
        "penstock.training_loop.timers": "SecondOrStepTimer",
    },
    "penstock.estimator.experimental": {
        "penstock.contrib.factorization.kmeans_clustering": "KMeans=KMeansClustering",
        "penstock.estimator.early_stopping": (
            "make_early_stopping_hook read_eval_metrics stop_if_higher_hook stop_if_lower_hook "
            "stop_if_no_decrease_hook stop_if_no_increase_hook"
        ),
    },
    "penstock.estimator.export": {
        "penstock.estimator.export.outputs": "ClassificationOutput ExportOutput PredictOutput RegressionOutput",
        "penstock.estimator.export.receivers": (
            "ServingInputReceiver TensorServingInputReceiver build_parsing_serving_input_receiver_fn "
            "build_raw_serving_input_receiver_fn"
        ),
    },
    "penstock.estimator.inputs": {
        "penstock.estimator.inputs.numpy_io": "numpy_input_fn",
        "penstock.estimator.inputs.pandas_io": "pandas_input_fn",
    },
    "penstock.estimator.tpu": {
        "penstock.estimator.on_tpus": (
            "InputPipelineConfig RunConfig=TPURunConfig TPUConfig TPUEstimator TPUEstimatorSpec"
        ),
    },
    "penstock.feature_column": {
        "penstock.feature_column.categorical": (
            "categorical_column_with_hash_bucket categorical_column_with_identity "
            "categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list "
            "weighted_categorical_column"
        ),
        "penstock.feature_column.crossed": "crossed_column",
        "penstock.feature_column.dense": "embedding_column indicator_column shared_embedding_columns",
        "penstock.feature_column.inputs": "input_layer",
        "penstock.feature_column.linear": "linear_model",
        "penstock.feature_column.numeric": "bucketized_column numeric_column",
        "penstock.feature_column.parsing": "make_parse_example_spec",
        "penstock.feature_column.sequence_ids": (
            "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
            "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list"
        ),
        "penstock.feature_column.sequences": "sequence_numeric_column",
    },
    "penstock.graph_util": {
        "penstock.graph.extraction": (
            "convert_variables_to_constants extract_sub_graph must_run_on_cpu remove_training_nodes "
            "tensor_shape_from_node_def_name"
        ),
        "penstock.graph.importer": "import_graph_def",
    },
    "penstock.hub": {
        "penstock.hub.handles": "resolve",
        "penstock.hub.loading": "KerasLayer load",
        "penstock.hub.module": "Module ModuleSpec get_expected_image_size get_num_image_channels load_module_spec",
    },
    "penstock.image": {
        "penstock.ops.image_adjust": (
            "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation grayscale_to_rgb "
            "random_brightness random_contrast random_hue random_saturation rgb_to_grayscale rgb_to_yiq rgb_to_yuv "
            "yiq_to_rgb yuv_to_rgb"
        ),
        "penstock.ops.image_boxes": "draw_bounding_boxes",
        "penstock.ops.image_color": "hsv_to_rgb rgb_to_hsv",
        "penstock.ops.image_crops": "crop_and_resize",
        "penstock.ops.image_decode": "decode_bmp decode_gif decode_image decode_png",
        "penstock.ops.image_decode_jpeg": "decode_and_crop_jpeg decode_jpeg extract_jpeg_shape is_jpeg",
        "penstock.ops.image_encode": "encode_jpeg encode_png",
        "penstock.ops.image_functions": "ResizeMethod resize=resize_images resize_images",
        "penstock.ops.image_jpeg_quality": "adjust_jpeg_quality random_jpeg_quality",
        "penstock.ops.image_measures": "image_gradients psnr sobel_edges ssim ssim_multiscale total_variation",
        "penstock.ops.image_patches": "extract_image_patches extract_patches",
        "penstock.ops.image_resize": "resize_area resize_bicubic resize_bilinear resize_nearest_neighbor",
        "penstock.ops.image_sampling": "extract_glimpse sample_distorted_bounding_box",
        "penstock.ops.image_suppression": (
            "combined_non_max_suppression non_max_suppression non_max_suppression_overlaps non_max_suppression_padded "
            "non_max_suppression_with_scores"
        ),
        "penstock.ops.image_turning": (
            "flip_left_right flip_up_down random_flip_left_right random_flip_up_down rot90 transpose=transpose_image "
            "transpose_image"
        ),
        "penstock.ops.image_values": (
            "convert_image_dtype per_image_standardization per_image_whitening=per_image_standardization"
        ),
        "penstock.ops.image_windows": (
            "central_crop crop_to_bounding_box pad_to_bounding_box resize_image_with_crop_or_pad resize_image_with_pad "
            "resize_with_crop_or_pad=resize_image_with_crop_or_pad"
        ),
        "penstock.ops.random": "random_crop",
    },
    "penstock.initializers": {
        "penstock.client.initializers": (
            "Constant GlorotNormal GlorotUniform Identity Initializer Ones Orthogonal RandomNormal RandomUniform "
            "TruncatedNormal UniformUnitScaling VarianceScaling Zeros constant=Constant glorot_normal=GlorotNormal "
            "glorot_uniform=GlorotUniform he_normal he_uniform identity=Identity lecun_normal lecun_uniform ones=Ones "
            "orthogonal=Orthogonal random_normal=RandomNormal random_uniform=RandomUniform "
            "truncated_normal=TruncatedNormal uniform_unit_scaling=UniformUnitScaling variance_scaling=VarianceScaling "
            "zeros=Zeros"
        ),
        "penstock.client.lookup_tables": "tables_initializer",
        "penstock.client.variables": (
            "global_variables=global_variables_initializer local_variables=local_variables_initializer "
            "variables=variables_initializer"
        ),
    },
    "penstock.io": {
        "penstock.client.queues": "PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
        "penstock.io": "gfile",
        "penstock.ops.decoding": "decode_compressed decode_json_example decode_raw",
        "penstock.ops.decoding_csv": "decode_csv",
        "penstock.ops.files": "matching_files read_file write_file",
        "penstock.ops.image_decode": "decode_bmp decode_gif decode_image decode_png",
        "penstock.ops.image_decode_jpeg": "decode_and_crop_jpeg decode_jpeg extract_jpeg_shape is_jpeg",
        "penstock.ops.image_encode": "encode_jpeg encode_png",
        "penstock.ops.parsing": (
            "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature parse_example parse_single_example"
        ),
        "penstock.ops.parsing_sequence": "parse_single_sequence_example",
        "penstock.ops.parsing_sequences": "parse_sequence_example",
        "penstock.ops.parsing_tensors": "parse_tensor serialize_tensor",
        "penstock.ops.sparse_serialize": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
        "penstock.ops.string_conversions": "decode_base64 encode_base64",
        "penstock.records.writer": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
        "penstock.train.input.producers": "match_filenames_once",
        "penstock.train.meta_graph": "write_graph",
    },
    "penstock.keras": {
        "penstock.keras": (
            "activations applications backend callbacks constraints datasets estimator initializers layers losses "
            "metrics models optimizers preprocessing regularizers utils wrappers"
        ),
        "penstock.keras.engine.files": "__version__=VERSION",
        "penstock.keras.engine.input_layer": "Input",
        "penstock.keras.engine.model": "Model",
        "penstock.keras.engine.sequential": "Sequential",
    },
    "penstock.keras.activations": {
        "penstock.keras.activations.functions": (
            "deserialize elu exponential get hard_sigmoid linear relu selu serialize sigmoid softmax softplus softsign "
            "tanh"
        ),
    },
    "penstock.keras.applications": {
        "penstock.keras.applications": (
            "densenet imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 resnet resnet50 resnet_v2 "
            "vgg16 vgg19 xception"
        ),
        "penstock.keras.applications.dense_blocks": "DenseNet121 DenseNet169 DenseNet201",
        "penstock.keras.applications.inception": "InceptionResNetV2 InceptionV3",
        "penstock.keras.applications.mobile": "MobileNet MobileNetV2",
        "penstock.keras.applications.residual": "ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2",
        "penstock.keras.applications.separable": "Xception",
        "penstock.keras.applications.vgg": "VGG16 VGG19",
    },
    "penstock.keras.applications.densenet": {
        "penstock.keras.applications.dense_blocks": "DenseNet121 DenseNet169 DenseNet201",
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_torch",
    },
    "penstock.keras.applications.imagenet_utils": {
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input",
    },
    "penstock.keras.applications.inception_resnet_v2": {
        "penstock.keras.applications.inception": "InceptionResNetV2",
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_tf",
    },
    "penstock.keras.applications.inception_v3": {
        "penstock.keras.applications.inception": "InceptionV3",
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_tf",
    },
    "penstock.keras.applications.mobilenet": {
        "penstock.keras.applications.mobile": "MobileNet",
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_tf",
    },
    "penstock.keras.applications.mobilenet_v2": {
        "penstock.keras.applications.mobile": "MobileNetV2",
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_tf",
    },
    "penstock.keras.applications.resnet": {
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_caffe",
        "penstock.keras.applications.residual": "ResNet101 ResNet152 ResNet50",
    },
    "penstock.keras.applications.resnet50": {
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_caffe",
        "penstock.keras.applications.residual": "ResNet50",
    },
    "penstock.keras.applications.resnet_v2": {
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_tf",
        "penstock.keras.applications.residual": "ResNet101V2 ResNet152V2 ResNet50V2",
    },
    "penstock.keras.applications.vgg16": {
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_caffe",
        "penstock.keras.applications.vgg": "VGG16",
    },
    "penstock.keras.applications.vgg19": {
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_caffe",
        "penstock.keras.applications.vgg": "VGG19",
    },
    "penstock.keras.applications.xception": {
        "penstock.keras.applications.preparation": "decode_predictions preprocess_input=as_tf",
        "penstock.keras.applications.separable": "Xception",
    },
    "penstock.keras.backend": {
        "penstock.graph.scopes": "name_scope",
        "penstock.keras.backend.branches": "foldl foldr in_test_phase in_train_phase map_fn print_tensor switch",
        "penstock.keras.backend.ctc": "ctc_batch_cost ctc_decode ctc_label_dense_to_sparse",
        "penstock.keras.backend.elementwise": (
            "abs clip cos equal exp greater greater_equal identity less less_equal log maximum minimum not_equal pow "
            "round sign sin sqrt square stop_gradient"
        ),
        "penstock.keras.backend.local": "local_conv1d local_conv2d",
        "penstock.keras.backend.networks": (
            "bias_add binary_crossentropy categorical_crossentropy conv1d conv2d conv3d dropout elu hard_sigmoid "
            "in_top_k l2_normalize pool2d relu sigmoid softmax softplus softsign sparse_categorical_crossentropy tanh"
        ),
        "penstock.keras.backend.normalization": "batch_normalization normalize_batch_in_training",
        "penstock.keras.backend.recurrence": "rnn",
        "penstock.keras.backend.reductions": (
            "all any argmax argmin batch_dot cumprod cumsum dot gather logsumexp max mean min prod std sum transpose "
            "var"
        ),
        "penstock.keras.backend.settings": (
            "backend cast_to_floatx epsilon floatx image_data_format set_epsilon set_floatx set_image_data_format"
        ),
        "penstock.keras.backend.shapes": (
            "batch_flatten cast concatenate expand_dims flatten one_hot permute_dimensions repeat repeat_elements "
            "reshape resize_images reverse shape spatial_2d_padding squeeze stack temporal_padding tile"
        ),
        "penstock.keras.backend.state": (
            "batch_get_value batch_set_value clear_session eval=eval_ function get_session get_uid get_value gradients "
            "learning_phase learning_phase_scope manual_variable_initialization reset_uids set_learning_phase "
            "set_session set_value variable"
        ),
        "penstock.keras.backend.tensors": (
            "arange constant count_params dtype eye int_shape is_keras_tensor is_placeholder is_sparse "
            "moving_average_update ndim ones ones_like placeholder random_binomial random_normal "
            "random_normal_variable random_uniform random_uniform_variable to_dense truncated_normal update update_add "
            "update_sub zeros zeros_like"
        ),
        "penstock.keras.backend.volumes": (
            "conv2d_transpose depthwise_conv2d pool3d resize_volumes separable_conv2d spatial_3d_padding"
        ),
    },
    "penstock.keras.callbacks": {
        "penstock.keras.callbacks.base": "BaseLogger Callback History ProgbarLogger",
        "penstock.keras.callbacks.control": (
            "EarlyStopping LambdaCallback LearningRateScheduler ReduceLROnPlateau TerminateOnNaN"
        ),
        "penstock.keras.callbacks.files": "CSVLogger ModelCheckpoint",
        "penstock.keras.callbacks.remote": "RemoteMonitor",
        "penstock.keras.callbacks.tensorboard": "TensorBoard",
    },
    "penstock.keras.constraints": {
        "penstock.keras.constraints.classes": (
            "Constraint MaxNorm MinMaxNorm NonNeg UnitNorm deserialize get max_norm=MaxNorm maxnorm=MaxNorm "
            "min_max_norm=MinMaxNorm non_neg=NonNeg nonneg=NonNeg serialize unit_norm=UnitNorm unitnorm=UnitNorm"
        ),
    },
    "penstock.keras.datasets": {
        "penstock.keras.datasets": "boston_housing cifar10 cifar100 fashion_mnist imdb mnist reuters",
    },
    "penstock.keras.datasets.boston_housing": {
        "penstock.keras.datasets.loading": "load_data=boston_housing",
    },
    "penstock.keras.datasets.cifar10": {
        "penstock.keras.datasets.loading": "load_data=cifar10",
    },
    "penstock.keras.datasets.cifar100": {
        "penstock.keras.datasets.loading": "load_data=cifar100",
    },
    "penstock.keras.datasets.fashion_mnist": {
        "penstock.keras.datasets.loading": "load_data=fashion_mnist",
    },
    "penstock.keras.datasets.imdb": {
        "penstock.keras.datasets.texts": "get_word_index=imdb_words load_data=imdb",
    },
    "penstock.keras.datasets.mnist": {
        "penstock.keras.datasets.loading": "load_data=mnist",
    },
    "penstock.keras.datasets.reuters": {
        "penstock.keras.datasets.texts": "get_word_index=reuters_words load_data=reuters",
    },
    "penstock.keras.estimator": {
        "penstock.keras.estimator.conversion": "model_to_estimator",
    },
    "penstock.keras.initializers": {
        "penstock.keras.initializers.classes": (
            "Constant GlorotNormal GlorotUniform Identity Initializer Ones Orthogonal RandomNormal RandomUniform "
            "TruncatedNormal VarianceScaling Zeros constant=Constant deserialize get glorot_normal=GlorotNormal "
            "glorot_uniform=GlorotUniform he_normal he_uniform identity=Identity lecun_normal lecun_uniform "
            "normal=RandomNormal one=Ones ones=Ones orthogonal=Orthogonal random_normal=RandomNormal "
            "random_uniform=RandomUniform serialize truncated_normal=TruncatedNormal uniform=RandomUniform zero=Zeros "
            "zeros=Zeros"
        ),
    },
    "penstock.keras.layers": {
        "penstock.keras.engine.input_layer": "Input InputLayer",
        "penstock.keras.engine.input_spec": "InputSpec",
        "penstock.keras.engine.layer": "Layer",
        "penstock.keras.engine.op_layer": "TensorFlowOpLayer",
        "penstock.keras.layers.activation_layers": "ELU LeakyReLU PReLU ReLU Softmax ThresholdedReLU",
        "penstock.keras.layers.attention": "AdditiveAttention Attention",
        "penstock.keras.layers.cells": "AbstractRNNCell GRUCell LSTMCell SimpleRNNCell StackedRNNCells",
        "penstock.keras.layers.convolutional": (
            "Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose Convolution1D=Conv1D Convolution2D=Conv2D "
            "Convolution2DTranspose=Conv2DTranspose Convolution3D=Conv3D Convolution3DTranspose=Conv3DTranspose "
            "Deconvolution2D=Conv2DTranspose DepthwiseConv2D SeparableConv1D SeparableConv2D "
            "SeparableConvolution1D=SeparableConv1D SeparableConvolution2D=SeparableConv2D"
        ),
        "penstock.keras.layers.convolutional_recurrent": "ConvLSTM2D",
        "penstock.keras.layers.core": (
            "Activation ActivityRegularization Dense Dropout Flatten Masking Permute RepeatVector Reshape "
            "SpatialDropout1D SpatialDropout2D SpatialDropout3D"
        ),
        "penstock.keras.layers.dense_features": "DenseFeatures",
        "penstock.keras.layers.embeddings": "Embedding",
        "penstock.keras.layers.lambda_layer": "Lambda",
        "penstock.keras.layers.local": "LocallyConnected1D LocallyConnected2D",
        "penstock.keras.layers.merge": (
            "Add Average Concatenate Dot Maximum Minimum Multiply Subtract add average concatenate dot maximum minimum "
            "multiply subtract"
        ),
        "penstock.keras.layers.noise": "AlphaDropout GaussianDropout GaussianNoise",
        "penstock.keras.layers.normalization": "BatchNormalization LayerNormalization",
        "penstock.keras.layers.padding": (
            "Cropping1D Cropping2D Cropping3D UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D "
            "ZeroPadding3D"
        ),
        "penstock.keras.layers.pooling": (
            "AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D=AveragePooling1D AvgPool2D=AveragePooling2D "
            "AvgPool3D=AveragePooling3D GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
            "GlobalAvgPool1D=GlobalAveragePooling1D GlobalAvgPool2D=GlobalAveragePooling2D "
            "GlobalAvgPool3D=GlobalAveragePooling3D GlobalMaxPool1D=GlobalMaxPooling1D "
            "GlobalMaxPool2D=GlobalMaxPooling2D GlobalMaxPool3D=GlobalMaxPooling3D GlobalMaxPooling1D "
            "GlobalMaxPooling2D GlobalMaxPooling3D MaxPool1D=MaxPooling1D MaxPool2D=MaxPooling2D "
            "MaxPool3D=MaxPooling3D MaxPooling1D MaxPooling2D MaxPooling3D"
        ),
        "penstock.keras.layers.recurrent": "CuDNNGRU CuDNNLSTM GRU LSTM RNN SimpleRNN",
        "penstock.keras.layers.wrappers": "Bidirectional TimeDistributed Wrapper",
        "penstock.keras.models.loading": "deserialize serialize",
    },
    "penstock.keras.losses": {
        "penstock.keras.losses.classes": (
            "BinaryCrossentropy CategoricalCrossentropy Hinge Huber LogCosh Loss MeanAbsoluteError "
            "MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError SparseCategoricalCrossentropy"
        ),
        "penstock.keras.losses.functions": (
            "KLD=kullback_leibler_divergence MAE=mean_absolute_error MAPE=mean_absolute_percentage_error "
            "MSE=mean_squared_error MSLE=mean_squared_logarithmic_error binary_crossentropy categorical_crossentropy "
            "categorical_hinge cosine=cosine_proximity cosine_proximity cosine_similarity=cosine_proximity deserialize "
            "get hinge huber_loss kld=kullback_leibler_divergence kullback_leibler_divergence logcosh "
            "mae=mean_absolute_error mape=mean_absolute_percentage_error mean_absolute_error "
            "mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mse=mean_squared_error "
            "msle=mean_squared_logarithmic_error poisson serialize sparse_categorical_crossentropy squared_hinge"
        ),
    },
    "penstock.keras.metrics": {
        "penstock.keras.losses.functions": (
            "KLD=kullback_leibler_divergence MAE=mean_absolute_error MAPE=mean_absolute_percentage_error "
            "MSE=mean_squared_error MSLE=mean_squared_logarithmic_error binary_crossentropy categorical_crossentropy "
            "cosine=cosine_proximity cosine_proximity hinge kld=kullback_leibler_divergence "
            "kullback_leibler_divergence logcosh mae=mean_absolute_error mape=mean_absolute_percentage_error "
            "mean_absolute_error mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error "
            "mse=mean_squared_error msle=mean_squared_logarithmic_error poisson sparse_categorical_crossentropy "
            "squared_hinge"
        ),
        "penstock.keras.metrics.classes": (
            "Accuracy BinaryAccuracy CategoricalAccuracy Mean MeanAbsoluteError MeanSquaredError Metric "
            "SparseCategoricalAccuracy"
        ),
        "penstock.keras.metrics.confusion": (
            "AUC FalseNegatives FalsePositives Precision Recall SensitivityAtSpecificity SpecificityAtSensitivity "
            "TrueNegatives TruePositives"
        ),
        "penstock.keras.metrics.functions": (
            "binary_accuracy categorical_accuracy deserialize get serialize sparse_categorical_accuracy "
            "sparse_top_k_categorical_accuracy top_k_categorical_accuracy"
        ),
        "penstock.keras.metrics.means": (
            "BinaryCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity Hinge KLDivergence "
            "LogCoshError MeanAbsolutePercentageError MeanIoU MeanRelativeError MeanSquaredLogarithmicError MeanTensor "
            "Poisson RootMeanSquaredError SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SquaredHinge Sum "
            "TopKCategoricalAccuracy"
        ),
    },
    "penstock.keras.models": {
        "penstock.keras.engine.files": "save_model",
        "penstock.keras.engine.model": "Model",
        "penstock.keras.engine.sequential": "Sequential",
        "penstock.keras.models.loading": "clone_model load_model model_from_config model_from_json model_from_yaml",
    },
    "penstock.keras.optimizers": {
        "penstock.keras.optimizers": "schedules",
        "penstock.keras.optimizers.base": "Optimizer deserialize get serialize",
        "penstock.keras.optimizers.classes": "Adadelta Adagrad Adam Adamax Nadam RMSprop SGD",
    },
    "penstock.keras.optimizers.schedules": {
        "penstock.keras.optimizers.schedules.classes": (
            "ExponentialDecay InverseTimeDecay LearningRateSchedule PiecewiseConstantDecay PolynomialDecay deserialize "
            "serialize"
        ),
    },
    "penstock.keras.preprocessing": {
        "penstock.keras.preprocessing": "image sequence text",
    },
    "penstock.keras.preprocessing.image": {
        "penstock.keras.preprocessing.image.affine": (
            "apply_affine_transform apply_brightness_shift apply_channel_shift apply_transform flip_axis "
            "random_brightness random_channel_shift random_rotation random_shear random_shift random_zoom"
        ),
        "penstock.keras.preprocessing.image.array_iterator": "NumpyArrayIterator",
        "penstock.keras.preprocessing.image.file_iterators": "DirectoryIterator",
        "penstock.keras.preprocessing.image.files": "array_to_img img_to_array load_img save_img",
        "penstock.keras.preprocessing.image.generator": "ImageDataGenerator",
        "penstock.keras.preprocessing.image.iterator": "Iterator",
    },
    "penstock.keras.preprocessing.sequence": {
        "penstock.keras.preprocessing.sequence.padding": "pad_sequences",
        "penstock.keras.preprocessing.sequence.samples": "TimeseriesGenerator make_sampling_table skipgrams",
    },
    "penstock.keras.preprocessing.text": {
        "penstock.keras.preprocessing.text.words": "Tokenizer hashing_trick one_hot text_to_word_sequence",
    },
    "penstock.keras.regularizers": {
        "penstock.keras.regularizers.classes": "L1L2 Regularizer deserialize get l1 l1_l2 l2 serialize",
    },
    "penstock.keras.utils": {
        "penstock.keras.engine.topology": "get_source_inputs",
        "penstock.keras.models.plotting": "model_to_dot plot_model",
        "penstock.keras.models.several_gpus": "multi_gpu_model",
        "penstock.keras.named": (
            "CustomObjectScope custom_object_scope deserialize_keras_object get_custom_objects "
            "serialize_keras_object=described"
        ),
        "penstock.keras.utils.arrays": "Sequence normalize to_categorical",
        "penstock.keras.utils.files": "get_file",
        "penstock.keras.utils.hdf5_matrix": "HDF5Matrix",
        "penstock.keras.utils.progress_bar": "Progbar",
    },
    "penstock.keras.wrappers": {
        "penstock.keras.wrappers": "scikit_learn",
    },
    "penstock.keras.wrappers.scikit_learn": {
        "penstock.keras.wrappers.scikit_learn.estimators": "KerasClassifier KerasRegressor",
    },
    "penstock.layers": {
        "penstock.keras.engine.input_spec": "InputSpec",
        "penstock.layers.base": "Layer",
        "penstock.layers.convolutional": (
            "Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose conv1d conv2d conv2d_transpose conv3d "
            "conv3d_transpose"
        ),
        "penstock.layers.core": "Dense Dropout Flatten dense dropout flatten",
        "penstock.layers.normalization": "BatchNormalization batch_normalization",
        "penstock.layers.pooling": (
            "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D "
            "average_pooling1d average_pooling2d average_pooling3d max_pooling1d max_pooling2d max_pooling3d"
        ),
        "penstock.layers.separable": "SeparableConv1D SeparableConv2D separable_conv1d separable_conv2d",
    },
    "penstock.linalg": {
        "penstock.client.linear_operator": (
            "LinearOperator LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorIdentity "
            "LinearOperatorLowerTriangular LinearOperatorScaledIdentity"
        ),
        "penstock.ops.clip": "global_norm",
        "penstock.ops.diagonal": (
            "band_part=matrix_band_part diag=matrix_diag diag_part=matrix_diag_part set_diag=matrix_set_diag "
            "tensor_diag=diag tensor_diag_part=diag_part"
        ),
        "penstock.ops.einsum": "einsum tensordot",
        "penstock.ops.filling": "eye",
        "penstock.ops.layout": "matrix_transpose transpose=matrix_transpose",
        "penstock.ops.linalg": "det=matrix_determinant inv=matrix_inverse slogdet",
        "penstock.ops.linalg_cross": "cross",
        "penstock.ops.linalg_functions": "adjoint expm matrix_rank matvec normalize pinv",
        "penstock.ops.linalg_lu": "lu lu_matrix_inverse lu_reconstruct lu_solve",
        "penstock.ops.linalg_solve": (
            "cholesky cholesky_solve logdet lstsq=matrix_solve_ls solve=matrix_solve "
            "triangular_solve=matrix_triangular_solve"
        ),
        "penstock.ops.linalg_spectra": "eigh=self_adjoint_eig eigvalsh=self_adjoint_eigvals qr svd",
        "penstock.ops.matrix": "matmul trace",
        "penstock.ops.nn.normalization": "l2_normalize",
        "penstock.ops.reduce": "norm",
    },
    "penstock.lookup": {
        "penstock.client.lookup_initializers": "KeyValueTensorInitializer TextFileIndex TextFileInitializer",
        "penstock.client.lookup_tables": "StaticHashTable experimental",
        "penstock.client.lookup_vocabularies": "StaticVocabularyTable",
    },
    "penstock.losses": {
        "penstock.losses.collected": (
            "Reduction add_loss compute_weighted_loss get_losses get_regularization_loss get_regularization_losses "
            "get_total_loss"
        ),
        "penstock.losses.of_predictions": (
            "absolute_difference cosine_distance hinge_loss huber_loss log_loss mean_pairwise_squared_error "
            "mean_squared_error sigmoid_cross_entropy softmax_cross_entropy sparse_softmax_cross_entropy"
        ),
    },
    "penstock.manip": {
        "penstock.ops.array": "reshape",
        "penstock.ops.array_more": "roll",
        "penstock.ops.gather_nd": "gather_nd scatter_nd",
        "penstock.ops.reversing": "reverse tile",
        "penstock.ops.space": "batch_to_space_nd space_to_batch_nd",
    },
    "penstock.math": {
        "penstock.ops.add_n": "accumulate_n add_n",
        "penstock.ops.arg_reductions": "argmax argmin",
        "penstock.ops.arithmetic": "add atan2 maximum minimum multiply pow scalar_mul squared_difference subtract",
        "penstock.ops.compare": (
            "equal greater greater_equal less less_equal logical_and logical_not logical_or logical_xor not_equal"
        ),
        "penstock.ops.complex_numbers": "angle conj imag real",
        "penstock.ops.confusion_matrix": "confusion_matrix",
        "penstock.ops.division": "divide divide_no_nan=div_no_nan floordiv floormod mod=floormod truediv",
        "penstock.ops.histograms": "bincount",
        "penstock.ops.layout": "invert_permutation",
        "penstock.ops.nn.activations": "softplus softsign",
        "penstock.ops.nn.normalization": "l2_normalize zero_fraction",
        "penstock.ops.nn.softmax": "log_softmax softmax",
        "penstock.ops.nn.top_k": "in_top_k",
        "penstock.ops.polynomials": "polyval reciprocal_no_nan",
        "penstock.ops.reduce": (
            "count_nonzero reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean "
            "reduce_min reduce_prod reduce_std reduce_sum reduce_variance"
        ),
        "penstock.ops.rounding": "ceil floor is_finite is_inf is_nan rint round",
        "penstock.ops.scan": "cumprod cumsum cumulative_logsumexp",
        "penstock.ops.segment": (
            "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max unsorted_segment_min "
            "unsorted_segment_prod unsorted_segment_sum"
        ),
        "penstock.ops.segment_gradients": "unsorted_segment_mean unsorted_segment_sqrt_n",
        "penstock.ops.shape_checks": "is_non_decreasing is_strictly_increasing",
        "penstock.ops.sorting": "top_k",
        "penstock.ops.special": "digamma erf erfc lgamma polygamma",
        "penstock.ops.special_bessel": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e erfinv ndtri",
        "penstock.ops.special_binary": "betainc lbeta multiply_no_nan nextafter xdivy xlog1py xlogy",
        "penstock.ops.special_gamma": "igamma igammac zeta",
        "penstock.ops.trigonometry": "acos acosh asin asinh atan atanh cos cosh sin sinh tan",
        "penstock.ops.unary": (
            "abs exp expm1 log log1p log_sigmoid negative reciprocal rsqrt sigmoid sign sqrt square tanh"
        ),
    },
    "penstock.metrics": {
        "penstock.metrics.counts": "false_negatives false_positives precision recall true_negatives true_positives",
        "penstock.metrics.means": (
            "accuracy mean mean_absolute_error mean_cosine_distance mean_iou mean_per_class_accuracy "
            "mean_relative_error mean_squared_error mean_tensor percentage_below root_mean_squared_error"
        ),
        "penstock.metrics.ranking": (
            "average_precision_at_k precision_at_k precision_at_top_k recall_at_k recall_at_top_k "
            "sparse_average_precision_at_k sparse_precision_at_k"
        ),
        "penstock.metrics.thresholds": (
            "auc false_negatives_at_thresholds false_positives_at_thresholds precision_at_thresholds "
            "recall_at_thresholds sensitivity_at_specificity specificity_at_sensitivity true_negatives_at_thresholds "
            "true_positives_at_thresholds"
        ),
    },
    "penstock.nn": {
        "penstock": "rnn_cell",
        "penstock.contrib": "seq2seq=legacy_seq2seq",
        "penstock.ops.candidate_sampling": (
            "all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler "
            "learned_unigram_candidate_sampler log_uniform_candidate_sampler uniform_candidate_sampler"
        ),
        "penstock.ops.nn.activations": "crelu elu leaky_relu relu relu6 selu softplus softsign",
        "penstock.ops.nn.bias": "bias_add relu_layer xw_plus_b",
        "penstock.ops.nn.conv_functions": (
            "atrous_conv2d_transpose conv2d conv2d_backprop_filter conv2d_backprop_input conv2d_transpose "
            "deconv2d=conv2d_transpose depthwise_conv2d depthwise_conv2d_native "
            "depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input separable_conv2d"
        ),
        "penstock.ops.nn.convolution": (
            "atrous_conv2d conv1d conv3d conv3d_backprop_filter conv3d_transpose convolution"
        ),
        "penstock.ops.nn.cross_entropy": (
            "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 "
            "sparse_softmax_cross_entropy_with_logits"
        ),
        "penstock.ops.nn.ctc_decoders": "ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder",
        "penstock.ops.nn.ctc_loss": "ctc_loss",
        "penstock.ops.nn.dilation": "dilation2d erosion2d",
        "penstock.ops.nn.dropout": "dropout",
        "penstock.ops.nn.embedding": "embedding_lookup embedding_lookup_sparse",
        "penstock.ops.nn.fractional_pooling": "fractional_avg_pool fractional_max_pool",
        "penstock.ops.nn.losses": (
            "l2_loss log_poisson_loss sigmoid_cross_entropy_with_logits weighted_cross_entropy_with_logits"
        ),
        "penstock.ops.nn.lrn": "local_response_normalization lrn=local_response_normalization",
        "penstock.ops.nn.normalization": (
            "batch_norm_with_global_normalization batch_normalization fused_batch_norm l2_normalize moments "
            "normalize_moments sufficient_statistics weighted_moments zero_fraction"
        ),
        "penstock.ops.nn.pooling_functions": (
            "avg_pool avg_pool2d=avg_pool avg_pool3d max_pool max_pool3d max_pool_with_argmax pool"
        ),
        "penstock.ops.nn.pooling_v2": "avg_pool1d conv1d_transpose max_pool1d max_pool2d silu=swish swish",
        "penstock.ops.nn.sampled_losses": "nce_loss sampled_softmax_loss",
        "penstock.ops.nn.softmax": "log_softmax softmax",
        "penstock.ops.nn.top_k": "in_top_k",
        "penstock.ops.sorting": "top_k",
        "penstock.ops.space": "depth_to_space space_to_batch space_to_depth",
        "penstock.ops.sparse_embedding": "safe_embedding_lookup_sparse",
        "penstock.ops.unary": "log_sigmoid sigmoid tanh",
        "penstock.rnn.bidirectional": "bidirectional_dynamic_rnn",
        "penstock.rnn.dynamic": "dynamic_rnn",
        "penstock.rnn.raw": "raw_rnn",
        "penstock.rnn.static": (
            "bidirectional_rnn=static_bidirectional_rnn rnn=static_rnn state_saving_rnn=static_state_saving_rnn "
            "static_bidirectional_rnn static_rnn static_state_saving_rnn"
        ),
    },
    "penstock.placement": {
        "penstock.capacity.plan": "CapacityPlan plan_training",
        "penstock.partition.compression": "compress_transfers",
        "penstock.placement.bounds": "least_memory lower_bound",
        "penstock.placement.calibration": "Speeds",
        "penstock.placement.choice": "Choice",
        "penstock.placement.configure": "configure",
        "penstock.placement.cost_model": "CostModel",
        "penstock.placement.description": "known_machines",
        "penstock.placement.greedy": "greedy",
        "penstock.placement.hardware": "Hardware",
        "penstock.placement.links": "Link Wire",
        "penstock.placement.machines": "Host SimulatedDevice",
        "penstock.placement.measured_machine": "measure_machine",
        "penstock.placement.simulator": "simulate",
        "penstock.placement.strategies": "best_of one_device_each register_strategy",
        "penstock.placement.timeline": "Timeline",
        "penstock.placement.training.faults": "Faults",
        "penstock.placement.training.noise": "Jitter",
        "penstock.placement.training.replica": "ModelPart=Part ReplicaStep",
        "penstock.placement.training.result": "Training",
        "penstock.placement.training.simulate": "simulate_training",
        "penstock.placement.training.surroundings": "TrainingCluster=Cluster",
        "penstock.session.prediction": "predict_step",
        "penstock.session.simulation": "compare_strategies simulate_step step_choice",
        "penstock.session.training_step": "training_step",
    },
    "penstock.profiler": {
        "penstock.profiler.messages": "AdviceProto GraphNodeProto MultiGraphNodeProto",
        "penstock.profiler.options": "ProfileOptionBuilder",
        "penstock.profiler.profile": "Profiler advise profile write_op_log",
        "tensorboard.compat.proto.tfprof_log_pb2": "OpLogProto",
    },
    "penstock.python_io": {
        "penstock.records.writer": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
    },
    "penstock.quantization": {
        "penstock.ops.quantization": "dequantize quantize",
        "penstock.ops.quantization_fake": (
            "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars "
            "fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel "
            "fake_quant_with_min_max_vars_per_channel_gradient"
        ),
        "penstock.ops.quantization_rounding": "quantize_and_dequantize",
    },
    "penstock.queue": {
        "penstock.client.queues": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    },
    "penstock.ragged": {
        "penstock.ragged.constants": "constant constant_value placeholder",
        "penstock.ragged.elementwise": "map_flat_values",
        "penstock.ragged.gathering": "boolean_mask",
        "penstock.ragged.joining": "stack stack_dynamic_partitions",
        "penstock.ragged.partitions": "row_splits_to_segment_ids segment_ids_to_row_splits",
        "penstock.ragged.ranges": "range",
        "penstock.ragged.values": "RaggedTensorValue",
    },
    "penstock.random": {
        "penstock.graph.scopes": "get_seed set_random_seed",
        "penstock.ops.candidate_sampling": (
            "all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler "
            "log_uniform_candidate_sampler uniform_candidate_sampler"
        ),
        "penstock.ops.random": (
            "categorical multinomial normal=random_normal shuffle=random_shuffle truncated_normal "
            "uniform=random_uniform"
        ),
        "penstock.ops.random_distributions": "gamma=random_gamma poisson=random_poisson",
        "penstock.ops.random_stateless": (
            "stateless_categorical stateless_multinomial stateless_normal=stateless_random_normal "
            "stateless_truncated_normal stateless_uniform=stateless_random_uniform"
        ),
    },
    "penstock.rnn_cell": {
        "penstock.rnn.base": (
            "RNNCell _RNNCell=RNNCell _like_rnncell=is_like_cell _zero_state_tensors=zeros_of "
            "assert_like_rnncell=assert_like_cell"
        ),
        "penstock.rnn.cells": "BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple MultiRNNCell",
        "penstock.rnn.linear": "_Linear=Linear _linear=linear",
        "penstock.rnn.projection": "EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper",
        "penstock.rnn.wrappers": "DeviceWrapper DropoutWrapper ResidualWrapper",
    },
    "penstock.saved_model": {
        "penstock.saved_model": (
            "builder constants loader main_op signature_constants signature_def_utils tag_constants utils"
        ),
        "penstock.saved_model.builder": "Builder=SavedModelBuilder",
        "penstock.saved_model.constants": (
            "ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY MAIN_OP_KEY "
            "SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY "
            "VARIABLES_FILENAME"
        ),
        "penstock.saved_model.loader": (
            "contains_saved_model=maybe_saved_model_directory load maybe_saved_model_directory"
        ),
        "penstock.saved_model.main_op": "main_op_with_restore",
        "penstock.saved_model.objects": "load_v2",
        "penstock.saved_model.signature_constants": (
            "CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
            "DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS "
            "REGRESS_METHOD_NAME REGRESS_OUTPUTS"
        ),
        "penstock.saved_model.signature_def_utils": (
            "build_signature_def classification_signature_def is_valid_signature predict_signature_def "
            "regression_signature_def"
        ),
        "penstock.saved_model.simple_save": "simple_save",
        "penstock.saved_model.tag_constants": "GPU SERVING TPU TRAINING",
        "penstock.saved_model.utils": "build_tensor_info get_tensor_from_tensor_info",
    },
    "penstock.sets": {
        "penstock.ops.sets": (
            "difference=set_difference intersection=set_intersection set_difference set_intersection set_size "
            "set_union size=set_size union=set_union"
        ),
    },
    "penstock.signal": {
        "penstock.ops.fft": "fft fft2d fft3d ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d",
        "penstock.ops.fft_cosine": "dct fftshift idct ifftshift",
        "penstock.ops.signal": (
            "frame hamming_window hann_window inverse_stft inverse_stft_window_fn linear_to_mel_weight_matrix "
            "mfccs_from_log_mel_spectrograms overlap_and_add stft"
        ),
    },
    "penstock.sparse": {
        "penstock.client.accumulators": "SparseConditionalAccumulator",
        "penstock.graph.composite": "SparseTensor",
        "penstock.ops.sparse_arithmetic": "add=sparse_add maximum=sparse_maximum minimum=sparse_minimum",
        "penstock.ops.sparse_cross": "cross=sparse_cross cross_hashed=sparse_cross_hashed",
        "penstock.ops.sparse_functions": (
            "expand_dims=sparse_expand_dims eye=sparse_eye from_dense mask=sparse_mask merge=sparse_merge "
            "placeholder=sparse_placeholder reset_shape=sparse_reset_shape retain=sparse_retain "
            "to_indicator=sparse_to_indicator"
        ),
        "penstock.ops.sparse_joining": "concat=sparse_concat split=sparse_split",
        "penstock.ops.sparse_layout": (
            "reorder=sparse_reorder reshape=sparse_reshape slice=sparse_slice transpose=sparse_transpose"
        ),
        "penstock.ops.sparse_matmul": (
            "matmul=sparse_tensor_dense_matmul sparse_dense_matmul=sparse_tensor_dense_matmul"
        ),
        "penstock.ops.sparse_reduce": (
            "reduce_max=sparse_reduce_max reduce_max_sparse=sparse_reduce_max_sparse reduce_sum=sparse_reduce_sum "
            "reduce_sum_sparse=sparse_reduce_sum_sparse softmax=sparse_softmax"
        ),
        "penstock.ops.sparse_rows": "fill_empty_rows=sparse_fill_empty_rows",
        "penstock.ops.sparse_segment": (
            "segment_mean=sparse_segment_mean segment_sqrt_n=sparse_segment_sqrt_n segment_sum=sparse_segment_sum"
        ),
        "penstock.ops.sparse_to_dense": "to_dense=sparse_tensor_to_dense",
    },
    "penstock.spectral": {
        "penstock.ops.fft": "fft fft2d fft3d ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d",
        "penstock.ops.fft_cosine": "dct idct",
    },
    "penstock.strings": {
        "penstock.ops.string_conversions": "as_string to_number=string_to_number",
        "penstock.ops.string_format": "format=string_format",
        "penstock.ops.string_hashing": (
            "to_hash_bucket=string_to_hash_bucket to_hash_bucket_fast=string_to_hash_bucket_fast "
            "to_hash_bucket_strong=string_to_hash_bucket_strong"
        ),
        "penstock.ops.string_joining": "join=string_join reduce_join unsorted_segment_join",
        "penstock.ops.string_patterns": "regex_full_match regex_replace",
        "penstock.ops.string_splitting": "split=string_split_v2",
        "penstock.ops.string_unicode": "unicode_transcode",
        "penstock.ops.strings": "length=string_length lower=string_lower strip=string_strip substr upper=string_upper",
        "penstock.ragged.strings": (
            "bytes_split ngrams unicode_decode unicode_decode_with_offsets unicode_encode unicode_split "
            "unicode_split_with_offsets"
        ),
    },
    "penstock.summary": {
        "penstock.contrib.summary.writers": "all_v2_summary_ops=all_summary_ops initialize",
        "penstock.summary.functions": (
            "audio audio_summary get_summary_description histogram histogram_summary image image_summary merge "
            "merge_all merge_all_summaries merge_summary scalar scalar_summary tensor_summary text"
        ),
        "penstock.summary.writer": "FileWriter FileWriterCache summary_iterator",
        "tensorboard.compat.proto.event_pb2": "Event SessionLog TaggedRunMetadata",
        "tensorboard.compat.proto.summary_pb2": "Summary SummaryDescription",
    },
    "penstock.sysconfig": {
        "penstock.load_library": "CXX11_ABI_FLAG MONOLITHIC_BUILD get_compile_flags get_include get_lib get_link_flags",
    },
    "penstock.test": {
        "penstock.client.testing": (
            "Benchmark TestCase get_temp_dir gpu_device_name is_built_with_cuda is_gpu_available main"
        ),
        "penstock.cluster.local_cluster": "create_local_cluster",
        "penstock.session.gradient_checker": "compute_gradient compute_gradient_error",
        "unittest": "mock",
    },
    "penstock.tpu": {
        "penstock.estimator.on_tpus": "CrossShardOptimizer bfloat16_scope cross_replica_sum",
    },
    "penstock.train": {
        "penstock.checkpoint.files": "checkpoint_exists get_checkpoint_mtimes",
        "penstock.checkpoint.state": (
            "CheckpointState generate_checkpoint_state_proto get_checkpoint_state latest_checkpoint "
            "update_checkpoint_state"
        ),
        "penstock.cluster.server": "Server",
        "penstock.cluster.spec": "ClusterSpec ServerDef",
        "penstock.summary.writer": "SummaryWriter=FileWriter summary_iterator",
        "penstock.tensor.example_protos": (
            "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample"
        ),
        "penstock.train": "experimental queue_runner",
        "penstock.train.adadelta": "AdadeltaOptimizer",
        "penstock.train.adagrad": "AdagradDAOptimizer AdagradOptimizer ProximalAdagradOptimizer",
        "penstock.train.adam": "AdamOptimizer",
        "penstock.train.checkpoint_manager": "CheckpointManager",
        "penstock.train.checkpoint_utils": (
            "NewCheckpointReader checkpoints_iterator init_from_checkpoint list_variables load_checkpoint "
            "load_variable"
        ),
        "penstock.train.coordinator": "Coordinator LooperThread",
        "penstock.train.device_setter": "replica_device_setter",
        "penstock.train.ftrl": "FtrlOptimizer",
        "penstock.train.global_step": (
            "assert_global_step create_global_step get_global_step get_or_create_global_step global_step"
        ),
        "penstock.train.gradient_descent": "GradientDescentOptimizer ProximalGradientDescentOptimizer",
        "penstock.train.input.batching": (
            "batch batch_join maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join shuffle_batch "
            "shuffle_batch_join"
        ),
        "penstock.train.input.producers": (
            "input_producer limit_epochs match_filenames_once range_input_producer slice_input_producer "
            "string_input_producer"
        ),
        "penstock.train.kept_checkpoints": "remove_checkpoint",
        "penstock.train.meta_graph": "export_meta_graph write_graph",
        "penstock.train.momentum": "MomentumOptimizer",
        "penstock.train.moving_averages": "ExponentialMovingAverage assign_moving_average weighted_moving_average",
        "penstock.train.object_checkpoint": "Checkpoint",
        "penstock.train.optimizer": "Optimizer",
        "penstock.train.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
        "penstock.train.rmsprop": "RMSPropOptimizer",
        "penstock.train.saver": "BaseSaverBuilder Saver import_meta_graph",
        "penstock.train.schedules": (
            "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay "
            "natural_exp_decay piecewise_constant piecewise_constant_decay=piecewise_constant polynomial_decay"
        ),
        "penstock.train.session_run_hook": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
        "penstock.train.sync_replicas": "SyncReplicasOptimizer SyncReplicasOptimizerV2=SyncReplicasOptimizer",
        "penstock.train.warm_starting": "VocabInfo warm_start",
        "penstock.training_loop.basic_loops": "basic_train_loop",
        "penstock.training_loop.hooks": (
            "FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError NanTensorHook "
            "StepCounterHook StopAtStepHook"
        ),
        "penstock.training_loop.monitored_session": (
            "MonitoredSession MonitoredTrainingSession SingularMonitoredSession"
        ),
        "penstock.training_loop.profiler_hook": "ProfilerHook",
        "penstock.training_loop.progress_hook": "ProgressHook",
        "penstock.training_loop.random_state_hook": "RandomStateHook",
        "penstock.training_loop.saving_hooks": "CheckpointSaverHook CheckpointSaverListener SummarySaverHook",
        "penstock.training_loop.scaffold": "Scaffold",
        "penstock.training_loop.session_creators": "ChiefSessionCreator SessionCreator WorkerSessionCreator",
        "penstock.training_loop.session_manager": "SessionManager",
        "penstock.training_loop.supervisor": "Supervisor",
        "penstock.training_loop.timers": "SecondOrStepTimer",
        "tensorboard.compat.proto.cluster_pb2": "ClusterDef JobDef",
        "tensorboard.compat.proto.saver_pb2": "SaverDef",
    },
    "penstock.tune": {
        "penstock.tune.hooks": "PruningCallback PruningHook",
        "penstock.tune.reporting": "Pruned folder report",
        "penstock.tune.sampler": "GPEIMCMC",
        "penstock.tune.study": "run",
    },
}
