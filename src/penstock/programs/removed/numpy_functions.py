"""Functions of NumPy that take what they took until 1.24, or give what they gave until 2.0, in programs."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from penstock.programs.places import calling, is_of_then
from penstock.programs.report import REPORT

sctypes: dict[str, list[type]] = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}

_GENERAL: dict[Any, type] = {
    **dict.fromkeys((int, "int"), np.signedinteger),
    **dict.fromkeys((float, "float"), np.floating),
    **dict.fromkeys((complex, "complex"), np.complexfloating),
}
"""What a type of Python meant as a kind of types."""

_OF_ROWS = (
    "all amax amin any append argmax argmin argsort array_equal array_split atleast_1d atleast_2d average clip "
    "concatenate copy count_nonzero cumsum delete diff dot dstack expand_dims flip flipud hstack insert max mean "
    "median min ndim nonzero ones_like percentile prod ravel repeat reshape resize roll shape size sort split squeeze "
    "stack std sum swapaxes take tile transpose var vstack where zeros_like"
)
_OF_ROWS_RANDOM = "choice permutation"
"""Functions of lists, which become arrays of objects where rows differ in length."""
_OF_ARRAYS = "concatenate dstack hstack stack vstack"
"""Those of them whose lists hold such lists."""

_SAVING = "save savez savez_compressed"

_MAKING = "arange empty empty_like eye full full_like ones ones_like zeros zeros_like"
_OF_KIND: dict[type, type] = {
    **dict.fromkeys((np.integer, np.signedinteger), np.int64),
    np.unsignedinteger: np.uint64,
    **dict.fromkeys((np.number, np.inexact, np.floating), np.float64),
    np.complexfloating: np.complex128,
}
"""The type that a kind of types meant as a dtype until NumPy 2.0 (it warned since 1.19)."""


def recfromcsv(fname: Any, **options: Any) -> Any:
    """A file of commas whose first line has the names of its columns."""
    how = {"case_sensitive": "lower", "names": True, "delimiter": ",", "dtype": None, **options}
    return np.genfromtxt(fname, **how).view(np.recarray)


def patch(numpy: Any) -> None:
    numpy.issubdtype = _of_kinds(numpy.issubdtype)
    numpy.unique = _flat_inverse(numpy.unique)
    numpy.set_printoptions = _whole(numpy.set_printoptions)
    for name in _OF_ROWS.split():
        setattr(numpy, name, _of_rows(getattr(numpy, name), f"np.{name}"))
    for name in _MAKING.split():
        setattr(numpy, name, _of_a_kind(getattr(numpy, name)))
    for name in _SAVING.split():
        setattr(numpy, name, _of_rows(getattr(numpy, name), f"np.{name}", by_libraries=True))


def patch_random(random: Any) -> None:
    for name in _OF_ROWS_RANDOM.split():
        setattr(random, name, _of_rows(getattr(random, name), f"np.random.{name}"))


def patch_linalg(linalg: Any) -> None:
    linalg.solve = _of_vectors(linalg.solve)


def _of_kinds(ask: Callable[..., Any]) -> Callable[..., Any]:
    """`np.issubdtype(np.float32, float)`, which is true of all floats (until 1.18 it warned)."""

    @functools.wraps(ask)
    def asking(arg1: Any, arg2: Any) -> Any:
        if isinstance(arg2, (type, str)) and arg2 in _GENERAL and is_of_then(calling()):
            REPORT.use(f"np.issubdtype of {getattr(arg2, '__name__', arg2)}", calling())
            arg2 = _GENERAL[arg2]
        return ask(arg1, arg2)

    return asking


def _of_a_kind(make: Callable[..., Any]) -> Callable[..., Any]:
    """`np.zeros(3, dtype=np.integer)`, whose type is the usual one of its kind."""

    @functools.wraps(make)
    def making(*args: Any, **options: Any) -> Any:
        try:
            return make(*args, **options)
        except TypeError:
            meant = [_OF_KIND.get(value, value) if isinstance(value, type) else value for value in args]
            named = {**options}
            if isinstance(options.get("dtype"), type):
                named["dtype"] = _OF_KIND.get(options["dtype"], options["dtype"])
            caller = calling()
            if (meant, named) == ([*args], options) or not is_of_then(caller):
                raise
            REPORT.use(f"np.{make.__name__} of a kind of types", caller)
            return make(*meant, **named)

    return making


def _flat_inverse(find: Callable[..., Any]) -> Callable[..., Any]:
    """`np.unique(ar, return_inverse=True)`, whose inverse has one dimension if there is no axis."""

    @functools.wraps(find)
    def finding(ar: Any, return_index: Any = False, return_inverse: Any = False, *args: Any, **options: Any) -> Any:
        found = find(ar, return_index, return_inverse, *args, **options)
        axis = args[1] if len(args) > 1 else options.get("axis")
        if return_inverse and axis is None and is_of_then(calling()):
            at = 2 if return_index else 1
            return (*found[:at], found[at].ravel(), *found[at + 1 :])
        return found

    return finding


def _whole(set_options: Callable[..., Any]) -> Callable[..., Any]:
    """`np.set_printoptions(threshold=np.nan)`, or "nan": arrays are printed whole, as until 1.13."""

    @functools.wraps(set_options)
    def setting(precision: Any = None, threshold: Any = None, *args: Any, **options: Any) -> None:
        if threshold in ("nan", "inf") or (isinstance(threshold, float) and math.isnan(threshold)):
            REPORT.use("np.set_printoptions(threshold=np.nan)", calling())
            threshold = sys.maxsize
        set_options(precision, threshold, *args, **options)

    return setting


def _of_vectors(solve: Callable[..., Any]) -> Callable[..., Any]:
    """`np.linalg.solve(a, b)`, where b has a vector for each matrix."""

    @functools.wraps(solve)
    def solving(a: Any, b: Any) -> Any:
        if 1 < np.ndim(b) == np.ndim(a) - 1 and is_of_then(calling()):
            REPORT.use("np.linalg.solve of a vector for each matrix", calling())
            return solve(a, np.asarray(b)[..., None])[..., 0]
        return solve(a, b)

    return solving


def _of_rows(function: Callable[..., Any], label: str, by_libraries: bool = False) -> Callable[..., Any]:
    """`function(list, …)`, whose lists of rows that differ in length become arrays of objects. by_libraries: when these
    call it, too; most rely on its refusals."""

    @functools.wraps(function)
    def applied(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except NotImplementedError as error:
            return _of_tensors(function, error, calling(), args, options)
        except ValueError as error:
            ours = by_libraries or is_of_then(calling())
            if "inhomogeneous" not in str(error) or not ours:
                raise
            REPORT.use(f"{label} of rows of different lengths", calling())
            if function.__name__ in _OF_ARRAYS.split():
                return function([_rows(each) for each in args[0]], *args[1:], **options)
            return function(*map(_rows, args), **{name: _rows(value) for name, value in options.items()})

    return applied


def _of_tensors(
    function: Callable[..., Any], error: NotImplementedError, caller: FrameType, args: tuple[Any, ...], options: Any
) -> Any:
    """`function(list, …)`, where the list holds tensors."""
    from penstock.programs.removed.numpy_tensors import arguments_of_objects

    if function.__name__ in _OF_ARRAYS.split() and args and isinstance(args[0], (list, tuple)):
        return function(arguments_of_objects(error, caller, args[0]), *args[1:], **options)
    given = arguments_of_objects(error, caller, [*args, *options.values()])
    return function(*given[: len(args)], **dict(zip(options, given[len(args) :], strict=True)))


def _rows(value: Any) -> Any:
    """A list as an array; of objects if it must be."""
    if not isinstance(value, (list, tuple)):
        return value
    try:
        return np.array(value)
    except ValueError:
        return np.array(value, dtype=object)
