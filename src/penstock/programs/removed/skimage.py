"""What scikit-image has removed or renamed: names, `multichannel=`, and 8 bits of what is saved.

Facts from scikit-image 0.14 to 0.18.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.programs.removed.giving import Lost, ModuleOf, Source, give, rename_keywords
from penstock.programs.removed.imageio import EIGHT_BITS, eight_bits
from penstock.programs.report import REPORT

_VIEWER = "skimage.viewer was a window of scikit-image, which it has no more: show images with matplotlib."


def _compare_ssim(X: Any, Y: Any, win_size: Any = None, gradient: bool = False, **options: Any) -> Any:
    if "dynamic_range" in options:
        options["data_range"] = options.pop("dynamic_range")
    metrics = importlib.import_module("skimage.metrics")
    return metrics.structural_similarity(X, Y, win_size=win_size, gradient=gradient, **options)


def _compare_psnr(im_true: Any, im_test: Any, data_range: Any = None, dynamic_range: Any = None) -> Any:
    metrics = importlib.import_module("skimage.metrics")
    limits = data_range if dynamic_range is None else dynamic_range
    return metrics.peak_signal_noise_ratio(im_true, im_test, data_range=limits)


def _compare_nrmse(im_true: Any, im_test: Any, norm_type: str = "Euclidean") -> Any:
    metrics = importlib.import_module("skimage.metrics")
    return metrics.normalized_root_mse(im_true, im_test, normalization=norm_type.lower())


def _circle(r: float, c: float, radius: float, shape: Any = None) -> Any:
    return importlib.import_module("skimage.draw").disk((r, c), radius, shape=shape)


def _threshold_adaptive(image: Any, block_size: int, **options: Any) -> Any:
    return image > importlib.import_module("skimage.filters").threshold_local(image, block_size, **options)


def _marching_cubes_classic(volume: Any, level: Any = None, **options: Any) -> Any:
    measure = importlib.import_module("skimage.measure")
    return measure.marching_cubes(volume, level, method="lorensen", **options)[:2]


NAMES: dict[str, dict[str, Source]] = {
    "skimage": {"novice": Lost("skimage.novice is no more: use PIL.Image."), "viewer": "skimage.viewer:"},
    "skimage.data": {"lena": Lost("skimage.data.lena() was a picture of scikit-image; it has others: astronaut().")},
    "skimage.draw": {"circle": lambda: _circle},
    "skimage.feature": {
        "greycomatrix": "skimage.feature:graycomatrix",
        "greycoprops": "skimage.feature:graycoprops",
        "register_translation": "skimage.registration:phase_cross_correlation",
    },
    "skimage.filters": {
        "gaussian_filter": "skimage.filters:gaussian",
        "threshold_adaptive": lambda: _threshold_adaptive,
        **{
            f"denoise_{kind}": f"skimage.restoration:denoise_{kind}"
            for kind in ("bilateral", "tv_bregman", "tv_chambolle")
        },
    },
    "skimage.future": {"graph": "skimage.graph:"},
    "skimage.measure": {
        "compare_mse": "skimage.metrics:mean_squared_error",
        "compare_nrmse": lambda: _compare_nrmse,
        "compare_psnr": lambda: _compare_psnr,
        "compare_ssim": lambda: _compare_ssim,
        "structural_similarity": lambda: _compare_ssim,
        "marching_cubes_lewiner": "skimage.measure:marching_cubes",
        "marching_cubes_classic": lambda: _marching_cubes_classic,
    },
    "skimage.morphology": {
        "skeletonize_3d": "skimage.morphology:skeletonize",
        "watershed": "skimage.segmentation:watershed",
    },
    "skimage.util": {"montage2d": "skimage.util:montage", "pad": "numpy:pad"},
}

_CHANNELS = {
    "skimage.feature": ("hog",),
    "skimage.filters": ("gaussian", "unsharp_mask"),
    "skimage.metrics": ("structural_similarity",),
    "skimage.restoration": ("denoise_bilateral", "denoise_nl_means", "denoise_tv_chambolle", "denoise_wavelet",
                            "estimate_sigma", "inpaint_biharmonic"),
    "skimage.segmentation": ("felzenszwalb", "random_walker", "slic"),
    "skimage.transform": ("pyramid_expand", "pyramid_gaussian", "pyramid_laplacian", "pyramid_reduce", "rescale"),
    "skimage.util": ("montage",),
}  # fmt: skip
"""Functions that took `multichannel=True`, and now the axis of the channels."""
_OF_COLOURS = "gaussian", "hog"
"""Of these, those that took images of three channels for such if they were not told."""

KEYWORDS: dict[str, dict[str, dict[str, str | None]]] = {
    "skimage.feature": {"hog": {"visualise": "visualize", "normalise": None}},
    "skimage.io": {"imread": {"as_grey": "as_gray", "flatten": "as_gray"}},
    "skimage.morphology": {
        name: {"selem": "footprint"}
        for name in (
            *("black_tophat", "closing", "dilation", "erosion", "opening", "white_tophat"),
            *("binary_closing", "binary_dilation", "binary_erosion", "binary_opening"),
        )
    },
    "skimage.filters": {"median": {"selem": "footprint"}},
    "skimage.restoration": {"denoise_tv_chambolle": {"n_iter_max": "max_num_iter"}},
    "skimage.segmentation": {"slic": {"max_iter": "max_num_iter"}},
    "skimage.util": {"random_noise": {"seed": "rng"}},
}


def _with_channels(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(image: Any, *args: Any, **options: Any) -> Any:
        if "multichannel" in options:
            REPORT.use(f"{name}(multichannel=)", sys._getframe(1))
            options.setdefault("channel_axis", -1 if options.pop("multichannel") else None)
        elif name in _OF_COLOURS and "channel_axis" not in options and _is_coloured(image):
            options["channel_axis"] = -1
        if name == "structural_similarity" and options.get("data_range") is None and _is_of_floats(image):
            options["data_range"] = 2  # floats were between -1 and 1
        return function(image, *args, **options)

    return called


def _is_coloured(image: Any) -> bool:
    return len(getattr(image, "shape", ())) == 3 and image.shape[-1] == 3


def _is_of_floats(image: Any) -> bool:
    return bool(getattr(getattr(image, "dtype", None), "kind", "") == "f")


def _label(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def label(*args: Any, **options: Any) -> Any:
        if "neighbors" in options:
            REPORT.use("label(neighbors=)", sys._getframe(1))
            options.setdefault("connectivity", 1 if options.pop("neighbors") == 4 else 2)
        return function(*args, **options)

    return label


def _saving(save: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(save)
    def imsave(fname: Any, arr: Any, *args: Any, **options: Any) -> Any:
        if isinstance(fname, str | Path) and Path(fname).suffix.lower() in EIGHT_BITS:
            arr = _eight_bits(arr)
        return save(fname, arr, *args, **options)

    return imsave


def _eight_bits(image: Any) -> Any:
    """uint8: floats in [-1, 1] times 255, without what is negative, and small whole numbers; others are stretched."""
    import numpy as np

    image = np.asanyarray(image)
    if image.dtype in (np.uint8, np.uint16):
        return image
    REPORT.use(f"skimage.io.imsave of {image.dtype}", sys._getframe(2))
    if image.dtype == bool:
        return image.astype(np.uint8) * np.uint8(255)
    if image.dtype.kind == "f" and image.size and np.abs(image).max() <= 1:
        return np.clip(np.rint(image * 255.0), 0, 255).astype(np.uint8)
    if image.dtype.kind in "iu" and image.size and image.min() >= 0 and image.max() <= 255:
        return image.astype(np.uint8)
    return eight_bits(image)


def _of_masks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Images of bool were numbers, between which there are others, until scikit-image 0.19."""

    @functools.wraps(function)
    def called(image: Any, *args: Any, **options: Any) -> Any:
        if str(getattr(image, "dtype", "")) == "bool" and options.get("order") != 0:
            REPORT.use(f"skimage.transform.{function.__name__} of bool", sys._getframe(1))
            image = image.astype(float)
            if function.__name__ in ("rescale", "resize"):
                options.setdefault("anti_aliasing", False)
        return function(image, *args, **options)

    return called


_WRAPPERS: dict[str, dict[str, Callable[..., Any]]] = {
    "skimage.io": {"imsave": _saving},
    "skimage.measure": {"label": _label},
    "skimage.transform": dict.fromkeys(("rescale", "resize", "rotate", "warp"), _of_masks),
}


def _patch(module: Any) -> None:
    """Modules get their functions when they are asked for; those that change are asked for here."""
    path = module.__name__
    for name in _CHANNELS.get(path, ()):
        if hasattr(module, name):
            setattr(module, name, _with_channels(getattr(module, name), name))
    for name, keywords in KEYWORDS.get(path, {}).items():
        rename_keywords(module, name, keywords)
    for name, wrap in _WRAPPERS.get(path, {}).items():
        setattr(module, name, wrap(getattr(module, name)))
    give(module, {name: source for name, source in NAMES.get(path, {}).items() if name not in vars(module)})


PATCHES: dict[str, Callable[[Any], None]] = dict.fromkeys({*NAMES, *_CHANNELS, *KEYWORDS}, _patch)
MODULES = {
    "skimage.external.tifffile": ModuleOf("tifffile"),
    "skimage.viewer": ModuleOf(None, {"ImageViewer": Lost(_VIEWER), "CollectionViewer": Lost(_VIEWER)}),
}
