"""Artists of matplotlib, their lists and arguments as until 3.7: `axes.lines.remove(line)`, `annotate(s=)`."""

from __future__ import annotations

import functools
import importlib
import operator
import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.removed.giving import REPORT, give, give_methods, rename_keywords

_KEYWORDS: dict[str, dict[str, str | None]] = {
    "annotate": {"s": "text"},
    "barh": {"bottom": "y"},
    "boxplot": {"labels": "tick_labels"},
    "imshow": {"shape": None, "imlim": None, "hold": None},
    "plot": {"hold": None},
    "scatter": {"verts": None, "hold": None},
    "stem": {"use_line_collection": None},
    "set_xlim": {"xmin": "left", "xmax": "right"},
    "set_ylim": {"ymin": "bottom", "ymax": "top"},
}
"""Of methods of axes, and of functions of pyplot: names that arguments had."""


def patch_axes(axes: Any) -> None:
    for name, keywords in _KEYWORDS.items():
        rename_keywords(axes.Axes, name, keywords, f"Axes.{name}")
    methods: dict[str, Callable[..., Any]] = {
        "pop": lambda self, index=-1: _removed(self[index]),
        "remove": lambda self, artist: _removed(artist) and None,
        "clear": lambda self: [_removed(artist) for artist in list(self)] and None,
    }
    give_methods(axes.Axes.ArtistList, methods, "axes.lines")
    give_methods(axes.Axes, {"plot_date": _plot_date}, "Axes")
    axes.Axes.imshow = _of_numbers(axes.Axes.imshow)
    axes.Axes.legend = _placed(axes.Axes.legend)


def patch_pyplot(pyplot: Any) -> None:
    for name in ("annotate", "barh", "stem"):
        rename_keywords(pyplot, name, _KEYWORDS[name], f"plt.{name}")
    for name in ("boxplot", "imshow", "plot", "scatter"):
        rename_keywords(pyplot, name, _KEYWORDS[name], f"plt.{name}")
    give(pyplot, {"plot_date": lambda: lambda *args, **options: _plot_date(pyplot.gca(), *args, **options)}, "plt")
    pyplot.subplot = _of_whole(pyplot.subplot)


def patch_figure(figure: Any) -> None:
    figure.Figure.add_subplot = _of_whole(figure.Figure.add_subplot)
    rename_keywords(figure.Figure, "savefig", {"frameon": None, "quality": None, "papertype": None}, "savefig")
    if hasattr(figure.Figure, "_set_base_canvas"):
        figure.Figure._set_base_canvas = _keeping_the_canvas(figure.Figure._set_base_canvas)


def patch_axis(axis: Any) -> None:
    for name in ("label1", "label2", "tick1line", "tick2line", "gridline"):
        short = {"label1": "label1On", "label2": "label2On", "tick1line": "tick1On", "tick2line": "tick2On",
                 "gridline": "gridOn"}[name]  # fmt: skip
        setattr(axis.Tick, short, _visible(name))
    axis.Tick.label = property(lambda self: self.label1)
    axis.Axis.set_ticklabels = _of_any_number(axis.Axis.set_ticklabels)


def patch_contour(contour: Any) -> None:
    if not hasattr(contour.ContourSet, "collections"):
        contour.ContourSet.collections = property(lambda self: [self])


def patch_legend(legend: Any) -> None:
    if not hasattr(legend.Legend, "legendHandles"):
        legend.Legend.legendHandles = property(lambda self: self.legend_handles)


def patch_canvas(agg: Any) -> None:
    give_methods(agg.FigureCanvasAgg, {"tostring_rgb": _rgb, "tostring_argb": _argb}, "FigureCanvasAgg")


def patch_3d(axes3d: Any) -> None:
    for name in ("xaxis", "yaxis", "zaxis"):
        if not hasattr(axes3d.Axes3D, f"w_{name}"):
            setattr(axes3d.Axes3D, f"w_{name}", property(operator.attrgetter(name)))


def patch_top(matplotlib: Any) -> None:
    rename_keywords(matplotlib, "use", {"warn": None}, "matplotlib.use")


def patch_cbook(cbook: Any) -> None:
    give(cbook, {"iterable": lambda: importlib.import_module("numpy").iterable})


def _removed(artist: Any) -> Any:
    artist.remove()
    return artist


def _plot_date(self: Any, x: Any, y: Any, fmt: str = "o", tz: Any = None, xdate: bool = True, ydate: bool = False,
               **options: Any) -> Any:  # fmt: skip
    if xdate:
        self.xaxis_date(tz)
    if ydate:
        self.yaxis_date(tz)
    return self.plot(x, y, fmt, **options)


def _of_numbers(show: Callable[..., Any]) -> Callable[..., Any]:
    """`imshow` of an array of objects that are numbers."""

    @functools.wraps(show)
    def showing(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if getattr(getattr(X, "dtype", None), "kind", "") == "O":
            X = X.astype(float)
        return show(self, X, *args, **options)

    return showing


def _of_any_number(label: Callable[..., Any]) -> Callable[..., Any]:
    """Labels of ticks that are at fixed places: those that lack one had an empty one, and more were left out."""

    @functools.wraps(label)
    def set_ticklabels(self: Any, labels: Any, *args: Any, **options: Any) -> Any:
        places = getattr(self.get_major_locator(), "locs", None)
        if places is None or options.get("minor") or len(labels := list(labels)) in (0, len(places)):
            return label(self, labels, *args, **options)
        REPORT.use("tick labels of another number than the ticks", None)
        return label(self, [*labels[: len(places)], *[""] * (len(places) - len(labels))], *args, **options)

    return set_ticklabels


def _placed(legend: Callable[..., Any]) -> Callable[..., Any]:
    """`legend(labels, 1)`, whose last argument is the place."""

    @functools.wraps(legend)
    def placing(self: Any, *args: Any, **options: Any) -> Any:
        if len(args) > 1 and (isinstance(args[-1], int) or (len(args) == 3 and isinstance(args[-1], str))):
            REPORT.use("legend with its place by position", sys._getframe(1))
            *args, options["loc"] = args  # type: ignore[assignment]
        return legend(self, *args, **options)

    return placing


def _of_whole(add: Callable[..., Any]) -> Callable[..., Any]:
    """`subplot(n / 2, 2, 1)`, whose floats are whole."""

    @functools.wraps(add)
    def adding(*args: Any, **options: Any) -> Any:
        return add(*(int(each) if isinstance(each, float) and each.is_integer() else each for each in args), **options)

    return adding


def _visible(part: str) -> property:
    return property(
        lambda self: getattr(self, part).get_visible(), lambda self, value: getattr(self, part).set_visible(value)
    )


def _keeping_the_canvas(set_base_canvas: Callable[..., None]) -> Callable[..., None]:
    """A closed figure keeps the canvas that it is drawn on, whose pixels programs read, as until 3.10."""

    @functools.wraps(set_base_canvas)
    def kept(self: Any) -> None:
        if not hasattr(getattr(self, "canvas", None), "buffer_rgba"):
            set_base_canvas(self)

    return kept


def _rgb(self: Any) -> bytes:
    import numpy as np

    return np.asarray(self.buffer_rgba())[..., :3].tobytes()


def _argb(self: Any) -> bytes:
    import numpy as np

    return np.roll(np.asarray(self.buffer_rgba()), 1, axis=2).tobytes()


PATCHES: dict[str, Callable[[Any], None]] = {
    "matplotlib": patch_top,
    "matplotlib.axes": patch_axes,
    "matplotlib.axis": patch_axis,
    "matplotlib.backends.backend_agg": patch_canvas,
    "matplotlib.cbook": patch_cbook,
    "matplotlib.contour": patch_contour,
    "matplotlib.figure": patch_figure,
    "matplotlib.legend": patch_legend,
    "matplotlib.pyplot": patch_pyplot,
    "mpl_toolkits.mplot3d.axes3d": patch_3d,
}
