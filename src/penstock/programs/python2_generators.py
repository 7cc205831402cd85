"""Generators end where a StopIteration passes through them (until Python 3.7, PEP 479): one of another iterator
(`while True: yield examples.next()`), or one that they raise themselves."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import CodeType

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_MENTIONS = frozenset({"StopIteration", "next", "__next__"})


def is_needed(code: CodeType) -> bool:
    """Whether code, or a function in it, is a generator that draws from an iterator or mentions StopIteration."""
    if code.co_flags & inspect.CO_GENERATOR and not _MENTIONS.isdisjoint(code.co_names):
        return True
    return any(is_needed(each) for each in code.co_consts if isinstance(each, CodeType))


class Conversions(ast.NodeTransformer):
    """Lets the generators of Python 3 end so where they mention what may raise StopIteration."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        return ends_quietly(node) if any(map(_may_stop, _own(node))) else node


def _may_stop(node: ast.AST) -> bool:
    return getattr(node, "id", None) in _MENTIONS or getattr(node, "attr", None) in _MENTIONS


def ends_quietly(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function, whose body a StopIteration ends if it is a generator.

    Those of contextlib stay as they are: they are told of errors where they yield, and one that ends there hides it.
    """
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in _own(node))
    if yields and not any(map(_is_of_contexts, node.decorator_list)):
        told = int(ast.get_docstring(node) is not None)
        handler = ast.ExceptHandler(ast.Name("StopIteration", ast.Load()), None, [ast.Return(None)])
        whole = ast.copy_location(ast.Try(node.body[told:], [handler], [], []), node.body[-1])
        node.body = [*node.body[:told], ast.fix_missing_locations(whole)]
    return node


def _is_of_contexts(decorator: ast.expr) -> bool:
    """Whether it is `contextmanager`, by that name or as an attribute."""
    return "contextmanager" in (getattr(decorator, "id", None), getattr(decorator, "attr", None))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function that are of no function in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _own(child)
