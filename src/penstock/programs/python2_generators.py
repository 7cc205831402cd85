"""Generators of Python 2 end where a StopIteration of another iterator passes through them (until Python 3.7, PEP 479):
`while True: yield examples.next()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def ends_quietly(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function, whose body a StopIteration ends if it is a generator.

    Those of contextlib stay as they are: they are told of errors where they yield, and one that ends there hides it.
    """
    if any(isinstance(each, ast.Yield) for each in _own(node)) and not any(map(_is_of_contexts, node.decorator_list)):
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
