"""Where a text that Python 3 parses, too, takes for lists, which Python 2 gave, the results of map, filter, zip, range
and of the methods keys, values and items."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

LAZY = frozenset({"filter", "map", "zip"})
_COUNTS = frozenset({"range"})
_CHANGES = frozenset({"append", "extend", "insert", "pop", "remove", "reverse", "sort"})
"""Methods of lists that those of `range` lack."""

VIEWS = frozenset({"keys", "values", "items"})
_OF_LISTS = frozenset({"choice", "sample", "shuffle"})
"""Functions of `random` that take lists, and no views of dicts."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def takes_for_lists(tree: ast.Module, bound: set[str]) -> int | None:
    """The line that indexes such a result, asks for its length, changes it or draws from it, if one does, at once or by
    a name that has no other value: Python 3 would end there. Those of `range` have elements in both. bound:
    names that the text gives values itself."""
    lazy, counts = LAZY - bound, _COUNTS - bound
    kinds = ((lazy, _taken), (lazy, _changed), (lazy, _drawn), (counts, _changed), (counts, _shuffled))
    scopes = scopes_of(tree)
    found = (line for scope in scopes for kind in kinds for line in _lines(scope, *kind))
    return next(found, None) or next(_given_to_functions(scopes, lazy), None)


def _given_to_functions(scopes: list[ast.AST], lazy: frozenset[str]) -> Iterator[int]:
    """The lines that call a function of the text with such a result for an argument that it takes for a list."""
    takers = _takers(scopes)
    for scope in scopes if takers else []:
        nodes = list(own_nodes(scope))
        names = values_of_names(nodes, lambda value: _is_lazy(value, lazy))
        for node in nodes:
            match node:
                case ast.Call(func=ast.Name(id=called), args=args) if called in takers:
                    for given, is_taken in zip(args, takers[called], strict=False):
                        if is_taken and (_is_lazy(given, lazy) or (isinstance(given, ast.Name) and given.id in names)):
                            yield node.lineno


def _takers(scopes: list[ast.AST]) -> dict[str, list[bool]]:
    """Functions, and which of their arguments they, or functions in them, index or ask for their length, without
    giving them another value or looking at what they are first."""
    found: dict[str, list[bool]] = {}
    several = set[str]()
    for scope in scopes:
        if not isinstance(scope, ast.FunctionDef):
            continue
        if scope.name in found:
            several.add(scope.name)
        nodes = list(ast.walk(scope))
        taken = {each.id for node in nodes for each in _taken(node) if isinstance(each, ast.Name)}
        taken -= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        if any(isinstance(node, ast.Name) and node.id in ("isinstance", "hasattr", "type") for node in nodes):
            taken.clear()
        found[scope.name] = [arg.arg in taken for arg in scope.args.args]
    return {name: taken for name, taken in found.items() if any(taken) and name not in several}


def scopes_of(tree: ast.Module) -> list[ast.AST]:
    """The module and its functions."""
    return [tree, *(node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))]


def _lines(scope: ast.AST, functions: frozenset[str], taken_by: Callable[[ast.AST], list[ast.expr]]) -> Iterator[int]:
    nodes = list(own_nodes(scope))
    lazy = values_of_names(nodes, lambda value: _is_lazy(value, functions))
    for node in nodes:
        for taken in taken_by(node):
            if _is_lazy(taken, functions) or (isinstance(taken, ast.Name) and taken.id in lazy):
                yield taken.lineno


def values_of_names(nodes: list[ast.AST], is_one: Callable[[ast.expr], bool]) -> frozenset[str]:
    """The names to which these nodes of a scope give such values, and no others."""
    targets = [
        target
        for node in nodes
        if isinstance(node, ast.Assign) and is_one(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    others = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in targets
    }
    others.update(name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names)
    return frozenset(target.id for target in targets) - others


def views_taken(tree: ast.Module) -> set[ast.expr]:
    """The calls of `keys`, `values` and `items` whose results are taken for lists, at once or by a name that has no
    other value: Python 3 would end there, if they are of dicts."""
    found = set[ast.expr]()
    for scope in scopes_of(tree):
        nodes = list(own_nodes(scope))
        taken = [each for node in nodes for each in _taken_for_list(node)]
        found.update(each for each in taken if _is_view(each))
        names = {each.id for each in taken if isinstance(each, ast.Name)} & values_of_names(nodes, _is_view)
        for node in nodes:
            match node:
                case ast.Assign(targets=targets, value=value) if _is_view(value):
                    if any(isinstance(target, ast.Name) and target.id in names for target in targets):
                        found.add(value)
    return found


def _is_view(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr), args=[], keywords=[]):
            return attr in VIEWS
    return False


def _taken_for_list(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Subscript(value=value):
            return [value]
        case ast.Attribute(value=value, attr=attr) if attr in _CHANGES:
            return [value]
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return [left, right]
        case ast.Call(func=ast.Attribute(attr=attr), args=[first, *_]) if attr in _OF_LISTS:
            return [first]
    return []


def _taken(node: ast.AST) -> list[ast.expr]:
    """What a node takes for a list."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return [node.value]
    is_len = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    return node.args[:1] if is_len and isinstance(node, ast.Call) else []


def _drawn(node: ast.AST) -> list[ast.expr]:
    """What a node draws from, or shuffles."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=attr), args=[first, *_]
        ):
            return [first] if name == "random" and attr in _OF_LISTS else []
    return []


def _changed(node: ast.AST) -> list[ast.expr]:
    """What a node changes or joins as a list."""
    match node:
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return [value]
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CHANGES:
            return [value]
        case ast.BinOp(left=ast.List() | ast.Call() as left, op=ast.Add(), right=ast.List() | ast.Call() as right):
            return [left, right] if isinstance(left, ast.List) or isinstance(right, ast.List) else []
    return []


def _shuffled(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Attribute(attr="shuffle"), args=[value, *_]):
            return [value]
    return []


def _is_lazy(node: ast.expr, functions: frozenset[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, but for those of functions inside."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _FUNCTIONS):
            yield from own_nodes(child)
