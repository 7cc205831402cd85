"""Embedding look-ups (TF: tf.contrib.layers.embed_sequence, embedding_lookup_unique)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.client.variable_scope import variable_scope
from penstock.contrib.framework.variables import model_variable
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import reshape, shape as shape_of
from penstock.ops.gather import gather
from penstock.ops.joining import concat
from penstock.ops.sorting import unique


@export("contrib.layers.embed_sequence", "contrib.slim.embed_sequence")
def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """ids [...] -> [..., embed_dim], from a variable "embeddings" (TF: tf.contrib.layers.embed_sequence).

    `unique`: look up each id once. Raises ValueError without sizes, unless `reuse`.
    """
    if not reuse and not (vocab_size and embed_dim):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = None if vocab_size is None or embed_dim is None else [vocab_size, embed_dim]
        embeddings = model_variable("embeddings", shape, "float32", initializer, regularizer, trainable)
        return embedding_lookup_unique(embeddings, ids) if unique else nn.embedding_lookup(embeddings, ids)


@export("contrib.layers.embedding_lookup_unique", "contrib.slim.embedding_lookup_unique")
def embedding_lookup_unique(params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None) -> Tensor:
    """`tf.nn.embedding_lookup` that looks up each id once (TF: tf.contrib.layers.embedding_lookup_unique)."""
    with name_scope(name, "EmbeddingLookupUnique", [ids]):
        ids = convert_to_tensor(ids)
        distinct, where = unique(reshape(ids, [-1]))
        rows = gather(nn.embedding_lookup(params, distinct, partition_strategy), where)
        found = reshape(rows, concat([shape_of(ids), shape_of(rows)[1:]], 0))
        found.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return found
