"""`NumpyArrayIterator`: batches of changed images of an array (TF: tf.keras.preprocessing.image.NumpyArrayIterator)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.backend.settings import check_data_format, floatx
from penstock.keras.preprocessing.image.iterator import Iterator, Saving


@export("keras.preprocessing.image.NumpyArrayIterator")
class NumpyArrayIterator(Iterator, Saving):
    """Batches of changed images of `x` [n, h, w, c], with the rows of `y` and `sample_weight`.

    x: or a pair of images and other arrays, whose rows are given with the images as they are.
    Raises ValueError for arrays of other lengths, or of another rank.
    """

    names_below = 10**4

    def __init__(
        self, x: Any, y: Any, image_data_generator: Any, batch_size: int = 32, shuffle: bool = False,
        sample_weight: Any = None, seed: int | None = None, data_format: str | None = None, save_to_dir: Any = None,
        save_prefix: str = "", save_format: str = "png", subset: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self.dtype = dtype or floatx()
        self.data_format = check_data_format(data_format)
        x, others = _images_and_others(x)
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            if values is not None and len(values) != len(x):
                label = "`y` (labels)" if name == "y" else "`sample_weight`"
                raise ValueError(
                    f"`x` (images tensor) and {label} should have the same length. "
                    f"Found: x.shape = {np.asarray(x).shape}, {name}.shape = {np.asarray(values).shape}"
                )
        if subset is not None:
            part = _part(subset, len(x), y, image_data_generator._validation_split)
            x, y = x[part], None if y is None else y[part]
            others = [values[part] for values in others]
        self.x, self.x_misc = np.asarray(x, dtype=self.dtype), others
        self._check_images()
        self.y = None if y is None else np.asarray(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        self.image_data_generator = image_data_generator
        self.save_as(save_to_dir, save_prefix, save_format)
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _check_images(self) -> None:
        shape = self.x.shape
        if len(shape) != 4:
            raise ValueError(
                "Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape", shape
            )
        axis = 3 if self.data_format == "channels_last" else 1
        if shape[axis] not in (1, 3, 4):
            warnings.warn(
                f'NumpyArrayIterator is set to use the data format convention "{self.data_format}" (channels on axis '
                f"{axis}), i.e. expected either 1, 3, or 4 channels on axis {axis}. However, it was passed an array "
                f"with shape {shape} ({shape[axis]} channels).",
                stacklevel=4,
            )

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        change = self.image_data_generator
        images = np.zeros((len(index_array), *self.x.shape[1:]), self.dtype)
        for at, number in enumerate(index_array):
            how = change.get_random_transform(self.x[number].shape)
            images[at] = change.standardize(change.apply_transform(self.x[number].astype(self.dtype), how))
        self.save(images, index_array)
        given = [images, *(values[index_array] for values in self.x_misc)] if self.x_misc else images
        if self.y is None:
            return given
        labels = self.y[index_array]
        return (given, labels) if self.sample_weight is None else (given, labels, self.sample_weight[index_array])


def _images_and_others(x: Any) -> tuple[Any, list[np.ndarray]]:
    if type(x) not in (tuple, list):
        return x, []
    images = x[0]
    others = [np.asarray(values) for values in (x[1] if type(x[1]) is list else [x[1]])]
    for values in others:
        if len(values) != len(images):
            raise ValueError(
                "All of the arrays in `x` should have the same length. Found a pair with: "
                f"len(x[0]) = {len(images)}, len(x[?]) = {len(values)}"
            )
    return images, others


def _part(subset: str, count: int, y: Any, validation_split: float) -> slice:
    """The rows of a subset, whose two must have the same labels."""
    if subset not in ("training", "validation"):
        raise ValueError("Invalid subset name:", subset, '; expected "training" or "validation".')
    at = int(count * validation_split)
    if y is not None and not np.array_equal(np.unique(y[:at]), np.unique(y[at:])):
        raise ValueError(
            "Training and validation subsets have different number of classes after the split. If your numpy arrays "
            "are sorted by the label, you might want to shuffle them."
        )
    return slice(at) if subset == "validation" else slice(at, None)
