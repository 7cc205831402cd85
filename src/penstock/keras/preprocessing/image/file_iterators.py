"""Batches of images of folders and of tables of file names (TF: tf.keras.preprocessing.image.DirectoryIterator)."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.backend.settings import check_data_format, floatx
from penstock.keras.preprocessing.image.iterator import OfFiles


@export("keras.preprocessing.image.DirectoryIterator")
class DirectoryIterator(OfFiles):
    """Batches of changed images of files: each folder in `directory` is a class, in the order of their names.

    classes: the folders that are looked at, otherwise all. class_mode: "categorical", "binary" or "sparse" labels,
    "input" for the images themselves, None for images only.
    """

    allowed_class_modes = frozenset({"categorical", "binary", "sparse", "input", None})

    def __init__(
        self, directory: Any, image_data_generator: Any, target_size: Any = (256, 256), color_mode: str = "rgb",
        classes: Any = None, class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True,
        seed: int | None = None, data_format: str | None = None, save_to_dir: Any = None, save_prefix: str = "",
        save_format: str = "png", follow_links: bool = False, subset: str | None = None,
        interpolation: str = "nearest", dtype: Any = None,
    ) -> None:  # fmt: skip
        self.set_processing_attrs(
            image_data_generator, target_size, color_mode, check_data_format(data_format), save_to_dir, save_prefix,
            save_format, subset, interpolation,
        )  # fmt: skip
        self.directory, self.dtype = directory, dtype or floatx()
        self.check_class_mode(class_mode)
        names = list(classes) if classes else _folders(directory)
        self.num_classes = len(names)
        self.class_indices = {name: number for number, name in enumerate(names)}
        self.filenames: list[str] = []
        numbers: list[int] = []
        for name in names:
            found = self._files(name, follow_links)
            self.filenames += found
            numbers += [self.class_indices[name]] * len(found)
        self.samples = len(self.filenames)
        self.classes = np.array(numbers, np.int32)
        self.filepaths = [os.path.join(directory, name) for name in self.filenames]
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _files(self, folder: str, follow_links: bool) -> list[str]:
        """The files of the subset in a folder and below, relative to `directory`."""
        top = os.path.join(self.directory, folder)
        found = []
        for root, _, files in sorted(os.walk(top, followlinks=follow_links), key=lambda each: each[0]):
            found += [os.path.join(root, name) for name in sorted(files) if _is_image(name, self.white_list_formats)]
        above = os.path.basename(top)
        return [os.path.join(above, os.path.relpath(path, top)) for path in found[self.of_split(len(found))]]


class DataFrameIterator(OfFiles):
    """Batches of changed images whose files, labels and weights are in columns of a pandas DataFrame.

    class_mode: "categorical" (names of classes, or lists of them), "binary", "sparse", "raw" (the columns `y_col` as
    they are), "multi_output" (an array for each column), "input", or None. Files that are not there are left out.
    Raises TypeError for columns of other types, ValueError for modes that do not fit the classes.
    """

    allowed_class_modes = frozenset({"binary", "categorical", "input", "multi_output", "raw", "sparse", None})

    def __init__(
        self, dataframe: Any, directory: Any = None, image_data_generator: Any = None, x_col: str = "filename",
        y_col: Any = "class", weight_col: str | None = None, target_size: Any = (256, 256), color_mode: str = "rgb",
        classes: Any = None, class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True,
        seed: int | None = None, data_format: str = "channels_last", save_to_dir: Any = None, save_prefix: str = "",
        save_format: str = "png", subset: str | None = None, interpolation: str = "nearest", dtype: Any = "float32",
        validate_filenames: bool = True,
    ) -> None:  # fmt: skip
        self.set_processing_attrs(
            image_data_generator, target_size, color_mode, data_format, save_to_dir, save_prefix, save_format, subset,
            interpolation,
        )  # fmt: skip
        self.directory, self.dtype = directory or "", dtype
        self.check_class_mode(class_mode)
        named = class_mode in ("categorical", "binary", "sparse")
        self._check_columns(dataframe, x_col, y_col, weight_col, classes)
        rows = self._there(dataframe.copy(), x_col) if validate_filenames else dataframe.copy()
        if named:
            rows, names = _with_classes(rows, y_col, classes)
            self.class_indices = {name: number for number, name in enumerate(names)}
        rows = rows.iloc[self.of_split(len(rows))]
        if named:
            self.classes = [self._numbers(label) for label in rows[y_col]]
        elif class_mode == "multi_output":
            self.targets = [np.array(rows[column].tolist()) for column in y_col]
        elif class_mode == "raw":
            self.targets = rows[y_col].values
        self.filenames = rows[x_col].tolist()
        self.sample_weight = rows[weight_col].values if weight_col else None
        self.samples = len(self.filenames)
        self.filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        belonging = f" belonging to {len(self.class_indices)} classes" if named else ""
        print(f"Found {self.samples} {'' if validate_filenames else 'non-'}validated image filenames{belonging}.")
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _numbers(self, label: Any) -> Any:
        many = isinstance(label, list | tuple)
        return [self.class_indices[name] for name in label] if many else self.class_indices[label]

    def _there(self, rows: Any, x_col: str) -> Any:
        """The rows whose files are images."""
        paths = [os.path.join(self.directory, name) for name in rows[x_col]]
        there = np.array([_is_image(path, self.white_list_formats) and os.path.isfile(path) for path in paths], bool)
        if not there.all():
            warnings.warn(
                f'Found {int((~there).sum())} invalid image filename(s) in x_col="{x_col}". These filename(s) will be '
                "ignored.",
                stacklevel=4,
            )
        return rows[there]

    def _check_columns(self, rows: Any, x_col: str, y_col: Any, weight_col: str | None, classes: Any) -> None:
        mode = self.class_mode
        if mode == "multi_output" and not isinstance(y_col, list):
            raise TypeError(f'If class_mode="{mode}", y_col must be a list. Received {type(y_col).__name__}.')
        if not _all_of(rows[x_col], str):
            raise TypeError(f"All values in column x_col={x_col} must be strings.")
        if mode in ("binary", "sparse") and not _all_of(rows[y_col], str):
            raise TypeError(f'If class_mode="{mode}", y_col="{y_col}" column values must be strings.')
        if mode == "binary" and len(set(classes or rows[y_col])) != 2:
            raise ValueError('If class_mode="binary" there must be 2 classes.')
        if mode == "categorical" and not _all_of(rows[y_col], (str, list, tuple)):
            raise TypeError(
                f'If class_mode="{mode}", y_col="{y_col}" column values must be type string, list or tuple.'
            )
        if classes and mode in ("input", "multi_output", "raw", None):
            warnings.warn(f'`classes` will be ignored given the class_mode="{mode}"', stacklevel=4)
        if weight_col and not issubclass(rows[weight_col].dtype.type, np.number):
            raise TypeError(f"Column weight_col={weight_col} must be numeric.")


def _folders(directory: Any) -> list[str]:
    return [name for name in sorted(os.listdir(directory)) if os.path.isdir(os.path.join(directory, name))]


def _is_image(name: str, endings: tuple[str, ...]) -> bool:
    return name.lower().endswith(endings)


def _all_of(values: Any, kinds: Any) -> bool:
    return all(isinstance(value, kinds) for value in values)


def _with_classes(rows: Any, y_col: str, classes: Any) -> tuple[Any, list[Any]]:
    """The rows that have a class, without their other ones, and the names of the classes in order."""
    if not classes:
        found = {name for label in rows[y_col] for name in (label if isinstance(label, list | tuple) else [label])}
        return rows.dropna(subset=[y_col]), sorted(found)

    def kept(label: Any) -> Any:
        if isinstance(label, list | tuple):
            return [name for name in label if name in classes] or None
        return label if label in classes else None

    rows[y_col] = rows[y_col].apply(kept)
    return rows.dropna(subset=[y_col]), sorted(set(classes))
