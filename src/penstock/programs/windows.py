"""What programs show in windows, as PNG files where there is no display."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.programs.report import REPORT

NAME = "penstock-figure-{}.png"
ANY_KEY = 27
"""What waiting for a key without end returns: Esc, which most programs end at."""

_folder = Path()
_shown: dict[str, tuple[Path, Any]] = {}
_paused: list[Any] = []
_asked: dict[Any, None] = {}
"""matplotlib's figures whose own `show()` was called, in order: windows that stay open."""


def has_display() -> bool:
    return not sys.platform.startswith("linux") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def begin() -> None:
    """Figures are written to the folder that is the current one now. SDL (pygame) has a screen and a loudspeaker in
    memory where there is no display, unless the environment says otherwise."""
    global _folder
    _folder = Path.cwd()
    if not has_display():
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        os.environ.setdefault("SDL_AUDIODRIVER", "dummy")


def _write(write: Callable[[Path], Any]) -> Path:
    """Calls `write` with a path that does not exist yet."""
    number = len(REPORT.figures) + 1
    while (path := _folder / NAME.format(number)).exists():
        number += 1
    write(path)
    REPORT.figures.append(path.name)
    print(f"[{path.name}]", flush=True)
    return path


def write_figures() -> None:
    """Writes and closes the figures that matplotlib has open, if it was imported and there is no display."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or has_display():
        return
    for figure in dict.fromkeys([*map(pyplot.figure, pyplot.get_fignums()), *_asked]):
        if figure.axes or figure.images or figure.texts:
            _write(figure.savefig)
    _asked.clear()
    pyplot.close("all")


def patch_matplotlib(matplotlib: Any) -> None:
    """A backend that needs a display is not asked for where there is none."""
    if has_display():
        return
    use = matplotlib.use

    def use_available(backend: str, *args: Any, **options: Any) -> None:
        if backend.lower() not in {"agg", "pdf", "ps", "svg", "cairo", "template"}:
            backend = "agg"
        use(backend, *args, **options)

    matplotlib.use = use_available


def patch_figure(figure: Any) -> None:
    if has_display():
        return

    def show(self: Any, warn: bool = True) -> None:
        """Its picture is written with the open figures, or at the end: also if it was closed, to be shown again."""
        _asked[self] = None

    figure.Figure.show = show


def patch_pyplot(pyplot: Any) -> None:
    if has_display():
        return

    def shown(*args: Any, **options: Any) -> None:
        """Writes the open figures to PNG files, because there is no display."""
        write_figures()

    def pause(interval: float = 0) -> None:
        """What it showed last is written at the end."""
        _paused.append(pyplot)
        pyplot.pause = lambda interval=0: None

    pyplot.show = shown
    pyplot.pause = pause
    pyplot.switch_backend("agg")


def patch_cv2(cv2: Any) -> None:
    if has_display():
        return

    def imshow(winname: str, mat: Any) -> None:
        """One file for each window, with what it showed last."""
        path = _shown[winname][0] if winname in _shown else _write(lambda path: cv2.imwrite(str(path), _bytes(mat)))
        _shown[winname] = path, mat

    cv2.imshow = imshow
    cv2.waitKey = cv2.waitKeyEx = lambda delay=0: ANY_KEY if delay <= 0 else -1
    for name in (
        "namedWindow",
        "moveWindow",
        "resizeWindow",
        "destroyWindow",
        "destroyAllWindows",
        "startWindowThread",
    ):
        setattr(cv2, name, lambda *args: None)
    cv2.setMouseCallback = cv2.setWindowTitle = cv2.createTrackbar = cv2.setTrackbarPos = lambda *args: None


def _bytes(image: Any) -> Any:
    """OpenCV shows floats between 0 and 1."""
    import numpy as np

    image = np.asarray(image)
    return image if image.dtype.kind in "iu" else (np.clip(image, 0, 1) * 255).round().astype(np.uint8)


def patch_pil(image: Any) -> None:
    if has_display():
        return

    def show(self: Any, title: str | None = None, **options: Any) -> None:
        """Writes the image to a PNG file, because there is no display."""
        picture = self if self.mode in {"1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"} else self.convert("RGB")
        _write(picture.save)

    image.Image.show = show


def finish() -> None:
    """Writes what windows show at the end: OpenCV's, and matplotlib's in its interactive mode."""
    cv2: ModuleType | None = sys.modules.get("cv2")
    for path, mat in _shown.values():
        if cv2 is not None:
            cv2.imwrite(str(path), _bytes(mat))
    _shown.clear()
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and (_paused or _asked or pyplot.isinteractive()):
        write_figures()
    _paused.clear()


PATCHES: dict[str, Callable[[Any], None]] = {
    "PIL.Image": patch_pil,
    "cv2": patch_cv2,
    "matplotlib": patch_matplotlib,
    "matplotlib.figure": patch_figure,
    "matplotlib.pyplot": patch_pyplot,
}
