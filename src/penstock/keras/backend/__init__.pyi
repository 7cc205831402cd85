# Written by `python -m penstock.api.generate`.
from penstock.graph.scopes import name_scope as name_scope
from penstock.keras.backend.branches import foldl as foldl
from penstock.keras.backend.branches import foldr as foldr
from penstock.keras.backend.branches import in_test_phase as in_test_phase
from penstock.keras.backend.branches import in_train_phase as in_train_phase
from penstock.keras.backend.branches import map_fn as map_fn
from penstock.keras.backend.branches import print_tensor as print_tensor
from penstock.keras.backend.branches import switch as switch
from penstock.keras.backend.ctc import ctc_batch_cost as ctc_batch_cost
from penstock.keras.backend.ctc import ctc_decode as ctc_decode
from penstock.keras.backend.ctc import ctc_label_dense_to_sparse as ctc_label_dense_to_sparse
from penstock.keras.backend.elementwise import abs as abs
from penstock.keras.backend.elementwise import clip as clip
from penstock.keras.backend.elementwise import cos as cos
from penstock.keras.backend.elementwise import equal as equal
from penstock.keras.backend.elementwise import exp as exp
from penstock.keras.backend.elementwise import greater as greater
from penstock.keras.backend.elementwise import greater_equal as greater_equal
from penstock.keras.backend.elementwise import identity as identity
from penstock.keras.backend.elementwise import less as less
from penstock.keras.backend.elementwise import less_equal as less_equal
from penstock.keras.backend.elementwise import log as log
from penstock.keras.backend.elementwise import maximum as maximum
from penstock.keras.backend.elementwise import minimum as minimum
from penstock.keras.backend.elementwise import not_equal as not_equal
from penstock.keras.backend.elementwise import pow as pow
from penstock.keras.backend.elementwise import round as round
from penstock.keras.backend.elementwise import sign as sign
from penstock.keras.backend.elementwise import sin as sin
from penstock.keras.backend.elementwise import sqrt as sqrt
from penstock.keras.backend.elementwise import square as square
from penstock.keras.backend.elementwise import stop_gradient as stop_gradient
from penstock.keras.backend.local import local_conv1d as local_conv1d
from penstock.keras.backend.local import local_conv2d as local_conv2d
from penstock.keras.backend.networks import bias_add as bias_add
from penstock.keras.backend.networks import binary_crossentropy as binary_crossentropy
from penstock.keras.backend.networks import categorical_crossentropy as categorical_crossentropy
from penstock.keras.backend.networks import conv1d as conv1d
from penstock.keras.backend.networks import conv2d as conv2d
from penstock.keras.backend.networks import conv3d as conv3d
from penstock.keras.backend.networks import dropout as dropout
from penstock.keras.backend.networks import elu as elu
from penstock.keras.backend.networks import hard_sigmoid as hard_sigmoid
from penstock.keras.backend.networks import in_top_k as in_top_k
from penstock.keras.backend.networks import l2_normalize as l2_normalize
from penstock.keras.backend.networks import pool2d as pool2d
from penstock.keras.backend.networks import relu as relu
from penstock.keras.backend.networks import sigmoid as sigmoid
from penstock.keras.backend.networks import softmax as softmax
from penstock.keras.backend.networks import softplus as softplus
from penstock.keras.backend.networks import softsign as softsign
from penstock.keras.backend.networks import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from penstock.keras.backend.networks import tanh as tanh
from penstock.keras.backend.normalization import batch_normalization as batch_normalization
from penstock.keras.backend.normalization import normalize_batch_in_training as normalize_batch_in_training
from penstock.keras.backend.recurrence import rnn as rnn
from penstock.keras.backend.reductions import all as all
from penstock.keras.backend.reductions import any as any
from penstock.keras.backend.reductions import argmax as argmax
from penstock.keras.backend.reductions import argmin as argmin
from penstock.keras.backend.reductions import batch_dot as batch_dot
from penstock.keras.backend.reductions import cumprod as cumprod
from penstock.keras.backend.reductions import cumsum as cumsum
from penstock.keras.backend.reductions import dot as dot
from penstock.keras.backend.reductions import gather as gather
from penstock.keras.backend.reductions import logsumexp as logsumexp
from penstock.keras.backend.reductions import max as max
from penstock.keras.backend.reductions import mean as mean
from penstock.keras.backend.reductions import min as min
from penstock.keras.backend.reductions import prod as prod
from penstock.keras.backend.reductions import std as std
from penstock.keras.backend.reductions import sum as sum
from penstock.keras.backend.reductions import transpose as transpose
from penstock.keras.backend.reductions import var as var
from penstock.keras.backend.settings import backend as backend
from penstock.keras.backend.settings import cast_to_floatx as cast_to_floatx
from penstock.keras.backend.settings import epsilon as epsilon
from penstock.keras.backend.settings import floatx as floatx
from penstock.keras.backend.settings import image_data_format as image_data_format
from penstock.keras.backend.settings import set_epsilon as set_epsilon
from penstock.keras.backend.settings import set_floatx as set_floatx
from penstock.keras.backend.settings import set_image_data_format as set_image_data_format
from penstock.keras.backend.shapes import batch_flatten as batch_flatten
from penstock.keras.backend.shapes import cast as cast
from penstock.keras.backend.shapes import concatenate as concatenate
from penstock.keras.backend.shapes import expand_dims as expand_dims
from penstock.keras.backend.shapes import flatten as flatten
from penstock.keras.backend.shapes import one_hot as one_hot
from penstock.keras.backend.shapes import permute_dimensions as permute_dimensions
from penstock.keras.backend.shapes import repeat as repeat
from penstock.keras.backend.shapes import repeat_elements as repeat_elements
from penstock.keras.backend.shapes import reshape as reshape
from penstock.keras.backend.shapes import resize_images as resize_images
from penstock.keras.backend.shapes import reverse as reverse
from penstock.keras.backend.shapes import shape as shape
from penstock.keras.backend.shapes import spatial_2d_padding as spatial_2d_padding
from penstock.keras.backend.shapes import squeeze as squeeze
from penstock.keras.backend.shapes import stack as stack
from penstock.keras.backend.shapes import temporal_padding as temporal_padding
from penstock.keras.backend.shapes import tile as tile
from penstock.keras.backend.state import batch_get_value as batch_get_value
from penstock.keras.backend.state import batch_set_value as batch_set_value
from penstock.keras.backend.state import clear_session as clear_session
from penstock.keras.backend.state import eval_ as eval
from penstock.keras.backend.state import function as function
from penstock.keras.backend.state import get_session as get_session
from penstock.keras.backend.state import get_uid as get_uid
from penstock.keras.backend.state import get_value as get_value
from penstock.keras.backend.state import gradients as gradients
from penstock.keras.backend.state import learning_phase as learning_phase
from penstock.keras.backend.state import learning_phase_scope as learning_phase_scope
from penstock.keras.backend.state import manual_variable_initialization as manual_variable_initialization
from penstock.keras.backend.state import reset_uids as reset_uids
from penstock.keras.backend.state import set_learning_phase as set_learning_phase
from penstock.keras.backend.state import set_session as set_session
from penstock.keras.backend.state import set_value as set_value
from penstock.keras.backend.state import variable as variable
from penstock.keras.backend.tensors import arange as arange
from penstock.keras.backend.tensors import constant as constant
from penstock.keras.backend.tensors import count_params as count_params
from penstock.keras.backend.tensors import dtype as dtype
from penstock.keras.backend.tensors import eye as eye
from penstock.keras.backend.tensors import int_shape as int_shape
from penstock.keras.backend.tensors import is_keras_tensor as is_keras_tensor
from penstock.keras.backend.tensors import is_placeholder as is_placeholder
from penstock.keras.backend.tensors import is_sparse as is_sparse
from penstock.keras.backend.tensors import moving_average_update as moving_average_update
from penstock.keras.backend.tensors import ndim as ndim
from penstock.keras.backend.tensors import ones as ones
from penstock.keras.backend.tensors import ones_like as ones_like
from penstock.keras.backend.tensors import placeholder as placeholder
from penstock.keras.backend.tensors import random_binomial as random_binomial
from penstock.keras.backend.tensors import random_normal as random_normal
from penstock.keras.backend.tensors import random_normal_variable as random_normal_variable
from penstock.keras.backend.tensors import random_uniform as random_uniform
from penstock.keras.backend.tensors import random_uniform_variable as random_uniform_variable
from penstock.keras.backend.tensors import to_dense as to_dense
from penstock.keras.backend.tensors import truncated_normal as truncated_normal
from penstock.keras.backend.tensors import update as update
from penstock.keras.backend.tensors import update_add as update_add
from penstock.keras.backend.tensors import update_sub as update_sub
from penstock.keras.backend.tensors import zeros as zeros
from penstock.keras.backend.tensors import zeros_like as zeros_like
from penstock.keras.backend.volumes import conv2d_transpose as conv2d_transpose
from penstock.keras.backend.volumes import depthwise_conv2d as depthwise_conv2d
from penstock.keras.backend.volumes import pool3d as pool3d
from penstock.keras.backend.volumes import resize_volumes as resize_volumes
from penstock.keras.backend.volumes import separable_conv2d as separable_conv2d
from penstock.keras.backend.volumes import spatial_3d_padding as spatial_3d_padding

__all__ = [
    "name_scope", "foldl", "foldr", "in_test_phase", "in_train_phase", "map_fn", "print_tensor", "switch",
    "ctc_batch_cost", "ctc_decode", "ctc_label_dense_to_sparse", "abs", "clip", "cos", "equal", "exp", "greater",
    "greater_equal", "identity", "less", "less_equal", "log", "maximum", "minimum", "not_equal", "pow", "round", "sign",
    "sin", "sqrt", "square", "stop_gradient", "local_conv1d", "local_conv2d", "bias_add", "binary_crossentropy",
    "categorical_crossentropy", "conv1d", "conv2d", "conv3d", "dropout", "elu", "hard_sigmoid", "in_top_k",
    "l2_normalize", "pool2d", "relu", "sigmoid", "softmax", "softplus", "softsign", "sparse_categorical_crossentropy",
    "tanh", "batch_normalization", "normalize_batch_in_training", "rnn", "all", "any", "argmax", "argmin", "batch_dot",
    "cumprod", "cumsum", "dot", "gather", "logsumexp", "max", "mean", "min", "prod", "std", "sum", "transpose", "var",
    "backend", "cast_to_floatx", "epsilon", "floatx", "image_data_format", "set_epsilon", "set_floatx",
    "set_image_data_format", "batch_flatten", "cast", "concatenate", "expand_dims", "flatten", "one_hot",
    "permute_dimensions", "repeat", "repeat_elements", "reshape", "resize_images", "reverse", "shape",
    "spatial_2d_padding", "squeeze", "stack", "temporal_padding", "tile", "batch_get_value", "batch_set_value",
    "clear_session", "eval", "function", "get_session", "get_uid", "get_value", "gradients", "learning_phase",
    "learning_phase_scope", "manual_variable_initialization", "reset_uids", "set_learning_phase", "set_session",
    "set_value", "variable", "arange", "constant", "count_params", "dtype", "eye", "int_shape", "is_keras_tensor",
    "is_placeholder", "is_sparse", "moving_average_update", "ndim", "ones", "ones_like", "placeholder",
    "random_binomial", "random_normal", "random_normal_variable", "random_uniform", "random_uniform_variable",
    "to_dense", "truncated_normal", "update", "update_add", "update_sub", "zeros", "zeros_like", "conv2d_transpose",
    "depthwise_conv2d", "pool3d", "resize_volumes", "separable_conv2d", "spatial_3d_padding"
]
