"""What pandas has removed since 0.20."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.programs.removed import pandas_arguments, pandas_values
from penstock.programs.removed.giving import ModuleOf, Source, give, give_methods, rename_keywords
from penstock.programs.removed.pandas_tables import patch_reader


class _Mixed:
    """`.ix`: labels where the index holds whole numbers or a label is meant, positions otherwise."""

    def __init__(self, holder: Any) -> None:
        self._holder = holder

    def _split(self, key: Any) -> tuple[tuple[Any, ...], list[bool]]:
        keys = key if isinstance(key, tuple) else (key,)
        return keys, [_is_position(each, axis) for each, axis in zip(keys, self._holder.axes, strict=False)]

    def _positions(self, keys: tuple[Any, ...], by_position: list[bool]) -> tuple[Any, ...]:
        axes = zip(keys, by_position, self._holder.axes, strict=False)
        return tuple(key if position else _positions_of(key, axis) for key, position, axis in axes)

    def __getitem__(self, key: Any) -> Any:
        keys, by_position = self._split(key)
        if not any(by_position):
            return self._holder.loc[key]
        return self._holder.iloc[self._positions(keys, by_position)]

    def __setitem__(self, key: Any, value: Any) -> None:
        keys, by_position = self._split(key)
        if not any(by_position):
            self._holder.loc[key] = value
        else:
            self._holder.iloc[self._positions(keys, by_position)] = value


def _is_position(key: Any, axis: Any) -> bool:
    import numpy as np

    if axis.dtype.kind in "iu":
        return False
    if isinstance(key, slice):
        return any(isinstance(end, (int, np.integer)) for end in (key.start, key.stop))
    if isinstance(key, (list, np.ndarray)):
        return len(key) > 0 and all(isinstance(each, (int, np.integer)) and not isinstance(each, bool) for each in key)
    return isinstance(key, (int, np.integer)) and not isinstance(key, bool)


def _positions_of(key: Any, axis: Any) -> Any:
    if isinstance(key, slice):
        return axis.slice_indexer(key.start, key.stop, key.step)
    if isinstance(key, list):
        return axis.get_indexer_for(key) if not all(isinstance(each, bool) for each in key) else key
    return key if getattr(getattr(key, "dtype", None), "kind", "") == "b" else axis.get_loc(key)


def _append(self: Any, other: Any, ignore_index: bool = False, verify_integrity: bool = False, sort: Any = None) -> Any:
    import pandas as pd

    if isinstance(self, pd.DataFrame) and isinstance(other, (dict, pd.Series)):
        row = other if isinstance(other, pd.Series) else pd.Series(other)
        other = row.to_frame().T.infer_objects()
    elif isinstance(self, pd.DataFrame) and isinstance(other, list) and other and isinstance(other[0], dict):
        other = pd.DataFrame(other)
    others = other if isinstance(other, (list, tuple)) else [other]
    parts = [each for each in (self, *others) if len(each)] or [self]
    return pd.concat(parts, ignore_index=ignore_index, verify_integrity=verify_integrity)


def _sort(
    self: Any, columns: Any = None, axis: int = 0, ascending: Any = True, inplace: bool = False, **options: Any
) -> Any:
    if columns is None:
        return self.sort_index(axis=axis, ascending=ascending, inplace=inplace)
    return self.sort_values(columns, ascending=ascending, inplace=inplace)


def _as_matrix(self: Any, columns: Any = None) -> Any:
    return (self if columns is None else self[columns]).to_numpy()


def _set_value(self: Any, index: Any, col: Any, value: Any) -> Any:
    self.loc[index, col] = value
    return self


def _convert_objects(self: Any, convert_numeric: bool = False, **options: Any) -> Any:
    """Of text, numbers where it is some, NaN where it is not."""
    import pandas as pd

    if not convert_numeric:
        return self.infer_objects()
    if self.ndim == 1:
        return pd.to_numeric(self, errors="coerce")
    objects = self.select_dtypes(include=["object"]).columns
    return self.assign(**{name: pd.to_numeric(self[name], errors="coerce") for name in objects})


def _from_csv(path: Any, header: Any = 0, sep: str = ",", index_col: Any = 0, parse_dates: Any = True) -> Any:
    import pandas as pd

    return pd.read_csv(path, header=header, sep=sep, index_col=index_col, parse_dates=parse_dates)


METHODS: dict[str, Callable[..., Any]] = {
    "append": _append,
    "as_matrix": _as_matrix,
    "clip_lower": lambda self, threshold: self.clip(lower=threshold),
    "clip_upper": lambda self, threshold: self.clip(upper=threshold),
    "convert_objects": _convert_objects,
    "get_values": lambda self: self.to_numpy(),
    "iteritems": lambda self: self.items(),
    "pad": lambda self, **options: self.ffill(**options),
    "sortlevel": lambda self, level=0, **options: self.sort_index(level=level, **options),
    "mad": lambda self, axis=0: (self - self.mean(axis)).abs().mean(axis),
}
"""Of data frames and series."""
FRAME: dict[str, Callable[..., Any]] = {
    "applymap": lambda self, func: self.map(func),
    "get_dtype_counts": lambda self: self.dtypes.astype(str).value_counts(),
    "get_value": lambda self, index, col: self.at[index, col],
    "icol": lambda self, i: self.iloc[:, i],
    "irow": lambda self, i: self.iloc[i],
    "lookup": lambda self, rows, cols: self.to_numpy()[self.index.get_indexer(rows), self.columns.get_indexer(cols)],
    "reindex_axis": lambda self, labels, axis=0, **options: self.reindex(labels, axis=axis, **options),
    "set_value": _set_value,
    "sort": _sort,
}
SERIES: dict[str, Callable[..., Any]] = {
    "nonzero": lambda self: self.to_numpy().nonzero(),
    "ravel": lambda self: self.to_numpy(),
    "reshape": lambda self, *shape: self.to_numpy().reshape(*shape),
    "ptp": lambda self: self.max() - self.min(),
    "order": lambda self, ascending=True: self.sort_values(ascending=ascending),
    "sort": lambda self, ascending=True: self.sort_values(ascending=ascending, inplace=True),
}


def _rolled(how: str) -> Source:
    return lambda: (
        lambda arg, window, min_periods=None, center=False: getattr(
            arg.rolling(window, min_periods=min_periods, center=center), how
        )()
    )


def _weighted(how: str) -> Source:
    return lambda: (
        lambda arg, com=None, span=None, halflife=None, min_periods=0, **options: getattr(
            arg.ewm(com=com, span=span, halflife=halflife, min_periods=min_periods), how
        )()
    )


NAMES: dict[str, Source] = {
    **{f"rolling_{how}": _rolled(how) for how in ("max", "mean", "median", "min", "std", "sum", "var")},
    **{name: _weighted(how) for name, how in (("ewma", "mean"), ("ewmstd", "std"), ("ewmvar", "var"))},
    "datetime": "datetime:datetime",
    "match": lambda: lambda to_match, values: __import__("pandas").Index(values).get_indexer(to_match),
    "np": "numpy:",
    "scatter_matrix": "pandas.plotting:scatter_matrix",
    "TimeGrouper": "pandas:Grouper",
}


def _ix(self: Any) -> _Mixed:
    return _Mixed(self)


def patch(pandas: Any) -> None:
    give(pandas, NAMES, "pd")
    for cls, methods in ((pandas.DataFrame, FRAME), (pandas.Series, SERIES)):
        give_methods(cls, {**METHODS, **methods})
        if not hasattr(cls, "ix"):
            cls.ix = property(_ix)
        rename_keywords(cls, "drop_duplicates", {"cols": "subset", "take_last": None})
    pandas.DataFrame.from_csv = staticmethod(_from_csv)
    pandas_values.patch(pandas)
    pandas_arguments.patch(pandas)
    for reader in ("read_csv", "read_table"):
        ignored = dict.fromkeys(("error_bad_lines", "warn_bad_lines", "tupleize_cols", "infer_datetime_format"))
        rename_keywords(pandas, reader, ignored)
        patch_reader(pandas, reader)


def patch_json(module: Any) -> None:
    give(module, {"json_normalize": "pandas:json_normalize"})


PATCHES: dict[str, Callable[[Any], None]] = {"pandas": patch, "pandas.io.json": patch_json}
MODULES = {
    "pandas.tools.plotting": ModuleOf("pandas.plotting"),
    "pandas.util.testing": ModuleOf("pandas.testing"),
    "pandas.io.json.normalize": ModuleOf(None, {"json_normalize": "pandas:json_normalize"}),
}
