"""What Pillow has removed in version 10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.programs.removed.giving import Source, give, give_methods

NAMES: dict[str, Source] = {
    "ANTIALIAS": "PIL.Image:LANCZOS",
    "CUBIC": "PIL.Image:BICUBIC",
    "LINEAR": "PIL.Image:BILINEAR",
}


def _extent(box: tuple[float, float, float, float]) -> tuple[int, int]:
    return int(box[2]), int(box[3])  # from the origin, as it was


def _patch_fonts(module: Any) -> None:
    for cls in (module.FreeTypeFont, module.ImageFont):
        give_methods(cls, {"getsize": lambda self, text, *args, **options: _extent(self.getbbox(text))})


def _patch_drawing(module: Any) -> None:
    size = {"textsize": lambda self, text, font=None, **options: _extent(self.textbbox((0, 0), text, font))}
    give_methods(module.ImageDraw, size)


PATCHES: dict[str, Callable[[Any], None]] = {
    # `import PIL` was enough where something else, Keras for one, had imported them.
    "PIL": lambda module: give(module, {name: f"PIL.{name}:" for name in ("Image", "ImageEnhance")}),
    "PIL.Image": lambda module: give(
        module, {name: source for name, source in NAMES.items() if name not in vars(module)}, "Image"
    ),
    "PIL.ImageDraw": _patch_drawing,
    "PIL.ImageFont": _patch_fonts,
}
