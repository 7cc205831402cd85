"""Whether text that parses as Python 3, too, is Python 2: it needs names, lists, files or quotients that only Python 2
gave."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from types import CodeType
from typing import TypeGuard

from penstock.programs.python2_counts import (
    COUNTING,
    LENGTH,
    PADDING,
    PADS,
    counts_by_quotients,
    may_slice_by_quotients,
)
from penstock.programs.python2_files import may_print_to_files, takes_for_text
from penstock.programs.python2_lists import LAZY, takes_for_lists, views_taken
from penstock.programs.python2_modules import MODULES

GONE = frozenset(
    {
        *("iterkeys", "itervalues", "iteritems", "viewkeys", "viewvalues", "viewitems", "has_key"),
        *("tostring", "itemset", "ptp", "newbyteorder"),  # NumPy's arrays had these
    }
)
"""Those that nothing has any more: converted in every file."""

BUILTINS = frozenset(
    {
        *(
            "apply",
            "basestring",
            "buffer",
            "cmp",
            "execfile",
            "file",
            "intern",
            "long",
            "raw_input",
            "reduce",
            "reload",
        ),
        *("unichr", "unicode", "xrange", "StandardError"),
    }
)
"""Built-in names that Python 3 lacks: text that needs one is Python 2, even if it parses."""

ONLY_BUILTINS = frozenset({"basestring", "execfile", "raw_input", "unichr", "xrange"})
"""Those that `from module import *` brings only from modules for both Pythons, where a program means the same."""

GONE_MODULES = MODULES.keys() - sys.stdlib_module_names
"""Text that imports one of these is Python 2; `pickle` is there in both."""

MARKS = BUILTINS | GONE | GONE_MODULES | LAZY | COUNTING | PADDING | {PADS, LENGTH}
"""Names that compiled code mentions where it may be Python 2."""

_OF_NAMES = frozenset({"NameError", "ImportError", "ModuleNotFoundError", "AttributeError"})
_OF_ALL = frozenset({None, "Exception", "BaseException", "StandardError"})
"""Errors that a name which is not there raises, and handlers of all errors (None: `except:`)."""

ITERATOR = frozenset({"__iter__", "next"})
"""Methods of a class that is an iterator in Python 2."""

_WITH_OPEN = "pickle", "json", "csv", "write", "split", "strip", "startswith", "decode"
FILES = (
    *(frozenset({"open", each}) for each in _WITH_OPEN),
    *(frozenset({"check_output", each}) for each in ("split", "strip")),
    *(frozenset({each, "cmp"}) for each in ("sort", "sorted")),
    *(frozenset({each, "decode"}) for each in ("read", "group")),
)
"""Names that code mentions which may read or write bytes as text."""


def names_of(code: CodeType) -> set[str]:
    """All names that code mentions, that of its functions included, and of keywords, which are a constant of it."""
    found, todo = set[str](), [code]
    while todo:
        each = todo.pop()
        found.update(each.co_names)
        found.update(n for const in each.co_consts if isinstance(const, tuple) for n in const if isinstance(n, str))
        todo += (const for const in each.co_consts if isinstance(const, CodeType))
    return found


def is_python2(tree: ast.Module) -> bool:
    """Whether a tree that parses as Python 3 needs names that only Python 2 had, other than where it looks for them, or
    the lists and quotients that it gave."""
    return python2_line(tree) is not None


def python2_line(tree: ast.Module) -> int | None:
    """A line that needs such a name or list, if one does."""
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    bound.update(node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    if line := takes_for_lists(tree, bound) or takes_for_text(tree, _unguarded(tree)) or counts_by_quotients(tree):
        return line
    gone = BUILTINS - bound
    if "*" in bound:  # what that brings is not known
        gone = gone & ONLY_BUILTINS
    for node in _unguarded(tree):
        match node:
            case ast.Name(id=name) if name in gone:
                return node.lineno
            case ast.Call(ast.Name("sorted") | ast.Attribute(attr="sort"), keywords=options):
                if any(option.arg == "cmp" for option in options):
                    return node.lineno
            case ast.Import(names=names) if any(alias.name in GONE_MODULES for alias in names):
                return node.lineno
            case ast.ImportFrom(module=name, level=0) if name in GONE_MODULES:
                return node.lineno
    return None


def _unguarded(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those in `try: ... except NameError` and under questions for Python's version."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Try) and _looks_for_names(child):
            continue
        if isinstance(child, (ast.If, ast.IfExp)) and asks_for_version(child):
            continue
        yield child
        yield from _unguarded(child)


def _looks_for_names(node: ast.Try) -> bool:
    """Whether it catches that a name is not there. `except Exception` around a loop or a `with` is about what that
    does: training that is interrupted, data that end."""
    caught = [handler.type for handler in node.handlers]
    types = [kind for each in caught for kind in (each.elts if isinstance(each, ast.Tuple) else [each])]
    names = {kind and getattr(kind, "id", getattr(kind, "attr", "")) for kind in types}
    if not names.isdisjoint(_OF_NAMES):
        return True
    works = any(isinstance(each, ast.For | ast.While | ast.With) for each in node.body)
    return not works and not names.isdisjoint(_OF_ALL)


def asks_for_version(node: ast.If | ast.IfExp) -> bool:
    """Whether what follows is for one version of Python."""
    return re.search(r"version|PY2|PY3|hasattr|python_2|python2", ast.unparse(node.test)) is not None


def may_be_python2(code: CodeType, names: set[str]) -> bool:
    """Whether code that Python 3 compiles, and that mentions these names, may need what only Python 2 had."""
    named = bool(names & MARKS) or "next" in names or any(names >= each for each in FILES)
    return named or ("print" in names and may_print_to_files(code)) or may_slice_by_quotients(code)


def has_gone(tree: ast.Module) -> bool:
    """Whether there is something for `Gone`."""
    return bool(views_taken(tree)) or any(
        (isinstance(node, ast.Attribute) and node.attr in GONE)
        or (isinstance(node, ast.ClassDef) and was_iterator(node))
        or takes_next(node)
        for node in ast.walk(tree)
    )


def takes_next(node: ast.AST) -> bool:
    """Whether it is `iterator.next()`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "next"
        and not (node.args or node.keywords)
    )


def was_iterator(node: ast.ClassDef) -> bool:
    defined = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return defined >= ITERATOR and "__next__" not in defined


def futures(tree: ast.Module) -> set[str]:
    """What the text imports from __future__."""
    return {alias.name for node in tree.body if is_future(node) for alias in node.names}


def is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
