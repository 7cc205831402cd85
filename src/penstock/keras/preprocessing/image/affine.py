"""Images turned, shifted, sheared and zoomed, as arrays (TF: tf.keras.preprocessing.image)."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from PIL import ImageEnhance

from penstock.export import export
from penstock.keras.preprocessing.image.files import array_to_img, img_to_array

FILL_MODES = ("nearest", "constant", "reflect", "wrap")


@export("keras.preprocessing.image.apply_affine_transform")
def apply_affine_transform(
    x: np.ndarray,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> np.ndarray:
    """`x` turned by `theta` degrees, shifted by (tx, ty) pixels down and right, sheared by degrees, zoomed by (zx, zy).

    All of it is around a point a pixel below and right of the middle, as in keras_preprocessing 1.1, and says where in
    `x` a pixel of the result is found: zx = 2 shrinks. order: 0 takes the nearest pixel, 1 interpolates between four,
    more are SciPy's splines. What is outside is as `fill_mode` says.
    """
    angle, slant = np.deg2rad(theta), np.deg2rad(shear)
    matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shift = matrix @ np.array([tx, ty], float)
    if shear:
        matrix = matrix @ np.array([[1, -np.sin(slant)], [0, np.cos(slant)]])
    matrix = matrix @ np.diag([zx, zy])
    if np.array_equal(matrix, np.eye(2)) and not shift.any():
        return x
    sizes = x.shape[row_axis], x.shape[col_axis]
    middle = np.array(sizes) / 2 + 0.5
    return _moved(
        x, matrix, middle + shift - matrix @ middle, (row_axis, col_axis, channel_axis), fill_mode, cval, order
    )


@export("keras.preprocessing.image.apply_transform")
def apply_transform(
    x: np.ndarray, transform_matrix: Any, channel_axis: int = 0, fill_mode: str = "nearest", cval: float = 0.0
) -> np.ndarray:
    """`x`, each pixel (row, column, 1) of it being found at `transform_matrix` [3, 3] times that."""
    matrix = np.asarray(transform_matrix, float)
    rows, columns = (axis for axis in range(3) if axis != channel_axis % 3)
    return _moved(x, matrix[:2, :2], matrix[:2, 2], (rows, columns, channel_axis), fill_mode, cval, 0)


def _moved(
    x: np.ndarray,
    matrix: np.ndarray,
    offset: np.ndarray,
    axes: tuple[int, int, int],
    fill_mode: str,
    cval: float,
    order: int,
) -> np.ndarray:
    """Pixel p of the result is that of `x` at matrix @ p + offset."""
    if fill_mode not in FILL_MODES:
        raise ValueError(f"Unknown fill_mode: {fill_mode}")
    image = np.moveaxis(x, axes, (0, 1, 2))
    if order > 1:
        return np.moveaxis(_splines(image, matrix, offset, fill_mode, cval, order), (0, 1, 2), axes)
    sizes = image.shape[:2]
    places = np.stack(list(np.mgrid[: sizes[0], : sizes[1]]), -1) @ matrix.T + offset
    places = np.round(places, 9)  # what is a whole number but for rounding is one
    if fill_mode == "wrap":
        places = _wrapped(places, np.array(sizes) - 1)
    if order == 0:
        moved = _at(image, np.floor(places + 0.5).astype(int), fill_mode)
    else:
        low = np.floor(places).astype(int)
        part = (places - low)[..., None, :]
        moved = sum(
            _at(image, low + np.array(step), fill_mode) * np.prod(np.where(step, part, 1 - part), -1)
            for step in ((0, 0), (0, 1), (1, 0), (1, 1))
        )
    if fill_mode == "constant":
        outside = ((places < 0) | (places > np.array(sizes) - 1)).any(-1)
        moved = np.where(outside[..., None], cval, moved)
    moved = np.moveaxis(moved, (0, 1, 2), axes)
    return (np.round(moved) if x.dtype.kind in "iu" else moved).astype(x.dtype, copy=False)


def _splines(image: np.ndarray, matrix: Any, offset: Any, fill_mode: str, cval: float, order: int) -> np.ndarray:
    ndimage = importlib.import_module("scipy.ndimage")
    channels = [
        ndimage.affine_transform(channel, matrix, offset, order=order, mode=fill_mode, cval=cval)
        for channel in np.moveaxis(image, 2, 0)
    ]
    return np.stack(channels, -1)


def _wrapped(places: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Places that are inside again, as SciPy wraps them: the last row is the first."""
    period = np.maximum(last, 1)
    below = places + period * ((-places / period).astype(int) + 1)
    inside = np.where(places > last, places - period * (places / period).astype(int), places)
    wrapped: np.ndarray = np.where(last < 1, 0, np.where(places < 0, below, inside))
    return wrapped


def _at(image: np.ndarray, places: np.ndarray, fill_mode: str) -> np.ndarray:
    """The pixels at whole numbers, which may be outside."""
    height, width = image.shape[:2]

    def inside(i: np.ndarray, n: int) -> np.ndarray:
        if fill_mode == "reflect":
            return np.minimum(i % (2 * n), 2 * n - 1 - i % (2 * n))
        return i.clip(0, n - 1)

    found: np.ndarray = image[inside(places[..., 0], height), inside(places[..., 1], width)]
    return found


# --- at random ------------------------------------------------------------------------------------------


@export("keras.preprocessing.image.random_rotation")
def random_rotation(
    x: np.ndarray, rg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest",
    cval: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """`x` turned by up to `rg` degrees."""
    angle = np.random.uniform(-rg, rg)
    return apply_affine_transform(x, angle, 0, 0, 0, 1, 1, row_axis, col_axis, channel_axis, fill_mode, cval)


@export("keras.preprocessing.image.random_shift")
def random_shift(
    x: np.ndarray, wrg: float, hrg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
    fill_mode: str = "nearest", cval: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """`x` shifted by up to the fractions `wrg` of its width and `hrg` of its height."""
    down = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    right = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(
        x,
        0,
        down,
        right,
        row_axis=row_axis,
        col_axis=col_axis,
        channel_axis=channel_axis,
        fill_mode=fill_mode,
        cval=cval,
    )


@export("keras.preprocessing.image.random_shear")
def random_shear(
    x: np.ndarray, intensity: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
    fill_mode: str = "nearest", cval: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """`x` sheared by up to `intensity` degrees."""
    angle = np.random.uniform(-intensity, intensity)
    return apply_affine_transform(x, 0, 0, 0, angle, 1, 1, row_axis, col_axis, channel_axis, fill_mode, cval)


@export("keras.preprocessing.image.random_zoom")
def random_zoom(
    x: np.ndarray, zoom_range: Any, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
    fill_mode: str = "nearest", cval: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """`x` zoomed by two factors within `zoom_range`."""
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}")
    zx, zy = (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(zoom_range[0], zoom_range[1], 2)
    return apply_affine_transform(x, 0, 0, 0, 0, zx, zy, row_axis, col_axis, channel_axis, fill_mode, cval)


@export("keras.preprocessing.image.apply_channel_shift")
def apply_channel_shift(x: np.ndarray, intensity: float, channel_axis: int = 0) -> np.ndarray:
    """`x` with `intensity` added to all channels, within the least and largest value."""
    return np.clip(x + intensity, x.min(), x.max())


@export("keras.preprocessing.image.random_channel_shift")
def random_channel_shift(x: np.ndarray, intensity_range: float, channel_axis: int = 0) -> np.ndarray:
    """`x` with up to `intensity_range` added."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


@export("keras.preprocessing.image.apply_brightness_shift")
def apply_brightness_shift(x: np.ndarray, brightness: float) -> np.ndarray:
    """`x` [h, w, c], `brightness` times as bright, as whole numbers from 0 to 255.

    As in keras_preprocessing 1.1, its least and greatest values become 0 and 255 first.
    """
    return img_to_array(ImageEnhance.Brightness(array_to_img(x, "channels_last")).enhance(brightness), "channels_last")


@export("keras.preprocessing.image.random_brightness")
def random_brightness(x: np.ndarray, brightness_range: Any) -> np.ndarray:
    """`x` made brighter or darker by a factor within `brightness_range`."""
    if len(brightness_range) != 2:
        raise ValueError(f"`brightness_range` should be tuple or list of two floats. Received: {brightness_range}")
    return apply_brightness_shift(x, float(np.random.uniform(brightness_range[0], brightness_range[1])))


@export("keras.preprocessing.image.flip_axis")
def flip_axis(x: np.ndarray, axis: int) -> np.ndarray:
    """`x` backwards along an axis."""
    return np.flip(x, axis)
