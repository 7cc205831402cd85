# Written by `python -m penstock.api.generate`.
from penstock.client.trackable import AutoTrackable as Checkpointable
from penstock.client.trackable import Trackable as CheckpointableBase
from penstock.client.trackable import List as List
from penstock.client.trackable import Mapping as Mapping
from penstock.client.trackable import NoDependency as NoDependency
from penstock.train.checkpoint_manager import CheckpointManager as CheckpointManager
from penstock.train.object_graph import list_objects as list_objects
from penstock.train.object_graph import object_metadata as object_metadata

__all__ = [
    "Checkpointable", "CheckpointableBase", "List", "Mapping", "NoDependency", "CheckpointManager", "list_objects",
    "object_metadata"
]
