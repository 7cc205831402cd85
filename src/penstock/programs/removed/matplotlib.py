"""What matplotlib has removed since 2.0."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.removed.giving import Source, give, give_methods, rename_keywords
from penstock.programs.report import REPORT

MAPS = {"spectral": "nipy_spectral", "Vega10": "tab10", "Vega20": "tab20"}
"""Colour maps under other names now."""
SCALES = {"base": "base", "nonpos": "nonpositive", "subs": "subs", "linthresh": "linthresh", "linscale": "linscale"}
"""What a scale is given, which until matplotlib 3.3 ended in the name of its axis (`nonposx=`)."""

PREAMBLES = ("pgf.preamble", "text.latex.preamble")
_LOST = (
    "animation.avconv_args animation.avconv_path animation.mencoder_args animation.mencoder_path axes.hold backend.qt4 "
    "datapath examples.directory keymap.all_axes mathtext.fallback_to_cm pgf.debug savefig.frameon "
    "savefig.jpeg_quality svg.embed_char_paths svg.image_noscale text.dvipnghack text.latex.preview "
    "text.latex.unicode verbose.fileo verbose.level"
)
LOST_SETTINGS = frozenset(_LOST.split())


def _get_cmap(name: Any = None, lut: int | None = None) -> Any:
    import matplotlib

    found = name if hasattr(name, "resampled") else matplotlib.colormaps[MAPS.get(name, name) or "viridis"]
    return found if lut is None else found.resampled(lut)


def _register_cmap(name: Any = None, cmap: Any = None, **options: Any) -> None:
    import matplotlib

    matplotlib.colormaps.register(cmap or name, name=name if isinstance(name, str) else None, force=True)


def _normpdf(x: Any, mu: float, sigma: float) -> Any:
    import numpy as np

    return np.exp(-0.5 * ((np.asarray(x) - mu) / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)


def _bivariate_normal(
    X: Any, Y: Any, sigmax: float = 1.0, sigmay: float = 1.0, mux: float = 0.0, muy: float = 0.0, sigmaxy: float = 0.0
) -> Any:
    """Density at (X, Y) of two normal variables of covariance `sigmaxy`."""
    import numpy as np

    x, y = (np.asarray(X) - mux) / sigmax, (np.asarray(Y) - muy) / sigmay
    rho = sigmaxy / (sigmax * sigmay)
    rest = 1 - rho**2
    return np.exp(-(x**2 + y**2 - 2 * rho * x * y) / (2 * rest)) / (2 * np.pi * sigmax * sigmay * np.sqrt(rest))


def _set_color_cycle(self: Any, colours: Any) -> None:
    self.set_prop_cycle(color=colours)


def _take_texts(owner: Any, name: str) -> None:
    """`subplot("211")` is `subplot(211)`."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        if args and isinstance(args[-1], str) and args[-1].isdecimal():
            REPORT.use(f"{name}('{args[-1]}')", sys._getframe(1))
            args = (*args[:-1], int(args[-1]))
        return function(*args, **options)

    setattr(owner, name, called)


def patch_pyplot(pyplot: Any) -> None:
    give(pyplot, {"hold": lambda: lambda b=None: None, "ishold": lambda: lambda: True}, "plt")
    gca = pyplot.gca
    pyplot.gca = lambda **options: pyplot.gcf().add_subplot(111, **options) if options else gca()
    rename_keywords(pyplot, "hist", {"normed": "density"}, "plt.hist")
    rename_keywords(pyplot, "bar", {"left": "x"}, "plt.bar")
    rename_keywords(pyplot, "grid", {"b": "visible"}, "plt.grid")
    for function in ("subplot", "axes"):
        rename_keywords(pyplot, function, {"axisbg": "facecolor"}, f"plt.{function}")
    _take_texts(pyplot, "subplot")


def patch_axes(axes: Any) -> None:
    methods: dict[str, Callable[..., Any]] = {
        "get_axis_bgcolor": lambda self: self.get_facecolor(),
        "hold": lambda self, b=None: None,
        "set_axis_bgcolor": lambda self, color: self.set_facecolor(color),
        "set_color_cycle": _set_color_cycle,
    }
    give_methods(axes.Axes, methods, "Axes")
    rename_keywords(axes.Axes, "hist", {"normed": "density"}, "Axes.hist")
    rename_keywords(axes.Axes, "bar", {"left": "x"}, "Axes.bar")
    rename_keywords(axes.Axes, "grid", {"b": "visible"}, "Axes.grid")
    for axis in "xy":  # loglog and plt.xscale call these
        now = {f"{name}{axis}": new for name, new in SCALES.items()}
        rename_keywords(axes.Axes, f"set_{axis}scale", now, f"Axes.set_{axis}scale")
    _plot_lists(axes)


def _numbers(values: Any) -> Any:
    """A list in which some are arrays of one element, and others None or numbers, with those elements."""
    if not isinstance(values, list):
        return values
    single = [getattr(each, "size", 0) == 1 and getattr(each, "ndim", 0) > 0 for each in values]
    if all(single) or not any(single):
        return values
    REPORT.note("plots of lists with arrays of one element took the elements")
    return [each.item() if one else each for each, one in zip(values, single, strict=True)]


def _plot_lists(axes: Any) -> None:
    """Until NumPy 1.24, such a list was an array of objects, each of which gave its number."""
    plot = axes.Axes.plot

    @functools.wraps(plot)
    def plotted(self: Any, *args: Any, **options: Any) -> Any:
        return plot(self, *map(_numbers, args), **options)

    axes.Axes.plot = plotted


def patch_figure(figure: Any) -> None:
    give_methods(figure.Figure, {"hold": lambda self, b=None: None})
    rename_keywords(figure.Figure, "add_subplot", {"axisbg": "facecolor"})
    _take_texts(figure.Figure, "add_subplot")
    gca = figure.Figure.gca
    figure.Figure.gca = lambda self, **options: self.add_subplot(111, **options) if options else gca(self)


def patch_style(style: Any) -> None:
    """The styles of seaborn have its version in their names."""
    use = style.use

    def used(name: Any) -> Any:
        names = [name] if isinstance(name, (str, dict)) else name
        known = set(style.available)
        return use([_style(each, known) for each in names])

    style.use = used


def _style(name: Any, known: set[str]) -> Any:
    new = name.replace("seaborn", "seaborn-v0_8", 1) if isinstance(name, str) else name
    return new if isinstance(name, str) and name not in known and new in known else name


def patch_settings(matplotlib: Any) -> None:
    """Settings that are no more do nothing; LaTeX's preambles are one text."""
    set_item = matplotlib.RcParams.__setitem__

    def set_one(self: Any, key: str, value: Any) -> None:
        if key in LOST_SETTINGS:
            REPORT.use(f"rcParams['{key}']", sys._getframe(1))
            return
        if key in PREAMBLES and isinstance(value, (list, tuple)):
            value = "\n".join(value)
        elif key == "axes.color_cycle":
            REPORT.use(f"rcParams['{key}']", sys._getframe(1))
            key, value = "axes.prop_cycle", matplotlib.cycler(color=value)
        set_item(self, key, value)

    matplotlib.RcParams.__setitem__ = set_one


def patch_backends(bases: Any) -> None:
    def set_window_title(self: Any, title: str) -> None:
        if self.manager is not None:
            self.manager.set_window_title(title)

    give_methods(bases.FigureCanvasBase, {"set_window_title": set_window_title})


def patch_cm(cm: Any) -> None:
    maps: dict[str, Source] = {old: (lambda new=new: _get_cmap(new)) for old, new in MAPS.items()}  # type: ignore[misc]
    more: dict[str, Source] = {"cmap_d": "matplotlib:colormaps", "register_cmap": lambda: _register_cmap}
    give(cm, {"get_cmap": lambda: _get_cmap, **more, **maps}, "plt.cm")
    for old, new in MAPS.items():  # for `cmap="spectral"`
        for end in ("", "_r"):
            if hasattr(cm, "_colormaps") and old + end not in cm._colormaps:
                cm._colormaps.register(cm._colormaps[new + end], name=old + end)


def patch_mlab(mlab: Any) -> None:
    give(mlab, {"normpdf": lambda: _normpdf, "bivariate_normal": lambda: _bivariate_normal}, "mlab")


PATCHES: dict[str, Callable[[Any], None]] = {
    "matplotlib": patch_settings,
    "matplotlib.axes": patch_axes,
    "matplotlib.backend_bases": patch_backends,
    "matplotlib.cm": patch_cm,
    "matplotlib.figure": patch_figure,
    "matplotlib.mlab": patch_mlab,
    "matplotlib.pyplot": patch_pyplot,
    "matplotlib.style": patch_style,
}
