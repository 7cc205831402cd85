"""What `Checkpoint.restore` returns: it says what of a checkpoint has been found in the program, and restores that.

Objects are looked for whenever this is asked, so that those that a program makes after `restore` are found as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from penstock import logging
from penstock.checkpoint.reader import CheckpointReader
from penstock.client.trackable import Constant
from penstock.client.variable import Variable
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.train.object_graph import VALUE, is_value, list_objects, matched
from penstock.train.restorable import check_restorable
from penstock.train.saver import Saver

_CONFIG = "OBJECT_CONFIG_JSON"
"""Descriptions of layers, which TensorFlow 1.13 and 1.14 saved beside the values: they need not be used."""
SessionOr = Callable[[Any], Any]
"""The session itself, or for None the one to use."""
RestoreNodes = Callable[[Graph, dict[str, Variable]], tuple[Tensor, Operation]]
"""For variables by their keys: the input for a checkpoint's prefix, and the operation that restores all."""


class CheckpointLoadStatus:
    """Of a checkpoint of objects."""

    def __init__(self, root: Any, graph: Any, prefix: str, session: SessionOr, nodes: RestoreNodes) -> None:
        self._root, self._graph, self._prefix = root, graph, prefix
        self._session, self._nodes = session, nodes
        self._restored: set[str] = set()
        """The keys whose values variables have got."""

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Raises AssertionError for a value of the checkpoint without a variable, or a variable without a value."""
        self.assert_existing_objects_matched()
        found = self._found()
        for number, node in enumerate(self._graph.nodes):
            for attribute in node.attributes:
                known = attribute.name == VALUE and is_value(found.get(number))
                if not known and attribute.name != _CONFIG:
                    raise AssertionError(
                        f"Unresolved object in checkpoint {self._prefix}: {attribute.checkpoint_key} "
                        f"({attribute.full_name or attribute.name}) has no variable in the program."
                    )
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Raises AssertionError for a variable without a value in the checkpoint."""
        if without := self._not_in(self._found()):
            raise AssertionError(
                f"Some Python objects were not bound to checkpointed values of {self._prefix}, likely due to changes "
                f"in the Python program: {without}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Raises AssertionError if nothing but the object itself is in the checkpoint."""
        if len(self._found()) <= 1:
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means that checkpoint "
                f"{self._prefix} does not match the Python program: {self._not_in({})}"
            )
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Nothing is said about values that are not used here."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore all variables that are in the checkpoint, or on failure none.

        Raises InvalidArgumentError for another dtype or shape, and DataLossError, as `Saver.restore` does.
        """
        self._restored.clear()
        self.restore_new(session)

    def restore_new(self, session: Any = None) -> None:
        """Like `run_restore_ops`, for variables that were made since: the others stay as they are."""
        values: dict[str, Variable] = {}
        for number, value in self._found().items():
            for attribute in self._graph.nodes[number].attributes:
                if attribute.name != VALUE or attribute.checkpoint_key in self._restored:
                    continue
                if isinstance(value, Variable):
                    values[attribute.checkpoint_key] = value
                elif isinstance(value, Constant):
                    self._compare(value, attribute.checkpoint_key)
        if values:
            run = self._session(session)
            prefix, restored = self._nodes(run.graph, values)
            check_restorable(run.graph, restored.name, self._prefix)
            run.run(restored, {prefix: self._prefix})
        self._restored |= values.keys()

    def initialize_or_restore(self, session: Any = None) -> None:
        """`run_restore_ops`, and initialise the variables that are not in the checkpoint."""
        self.run_restore_ops(session)
        self._session(session).run([each.initializer for each in self._not_in(self._found())])

    def _found(self) -> dict[int, Any]:
        return matched(self._graph, self._root, self._prefix)

    def _not_in(self, found: dict[int, Any]) -> list[Any]:
        """The program's variables that are not found."""
        known = {id(each) for each in found.values()}
        return [each for each in _variables_below(self._root) if id(each) not in known]

    def _compare(self, constant: Constant, key: str) -> None:
        with CheckpointReader(self._prefix) as reader:
            saved = float(reader.get_tensor(key))
        if abs(saved - constant.value) > 1e-6 * abs(constant.value):
            logging.warning(
                "%s is %g in checkpoint %s, but %g in the graph, which stays so.",
                key, saved, self._prefix, constant.value,
            )  # fmt: skip


class InitializationOnlyStatus:
    """Without a checkpoint: variables can be initialised. All else raises AssertionError."""

    def __init__(self, root: Any, session: SessionOr) -> None:
        self._root, self._session = root, session

    def assert_consumed(self) -> NoReturn:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: Any = None) -> NoReturn:
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Checkpoint.restore)."
        )

    def expect_partial(self) -> InitializationOnlyStatus:
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initialise the variables."""
        self._session(session).run([each.initializer for each in _variables_below(self._root)])


class NameBasedSaverStatus:
    """Of a checkpoint of `tf.train.Saver`: variables are found by their own names."""

    def __init__(self, root: Any, prefix: str, session: SessionOr) -> None:
        self._root, self._prefix, self._session = root, prefix, session
        self._restored: set[int] = set()

    def assert_consumed(self) -> NameBasedSaverStatus:
        """Raises AssertionError for a variable that has not been restored (yet)."""
        for variable in _variables_below(self._root):
            if id(variable) not in self._restored:
                raise AssertionError(f"Object not restored: {variable}")
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> NameBasedSaverStatus:
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore all variables as `tf.train.Saver` does; a counter of saves that is not there begins at 0.

        (TensorFlow's graphs raise NotFoundError for that.)
        """
        logging.warning("Restoring %s by the names of variables, as tf.train.Saver does; save it anew.", self._prefix)
        variables, run = _variables_below(self._root), self._session(session)
        counter: Any = getattr(self._root, "_save_counter", None)
        with CheckpointReader(self._prefix) as reader:
            new = [each for each in variables if each is counter and not reader.has_tensor(each.op.name)]
        with run.graph.as_default():
            Saver([each for each in variables if not any(each is other for other in new)], allow_empty=True).restore(
                run, self._prefix
            )
        run.run([each.initializer for each in new])
        self._restored |= {id(variable) for variable in variables}

    def initialize_or_restore(self, session: Any = None) -> None:
        self.run_restore_ops(session)


def _variables_below(root: Any) -> list[Any]:
    return [each for each in list_objects(root) if isinstance(each, Variable)]
