"""One export of a model, as a SavedModel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock import errors, gfile
from penstock.estimator.export.directories import copy_extra_assets, temporary_directory, timestamped_directory
from penstock.estimator.export.outputs import with_default_output
from penstock.estimator.export.signatures import all_signatures
from penstock.estimator.model import Model
from penstock.graph.scopes import GraphKeys, get_collection
from penstock.saved_model import tag_constants
from penstock.saved_model.builder import SavedModelBuilder
from penstock.session.session import Session
from penstock.train.saver import Saver
from penstock.training_loop.scaffold import Scaffold


def export_model(
    model: Model,
    base: str,
    receiver_fn: Callable[[], Any],
    checkpoint: str,
    mode: str,
    assets_extra: Mapping[str, str],
    as_text: bool,
) -> str:
    """Writes the model into a new folder in `base`, and returns its path."""
    export_dir = timestamped_directory(base)
    temporary = temporary_directory(export_dir)
    builder = SavedModelBuilder(temporary)
    with model.graph(), Session(config=model.config.session_config) as session:
        receiver = receiver_fn()
        spec = model.spec(receiver.features, getattr(receiver, "labels", None), mode)
        outputs = with_default_output(spec.export_outputs, spec.predictions)
        signatures = all_signatures(receiver.receiver_tensors, outputs, receiver.receiver_tensors_alternatives)
        initialised = spec.scaffold.local_init_op
        saver = spec.scaffold.saver or Saver(sharded=True)
        try:
            saver.restore(session, checkpoint)
        except errors.NotFoundError as error:
            raise ValueError(
                "Could not load all requested variables from checkpoint. Please make sure your model_fn does not expect"
                f" variables that were not saved in the checkpoint.\n\nEncountered error with mode `{mode}` while "
                f"restoring checkpoint from: `{checkpoint}`. {error}"
            ) from error
        builder.add_meta_graph_and_variables(
            session,
            tags=[tag_constants.SERVING],
            signature_def_map=signatures,
            assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
            main_op=Scaffold.default_local_init_op() if initialised is None else initialised,
            saver=saver,
        )
    builder.save(as_text)
    copy_extra_assets(assets_extra, temporary)
    gfile.Rename(temporary, export_dir)
    return export_dir
