"""`Checkpoint`: saves objects with their variables, and restores them by the names of attributes (TF: the same)."""

from __future__ import annotations

import os
from typing import Any

from penstock.checkpoint.state import update_checkpoint_state
from penstock.client.trackable import AutoTrackable, NoDependency, is_trackable
from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.scopes import control_dependencies, get_default_graph
from penstock.train.object_saver import ObjectSaver, Status, session_or_default
from penstock.train.saver import after_save


@export("train.Checkpoint", "contrib.eager.Checkpoint")
class Checkpoint(AutoTrackable):
    """Objects that are saved together: variables, optimizers, layers, models, modules, and other checkpoints.

    They become attributes, and what is set as one later is saved, too, as are lists and dicts. Values are found again
    by the names of attributes on the way to them, so that the names of variables may change, and those of optimizers'
    slots with them. Files are those of TensorFlow, in both directions. Raises ValueError for what is not trackable.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from `TrackableBase`), got "
                    f"{value}. Variables, optimizers, layers, models, tf.Module and tf.train.Checkpoint are; lists and "
                    "dicts of them may be attributes: checkpoint.parts = [...]."
                )
            setattr(self, name, value)
        self._save_counter = NoDependency(None)
        self._save_assign_op = NoDependency(None)
        self._objects = ObjectSaver(self)

    @property
    def save_counter(self) -> Any:
        """The variable that numbers checkpoints: 0, and one more before each is saved."""
        if self._save_counter is None:
            with get_default_graph().device("/device:CPU:0"), control_dependencies(None):
                counter = Variable(0, dtype="int64", trainable=False, name="save_counter", use_resource=True)
            self._save_counter = NoDependency(self._track_trackable(counter, "save_counter"))
        return self._save_counter

    def count_save(self, session: Any) -> int:
        """Count a save; the counter gets its first value if it is made by this."""
        with session.graph.as_default():
            if self._save_counter is None:
                session.run(self.save_counter.initializer)
            if self._save_assign_op is None:
                with control_dependencies(None):
                    self._save_assign_op = NoDependency(self.save_counter.assign_add(1, read_value=True))
        return int(session.run(self._save_assign_op))

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Save everything as `file_prefix-1`, `-2`, …, and name it in the directory's state file; returns the prefix.

        session: the default one, or that of Keras. The checkpoint is written atomically, and its directory is made.
        Raises FailedPreconditionError for a variable without a value, ResourceExhaustedError on a full disk.
        """
        prefix, run = os.fspath(file_prefix), session_or_default(session)
        path = self.write(f"{prefix}-{self.count_save(run)}", run)
        update_checkpoint_state(os.path.dirname(prefix), path, [path], save_relative_paths=True)
        for follow in after_save:
            follow(path)
        return path

    def write(self, file_prefix: Any, session: Any = None) -> str:
        """Save everything as `file_prefix`, without counting."""
        prefix, run = os.fspath(file_prefix), session_or_default(session)
        self._objects.write(prefix, run)
        return prefix

    def restore(self, save_path: Any) -> Status:
        """What restores the checkpoint (or for None initialises variables) once it is told to, in a session.

        `restore(path).assert_consumed().run_restore_ops()`, or `.initialize_or_restore()`. Objects may be made between
        these. A checkpoint of `tf.train.Saver` is restored by the names of variables. Raises NotFoundError without such
        a checkpoint, DataLossError if it is damaged.
        """
        status = self._objects.restore(None if save_path is None else os.fspath(save_path))
        _ = self.save_counter  # made now, so that it is initialised with the others
        return status
