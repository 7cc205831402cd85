"""`Iterator`: batches that are made of the numbers of samples (TF: tf.keras.preprocessing.image.Iterator)."""

from __future__ import annotations

import threading
from collections.abc import Iterator as Numbers
from pathlib import Path
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.preprocessing.image.files import MODES, array_to_img, img_to_array, load_img
from penstock.keras.utils.arrays import Sequence


@export("keras.preprocessing.image.Iterator")
class Iterator(Sequence):
    """Batches without end, and by number; subclasses define `_get_batches_of_transformed_samples(index_array)`.

    With a `seed`, NumPy's random numbers begin anew at seed + the number of batches so far, before each.
    """

    white_list_formats = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Any = None
        self.index_generator = self._flow_index()

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        """The batch of the samples with these numbers."""
        raise NotImplementedError

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def __getitem__(self, idx: int) -> Any:
        if idx >= len(self):
            raise ValueError(f"Asked to retrieve element {idx}, but the Sequence has length {len(self)}")
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        rows = self.index_array[self.batch_size * idx : self.batch_size * (idx + 1)]
        return self._get_batches_of_transformed_samples(rows)

    def on_epoch_end(self) -> None:
        self._set_index_array()

    def reset(self) -> None:
        """Begin an epoch."""
        self.batch_index = 0

    def _flow_index(self) -> Numbers[Any]:
        self.reset()
        while True:
            if self.seed is not None:
                np.random.seed(self.seed + self.total_batches_seen)
            if self.batch_index == 0:
                self._set_index_array()
            at = (self.batch_index * self.batch_size) % self.n if self.n else 0
            self.batch_index = self.batch_index + 1 if self.n > at + self.batch_size else 0
            self.total_batches_seen += 1
            yield self.index_array[at : at + self.batch_size]

    def __iter__(self) -> Any:
        return self

    def __next__(self, *args: Any, **kwargs: Any) -> Any:
        return self.next(*args, **kwargs)

    def next(self) -> Any:
        """The next batch."""
        with self.lock:
            rows = next(self.index_generator)
        return self._get_batches_of_transformed_samples(rows)


class Saving:
    """Writes the images of batches to a folder, if there is one: `prefix_number_random.format`."""

    data_format: str
    names_below: int  # of the random number in a file's name

    def save_as(self, folder: Any, prefix: str, image_format: str) -> None:
        self.save_to_dir, self.save_prefix, self.save_format = folder, prefix, image_format

    def save(self, images: np.ndarray, numbers: Any) -> None:
        if self.save_to_dir:
            for image, number in zip(images, numbers, strict=True):
                name = f"{self.save_prefix}_{number}_{np.random.randint(self.names_below)}.{self.save_format}"
                array_to_img(image, self.data_format, scale=True).save(Path(self.save_to_dir, name))


class OfFiles(Iterator, Saving):
    """Batches of changed images of files, with labels as `class_mode` says."""

    names_below = 10**7
    filepaths: list[str]
    classes: Any
    class_indices: dict[Any, int]
    class_mode: str | None
    allowed_class_modes: frozenset[str | None]
    dtype: Any
    targets: Any = None
    sample_weight: Any = None

    def set_processing_attrs(
        self, image_data_generator: Any, target_size: Any, color_mode: str, data_format: str, save_to_dir: Any,
        save_prefix: str, save_format: str, subset: str | None, interpolation: str,
    ) -> None:  # fmt: skip
        self.image_data_generator, self.target_size = image_data_generator, tuple(target_size)
        if color_mode not in MODES:
            raise ValueError("Invalid color mode:", color_mode, '; expected "rgb", "rgba", or "grayscale".')
        self.color_mode, self.data_format = color_mode, data_format
        channels = (MODES[color_mode],)
        last = data_format == "channels_last"
        self.image_shape = self.target_size + channels if last else channels + self.target_size
        self.save_as(save_to_dir, save_prefix, save_format)
        self.interpolation, self.subset = interpolation, subset
        if subset not in (None, "training", "validation"):
            raise ValueError(f'Invalid subset name: {subset};expected "training" or "validation"')
        part = getattr(image_data_generator, "_validation_split", 0.0)
        self.split = {None: None, "validation": (0, part), "training": (part, 1)}[subset]

    def check_class_mode(self, class_mode: str | None) -> None:
        if class_mode not in self.allowed_class_modes:
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {set(self.allowed_class_modes)}")
        self.class_mode = class_mode

    def of_split(self, count: int) -> slice:
        """Which of `count` files are in the subset."""
        return slice(None) if self.split is None else slice(*(int(part * count) for part in self.split))

    @property
    def labels(self) -> Any:
        return self.classes if self.targets is None else self.targets

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        images = np.zeros((len(index_array), *self.image_shape), self.dtype)
        for at, number in enumerate(index_array):
            images[at] = self._image(self.filepaths[number])
        self.save(images, index_array)
        if self.class_mode is None:
            return images
        labels = self._labels(images, index_array)
        weights = self.sample_weight
        return (images, labels) if weights is None else (images, labels, weights[index_array])

    def _image(self, path: str) -> np.ndarray:
        with load_img(path, False, self.color_mode, self.target_size, self.interpolation) as loaded:
            image = img_to_array(loaded, self.data_format)
        change = self.image_data_generator
        return (
            change.standardize(change.apply_transform(image, change.get_random_transform(image.shape)))
            if change
            else image
        )

    def _labels(self, images: np.ndarray, numbers: Any) -> Any:
        if self.class_mode == "input":
            return images.copy()
        if self.class_mode == "multi_output":
            return [output[numbers] for output in self.targets]
        if self.class_mode == "raw":
            return self.targets[numbers]
        if self.class_mode in ("binary", "sparse"):
            return np.array([self.classes[number] for number in numbers], self.dtype)
        labels = np.zeros((len(images), len(self.class_indices)), self.dtype)
        for row, number in zip(labels, numbers, strict=True):
            row[self.classes[number]] = 1.0  # several, where a sample has a list of classes
        return labels
