"""Layers that name and collect their variables, regularizers, `optimize_loss` (TF: tf.contrib.layers)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths, add_module
from penstock.contrib.layers import (
    convolutions,
    dense,
    embeddings,
    group_normalization,
    initializers,
    normalization,
    optimizers,
    plain,
    pooling,
    regularizers,
    summaries,
    utils,
)

_layers = (convolutions, dense, embeddings, normalization, plain, pooling)
_all = add_module(f"{__name__}.python.layers", *_layers, initializers, optimizers, regularizers, summaries, utils=utils)
for _name, _modules in {
    "layers": _layers,
    "initializers": (initializers,),
    "optimizers": (optimizers,),
    "regularizers": (regularizers,),
    "summaries": (summaries,),
    "utils": (utils,),
    "encoders": (embeddings,),
    "normalization": (normalization, group_normalization),
}.items():
    add_module(f"{__name__}.python.layers.{_name}", *_modules)
add_inner_paths(
    __name__,
    "python.layers.embedding_ops python.layers.feature_column python.layers.feature_column_ops "
    "python.layers.rev_block_lib python.ops.bucketization_op python.ops.sparse_ops",
)

open_namespace(__name__)
