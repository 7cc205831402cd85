"""`ImageDataGenerator`: batches of images that are turned, shifted, flipped and scaled at random."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.backend.settings import check_data_format, floatx
from penstock.keras.preprocessing.image.affine import (
    FILL_MODES,
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    flip_axis,
)
from penstock.keras.preprocessing.image.array_iterator import NumpyArrayIterator
from penstock.keras.preprocessing.image.file_iterators import DataFrameIterator, DirectoryIterator


@export("keras.preprocessing.image.ImageDataGenerator")
class ImageDataGenerator:
    """Changes images at random: turned by up to `rotation_range` degrees, shifted by fractions (or pixels, from 1 on),
    sheared, zoomed, flipped, their channels shifted; what is then empty is filled as `fill_mode` says. After that
    `preprocessing_function`, `rescale`, and standardisation and whitening, for which `fit` looks at the data.
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: float = 0.0,
        height_shift_range: float = 0.0,
        brightness_range: Any = None,
        shear_range: float = 0.0,
        zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Any = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        interpolation_order: int = 1,
        dtype: Any = None,
    ) -> None:
        if zca_whitening and not featurewise_center:
            featurewise_center = True
            _tell("zca_whitening", "featurewise_center")
        if zca_whitening and featurewise_std_normalization:
            featurewise_std_normalization = False
            _tell("zca_whitening", "featurewise_std_normalization")
        if featurewise_std_normalization and not featurewise_center:
            featurewise_center = True
            _tell("featurewise_std_normalization", "featurewise_center")
        if samplewise_std_normalization and not samplewise_center:
            samplewise_center = True
            _tell("samplewise_std_normalization", "samplewise_center")
        if fill_mode not in FILL_MODES:
            raise ValueError(f"Unknown fill_mode: {fill_mode}")
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1.  Received: {validation_split}")
        if brightness_range is not None and (
            not isinstance(brightness_range, tuple | list) or len(brightness_range) != 2
        ):
            raise ValueError(f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}")
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.rotation_range = rotation_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.brightness_range, self.shear_range = brightness_range, shear_range
        self.zoom_range = _zooms(zoom_range)
        self.channel_shift_range, self.fill_mode, self.cval = channel_shift_range, fill_mode, cval
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.data_format = check_data_format(data_format)
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        self._validation_split, self.dtype = validation_split, dtype or floatx()
        self.interpolation_order = interpolation_order
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.mean: Any = None
        self.std: Any = None
        self.principal_components: Any = None

    # --- what changes -----------------------------------------------------------------------------------

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Compute what featurewise standardisation and whitening take: from `x`, or from `rounds` changes of it."""
        x = np.array(x, dtype=self.dtype)
        if x.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        channels = x.shape[self.channel_axis]
        if channels not in (1, 3, 4):
            warnings.warn(
                f'Expected input to be images (as Numpy array) following the data format convention "'
                f'{self.data_format}" (channels on axis {self.channel_axis}), i.e. expected either 1, 3 or 4 channels '
                f"on axis {self.channel_axis}. However, it was passed an array with shape {x.shape} ({channels} "
                "channels).",
                stacklevel=2,
            )
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            x *= self.rescale
        if augment:
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x]).astype(self.dtype)
        axes = 0, self.row_axis, self.col_axis
        shape = [channels if axis == self.channel_axis else 1 for axis in (1, 2, 3)]
        if self.featurewise_center:
            self.mean = x.mean(axis=axes).reshape(shape)
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = x.std(axis=axes).reshape(shape)
            x /= self.std + 1e-6
        if self.zca_whitening:
            rows = x.reshape(len(x), -1)
            directions, variances, _ = np.linalg.svd(rows.T @ rows / len(rows))
            self.principal_components = (directions / np.sqrt(variances + self.zca_epsilon)) @ directions.T

    def standardize(self, x: Any) -> Any:
        """An image after everything that is not at random, in place."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + 1e-6
        if self.featurewise_center and self._fitted("featurewise_center", self.mean):
            x -= self.mean
        if self.featurewise_std_normalization and self._fitted("featurewise_std_normalization", self.std):
            x /= self.std + 1e-6
        if self.zca_whitening and self._fitted("zca_whitening", self.principal_components):
            x = (x.reshape(-1, np.prod(x.shape[-3:])) @ self.principal_components).reshape(x.shape)
        return x

    def _fitted(self, option: str, value: Any) -> bool:
        """Whether `fit` has found the value; otherwise the images stay as they are, with a warning."""
        if value is None:
            warnings.warn(
                f"This ImageDataGenerator specifies `{option}`, but it hasn't been fit on any training data. Fit it "
                "first by calling `.fit(numpy_data)`.",
                stacklevel=3,
            )
        return value is not None

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """What `apply_transform` is to do with an image of that shape, at random.

        NumPy's generator gives the numbers, in keras_preprocessing's order, so that those of a seed are its own.
        """
        if seed is not None:
            np.random.seed(seed)
        turn, shear = self.rotation_range, self.shear_range
        found: dict[str, Any] = {"theta": np.random.uniform(-turn, turn) if turn else 0}
        found["tx"] = _shift(self.height_shift_range, img_shape[self.row_axis - 1])
        found["ty"] = _shift(self.width_shift_range, img_shape[self.col_axis - 1])
        found["shear"] = np.random.uniform(-shear, shear) if shear else 0
        still = tuple(self.zoom_range) == (1, 1)
        found["zx"], found["zy"] = (1, 1) if still else np.random.uniform(self.zoom_range[0], self.zoom_range[1], 2)
        found["flip_horizontal"] = (np.random.random() < 0.5) * self.horizontal_flip
        found["flip_vertical"] = (np.random.random() < 0.5) * self.vertical_flip
        channel, bright = self.channel_shift_range, self.brightness_range
        found["channel_shift_intensity"] = np.random.uniform(-channel, channel) if channel != 0 else None
        found["brightness"] = None if bright is None else np.random.uniform(*bright)
        return found

    def apply_transform(self, x: np.ndarray, transform_parameters: Mapping[str, Any]) -> np.ndarray:
        """An image changed as `get_random_transform` says: what is not among the parameters stays."""
        rows, columns, channels = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        given = transform_parameters
        moved = {name: given[name] for name in ("theta", "tx", "ty", "shear", "zx", "zy") if name in given}
        x = apply_affine_transform(
            x, **moved, row_axis=rows, col_axis=columns, channel_axis=channels, fill_mode=self.fill_mode,
            cval=self.cval, order=self.interpolation_order,
        )  # fmt: skip
        if given.get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, given["channel_shift_intensity"], channels)
        if given.get("flip_horizontal", False):
            x = flip_axis(x, columns)
        if given.get("flip_vertical", False):
            x = flip_axis(x, rows)
        return x if given.get("brightness") is None else apply_brightness_shift(x, given["brightness"])

    def random_transform(self, x: np.ndarray, seed: int | None = None) -> np.ndarray:
        """An image changed at random."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    # --- batches ----------------------------------------------------------------------------------------

    def flow(
        self, x: Any, y: Any = None, batch_size: int = 32, shuffle: bool = True, sample_weight: Any = None,
        seed: int | None = None, save_to_dir: Any = None, save_prefix: str = "", save_format: str = "png",
        subset: str | None = None,
    ) -> NumpyArrayIterator:  # fmt: skip
        """Batches of changed images of an array, without end."""
        return NumpyArrayIterator(
            x, y, self, batch_size=batch_size, shuffle=shuffle, sample_weight=sample_weight, seed=seed,
            data_format=self.data_format, save_to_dir=save_to_dir, save_prefix=save_prefix, save_format=save_format,
            subset=subset, dtype=self.dtype,
        )  # fmt: skip

    def flow_from_directory(
        self, directory: Any, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
        class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
        save_to_dir: Any = None, save_prefix: str = "", save_format: str = "png", follow_links: bool = False,
        subset: str | None = None, interpolation: str = "nearest",
    ) -> DirectoryIterator:  # fmt: skip
        """Batches of changed images of files: each folder in `directory` is a class."""
        return DirectoryIterator(
            directory, self, target_size=target_size, color_mode=color_mode, classes=classes, class_mode=class_mode,
            batch_size=batch_size, shuffle=shuffle, seed=seed, data_format=self.data_format, save_to_dir=save_to_dir,
            save_prefix=save_prefix, save_format=save_format, follow_links=follow_links, subset=subset,
            interpolation=interpolation, dtype=self.dtype,
        )  # fmt: skip

    def flow_from_dataframe(
        self, dataframe: Any, directory: Any = None, x_col: str = "filename", y_col: Any = "class",
        weight_col: str | None = None, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
        class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
        save_to_dir: Any = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None,
        interpolation: str = "nearest", validate_filenames: bool = True, **kwargs: Any,
    ) -> DataFrameIterator:  # fmt: skip
        """Batches of changed images of the files in a column of a table, with labels from others.

        kwargs: `has_ext`, `sort` and `drop_duplicates`, which are ignored as in TensorFlow.
        """
        return DataFrameIterator(
            dataframe, directory, self, x_col=x_col, y_col=y_col, weight_col=weight_col, target_size=target_size,
            color_mode=color_mode, classes=classes, class_mode="raw" if class_mode == "other" else class_mode,
            data_format=self.data_format, batch_size=batch_size, shuffle=shuffle, seed=seed, save_to_dir=save_to_dir,
            save_prefix=save_prefix, save_format=save_format, subset=subset, interpolation=interpolation,
            validate_filenames=validate_filenames, dtype=self.dtype,
        )  # fmt: skip


def _tell(option: str, other: str) -> None:
    warnings.warn(f"This ImageDataGenerator specifies `{option}`, which overrides setting of `{other}`.", stacklevel=3)


def _zooms(zoom_range: Any) -> list[float]:
    if isinstance(zoom_range, int | float):
        return [1 - zoom_range, 1 + zoom_range]
    if len(zoom_range) == 2 and all(isinstance(each, int | float) for each in zoom_range):
        return list(zoom_range)
    raise ValueError(f"`zoom_range` should be a float or a tuple or list of two floats. Received: {zoom_range}")


def _shift(limits: Any, size: int) -> Any:
    """Pixels: up to a fraction of `size`, up to a number of them, or one of a list (an int n stands for range(n))."""
    if not limits:
        return 0
    try:
        shift = np.random.choice(limits)
        shift *= np.random.choice([-1, 1])
    except ValueError:  # a float
        shift = np.random.uniform(-limits, limits)
    return shift * size if np.max(limits) < 1 else shift
