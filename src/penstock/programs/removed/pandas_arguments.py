"""Arguments that functions and methods of pandas had: by position, or by names that are gone."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.removed.giving import REPORT, rename_keywords
from penstock.programs.removed.pandas_values import frequency

_BY_POSITION = {
    **dict.fromkeys(("any", "all", "dropna"), ("axis", "how")),
    "drop": ("labels", "axis"),
    "set_index": ("keys", "drop", "append", "inplace"),
    "reset_index": ("level", "drop", "inplace"),
    "fillna": ("value", "method", "axis", "inplace"),
    "sort_values": ("by", "axis", "ascending", "inplace"),
    **dict.fromkeys(("sum", "mean", "std", "max", "min"), ("axis",)),
}
"""Of frames: the names of arguments that could be given by position."""
_RENAMED = {
    "to_csv": {"line_terminator": "lineterminator", "cols": "columns"},
    "to_dict": {"outtype": "orient"},
    "pivot_table": {"rows": "index", "cols": "columns"},
}
_WITH_FREQUENCIES = ("resample", "asfreq", "shift")


def patch(pandas: Any) -> None:
    pandas.DataFrame.to_dict = _of_records(pandas.DataFrame.to_dict)
    pandas.set_option = _set_option(pandas.set_option)
    for name, names in _BY_POSITION.items():
        setattr(pandas.DataFrame, name, _by_position(getattr(pandas.DataFrame, name), names))
    for cls in (pandas.DataFrame, pandas.Series):
        cls.fillna = _with_method(cls.fillna)
        cls.resample = _resampling(cls.resample)
        for name in _WITH_FREQUENCIES:
            setattr(cls, name, _with_frequency(getattr(cls, name)))
        for name, keywords in _RENAMED.items():
            rename_keywords(cls, name, keywords)
    pandas.concat = _joining(pandas.concat)
    for name in ("date_range", "period_range"):
        setattr(pandas, name, _with_frequency(getattr(pandas, name)))


def _by_position(method: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """A method whose arguments could be given by position."""

    @functools.wraps(method)
    def called(self: Any, *args: Any, **options: Any) -> Any:
        if len(args) > 1 and len(args) <= len(names):
            REPORT.use(f"DataFrame.{method.__name__} with arguments by position", sys._getframe(1))
        if len(args) <= len(names):
            return method(self, **dict(zip(names, args, strict=False)), **options)
        return method(self, *args, **options)

    return called


def _with_method(fill: Callable[..., Any]) -> Callable[..., Any]:
    """`fillna(method="ffill")`."""

    @functools.wraps(fill)
    def filling(self: Any, *args: Any, method: str | None = None, inplace: bool = False, **options: Any) -> Any:
        if method is None:
            return fill(self, *args, inplace=inplace, **options)
        REPORT.use("fillna(method=)", sys._getframe(1))
        chosen = self.ffill if method in ("ffill", "pad") else self.bfill
        return chosen(inplace=inplace, **{k: v for k, v in options.items() if k in ("axis", "limit")})

    return filling


def _resampling(resample: Callable[..., Any]) -> Callable[..., Any]:
    """`resample("D", how="mean")`."""

    @functools.wraps(resample)
    def resampling(self: Any, *args: Any, how: Any = None, fill_method: str | None = None, **options: Any) -> Any:
        found = resample(self, *args, **options)
        if how is None and fill_method is None:
            return found
        REPORT.use("resample(how=)", sys._getframe(1))
        found = found.agg("mean" if how is None else how)
        return found if fill_method is None else found.fillna(method=fill_method)

    return resampling


def _with_frequency(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes names of frequencies."""

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except ValueError as error:
            if "frequency" not in str(error).lower() and "offsets" not in str(error):
                raise
            return function(*map(frequency, args), **{name: frequency(value) for name, value in options.items()})

    return called


def _of_records(to_dict: Callable[..., Any]) -> Callable[..., Any]:
    """`to_dict("record")`: the first letters were enough."""

    @functools.wraps(to_dict)
    def converting(self: Any, orient: str = "dict", *args: Any, **options: Any) -> Any:
        whole = [name for name in ("dict", "list", "series", "split", "records", "index") if name.startswith(orient)]
        return to_dict(self, whole[0] if len(whole) == 1 else orient, *args, **options)

    return converting


def _joining(concat: Callable[..., Any]) -> Callable[..., Any]:
    """`concat(objs, join_axes=[index])`."""

    @functools.wraps(concat)
    def concatenating(objs: Any, *args: Any, join_axes: Any = None, **options: Any) -> Any:
        if args:
            names = ("axis", "join", "ignore_index", "keys", "levels", "names", "verify_integrity", "sort", "copy")
            options.update(zip(names, args, strict=False))
        options = {name: value for name, value in options.items() if name != "copy"}
        found = concat(objs, **options)
        if join_axes is None:
            return found
        REPORT.use("pd.concat(join_axes=)", sys._getframe(1))
        return found.reindex(join_axes[0], axis=0 if options.get("axis", 0) in (1, "columns") else 1)

    return concatenating


def _set_option(set_option: Callable[..., Any]) -> Callable[..., Any]:
    """`set_option("display.max_colwidth", -1)`, and options that are no more."""

    @functools.wraps(set_option)
    def setting(*args: Any) -> None:
        if len(args) == 2 and args[1] == -1 and "colwidth" in str(args[0]):
            args = (args[0], None)
        try:
            set_option(*args)
        except (KeyError, AttributeError):
            if len(args) != 2 or args[0] not in ("display.height", "display.mpl_style", "display.line_width"):
                raise
            REPORT.use(f"pd.set_option({args[0]!r})", sys._getframe(1))

    return setting
