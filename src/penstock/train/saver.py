"""`Saver`: writes checkpoints of variables, restores them, and keeps the latest few (TF: tf.train.Saver)."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from tensorboard.compat.proto import saver_pb2

from penstock.checkpoint.background import announced, finish, settle, start, turn
from penstock.checkpoint.files import checkpoint_exists
from penstock.checkpoint.formats import Format, default_format, known_format
from penstock.checkpoint.replace import write_whole
from penstock.checkpoint.state import update_checkpoint_state
from penstock.client.saveables import SaveableObject, SaveSpec, saveables_of
from penstock.client.variable import Variable, in_scope
from penstock.client.variables import global_variables
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_collection
from penstock.train.collection_protos import register_proto_function
from penstock.train.global_step import global_step as read_global_step
from penstock.train.kept_checkpoints import KeptCheckpoints, meta_graph_name, remove_old
from penstock.train.meta_graph import export_meta_graph, import_scoped_meta_graph
from penstock.train.restorable import check_restorable
from penstock.train.saver_nodes import build_saver_nodes

_LOG = logging.getLogger(__name__)
_NAMES = ("filename_tensor_name", "save_tensor_name", "restore_op_name")
after_save: list[Callable[[str], None]] = []
"""Called with each prefix that has been saved and named in the state file."""
P = ParamSpec("P")
T = TypeVar("T")


def _in_turn(save: Callable[P, T]) -> Callable[P, T]:
    """`save`, with threads taking turns: the state file names the checkpoint that was begun last."""

    @wraps(save)
    def save_in_turn(*args: P.args, **kwargs: P.kwargs) -> T:
        with turn:
            return save(*args, **kwargs)

    return save_in_turn


@export("train.BaseSaverBuilder")
class BaseSaverBuilder:
    """Where users' code finds the base classes of its own saveable objects."""

    SaveSpec = SaveSpec
    SaveableObject = SaveableObject


@export("train.Saver")
class Saver:
    """Saves and restores variables.

    var_list: variables, or a dict from names in the checkpoint to variables; all global ones if None. reshape: restore
    tensors of a different shape with the same number of elements. max_to_keep: how many checkpoints to keep; older ones
    are deleted (None or 0: all). keep_checkpoint_every_n_hours: also keep one for every such period. saver_def: use the
    nodes that it names instead of building any. defer_build: build the nodes in `build`. allow_empty: without
    variables, saving does nothing. pad_step_number: `model-00000007`. save_relative_paths: the state file names
    checkpoints relative to itself. filename: the default of the filename node. sharded: a Save node on each device that
    has variables, then one that merges what they wrote. restore_sequentially: assign one variable after the other.
    write_version: "penstock" or "tensorflow", the format of the files (`SaverDef.V2`, TensorFlow's default, stands for
    Penstock's own, or for what the environment variable PENSTOCK_CHECKPOINT_FORMAT says), or TensorFlow's first format,
    "tensorflow-v1" (`SaverDef.V1`), with one file, of the name that `save` is given; all formats can be restored.
    background: what `save` does unless it is told.

    Raises ValueError without variables, or for two with the same name, TypeError for what is not a variable.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int | str = saver_pb2.SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
        *,
        background: bool = False,
    ) -> None:
        if defer_build and var_list is not None:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                "var_list=None."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._allow_empty = allow_empty
        self._is_built = False
        self._is_empty = False
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._filename = filename
        self._write_version = write_version if isinstance(write_version, int) else known_format(write_version)
        self._background = background
        self._finished_graph: tuple[Any, bytes] | None = None
        self._kept = KeptCheckpoints(max_to_keep or 0, keep_checkpoint_every_n_hours)
        if saver_def is not None:
            self._adopt()
            if name:  # the scope into which the nodes were imported
                self.saver_def = _renamed(self.saver_def, lambda each: in_scope(each, name))
        elif not defer_build:
            self.build()

    def build(self) -> None:
        """Add the Save and Restore nodes to the default graph, if they do not exist yet."""
        if self._is_built:
            return
        if self.saver_def is None:
            if self._var_list is None:
                self._var_list = global_variables() + get_collection(GraphKeys.SAVEABLE_OBJECTS)
            if not self._var_list:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_built = self._is_empty = True
                return
            self.saver_def = build_saver_nodes(
                saveables_of(self._var_list),
                self._name,
                self._reshape,
                self._filename,
                self._restore_sequentially,
                self._sharded,
            )
            self.saver_def.max_to_keep = self._max_to_keep or 0
            self.saver_def.keep_checkpoint_every_n_hours = self._keep_checkpoint_every_n_hours
            if isinstance(self._write_version, int):
                self.saver_def.version = self._write_version
        self._adopt()

    def _adopt(self) -> None:
        """Adopt the settings of a SaverDef."""
        if not isinstance(self.saver_def, saver_pb2.SaverDef):
            if not hasattr(self.saver_def, "SerializeToString"):
                raise ValueError(f"saver_def must be a SaverDef, not {type(self.saver_def).__name__}")
            self.saver_def = saver_pb2.SaverDef.FromString(self.saver_def.SerializeToString())
        for field in _NAMES[1:]:
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")
        self._is_built = True
        if self.saver_def.version == saver_pb2.SaverDef.V1:
            self._write_version = self.saver_def.version
        self._kept = KeptCheckpoints(self.saver_def.max_to_keep, self.saver_def.keep_checkpoint_every_n_hours)

    def _check_built(self) -> None:
        if not self._is_built:
            raise RuntimeError(
                "`build()` should be called before save if defer_build==True; the saver has no nodes yet."
            )

    # --- save and restore -------------------------------------------------------------------------------

    @_in_turn
    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
        *,
        background: bool | None = None,
    ) -> str | None:
        """Save the variables of `sess`; returns the prefix for `restore` (None for an empty saver).

        save_path: the prefix; global_step (a number, a tensor or a variable) is appended to it. The checkpoint is
        written atomically. latest_filename: the name of the state file ("checkpoint"). background: return as soon as
        the variables have been copied. The write, with all that depends on it (the state file, deletions), goes on in a
        thread, which the next save, whatever looks for checkpoints, and the end of the process wait for; its error is
        raised by the session's next save or `close`.

        Raises TypeError or ValueError for invalid arguments and a missing directory, FailedPreconditionError for a
        variable without a value, ResourceExhaustedError on a full disk.
        """
        self._check_built()
        latest_filename = latest_filename or "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        writes_as = self._format()
        prefix = self._prefix(sess, os.fspath(save_path), global_step, latest_filename)
        if self._is_empty:
            return None
        parent = os.path.dirname(prefix)
        if "://" not in prefix and not os.path.isdir(os.path.dirname(parent) or "."):
            raise ValueError(f"Parent directory of {prefix} doesn't exist, can't save.")
        put_off = self._background if background is None else background
        finish(sess)
        with announced(prefix, writes_as, put_off) as save:
            saved = sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix})
        written = os.fsdecode(saved) if isinstance(saved, bytes) else str(saved)
        steps = save.later
        if write_state:
            steps.append(partial(self._record, written, latest_filename, meta_graph_suffix))
        if write_meta_graph:
            export = partial(
                self._export_beside, sess.graph, meta_graph_name(prefix, meta_graph_suffix), strip_default_attrs
            )
            if put_off and not sess.graph.finalized:
                export()  # the graph may change before the thread would come to it
            else:
                steps.append(export)
        if put_off:
            start(partial(_do, steps), sess, f"checkpoint {written}")
        else:
            _do(steps)
        return written

    def _format(self) -> Format:
        if isinstance(self._write_version, str):
            return self._write_version
        return default_format() if self._write_version == saver_pb2.SaverDef.V2 else "tensorflow-v1"

    def _record(self, written: str, latest_filename: str, meta_graph_suffix: str) -> None:
        """Name the checkpoint, which is complete, in the state file, and delete those that are too many."""
        superfluous = self._kept.record(written)
        update_checkpoint_state(
            os.path.dirname(written),
            written,
            self._kept.prefixes,
            latest_filename,
            save_relative_paths=self._save_relative_paths,
        )
        for old in superfluous:
            remove_old(old, meta_graph_suffix)
        for follow in after_save:
            follow(written)

    def _export_beside(self, graph: Graph, path: str, strip_default_attrs: bool) -> None:
        """Write the meta graph; one that cannot change any more is made once."""
        if self._finished_graph is not None and self._finished_graph[0]() is graph:
            write_whole(path, self._finished_graph[1])
            return
        with graph.as_default():
            data = self.export_meta_graph(strip_default_attrs=strip_default_attrs).SerializeToString()
        if graph.finalized:
            self._finished_graph = weakref.ref(graph), data
        write_whole(path, data)

    def _prefix(self, sess: Any, save_path: str, global_step: Any, latest_filename: str) -> str:
        if global_step is None:
            if os.path.basename(save_path) == latest_filename:
                raise ValueError(f"'latest_filename' collides with 'save_path': {latest_filename!r} and {save_path!r}")
            return save_path
        if not isinstance(global_step, int | np.integer):
            global_step = read_global_step(sess, global_step)
        return f"{save_path}-{int(global_step):08d}" if self._pad_step_number else f"{save_path}-{int(global_step)}"

    def restore(self, sess: Any, save_path: Any) -> None:
        """Restore the variables from the checkpoint `save_path`: all of them, or on failure none.

        They need not have been initialised. Raises ValueError if there is no such checkpoint, NotFoundError for a
        variable that is not in it, InvalidArgumentError for one with a different dtype or shape, DataLossError if it is
        damaged; each names the tensor and the file.
        """
        self._check_built()
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        _LOG.info("Restoring parameters from %s", prefix)
        graph = getattr(sess, "graph", None)
        feeds = {} if graph is None else check_restorable(graph, self.saver_def.restore_op_name, prefix)
        sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: prefix, **feeds})

    # --- the existing checkpoints --------------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that this saver wrote and has not deleted, oldest first."""
        settle()
        return self._kept.prefixes

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Set the list of checkpoints, oldest first; TF's deprecated form, without their ages."""
        self._kept.written = [(path, float("inf")) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Set the list of checkpoints, oldest first, and when each was written."""
        self._kept.written = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Iterable[str]) -> None:
        """After a restart: those of the paths that exist, oldest first, count for `max_to_keep`."""
        self._kept.recover(checkpoint_paths)

    # --- messages ---------------------------------------------------------------------------------------

    def as_saver_def(self) -> Any:
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The SaverDef; with a scope, its names as they are within it, or None if the nodes are elsewhere."""
        if export_scope is None:
            return self.saver_def
        scope = export_scope.rstrip("/") + "/"
        if not all(getattr(self.saver_def, field).startswith(scope) for field in _NAMES):
            return None
        return _renamed(self.saver_def, lambda name: name.removeprefix(scope))

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """A saver that uses nodes that are already in the graph."""
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: list[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """The default graph with this saver's names as a MetaGraphDef, written to `filename` when given."""
        return export_meta_graph(
            filename,
            saver_def=None if self.saver_def is None else self.to_proto(export_scope),
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )


def _renamed(saver_def: Any, rename: Callable[[str], str]) -> Any:
    """A copy with other names of nodes."""
    copy = saver_pb2.SaverDef()
    copy.CopyFrom(saver_def)
    for field in _NAMES:
        setattr(copy, field, rename(getattr(copy, field)))
    return copy


def _do(steps: list[Callable[[], Any]]) -> None:
    """Each step is dropped before the next one: a copy of the variables is freed when it has been written."""
    while steps:
        steps.pop(0)()


@export("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Add the graph of a MetaGraphDef (or of a file) to the default graph; returns a saver for its variables.

    It is the saver that exported the graph, or a new one, or None if the graph has no variables. clear_devices: nodes
    may be anywhere. import_scope: a prefix of all names. kwargs: `input_map` as in `import_graph_def`,
    `restore_collections_predicate`, a function of a collection's name. TF: tf.train.import_meta_graph.
    """
    meta_graph, scope = import_scoped_meta_graph(meta_graph_or_file, clear_devices, import_scope, **kwargs)
    if meta_graph.HasField("saver_def"):
        return Saver(saver_def=meta_graph.saver_def, name=scope)
    return Saver() if any(isinstance(v, Variable | Tensor) for v in global_variables()) else None


register_proto_function(GraphKeys.SAVERS, saver_pb2.SaverDef, Saver.to_proto, Saver.from_proto)
