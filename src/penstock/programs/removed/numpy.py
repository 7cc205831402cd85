"""What NumPy has removed since 1.13."""

from __future__ import annotations

import contextlib
import functools
import io
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

from penstock.programs.places import calling, is_of_then
from penstock.programs.removed.giving import ModuleOf, Source, give, rename_keywords
from penstock.programs.report import REPORT

MSG_PICKLED = (
    "{error}\nThe file holds a pickle with more than arrays, numbers and texts ({found}), and loading one can run code "
    "that is in the file. If you trust it, let the program say np.load(..., allow_pickle=True)."
)

NAMES: dict[str, Source] = {
    **{name: f"builtins:{name}" for name in ("bool", "complex", "float", "int", "object", "str")},
    "long": "builtins:int",
    "unicode": "builtins:str",
    "Inf": "numpy:inf",
    "Infinity": "numpy:inf",
    "infty": "numpy:inf",
    "PINF": "numpy:inf",
    "NINF": lambda: -float("inf"),
    "NaN": "numpy:nan",
    "NAN": "numpy:nan",
    "alen": lambda: lambda a: len(_numpy().array(a, ndmin=1)),
    "alltrue": "numpy:all",
    "asfarray": f"{__name__}:asfarray",
    "asscalar": f"{__name__}:asscalar",
    "bool8": "numpy:bool_",
    "cast": f"{__name__}:cast",
    "complex_": "numpy:complex128",
    "compat": "numpy.compat:",
    "cumproduct": "numpy:cumprod",
    "deprecate": lambda: lambda function=None, **options: function or (lambda deprecated: deprecated),
    "disp": lambda: print,
    "fastCopyAndTranspose": lambda: lambda a: a.T.copy(),
    "find_common_type": f"{__name__}:find_common_type",
    "float_": "numpy:float64",
    "in1d": f"{__name__}:in1d",
    "int0": "numpy:intp",
    "issctype": lambda: lambda kind: isinstance(kind, (type, _numpy().dtype)),
    "loads": "pickle:loads",
    "longfloat": "numpy:longdouble",
    "mat": "numpy:asmatrix",
    "msort": f"{__name__}:msort",
    "obj2sctype": lambda: lambda kind, default=None: _numpy().dtype(kind).type,
    "object0": "numpy:object_",
    "product": "numpy:prod",
    "rank": "numpy:ndim",
    "recfromcsv": "penstock.programs.removed.numpy_functions:recfromcsv",
    "round_": "numpy:round",
    "row_stack": "numpy:vstack",
    "safe_eval": "ast:literal_eval",
    "sctypes": "penstock.programs.removed.numpy_functions:sctypes",
    "sometrue": "numpy:any",
    "string_": "numpy:bytes_",
    "trapz": "numpy:trapezoid",
    "typeDict": "numpy:sctypeDict",
    "uint0": "numpy:uintp",
    "unicode_": "numpy:str_",
}

_OF_LIB = (
    "angle append apply_along_axis apply_over_axes array_split asarray_chkfinite average bartlett bincount blackman "
    "c_ column_stack common_type copy corrcoef cov delete diag diag_indices diag_indices_from diagflat diff digitize "
    "dsplit dstack ediff1d expand_dims extract eye fill_diagonal fix flip fliplr flipud fromregex genfromtxt "
    "gradient hamming hanning histogram histogram2d histogramdd hsplit i0 imag index_exp insert interp intersect1d "
    "iscomplex iscomplexobj isin isneginf isposinf isreal isrealobj issubdtype iterable ix_ kaiser kron load loadtxt "
    "mask_indices median meshgrid mgrid nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian "
    "nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndenumerate ndindex ogrid packbits pad percentile "
    "piecewise place poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval put_along_axis "
    "quantile r_ ravel_multi_index real real_if_close roots rot90 s_ save savetxt savez savez_compressed select "
    "setdiff1d setxor1d sinc sort_complex split take_along_axis tile tri tril tril_indices tril_indices_from "
    "trim_zeros triu triu_indices triu_indices_from typename union1d unique unpackbits unravel_index unwrap vander "
    "vectorize vsplit"
)
_INSIDE_LIB = (
    "arraypad arraysetops function_base histograms index_tricks nanfunctions polynomial shape_base twodim_base "
    "type_check ufunclike utils"
)
LIB: dict[str, Source] = {
    **{name: f"numpy.lib._{name}_impl:" for name in _INSIDE_LIB.split()},
    **{name: f"numpy:{name}" for name in _OF_LIB.split()},
    **{name: NAMES[name] for name in ("asfarray", "asscalar", "in1d", "msort", "row_stack", "trapz")},
    "DataSource": "numpy.lib.npyio:DataSource",
}
"""Names of numpy.lib."""
MODULES = {
    **{f"numpy.lib.{name}": ModuleOf(f"numpy.lib._{name}_impl") for name in _INSIDE_LIB.split()},
    "numpy.compat": ModuleOf(
        None,
        {
            **dict.fromkeys(("basestring", "unicode"), "builtins:str"),
            "long": "builtins:int",
            "integer_types": lambda: (int,),
            "asbytes": lambda: lambda s: s if isinstance(s, bytes) else str(s).encode("latin1"),
            **dict.fromkeys(
                ("asstr", "asunicode"), lambda: lambda s: s.decode("latin1") if isinstance(s, bytes) else str(s)
            ),
        },
    ),
    "numpy.linalg.linalg": ModuleOf("numpy.linalg._linalg"),
}


def _numpy() -> Any:
    import numpy

    return numpy


def asfarray(a: Any, dtype: Any = float) -> Any:
    np = _numpy()
    return np.asarray(a, dtype=dtype if np.issubdtype(dtype, np.inexact) else float)


def asscalar(a: Any) -> Any:
    return a.item()


def find_common_type(array_types: Any, scalar_types: Any) -> Any:
    return _numpy().result_type(*array_types, *scalar_types)


def in1d(ar1: Any, ar2: Any, *rest: Any, **named: Any) -> Any:
    return _numpy().isin(_numpy().ravel(ar1), ar2, *rest, **named)


def msort(a: Any) -> Any:
    return _numpy().sort(a, axis=0)


KEYWORDS: dict[str, dict[str, str | None]] = {
    "reshape": {"newshape": "shape"},
    **{name: {"normed": "density"} for name in ("histogram", "histogram2d", "histogramdd")},
    **{name: {"interpolation": "method"} for name in ("percentile", "nanpercentile", "quantile", "nanquantile")},
    "corrcoef": {"bias": None, "ddof": None},
}
"""By function: names that arguments had."""


class _Cast:
    def __getitem__(self, dtype: Any) -> Callable[[Any], Any]:
        return lambda values: _numpy().asarray(values, dtype)


cast = _Cast()


def _random_integers(low: int, high: int | None = None, size: Any = None) -> Any:
    """Up to `high`, included."""
    low, high = (1, low) if high is None else (low, high)
    return _numpy().random.randint(low, high + 1, size)


def _ragged(make: Callable[..., Any], label: str) -> Callable[..., Any]:
    """`make`, which makes an array of objects of rows that differ in length, as until NumPy 1.24, and, as until 2.0,
    copies where it must in spite of copy=False, and lets whole numbers wrap around that are too large for a dtype;
    libraries, Penstock among them, rely on its refusals."""

    @functools.wraps(make)
    def making(*args: Any, **options: Any) -> Any:
        try:
            return make(*args, **options)
        except NotImplementedError as error:
            from penstock.programs.removed.numpy_tensors import arguments_of_objects

            if (args[1] if len(args) > 1 else options.get("dtype")) not in (None, object):
                raise
            return make(*arguments_of_objects(error, calling(), args), **options)
        except OverflowError:
            found, dtype = make(args[0]), args[1] if len(args) > 1 else options.get("dtype")
            if not is_of_then(calling()) or dtype is None or found.dtype.kind not in "iu":
                raise
            REPORT.use(f"{label} of numbers that are too large", calling())
            return make(found.astype(dtype), *args[1:], **options)
        except ValueError as error:
            caller = calling()
            if not is_of_then(caller):
                raise
            if options.get("copy") is False:
                REPORT.use(f"{label}(copy=False)", caller)
                return make(*args, **{**options, "copy": None})
            if "inhomogeneous" not in str(error):
                raise
            if len(args) > 1 or options.get("dtype") is not None:
                numbers = _numbers(args[0])
                if numbers is None:
                    raise
                REPORT.use(f"{label} of numbers and arrays of one element", caller)
                return make(numbers, *args[1:], **options)
            REPORT.use(f"{label} of rows of different lengths", caller)
            return make(*args, **{**options, "dtype": object})

    return making


def _numbers(values: Any) -> list[Any] | None:
    """Numbers and arrays of one element as numbers, as where a dtype was asked for until NumPy 1.24; None if there is
    anything else."""
    numpy = _numpy()
    if not isinstance(values, list | tuple):
        return None
    found = [each.item() if isinstance(each, numpy.ndarray) and each.size == 1 else each for each in values]
    return found if all(isinstance(each, int | float | numpy.generic) for each in found) else None


def _filled(make: Callable[..., Any]) -> Callable[..., Any]:
    """`np.full`, whose value wraps around if it is too large for the dtype, as until NumPy 2.0."""

    @functools.wraps(make)
    def making(shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
        try:
            return make(shape, fill_value, dtype, *args, **options)
        except OverflowError:
            value = _numpy().asarray(fill_value)
            if value.dtype.kind not in "iu" or not is_of_then(calling()):
                raise
            REPORT.use("np.full of a number that is too large", calling())
            return make(shape, value.astype(dtype), dtype, *args, **options)

    return making


def _counted_by_floats(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make(start, stop, num)`, which rounds a `num` down that is no whole number, as until NumPy 1.17."""

    @functools.wraps(make)
    def making(start: Any, stop: Any, num: Any = 50, *args: Any, **options: Any) -> Any:
        if isinstance(num, float):
            REPORT.use(f"np.{make.__name__} of a float as num", calling())
            num = int(num)
        return make(start, stop, num, *args, **options)

    return making


def _listed(stack: Callable[..., Any]) -> Callable[..., Any]:
    """`stack(arrays)`, also of a generator, as until NumPy 1.16."""

    @functools.wraps(stack)
    def stacking(arrays: Any, *args: Any, **options: Any) -> Any:
        if hasattr(arrays, "__next__"):
            REPORT.use(f"np.{stack.__name__} of a generator", calling())
            arrays = list(arrays)
        return stack(arrays, *args, **options)

    return stacking


def _summed(add: Callable[..., Any]) -> Callable[..., Any]:
    """`add(values)`, of a generator one after the other, as Python's sum."""

    @functools.wraps(add)
    def adding(values: Any, *args: Any, **options: Any) -> Any:
        if hasattr(values, "__next__"):
            REPORT.use("np.sum of a generator", calling())
            return sum(values)
        return add(values, *args, **options)

    return adding


def _fromstring(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def making(string: Any, dtype: Any = float, count: int = -1, sep: str = "", **options: Any) -> Any:
        if sep:
            return make(string, dtype, count, sep=sep, **options)
        REPORT.use("np.fromstring of bytes", calling())
        data = string.encode("latin-1") if isinstance(string, str) else string
        return _numpy().frombuffer(data, dtype, count).copy()

    return making


def patch(numpy: Any) -> None:
    for name, keywords in KEYWORDS.items():
        rename_keywords(numpy, name, keywords, f"np.{name}")
    for name in ("vstack", "hstack", "dstack", "column_stack", "stack"):
        setattr(numpy, name, _listed(getattr(numpy, name)))
    numpy.sum, numpy.fromstring = _summed(numpy.sum), _fromstring(numpy.fromstring)
    for name in ("linspace", "logspace", "geomspace"):
        setattr(numpy, name, _counted_by_floats(getattr(numpy, name)))
    numpy.array, numpy.asarray = _ragged(numpy.array, "np.array"), _ragged(numpy.asarray, "np.asarray")
    numpy.full = _filled(numpy.full)
    give(numpy, {name: source for name, source in NAMES.items() if name not in vars(numpy)}, "np")
    if _prints_as_then:
        _print_as(numpy, "1.25")
    _load_objects(numpy)
    from penstock.programs.removed import numpy_functions

    numpy_functions.patch(numpy)


def _load_objects(numpy: Any) -> None:
    """np.load of arrays of objects, where these are data."""
    load, archive = numpy.load, numpy.lib.npyio.NpzFile
    member = archive.__getitem__

    @functools.wraps(load)
    def loading(file: Any, *args: Any, **options: Any) -> Any:
        at = file.tell() if hasattr(file, "tell") else 0
        try:
            found = load(file, *args, **options)
        except ValueError as error:
            with contextlib.nullcontext(file) if hasattr(file, "read") else open(file, "rb") as opened:
                opened.seek(at)
                return _objects(opened, options.get("encoding", "ASCII"), error)
        if isinstance(found, archive):
            found._penstock_encoding = options.get("encoding", "ASCII")
        return found

    @functools.wraps(member)
    def part(self: Any, key: str) -> Any:
        try:
            return member(self, key)
        except ValueError as error:
            with self.zip.open(key if key in self.zip.namelist() else f"{key}.npy") as opened:
                return _objects(io.BytesIO(opened.read()), getattr(self, "_penstock_encoding", "ASCII"), error)

    numpy.load, archive.__getitem__ = loading, part


def _objects(file: Any, encoding: str, error: ValueError) -> Any:
    from penstock.records import data_pickles

    if "allow_pickle=" not in str(error):
        raise error
    REPORT.use("np.load of Python's objects", None)
    try:
        return data_pickles.read(file, encoding)
    except pickle.UnpicklingError as found:
        raise ValueError(MSG_PICKLED.format(error=error, found=found)) from None


_prints_as_then = False


@contextlib.contextmanager
def printing_as_then() -> Iterator[None]:
    """Numbers are printed as before NumPy 2: 0.5, not np.float64(0.5)."""
    global _prints_as_then
    _prints_as_then = True
    if "numpy" in sys.modules:
        _print_as(sys.modules["numpy"], "1.25")
    try:
        yield
    finally:
        _prints_as_then = False
        if "numpy" in sys.modules:
            _print_as(sys.modules["numpy"], False)


def _print_as(numpy: Any, legacy: str | bool) -> None:
    if int(numpy.__version__.partition(".")[0]) >= 2 and hasattr(numpy, "set_printoptions"):
        numpy.set_printoptions(legacy=legacy)


def patch_random(random: Any) -> None:
    """What is left of it warns."""
    random.random_integers = _random_integers
    from penstock.programs.removed import numpy_functions

    numpy_functions.patch_random(random)


def patch_linalg(linalg: Any) -> None:
    from penstock.programs.removed import numpy_functions

    give(linalg, {"linalg": "numpy.linalg.linalg:"}, "np.linalg")
    numpy_functions.patch_linalg(linalg)


def patch_lib(lib: Any) -> None:
    give(lib, LIB)


PATCHES: dict[str, Callable[[Any], None]] = {
    "numpy": patch,
    "numpy.lib": patch_lib,
    "numpy.linalg": patch_linalg,
    "numpy.random": patch_random,
}
