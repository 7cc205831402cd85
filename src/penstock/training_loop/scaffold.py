"""`Scaffold`: the ops that a session for training needs beside the model's (TF: tf.train.Scaffold)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import logging
from penstock.client.lookup_tables import tables_initializer
from penstock.client.resources import (
    local_resources,
    report_uninitialized_resources,
    shared_resources,
)
from penstock.client.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from penstock.export import export
from penstock.graph.scopes import GraphKeys, add_to_collection, get_collection, get_default_graph
from penstock.ops.basic import group
from penstock.ops.joining import concat
from penstock.summary.functions import merge_all
from penstock.train.saver import Saver


@export("train.Scaffold")
class Scaffold:
    """Ops that initialise, check, summarise and save.

    Those that are not given are taken from the graph's collections by `finalize`, which creates and adds what is
    missing there.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        """init_op, init_fn: what gives variables their values without a checkpoint; `init_fn(scaffold, session)` is
        called after the op. ready_op: names of variables without values, and ready_for_local_init_op those that
        `local_init_op` needs. copy_from_scaffold: where to take from what is not given.
        """
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def given(value: Any, attribute: str) -> Any:
            return getattr(copy_from_scaffold, attribute, None) if value is None else value

        self._init_op = given(init_op, "_init_op")
        self._init_feed_dict = given(init_feed_dict, "_init_feed_dict")
        self._user_init_fn = given(init_fn, "_user_init_fn")
        self._ready_op = given(ready_op, "_ready_op")
        self._ready_for_local_init_op = given(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op = given(local_init_op, "_local_init_op")
        self._local_init_feed_dict = given(local_init_feed_dict, "_local_init_feed_dict")
        self._summary_op = given(summary_op, "_summary_op")
        self._saver = given(saver, "_saver")

    def finalize(self) -> Scaffold:
        """Create what is missing, and make the graph read-only."""
        if self._init_op is None:
            self._init_op = self.get_or_default("init_op", GraphKeys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = self.get_or_default("ready_op", GraphKeys.READY_OP, _default_ready_op)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: _unready(report_uninitialized_variables(global_variables()), shared_resources()),
            )
        if self._local_init_op is None:
            self._local_init_op = self.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = self.get_or_default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = self.get_or_default("saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True))
        self._saver.build()
        get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @property
    def init_op(self) -> Any:
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        return self._init_feed_dict

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """The given function, of the session only."""
        given = self._user_init_fn
        return None if given is None else lambda session: given(self, session)

    @property
    def ready_op(self) -> Any:
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Any:
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        return self._summary_op

    @property
    def saver(self) -> Any:
        return self._saver

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The only item of a collection; if it is empty, a new one, which is added. RuntimeError for several items."""
        elements = get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing '
                f"it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if elements:
            return elements[0]
        created = default_constructor()
        if created is not None:
            add_to_collection(collection_key, created)
        return created

    @staticmethod
    def default_local_init_op() -> Any:
        """Initialises local variables, tables and resources of this worker."""
        made = [resource.create for resource in local_resources()]
        return group(local_variables_initializer(), tables_initializer(), *made)


def _default_init_op() -> Any:
    made = [resource.create for resource in shared_resources()]
    return group(global_variables_initializer(), *made, *get_collection("saved_model_initializers"))


def _default_ready_op() -> Any:
    return _unready(report_uninitialized_variables(), shared_resources() + local_resources())


def _unready(variables: Any, resources: list[Any]) -> Any:
    """The names of variables without values, and of resources that do not exist."""
    return concat([variables, report_uninitialized_resources(resources)], 0) if resources else variables
