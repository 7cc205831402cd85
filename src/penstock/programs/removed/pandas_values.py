"""What frames and series of pandas gave and took until 2.0 and 3.0: values that can be written, elements by position,
text as objects, numbers of wider types, means of the columns that have numbers."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.programs.removed.giving import REPORT

_REDUCTIONS = "mean median std var sem skew kurt prod"
_OF_COLUMNS = "corr cov quantile"
_OF_GROUPS = "mean median std var sem prod"
_FREQUENCIES = {"H": "h", "T": "min", "S": "s", "L": "ms", "U": "us", "N": "ns", "M": "ME", "Q": "QE", "A": "YE",
                "Y": "YE", "BM": "BME", "BH": "bh"}  # fmt: skip


def patch(pandas: Any) -> None:
    with warnings.catch_warnings(), contextlib.suppress(AttributeError):
        warnings.simplefilter("ignore")  # the option is deprecated as well
        pandas.options.future.infer_string = False  # text is of dtype object
    for cls in (pandas.DataFrame, pandas.Series):
        cls.values = property(_writable(cls.values.fget))
        cls.to_numpy = _writable(cls.to_numpy)
        cls.__array__ = _writable(cls.__array__)
        cls.__setitem__ = _widening(cls.__setitem__, _itself)
    pandas.Series.__getitem__ = _by_position(pandas.Series.__getitem__)
    for indexer in ("_LocIndexer", "_iLocIndexer", "_AtIndexer", "_iAtIndexer"):
        found = getattr(pandas.core.indexing, indexer)
        found.__setitem__ = _widening(found.__setitem__, _holder)
    for name in f"{_REDUCTIONS} {_OF_COLUMNS}".split():
        setattr(pandas.DataFrame, name, _of_numbers(getattr(pandas.DataFrame, name)))
    groups = pandas.core.groupby.DataFrameGroupBy
    for name in _OF_GROUPS.split():
        setattr(groups, name, _of_numbers(getattr(groups, name)))
    pandas.get_dummies = _small_dummies(pandas.get_dummies)


def frequency(freq: Any) -> Any:
    """`"M"` is `"ME"` now, `"2H"` is `"2h"`."""
    if not isinstance(freq, str):
        return freq
    count = freq[: len(freq) - len(freq.lstrip("-0123456789"))]
    name, dash, rest = freq[len(count) :].partition("-")
    return f"{count}{_FREQUENCIES.get(name, name)}{dash}{rest}"


def _writable(give: Callable[..., Any]) -> Callable[..., Any]:
    """The values of one type can be written, and the frame has them then."""

    @functools.wraps(give)
    def giving(*args: Any, **options: Any) -> Any:
        found = give(*args, **options)
        if isinstance(found, np.ndarray) and not found.flags.writeable:
            try:
                found.flags.writeable = True
            except ValueError:  # of memory that is another's
                found = found.copy()
        return found

    return giving


def _by_position(get: Callable[..., Any]) -> Callable[..., Any]:
    """`row[0]` of a series with names, and `series[:, np.newaxis]`, an array."""

    @functools.wraps(get)
    def getting(self: Any, key: Any) -> Any:
        if isinstance(key, tuple) and any(each is None for each in key):
            return self.to_numpy()[key]
        try:
            return get(self, key)
        except KeyError:
            if not isinstance(key, (int, np.integer)) or isinstance(key, bool) or self.index.dtype.kind in "iuf":
                raise
            REPORT.use("elements of a pd.Series by position", None)
            return self.iloc[key]

    return getting


def _itself(holder: Any) -> Any:
    return holder


def _holder(indexer: Any) -> Any:
    return indexer.obj


def _widening(put: Callable[..., Any], holder_of: Callable[[Any], Any]) -> Callable[..., Any]:
    """`frame.loc[rows, "count"] = 0.5`, which makes floats of whole numbers, or objects of what does not fit; and
    `series[0] = 1` by position."""

    @functools.wraps(put)
    def putting(self: Any, key: Any, value: Any) -> None:
        holder = holder_of(self)
        by_position = holder is self and holder.ndim == 1 and isinstance(key, (int, np.integer))
        if by_position and key not in holder.index and holder.index.dtype.kind not in "iuf" and len(holder):
            holder.iloc[key] = value
            return
        try:
            put(self, key, value)
        except TypeError as error:
            if "Invalid value" not in str(error):
                raise
            REPORT.use("values of a wider type in a column of pandas", None)
            _widen(holder, key, value)
            put(self, key, value)

    return putting


def _widen(holder: Any, key: Any, value: Any) -> None:
    """The columns that a value goes to become wide enough for it."""
    wanted = np.asarray(value).dtype
    if holder.ndim == 1:
        holder._mgr = holder.astype(_wider(holder.dtype, wanted))._mgr
        return
    names: Any = key[1] if isinstance(key, tuple) and len(key) > 1 else slice(None)
    found = [] if isinstance(names, slice) else holder.columns.get_indexer_for(np.atleast_1d(names))
    columns = [holder.columns[at] for at in found if at >= 0] or list(holder.columns)
    for name in columns:
        holder[name] = holder[name].astype(_wider(holder[name].dtype, wanted))


def _wider(dtype: Any, wanted: np.dtype) -> Any:
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and wanted.kind in "iuf":
        return object if dtype.kind == "b" else np.promote_types(dtype, wanted)
    return object


def _of_numbers(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Of the columns that have numbers, where others have none."""

    @functools.wraps(reduce)
    def reducing(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return reduce(self, *args, **options)
        except (TypeError, ValueError):
            if "numeric_only" in options:
                raise
            found = reduce(self, *args, **{**options, "numeric_only": True})
        REPORT.use(f"DataFrame.{reduce.__name__} of the columns of numbers", None)
        return found

    return reducing


def _small_dummies(make: Callable[..., Any]) -> Callable[..., Any]:
    """Numbers of 0 and 1, not booleans."""

    @functools.wraps(make)
    def making(*args: Any, **options: Any) -> Any:
        if len(args) < 8:
            options.setdefault("dtype", np.uint8)
        return make(*args, **options)

    return making
