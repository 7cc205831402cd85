# Written by `python -m penstock.api.generate`.
from penstock.ops.gather_tree import gather_tree as gather_tree
from penstock.rnn.sequence_loss import sequence_loss as sequence_loss
from penstock.seq2seq.attention import AttentionMechanism as AttentionMechanism
from penstock.seq2seq.attention import BahdanauAttention as BahdanauAttention
from penstock.seq2seq.attention import LuongAttention as LuongAttention
from penstock.seq2seq.attention_wrapper import AttentionWrapper as AttentionWrapper
from penstock.seq2seq.attention_wrapper import AttentionWrapperState as AttentionWrapperState
from penstock.seq2seq.attention_wrapper import AttentionWrapper as DynamicAttentionWrapper
from penstock.seq2seq.attention_wrapper import hardmax as hardmax
from penstock.seq2seq.basic_decoder import BasicDecoder as BasicDecoder
from penstock.seq2seq.basic_decoder import BasicDecoderOutput as BasicDecoderOutput
from penstock.seq2seq.beam_arrays import gather_tree_from_array as gather_tree_from_array
from penstock.seq2seq.beam_search import BeamSearchDecoder as BeamSearchDecoder
from penstock.seq2seq.beam_search import FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput
from penstock.seq2seq.beam_search import tile_batch as tile_batch
from penstock.seq2seq.beam_step import BeamSearchDecoderOutput as BeamSearchDecoderOutput
from penstock.seq2seq.beam_step import BeamSearchDecoderState as BeamSearchDecoderState
from penstock.seq2seq.decoder import Decoder as Decoder
from penstock.seq2seq.decoder import dynamic_decode as dynamic_decode
from penstock.seq2seq.decoder_fn import attention_decoder_fn_inference as attention_decoder_fn_inference
from penstock.seq2seq.decoder_fn import attention_decoder_fn_train as attention_decoder_fn_train
from penstock.seq2seq.decoder_fn import dynamic_rnn_decoder as dynamic_rnn_decoder
from penstock.seq2seq.decoder_fn import prepare_attention as prepare_attention
from penstock.seq2seq.decoder_fn import simple_decoder_fn_inference as simple_decoder_fn_inference
from penstock.seq2seq.decoder_fn import simple_decoder_fn_train as simple_decoder_fn_train
from penstock.seq2seq.helpers import CustomHelper as CustomHelper
from penstock.seq2seq.helpers import GreedyEmbeddingHelper as GreedyEmbeddingHelper
from penstock.seq2seq.helpers import Helper as Helper
from penstock.seq2seq.helpers import InferenceHelper as InferenceHelper
from penstock.seq2seq.helpers import SampleEmbeddingHelper as SampleEmbeddingHelper
from penstock.seq2seq.helpers import TrainingHelper as TrainingHelper
from penstock.seq2seq.monotonic import BahdanauMonotonicAttention as BahdanauMonotonicAttention
from penstock.seq2seq.monotonic import LuongMonotonicAttention as LuongMonotonicAttention
from penstock.seq2seq.monotonic import monotonic_attention as monotonic_attention
from penstock.seq2seq.monotonic import safe_cumprod as safe_cumprod
from penstock.seq2seq.scheduled_helpers import ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper
from penstock.seq2seq.scheduled_helpers import ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper

__all__ = [
    "gather_tree", "sequence_loss", "AttentionMechanism", "BahdanauAttention", "LuongAttention", "AttentionWrapper",
    "AttentionWrapperState", "DynamicAttentionWrapper", "hardmax", "BasicDecoder", "BasicDecoderOutput",
    "gather_tree_from_array", "BeamSearchDecoder", "FinalBeamSearchDecoderOutput", "tile_batch",
    "BeamSearchDecoderOutput", "BeamSearchDecoderState", "Decoder", "dynamic_decode", "attention_decoder_fn_inference",
    "attention_decoder_fn_train", "dynamic_rnn_decoder", "prepare_attention", "simple_decoder_fn_inference",
    "simple_decoder_fn_train", "CustomHelper", "GreedyEmbeddingHelper", "Helper", "InferenceHelper",
    "SampleEmbeddingHelper", "TrainingHelper", "BahdanauMonotonicAttention", "LuongMonotonicAttention",
    "monotonic_attention", "safe_cumprod", "ScheduledEmbeddingTrainingHelper", "ScheduledOutputTrainingHelper"
]
