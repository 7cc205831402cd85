"""Exported models, loaded into a session (TF: tf.saved_model.loader)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from penstock import logging
from penstock.client.variable import in_scope
from penstock.export import export
from penstock.saved_model import constants
from penstock.saved_model.assets import asset_paths
from penstock.saved_model.messages import read_saved_model, saved_model_file
from penstock.saved_model.utils import variables_prefix
from penstock.train.saver import import_meta_graph


@export("saved_model.maybe_saved_model_directory", "saved_model.contains_saved_model")
def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Whether the folder has a SavedModel's message."""
    return saved_model_file(os.fsdecode(export_dir)) is not None


@export("saved_model.load")
def load(sess: Any, tags: Iterable[str], export_dir: Any, import_scope: str | None = None, **saver_kwargs: Any) -> Any:
    """Add the graph with exactly these tags to the graph of `sess`, restore its variables, run what initialises it.

    Returns its MetaGraphDef, whose `signature_def` says what it takes and gives. import_scope: before the names of its
    nodes. saver_kwargs: arguments of `tf.train.import_meta_graph`. Raises OSError without a SavedModel, RuntimeError if
    no graph has the tags. TF: tf.saved_model.load.
    """
    directory = os.fsdecode(export_dir)
    meta_graph = chosen_meta_graph(directory, tags)
    with sess.graph.as_default():
        saver = import_meta_graph(meta_graph, import_scope=import_scope, **saver_kwargs)
        if saver is None:
            logging.info("The specified SavedModel has no variables; no checkpoints were restored.")
        else:
            saver.restore(sess, variables_prefix(directory))
    initialise = _main_op(meta_graph)
    if initialise is not None:
        sess.run(in_scope(initialise, import_scope), asset_paths(meta_graph, directory, import_scope))
    return meta_graph


def chosen_meta_graph(export_dir: str, tags: Iterable[str]) -> Any:
    """The MetaGraphDef with exactly these tags. Raises RuntimeError, naming those that there are, if there is none."""
    wanted = {tags} if isinstance(tags, str) else set(tags)
    meta_graphs = read_saved_model(export_dir).meta_graphs
    for meta_graph in meta_graphs:
        if set(meta_graph.meta_info_def.tags) == wanted:
            return meta_graph
    raise RuntimeError(
        f"MetaGraphDef associated with tags {', '.join(map(repr, sorted(wanted)))} could not be found in SavedModel "
        f"{export_dir}. available_tags: {[sorted(meta_graph.meta_info_def.tags) for meta_graph in meta_graphs]}"
    )


def _main_op(meta_graph: Any) -> str | None:
    """The name of the operation that initialises the model, if it has one."""
    if "__saved_model_init_op" in meta_graph.signature_def:  # TensorFlow 2's place for it
        (info,) = meta_graph.signature_def["__saved_model_init_op"].outputs.values()
        return str(info.name)
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if key in meta_graph.collection_def:
            names = meta_graph.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"Expected exactly one op in {key}, found {list(names)}.")
            return str(names[0])
    return None
