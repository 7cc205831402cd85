"""Neural network functions (TF: tf.nn): each is written where its op is, and listed here."""

from __future__ import annotations

from penstock import absent as _absent, rnn_cell
from penstock.contrib import legacy_seq2seq as seq2seq
from penstock.ops.candidate_sampling import (
    all_candidate_sampler,
    compute_accidental_hits,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from penstock.ops.nn.activations import (
    crelu,
    elu,
    leaky_relu,
    relu,
    relu6,
    selu,
    softplus,
    softsign,
)
from penstock.ops.nn.bias import (
    bias_add,
    relu_layer,
    xw_plus_b,
)
from penstock.ops.nn.conv_functions import (
    atrous_conv2d_transpose,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    depthwise_conv2d,
    depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input,
    separable_conv2d,
)
from penstock.ops.nn.convolution import (
    atrous_conv2d,
    conv1d,
    conv3d,
    conv3d_backprop_filter,
    conv3d_transpose,
    convolution,
)
from penstock.ops.nn.cross_entropy import (
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from penstock.ops.nn.ctc_decoders import (
    ctc_beam_search_decoder,
    ctc_beam_search_decoder_v2,
    ctc_greedy_decoder,
)
from penstock.ops.nn.ctc_loss import (
    ctc_loss,
)
from penstock.ops.nn.dilation import (
    dilation2d,
    erosion2d,
)
from penstock.ops.nn.dropout import (
    dropout,
)
from penstock.ops.nn.embedding import (
    embedding_lookup,
    embedding_lookup_sparse,
)
from penstock.ops.nn.fractional_pooling import (
    fractional_avg_pool,
    fractional_max_pool,
)
from penstock.ops.nn.losses import (
    l2_loss,
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from penstock.ops.nn.lrn import (
    local_response_normalization,
    lrn,
)
from penstock.ops.nn.normalization import (
    batch_norm_with_global_normalization,
    batch_normalization,
    fused_batch_norm,
    l2_normalize,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
    zero_fraction,
)
from penstock.ops.nn.pooling_functions import (
    avg_pool,
    avg_pool3d,
    max_pool,
    max_pool3d,
    max_pool_with_argmax,
    pool,
)
from penstock.ops.nn.pooling_v2 import (
    avg_pool1d,
    conv1d_transpose,
    max_pool1d,
    max_pool2d,
    swish,
)
from penstock.ops.nn.sampled_losses import (
    nce_loss,
    sampled_softmax_loss,
)
from penstock.ops.nn.softmax import (
    log_softmax,
    softmax,
)
from penstock.ops.nn.top_k import (
    in_top_k,
)
from penstock.ops.sorting import (
    top_k,
)
from penstock.ops.space import (
    depth_to_space,
    space_to_batch,
    space_to_depth,
)
from penstock.ops.sparse_embedding import (
    safe_embedding_lookup_sparse,
)
from penstock.ops.unary import (
    log_sigmoid,
    sigmoid,
    tanh,
)

# Names that TensorFlow gives twice.
from penstock.rnn.bidirectional import bidirectional_dynamic_rnn
from penstock.rnn.dynamic import dynamic_rnn
from penstock.rnn.raw import raw_rnn
from penstock.rnn.static import static_bidirectional_rnn, static_rnn, static_state_saving_rnn

avg_pool2d = avg_pool
rnn = static_rnn  # the names before TensorFlow 1.0
bidirectional_rnn = static_bidirectional_rnn
state_saving_rnn = static_state_saving_rnn

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "bidirectional_rnn",
    "compute_accidental_hits",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fixed_unigram_candidate_sampler",
    "fractional_avg_pool",
    "fractional_max_pool",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_sigmoid",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "selu",
    "separable_conv2d",
    "seq2seq",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "state_saving_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
    "zero_fraction",
]

_absent.tell_in(__name__)
