"""Decodes tf.train.Example and SequenceExample, item by item (TF: tf.contrib.slim.tfexample_decoder)."""

from __future__ import annotations

from typing import Any

from penstock.contrib.slim.data_decoder import DataDecoder
from penstock.contrib.slim.item_handlers import (
    BackupHandler,
    BoundingBox,
    Image,
    ItemHandler,
    ItemHandlerCallback,
    LookupTensor,
    SparseTensor,
    Tensor,
)
from penstock.contrib.slim.sequence_handlers import BoundingBoxSequence, KeypointsSequence, NumBoxesSequence
from penstock.ops.array import reshape
from penstock.ops.parsing import FixedLenFeature, parse_single_example
from penstock.ops.parsing_sequence import parse_single_sequence_example

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "BoundingBoxSequence",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "KeypointsSequence",
    "LookupTensor",
    "NumBoxesSequence",
    "SparseTensor",
    "TFExampleDecoder",
    "TFSequenceExampleDecoder",
    "Tensor",
]


class TFExampleDecoder(DataDecoder):
    """Parses an Example once, and has each item made of its features by the item's handler."""

    def __init__(self, keys_to_features: dict[str, Any], items_to_handlers: dict[str, ItemHandler]) -> None:
        """keys_to_features: as for tf.parse_single_example."""
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:
        """The `items`, by default all, of a scalar string."""
        example = parse_single_example(serialized_example, self._keys_to_features)
        _reshape(example, self._keys_to_features, sorted(self._keys_to_features))
        return _items(self._items_to_handlers, items, example)


class TFSequenceExampleDecoder(DataDecoder):
    """Parses a SequenceExample once, and has each item made of its features by the item's handler."""

    def __init__(
        self,
        keys_to_context_features: dict[str, Any],
        keys_to_sequence_features: dict[str, Any],
        items_to_handlers: dict[str, ItemHandler],
    ) -> None:
        """ValueError for a key that both the context and the sequences have: handlers could not tell them apart."""
        if keys_to_context_features.keys() & keys_to_sequence_features.keys():
            raise ValueError(
                "Context and sequence keys are not unique. \n"
                f" Context keys: {list(keys_to_context_features)} \n Sequence keys: {list(keys_to_sequence_features)}"
            )
        self._keys_to_context_features = keys_to_context_features
        self._keys_to_sequence_features = keys_to_sequence_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:
        """The `items`, by default all, of a scalar string."""
        context, sequences = parse_single_sequence_example(
            serialized_example, self._keys_to_context_features, self._keys_to_sequence_features
        )
        _reshape(context, self._keys_to_context_features, list(self._keys_to_context_features))
        return _items(self._items_to_handlers, items, {**sequences, **context})


def _reshape(parsed: dict[str, Any], features: dict[str, Any], keys: list[str]) -> None:
    """Give dense features their shapes in nodes of their own, as TensorFlow does, so that nodes have its names."""
    for key in keys:
        if isinstance(features[key], FixedLenFeature):
            parsed[key] = reshape(parsed[key], features[key].shape)


def _items(handlers: dict[str, ItemHandler], items: Any, parsed: dict[str, Any]) -> list[Any]:
    chosen = [handlers[item] for item in items or handlers]
    return [handler.tensors_to_item({key: parsed[key] for key in handler.keys}) for handler in chosen]
