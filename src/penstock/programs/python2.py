"""Python 2 text as Python 3 code that does what Python 2 did: meaning is changed in the syntax tree, where lines stay
what they are: division, methods of dicts, imports.

What Python 3 does not parse is `python2_parsing.py`'s; what built-in functions did then is in `python2_names.py`, which
converted modules get as their built-ins.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from penstock.programs.python2_comparisons import COMPARED, given_none, is_none, methods_for_cmp
from penstock.programs.python2_counts import length_of_deque
from penstock.programs.python2_generators import ends_quietly
from penstock.programs.python2_lists import views_taken
from penstock.programs.python2_modules import MODULES, PREFIX
from penstock.programs.python2_names import TEXT_METHODS
from penstock.programs.python2_signs import GONE, takes_next, was_iterator
from penstock.programs.python2_strings import gives_strings, makes_characters, replaced, taken_function
from penstock.programs.python2_unicode import leave_text, mark_bytes, wants_bytes

METHODS = {
    **dict.fromkeys(("keys", "values", "items", "next"), 0),
    **{f"{how}{what}": 0 for how in ("iter", "view") for what in ("keys", "values", "items")},
    "has_key": 1,
    "decode": None,
    "encode": None,
    "sort": 1,
    "translate": 2,
    "tostring": 0,
    "itemset": None,
    "ptp": None,
    "newbyteorder": None,
    **dict.fromkeys(TEXT_METHODS),
}
"""Methods that Python 3 lacks or that gave something else, and how many arguments they took (None: any number)."""

NAMING = frozenset({"ptp", "encode"})
"""Those of them that took arguments by name."""

TEXTS = frozenset({"str", "unicode"})
"""The type of text, which in Python 2 also decoded what literals and files gave."""

ATTRIBUTES = {
    **{f"func_{name}": f"__{name}__" for name in ("closure", "code", "defaults", "dict", "doc", "globals", "name")},
    "im_func": "__func__",
    "im_self": "__self__",
}
SPECIAL = {"next": "__next__", "__nonzero__": "__bool__", "__div__": "__truediv__", "__unicode__": "__str__"}
"""What methods of classes are called now."""


class Meaning(ast.NodeTransformer):
    """Gives Python 2's meaning to what parses. The helpers that it calls are in `python2_names.py`."""

    def __init__(self, folder: Path | None = None, divides: bool = True) -> None:
        """folder: of the package that the module is in, if it is in one, where its imports look first."""
        self._folder = folder
        self._divides = divides
        self._nones: set[str] = set()

    def visit_If(self, node: ast.If) -> ast.AST:
        leave_text(node)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        leave_text(node)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add) and (_is_bytes(node.left) or _is_bytes(node.right)):
            return _call("add", node, node.left, node.right)
        if isinstance(node.op, ast.Mod) and _is_text(node.left):
            node.right = _as_text(node.right)
            return node
        if not (self._divides and isinstance(node.op, ast.Div)) or _is_float(node.left) or _is_float(node.right):
            return node
        return _call("div", node, node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        calls = any(isinstance(each, ast.Call) for each in ast.walk(node.target))  # which must run once
        if not (self._divides and isinstance(node.op, ast.Div)) or _is_float(node.value) or calls:
            return node
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        for each in ast.walk(read):
            ast.copy_location(each, node)
        return ast.copy_location(ast.Assign([node.target], _call("idiv", node, read, node.value)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        mark_bytes(node)
        self.generic_visit(node)
        called = node.func
        if (length := length_of_deque(node)) is not None:
            length.value = _call("length", node, length.value)
            return node
        if (taken := taken_function(node)) is not None:
            return replaced(node, taken, _call("taking_strings", taken, taken))
        if gives_strings(node):
            return _call("strings", node, node)
        if makes_characters(node):
            return _call("characters", node, node)
        if _shows_text(called):
            node.args = [_as_text(each) for each in node.args]
            for keyword in node.keywords:
                keyword.value = _as_text(keyword.value)
            return node
        if isinstance(called, ast.Name) and called.id in TEXTS:  # unicode(text, "utf-8", errors="ignore")
            named = [keyword.arg for keyword in node.keywords]
            how = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
            fits = named == ["encoding", "errors"][len(how) - len(named) : len(how)]
            if len(node.args) == 1 and not how and not isinstance(node.args[0], ast.Constant | ast.Starred):
                return _call("str", node, called, *node.args)
            return _call("decode", node, node.args[0], *how) if node.args and how and fits else node
        if isinstance(called, ast.Attribute) and called.attr in TEXT_METHODS and not node.args:
            return node
        if isinstance(called, ast.Attribute) and called.attr == "join" and _is_text(called.value) and _takes_one(node):
            return _call("join", node, called.value, node.args[0])
        if not isinstance(called, ast.Attribute) or called.attr not in METHODS or _is_module(called.value):
            return node
        if METHODS[called.attr] not in (None, len(node.args)) or (node.keywords and called.attr not in NAMING):
            return node
        if called.attr == "encode" and wants_bytes(node):
            return node
        call = _call(called.attr, node, called.value, *node.args)
        call.keywords = node.keywords
        return call

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return _call("strings", node, node) if gives_strings(node) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = ATTRIBUTES.get(node.attr, node.attr)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        return ends_quietly(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        defined = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        for each in list(node.body):
            if isinstance(each, ast.FunctionDef) and SPECIAL.get(each.name, each.name) not in defined:
                alias = ast.Assign([ast.Name(SPECIAL[each.name], ast.Store())], ast.Name(each.name, ast.Load()))
                node.body.append(ast.fix_missing_locations(ast.copy_location(alias, each)))
            elif isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "__metaclass__":
                node.keywords.append(ast.keyword("metaclass", each.value))
        if "__cmp__" in defined:
            node.body += methods_for_cmp(node, defined)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`loss < best`, where `best` is None before: in Python 2, None is less than everything."""
        self.generic_visit(node)
        found = COMPARED.get(type(node.ops[0]))
        if len(node.ops) > 1 or found is None or not any(map(self._may_be_none, (node.left, node.comparators[0]))):
            return node
        return _call(found, node, node.left, node.comparators[0])

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self._nones = given_none(node)
        return self.generic_visit(node)

    def _may_be_none(self, node: ast.expr) -> bool:
        return ast.unparse(node) in self._nones if isinstance(node, (ast.Name, ast.Attribute)) else is_none(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.AST]:
        found: list[ast.AST] = []
        for alias in node.names:
            top, _, rest = alias.name.partition(".")
            if self._is_beside(top):
                if alias.asname and rest:
                    parent, _, last = alias.name.rpartition(".")
                    made: list[ast.stmt] = [ast.ImportFrom(parent, [ast.alias(last, alias.asname)], 1)]
                else:
                    made = [ast.ImportFrom(alias.name, [ast.alias("__name__", "_")], 1)] if rest else []
                    made.append(ast.ImportFrom(None, [ast.alias(top, alias.asname)], 1))
            elif alias.name in MODULES:
                made = [ast.Import([ast.alias(PREFIX + alias.name, alias.asname or alias.name)])]
            else:
                made = [ast.Import([alias])]
            found += (ast.fix_missing_locations(ast.copy_location(each, node)) for each in made)
        return found

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if not node.level and node.module and self._is_beside(node.module.partition(".")[0]):
            node.level = 1
        elif not node.level and node.module in MODULES:
            node.module = PREFIX + node.module
        return node

    def _is_beside(self, name: str) -> bool:
        """Python 2 looked in the module's own package first."""
        if self._folder is None:
            return False
        return (self._folder / f"{name}.py").is_file() or (self._folder / name / "__init__.py").is_file()


class Gone(Meaning):
    """For text that is not Python 2 otherwise: what dicts and iterators lack in Python 3, views of dicts that are taken
    for lists, and what was an iterator."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(None, divides=False)
        self._taken = views_taken(tree)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        gone = isinstance(node.func, ast.Attribute) and node.func.attr in GONE
        if gone or node in self._taken or takes_next(node):
            return super().visit_Call(node)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return self.generic_visit(node)

    visit_BinOp = visit_Compare = visit_Import = visit_ImportFrom = visit_Attribute  # type: ignore[assignment]
    visit_Subscript = visit_FunctionDef = visit_Attribute  # type: ignore[assignment]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return super().visit_ClassDef(node) if was_iterator(node) else self.generic_visit(node)


def _call(helper: str, node: ast.AST, *arguments: ast.expr) -> ast.Call:
    call = ast.Call(ast.Name(f"_py2_{helper}", ast.Load()), list(arguments), [])
    ast.copy_location(call, node)
    ast.copy_location(call.func, node)
    return call


def _shows_text(called: ast.expr) -> bool:
    """Whether it is `print`, `"...".format` or `os.path.join`."""
    match called:
        case ast.Name(id="print") | ast.Attribute(value=ast.Attribute(attr="path"), attr="join"):
            return True
        case ast.Attribute(value=text, attr="format"):
            return _is_text(text)
    return False


def _as_text(node: ast.expr) -> ast.expr:
    """A value where text is shown or joined: strings of tensors and files are bytes here, and were text."""
    return node if isinstance(node, ast.Constant | ast.Starred) else _call("text", node, node)


def _takes_one(node: ast.Call) -> bool:
    return len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_float(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _is_bytes(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bytes)


def _is_module(node: ast.expr) -> bool:
    """`np.sort(x)` is a function of a module, as far as its name tells."""
    return isinstance(node, ast.Name) and node.id in {
        "np",
        "numpy",
        "tf",
        "tensorflow",
        "string",
        "codecs",
        "six",
        "re",
    }
