"""Checkpoint files: written atomically, verified when read, without code; and the `checkpoint` state file."""

from penstock.checkpoint.files import (
    checkpoint_exists,
    delete_checkpoint,
    get_checkpoint_mtimes,
    list_variables,
)
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slices import Slice, SlicedTensor
from penstock.checkpoint.state import (
    CheckpointState,
    generate_checkpoint_state_proto,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)
from penstock.checkpoint.writer import MAX_SHARD_BYTES, write_checkpoint

__all__ = [
    "MAX_SHARD_BYTES",
    "CheckpointReader",
    "CheckpointState",
    "Slice",
    "SlicedTensor",
    "checkpoint_exists",
    "delete_checkpoint",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "update_checkpoint_state",
    "write_checkpoint",
]
