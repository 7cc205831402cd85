"""`RandomStateHook`: training that is interrupted draws the same random numbers as training that is not."""

from __future__ import annotations

import os
from typing import Any

from penstock import logging
from penstock.checkpoint.files import checkpoint_exists
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.state import get_checkpoint_state, update_checkpoint_state
from penstock.checkpoint.writer import write_checkpoint
from penstock.export import export
from penstock.graph.scopes import add_to_collection
from penstock.session.random_streams import random_streams, restore_random_streams
from penstock.train.kept_checkpoints import KeptCheckpoints, remove_old
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.global_steps import needed_global_step
from penstock.training_loop.saving_hooks import BEFORE_CHECKPOINTS

_STATE_FILE = "checkpoint_random"


@export("train.RandomStateHook")
class RandomStateHook(SessionRunHook):
    """Saves where the random streams of nodes are (dropout, noise), beside each checkpoint as "random.ckpt-STEP".

    A session that starts at a step continues the streams of that step; without the hook, as in TensorFlow, they begin
    anew. It acts whenever the session's CheckpointSaverHook saves. Streams of functions that datasets call belong to
    the positions of iterators. (TensorFlow has no such hook.)
    """

    def __init__(self, checkpoint_dir: Any, max_to_keep: int = 5) -> None:
        """`max_to_keep`: no fewer than that of the saver."""
        self._directory = os.fspath(checkpoint_dir)
        self._kept = KeptCheckpoints(max_to_keep, hours=float("inf"))
        self._session: Any = None

    def begin(self) -> None:
        self._global_step_tensor = needed_global_step(self)
        add_to_collection(BEFORE_CHECKPOINTS, self._save)

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._restore(session, session.run(self._global_step_tensor))

    def _prefix(self, step: int) -> str:
        return os.path.join(self._directory, f"random.ckpt-{step}")

    def _restore(self, session: Any, step: int) -> None:
        if session is self._session:
            return
        self._session = session
        state = get_checkpoint_state(self._directory, _STATE_FILE)
        if state is None:
            return
        self._kept.recover(state.all_model_checkpoint_paths)
        prefix = self._prefix(step)
        if not checkpoint_exists(prefix):
            logging.warning("There are no random streams of step %d in %s. They begin anew.", step, self._directory)
            return
        with CheckpointReader(prefix) as reader:
            restore_random_streams(session, reader.read(reader.entries))

    def _save(self, session: Any, step: int) -> None:
        self._restore(session, step)  # a session's first save comes before or after its `after_create_session` here
        prefix = self._prefix(step)
        write_checkpoint(prefix, random_streams(session))
        superfluous = self._kept.record(prefix)
        update_checkpoint_state(self._directory, prefix, self._kept.prefixes, _STATE_FILE)
        for old in superfluous:
            remove_old(old, "meta")
