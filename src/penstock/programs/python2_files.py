"""Programs that parse as Python 3 but read or write files, or what other programs print, as only Python 2 did: bytes
were text, and `print >> file` wrote to it."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from types import CodeType


def instructions(code: CodeType) -> Iterator[tuple[int, int]]:
    """Numbers of instructions and their arguments' last bytes, without those of functions inside."""
    return zip(code.co_code[::2], code.co_code[1::2], strict=True)


_SHIFT = {*instructions(compile("a >> b", "", "eval"))} - {*instructions(compile("a << b", "", "eval"))}


def may_print_to_files(code: CodeType) -> bool:
    """Whether code, or a function in it, mentions `print` and shifts something to the right."""
    if "print" in code.co_names and not _SHIFT.isdisjoint(instructions(code)):
        return True
    return any(may_print_to_files(each) for each in code.co_consts if isinstance(each, CodeType))


def takes_for_text(tree: ast.Module, nodes: Iterable[ast.AST]) -> int | None:
    """A line of those nodes that pickles to or from a file of text, decodes what it reads from one or what a pattern of
    text found, writes text into a file of bytes, or splits by text what it reads from one or what another program
    prints."""
    files = _Files(tree)
    for node in nodes:
        if isinstance(node, ast.Call) and (_is_sign(node, files) or _writes_text(node, files)):
            return node.lineno
        if isinstance(node, ast.For) and _takes_lines(node, files):
            return node.lineno
    return None


def prints_to_file(tree: ast.Module) -> int | None:
    """The line of a `print >> file`, which parses as a shift of the function, if there is one."""
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(ast.Name("print"), ast.RShift()):
                return node.lineno
    return None


_UNKNOWN = ast.Constant(None)
"""What a name stands for that a function is given, or a loop."""


class _Files:
    """What is known of a text's names: those of the module pickle, values of others, and of files in a `with`."""

    def __init__(self, tree: ast.Module) -> None:
        self.pickle = set[str]()
        self._values: dict[str, list[ast.expr]] = {}
        self._entered: dict[ast.Name, list[ast.expr]] = {}
        for node in ast.walk(tree):
            match node:
                case ast.arg(arg=name):
                    self._values.setdefault(name, []).append(_UNKNOWN)
                case ast.For(target=ast.Name(id=name)):
                    self._values.setdefault(name, []).append(_UNKNOWN)
                case ast.Import(names=names):
                    self.pickle |= {each.asname or each.name for each in names if each.name == "pickle"}
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if isinstance(target, ast.Name):
                            self._values.setdefault(target.id, []).append(value)
                case ast.With(items=items):
                    entered = {
                        i.optional_vars.id: i.context_expr for i in items if isinstance(i.optional_vars, ast.Name)
                    }
                    for use in ast.walk(node) if entered else ():
                        if isinstance(use, ast.Name) and isinstance(entered.get(use.id), ast.Call):
                            self._entered.setdefault(use, []).append(entered[use.id])

    def values_of(self, name: ast.Name) -> list[ast.expr]:
        """What a name may stand for: what a `with` around it enters, or else all that is assigned to it."""
        return self._entered.get(name) or self._values.get(name.id, [])

    def mode(self, file: ast.expr, unknown: str = "b") -> str:
        """A mode of `file`, a call of open or the name of such, if all its modes are for bytes or all for text."""
        if isinstance(file, ast.Name):
            opened = {self.mode(value, "?") if isinstance(value, ast.Call) else "?" for value in self.values_of(file)}
            alike = "?" not in opened and len({"b" in mode for mode in opened}) == 1
            return opened.pop() if alike else unknown
        match file:
            case ast.Call(ast.Name("open"), args=[_, ast.Constant(str(mode))], keywords=[]):
                return mode
            case ast.Call(
                ast.Attribute(ast.Attribute(_, "gfile"), "FastGFile" | "GFile" | "Open"),
                args=[_, ast.Constant(str(mode))],
                keywords=[],
            ):
                return mode
            case ast.Call(ast.Name("open"), args=[_], keywords=[]):
                return "r"
        return unknown


def _is_sign(node: ast.Call, files: _Files) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name(name), "dump"), args=[_, file, *_]) if name in files.pickle:
            return "b" not in files.mode(file)
        case ast.Call(ast.Attribute(ast.Name(name), "load"), args=[file, *_]) if name in files.pickle:
            return "b" not in files.mode(file)
        case ast.Call(
            ast.Attribute(ast.Call(ast.Attribute(ast.Call() as file, "read" | "readline")), "split"),
            args=[ast.Constant(str()), *_],
        ):
            return "b" in files.mode(file, unknown="")
        case ast.Call(ast.Attribute(ast.Call(ast.Attribute(file, "read" | "readline")), "decode")):
            return "b" not in files.mode(file)
        case ast.Call(ast.Attribute(ast.Call(ast.Attribute(found, "group")), "decode")):
            return _is_match_of_text(found, files)
        case ast.Call(ast.Attribute(output, "split" | "strip"), args=[ast.Constant(str()), *_]):
            return _is_output(output, files)
    return False


def _is_match_of_text(node: ast.expr, files: _Files) -> bool:
    """Whether it is a match of a pattern of text, whose groups are text, or the name of such matches alone."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("re"), "match" | "search" | "fullmatch"), args=[ast.Constant(str()), *_]):
            return True
        case ast.Call(ast.Attribute(ast.Name() as pattern, "match" | "search" | "fullmatch")):
            values = files.values_of(pattern)
            return bool(values) and all(_is_pattern_of_text(value) for value in values)
        case ast.Name():
            values = files.values_of(node)
            return bool(values) and all(not isinstance(v, ast.Name) and _is_match_of_text(v, files) for v in values)
    return False


def _is_pattern_of_text(node: ast.expr) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name("re"), "compile"), args=[ast.Constant(str()), *_]):
            return True
    return False


_TEXT_OF_PROCESSES = frozenset({"encoding", "errors", "text", "universal_newlines", None})


def _is_output(node: ast.expr, files: _Files) -> bool:
    """Whether it is what another program prints, as bytes, or the name of that alone."""
    match node:
        case ast.Call(ast.Attribute(attr="check_output"), keywords=options):
            return _TEXT_OF_PROCESSES.isdisjoint(option.arg for option in options)
        case ast.Name():
            values = files.values_of(node)
            return bool(values) and all(isinstance(each, ast.Call) and _is_output(each, files) for each in values)
    return False


def _writes_text(node: ast.Call, files: _Files) -> bool:
    """Whether it writes text into a file that is opened for bytes."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("json"), "dump"), args=[_, file, *_]):
            return "b" in files.mode(file, unknown="")
        case ast.Call(ast.Attribute(ast.Name("csv"), "writer" | "DictWriter"), args=[file, *_]):
            return "b" in files.mode(file, unknown="")
        case ast.Call(ast.Attribute(ast.Name() as file, "write"), args=[text]):
            return _is_text(text) and "b" in files.mode(file, unknown="")
    return False


def _is_text(node: ast.expr) -> bool:
    """Whether it is a literal of text, or made of one in a way that gives text."""
    match node:
        case ast.Constant(str()):
            return True
        case ast.BinOp(left, ast.Add(), right):
            return _is_text(left) or _is_text(right)
        case ast.BinOp(left, ast.Mod()):
            return _is_text(left)
        case ast.Call(ast.Name("str")) | ast.Call(ast.Attribute(ast.Name("json"), "dumps")):
            return True
        case ast.Call(ast.Attribute(text, "format" | "join")):
            return _is_text(text)
    return False


def _takes_lines(loop: ast.For, files: _Files) -> bool:
    """Whether a loop over a file's lines splits bytes by text, or decodes text."""
    if not isinstance(loop.target, ast.Name):
        return False
    mode, changed = files.mode(loop.iter, unknown=""), _place_of_change(loop.target.id, loop)
    for node in ast.walk(loop) if mode else ():
        match node:
            case ast.Call(ast.Attribute(line, "split" | "strip" | "startswith"), args=[ast.Constant(str()), *_]):
                taken = "b" in mode
            case ast.Call(ast.Attribute(line, "decode")):
                taken = "b" not in mode
            case _:
                continue
        if taken and _stripped(line) == loop.target.id and (node.lineno, node.col_offset) < changed:
            return True
    return False


def _place_of_change(name: str, loop: ast.For) -> tuple[float, int]:
    """Where in the text a loop has given its line another value than that of itself stripped, as `line.decode()`."""
    ends = [
        (node.end_lineno or 0, node.end_col_offset or 0)
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == name for each in node.targets)
        if _stripped(node.value) != name
    ]
    return min(ends, default=(math.inf, 0))


def _stripped(line: ast.expr) -> str | None:
    """The name of what is stripped, as in `line.strip()`."""
    while isinstance(line, ast.Call) and isinstance(line.func, ast.Attribute) and line.func.attr.endswith("strip"):
        line = line.func.value
    return line.id if isinstance(line, ast.Name) else None
