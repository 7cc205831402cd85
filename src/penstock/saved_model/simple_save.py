"""A model for predictions, saved in one call."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.operation import Operation
from penstock.graph.scopes import GraphKeys, get_collection
from penstock.saved_model import signature_constants, tag_constants
from penstock.saved_model.builder import SavedModelBuilder
from penstock.saved_model.signature_def_utils import predict_signature_def


@export("saved_model.simple_save")
def simple_save(
    session: Any,
    export_dir: Any,
    inputs: dict[str, Any],
    outputs: dict[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Save the default graph and the variables of `session` as a SavedModel that predicts `outputs` from `inputs`.

    TF: tf.saved_model.simple_save.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[tag_constants.SERVING],
        signature_def_map={signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
