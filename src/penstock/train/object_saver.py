"""Saving and restoring the objects below another one: the nodes, which stay while the objects do, and the files."""

from __future__ import annotations

import os
from typing import Any

from penstock.api.namespace import load, names_in
from penstock.checkpoint.background import announced, finish, turn
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.storage import typed
from penstock.client.saveables import SaveSpec, saveable_of
from penstock.client.trackable import Constant
from penstock.client.variable import Variable
from penstock.graph.convert import constant
from penstock.graph.default_session import get_default_session
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.basic import placeholder_with_default
from penstock.train.object_graph import GRAPH_KEY, described, graph_in
from penstock.train.object_restore import CheckpointLoadStatus, InitializationOnlyStatus, NameBasedSaverStatus
from penstock.train.saver_nodes import restore_nodes, save_nodes

Status = CheckpointLoadStatus | InitializationOnlyStatus | NameBasedSaverStatus


class ObjectSaver:
    """Saves and restores what `root` depends on."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._saving: Any = None
        self._restoring: dict[Any, tuple[Tensor, Operation, Any]] = {}

    def write(self, prefix: str, session: Any) -> None:
        """Write a checkpoint in TensorFlow's format, atomically. The directory is made."""
        if "://" not in prefix:
            with typed(f"cannot save checkpoint {prefix}"):
                os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
        graph, values = described(self._root)
        text = graph.SerializeToString(deterministic=True)
        made_for = session.graph, text, [each for each in values.values() if isinstance(each, Constant)]
        if self._saving is None or self._saving[0] != made_for:
            self._saving = made_for, _build_save(session.graph, values)
        _, (filename, object_graph, saved) = self._saving
        with turn:
            finish(session)
            with announced(prefix, "tensorflow", False):
                session.run(saved, {filename: prefix, object_graph: text})

    def restore(self, prefix: str | None) -> Status:
        """What restores the checkpoint in a session, or for None initialises variables."""
        if prefix is None:
            return InitializationOnlyStatus(self._root, session_or_default)
        with CheckpointReader(prefix) as reader:
            graph = graph_in(reader)
        if graph is None:
            return NameBasedSaverStatus(self._root, prefix, session_or_default)
        return CheckpointLoadStatus(self._root, graph, prefix, session_or_default, self._restore_nodes)

    def _restore_nodes(self, graph: Graph, values: dict[str, Variable]) -> tuple[Tensor, Operation]:
        """Made once for the same variables and keys."""
        known = (graph, *((key, id(value)) for key, value in sorted(values.items())))
        if known not in self._restoring:
            with graph.as_default(), control_dependencies(None):
                filename = _filename()
                saveables = [saveable_of(value, key, "") for key, value in sorted(values.items())]
                self._restoring[known] = filename, restore_nodes(filename, saveables), values
        filename, restored, _ = self._restoring[known]
        return filename, restored


def session_or_default(session: Any) -> Any:
    """`session`, or the default one, or that of Keras, as in TensorFlow."""
    found = session if session is not None else get_default_session()
    return found if found is not None else load(*names_in("penstock.keras.backend")["get_session"])()


def _build_save(graph: Graph, values: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """The inputs for the prefix and the object graph, and what waits for the save."""
    with graph.as_default(), control_dependencies(None), graph.device("/device:CPU:0"):
        filename, object_graph = _filename(), placeholder_with_default(constant(""), shape=())
        specs = [SaveSpec(_saved(value, key), "", key) for key, value in values.items()]
        return filename, object_graph, save_nodes(filename, [SaveSpec(object_graph, "", GRAPH_KEY), *specs])


def _saved(value: Any, key: str) -> Tensor:
    return constant(value.value, "float32") if isinstance(value, Constant) else saveable_of(value, key, "").saved


def _filename() -> Tensor:
    return placeholder_with_default(constant("model"), shape=())
