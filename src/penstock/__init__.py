"""Penstock: the dataflow system of the TensorFlow white paper, for today.

`import penstock as tf` and write TF 1.x programs: build a graph, then run any part of it in a session. See
docs/architecture.md for how a step comes about, docs/adding-an-op.md for ops of your own.
"""

from __future__ import annotations

from tensorboard.compat.proto.attr_value_pb2 import AttrValue as AttrValue, NameAttrList as NameAttrList
from tensorboard.compat.proto.config_pb2 import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions,
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
)
from tensorboard.compat.proto.event_pb2 import Event as Event, SessionLog as SessionLog
from tensorboard.compat.proto.graph_pb2 import GraphDef as GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef as NodeDef
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig as RewriterConfig
from tensorboard.compat.proto.summary_pb2 import HistogramProto as HistogramProto, Summary as Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto as TensorProto

from penstock import (
    absent as _absent,
    app as app,
    bitwise as bitwise,
    compat as compat,
    contrib as contrib,
    debugging as debugging,
    distributions as distributions,
    dtypes as dtypes,
    errors as errors,
    flags as flags,
    gfile as gfile,
    graph_util as graph_util,
    image as image,
    initializers as initializers,
    io as io,
    layers as layers,
    linalg as linalg,
    logging as logging,
    lookup as lookup,
    losses as losses,
    manip as manip,
    math as math,
    metrics as metrics,
    nest as nest,
    nn as nn,
    placement as placement,
    quantization as quantization,
    random as random,
    raw_ops as raw_ops,
    resource_loader as resource_loader,
    sets as sets,
    sparse as sparse,
    spectral as spectral,
    strings as strings,
    summary as summary,
    sysconfig as sysconfig,
    test as test,
    train as train,
    user_ops as user_ops,
    version as version,
)
from penstock.client.initializers import (
    constant_initializer as constant_initializer,
    glorot_normal_initializer as glorot_normal_initializer,
    glorot_uniform_initializer as glorot_uniform_initializer,
    ones_initializer as ones_initializer,
    orthogonal_initializer as orthogonal_initializer,
    random_normal_initializer as random_normal_initializer,
    random_uniform_initializer as random_uniform_initializer,
    truncated_normal_initializer as truncated_normal_initializer,
    uniform_unit_scaling_initializer as uniform_unit_scaling_initializer,
    variance_scaling_initializer as variance_scaling_initializer,
    zeros_initializer as zeros_initializer,
)
from penstock.client.lookup_tables import (
    initialize_all_tables as initialize_all_tables,
    tables_initializer as tables_initializer,
)
from penstock.client.partitioners import (
    create_partitioned_variables as create_partitioned_variables,
    fixed_size_partitioner as fixed_size_partitioner,
    min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from penstock.client.template import (
    make_template as make_template,
)
from penstock.client.variable import (
    Variable as Variable,
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
    disable_resource_variables as disable_resource_variables,
    enable_resource_variables as enable_resource_variables,
    resource_variables_enabled as resource_variables_enabled,
)
from penstock.client.variable_scope import (
    VariableScope as VariableScope,
    get_local_variable as get_local_variable,
    get_variable as get_variable,
    get_variable_scope as get_variable_scope,
    no_regularizer as no_regularizer,
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from penstock.client.variable_store import (
    AUTO_REUSE as AUTO_REUSE,
)
from penstock.client.variables import (
    all_variables as all_variables,
    assert_variables_initialized as assert_variables_initialized,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    initialize_all_variables as initialize_all_variables,
    initialize_local_variables as initialize_local_variables,
    initialize_variables as initialize_variables,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables,
    trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)
from penstock.compat import (
    disable_control_flow_v2 as disable_control_flow_v2,
    disable_eager_execution as disable_eager_execution,
    disable_tensor_equality as disable_tensor_equality,
    disable_v2_behavior as disable_v2_behavior,
    disable_v2_tensorshape as disable_v2_tensorshape,
    enable_eager_execution as enable_eager_execution,
    enable_v2_behavior as enable_v2_behavior,
    executing_eagerly as executing_eagerly,
    op_scope as op_scope,
)
from penstock.devices.processors import limit_threads as _limit_threads
from penstock.gradients.aggregate import AggregationMethod as AggregationMethod
from penstock.gradients.gradients import (
    NotDifferentiable as NotDifferentiable,
    RegisterGradient as RegisterGradient,
    gradients as gradients,
)
from penstock.graph.codec import make_ndarray as make_ndarray, make_tensor_proto as make_tensor_proto
from penstock.graph.composite import (
    IndexedSlices as IndexedSlices,
    IndexedSlicesValue as IndexedSlicesValue,
    SparseTensor as SparseTensor,
    SparseTensorValue as SparseTensorValue,
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from penstock.graph.convert import (
    constant as constant,
    convert_to_tensor as convert_to_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from penstock.graph.default_session import get_default_session as get_default_session
from penstock.graph.device_spec import DeviceSpec as DeviceSpec
from penstock.graph.graph import Graph as Graph
from penstock.graph.importer import import_graph_def as import_graph_def
from penstock.graph.opdef import define_op as define_op
from penstock.graph.operation import Operation as Operation, Tensor as Tensor
from penstock.graph.scopes import (
    GraphKeys as GraphKeys,
    add_to_collection as add_to_collection,
    add_to_collections as add_to_collections,
    colocate_with as colocate_with,
    container as container,
    control_dependencies as control_dependencies,
    device as device,
    get_all_collection_keys as get_all_collection_keys,
    get_collection as get_collection,
    get_collection_ref as get_collection_ref,
    get_default_graph as get_default_graph,
    get_seed as get_seed,
    name_scope as name_scope,
    reset_default_graph as reset_default_graph,
    set_random_seed as set_random_seed,
)
from penstock.load_library import (
    load_file_system_library as load_file_system_library,
    load_library as load_library,
    load_op_library as load_op_library,
)
from penstock.ops.array import (
    expand_dims as expand_dims,
    rank as rank,
    reshape as reshape,
    shape as shape,
    shape_n as shape_n,
    size as size,
    squeeze as squeeze,
)
from penstock.ops.array_more import (
    guarantee_const as guarantee_const,
    parallel_stack as parallel_stack,
    roll as roll,
)
from penstock.ops.array_more_search import searchsorted as searchsorted
from penstock.ops.basic import (
    gate_tuple as tuple,
    group as group,
    identity as identity,
    no_op as no_op,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
)
from penstock.ops.broadcasting import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_static_shape as broadcast_static_shape,
    broadcast_to as broadcast_to,
    meshgrid as meshgrid,
)
from penstock.ops.checks import (
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
)
from penstock.ops.confusion_matrix import confusion_matrix as confusion_matrix
from penstock.ops.control_flow.cond import case as case, cond as cond, switch_case as switch_case
from penstock.ops.control_flow.functional import foldl as foldl, foldr as foldr, map_fn as map_fn, scan as scan
from penstock.ops.control_flow.tensor_array import TensorArray as TensorArray
from penstock.ops.control_flow.while_loop import while_loop as while_loop
from penstock.ops.decoding import (
    decode_compressed as decode_compressed,
    decode_json_example as decode_json_example,
    decode_raw as decode_raw,
)
from penstock.ops.decoding_csv import decode_csv as decode_csv
from penstock.ops.diagonal import (
    diag as diag,
    diag_part as diag_part,
    matrix_band_part as matrix_band_part,
    matrix_diag as matrix_diag,
    matrix_diag_part as matrix_diag_part,
    matrix_set_diag as matrix_set_diag,
)
from penstock.ops.edit_distance import edit_distance as edit_distance
from penstock.ops.einsum import einsum as einsum, tensordot as tensordot
from penstock.ops.fft import (
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
)
from penstock.ops.files import (
    matching_files as matching_files,
    read_file as read_file,
    write_file as write_file,
)
from penstock.ops.filling import (
    eye as eye,
    fill as fill,
    one_hot as one_hot,
    ones as ones,
    ones_like as ones_like,
    sequence_mask as sequence_mask,
    zeros as zeros,
    zeros_like as zeros_like,
)
from penstock.ops.gather import (
    batch_gather as batch_gather,
    boolean_mask as boolean_mask,
    gather as gather,
)
from penstock.ops.gather_nd import (
    gather_nd as gather_nd,
    scatter_nd as scatter_nd,
)
from penstock.ops.histograms import (
    bincount as bincount,
    histogram_fixed_width as histogram_fixed_width,
    histogram_fixed_width_bins as histogram_fixed_width_bins,
)
from penstock.ops.image_patches import extract_image_patches as extract_image_patches
from penstock.ops.joining import (
    concat as concat,
    split as split,
)
from penstock.ops.layout import (
    invert_permutation as invert_permutation,
    matrix_transpose as matrix_transpose,
    transpose as transpose,
)
from penstock.ops.linalg import (
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    matrix_determinant as matrix_determinant,
    matrix_inverse as matrix_inverse,
    matrix_solve as matrix_solve,
    matrix_solve_ls as matrix_solve_ls,
    matrix_triangular_solve as matrix_triangular_solve,
)
from penstock.ops.linalg_cross import cross as cross
from penstock.ops.linalg_spectra import (
    qr as qr,
    self_adjoint_eig as self_adjoint_eig,
    self_adjoint_eigvals as self_adjoint_eigvals,
    svd as svd,
)
from penstock.ops.logging import (
    Assert as Assert,
    Print as Print,
)
from penstock.ops.math import (
    abs as abs,
    accumulate_n as accumulate_n,
    acos as acos,
    acosh as acosh,
    add as add,
    add_n as add_n,
    angle as angle,
    approximate_equal as approximate_equal,
    arg_max as arg_max,
    arg_min as arg_min,
    argmax as argmax,
    argmin as argmin,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cast as cast,
    ceil as ceil,
    clip_by_average_norm as clip_by_average_norm,
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
    clip_by_value as clip_by_value,
    complex as complex,
    conj as conj,
    cos as cos,
    cosh as cosh,
    count_nonzero as count_nonzero,
    cumprod as cumprod,
    cumsum as cumsum,
    digamma as digamma,
    div as div,
    div_no_nan as div_no_nan,
    divide as divide,
    equal as equal,
    erf as erf,
    erfc as erfc,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    floor_div as floor_div,
    floordiv as floordiv,
    floormod as floormod,
    global_norm as global_norm,
    greater as greater,
    greater_equal as greater_equal,
    imag as imag,
    inv as inv,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    less as less,
    less_equal as less_equal,
    lgamma as lgamma,
    lin_space as lin_space,
    linspace as linspace,
    log as log,
    log1p as log1p,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    matmul as matmul,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    mul as mul,
    multiply as multiply,
    neg as neg,
    negative as negative,
    norm as norm,
    not_equal as not_equal,
    polygamma as polygamma,
    pow as pow,
    range as range,
    real as real,
    realdiv as realdiv,
    reciprocal as reciprocal,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
    rint as rint,
    round as round,
    rsqrt as rsqrt,
    saturate_cast as saturate_cast,
    scalar_mul as scalar_mul,
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    squared_difference as squared_difference,
    sub as sub,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    to_bfloat16 as to_bfloat16,
    to_complex64 as to_complex64,
    to_complex128 as to_complex128,
    to_double as to_double,
    to_float as to_float,
    to_int32 as to_int32,
    to_int64 as to_int64,
    trace as trace,
    truediv as truediv,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from penstock.ops.old_names import (
    batch_cholesky as batch_cholesky,
    batch_fft as batch_fft,
    batch_fft2d as batch_fft2d,
    batch_fft3d as batch_fft3d,
    batch_ifft as batch_ifft,
    batch_ifft2d as batch_ifft2d,
    batch_ifft3d as batch_ifft3d,
    batch_matmul as batch_matmul,
    batch_matrix_determinant as batch_matrix_determinant,
    batch_matrix_inverse as batch_matrix_inverse,
    batch_matrix_solve as batch_matrix_solve,
    batch_matrix_triangular_solve as batch_matrix_triangular_solve,
    batch_self_adjoint_eig as batch_self_adjoint_eig,
    batch_svd as batch_svd,
    complex_abs as complex_abs,
    concat_v2 as concat_v2,
    select as select,
)
from penstock.ops.padding import (
    pad as pad,
)
from penstock.ops.parsing import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
    parse_example as parse_example,
    parse_single_example as parse_single_example,
)
from penstock.ops.parsing_sequence import parse_single_sequence_example as parse_single_sequence_example
from penstock.ops.parsing_tensors import parse_tensor as parse_tensor, serialize_tensor as serialize_tensor
from penstock.ops.partition import (
    dynamic_partition as dynamic_partition,
    dynamic_stitch as dynamic_stitch,
    where as where,
)
from penstock.ops.passing import (
    add_check_numerics_ops as add_check_numerics_ops,
    bitcast as bitcast,
    check_numerics as check_numerics,
    ensure_shape as ensure_shape,
    identity_n as identity_n,
    stop_gradient as stop_gradient,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from penstock.ops.py_func import py_func as py_func
from penstock.ops.quantization import (
    dequantize as dequantize,
    quantize as quantize,
    quantize_v2 as quantize_v2,
)
from penstock.ops.quantization_fake import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from penstock.ops.random import (
    multinomial as multinomial,
    random_crop as random_crop,
    random_normal as random_normal,
    random_shuffle as random_shuffle,
    random_uniform as random_uniform,
    truncated_normal as truncated_normal,
)
from penstock.ops.random_distributions import (
    random_gamma as random_gamma,
    random_poisson as random_poisson,
)
from penstock.ops.reversing import (
    reverse as reverse,
    reverse_sequence as reverse_sequence,
    reverse_v2 as reverse_v2,
    tile as tile,
)
from penstock.ops.scatter import (
    scatter_add as scatter_add,
    scatter_div as scatter_div,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_nd_add as scatter_nd_add,
    scatter_nd_sub as scatter_nd_sub,
    scatter_nd_update as scatter_nd_update,
    scatter_sub as scatter_sub,
    scatter_update as scatter_update,
)
from penstock.ops.session_tensors import (
    delete_session_tensor as delete_session_tensor,
    get_session_handle as get_session_handle,
    get_session_tensor as get_session_tensor,
)
from penstock.ops.shape_checks import (
    assert_integer as assert_integer,
    assert_proper_iterable as assert_proper_iterable,
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_scalar as assert_scalar,
    assert_type as assert_type,
    is_non_decreasing as is_non_decreasing,
    is_numeric_tensor as is_numeric_tensor,
    is_strictly_increasing as is_strictly_increasing,
)
from penstock.ops.slicing import (
    slice as slice,
    strided_slice as strided_slice,
)
from penstock.ops.sorting import (
    setdiff1d as setdiff1d,
    unique as unique,
    unique_with_counts as unique_with_counts,
)
from penstock.ops.space import (
    batch_to_space as batch_to_space,
    batch_to_space_nd as batch_to_space_nd,
    depth_to_space as depth_to_space,
    required_space_to_batch_paddings as required_space_to_batch_paddings,
    space_to_batch as space_to_batch,
    space_to_batch_nd as space_to_batch_nd,
    space_to_depth as space_to_depth,
)
from penstock.ops.sparse_arithmetic import (
    sparse_add as sparse_add,
    sparse_maximum as sparse_maximum,
    sparse_minimum as sparse_minimum,
)
from penstock.ops.sparse_functions import (
    sparse_mask as sparse_mask,
    sparse_merge as sparse_merge,
    sparse_placeholder as sparse_placeholder,
    sparse_reset_shape as sparse_reset_shape,
    sparse_retain as sparse_retain,
    sparse_to_indicator as sparse_to_indicator,
)
from penstock.ops.sparse_joining import sparse_concat as sparse_concat, sparse_split as sparse_split
from penstock.ops.sparse_layout import (
    sparse_reorder as sparse_reorder,
    sparse_reshape as sparse_reshape,
    sparse_slice as sparse_slice,
    sparse_transpose as sparse_transpose,
)
from penstock.ops.sparse_matmul import (
    sparse_matmul as sparse_matmul,
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
)
from penstock.ops.sparse_reduce import (
    sparse_reduce_max as sparse_reduce_max,
    sparse_reduce_max_sparse as sparse_reduce_max_sparse,
    sparse_reduce_sum as sparse_reduce_sum,
    sparse_reduce_sum_sparse as sparse_reduce_sum_sparse,
    sparse_softmax as sparse_softmax,
)
from penstock.ops.sparse_rows import sparse_fill_empty_rows as sparse_fill_empty_rows
from penstock.ops.sparse_segment import (
    sparse_segment_mean as sparse_segment_mean,
    sparse_segment_sqrt_n as sparse_segment_sqrt_n,
    sparse_segment_sum as sparse_segment_sum,
)
from penstock.ops.sparse_serialize import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
)
from penstock.ops.sparse_to_dense import (
    sparse_tensor_to_dense as sparse_tensor_to_dense,
    sparse_to_dense as sparse_to_dense,
)
from penstock.ops.special_binary import betainc as betainc, lbeta as lbeta
from penstock.ops.special_gamma import igamma as igamma, igammac as igammac, zeta as zeta
from penstock.ops.stacking import (
    pack as pack,
    stack as stack,
    unpack as unpack,
    unstack as unstack,
)
from penstock.ops.state import (
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
    count_up_to as count_up_to,
    is_variable_initialized as is_variable_initialized,
)
from penstock.ops.string_conversions import (
    as_string as as_string,
    decode_base64 as decode_base64,
    encode_base64 as encode_base64,
    string_to_number as string_to_number,
)
from penstock.ops.string_format import print_v2 as print
from penstock.ops.string_hashing import (
    fingerprint as fingerprint,
    string_to_hash_bucket as string_to_hash_bucket,
    string_to_hash_bucket_fast as string_to_hash_bucket_fast,
    string_to_hash_bucket_strong as string_to_hash_bucket_strong,
)
from penstock.ops.string_joining import reduce_join as reduce_join, string_join as string_join
from penstock.ops.string_patterns import regex_replace as regex_replace
from penstock.ops.string_splitting import string_split as string_split
from penstock.ops.strings import string_strip as string_strip, substr as substr
from penstock.session.gradient_checker import hessians as hessians
from penstock.session.session import InteractiveSession as InteractiveSession, Session as Session
from penstock.summary import (
    histogram_summary as histogram_summary,
    image_summary as image_summary,
    merge_all_summaries as merge_all_summaries,
    merge_summary as merge_summary,
    scalar_summary as scalar_summary,
)
from penstock.sysconfig import CXX11_ABI_FLAG as CXX11_ABI_FLAG, MONOLITHIC_BUILD as MONOLITHIC_BUILD
from penstock.tensor.dtypes import (
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    qint8 as qint8,
    qint16 as qint16,
    qint32 as qint32,
    quint8 as quint8,
    quint16 as quint16,
    resource as resource,
    string as string,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    variant as variant,
)
from penstock.tensor.shapes import Dimension as Dimension, TensorShape as TensorShape
from penstock.version import (
    COMPILER_VERSION as COMPILER_VERSION,
    GIT_VERSION as GIT_VERSION,
    GRAPH_DEF_VERSION as GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
    VERSION as VERSION,
)

_limit_threads()

newaxis = None
OpError = errors.OpError
NoGradient = NotDifferentiable  # TF 0.x's name

__version__ = VERSION
__git_version__ = GIT_VERSION
__compiler_version__ = COMPILER_VERSION
__cxx11_abi_flag__ = CXX11_ABI_FLAG
__monolithic_build__ = MONOLITHIC_BUILD
versions = version  # TF 1.x's own modules call it so

_absent.tell_in(__name__)
