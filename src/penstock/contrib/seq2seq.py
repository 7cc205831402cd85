"""Sequences to sequences (TF: tf.contrib.seq2seq)."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.ops.gather_tree import gather_tree as gather_tree
from penstock.rnn.sequence_loss import sequence_loss as sequence_loss
from penstock.seq2seq.attention import (
    AttentionMechanism as AttentionMechanism,
    BahdanauAttention as BahdanauAttention,
    LuongAttention as LuongAttention,
)
from penstock.seq2seq.attention_wrapper import (
    AttentionWrapper as AttentionWrapper,
    AttentionWrapperState as AttentionWrapperState,
    hardmax as hardmax,
)
from penstock.seq2seq.basic_decoder import BasicDecoder as BasicDecoder, BasicDecoderOutput as BasicDecoderOutput
from penstock.seq2seq.beam_arrays import gather_tree_from_array as gather_tree_from_array
from penstock.seq2seq.beam_search import (
    BeamSearchDecoder as BeamSearchDecoder,
    FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
    tile_batch as tile_batch,
)
from penstock.seq2seq.beam_step import (
    BeamSearchDecoderOutput as BeamSearchDecoderOutput,
    BeamSearchDecoderState as BeamSearchDecoderState,
)
from penstock.seq2seq.decoder import Decoder as Decoder, dynamic_decode as dynamic_decode
from penstock.seq2seq.decoder_fn import (
    attention_decoder_fn_inference as attention_decoder_fn_inference,
    attention_decoder_fn_train as attention_decoder_fn_train,
    dynamic_rnn_decoder as dynamic_rnn_decoder,
    prepare_attention as prepare_attention,
    simple_decoder_fn_inference as simple_decoder_fn_inference,
    simple_decoder_fn_train as simple_decoder_fn_train,
)
from penstock.seq2seq.helpers import (
    CustomHelper as CustomHelper,
    GreedyEmbeddingHelper as GreedyEmbeddingHelper,
    Helper as Helper,
    InferenceHelper as InferenceHelper,
    SampleEmbeddingHelper as SampleEmbeddingHelper,
    TrainingHelper as TrainingHelper,
)
from penstock.seq2seq.monotonic import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention,
    LuongMonotonicAttention as LuongMonotonicAttention,
    monotonic_attention as monotonic_attention,
    safe_cumprod as safe_cumprod,
)
from penstock.seq2seq.scheduled_helpers import (
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper,
)

DynamicAttentionWrapper = AttentionWrapper  # TF 1.1's name

_absent.tell_in(__name__)
