# Written by `python -m penstock.api.generate`.
from penstock.rnn.attention_seq2seq import attention_decoder as attention_decoder
from penstock.rnn.attention_seq2seq import embedding_attention_decoder as embedding_attention_decoder
from penstock.rnn.attention_seq2seq import embedding_attention_seq2seq as embedding_attention_seq2seq
from penstock.rnn.legacy_seq2seq import basic_rnn_seq2seq as basic_rnn_seq2seq
from penstock.rnn.legacy_seq2seq import embedding_rnn_decoder as embedding_rnn_decoder
from penstock.rnn.legacy_seq2seq import embedding_rnn_seq2seq as embedding_rnn_seq2seq
from penstock.rnn.legacy_seq2seq import model_with_buckets as model_with_buckets
from penstock.rnn.legacy_seq2seq import rnn_decoder as rnn_decoder
from penstock.rnn.sequence_loss import legacy_sequence_loss as sequence_loss
from penstock.rnn.sequence_loss import sequence_loss_by_example as sequence_loss_by_example
from penstock.rnn.tied_seq2seq import embedding_tied_rnn_seq2seq as embedding_tied_rnn_seq2seq
from penstock.rnn.tied_seq2seq import one2many_rnn_seq2seq as one2many_rnn_seq2seq
from penstock.rnn.tied_seq2seq import tied_rnn_seq2seq as tied_rnn_seq2seq

__all__ = [
    "attention_decoder", "embedding_attention_decoder", "embedding_attention_seq2seq", "basic_rnn_seq2seq",
    "embedding_rnn_decoder", "embedding_rnn_seq2seq", "model_with_buckets", "rnn_decoder", "sequence_loss",
    "sequence_loss_by_example", "embedding_tied_rnn_seq2seq", "one2many_rnn_seq2seq", "tied_rnn_seq2seq"
]
