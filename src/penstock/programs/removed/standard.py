"""What Python's own library has removed since Python 2.7 and 3.5."""

from __future__ import annotations

import collections.abc
import functools
import importlib.util
import inspect
import itertools
import re
import sys
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import Any

from penstock.programs.places import is_of_program
from penstock.programs.removed.giving import ModuleOf, Source, give, give_methods
from penstock.programs.report import REPORT

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


def getargspec(func: Any) -> ArgSpec:
    """inspect.getargspec: without keyword-only arguments and annotations."""
    found = inspect.getfullargspec(func)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def maketrans(before: str, after: str) -> dict[int, int]:
    return str.maketrans(before, after)


def join(words: Iterable[str], sep: str = " ") -> str:
    return sep.join(words)


def _method(name: str) -> Source:
    """Functions of the module `string` that are methods of texts now."""
    return lambda: lambda text, *rest: getattr(text, name)(*rest)


NAMES: dict[str, dict[str, Source]] = {
    "base64": {"encodestring": "base64:encodebytes", "decodestring": "base64:decodebytes"},
    "cgi": {"escape": "html:escape"},
    "collections": {name: f"collections.abc:{name}" for name in collections.abc.__all__},
    "fractions": {"gcd": "math:gcd"},
    "inspect": {name: f"{__name__}:{name}" for name in ("getargspec", "ArgSpec")},
    "itertools": {
        "izip": "builtins:zip",
        "imap": "builtins:map",
        "ifilter": "builtins:filter",
        "izip_longest": "itertools:zip_longest",
        "ifilterfalse": "itertools:filterfalse",
    },
    "os": {"getcwdu": "os:getcwd", "errno": "errno:"},
    "platform": {
        "linux_distribution": lambda: lambda *rest, **named: ("", "", ""),
        "dist": lambda: lambda: ("", "", ""),
    },
    "string": {
        **{name: f"string:ascii_{name}" for name in ("letters", "lowercase", "uppercase")},
        "maketrans": f"{__name__}:maketrans",
        "join": f"{__name__}:join",
        "atoi": "builtins:int",
        "atof": "builtins:float",
        **{name: _method(name) for name in ("find", "lower", "replace", "rstrip", "split", "strip", "upper", "zfill")},
    },
    "sys": {
        "maxint": "sys:maxsize",
        "setdefaultencoding": lambda: lambda encoding: None,
    },
    "time": {"clock": "time:process_time"},
    "types": {
        "StringType": "builtins:str",
        "UnicodeType": "builtins:str",
        "StringTypes": lambda: (str,),
        "IntType": "builtins:int",
        "LongType": "builtins:int",
        "FloatType": "builtins:float",
        "BooleanType": "builtins:bool",
        "ListType": "builtins:list",
        "TupleType": "builtins:tuple",
        "DictType": "builtins:dict",
        "NoneType": "types:NoneType",
        "ClassType": "builtins:type",
    },
    "urllib": {
        **{name: f"urllib.request:{name}" for name in ("urlretrieve", "urlopen", "urlcleanup", "pathname2url")},
        **{name: f"urllib.parse:{name}" for name in ("quote", "quote_plus", "unquote", "unquote_plus", "urlencode")},
    },
}
"""Names by the module that they were in: where they are now."""


def patch_csv(csv: Any) -> None:
    """Python 2's programs open files for bytes, of which csv takes none now."""
    reader, dict_reader = csv.reader, csv.DictReader.__init__

    def reading(csvfile: Any, *args: Any, **options: Any) -> Any:
        return reader(_as_text(csvfile), *args, **options)

    def made(self: Any, f: Any, *args: Any, **options: Any) -> None:
        dict_reader(self, _as_text(f), *args, **options)

    csv.reader, csv.DictReader.__init__ = reading, made


def _as_text(lines: Any) -> Any:
    return _decoded(lines) if "b" in str(getattr(lines, "mode", "")) else lines


def _decoded(lines: Any) -> Iterator[str]:
    for line in lines:
        yield line.decode("utf-8", "surrogateescape") if isinstance(line, bytes) else line


def patch_random(random: Any) -> None:
    """Samples of sets, a second argument of shuffle, seeds that are neither numbers of Python nor text, and, as until
    Python 3.11, whole numbers with a point for `randint` and `randrange`."""
    sample, shuffle = random.sample, random.shuffle
    if sys.version_info >= (3, 12):
        random.Random.randrange = of_whole_floats(random.Random.randrange)
        random.randrange = random._inst.randrange
    random.Random.seed = _seeding(random.Random.seed)
    random.seed = random._inst.seed

    def sampled(population: Any, k: int, **options: Any) -> Any:
        if isinstance(population, collections.abc.Set):
            population = tuple(population)
        return sample(population, k, **options)

    random.sample = sampled
    random.shuffle = lambda x, random=None: shuffle(x)


def of_whole_floats(ranging: Callable[..., int]) -> Callable[..., int]:
    """`random.randint(0, n / 2)`, which calls randrange: ranges of floats that are whole numbers."""

    @functools.wraps(ranging)
    def randrange(self: Any, *bounds: Any, **options: Any) -> int:
        if any(type(each) is not int for each in bounds):
            bounds = tuple(int(each) if isinstance(each, float) and each.is_integer() else each for each in bounds)
        return ranging(self, *bounds, **options)

    return randrange


def _seeding(seed: Callable[..., None]) -> Callable[..., None]:
    """Until Python 3.10, the seed was the hash of what was neither None, a number nor text: of datetime.now(), or of a
    number of NumPy."""

    @functools.wraps(seed)
    def seeding(self: Any, a: Any = None, version: int = 2) -> None:
        if a is not None and not isinstance(a, int | float | str | bytes | bytearray):
            REPORT.use(f"random.seed of a {type(a).__name__}", sys._getframe(1))
            a = hash(a) % (1 << 64)
        seed(self, a, version)

    return seeding


def patch_threading(threading: Any) -> None:
    give_methods(threading.Thread, {"isAlive": lambda self: self.is_alive()})


def patch_hashlib(hashlib: Any) -> None:
    """Digests of text, where a program is Python 2's though nothing else in its text says so."""
    for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
        setattr(hashlib, name, _of_text(getattr(hashlib, name), name))


def _of_text(digest: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(digest)
    def digesting(string: Any = b"", **options: Any) -> Any:
        if isinstance(string, str) and is_of_program(sys._getframe(1).f_code.co_filename):
            REPORT.use(f"hashlib.{name} of text", sys._getframe(1))
            string = string.encode("utf-8", "surrogateescape")
        return digest(string, **options)

    return digesting


def patch_json(json: Any) -> None:
    """Numbers of NumPy are written as numbers: sums of float32 and numbers of Python were float64, which json takes. An
    encoding may be given, as until Python 3.8, which did not heed it."""
    for name in ("load", "loads", "dump", "dumps"):
        setattr(json, name, _without_encoding(getattr(json, name)))
    default = json.JSONEncoder.default

    def number_or_default(self: Any, o: Any) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(o, (numpy.floating, numpy.integer)):
            return default(self, o)
        REPORT.use("json of a number of NumPy", None)
        return o.item()

    json.JSONEncoder.default = number_or_default


def _without_encoding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of what reads, it was the second argument."""
    reads = "load" in function.__name__

    @functools.wraps(function)
    def call(*args: Any, encoding: Any = None, **options: Any) -> Any:
        return function(*(args[:1] if reads else args), **options)

    return call


def patch_yaml(yaml: Any) -> None:
    """yaml.load wants a Loader now: without one, data are read, and objects by the program's own constructors."""
    load, load_all = yaml.load, yaml.load_all
    yaml.load = lambda stream, Loader=yaml.FullLoader: load(stream, Loader)
    yaml.load_all = lambda stream, Loader=yaml.FullLoader: load_all(stream, Loader)


def patch_re(re: Any) -> None:
    """re.split as until Python 3.7, for a program."""
    split = re.split

    @functools.wraps(split)
    def splitting(pattern: Any, string: Any, maxsplit: int = 0, flags: int = 0) -> list[Any]:
        caller = sys._getframe(1)
        if is_of_program(caller.f_code.co_filename):
            return split_as_then(caller, pattern, string, maxsplit, flags)
        return split(pattern, string, maxsplit=maxsplit, flags=flags)

    re.split = splitting


def split_as_then(caller: FrameType, pattern: Any, string: Any, maxsplit: int = 0, flags: int = 0) -> list[Any]:
    """re.split, which until Python 3.7 did not split where a pattern matches nothing: `(\\W+)?`, the tokenizer of
    programs for bAbI. A pattern that matches nothing else was an error then, so it is a program's of today."""
    compiled = re.compile(pattern, flags)
    shortest, longest = re._parser.parse(compiled.pattern, compiled.flags).getwidth()  # type: ignore[attr-defined]
    if shortest == 0 < longest:
        REPORT.use("re.split where a pattern matches nothing", caller)
        return _split(compiled, string, maxsplit)
    return compiled.split(string, maxsplit)


def _split(pattern: Any, string: Any, maxsplit: int) -> list[Any]:
    parts: list[list[Any]] = []
    last = at = 0
    while at <= len(string) and not 0 < maxsplit <= len(parts) and (found := pattern.search(string, at)):
        at = found.end() if found.end() > found.start() else found.end() + 1
        if found.end() > found.start():
            parts.append([string[last : found.start()], *found.groups()])
            last = found.end()
    return [*itertools.chain.from_iterable(parts), string[last:]]


def _giving(names: dict[str, Source]) -> Callable[[ModuleType], None]:
    return lambda module: give(module, names)


PATCHES: dict[str, Callable[[Any], None]] = {
    **{name: _giving(names) for name, names in NAMES.items()},
    "csv": patch_csv,
    "hashlib": patch_hashlib,
    "json": patch_json,
    "random": patch_random,
    "re": patch_re,
    "threading": patch_threading,
    "yaml": patch_yaml,
}


def load_source(name: str, pathname: str) -> ModuleType:
    """imp.load_source: the module of a file, under a name, whether it has been imported before or not."""
    spec = importlib.util.spec_from_file_location(name, pathname)
    if spec is None or spec.loader is None:
        raise ImportError(f"{pathname} is no module", name=name, path=pathname)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULES = {
    "imp": ModuleOf(
        None,
        {"reload": "importlib:reload", "load_source": f"{__name__}:load_source", "new_module": "types:ModuleType"},
    ),
    "xml.etree.cElementTree": ModuleOf("xml.etree.ElementTree"),
}
