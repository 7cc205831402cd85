"""What OpenCV 3 has removed: the module cv2.cv, and names that begin with CV_; NumPy's floats as points and sizes.

Python took an object's `__int__` for a whole number until 3.10, and so did OpenCV.
"""

from __future__ import annotations

import functools
import numbers
import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.removed.giving import ModuleOf, Source, give
from penstock.programs.report import REPORT

_WITHOUT_CV = (
    "CAP_PROP_POS_MSEC CAP_PROP_POS_FRAMES CAP_PROP_POS_AVI_RATIO CAP_PROP_FRAME_WIDTH CAP_PROP_FRAME_HEIGHT "
    "CAP_PROP_FPS CAP_PROP_FOURCC CAP_PROP_FRAME_COUNT CAP_PROP_FORMAT CAP_PROP_MODE CAP_PROP_BRIGHTNESS "
    "CAP_PROP_CONTRAST CAP_PROP_SATURATION CAP_PROP_HUE CAP_PROP_GAIN CAP_PROP_EXPOSURE CHAIN_APPROX_NONE "
    "CHAIN_APPROX_SIMPLE DIST_C DIST_L1 DIST_L2 FILLED FONT_HERSHEY_COMPLEX FONT_HERSHEY_DUPLEX FONT_HERSHEY_PLAIN "
    "FONT_HERSHEY_SIMPLEX FONT_HERSHEY_TRIPLEX HOUGH_GRADIENT HOUGH_PROBABILISTIC HOUGH_STANDARD "
    "IMWRITE_JPEG_QUALITY IMWRITE_PNG_COMPRESSION INTER_AREA INTER_CUBIC INTER_LANCZOS4 INTER_LINEAR RETR_CCOMP "
    "RETR_EXTERNAL RETR_LIST RETR_TREE THRESH_BINARY THRESH_BINARY_INV THRESH_OTSU THRESH_TOZERO THRESH_TRUNC "
    "WINDOW_AUTOSIZE WINDOW_NORMAL"
)
_COLORS = (
    "BGR2GRAY BGR2HSV BGR2HLS BGR2Lab BGR2Luv BGR2RGB BGR2RGBA BGR2YCrCb BGRA2BGR GRAY2BGR GRAY2RGB HSV2BGR HSV2RGB "
    "Lab2BGR RGB2BGR RGB2GRAY RGB2HSV RGBA2BGR RGBA2RGB YCrCb2BGR"
)
_READING = "ANYCOLOR ANYDEPTH COLOR GRAYSCALE UNCHANGED"
_COMPARISONS = "BHATTACHARYYA CHISQR CORREL INTERSECT"
_CONSTANTS: dict[str, Source] = {
    **{f"CV_{name}": f"cv2:{name}" for name in _WITHOUT_CV.split()},
    **{f"CV_{name}": f"cv2:COLOR_{name}" for name in _COLORS.split()},
    **{f"CV_COMP_{name}": f"cv2:HISTCMP_{name}" for name in _COMPARISONS.split()},
    **{f"CV_LOAD_IMAGE_{name}": f"cv2:IMREAD_{name}" for name in _READING.split()},
    "CV_AA": "cv2:LINE_AA",
    "CV_INTER_NN": "cv2:INTER_NEAREST",
    "CV_TERMCRIT_EPS": "cv2:TERM_CRITERIA_EPS",
    "CV_TERMCRIT_ITER": "cv2:TERM_CRITERIA_MAX_ITER",
}
_FOURCC: dict[str, Source] = {"CV_FOURCC": "cv2:VideoWriter_fourcc", "FOURCC": "cv2:VideoWriter_fourcc"}

NAMES: dict[str, dict[str, Source]] = {"cv2": {**_CONSTANTS, "cv": "cv2.cv:"}}
_WITH_SCALES = {"ellipse", "getRotationMatrix2D", "putText", "resize", "warpAffine"}
_OF_PIXELS = {"arrowedLine", "circle", "drawMarker", "line", "rectangle"} | _WITH_SCALES
"""Functions of points and sizes; those with scales have numbers that may have fractions, too."""


def _whole(value: Any, scales: bool) -> Any:
    """A point or size as whole numbers, a colour as Python's numbers, and other whole numbers."""
    size = len(value) if isinstance(value, tuple | list) or getattr(value, "ndim", 0) == 1 else 0
    if 2 <= size <= 4 and all(isinstance(each, numbers.Real) for each in value):
        return tuple(int(each) if size == 2 else float(each) for each in value)
    return int(float(value)) if isinstance(value, numbers.Real) and not scales else value


def _of_pixels(function: Callable[..., Any], name: str, error: type[Exception]) -> Callable[..., Any]:
    scales = name in _WITH_SCALES

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except (error, TypeError) as refused:
            if "parse" not in str(refused) and "integer" not in str(refused) and "numeric" not in str(refused):
                raise
        REPORT.use(f"cv2.{name} of floats", sys._getframe(1))
        return function(*[_whole(x, scales) for x in args], **{key: _whole(x, scales) for key, x in options.items()})

    return called


def _patch(cv2: Any) -> None:
    give(cv2, NAMES["cv2"])
    for name in _OF_PIXELS:
        setattr(cv2, name, _of_pixels(getattr(cv2, name), name, cv2.error))


PATCHES: dict[str, Callable[[Any], None]] = {"cv2": _patch}
MODULES = {"cv2.cv": ModuleOf(None, {**_CONSTANTS, **_FOURCC})}
