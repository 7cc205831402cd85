"""Penstock: the dataflow system of the TensorFlow white paper, for today.

`import penstock as tf` and write TF 1.x programs: build a graph, then run any part of it in a session. See
docs/architecture.md for how a step comes about, docs/adding-an-op.md for ops of your own.
"""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue as AttrValue
from tensorboard.compat.proto.attr_value_pb2 import NameAttrList as NameAttrList
from tensorboard.compat.proto.config_pb2 import ConfigProto as ConfigProto
from tensorboard.compat.proto.config_pb2 import GPUOptions as GPUOptions
from tensorboard.compat.proto.config_pb2 import GraphOptions as GraphOptions
from tensorboard.compat.proto.config_pb2 import RunMetadata as RunMetadata
from tensorboard.compat.proto.config_pb2 import RunOptions as RunOptions
from tensorboard.compat.proto.event_pb2 import Event as Event
from tensorboard.compat.proto.event_pb2 import SessionLog as SessionLog
from tensorboard.compat.proto.graph_pb2 import GraphDef as GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef as NodeDef
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig as RewriterConfig
from tensorboard.compat.proto.summary_pb2 import HistogramProto as HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary as Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto as TensorProto

from penstock import errors as errors
from penstock import initializers as initializers
from penstock import nn as nn
from penstock import summary as summary
from penstock import test as test
from penstock import train as train
from penstock.client.initializers import (
    constant_initializer as constant_initializer,
)
from penstock.client.initializers import (
    glorot_normal_initializer as glorot_normal_initializer,
)
from penstock.client.initializers import (
    glorot_uniform_initializer as glorot_uniform_initializer,
)
from penstock.client.initializers import (
    ones_initializer as ones_initializer,
)
from penstock.client.initializers import (
    orthogonal_initializer as orthogonal_initializer,
)
from penstock.client.initializers import (
    random_normal_initializer as random_normal_initializer,
)
from penstock.client.initializers import (
    random_uniform_initializer as random_uniform_initializer,
)
from penstock.client.initializers import (
    truncated_normal_initializer as truncated_normal_initializer,
)
from penstock.client.initializers import (
    uniform_unit_scaling_initializer as uniform_unit_scaling_initializer,
)
from penstock.client.initializers import (
    variance_scaling_initializer as variance_scaling_initializer,
)
from penstock.client.initializers import (
    zeros_initializer as zeros_initializer,
)
from penstock.client.template import (
    make_template as make_template,
)
from penstock.client.variable import (
    Variable as Variable,
)
from penstock.client.variable import (
    VariableAggregation as VariableAggregation,
)
from penstock.client.variable import (
    VariableSynchronization as VariableSynchronization,
)
from penstock.client.variable import (
    disable_resource_variables as disable_resource_variables,
)
from penstock.client.variable import (
    enable_resource_variables as enable_resource_variables,
)
from penstock.client.variable import (
    resource_variables_enabled as resource_variables_enabled,
)
from penstock.client.variable_scope import (
    VariableScope as VariableScope,
)
from penstock.client.variable_scope import (
    get_local_variable as get_local_variable,
)
from penstock.client.variable_scope import (
    get_variable as get_variable,
)
from penstock.client.variable_scope import (
    get_variable_scope as get_variable_scope,
)
from penstock.client.variable_scope import (
    no_regularizer as no_regularizer,
)
from penstock.client.variable_scope import (
    variable_op_scope as variable_op_scope,
)
from penstock.client.variable_scope import (
    variable_scope as variable_scope,
)
from penstock.client.variable_store import (
    AUTO_REUSE as AUTO_REUSE,
)
from penstock.client.variables import (
    all_variables as all_variables,
)
from penstock.client.variables import (
    assert_variables_initialized as assert_variables_initialized,
)
from penstock.client.variables import (
    global_variables as global_variables,
)
from penstock.client.variables import (
    global_variables_initializer as global_variables_initializer,
)
from penstock.client.variables import (
    initialize_all_variables as initialize_all_variables,
)
from penstock.client.variables import (
    initialize_local_variables as initialize_local_variables,
)
from penstock.client.variables import (
    initialize_variables as initialize_variables,
)
from penstock.client.variables import (
    local_variables as local_variables,
)
from penstock.client.variables import (
    local_variables_initializer as local_variables_initializer,
)
from penstock.client.variables import (
    model_variables as model_variables,
)
from penstock.client.variables import (
    moving_average_variables as moving_average_variables,
)
from penstock.client.variables import (
    report_uninitialized_variables as report_uninitialized_variables,
)
from penstock.client.variables import (
    trainable_variables as trainable_variables,
)
from penstock.client.variables import (
    variables_initializer as variables_initializer,
)
from penstock.control_flow.cond import case as case
from penstock.control_flow.cond import cond as cond
from penstock.control_flow.cond import switch_case as switch_case
from penstock.control_flow.functional import foldl as foldl
from penstock.control_flow.functional import foldr as foldr
from penstock.control_flow.functional import map_fn as map_fn
from penstock.control_flow.functional import scan as scan
from penstock.control_flow.tensor_array import TensorArray as TensorArray
from penstock.control_flow.while_loop import while_loop as while_loop
from penstock.gradients.aggregate import AggregationMethod as AggregationMethod
from penstock.gradients.checker import hessians as hessians
from penstock.gradients.gradients import NotDifferentiable as NotDifferentiable
from penstock.gradients.gradients import RegisterGradient as RegisterGradient
from penstock.gradients.gradients import gradients as gradients
from penstock.graph.codec import make_ndarray as make_ndarray
from penstock.graph.codec import make_tensor_proto as make_tensor_proto
from penstock.graph.composite import IndexedSlices as IndexedSlices
from penstock.graph.composite import IndexedSlicesValue as IndexedSlicesValue
from penstock.graph.composite import SparseTensor as SparseTensor
from penstock.graph.composite import SparseTensorValue as SparseTensorValue
from penstock.graph.convert import constant as constant
from penstock.graph.convert import convert_to_tensor as convert_to_tensor
from penstock.graph.convert import register_tensor_conversion_function as register_tensor_conversion_function
from penstock.graph.device_spec import DeviceSpec as DeviceSpec
from penstock.graph.graph import Graph as Graph
from penstock.graph.importer import import_graph_def as import_graph_def
from penstock.graph.opdef import define_op as define_op
from penstock.graph.operation import Operation as Operation
from penstock.graph.operation import Tensor as Tensor
from penstock.graph.scopes import (
    GraphKeys as GraphKeys,
)
from penstock.graph.scopes import (
    add_to_collection as add_to_collection,
)
from penstock.graph.scopes import (
    add_to_collections as add_to_collections,
)
from penstock.graph.scopes import (
    colocate_with as colocate_with,
)
from penstock.graph.scopes import (
    container as container,
)
from penstock.graph.scopes import (
    control_dependencies as control_dependencies,
)
from penstock.graph.scopes import (
    device as device,
)
from penstock.graph.scopes import (
    get_all_collection_keys as get_all_collection_keys,
)
from penstock.graph.scopes import (
    get_collection as get_collection,
)
from penstock.graph.scopes import (
    get_collection_ref as get_collection_ref,
)
from penstock.graph.scopes import (
    get_default_graph as get_default_graph,
)
from penstock.graph.scopes import (
    get_seed as get_seed,
)
from penstock.graph.scopes import (
    name_scope as name_scope,
)
from penstock.graph.scopes import (
    reset_default_graph as reset_default_graph,
)
from penstock.graph.scopes import (
    set_random_seed as set_random_seed,
)
from penstock.ops.array import (
    expand_dims as expand_dims,
)
from penstock.ops.array import (
    rank as rank,
)
from penstock.ops.array import (
    reshape as reshape,
)
from penstock.ops.array import (
    shape as shape,
)
from penstock.ops.array import (
    shape_n as shape_n,
)
from penstock.ops.array import (
    size as size,
)
from penstock.ops.array import (
    squeeze as squeeze,
)
from penstock.ops.basic import gate_tuple as tuple
from penstock.ops.basic import (
    group as group,
)
from penstock.ops.basic import (
    identity as identity,
)
from penstock.ops.basic import (
    no_op as no_op,
)
from penstock.ops.basic import (
    placeholder as placeholder,
)
from penstock.ops.basic import (
    placeholder_with_default as placeholder_with_default,
)
from penstock.ops.broadcasting import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
)
from penstock.ops.broadcasting import (
    broadcast_static_shape as broadcast_static_shape,
)
from penstock.ops.broadcasting import (
    broadcast_to as broadcast_to,
)
from penstock.ops.broadcasting import (
    meshgrid as meshgrid,
)
from penstock.ops.checks import (
    assert_equal as assert_equal,
)
from penstock.ops.checks import (
    assert_greater as assert_greater,
)
from penstock.ops.checks import (
    assert_greater_equal as assert_greater_equal,
)
from penstock.ops.checks import (
    assert_less as assert_less,
)
from penstock.ops.checks import (
    assert_less_equal as assert_less_equal,
)
from penstock.ops.checks import (
    assert_near as assert_near,
)
from penstock.ops.checks import (
    assert_negative as assert_negative,
)
from penstock.ops.checks import (
    assert_non_negative as assert_non_negative,
)
from penstock.ops.checks import (
    assert_non_positive as assert_non_positive,
)
from penstock.ops.checks import (
    assert_none_equal as assert_none_equal,
)
from penstock.ops.checks import (
    assert_positive as assert_positive,
)
from penstock.ops.diagonal import (
    diag as diag,
)
from penstock.ops.diagonal import (
    diag_part as diag_part,
)
from penstock.ops.diagonal import (
    matrix_band_part as matrix_band_part,
)
from penstock.ops.diagonal import (
    matrix_diag as matrix_diag,
)
from penstock.ops.diagonal import (
    matrix_diag_part as matrix_diag_part,
)
from penstock.ops.diagonal import (
    matrix_set_diag as matrix_set_diag,
)
from penstock.ops.filling import (
    eye as eye,
)
from penstock.ops.filling import (
    fill as fill,
)
from penstock.ops.filling import (
    one_hot as one_hot,
)
from penstock.ops.filling import (
    ones as ones,
)
from penstock.ops.filling import (
    ones_like as ones_like,
)
from penstock.ops.filling import (
    sequence_mask as sequence_mask,
)
from penstock.ops.filling import (
    zeros as zeros,
)
from penstock.ops.filling import (
    zeros_like as zeros_like,
)
from penstock.ops.gather import (
    batch_gather as batch_gather,
)
from penstock.ops.gather import (
    boolean_mask as boolean_mask,
)
from penstock.ops.gather import (
    gather as gather,
)
from penstock.ops.gather_nd import (
    gather_nd as gather_nd,
)
from penstock.ops.gather_nd import (
    scatter_nd as scatter_nd,
)
from penstock.ops.joining import (
    concat as concat,
)
from penstock.ops.joining import (
    split as split,
)
from penstock.ops.layout import (
    invert_permutation as invert_permutation,
)
from penstock.ops.layout import (
    matrix_transpose as matrix_transpose,
)
from penstock.ops.layout import (
    transpose as transpose,
)
from penstock.ops.logging import (
    Assert as Assert,
)
from penstock.ops.logging import (
    Print as Print,
)
from penstock.ops.math import (
    abs as abs,
)
from penstock.ops.math import (
    accumulate_n as accumulate_n,
)
from penstock.ops.math import (
    acos as acos,
)
from penstock.ops.math import (
    acosh as acosh,
)
from penstock.ops.math import (
    add as add,
)
from penstock.ops.math import (
    add_n as add_n,
)
from penstock.ops.math import (
    angle as angle,
)
from penstock.ops.math import (
    arg_max as arg_max,
)
from penstock.ops.math import (
    arg_min as arg_min,
)
from penstock.ops.math import (
    argmax as argmax,
)
from penstock.ops.math import (
    argmin as argmin,
)
from penstock.ops.math import (
    asin as asin,
)
from penstock.ops.math import (
    asinh as asinh,
)
from penstock.ops.math import (
    atan as atan,
)
from penstock.ops.math import (
    atan2 as atan2,
)
from penstock.ops.math import (
    atanh as atanh,
)
from penstock.ops.math import (
    cast as cast,
)
from penstock.ops.math import (
    ceil as ceil,
)
from penstock.ops.math import (
    clip_by_average_norm as clip_by_average_norm,
)
from penstock.ops.math import (
    clip_by_global_norm as clip_by_global_norm,
)
from penstock.ops.math import (
    clip_by_norm as clip_by_norm,
)
from penstock.ops.math import (
    clip_by_value as clip_by_value,
)
from penstock.ops.math import (
    complex as complex,
)
from penstock.ops.math import (
    conj as conj,
)
from penstock.ops.math import (
    cos as cos,
)
from penstock.ops.math import (
    cosh as cosh,
)
from penstock.ops.math import (
    count_nonzero as count_nonzero,
)
from penstock.ops.math import (
    cumprod as cumprod,
)
from penstock.ops.math import (
    cumsum as cumsum,
)
from penstock.ops.math import (
    digamma as digamma,
)
from penstock.ops.math import (
    div as div,
)
from penstock.ops.math import (
    div_no_nan as div_no_nan,
)
from penstock.ops.math import (
    divide as divide,
)
from penstock.ops.math import (
    equal as equal,
)
from penstock.ops.math import (
    erf as erf,
)
from penstock.ops.math import (
    erfc as erfc,
)
from penstock.ops.math import (
    exp as exp,
)
from penstock.ops.math import (
    expm1 as expm1,
)
from penstock.ops.math import (
    floor as floor,
)
from penstock.ops.math import (
    floor_div as floor_div,
)
from penstock.ops.math import (
    floordiv as floordiv,
)
from penstock.ops.math import (
    floormod as floormod,
)
from penstock.ops.math import (
    global_norm as global_norm,
)
from penstock.ops.math import (
    greater as greater,
)
from penstock.ops.math import (
    greater_equal as greater_equal,
)
from penstock.ops.math import (
    imag as imag,
)
from penstock.ops.math import (
    inv as inv,
)
from penstock.ops.math import (
    is_finite as is_finite,
)
from penstock.ops.math import (
    is_inf as is_inf,
)
from penstock.ops.math import (
    is_nan as is_nan,
)
from penstock.ops.math import (
    less as less,
)
from penstock.ops.math import (
    less_equal as less_equal,
)
from penstock.ops.math import (
    lgamma as lgamma,
)
from penstock.ops.math import (
    lin_space as lin_space,
)
from penstock.ops.math import (
    linspace as linspace,
)
from penstock.ops.math import (
    log as log,
)
from penstock.ops.math import (
    log1p as log1p,
)
from penstock.ops.math import (
    logical_and as logical_and,
)
from penstock.ops.math import (
    logical_not as logical_not,
)
from penstock.ops.math import (
    logical_or as logical_or,
)
from penstock.ops.math import (
    logical_xor as logical_xor,
)
from penstock.ops.math import (
    matmul as matmul,
)
from penstock.ops.math import (
    maximum as maximum,
)
from penstock.ops.math import (
    minimum as minimum,
)
from penstock.ops.math import (
    mod as mod,
)
from penstock.ops.math import (
    mul as mul,
)
from penstock.ops.math import (
    multiply as multiply,
)
from penstock.ops.math import (
    neg as neg,
)
from penstock.ops.math import (
    negative as negative,
)
from penstock.ops.math import (
    norm as norm,
)
from penstock.ops.math import (
    not_equal as not_equal,
)
from penstock.ops.math import (
    polygamma as polygamma,
)
from penstock.ops.math import (
    pow as pow,
)
from penstock.ops.math import (
    range as range,
)
from penstock.ops.math import (
    real as real,
)
from penstock.ops.math import (
    realdiv as realdiv,
)
from penstock.ops.math import (
    reciprocal as reciprocal,
)
from penstock.ops.math import (
    reduce_all as reduce_all,
)
from penstock.ops.math import (
    reduce_any as reduce_any,
)
from penstock.ops.math import (
    reduce_logsumexp as reduce_logsumexp,
)
from penstock.ops.math import (
    reduce_max as reduce_max,
)
from penstock.ops.math import (
    reduce_mean as reduce_mean,
)
from penstock.ops.math import (
    reduce_min as reduce_min,
)
from penstock.ops.math import (
    reduce_prod as reduce_prod,
)
from penstock.ops.math import (
    reduce_sum as reduce_sum,
)
from penstock.ops.math import (
    rint as rint,
)
from penstock.ops.math import (
    round as round,
)
from penstock.ops.math import (
    rsqrt as rsqrt,
)
from penstock.ops.math import (
    saturate_cast as saturate_cast,
)
from penstock.ops.math import (
    scalar_mul as scalar_mul,
)
from penstock.ops.math import (
    segment_max as segment_max,
)
from penstock.ops.math import (
    segment_mean as segment_mean,
)
from penstock.ops.math import (
    segment_min as segment_min,
)
from penstock.ops.math import (
    segment_prod as segment_prod,
)
from penstock.ops.math import (
    segment_sum as segment_sum,
)
from penstock.ops.math import (
    sigmoid as sigmoid,
)
from penstock.ops.math import (
    sign as sign,
)
from penstock.ops.math import (
    sin as sin,
)
from penstock.ops.math import (
    sinh as sinh,
)
from penstock.ops.math import (
    sqrt as sqrt,
)
from penstock.ops.math import (
    square as square,
)
from penstock.ops.math import (
    squared_difference as squared_difference,
)
from penstock.ops.math import (
    sub as sub,
)
from penstock.ops.math import (
    subtract as subtract,
)
from penstock.ops.math import (
    tan as tan,
)
from penstock.ops.math import (
    tanh as tanh,
)
from penstock.ops.math import (
    to_bfloat16 as to_bfloat16,
)
from penstock.ops.math import (
    to_complex64 as to_complex64,
)
from penstock.ops.math import (
    to_complex128 as to_complex128,
)
from penstock.ops.math import (
    to_double as to_double,
)
from penstock.ops.math import (
    to_float as to_float,
)
from penstock.ops.math import (
    to_int32 as to_int32,
)
from penstock.ops.math import (
    to_int64 as to_int64,
)
from penstock.ops.math import (
    trace as trace,
)
from penstock.ops.math import (
    truediv as truediv,
)
from penstock.ops.math import (
    truncatediv as truncatediv,
)
from penstock.ops.math import (
    truncatemod as truncatemod,
)
from penstock.ops.math import (
    unsorted_segment_max as unsorted_segment_max,
)
from penstock.ops.math import (
    unsorted_segment_mean as unsorted_segment_mean,
)
from penstock.ops.math import (
    unsorted_segment_min as unsorted_segment_min,
)
from penstock.ops.math import (
    unsorted_segment_prod as unsorted_segment_prod,
)
from penstock.ops.math import (
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
)
from penstock.ops.math import (
    unsorted_segment_sum as unsorted_segment_sum,
)
from penstock.ops.padding import (
    pad as pad,
)
from penstock.ops.partition import (
    dynamic_partition as dynamic_partition,
)
from penstock.ops.partition import (
    dynamic_stitch as dynamic_stitch,
)
from penstock.ops.partition import (
    where as where,
)
from penstock.ops.passing import (
    add_check_numerics_ops as add_check_numerics_ops,
)
from penstock.ops.passing import (
    bitcast as bitcast,
)
from penstock.ops.passing import (
    check_numerics as check_numerics,
)
from penstock.ops.passing import (
    ensure_shape as ensure_shape,
)
from penstock.ops.passing import (
    identity_n as identity_n,
)
from penstock.ops.passing import (
    stop_gradient as stop_gradient,
)
from penstock.ops.passing import (
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from penstock.ops.random import (
    multinomial as multinomial,
)
from penstock.ops.random import (
    random_crop as random_crop,
)
from penstock.ops.random import (
    random_normal as random_normal,
)
from penstock.ops.random import (
    random_shuffle as random_shuffle,
)
from penstock.ops.random import (
    random_uniform as random_uniform,
)
from penstock.ops.random import (
    truncated_normal as truncated_normal,
)
from penstock.ops.random_distributions import (
    random_gamma as random_gamma,
)
from penstock.ops.random_distributions import (
    random_poisson as random_poisson,
)
from penstock.ops.reversing import (
    reverse as reverse,
)
from penstock.ops.reversing import (
    reverse_sequence as reverse_sequence,
)
from penstock.ops.reversing import (
    reverse_v2 as reverse_v2,
)
from penstock.ops.reversing import (
    tile as tile,
)
from penstock.ops.scatter import (
    scatter_add as scatter_add,
)
from penstock.ops.scatter import (
    scatter_div as scatter_div,
)
from penstock.ops.scatter import (
    scatter_max as scatter_max,
)
from penstock.ops.scatter import (
    scatter_min as scatter_min,
)
from penstock.ops.scatter import (
    scatter_mul as scatter_mul,
)
from penstock.ops.scatter import (
    scatter_nd_add as scatter_nd_add,
)
from penstock.ops.scatter import (
    scatter_nd_sub as scatter_nd_sub,
)
from penstock.ops.scatter import (
    scatter_nd_update as scatter_nd_update,
)
from penstock.ops.scatter import (
    scatter_sub as scatter_sub,
)
from penstock.ops.scatter import (
    scatter_update as scatter_update,
)
from penstock.ops.shape_checks import (
    assert_integer as assert_integer,
)
from penstock.ops.shape_checks import (
    assert_proper_iterable as assert_proper_iterable,
)
from penstock.ops.shape_checks import (
    assert_rank as assert_rank,
)
from penstock.ops.shape_checks import (
    assert_rank_at_least as assert_rank_at_least,
)
from penstock.ops.shape_checks import (
    assert_rank_in as assert_rank_in,
)
from penstock.ops.shape_checks import (
    assert_same_float_dtype as assert_same_float_dtype,
)
from penstock.ops.shape_checks import (
    assert_scalar as assert_scalar,
)
from penstock.ops.shape_checks import (
    assert_type as assert_type,
)
from penstock.ops.shape_checks import (
    is_non_decreasing as is_non_decreasing,
)
from penstock.ops.shape_checks import (
    is_numeric_tensor as is_numeric_tensor,
)
from penstock.ops.shape_checks import (
    is_strictly_increasing as is_strictly_increasing,
)
from penstock.ops.slicing import (
    slice as slice,
)
from penstock.ops.slicing import (
    strided_slice as strided_slice,
)
from penstock.ops.sorting import (
    setdiff1d as setdiff1d,
)
from penstock.ops.sorting import (
    unique as unique,
)
from penstock.ops.sorting import (
    unique_with_counts as unique_with_counts,
)
from penstock.ops.space import (
    batch_to_space as batch_to_space,
)
from penstock.ops.space import (
    batch_to_space_nd as batch_to_space_nd,
)
from penstock.ops.space import (
    depth_to_space as depth_to_space,
)
from penstock.ops.space import (
    required_space_to_batch_paddings as required_space_to_batch_paddings,
)
from penstock.ops.space import (
    space_to_batch as space_to_batch,
)
from penstock.ops.space import (
    space_to_batch_nd as space_to_batch_nd,
)
from penstock.ops.space import (
    space_to_depth as space_to_depth,
)
from penstock.ops.stacking import (
    pack as pack,
)
from penstock.ops.stacking import (
    stack as stack,
)
from penstock.ops.stacking import (
    unpack as unpack,
)
from penstock.ops.stacking import (
    unstack as unstack,
)
from penstock.ops.state import (
    assign as assign,
)
from penstock.ops.state import (
    assign_add as assign_add,
)
from penstock.ops.state import (
    assign_sub as assign_sub,
)
from penstock.ops.state import (
    count_up_to as count_up_to,
)
from penstock.ops.state import (
    is_variable_initialized as is_variable_initialized,
)
from penstock.session.session import InteractiveSession as InteractiveSession
from penstock.session.session import Session as Session
from penstock.session.session import get_default_session as get_default_session
from penstock.summary import (
    histogram_summary as histogram_summary,
)
from penstock.summary import (
    image_summary as image_summary,
)
from penstock.summary import (
    merge_all_summaries as merge_all_summaries,
)
from penstock.summary import (
    merge_summary as merge_summary,
)
from penstock.summary import (
    scalar_summary as scalar_summary,
)
from penstock.tensor.dtypes import (
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
)
from penstock.tensor.dtypes import (
    DType as DType,
)
from penstock.tensor.dtypes import (
    as_dtype as as_dtype,
)
from penstock.tensor.dtypes import (
    bfloat16 as bfloat16,
)
from penstock.tensor.dtypes import (
    bool as bool,
)
from penstock.tensor.dtypes import (
    complex64 as complex64,
)
from penstock.tensor.dtypes import (
    complex128 as complex128,
)
from penstock.tensor.dtypes import (
    double as double,
)
from penstock.tensor.dtypes import (
    float16 as float16,
)
from penstock.tensor.dtypes import (
    float32 as float32,
)
from penstock.tensor.dtypes import (
    float64 as float64,
)
from penstock.tensor.dtypes import (
    half as half,
)
from penstock.tensor.dtypes import (
    int8 as int8,
)
from penstock.tensor.dtypes import (
    int16 as int16,
)
from penstock.tensor.dtypes import (
    int32 as int32,
)
from penstock.tensor.dtypes import (
    int64 as int64,
)
from penstock.tensor.dtypes import (
    qint8 as qint8,
)
from penstock.tensor.dtypes import (
    qint16 as qint16,
)
from penstock.tensor.dtypes import (
    qint32 as qint32,
)
from penstock.tensor.dtypes import (
    quint8 as quint8,
)
from penstock.tensor.dtypes import (
    quint16 as quint16,
)
from penstock.tensor.dtypes import (
    resource as resource,
)
from penstock.tensor.dtypes import (
    string as string,
)
from penstock.tensor.dtypes import (
    uint8 as uint8,
)
from penstock.tensor.dtypes import (
    uint16 as uint16,
)
from penstock.tensor.dtypes import (
    uint32 as uint32,
)
from penstock.tensor.dtypes import (
    uint64 as uint64,
)
from penstock.tensor.dtypes import (
    variant as variant,
)
from penstock.tensor.shapes import Dimension as Dimension
from penstock.tensor.shapes import TensorShape as TensorShape

newaxis = None
NoGradient = NotDifferentiable  # TF 0.x's name

__version__ = "0.1.0"
VERSION = __version__


def __getattr__(name: str) -> Any:
    """A symbol that is not there says so, and names the nearest one that is."""
    from difflib import get_close_matches

    near = get_close_matches(name, [n for n in globals() if not n.startswith("_")], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"penstock has no {name!r} (yet; docs/architecture.md lists what is missing).{hint}")
