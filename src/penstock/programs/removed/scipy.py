"""What SciPy has removed: its images (Pillow does what it did), names of NumPy, names that moved."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.programs.places import is_of_program
from penstock.programs.removed.giving import Lost, ModuleOf, Source, give
from penstock.programs.report import REPORT

_RESAMPLING = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """An image [rows, columns(, channels)], uint8 as a rule; `flatten`: float32 [rows, columns], grey."""
    from PIL import Image

    return fromimage(Image.open(name), flatten, mode)


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> Any:
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def bytescale(data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> Any:
    """Values stretched to `low` ... `high`, uint8; those that are uint8 already stay."""
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    cmin, cmax = data.min() if cmin is None else cmin, data.max() if cmax is None else cmax
    scale = (high - low) / ((cmax - cmin) or 1)
    return (np.clip((data - cmin) * scale + low, low, high) + 0.5).astype(np.uint8)


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: Any = None,
    cmax: Any = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Any:
    """A Pillow image of [rows, columns], or of three or four channels on any axis."""
    import numpy as np
    from PIL import Image

    data = np.asarray(arr)
    if data.ndim == 2 and mode == "F":
        return Image.fromarray(data.astype(np.float32))
    if data.ndim == 2 and mode == "I":
        return Image.fromarray(data.astype(np.int32))
    if data.ndim == 3:
        channels = (
            channel_axis if channel_axis is not None else next((i for i in (2, 0, 1) if data.shape[i] in (3, 4)), 3)
        )
        if channels == 3:
            raise ValueError("Could not find channel dimension.")
        data = np.moveaxis(data, channels, 2)
    elif data.ndim != 2:
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    data = bytescale(data, cmin, cmax, high, low)
    image = Image.fromarray(data)
    if pal is not None and data.ndim == 2:
        image.putpalette(np.asarray(pal, np.uint8).tobytes())
    return image if mode in (None, image.mode) or pal is not None else image.convert(mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    toimage(arr, channel_axis=2 if getattr(arr, "ndim", 2) == 3 else None).save(name, format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """size: per cent, a share, or (rows, columns). uint8, or float32 in mode "F"."""
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        wanted = tuple(int(each * size / 100.0) for each in image.size)
    elif isinstance(size, (float, np.floating)):
        wanted = tuple(int(each * size) for each in image.size)
    else:
        wanted = (int(size[1]), int(size[0]))
    return fromimage(image.resize(wanted, resample=_RESAMPLING[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    return fromimage(toimage(arr).rotate(angle, resample=_RESAMPLING[interp]))


def imshow(arr: Any) -> None:
    toimage(arr).show()


MISC: dict[str, Source] = {
    **{
        f.__name__: f"{__name__}:{f.__name__}"
        for f in (bytescale, fromimage, imread, imresize, imrotate, imsave, imshow, toimage)
    },
    "ascent": "scipy.datasets:ascent",
    "comb": "scipy.special:comb",
    "face": "scipy.datasets:face",
    "factorial": "scipy.special:factorial",
    "lena": Lost("scipy.misc.lena() was a picture that came with SciPy. scipy.datasets downloads others."),
    "logsumexp": "scipy.special:logsumexp",
}
_KEPT = frozenset({"fft", "linalg", "show_config", "test"})
"""Names of NumPy under which SciPy has something of its own."""
NAMES: dict[str, dict[str, Source]] = {
    "scipy": {name: f"numpy:{name}" for name in np.__all__ if name not in _KEPT},
    "scipy.integrate": {
        "cumtrapz": "scipy.integrate:cumulative_trapezoid",
        "simps": "scipy.integrate:simpson",
        "trapz": "scipy.integrate:trapezoid",
    },
    "scipy.interpolate": {"spline": "penstock.programs.removed.scipy_splines:spline"},
    "scipy.linalg": {"pinv2": "scipy.linalg:pinv", "tril": "numpy:tril", "triu": "numpy:triu"},
    "scipy.misc": MISC,
    "scipy.ndimage": {"imread": MISC["imread"]},
    "scipy.signal": {
        name: f"scipy.signal.windows:{'hann' if name == 'hanning' else name}"
        for name in (
            *("barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "chebwin", "cosine", "flattop"),
            *("gaussian", "hamming", "hann", "hanning", "kaiser", "nuttall", "parzen", "triang", "tukey"),
        )
    },
}


def _patch(name: str) -> Callable[[Any], None]:
    return lambda module: give(module, {key: at for key, at in NAMES[name].items() if key not in vars(module)})


def patch_scipy(scipy: Any) -> None:
    """It had NumPy's names as well, and its other modules had imported `misc`."""
    own = {name: at for name, at in NAMES["scipy"].items() if name not in scipy.__all__}
    give(scipy, {**own, "misc": "scipy.misc:"})


def patch_interpolate(interpolate: Any) -> None:
    """`interp2d`, which raises errors since 1.14; `interp1d(kind="slinear")` of points of which several are at one
    place was a line with steps (SciPy 1.7)."""
    _patch("scipy.interpolate")(interpolate)
    module = interpolate._interpolate
    make = module.make_interp_spline

    @functools.wraps(make)
    def making(x: Any, y: Any, k: int = 3, *args: Any, **options: Any) -> Any:
        try:
            return make(x, y, k, *args, **options)
        except ValueError as error:
            if k != 1 or "duplicates" not in str(error):
                raise
            REPORT.use("interp1d of points at one place", sys._getframe(2))
            return interpolate.BSpline.construct_fast(np.r_[x[0], x, x[-1]], np.ascontiguousarray(y), k)

    module.make_interp_spline = making
    if "__call__" not in vars(interpolate.interp2d):
        from penstock.programs.removed.scipy_splines import interp2d

        interpolate.interp2d = interp2d


PATCHES: dict[str, Callable[[Any], None]] = {
    **{name: _patch(name) for name in NAMES},
    "scipy": patch_scipy,
    "scipy.interpolate": patch_interpolate,
}


def _patch_stats(stats: Any) -> None:
    """`mode(x)[0][0]`: until 1.11 the axis stayed."""
    mode = stats.mode

    @functools.wraps(mode)
    def keeping(a: Any, axis: Any = 0, **options: Any) -> Any:
        if is_of_program(sys._getframe(1).f_code.co_filename):
            options.setdefault("keepdims", True)
        return mode(a, axis, **options)

    stats.mode = keeping
    give(stats, {"itemfreq": lambda: _itemfreq})


def _itemfreq(a: Any) -> Any:
    """Each value and how often it is there, as rows."""
    return np.stack(np.unique(a, return_counts=True), axis=1)


def _patch_sparse(sparse: Any) -> None:
    """Matrices as arrays, and transposed with conjugates."""
    for cls in {each for each in vars(sparse).values() if isinstance(each, type) and hasattr(each, "toarray")}:
        for name, get in (("A", lambda self: self.toarray()), ("H", lambda self: self.conjugate().transpose())):
            if not hasattr(cls, name):
                setattr(cls, name, property(get))


PATCHES |= {"scipy.stats": _patch_stats, "scipy.sparse": _patch_sparse}


def _patch_eigen(module: Any) -> None:
    """It was a package."""
    module.__path__ = []


PATCHES["scipy.sparse.linalg.eigen"] = _patch_eigen
MODULES = {
    "scipy.misc": ModuleOf(None, MISC),
    "scipy.sparse.linalg.eigen.arpack": ModuleOf("scipy.sparse.linalg"),
}
