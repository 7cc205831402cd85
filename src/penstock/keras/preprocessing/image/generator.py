"""`ImageDataGenerator`: batches of images that are turned, shifted, flipped and scaled at random."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.backend.settings import check_data_format, floatx
from penstock.keras.preprocessing.image.affine import (
    FILL_MODES,
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
)
from penstock.keras.preprocessing.image.files import img_to_array, load_img
from penstock.keras.utils.arrays import Sequence


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
            warnings.warn(
                "This ImageDataGenerator specifies `zca_whitening`, which overrides setting of `featurewise_center`.",
                UserWarning, stacklevel=2,
            )  # fmt: skip
        if zca_whitening and featurewise_std_normalization:
            featurewise_std_normalization = False
            warnings.warn(
                "This ImageDataGenerator specifies `zca_whitening` which overrides setting of "
                "`featurewise_std_normalization`.",
                UserWarning, stacklevel=2,
            )  # fmt: skip
        if fill_mode not in FILL_MODES:
            raise ValueError(f"Unknown fill_mode: {fill_mode}")
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.rotation_range = rotation_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.brightness_range, self.shear_range = brightness_range, shear_range
        one = isinstance(zoom_range, int | float)
        self.zoom_range = (1 - zoom_range, 1 + zoom_range) if one else tuple(zoom_range)
        self.channel_shift_range, self.fill_mode, self.cval = channel_shift_range, fill_mode, cval
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.data_format = check_data_format(data_format)
        self.validation_split = validation_split
        self.interpolation_order = interpolation_order
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.mean: Any = None
        self.std: Any = None
        self.principal_components: Any = None

    # --- what changes -----------------------------------------------------------------------------------

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Compute what featurewise standardisation and whitening take: from `x`, or from `rounds` changes of it."""
        x = np.asarray(x, dtype=floatx())
        if x.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        if augment:
            if seed is not None:
                np.random.seed(seed)
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x])
        channel = 1 if self.data_format == "channels_first" else 3
        axes = tuple(i for i in range(4) if i != channel)
        shape = [-1 if i == channel - 1 else 1 for i in range(3)]
        self.mean = x.mean(axis=axes).reshape(shape)
        self.std = x.std(axis=axes).reshape(shape)
        if self.zca_whitening:
            rows = (x - self.mean).reshape(len(x), -1)
            directions, variances, _ = np.linalg.svd(rows.T @ rows / len(rows))
            self.principal_components = (directions / np.sqrt(variances + self.zca_epsilon)) @ directions.T

    def standardize(self, x: np.ndarray) -> np.ndarray:
        """An image after everything that is not at random."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - x.mean()
        if self.samplewise_std_normalization:
            x = x / (x.std() + 1e-6)
        if (self.featurewise_center or self.featurewise_std_normalization) and self.mean is None:
            raise ValueError("This ImageDataGenerator standardises features: fit it on data first (`fit(x)`).")
        if self.featurewise_center:
            x = x - self.mean
        if self.featurewise_std_normalization:
            x = x / (self.std + 1e-6)
        if self.zca_whitening:
            x = (x.reshape(-1, len(self.principal_components)) @ self.principal_components).reshape(x.shape)
        return x

    def random_transform(self, x: np.ndarray, seed: int | None = None) -> np.ndarray:
        """An image changed at random."""
        random: Any = np.random if seed is None else np.random.RandomState(seed)
        first = self.data_format == "channels_first"
        image = x.transpose(1, 2, 0) if first else x
        image = self._moved(image, random)
        if self.channel_shift_range:
            shifts = random.uniform(-self.channel_shift_range, self.channel_shift_range, image.shape[2])
            image = apply_channel_shift(image, shifts, 2)
        if self.horizontal_flip and random.random_sample() < 0.5:
            image = image[:, ::-1]
        if self.vertical_flip and random.random_sample() < 0.5:
            image = image[::-1]
        if self.brightness_range is not None:
            image = apply_brightness_shift(image, random.uniform(*self.brightness_range))
        return image.transpose(2, 0, 1) if first else image

    def _moved(self, image: np.ndarray, random: Any) -> np.ndarray:
        """`image` turned, shifted, sheared and zoomed around its middle."""
        angle = random.uniform(-self.rotation_range, self.rotation_range) if self.rotation_range else 0.0
        shear = random.uniform(-self.shear_range, self.shear_range) if self.shear_range else 0.0
        down = self._shift(self.height_shift_range, image.shape[0], random)
        right = self._shift(self.width_shift_range, image.shape[1], random)
        zx, zy = (1.0, 1.0) if self.zoom_range == (1, 1) else random.uniform(*self.zoom_range, 2)
        return apply_affine_transform(
            image, angle, down, right, shear, zx, zy, fill_mode=self.fill_mode, cval=self.cval,
            order=self.interpolation_order,
        )  # fmt: skip

    def _shift(self, amount: float, size: int, random: Any) -> float:
        if not amount:
            return 0.0
        shift = float(random.uniform(-amount, amount))
        return shift * size if amount < 1 else shift

    # --- batches ----------------------------------------------------------------------------------------

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        subset: str | None = None,
        **kwargs: Any,
    ) -> Batches:
        """Batches of changed images of an array, without end."""
        x = np.asarray(x, dtype=floatx())
        if x.ndim != 4:
            raise ValueError(f"Input data in `NumpyArrayIterator` should have rank 4. You passed shape {x.shape}")
        if y is not None and len(x) != len(y):
            raise ValueError(
                f"`x` (images tensor) and `y` (labels) should have the same length. Found: {len(x)}, {len(y)}"
            )
        numbers = self._subset(len(x), subset)
        labels = None if y is None else np.asarray(y)[numbers]
        weights = None if sample_weight is None else np.asarray(sample_weight)[numbers]
        images = x[numbers]
        return Batches(self, len(images), images.__getitem__, labels, weights, batch_size, shuffle, seed)

    def _subset(self, count: int, subset: str | None) -> np.ndarray:
        at = int(count * self.validation_split)
        return np.arange(count)[slice(at) if subset == "validation" else slice(at, None) if subset else slice(None)]

    def flow_from_directory(
        self,
        directory: Any,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        subset: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> Batches:
        """Batches of changed images of files: each folder in `directory` is a class."""
        root = Path(directory)
        classes = list(classes or sorted(folder.name for folder in root.iterdir() if folder.is_dir()))
        endings = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".tif", ".tiff", ".gif")
        paths: list[Path] = []
        labels: list[int] = []
        for i, name in enumerate(classes):
            found = sorted(path for path in (root / name).rglob("*") if path.suffix.lower() in endings)
            found = [found[j] for j in self._subset(len(found), subset)]
            paths += found
            labels += [i] * len(found)
        print(f"Found {len(paths)} images belonging to {len(classes)} classes.")
        numbers = np.array(labels)
        kinds: dict[Any, Any] = {
            "categorical": np.eye(len(classes), dtype=floatx())[numbers],
            "binary": numbers.astype(floatx()),
            "sparse": numbers.astype(floatx()),
            None: None,
        }
        if class_mode not in kinds:
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of {list(kinds)}")

        def image(i: int) -> np.ndarray:
            loaded = load_img(paths[i], False, color_mode, target_size, interpolation)
            return img_to_array(loaded, self.data_format)

        batches = Batches(self, len(paths), image, kinds[class_mode], None, batch_size, shuffle, seed)
        batches.class_indices = {name: i for i, name in enumerate(classes)}
        batches.classes, batches.filenames = numbers, [str(path.relative_to(root)) for path in paths]
        return batches


class Batches(Sequence):
    """Batches of images by number, and without end as an iterator."""

    class_indices: dict[str, int]
    classes: Any
    filenames: list[str]

    def __init__(
        self, generator: Any, n: int, image: Any, y: Any, weights: Any, batch_size: int, shuffle: bool, seed: int | None
    ) -> None:
        self.image_data_generator, self.n, self.batch_size, self.shuffle = generator, n, batch_size, shuffle
        self._image, self._y, self._weights, self.seed = image, y, weights, seed
        self.samples = n
        self._epoch = 0
        self.reset()

    def reset(self) -> None:
        """Begin an epoch."""
        self._at = 0
        random: Any = np.random if self.seed is None else np.random.RandomState(self.seed + self._epoch)
        self._order = random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def __getitem__(self, index: int) -> Any:
        return self._batch(self._order[index * self.batch_size : (index + 1) * self.batch_size])

    def on_epoch_end(self) -> None:
        self._epoch += 1
        self.reset()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._at >= len(self):
            self.on_epoch_end()
        self._at += 1
        return self[self._at - 1]

    next = __next__

    def _batch(self, rows: np.ndarray) -> Any:
        change = self.image_data_generator
        images = np.stack([change.standardize(change.random_transform(self._image(i))) for i in rows])
        found = (images, *(values[rows] for values in (self._y, self._weights) if values is not None))
        return found if len(found) > 1 else images
