"""Layers that name and collect their variables, regularizers, `optimize_loss` (TF: tf.contrib.layers)."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.contrib.layers import (
    convolutions,
    dense,
    embeddings,
    initializers as initializers,
    normalization as normalization,
    optimizers as optimizers,
    plain,
    pooling,
    regularizers as regularizers,
    summaries as summaries,
    utils as utils,
)
from penstock.contrib.layers.convolutions import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv2d_in_plane as conv2d_in_plane,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    conv3d_transpose as conv3d_transpose,
    convolution as convolution,
    convolution1d as convolution1d,
    convolution2d as convolution2d,
    convolution2d_in_plane as convolution2d_in_plane,
    convolution2d_transpose as convolution2d_transpose,
    convolution3d as convolution3d,
    convolution3d_transpose as convolution3d_transpose,
    separable_conv2d as separable_conv2d,
    separable_convolution2d as separable_convolution2d,
)
from penstock.contrib.layers.dense import (
    bias_add as bias_add,
    elu as elu,
    fully_connected as fully_connected,
    linear as linear,
    relu as relu,
    relu6 as relu6,
)
from penstock.contrib.layers.embeddings import (
    embed_sequence as embed_sequence,
    embedding_lookup_unique as embedding_lookup_unique,
)
from penstock.contrib.layers.initializers import (
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer_conv2d as xavier_initializer_conv2d,
)
from penstock.contrib.layers.normalization import (
    batch_norm as batch_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
)
from penstock.contrib.layers.optimizers import (
    OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES,
    adaptive_clipping_fn as adaptive_clipping_fn,
    optimize_loss as optimize_loss,
)
from penstock.contrib.layers.plain import (
    dense_to_sparse as dense_to_sparse,
    dropout as dropout,
    flatten as flatten,
    maxout as maxout,
    one_hot_encoding as one_hot_encoding,
    repeat as repeat,
    softmax as softmax,
    spatial_softmax as spatial_softmax,
    stack as stack,
    unit_norm as unit_norm,
)
from penstock.contrib.layers.pooling import (
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
    pool as pool,
)
from penstock.contrib.layers.regularizers import (
    apply_regularization as apply_regularization,
    l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer,
    l2_regularizer as l2_regularizer,
    sum_regularizer as sum_regularizer,
)
from penstock.contrib.layers.summaries import (
    summarize_activation as summarize_activation,
    summarize_activations as summarize_activations,
    summarize_biases as summarize_biases,
    summarize_collection as summarize_collection,
    summarize_tensor as summarize_tensor,
    summarize_tensors as summarize_tensors,
    summarize_variables as summarize_variables,
    summarize_weights as summarize_weights,
)
from penstock.old_paths import add_module

_layers = (convolutions, dense, embeddings, normalization, plain, pooling)
_all = add_module(f"{__name__}.python.layers", *_layers, initializers, optimizers, regularizers, summaries, utils=utils)
for _name, _modules in {
    "layers": _layers,
    "initializers": (initializers,),
    "optimizers": (optimizers,),
    "regularizers": (regularizers,),
    "summaries": (summaries,),
    "utils": (utils,),
    "encoders": (embeddings,),
    "normalization": (normalization,),
}.items():
    add_module(f"{__name__}.python.layers.{_name}", *_modules)

_absent.tell_in(__name__)
