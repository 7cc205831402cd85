"""Programs that parse as Python 3 but read or write files as only Python 2 did: bytes were text, and `print >> file`
wrote to it."""

from __future__ import annotations

import ast
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
    """A line of those nodes that pickles to or from a file of text, decodes what it reads from one, or splits what it
    reads from a file of bytes by text."""
    pickle = _names_of_pickle(tree)
    return next((node.lineno for node in nodes if isinstance(node, ast.Call) and _is_sign(node, tree, pickle)), None)


def prints_to_file(tree: ast.Module) -> int | None:
    """The line of a `print >> file`, which parses as a shift of the function, if there is one."""
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(ast.Name("print"), ast.RShift()):
                return node.lineno
    return None


def _names_of_pickle(tree: ast.Module) -> set[str]:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    return {alias.asname or alias.name for node in imports for alias in node.names if alias.name == "pickle"}


def _is_sign(node: ast.Call, tree: ast.Module, pickle: set[str]) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name(name), "dump"), args=[_, file, *_]) if name in pickle:
            return "b" not in _mode(file, tree)
        case ast.Call(ast.Attribute(ast.Name(name), "load"), args=[file, *_]) if name in pickle:
            return "b" not in _mode(file, tree)
        case ast.Call(
            ast.Attribute(ast.Call(ast.Attribute(ast.Call() as file, "read" | "readline")), "split"),
            args=[ast.Constant(str()), *_],
        ):
            return "b" in _mode(file, tree, unknown="")
        case ast.Call(ast.Attribute(ast.Call(ast.Attribute(file, "read" | "readline")), "decode")):
            return "b" not in _mode(file, tree)
    return False


def _mode(file: ast.expr, tree: ast.Module, unknown: str = "b") -> str:
    """The mode that `file`, a call of open or, in `tree`, the name of one in a `with`, is opened with."""
    if isinstance(file, ast.Name):
        opened = {
            _mode(item.context_expr, tree)
            for node in ast.walk(tree)
            if isinstance(node, ast.With) and any(each is file for each in ast.walk(node))
            for item in node.items
            if isinstance(item.context_expr, ast.Call)
            and isinstance(item.optional_vars, ast.Name)
            and item.optional_vars.id == file.id
        }
        return opened.pop() if len(opened) == 1 else unknown
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
