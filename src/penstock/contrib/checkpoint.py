"""Looking into checkpoints of objects, and what they save of an object (TF: tf.contrib.checkpoint)."""

from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph as CheckpointableObjectGraph

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths

__all__ = ["CheckpointableObjectGraph"]
open_namespace(__name__)
add_inner_paths(__name__, "python.containers python.visualize")
