"""Images of floats and of wide integers, which imageio made 8 bits of until 2.28, and how long its GIFs showed each.

Facts from imageio 2.9 (`imageio.core.util.image_as_uint`, its plugin for Pillow).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from penstock.programs.report import REPORT

EIGHT_BITS = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm"}
_OF_GIFS = ("quantizer", "palettesize", "subrectangles")
_SECONDS_OF_AN_IMAGE = 0.1


def eight_bits(image: Any) -> Any:
    """uint8: floats in [0, 1] times 255, other numbers stretched from the least to the greatest; uint8 stays.

    Raises ValueError for numbers that are not finite.
    """
    import numpy as np

    image = np.asanyarray(image)
    if image.dtype == np.uint8 or not np.issubdtype(image.dtype, np.number):
        return image
    least, most = np.nanmin(image), np.nanmax(image)
    if image.dtype == np.uint16:
        return (image >> 8).astype(np.uint8)
    if image.dtype.kind == "f" and least >= 0 and most <= 1:
        return (image.astype(np.float64) * 255 + 0.499999999).astype(np.uint8)
    if not np.isfinite([least, most]).all():
        raise ValueError("Minimum or maximum image value is not finite")
    if least == most:
        return image.astype(np.uint8)
    return ((image.astype(np.float64) - least) / (float(most) - float(least)) * 255 + 0.499999999).astype(np.uint8)


def _ending(uri: Any, format: Any) -> str:
    if isinstance(format, str):
        return "." + format.split("-")[0].lower().lstrip(".")
    return Path(uri).suffix.lower() if isinstance(uri, str | Path) else ""


def _image(image: Any, ending: str, label: str) -> Any:
    import numpy as np

    image = np.asanyarray(image)
    if ending not in EIGHT_BITS:
        return image
    if image.ndim == 3 and image.shape[-1] == 1:
        image = image[..., 0]
    if image.dtype == np.uint8 or (image.dtype == np.uint16 and ending == ".png" and image.ndim == 2):
        return image
    REPORT.use(f"{label} of {image.dtype}", sys._getframe(2))
    return eight_bits(image)


def _of_gif(options: dict[str, Any]) -> None:
    """Frames per second, or seconds of each; now milliseconds. A GIF began anew at its end."""
    for name in _OF_GIFS:
        options.pop(name, None)
    fps = options.pop("fps", None)
    seconds = options.get("duration") or (1 / fps if fps else _SECONDS_OF_AN_IMAGE)
    options["duration"] = [1000 * each for each in seconds] if isinstance(seconds, list | tuple) else 1000 * seconds
    options.setdefault("loop", 0)


def _one(write: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(write)
    def imwrite(uri: Any, im: Any, format: Any = None, **options: Any) -> Any:
        return write(uri, _image(im, _ending(uri, format), "imageio.imwrite"), format=format, **options)

    return imwrite


def _several(write: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(write)
    def mimwrite(uri: Any, ims: Iterable[Any], format: Any = None, **options: Any) -> Any:
        ending = _ending(uri, format)
        if ending == ".gif":
            _of_gif(options)
        return write(uri, [_image(im, ending, "imageio.mimwrite") for im in ims], format=format, **options)

    return mimwrite


def _writer(open_: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(open_)
    def get_writer(uri: Any, format: Any = None, mode: str = "?", **options: Any) -> Any:
        ending = _ending(uri, format)
        if ending == ".gif":
            _of_gif(options)
        writer = open_(uri, format=format, mode=mode, **options)
        append = writer.append_data

        def append_data(im: Any, *args: Any, **meta: Any) -> Any:
            return append(_image(im, ending, "imageio.get_writer"), *args, **meta)

        writer.append_data = append_data
        return writer

    return get_writer


_WRAPPERS = {
    **dict.fromkeys(("imwrite", "imsave"), _one),
    **dict.fromkeys(("mimwrite", "mimsave"), _several),
    **dict.fromkeys(("get_writer", "save"), _writer),
}


def patch(module: Any) -> None:
    """`imageio` and `imageio.v2` have the same functions."""
    for name, wrap in _WRAPPERS.items():
        function = vars(module).get(name)
        if function is not None and not hasattr(function, "__wrapped__"):
            setattr(module, name, wrap(function))


PATCHES: dict[str, Callable[[Any], None]] = {"imageio": patch, "imageio.v2": patch}
