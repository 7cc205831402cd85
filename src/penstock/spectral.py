"""Fourier transforms (TF: tf.spectral, tf.signal)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
