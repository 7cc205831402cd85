"""Checkpoint files: written atomically, verified when read, without code; and the `checkpoint` state file."""
