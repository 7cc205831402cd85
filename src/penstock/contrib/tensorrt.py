"""Graphs for TensorRT, as TensorFlow for CPUs makes them (TF: tf.contrib.tensorrt)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths

open_namespace(__name__)
add_inner_paths(__name__, "python.trt_convert trt_convert")
