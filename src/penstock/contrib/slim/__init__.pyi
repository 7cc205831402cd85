# Written by `python -m penstock.api.generate`.
from penstock.contrib import layers as layers
from penstock.contrib import losses as losses
from penstock.contrib import metrics as metrics
from penstock.contrib.framework import variables as variables
from penstock.contrib.framework.arg_scopes import add_arg_scope as add_arg_scope
from penstock.contrib.framework.arg_scopes import arg_scope as arg_scope
from penstock.contrib.framework.arg_scopes import arg_scope_func_key as arg_scope_func_key
from penstock.contrib.framework.arg_scopes import arg_scoped_arguments as arg_scoped_arguments
from penstock.contrib.framework.arg_scopes import current_arg_scope as current_arg_scope
from penstock.contrib.framework.arg_scopes import has_arg_scope as has_arg_scope
from penstock.contrib.framework.assignments import assign_from_checkpoint as assign_from_checkpoint
from penstock.contrib.framework.assignments import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from penstock.contrib.framework.assignments import assign_from_values as assign_from_values
from penstock.contrib.framework.assignments import assign_from_values_fn as assign_from_values_fn
from penstock.contrib.framework.variables import add_model_variable as add_model_variable
from penstock.contrib.framework.variables import filter_variables as filter_variables
from penstock.contrib.framework.variables import get_local_variables as get_local_variables
from penstock.contrib.framework.variables import get_model_variables as get_model_variables
from penstock.contrib.framework.variables import get_trainable_variables as get_trainable_variables
from penstock.contrib.framework.variables import get_unique_variable as get_unique_variable
from penstock.contrib.framework.variables import get_variable_full_name as get_variable_full_name
from penstock.contrib.framework.variables import get_variables as get_variables
from penstock.contrib.framework.variables import get_variables_by_name as get_variables_by_name
from penstock.contrib.framework.variables import get_variables_by_suffix as get_variables_by_suffix
from penstock.contrib.framework.variables import get_variables_to_restore as get_variables_to_restore
from penstock.contrib.framework.variables import global_variable as global_variable
from penstock.contrib.framework.variables import local_variable as local_variable
from penstock.contrib.framework.variables import model_variable as model_variable
from penstock.contrib.framework.variables import variable as variable
from penstock.contrib.layers import initializers as initializers
from penstock.contrib.layers import regularizers as regularizers
from penstock.contrib.layers import utils as utils
from penstock.contrib.layers.convolutions import conv1d as conv1d
from penstock.contrib.layers.convolutions import conv2d as conv2d
from penstock.contrib.layers.convolutions import convolution2d_in_plane as conv2d_in_plane
from penstock.contrib.layers.convolutions import conv2d_transpose as conv2d_transpose
from penstock.contrib.layers.convolutions import conv3d as conv3d
from penstock.contrib.layers.convolutions import conv3d_transpose as conv3d_transpose
from penstock.contrib.layers.convolutions import convolution as convolution
from penstock.contrib.layers.convolutions import convolution1d as convolution1d
from penstock.contrib.layers.convolutions import convolution2d as convolution2d
from penstock.contrib.layers.convolutions import convolution2d_in_plane as convolution2d_in_plane
from penstock.contrib.layers.convolutions import convolution2d_transpose as convolution2d_transpose
from penstock.contrib.layers.convolutions import convolution3d as convolution3d
from penstock.contrib.layers.convolutions import convolution3d_transpose as convolution3d_transpose
from penstock.contrib.layers.convolutions import separable_convolution2d as separable_conv2d
from penstock.contrib.layers.convolutions import separable_convolution2d as separable_convolution2d
from penstock.contrib.layers.dense import bias_add as bias_add
from penstock.contrib.layers.dense import elu as elu
from penstock.contrib.layers.dense import fully_connected as fully_connected
from penstock.contrib.layers.dense import linear as linear
from penstock.contrib.layers.dense import relu as relu
from penstock.contrib.layers.dense import relu6 as relu6
from penstock.contrib.layers.embeddings import embed_sequence as embed_sequence
from penstock.contrib.layers.embeddings import embedding_lookup_unique as embedding_lookup_unique
from penstock.contrib.layers.group_normalization import group_norm as group_norm
from penstock.contrib.layers.initializers import variance_scaling_initializer as variance_scaling_initializer
from penstock.contrib.layers.initializers import xavier_initializer as xavier_initializer
from penstock.contrib.layers.initializers import xavier_initializer as xavier_initializer_conv2d
from penstock.contrib.layers.normalization import batch_norm as batch_norm
from penstock.contrib.layers.normalization import instance_norm as instance_norm
from penstock.contrib.layers.normalization import layer_norm as layer_norm
from penstock.contrib.layers.optimizers import OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES
from penstock.contrib.layers.optimizers import OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES
from penstock.contrib.layers.optimizers import adaptive_clipping_fn as adaptive_clipping_fn
from penstock.contrib.layers.optimizers import optimize_loss as optimize_loss
from penstock.contrib.layers.plain import dense_to_sparse as dense_to_sparse
from penstock.contrib.layers.plain import dropout as dropout
from penstock.contrib.layers.plain import flatten as flatten
from penstock.contrib.layers.plain import maxout as maxout
from penstock.contrib.layers.plain import one_hot_encoding as one_hot_encoding
from penstock.contrib.layers.plain import repeat as repeat
from penstock.contrib.layers.plain import softmax as softmax
from penstock.contrib.layers.plain import spatial_softmax as spatial_softmax
from penstock.contrib.layers.plain import stack as stack
from penstock.contrib.layers.plain import unit_norm as unit_norm
from penstock.contrib.layers.pooling import avg_pool2d as avg_pool2d
from penstock.contrib.layers.pooling import avg_pool3d as avg_pool3d
from penstock.contrib.layers.pooling import max_pool2d as max_pool2d
from penstock.contrib.layers.pooling import max_pool3d as max_pool3d
from penstock.contrib.layers.pooling import pool as pool
from penstock.contrib.layers.regularizers import apply_regularization as apply_regularization
from penstock.contrib.layers.regularizers import l1_l2_regularizer as l1_l2_regularizer
from penstock.contrib.layers.regularizers import l1_regularizer as l1_regularizer
from penstock.contrib.layers.regularizers import l2_regularizer as l2_regularizer
from penstock.contrib.layers.regularizers import sum_regularizer as sum_regularizer
from penstock.contrib.layers.summaries import summarize_activation as summarize_activation
from penstock.contrib.layers.summaries import summarize_activations as summarize_activations
from penstock.contrib.layers.summaries import summarize_biases as summarize_biases
from penstock.contrib.layers.summaries import summarize_collection as summarize_collection
from penstock.contrib.layers.summaries import summarize_tensor as summarize_tensor
from penstock.contrib.layers.summaries import summarize_tensors as summarize_tensors
from penstock.contrib.layers.summaries import summarize_variables as summarize_variables
from penstock.contrib.layers.summaries import summarize_weights as summarize_weights
from penstock.contrib.slim import data_decoder as data_decoder
from penstock.contrib.slim import data_provider as data_provider
from penstock.contrib.slim import dataset as dataset
from penstock.contrib.slim import dataset_data_provider as dataset_data_provider
from penstock.contrib.slim import evaluation as evaluation
from penstock.contrib.slim import learning as learning
from penstock.contrib.slim import model_analyzer as model_analyzer
from penstock.contrib.slim import nets as nets
from penstock.contrib.slim import parallel_reader as parallel_reader
from penstock.contrib.slim import prefetch_queue as prefetch_queue
from penstock.contrib.slim import queues as queues
from penstock.contrib.slim import summaries as summaries
from penstock.contrib.slim import tfexample_decoder as tfexample_decoder
from penstock.python.framework import dtypes as dtypes
from penstock.python.framework import ops as ops
from penstock.python.framework import sparse_tensor as sparse_tensor
from penstock.python.framework import tensor_shape as tensor_shape
from penstock.python.ops import array_ops as array_ops
from penstock.python.ops import clip_ops as clip_ops
from penstock.python.ops import control_flow_ops as control_flow_ops
from penstock.python.ops import embedding_ops as embedding_ops
from penstock.python.ops import init_ops as init_ops
from penstock.python.ops import math_ops as math_ops
from penstock.python.ops import nn as nn
from penstock.python.ops import nn_ops as nn_ops
from penstock.python.ops import parsing_ops as parsing_ops
from penstock.python.ops import random_ops as random_ops
from penstock.python.ops import sparse_ops as sparse_ops
from penstock.python.ops import string_ops as string_ops
from penstock.python.ops import variable_scope as variable_scope
from penstock.python.ops import variable_scope as vs
from penstock.python.training import moving_averages as moving_averages
from penstock.python.util import nest as nest
from penstock.train.global_step import assert_global_step as assert_global_step
from penstock.train.global_step import create_global_step as create_global_step
from penstock.train.global_step import get_global_step as get_global_step
from penstock.train.global_step import get_or_create_global_step as get_or_create_global_step

__all__ = [
    "layers", "losses", "metrics", "variables", "add_arg_scope", "arg_scope", "arg_scope_func_key",
    "arg_scoped_arguments", "current_arg_scope", "has_arg_scope", "assign_from_checkpoint", "assign_from_checkpoint_fn",
    "assign_from_values", "assign_from_values_fn", "add_model_variable", "filter_variables", "get_local_variables",
    "get_model_variables", "get_trainable_variables", "get_unique_variable", "get_variable_full_name", "get_variables",
    "get_variables_by_name", "get_variables_by_suffix", "get_variables_to_restore", "global_variable", "local_variable",
    "model_variable", "variable", "initializers", "regularizers", "utils", "conv1d", "conv2d", "conv2d_in_plane",
    "conv2d_transpose", "conv3d", "conv3d_transpose", "convolution", "convolution1d", "convolution2d",
    "convolution2d_in_plane", "convolution2d_transpose", "convolution3d", "convolution3d_transpose", "separable_conv2d",
    "separable_convolution2d", "bias_add", "elu", "fully_connected", "linear", "relu", "relu6", "embed_sequence",
    "embedding_lookup_unique", "group_norm", "variance_scaling_initializer", "xavier_initializer",
    "xavier_initializer_conv2d", "batch_norm", "instance_norm", "layer_norm", "OPTIMIZER_CLS_NAMES",
    "OPTIMIZER_SUMMARIES", "adaptive_clipping_fn", "optimize_loss", "dense_to_sparse", "dropout", "flatten", "maxout",
    "one_hot_encoding", "repeat", "softmax", "spatial_softmax", "stack", "unit_norm", "avg_pool2d", "avg_pool3d",
    "max_pool2d", "max_pool3d", "pool", "apply_regularization", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer",
    "sum_regularizer", "summarize_activation", "summarize_activations", "summarize_biases", "summarize_collection",
    "summarize_tensor", "summarize_tensors", "summarize_variables", "summarize_weights", "data_decoder",
    "data_provider", "dataset", "dataset_data_provider", "evaluation", "learning", "model_analyzer", "nets",
    "parallel_reader", "prefetch_queue", "queues", "summaries", "tfexample_decoder", "dtypes", "ops", "sparse_tensor",
    "tensor_shape", "array_ops", "clip_ops", "control_flow_ops", "embedding_ops", "init_ops", "math_ops", "nn",
    "nn_ops", "parsing_ops", "random_ops", "sparse_ops", "string_ops", "variable_scope", "vs", "moving_averages",
    "nest", "assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step"
]
