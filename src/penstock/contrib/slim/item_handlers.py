"""How the items of an Example are made of its features: see `tfexample_decoder`."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from penstock.graph.composite import SparseTensor as Sparse
from penstock.ops.array import expand_dims, reshape, shape as shape_of
from penstock.ops.cast import cast
from penstock.ops.compare import equal, logical_or
from penstock.ops.control_flow.cond import case, cond
from penstock.ops.control_flow.functional import map_fn
from penstock.ops.decoding import decode_raw
from penstock.ops.image_decode import decode_image
from penstock.ops.image_decode_jpeg import decode_jpeg, is_jpeg
from penstock.ops.joining import concat
from penstock.ops.layout import transpose
from penstock.ops.reduce import reduce_prod
from penstock.ops.slicing import slice as slice_of
from penstock.ops.sparse_layout import sparse_reshape
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.ops.stacking import stack
from penstock.tensor.dtypes import int64, uint8


class ItemHandler(abc.ABC):
    """Makes an item of the features `keys`."""

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, list | tuple) else [keys]

    @property
    def keys(self) -> Any:
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The item, of the parsed features by key."""


class ItemHandlerCallback(ItemHandler):
    """The item is what `func` makes of the dictionary of features."""

    def __init__(self, keys: Any, func: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes [n, 4] of the features of their four sides: by default ymin, xmin, ymax and xmax, after `prefix`."""

    def __init__(self, keys: Any = None, prefix: str = "") -> None:
        self._full_keys = prefixed("BoundingBox", keys, ("ymin", "xmin", "ymax", "xmax"), prefix)
        super().__init__(self._full_keys)

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        given = (keys_to_tensors[key] for key in self._full_keys)
        sides = [expand_dims(side.values if isinstance(side, Sparse) else side, 0) for side in given]
        return transpose(concat(sides, 0))


def prefixed(handler: str, keys: Any, default: tuple[str, ...], prefix: str | None) -> list[str]:
    """`keys` or the default ones, with the prefix. ValueError for another number of keys than the default's."""
    if keys is not None and len(keys) != len(default):
        raise ValueError(f"{handler} expects {len(default)} keys but got {len(keys)}")
    return [(prefix or "") + key for key in keys or default]


class Tensor(ItemHandler):
    """A feature, made dense (with `default_value`) if it is sparse.

    Its shape may be given, or be in other features: one vector, or one number for each dimension.
    """

    def __init__(self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._shape_keys = shape_keys if not shape_keys or isinstance(shape_keys, list) else [shape_keys]
        self._tensor_key = tensor_key
        self._shape = shape
        self._default_value = default_value
        super().__init__([tensor_key, *(self._shape_keys or [])])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            shape = reshape(stack([dense(keys_to_tensors[key]) for key in self._shape_keys]), [-1])
        if isinstance(tensor, Sparse):
            return sparse_tensor_to_dense(
                tensor if shape is None else sparse_reshape(tensor, shape), self._default_value
            )
        return tensor if shape is None else reshape(tensor, shape)


def dense(tensor: Any) -> Any:
    """The tensor, with zeros where a sparse one has nothing."""
    return sparse_tensor_to_dense(tensor) if isinstance(tensor, Sparse) else tensor


class LookupTensor(Tensor):
    """What `table` has for the elements of a `Tensor`."""

    def __init__(
        self, tensor_key: str, table: Any, shape_keys: Any = None, shape: Any = None, default_value: Any = ""
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of `handler`, or that of `backup` where the first one has no elements."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for role, given in (("Primary", handler), ("Backup", backup)):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{role} handler is of type {type(given)} instead of ItemHandler")
        self._handler = handler
        self._backup = backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        empty = equal(reduce_prod(shape_of(item)), 0)
        return cond(empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A SparseTensor of two sparse features: its values, and their indices in its last dimension.

    The shape is a feature's, or given, or that of the indices. With `densify` it is made dense.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key = indices_key or "indices"
        self._values_key = values_key or "values"
        self._shape_key = shape_key
        self._shape = shape
        self._densify = densify
        self._default_value = default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        shape = dense(keys_to_tensors[self._shape_key]) if self._shape_key else self._shape or indices.dense_shape
        rank = shape_of(indices.indices)[1]
        last = cast(indices.values, int64)
        others = slice_of(indices.indices, [0, 0], stack([-1, rank - 1]))
        sparse = Sparse(concat([others, reshape(last, [-1, 1])], 1), values.values, shape)
        return sparse_tensor_to_dense(sparse, self._default_value) if self._densify else sparse


class Image(ItemHandler):
    """The decoded image, [height, width, channels], of a feature with a file's contents.

    Where the feature `format_key` is "raw" the contents are the bytes of the pixels, of type `dtype`. repeated: for a
    vector of files. dct_method: see tf.image.decode_jpeg. shape: only if all images have the same.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        super().__init__([self._image_key, self._format_key])
        self._shape = shape
        self._channels = channels
        self._dtype = dtype
        self._repeated = repeated
        self._dct_method = dct_method

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        contents, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda one: self._decode(one, kind), contents, dtype=self._dtype)
        return self._decode(contents, kind)

    def _decode(self, contents: Any, kind: Any) -> Any:
        def raw() -> Any:
            return decode_raw(contents, self._dtype)

        def jpeg() -> Any:
            return cast(decode_jpeg(contents, channels=self._channels, dct_method=self._dct_method), self._dtype)

        def other() -> Any:
            return cast(decode_image(contents, channels=self._channels), self._dtype)

        def encoded() -> Any:  # decode_image has no dct_method
            return cond(is_jpeg(contents), jpeg, other, name="cond_jpeg")

        is_raw = logical_or(equal(kind, "raw"), equal(kind, "RAW"))
        image = case([(is_raw, raw)], default=encoded, exclusive=True)
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else reshape(image, self._shape)
