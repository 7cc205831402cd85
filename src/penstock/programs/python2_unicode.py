"""Where Python 2 text encodes what is `unicode` to have a `str`: here, a `str` is text and stays it.

`x.encode("utf-8")` is text (`python2_names.encode`) but in calls of what takes bytes only.
"""

from __future__ import annotations

import ast
import re

_TAKES_BYTES = re.compile(
    r"md5|sha\d+|len|b64\w+|frombuffer|fromstring|send(all|to)?|communicate|compress|crc32|adler32|pack|hexlify"
    r"|loads|update|\w*bytes\w*",
    re.IGNORECASE,
)
"""Names of functions that take bytes, or count them."""

_MARK = "takes_bytes"


def mark_bytes(call: ast.Call) -> None:
    """Note for `wants_bytes` what is encoded in the arguments of a function that takes bytes."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if _TAKES_BYTES.fullmatch(name):
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            for node in ast.walk(argument):
                setattr(node, _MARK, True)


def wants_bytes(node: ast.Call) -> bool:
    return hasattr(node, _MARK)


def leave_text(node: ast.If | ast.IfExp) -> None:
    """`if isinstance(x, unicode): x = x.encode("utf-8")` and its like, whose `x.encode(...)` becomes `x`."""
    name = _asked_for(node.test)
    if name is None:
        return
    if isinstance(node, ast.If):
        node.body = [_Encoded(name).visit(each) for each in node.body]
    else:
        node.body = _Encoded(name).visit(node.body)


def _asked_for(test: ast.expr) -> str | None:
    """The name of what a condition asks whether it is unicode, which fissix has written as `str`."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), ast.Name(id="str" | "unicode")]):
            return name
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)]),
            ops=[ast.Is() | ast.Eq()],
            comparators=[ast.Name(id="str" | "unicode")],
        ):
            return name
    return None


class _Encoded(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id=name) as text, attr="encode") if name == self._name:
                return text
        return node
