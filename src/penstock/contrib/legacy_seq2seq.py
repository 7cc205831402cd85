"""Sequences to sequences, in lists of steps (TF: tf.contrib.legacy_seq2seq, before that tf.nn.seq2seq)."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.rnn.attention_seq2seq import (
    attention_decoder as attention_decoder,
    embedding_attention_decoder as embedding_attention_decoder,
    embedding_attention_seq2seq as embedding_attention_seq2seq,
)
from penstock.rnn.legacy_seq2seq import (
    basic_rnn_seq2seq as basic_rnn_seq2seq,
    embedding_rnn_decoder as embedding_rnn_decoder,
    embedding_rnn_seq2seq as embedding_rnn_seq2seq,
    model_with_buckets as model_with_buckets,
    rnn_decoder as rnn_decoder,
)
from penstock.rnn.sequence_loss import (
    legacy_sequence_loss as sequence_loss,
    sequence_loss_by_example as sequence_loss_by_example,
)

__all__ = [
    "attention_decoder",
    "basic_rnn_seq2seq",
    "embedding_attention_decoder",
    "embedding_attention_seq2seq",
    "embedding_rnn_decoder",
    "embedding_rnn_seq2seq",
    "model_with_buckets",
    "rnn_decoder",
    "sequence_loss",
    "sequence_loss_by_example",
]

_absent.tell_in(__name__)
