"""A program from its file to its end."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from penstock import as_tensorflow
from penstock.checkpoint.formats import by_default
from penstock.programs import children, devices, hooks, old_messages, removed, source, spawned, windows

_STRICT, _DIGITS = "--strict-devices", "--digits"
_of_process = ExitStack()  # what lasts as long as a process of multiprocessing


def run_program(words: Sequence[str], strict_devices: bool = False, package: str | None = None) -> None:
    """Run a program as `python program.py [arguments]` does, with Penstock as its TensorFlow and what has changed since
    its time put right (docs/running-programs.md). strict_devices: a GPU that is not there is an error. package: the one
    that it is a module of ("" for none), if it is run as `python -m` runs modules of the current folder.

    Raises source.UnreadableError if it is no program, and what the program raises, SystemExit included.
    """
    path = words[0]
    as_tensorflow.install()
    prepare()
    windows.begin()
    if strict_devices:
        children.OPTIONS.append(_STRICT)
    sys.argv = list(words)
    beside = Path(path).resolve().parent if package is None else Path.cwd()
    _import_hidden(beside)
    sys.path[: 0 if sys.flags.safe_path else 1] = [str(beside)]  # a safe path has no place for it
    removed.keras.install(beside)
    before = sys.modules["__main__"]
    try:
        with _as_then(strict_devices):
            if path.endswith(".ipynb"):
                _run_notebook(path)
            else:
                _run_file(path, package)
    finally:
        sys.modules["__main__"] = before
        windows.finish()


def prepare_process(options: Sequence[str], python2: bool) -> None:
    """In a process that a program has started by multiprocessing: what `run_program` does before it runs the text, with
    these options of `penstock run`. python2: whether the program is."""
    as_tensorflow.install()
    prepare()
    windows.begin()
    if _DIGITS in options:
        from penstock.programs import digits

        digits.install()
    if _STRICT in options:
        children.OPTIONS.append(_STRICT)
    source.ProgramLoader.python2 = python2
    removed.keras.install(Path.cwd())
    _of_process.enter_context(_as_then(_STRICT in options))


@contextmanager
def _as_then(strict_devices: bool) -> Iterator[None]:
    fallback = nullcontext() if strict_devices else devices.falling_back()
    files_as_then = by_default("tensorflow")  # programs copy and look for files of checkpoints by their names
    with fallback, files_as_then, removed.numpy.printing_as_then(), children.run_alike():
        yield


def _import_hidden(folder: Path) -> None:
    """Imports what every program needs before files of the folder hide modules of Python from it: those of Python 2's
    time may be called queue.py."""
    if any(file.stem in sys.stdlib_module_names for file in folder.glob("*.py")):
        importlib.import_module("torch")
        importlib.import_module("penstock.session.session")


def _run_file(path: str, package: str | None) -> None:
    try:
        code = source.translate(source.read(path), path)
    except SyntaxError as error:
        raise source.UnreadableError(f"{error.filename}:{error.lineno}: {error.msg}") from None
    source.ProgramLoader.python2 = code.python2
    module = _main()
    module.__file__ = path
    vars(module)["__cached__"] = None
    if package is not None:
        vars(module)["__package__"] = package
        if package:
            importlib.import_module(package)
    code.prepare(vars(module))
    if "get_ipython" in code.code.co_names:  # a notebook that was exported
        from penstock.programs.shell import Shell, display

        shell = Shell(vars(module))
        vars(module).update(get_ipython=lambda: shell, display=display)
    exec(code.code, vars(module))


def _run_notebook(path: str) -> None:
    from penstock.programs import notebook

    try:
        book = notebook.read(path)
    except ValueError as error:
        raise source.UnreadableError(str(error)) from None
    codes = notebook.translate(book)
    source.ProgramLoader.python2 = any(isinstance(code, source.Translated) and code.python2 for code in codes)
    notebook.run(path, book, codes, vars(_main()))


@cache
def prepare() -> None:
    """Once in a process."""
    source.install()
    old_messages.install()
    of_spawned: dict[str, hooks.Patch] = {"multiprocessing.spawn": partial(spawned.patch, prepare_process)}
    tables = [old_messages.PATCHES, windows.PATCHES, devices.PATCHES, children.PATCHES, of_spawned]
    hooks.install([*removed.PATCHES, *tables], removed.MODULES)


def _main() -> ModuleType:
    module = ModuleType("__main__")
    vars(module)["__builtins__"] = builtins
    sys.modules["__main__"] = module
    return module
