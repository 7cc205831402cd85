# Written by `python -m penstock.api.generate`.
from penstock import app as app
from penstock import audio as audio
from penstock import autograph as autograph
from penstock import bitwise as bitwise
from penstock import cluster as cluster
from penstock import compat as compat
from penstock import config as config
from penstock import contrib as contrib
from penstock import data as data
from penstock import debugging as debugging
from penstock import distribute as distribute
from penstock import distributions as distributions
from penstock import dtypes as dtypes
from penstock import errors as errors
from penstock import estimator as estimator
from penstock import feature_column as feature_column
from penstock import flags as flags
from penstock import gfile as gfile
from penstock import graph_util as graph_util
from penstock import hub as hub
from penstock import image as image
from penstock import initializers as initializers
from penstock import io as io
from penstock import keras as keras
from penstock import layers as layers
from penstock import linalg as linalg
from penstock import logging as logging
from penstock import lookup as lookup
from penstock import losses as losses
from penstock import manip as manip
from penstock import math as math
from penstock import metrics as metrics
from penstock import nest as nest
from penstock import nn as nn
from penstock import placement as placement
from penstock import profiler as profiler
from penstock import python as python
from penstock import python_io as python_io
from penstock import quantization as quantization
from penstock import queue as queue
from penstock import ragged as ragged
from penstock import random as random
from penstock import raw_ops as raw_ops
from penstock import resource_loader as resource_loader
from penstock import saved_model as saved_model
from penstock import sets as sets
from penstock import signal as signal
from penstock import sparse as sparse
from penstock import spectral as spectral
from penstock import strings as strings
from penstock import summary as summary
from penstock import sysconfig as sysconfig
from penstock import test as test
from penstock import tpu as tpu
from penstock import train as train
from penstock import tune as tune
from penstock import user_ops as user_ops
from penstock import version as version
from penstock import version as versions
from penstock.client.accumulators import ConditionalAccumulator as ConditionalAccumulator
from penstock.client.accumulators import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from penstock.client.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from penstock.client.compatibility import control_flow_v2_enabled as control_flow_v2_enabled
from penstock.client.compatibility import dimension_at_index as dimension_at_index
from penstock.client.compatibility import dimension_value as dimension_value
from penstock.client.compatibility import disable_v2_behavior as disable_control_flow_v2
from penstock.client.compatibility import disable_v2_behavior as disable_eager_execution
from penstock.client.compatibility import disable_v2_behavior as disable_tensor_equality
from penstock.client.compatibility import disable_v2_behavior as disable_v2_behavior
from penstock.client.compatibility import disable_v2_behavior as disable_v2_tensorshape
from penstock.client.compatibility import enable_control_flow_v2 as enable_control_flow_v2
from penstock.client.compatibility import enable_eager_execution as enable_eager_execution
from penstock.client.compatibility import enable_v2_behavior as enable_v2_behavior
from penstock.client.compatibility import executing_eagerly as executing_eagerly
from penstock.client.compatibility import op_scope as op_scope
from penstock.client.critical_section import CriticalSection as CriticalSection
from penstock.client.custom_gradient import custom_gradient as custom_gradient
from penstock.client.custom_gradient import grad_pass_through as grad_pass_through
from penstock.client.custom_gradient import recompute_grad as recompute_grad
from penstock.client.initializers import Constant as constant_initializer
from penstock.client.initializers import GlorotNormal as glorot_normal_initializer
from penstock.client.initializers import GlorotUniform as glorot_uniform_initializer
from penstock.client.initializers import Ones as ones_initializer
from penstock.client.initializers import Orthogonal as orthogonal_initializer
from penstock.client.initializers import RandomNormal as random_normal_initializer
from penstock.client.initializers import RandomUniform as random_uniform_initializer
from penstock.client.initializers import TruncatedNormal as truncated_normal_initializer
from penstock.client.initializers import UniformUnitScaling as uniform_unit_scaling_initializer
from penstock.client.initializers import VarianceScaling as variance_scaling_initializer
from penstock.client.initializers import Zeros as zeros_initializer
from penstock.client.lookup_tables import initialize_all_tables as initialize_all_tables
from penstock.client.lookup_tables import tables_initializer as tables_initializer
from penstock.client.module import Module as Module
from penstock.client.partitioners import create_partitioned_variables as create_partitioned_variables
from penstock.client.partitioners import fixed_size_partitioner as fixed_size_partitioner
from penstock.client.partitioners import min_max_variable_partitioner as min_max_variable_partitioner
from penstock.client.partitioners import variable_axis_size_partitioner as variable_axis_size_partitioner
from penstock.client.queues import FIFOQueue as FIFOQueue
from penstock.client.queues import PaddingFIFOQueue as PaddingFIFOQueue
from penstock.client.queues import PriorityQueue as PriorityQueue
from penstock.client.queues import QueueBase as QueueBase
from penstock.client.queues import RandomShuffleQueue as RandomShuffleQueue
from penstock.client.readers import FixedLengthRecordReader as FixedLengthRecordReader
from penstock.client.readers import IdentityReader as IdentityReader
from penstock.client.readers import ReaderBase as ReaderBase
from penstock.client.readers import TFRecordReader as TFRecordReader
from penstock.client.readers import TextLineReader as TextLineReader
from penstock.client.readers import WholeFileReader as WholeFileReader
from penstock.client.template import make_template as make_template
from penstock.client.variable import Variable as Variable
from penstock.client.variable import VariableAggregation as VariableAggregation
from penstock.client.variable import VariableSynchronization as VariableSynchronization
from penstock.client.variable import disable_resource_variables as disable_resource_variables
from penstock.client.variable import enable_resource_variables as enable_resource_variables
from penstock.client.variable import resource_variables_enabled as resource_variables_enabled
from penstock.client.variable_creators import variable_creator_scope as variable_creator_scope
from penstock.client.variable_scope import VariableScope as VariableScope
from penstock.client.variable_scope import get_local_variable as get_local_variable
from penstock.client.variable_scope import get_variable as get_variable
from penstock.client.variable_scope import get_variable_scope as get_variable_scope
from penstock.client.variable_scope import no_regularizer as no_regularizer
from penstock.client.variable_scope import variable_op_scope as variable_op_scope
from penstock.client.variable_scope import variable_scope as variable_scope
from penstock.client.variable_store import AUTO_REUSE as AUTO_REUSE
from penstock.client.variables import all_variables as all_variables
from penstock.client.variables import assert_variables_initialized as assert_variables_initialized
from penstock.client.variables import global_variables as global_variables
from penstock.client.variables import global_variables_initializer as global_variables_initializer
from penstock.client.variables import initialize_all_variables as initialize_all_variables
from penstock.client.variables import initialize_local_variables as initialize_local_variables
from penstock.client.variables import initialize_variables as initialize_variables
from penstock.client.variables import local_variables as local_variables
from penstock.client.variables import local_variables_initializer as local_variables_initializer
from penstock.client.variables import model_variables as model_variables
from penstock.client.variables import moving_average_variables as moving_average_variables
from penstock.client.variables import report_uninitialized_variables as report_uninitialized_variables
from penstock.client.variables import trainable_variables as trainable_variables
from penstock.client.variables import variables_initializer as variables_initializer
from penstock.contrib.framework.checks import is_tensor as is_tensor
from penstock.errors import OpError as OpError
from penstock.exporting.onnx.model import to_onnx as to_onnx
from penstock.exporting.torch.module import to_torch as to_torch
from penstock.gradients.aggregate import AggregationMethod as AggregationMethod
from penstock.gradients.gradients import NotDifferentiable as NoGradient
from penstock.gradients.gradients import NotDifferentiable as NotDifferentiable
from penstock.gradients.gradients import RegisterGradient as RegisterGradient
from penstock.gradients.gradients import UnconnectedGradients as UnconnectedGradients
from penstock.gradients.gradients import gradients as gradients
from penstock.gradients.gradients import NotDifferentiable as no_gradient
from penstock.graph.codec import make_ndarray as make_ndarray
from penstock.graph.codec import make_tensor_proto as make_tensor_proto
from penstock.graph.composite import IndexedSlices as IndexedSlices
from penstock.graph.composite import IndexedSlicesValue as IndexedSlicesValue
from penstock.graph.composite import SparseTensor as SparseTensor
from penstock.graph.composite import SparseTensorValue as SparseTensorValue
from penstock.graph.composite import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from penstock.graph.composite import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from penstock.graph.constants import constant_value as get_static_value
from penstock.graph.convert import constant as constant
from penstock.graph.convert import convert_to_tensor as convert_to_tensor
from penstock.graph.convert import register_tensor_conversion_function as register_tensor_conversion_function
from penstock.graph.default_session import get_default_session as get_default_session
from penstock.graph.device_spec import DeviceSpec as DeviceSpec
from penstock.graph.functions import init_scope as init_scope
from penstock.graph.graph import Graph as Graph
from penstock.graph.importer import import_graph_def as import_graph_def
from penstock.graph.opdef import define_op as define_op
from penstock.graph.operation import Operation as Operation
from penstock.graph.operation import Tensor as Tensor
from penstock.graph.scopes import GraphKeys as GraphKeys
from penstock.graph.scopes import add_to_collection as add_to_collection
from penstock.graph.scopes import add_to_collections as add_to_collections
from penstock.graph.scopes import colocate_with as colocate_with
from penstock.graph.scopes import container as container
from penstock.graph.scopes import control_dependencies as control_dependencies
from penstock.graph.scopes import device as device
from penstock.graph.scopes import get_all_collection_keys as get_all_collection_keys
from penstock.graph.scopes import get_collection as get_collection
from penstock.graph.scopes import get_collection_ref as get_collection_ref
from penstock.graph.scopes import get_default_graph as get_default_graph
from penstock.graph.scopes import get_seed as get_seed
from penstock.graph.scopes import name_scope as name_scope
from penstock.graph.scopes import reset_default_graph as reset_default_graph
from penstock.graph.scopes import set_random_seed as set_random_seed
from penstock.load_library import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from penstock.load_library import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from penstock.load_library import CXX11_ABI_FLAG as __cxx11_abi_flag__
from penstock.load_library import MONOLITHIC_BUILD as __monolithic_build__
from penstock.load_library import load_file_system_library as load_file_system_library
from penstock.load_library import load_library as load_library
from penstock.load_library import load_op_library as load_op_library
from penstock.logging import get_logger as get_logger
from penstock.ops.add_n import accumulate_n as accumulate_n
from penstock.ops.add_n import add_n as add_n
from penstock.ops.arg_reductions import arg_max as arg_max
from penstock.ops.arg_reductions import arg_min as arg_min
from penstock.ops.arg_reductions import argmax as argmax
from penstock.ops.arg_reductions import argmin as argmin
from penstock.ops.arithmetic import add as add
from penstock.ops.arithmetic import atan2 as atan2
from penstock.ops.arithmetic import maximum as maximum
from penstock.ops.arithmetic import minimum as minimum
from penstock.ops.arithmetic import multiply as mul
from penstock.ops.arithmetic import multiply as multiply
from penstock.ops.arithmetic import pow as pow
from penstock.ops.arithmetic import scalar_mul as scalar_mul
from penstock.ops.arithmetic import squared_difference as squared_difference
from penstock.ops.arithmetic import subtract as sub
from penstock.ops.arithmetic import subtract as subtract
from penstock.ops.array import expand_dims as expand_dims
from penstock.ops.array import newaxis as newaxis
from penstock.ops.array import rank as rank
from penstock.ops.array import reshape as reshape
from penstock.ops.array import shape as shape
from penstock.ops.array import shape_n as shape_n
from penstock.ops.array import size as size
from penstock.ops.array import squeeze as squeeze
from penstock.ops.array_more import guarantee_const as guarantee_const
from penstock.ops.array_more import parallel_stack as parallel_stack
from penstock.ops.array_more import roll as roll
from penstock.ops.array_more_search import searchsorted as searchsorted
from penstock.ops.basic import group as group
from penstock.ops.basic import identity as identity
from penstock.ops.basic import no_op as no_op
from penstock.ops.basic import placeholder as placeholder
from penstock.ops.basic import placeholder_with_default as placeholder_with_default
from penstock.ops.basic import gate_tuple as tuple
from penstock.ops.broadcasting import broadcast_dynamic_shape as broadcast_dynamic_shape
from penstock.ops.broadcasting import broadcast_static_shape as broadcast_static_shape
from penstock.ops.broadcasting import broadcast_to as broadcast_to
from penstock.ops.broadcasting import meshgrid as meshgrid
from penstock.ops.cast import cast as cast
from penstock.ops.cast import saturate_cast as saturate_cast
from penstock.ops.cast import to_bfloat16 as to_bfloat16
from penstock.ops.cast import to_complex128 as to_complex128
from penstock.ops.cast import to_complex64 as to_complex64
from penstock.ops.cast import to_double as to_double
from penstock.ops.cast import to_float as to_float
from penstock.ops.cast import to_int32 as to_int32
from penstock.ops.cast import to_int64 as to_int64
from penstock.ops.checks import assert_equal as assert_equal
from penstock.ops.checks import assert_greater as assert_greater
from penstock.ops.checks import assert_greater_equal as assert_greater_equal
from penstock.ops.checks import assert_less as assert_less
from penstock.ops.checks import assert_less_equal as assert_less_equal
from penstock.ops.checks import assert_near as assert_near
from penstock.ops.checks import assert_negative as assert_negative
from penstock.ops.checks import assert_non_negative as assert_non_negative
from penstock.ops.checks import assert_non_positive as assert_non_positive
from penstock.ops.checks import assert_none_equal as assert_none_equal
from penstock.ops.checks import assert_positive as assert_positive
from penstock.ops.clip import clip_by_average_norm as clip_by_average_norm
from penstock.ops.clip import clip_by_global_norm as clip_by_global_norm
from penstock.ops.clip import clip_by_norm as clip_by_norm
from penstock.ops.clip import clip_by_value as clip_by_value
from penstock.ops.clip import global_norm as global_norm
from penstock.ops.clock import timestamp as timestamp
from penstock.ops.compare import approximate_equal as approximate_equal
from penstock.ops.compare import equal as equal
from penstock.ops.compare import greater as greater
from penstock.ops.compare import greater_equal as greater_equal
from penstock.ops.compare import less as less
from penstock.ops.compare import less_equal as less_equal
from penstock.ops.compare import logical_and as logical_and
from penstock.ops.compare import logical_not as logical_not
from penstock.ops.compare import logical_or as logical_or
from penstock.ops.compare import logical_xor as logical_xor
from penstock.ops.compare import not_equal as not_equal
from penstock.ops.complex_numbers import angle as angle
from penstock.ops.complex_numbers import complex as complex
from penstock.ops.complex_numbers import conj as conj
from penstock.ops.complex_numbers import imag as imag
from penstock.ops.complex_numbers import real as real
from penstock.ops.confusion_matrix import confusion_matrix as confusion_matrix
from penstock.ops.control_flow.cond import case as case
from penstock.ops.control_flow.cond import cond as cond
from penstock.ops.control_flow.cond import switch_case as switch_case
from penstock.ops.control_flow.functional import foldl as foldl
from penstock.ops.control_flow.functional import foldr as foldr
from penstock.ops.control_flow.functional import map_fn as map_fn
from penstock.ops.control_flow.functional import scan as scan
from penstock.ops.control_flow.tensor_array import TensorArray as TensorArray
from penstock.ops.control_flow.while_loop import while_loop as while_loop
from penstock.ops.decoding import decode_compressed as decode_compressed
from penstock.ops.decoding import decode_json_example as decode_json_example
from penstock.ops.decoding import decode_raw as decode_raw
from penstock.ops.decoding_csv import decode_csv as decode_csv
from penstock.ops.diagonal import matrix_band_part as batch_matrix_band_part
from penstock.ops.diagonal import matrix_diag as batch_matrix_diag
from penstock.ops.diagonal import matrix_diag_part as batch_matrix_diag_part
from penstock.ops.diagonal import matrix_set_diag as batch_matrix_set_diag
from penstock.ops.diagonal import diag as diag
from penstock.ops.diagonal import diag_part as diag_part
from penstock.ops.diagonal import matrix_band_part as matrix_band_part
from penstock.ops.diagonal import matrix_diag as matrix_diag
from penstock.ops.diagonal import matrix_diag_part as matrix_diag_part
from penstock.ops.diagonal import matrix_set_diag as matrix_set_diag
from penstock.ops.division import div as div
from penstock.ops.division import div_no_nan as div_no_nan
from penstock.ops.division import divide as divide
from penstock.ops.division import floor_div as floor_div
from penstock.ops.division import floordiv as floordiv
from penstock.ops.division import floormod as floormod
from penstock.ops.division import floormod as mod
from penstock.ops.division import realdiv as realdiv
from penstock.ops.division import truediv as truediv
from penstock.ops.division import truncatediv as truncatediv
from penstock.ops.division import truncatemod as truncatemod
from penstock.ops.edit_distance import edit_distance as edit_distance
from penstock.ops.einsum import einsum as einsum
from penstock.ops.einsum import tensordot as tensordot
from penstock.ops.fft import fft as batch_fft
from penstock.ops.fft import fft2d as batch_fft2d
from penstock.ops.fft import fft3d as batch_fft3d
from penstock.ops.fft import ifft as batch_ifft
from penstock.ops.fft import ifft2d as batch_ifft2d
from penstock.ops.fft import ifft3d as batch_ifft3d
from penstock.ops.fft import fft as fft
from penstock.ops.fft import fft2d as fft2d
from penstock.ops.fft import fft3d as fft3d
from penstock.ops.fft import ifft as ifft
from penstock.ops.fft import ifft2d as ifft2d
from penstock.ops.fft import ifft3d as ifft3d
from penstock.ops.files import matching_files as matching_files
from penstock.ops.files import read_file as read_file
from penstock.ops.files import write_file as write_file
from penstock.ops.filling import eye as eye
from penstock.ops.filling import fill as fill
from penstock.ops.filling import one_hot as one_hot
from penstock.ops.filling import ones as ones
from penstock.ops.filling import ones_like as ones_like
from penstock.ops.filling import sequence_mask as sequence_mask
from penstock.ops.filling import zeros as zeros
from penstock.ops.filling import zeros_like as zeros_like
from penstock.ops.gather import batch_gather as batch_gather
from penstock.ops.gather import boolean_mask as boolean_mask
from penstock.ops.gather import gather as gather
from penstock.ops.gather_nd import gather_nd as gather_nd
from penstock.ops.gather_nd import scatter_nd as scatter_nd
from penstock.ops.histograms import bincount as bincount
from penstock.ops.histograms import histogram_fixed_width as histogram_fixed_width
from penstock.ops.histograms import histogram_fixed_width_bins as histogram_fixed_width_bins
from penstock.ops.image_patches import extract_image_patches as extract_image_patches
from penstock.ops.joining import concat as concat
from penstock.ops.joining import split as split
from penstock.ops.joining import split as split_v
from penstock.ops.layout import matrix_transpose as batch_matrix_transpose
from penstock.ops.layout import invert_permutation as invert_permutation
from penstock.ops.layout import matrix_transpose as matrix_transpose
from penstock.ops.layout import transpose as transpose
from penstock.ops.linalg import matrix_determinant as batch_matrix_determinant
from penstock.ops.linalg import matrix_inverse as batch_matrix_inverse
from penstock.ops.linalg import matrix_determinant as matrix_determinant
from penstock.ops.linalg import matrix_inverse as matrix_inverse
from penstock.ops.linalg_cross import cross as cross
from penstock.ops.linalg_solve import cholesky as batch_cholesky
from penstock.ops.linalg_solve import cholesky_solve as batch_cholesky_solve
from penstock.ops.linalg_solve import matrix_solve as batch_matrix_solve
from penstock.ops.linalg_solve import matrix_solve_ls as batch_matrix_solve_ls
from penstock.ops.linalg_solve import matrix_triangular_solve as batch_matrix_triangular_solve
from penstock.ops.linalg_solve import cholesky as cholesky
from penstock.ops.linalg_solve import cholesky_solve as cholesky_solve
from penstock.ops.linalg_solve import matrix_solve as matrix_solve
from penstock.ops.linalg_solve import matrix_solve_ls as matrix_solve_ls
from penstock.ops.linalg_solve import matrix_triangular_solve as matrix_triangular_solve
from penstock.ops.linalg_spectra import self_adjoint_eig as batch_self_adjoint_eig
from penstock.ops.linalg_spectra import self_adjoint_eigvals as batch_self_adjoint_eigvals
from penstock.ops.linalg_spectra import svd as batch_svd
from penstock.ops.linalg_spectra import qr as qr
from penstock.ops.linalg_spectra import self_adjoint_eig as self_adjoint_eig
from penstock.ops.linalg_spectra import self_adjoint_eigvals as self_adjoint_eigvals
from penstock.ops.linalg_spectra import svd as svd
from penstock.ops.logging import Assert as Assert
from penstock.ops.logging import Print as Print
from penstock.ops.matrix import matmul as matmul
from penstock.ops.matrix import trace as trace
from penstock.ops.old_names import batch_matmul as batch_matmul
from penstock.ops.old_names import concat_v2 as concat_v2
from penstock.ops.old_names import select as select
from penstock.ops.padding import pad as pad
from penstock.ops.parsing import FixedLenFeature as FixedLenFeature
from penstock.ops.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from penstock.ops.parsing import SparseFeature as SparseFeature
from penstock.ops.parsing import VarLenFeature as VarLenFeature
from penstock.ops.parsing import parse_example as parse_example
from penstock.ops.parsing import parse_single_example as parse_single_example
from penstock.ops.parsing_sequence import parse_single_sequence_example as parse_single_sequence_example
from penstock.ops.parsing_sequences import parse_sequence_example as parse_sequence_example
from penstock.ops.parsing_tensors import parse_tensor as parse_tensor
from penstock.ops.parsing_tensors import serialize_tensor as serialize_tensor
from penstock.ops.partition import dynamic_partition as dynamic_partition
from penstock.ops.partition import dynamic_stitch as dynamic_stitch
from penstock.ops.partition import where as where
from penstock.ops.partition import where_v2 as where_v2
from penstock.ops.passing import add_check_numerics_ops as add_check_numerics_ops
from penstock.ops.passing import bitcast as bitcast
from penstock.ops.passing import check_numerics as check_numerics
from penstock.ops.passing import ensure_shape as ensure_shape
from penstock.ops.passing import identity_n as identity_n
from penstock.ops.passing import stop_gradient as stop_gradient
from penstock.ops.passing import verify_tensor_all_finite as verify_tensor_all_finite
from penstock.ops.py_func import numpy_function as numpy_function
from penstock.ops.py_func import py_func as py_func
from penstock.ops.py_func import py_function as py_function
from penstock.ops.quantization import dequantize as dequantize
from penstock.ops.quantization import quantize as quantize
from penstock.ops.quantization import quantize_v2 as quantize_v2
from penstock.ops.quantization_fake import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from penstock.ops.quantization_fake import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from penstock.ops.quantization_fake import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from penstock.ops.quantization_fake import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from penstock.ops.quantization_fake import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from penstock.ops.quantization_fake import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from penstock.ops.random import multinomial as multinomial
from penstock.ops.random import random_crop as random_crop
from penstock.ops.random import random_normal as random_normal
from penstock.ops.random import random_shuffle as random_shuffle
from penstock.ops.random import random_uniform as random_uniform
from penstock.ops.random import truncated_normal as truncated_normal
from penstock.ops.random_distributions import random_gamma as random_gamma
from penstock.ops.random_distributions import random_poisson as random_poisson
from penstock.ops.reduce import count_nonzero as count_nonzero
from penstock.ops.reduce import norm as norm
from penstock.ops.reduce import reduce_all as reduce_all
from penstock.ops.reduce import reduce_any as reduce_any
from penstock.ops.reduce import reduce_logsumexp as reduce_logsumexp
from penstock.ops.reduce import reduce_max as reduce_max
from penstock.ops.reduce import reduce_mean as reduce_mean
from penstock.ops.reduce import reduce_min as reduce_min
from penstock.ops.reduce import reduce_prod as reduce_prod
from penstock.ops.reduce import reduce_sum as reduce_sum
from penstock.ops.repeat import repeat as repeat
from penstock.ops.reversing import reverse as reverse
from penstock.ops.reversing import reverse_sequence as reverse_sequence
from penstock.ops.reversing import reverse as reverse_v2
from penstock.ops.reversing import tile as tile
from penstock.ops.rounding import ceil as ceil
from penstock.ops.rounding import floor as floor
from penstock.ops.rounding import is_finite as is_finite
from penstock.ops.rounding import is_inf as is_inf
from penstock.ops.rounding import is_nan as is_nan
from penstock.ops.rounding import rint as rint
from penstock.ops.rounding import round as round
from penstock.ops.scan import cumprod as cumprod
from penstock.ops.scan import cumsum as cumsum
from penstock.ops.scatter import batch_scatter_update as batch_scatter_update
from penstock.ops.scatter import scatter_add as scatter_add
from penstock.ops.scatter import scatter_div as scatter_div
from penstock.ops.scatter import scatter_max as scatter_max
from penstock.ops.scatter import scatter_min as scatter_min
from penstock.ops.scatter import scatter_mul as scatter_mul
from penstock.ops.scatter import scatter_nd_add as scatter_nd_add
from penstock.ops.scatter import scatter_nd_sub as scatter_nd_sub
from penstock.ops.scatter import scatter_nd_update as scatter_nd_update
from penstock.ops.scatter import scatter_sub as scatter_sub
from penstock.ops.scatter import scatter_update as scatter_update
from penstock.ops.segment import segment_max as segment_max
from penstock.ops.segment import segment_mean as segment_mean
from penstock.ops.segment import segment_min as segment_min
from penstock.ops.segment import segment_prod as segment_prod
from penstock.ops.segment import segment_sum as segment_sum
from penstock.ops.segment import unsorted_segment_max as unsorted_segment_max
from penstock.ops.segment import unsorted_segment_min as unsorted_segment_min
from penstock.ops.segment import unsorted_segment_prod as unsorted_segment_prod
from penstock.ops.segment import unsorted_segment_sum as unsorted_segment_sum
from penstock.ops.segment_gradients import unsorted_segment_mean as unsorted_segment_mean
from penstock.ops.segment_gradients import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from penstock.ops.sequences import linspace as lin_space
from penstock.ops.sequences import linspace as linspace
from penstock.ops.sequences import range as range
from penstock.ops.session_tensors import delete_session_tensor as delete_session_tensor
from penstock.ops.session_tensors import get_session_handle as get_session_handle
from penstock.ops.session_tensors import get_session_tensor as get_session_tensor
from penstock.ops.shape_checks import assert_integer as assert_integer
from penstock.ops.shape_checks import assert_proper_iterable as assert_proper_iterable
from penstock.ops.shape_checks import assert_rank as assert_rank
from penstock.ops.shape_checks import assert_rank_at_least as assert_rank_at_least
from penstock.ops.shape_checks import assert_rank_in as assert_rank_in
from penstock.ops.shape_checks import assert_same_float_dtype as assert_same_float_dtype
from penstock.ops.shape_checks import assert_scalar as assert_scalar
from penstock.ops.shape_checks import assert_type as assert_type
from penstock.ops.shape_checks import is_non_decreasing as is_non_decreasing
from penstock.ops.shape_checks import is_numeric_tensor as is_numeric_tensor
from penstock.ops.shape_checks import is_strictly_increasing as is_strictly_increasing
from penstock.ops.slicing import slice as slice
from penstock.ops.slicing import strided_slice as strided_slice
from penstock.ops.sort import argsort as argsort
from penstock.ops.sort import sort as sort
from penstock.ops.sorting import setdiff1d as list_diff
from penstock.ops.sorting import setdiff1d as listdiff
from penstock.ops.sorting import setdiff1d as setdiff1d
from penstock.ops.sorting import unique as unique
from penstock.ops.sorting import unique_with_counts as unique_with_counts
from penstock.ops.space import batch_to_space as batch_to_space
from penstock.ops.space import batch_to_space_nd as batch_to_space_nd
from penstock.ops.space import depth_to_space as depth_to_space
from penstock.ops.space import required_space_to_batch_paddings as required_space_to_batch_paddings
from penstock.ops.space import space_to_batch as space_to_batch
from penstock.ops.space import space_to_batch_nd as space_to_batch_nd
from penstock.ops.space import space_to_depth as space_to_depth
from penstock.ops.sparse_arithmetic import sparse_add as sparse_add
from penstock.ops.sparse_arithmetic import sparse_maximum as sparse_maximum
from penstock.ops.sparse_arithmetic import sparse_minimum as sparse_minimum
from penstock.ops.sparse_functions import sparse_mask as sparse_mask
from penstock.ops.sparse_functions import sparse_merge as sparse_merge
from penstock.ops.sparse_functions import sparse_placeholder as sparse_placeholder
from penstock.ops.sparse_functions import sparse_reset_shape as sparse_reset_shape
from penstock.ops.sparse_functions import sparse_retain as sparse_retain
from penstock.ops.sparse_functions import sparse_to_indicator as sparse_to_indicator
from penstock.ops.sparse_joining import sparse_concat as sparse_concat
from penstock.ops.sparse_joining import sparse_split as sparse_split
from penstock.ops.sparse_layout import sparse_reorder as sparse_reorder
from penstock.ops.sparse_layout import sparse_reshape as sparse_reshape
from penstock.ops.sparse_layout import sparse_slice as sparse_slice
from penstock.ops.sparse_layout import sparse_transpose as sparse_transpose
from penstock.ops.sparse_matmul import sparse_matmul as sparse_matmul
from penstock.ops.sparse_matmul import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from penstock.ops.sparse_reduce import sparse_reduce_max as sparse_reduce_max
from penstock.ops.sparse_reduce import sparse_reduce_max_sparse as sparse_reduce_max_sparse
from penstock.ops.sparse_reduce import sparse_reduce_sum as sparse_reduce_sum
from penstock.ops.sparse_reduce import sparse_reduce_sum_sparse as sparse_reduce_sum_sparse
from penstock.ops.sparse_reduce import sparse_softmax as sparse_softmax
from penstock.ops.sparse_rows import sparse_fill_empty_rows as sparse_fill_empty_rows
from penstock.ops.sparse_segment import sparse_segment_mean as sparse_segment_mean
from penstock.ops.sparse_segment import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from penstock.ops.sparse_segment import sparse_segment_sum as sparse_segment_sum
from penstock.ops.sparse_serialize import deserialize_many_sparse as deserialize_many_sparse
from penstock.ops.sparse_serialize import serialize_many_sparse as serialize_many_sparse
from penstock.ops.sparse_serialize import serialize_sparse as serialize_sparse
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense as sparse_tensor_to_dense
from penstock.ops.sparse_to_dense import sparse_to_dense as sparse_to_dense
from penstock.ops.special import digamma as digamma
from penstock.ops.special import erf as erf
from penstock.ops.special import erfc as erfc
from penstock.ops.special import lgamma as lgamma
from penstock.ops.special import polygamma as polygamma
from penstock.ops.special_binary import betainc as betainc
from penstock.ops.special_binary import lbeta as lbeta
from penstock.ops.special_gamma import igamma as igamma
from penstock.ops.special_gamma import igammac as igammac
from penstock.ops.special_gamma import zeta as zeta
from penstock.ops.stacking import stack as pack
from penstock.ops.stacking import stack as stack
from penstock.ops.stacking import unstack as unpack
from penstock.ops.stacking import unstack as unstack
from penstock.ops.state import assign as assign
from penstock.ops.state import assign_add as assign_add
from penstock.ops.state import assign_sub as assign_sub
from penstock.ops.state import count_up_to as count_up_to
from penstock.ops.state import is_variable_initialized as is_variable_initialized
from penstock.ops.string_conversions import as_string as as_string
from penstock.ops.string_conversions import decode_base64 as decode_base64
from penstock.ops.string_conversions import encode_base64 as encode_base64
from penstock.ops.string_conversions import string_to_number as string_to_number
from penstock.ops.string_format import print_v2 as print
from penstock.ops.string_hashing import fingerprint as fingerprint
from penstock.ops.string_hashing import string_to_hash_bucket as string_to_hash_bucket
from penstock.ops.string_hashing import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from penstock.ops.string_hashing import string_to_hash_bucket_strong as string_to_hash_bucket_strong
from penstock.ops.string_joining import reduce_join as reduce_join
from penstock.ops.string_joining import string_join as string_join
from penstock.ops.string_patterns import regex_replace as regex_replace
from penstock.ops.string_splitting import string_split as string_split
from penstock.ops.strings import string_strip as string_strip
from penstock.ops.strings import substr as substr
from penstock.ops.tensor_scatter import tensor_scatter_add as tensor_scatter_add
from penstock.ops.tensor_scatter import tensor_scatter_add as tensor_scatter_nd_add
from penstock.ops.tensor_scatter import tensor_scatter_sub as tensor_scatter_nd_sub
from penstock.ops.tensor_scatter import tensor_scatter_update as tensor_scatter_nd_update
from penstock.ops.tensor_scatter import tensor_scatter_sub as tensor_scatter_sub
from penstock.ops.tensor_scatter import tensor_scatter_update as tensor_scatter_update
from penstock.ops.tensor_scatter import unravel_index as unravel_index
from penstock.ops.trigonometry import acos as acos
from penstock.ops.trigonometry import acosh as acosh
from penstock.ops.trigonometry import asin as asin
from penstock.ops.trigonometry import asinh as asinh
from penstock.ops.trigonometry import atan as atan
from penstock.ops.trigonometry import atanh as atanh
from penstock.ops.trigonometry import cos as cos
from penstock.ops.trigonometry import cosh as cosh
from penstock.ops.trigonometry import sin as sin
from penstock.ops.trigonometry import sinh as sinh
from penstock.ops.trigonometry import tan as tan
from penstock.ops.unary import abs as abs
from penstock.ops.unary import abs as complex_abs
from penstock.ops.unary import exp as exp
from penstock.ops.unary import expm1 as expm1
from penstock.ops.unary import reciprocal as inv
from penstock.ops.unary import log as log
from penstock.ops.unary import log1p as log1p
from penstock.ops.unary import log_sigmoid as log_sigmoid
from penstock.ops.unary import negative as neg
from penstock.ops.unary import negative as negative
from penstock.ops.unary import reciprocal as reciprocal
from penstock.ops.unary import rsqrt as rsqrt
from penstock.ops.unary import sigmoid as sigmoid
from penstock.ops.unary import sign as sign
from penstock.ops.unary import sqrt as sqrt
from penstock.ops.unary import square as square
from penstock.ops.unary import tanh as tanh
from penstock.ragged.tensor import RaggedTensor as RaggedTensor
from penstock.session.gradient_checker import hessians as hessians
from penstock.session.session import InteractiveSession as InteractiveSession
from penstock.session.session import Session as Session
from penstock.summary.functions import audio_summary as audio_summary
from penstock.summary.functions import histogram_summary as histogram_summary
from penstock.summary.functions import image_summary as image_summary
from penstock.summary.functions import merge_all_summaries as merge_all_summaries
from penstock.summary.functions import merge_summary as merge_summary
from penstock.summary.functions import scalar_summary as scalar_summary
from penstock.tensor.dtypes import DType as DType
from penstock.tensor.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from penstock.tensor.dtypes import as_dtype as as_dtype
from penstock.tensor.dtypes import bfloat16 as bfloat16
from penstock.tensor.dtypes import bool as bool
from penstock.tensor.dtypes import complex128 as complex128
from penstock.tensor.dtypes import complex64 as complex64
from penstock.tensor.dtypes import double as double
from penstock.tensor.dtypes import float16 as float16
from penstock.tensor.dtypes import float32 as float32
from penstock.tensor.dtypes import float64 as float64
from penstock.tensor.dtypes import half as half
from penstock.tensor.dtypes import int16 as int16
from penstock.tensor.dtypes import int32 as int32
from penstock.tensor.dtypes import int64 as int64
from penstock.tensor.dtypes import int8 as int8
from penstock.tensor.dtypes import qint16 as qint16
from penstock.tensor.dtypes import qint32 as qint32
from penstock.tensor.dtypes import qint8 as qint8
from penstock.tensor.dtypes import quint16 as quint16
from penstock.tensor.dtypes import quint8 as quint8
from penstock.tensor.dtypes import resource as resource
from penstock.tensor.dtypes import string as string
from penstock.tensor.dtypes import uint16 as uint16
from penstock.tensor.dtypes import uint32 as uint32
from penstock.tensor.dtypes import uint64 as uint64
from penstock.tensor.dtypes import uint8 as uint8
from penstock.tensor.dtypes import variant as variant
from penstock.tensor.shapes import Dimension as Dimension
from penstock.tensor.shapes import TensorShape as TensorShape
from penstock.tensor.specs import SparseTensorSpec as SparseTensorSpec
from penstock.tensor.specs import TensorSpec as TensorSpec
from penstock.version import COMPILER_VERSION as COMPILER_VERSION
from penstock.version import GIT_VERSION as GIT_VERSION
from penstock.version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from penstock.version import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from penstock.version import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from penstock.version import VERSION as VERSION
from penstock.version import COMPILER_VERSION as __compiler_version__
from penstock.version import GIT_VERSION as __git_version__
from penstock.version import VERSION as __version__
from tensorboard.compat.proto.attr_value_pb2 import AttrValue as AttrValue
from tensorboard.compat.proto.attr_value_pb2 import NameAttrList as NameAttrList
from tensorboard.compat.proto.config_pb2 import ConfigProto as ConfigProto
from tensorboard.compat.proto.config_pb2 import GPUOptions as GPUOptions
from tensorboard.compat.proto.config_pb2 import GraphOptions as GraphOptions
from tensorboard.compat.proto.config_pb2 import OptimizerOptions as OptimizerOptions
from tensorboard.compat.proto.config_pb2 import RunMetadata as RunMetadata
from tensorboard.compat.proto.config_pb2 import RunOptions as RunOptions
from tensorboard.compat.proto.event_pb2 import Event as Event
from tensorboard.compat.proto.event_pb2 import LogMessage as LogMessage
from tensorboard.compat.proto.event_pb2 import SessionLog as SessionLog
from tensorboard.compat.proto.graph_pb2 import GraphDef as GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
from tensorboard.compat.proto.meta_graph_pb2 import TensorInfo as TensorInfo
from tensorboard.compat.proto.node_def_pb2 import NodeDef as NodeDef
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig as RewriterConfig
from tensorboard.compat.proto.summary_pb2 import HistogramProto as HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary as Summary
from tensorboard.compat.proto.summary_pb2 import SummaryMetadata as SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto as TensorProto

__all__ = [
    "app", "audio", "autograph", "bitwise", "cluster", "compat", "config", "contrib", "data", "debugging", "distribute",
    "distributions", "dtypes", "errors", "estimator", "feature_column", "flags", "gfile", "graph_util", "hub", "image",
    "initializers", "io", "keras", "layers", "linalg", "logging", "lookup", "losses", "manip", "math", "metrics",
    "nest", "nn", "placement", "profiler", "python", "python_io", "quantization", "queue", "ragged", "random",
    "raw_ops", "resource_loader", "saved_model", "sets", "signal", "sparse", "spectral", "strings", "summary",
    "sysconfig", "test", "tpu", "train", "tune", "user_ops", "version", "versions", "ConditionalAccumulator",
    "ConditionalAccumulatorBase", "SparseConditionalAccumulator", "control_flow_v2_enabled", "dimension_at_index",
    "dimension_value", "disable_control_flow_v2", "disable_eager_execution", "disable_tensor_equality",
    "disable_v2_behavior", "disable_v2_tensorshape", "enable_control_flow_v2", "enable_eager_execution",
    "enable_v2_behavior", "executing_eagerly", "op_scope", "CriticalSection", "custom_gradient", "grad_pass_through",
    "recompute_grad", "constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
    "ones_initializer", "orthogonal_initializer", "random_normal_initializer", "random_uniform_initializer",
    "truncated_normal_initializer", "uniform_unit_scaling_initializer", "variance_scaling_initializer",
    "zeros_initializer", "initialize_all_tables", "tables_initializer", "Module", "create_partitioned_variables",
    "fixed_size_partitioner", "min_max_variable_partitioner", "variable_axis_size_partitioner", "FIFOQueue",
    "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue", "FixedLengthRecordReader", "IdentityReader",
    "ReaderBase", "TFRecordReader", "TextLineReader", "WholeFileReader", "make_template", "Variable",
    "VariableAggregation", "VariableSynchronization", "disable_resource_variables", "enable_resource_variables",
    "resource_variables_enabled", "variable_creator_scope", "VariableScope", "get_local_variable", "get_variable",
    "get_variable_scope", "no_regularizer", "variable_op_scope", "variable_scope", "AUTO_REUSE", "all_variables",
    "assert_variables_initialized", "global_variables", "global_variables_initializer", "initialize_all_variables",
    "initialize_local_variables", "initialize_variables", "local_variables", "local_variables_initializer",
    "model_variables", "moving_average_variables", "report_uninitialized_variables", "trainable_variables",
    "variables_initializer", "is_tensor", "OpError", "to_onnx", "to_torch", "AggregationMethod", "NoGradient",
    "NotDifferentiable", "RegisterGradient", "UnconnectedGradients", "gradients", "no_gradient", "make_ndarray",
    "make_tensor_proto", "IndexedSlices", "IndexedSlicesValue", "SparseTensor", "SparseTensorValue",
    "convert_to_tensor_or_indexed_slices", "convert_to_tensor_or_sparse_tensor", "get_static_value", "constant",
    "convert_to_tensor", "register_tensor_conversion_function", "get_default_session", "DeviceSpec", "init_scope",
    "Graph", "import_graph_def", "define_op", "Operation", "Tensor", "GraphKeys", "add_to_collection",
    "add_to_collections", "colocate_with", "container", "control_dependencies", "device", "get_all_collection_keys",
    "get_collection", "get_collection_ref", "get_default_graph", "get_seed", "name_scope", "reset_default_graph",
    "set_random_seed", "CXX11_ABI_FLAG", "MONOLITHIC_BUILD", "__cxx11_abi_flag__", "__monolithic_build__",
    "load_file_system_library", "load_library", "load_op_library", "get_logger", "accumulate_n", "add_n", "arg_max",
    "arg_min", "argmax", "argmin", "add", "atan2", "maximum", "minimum", "mul", "multiply", "pow", "scalar_mul",
    "squared_difference", "sub", "subtract", "expand_dims", "newaxis", "rank", "reshape", "shape", "shape_n", "size",
    "squeeze", "guarantee_const", "parallel_stack", "roll", "searchsorted", "group", "identity", "no_op", "placeholder",
    "placeholder_with_default", "tuple", "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to",
    "meshgrid", "cast", "saturate_cast", "to_bfloat16", "to_complex128", "to_complex64", "to_double", "to_float",
    "to_int32", "to_int64", "assert_equal", "assert_greater", "assert_greater_equal", "assert_less",
    "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_none_equal", "assert_positive", "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm",
    "clip_by_value", "global_norm", "timestamp", "approximate_equal", "equal", "greater", "greater_equal", "less",
    "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "angle", "complex", "conj",
    "imag", "real", "confusion_matrix", "case", "cond", "switch_case", "foldl", "foldr", "map_fn", "scan",
    "TensorArray", "while_loop", "decode_compressed", "decode_json_example", "decode_raw", "decode_csv",
    "batch_matrix_band_part", "batch_matrix_diag", "batch_matrix_diag_part", "batch_matrix_set_diag", "diag",
    "diag_part", "matrix_band_part", "matrix_diag", "matrix_diag_part", "matrix_set_diag", "div", "div_no_nan",
    "divide", "floor_div", "floordiv", "floormod", "mod", "realdiv", "truediv", "truncatediv", "truncatemod",
    "edit_distance", "einsum", "tensordot", "batch_fft", "batch_fft2d", "batch_fft3d", "batch_ifft", "batch_ifft2d",
    "batch_ifft3d", "fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d", "matching_files", "read_file", "write_file",
    "eye", "fill", "one_hot", "ones", "ones_like", "sequence_mask", "zeros", "zeros_like", "batch_gather",
    "boolean_mask", "gather", "gather_nd", "scatter_nd", "bincount", "histogram_fixed_width",
    "histogram_fixed_width_bins", "extract_image_patches", "concat", "split", "split_v", "batch_matrix_transpose",
    "invert_permutation", "matrix_transpose", "transpose", "batch_matrix_determinant", "batch_matrix_inverse",
    "matrix_determinant", "matrix_inverse", "cross", "batch_cholesky", "batch_cholesky_solve", "batch_matrix_solve",
    "batch_matrix_solve_ls", "batch_matrix_triangular_solve", "cholesky", "cholesky_solve", "matrix_solve",
    "matrix_solve_ls", "matrix_triangular_solve", "batch_self_adjoint_eig", "batch_self_adjoint_eigvals", "batch_svd",
    "qr", "self_adjoint_eig", "self_adjoint_eigvals", "svd", "Assert", "Print", "matmul", "trace", "batch_matmul",
    "concat_v2", "select", "pad", "FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature",
    "parse_example", "parse_single_example", "parse_single_sequence_example", "parse_sequence_example", "parse_tensor",
    "serialize_tensor", "dynamic_partition", "dynamic_stitch", "where", "where_v2", "add_check_numerics_ops", "bitcast",
    "check_numerics", "ensure_shape", "identity_n", "stop_gradient", "verify_tensor_all_finite", "numpy_function",
    "py_func", "py_function", "dequantize", "quantize", "quantize_v2", "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel", "fake_quant_with_min_max_vars_per_channel_gradient", "multinomial",
    "random_crop", "random_normal", "random_shuffle", "random_uniform", "truncated_normal", "random_gamma",
    "random_poisson", "count_nonzero", "norm", "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "repeat", "reverse", "reverse_sequence", "reverse_v2",
    "tile", "ceil", "floor", "is_finite", "is_inf", "is_nan", "rint", "round", "cumprod", "cumsum",
    "batch_scatter_update", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd_add",
    "scatter_nd_sub", "scatter_nd_update", "scatter_sub", "scatter_update", "segment_max", "segment_mean",
    "segment_min", "segment_prod", "segment_sum", "unsorted_segment_max", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sum", "unsorted_segment_mean", "unsorted_segment_sqrt_n", "lin_space",
    "linspace", "range", "delete_session_tensor", "get_session_handle", "get_session_tensor", "assert_integer",
    "assert_proper_iterable", "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype",
    "assert_scalar", "assert_type", "is_non_decreasing", "is_numeric_tensor", "is_strictly_increasing", "slice",
    "strided_slice", "argsort", "sort", "list_diff", "listdiff", "setdiff1d", "unique", "unique_with_counts",
    "batch_to_space", "batch_to_space_nd", "depth_to_space", "required_space_to_batch_paddings", "space_to_batch",
    "space_to_batch_nd", "space_to_depth", "sparse_add", "sparse_maximum", "sparse_minimum", "sparse_mask",
    "sparse_merge", "sparse_placeholder", "sparse_reset_shape", "sparse_retain", "sparse_to_indicator", "sparse_concat",
    "sparse_split", "sparse_reorder", "sparse_reshape", "sparse_slice", "sparse_transpose", "sparse_matmul",
    "sparse_tensor_dense_matmul", "sparse_reduce_max", "sparse_reduce_max_sparse", "sparse_reduce_sum",
    "sparse_reduce_sum_sparse", "sparse_softmax", "sparse_fill_empty_rows", "sparse_segment_mean",
    "sparse_segment_sqrt_n", "sparse_segment_sum", "deserialize_many_sparse", "serialize_many_sparse",
    "serialize_sparse", "sparse_tensor_to_dense", "sparse_to_dense", "digamma", "erf", "erfc", "lgamma", "polygamma",
    "betainc", "lbeta", "igamma", "igammac", "zeta", "pack", "stack", "unpack", "unstack", "assign", "assign_add",
    "assign_sub", "count_up_to", "is_variable_initialized", "as_string", "decode_base64", "encode_base64",
    "string_to_number", "print", "fingerprint", "string_to_hash_bucket", "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong", "reduce_join", "string_join", "regex_replace", "string_split", "string_strip",
    "substr", "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_sub", "tensor_scatter_nd_update",
    "tensor_scatter_sub", "tensor_scatter_update", "unravel_index", "acos", "acosh", "asin", "asinh", "atan", "atanh",
    "cos", "cosh", "sin", "sinh", "tan", "abs", "complex_abs", "exp", "expm1", "inv", "log", "log1p", "log_sigmoid",
    "neg", "negative", "reciprocal", "rsqrt", "sigmoid", "sign", "sqrt", "square", "tanh", "RaggedTensor", "hessians",
    "InteractiveSession", "Session", "audio_summary", "histogram_summary", "image_summary", "merge_all_summaries",
    "merge_summary", "scalar_summary", "DType", "QUANTIZED_DTYPES", "as_dtype", "bfloat16", "bool", "complex128",
    "complex64", "double", "float16", "float32", "float64", "half", "int16", "int32", "int64", "int8", "qint16",
    "qint32", "qint8", "quint16", "quint8", "resource", "string", "uint16", "uint32", "uint64", "uint8", "variant",
    "Dimension", "TensorShape", "SparseTensorSpec", "TensorSpec", "COMPILER_VERSION", "GIT_VERSION",
    "GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER", "GRAPH_DEF_VERSION_MIN_PRODUCER", "VERSION",
    "__compiler_version__", "__git_version__", "__version__", "AttrValue", "NameAttrList", "ConfigProto", "GPUOptions",
    "GraphOptions", "OptimizerOptions", "RunMetadata", "RunOptions", "Event", "LogMessage", "SessionLog", "GraphDef",
    "MetaGraphDef", "TensorInfo", "NodeDef", "RewriterConfig", "HistogramProto", "Summary", "SummaryMetadata",
    "TensorProto"
]
