"""`SavedModelBuilder`: writes meta graphs with their variables, signatures and assets into a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf import text_format

from penstock import gfile, logging
from penstock.checkpoint.replace import write_whole
from penstock.export import export
from penstock.graph.operation import Operation
from penstock.graph.scopes import get_collection
from penstock.saved_model import constants
from penstock.saved_model.assets import add_definitions, asset_definitions, copy_assets
from penstock.saved_model.messages import SavedModel
from penstock.saved_model.utils import variables_prefix
from penstock.train.saver import Saver
from penstock.version import VERSION


@export("saved_model.Builder")
class SavedModelBuilder:
    """Makes a SavedModel: a folder that TensorFlow's loaders and servers read (TF: tf.saved_model.Builder).

    The first graph is added with its variables, which the others share. Raises AssertionError if the folder exists and
    is not empty.
    """

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = os.fsdecode(export_dir)
        self._saved_model = SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        if gfile.Exists(self._export_dir) and gfile.ListDirectory(self._export_dir):
            raise AssertionError(
                "Export directory already exists, and isn't empty. Please choose a different export directory, or "
                f"delete all the contents of the specified directory: {self._export_dir}"
            )
        gfile.MakeDirs(self._export_dir)
        self._has_saved_variables = False

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph, and save the variables of `sess`.

        tags: by which a loader chooses one of several graphs. signature_def_map: SignatureDefs by name.
        assets_collection: constants with the paths of files, which are copied. main_op (legacy_init_op is an older name
        for it): what a loader runs after the variables are restored. saver: by default one of all global variables.
        Variables are written in TensorFlow's format, whichever the saver's is.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke `add_meta_graph()` "
                "instead."
            )
        prefix = variables_prefix(self._export_dir)
        gfile.MakeDirs(os.path.dirname(prefix))
        saver = self._add(tags, signature_def_map, assets_collection, legacy_init_op, clear_devices, main_op, saver)
        if saver.saver_def is not None:
            theirs = Saver(saver_def=saver.saver_def, write_version="tensorflow")  # the same nodes
            theirs.save(sess, prefix, write_meta_graph=False, write_state=False)
        self._has_saved_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph, whose variables are among those saved with the first."""
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        self._add(tags, signature_def_map, assets_collection, legacy_init_op, clear_devices, main_op, saver)

    def save(self, as_text: bool = False) -> bytes:
        """Write the graphs to saved_model.pb, or with `as_text` to saved_model.pbtxt; returns its path (bytes, as in
        TensorFlow)."""
        name = constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        path = os.path.join(self._export_dir, name)
        text = text_format.MessageToString(self._saved_model).encode() if as_text else None
        write_whole(path, self._saved_model.SerializeToString() if text is None else text)
        logging.info("SavedModel written to: %s", path)
        return path.encode()

    def _add(
        self,
        tags: Any,
        signatures: Any,
        assets: Any,
        legacy_init_op: Any,
        clear_devices: bool,
        main_op: Any,
        saver: Any,
    ) -> Saver:
        """Adds the graph, and returns the saver of its variables."""
        _check_signatures(signatures or {})
        for what, op in (("main_op", main_op), ("legacy_init_op", legacy_init_op)):
            if op is not None and not isinstance(op, Operation):
                raise TypeError(f"{what} needs to be an Operation: {op!r}")
        key = constants.LEGACY_INIT_OP_KEY
        if legacy_init_op is not None and get_collection(key):
            raise AssertionError(f"graph already contains one or more legacy init ops under the collection {key}")
        definitions, files = asset_definitions(assets)
        copy_assets(files, self._export_dir)
        if saver is None:
            saver = Saver(sharded=True, allow_empty=True)
        saver.build()
        meta_graph = saver.export_meta_graph(clear_devices=clear_devices)
        add_definitions(meta_graph, definitions)
        for key, op in ((constants.MAIN_OP_KEY, main_op), (constants.LEGACY_INIT_OP_KEY, legacy_init_op)):
            if op is not None:
                meta_graph.collection_def[key].node_list.value[:] = [op.name]  # a loaded model has one already
        meta_graph.meta_info_def.tags.extend(tags)
        meta_graph.meta_info_def.tensorflow_version = VERSION
        for name, signature in (signatures or {}).items():
            meta_graph.signature_def[name].CopyFrom(signature)
        self._saved_model.meta_graphs.append(meta_graph)
        return saver


def _check_signatures(signatures: Mapping[str, Any]) -> None:
    for signature in signatures.values():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            if info.WhichOneof("encoding") is None:
                raise AssertionError(
                    "All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields (e.g., name"
                    f" or coo_sparse) set: {info}"
                )
            if not info.dtype:
                raise AssertionError(
                    f"All TensorInfo protos used in the SignatureDefs must have the dtype field set: {info}"
                )
