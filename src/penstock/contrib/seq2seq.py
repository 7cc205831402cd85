"""Sequences to sequences (TF: tf.contrib.seq2seq)."""

from __future__ import annotations

from penstock.rnn.sequence_loss import sequence_loss as sequence_loss
