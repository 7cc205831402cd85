"""Functions whose results were fewer: `outputs, state = dynamic_decode(decoder)`, until TensorFlow 1.1.

What a call's results are unpacked into is in the syntax tree only, so that is changed there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.report import REPORT

FEWER = {"dynamic_decode": 2}
"""By name: into how many names programs of earlier versions unpack what is one more now."""

_FIRST = "_first_results"


def is_needed(names: set[str]) -> bool:
    """Whether code that mentions these names may do it."""
    return not names.isdisjoint(FEWER)


class Unpackings(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        name = _name_of(node.value)
        count = FEWER.get(name)
        if count is not None and any(_takes(target, count) for target in node.targets):
            arguments = [node.value, ast.Constant(count), ast.Constant(name)]
            node.value = ast.copy_location(ast.Call(ast.Name(_FIRST, ast.Load()), arguments, []), node.value)
        return node


def _name_of(value: ast.expr) -> str:
    """The last part of the name of the function that is called; empty if it is no call of such."""
    function = value.func if isinstance(value, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def _takes(target: ast.expr, count: int) -> bool:
    """Whether it is just as many names."""
    if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != count:
        return False
    return not any(isinstance(each, ast.Starred) for each in target.elts)


def first(results: Any, count: int, name: str) -> Any:
    """`results` without the last, if they are one more than `count`."""
    if not isinstance(results, tuple) or len(results) != count + 1:
        return results
    REPORT.use(f"{name} of {count} results", sys._getframe(1))
    return results[:count]


HELPERS: dict[str, Callable[..., Any]] = {_FIRST: first}
"""What the changed tree calls, as built-in names."""
