"""Python 2 text as Python 3 code that does what Python 2 did, in memory, line by line.

Syntax is fissix's (a maintained lib2to3). Meaning is changed in the syntax tree, where lines stay what they are:
division, methods of dicts, imports. What built-in functions did then is in `python2_names.py`, which converted modules
get as their built-ins.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, TypeGuard

from penstock.programs.python2_comparisons import COMPARED, given_none, is_none, methods_for_cmp
from penstock.programs.python2_counts import COUNTING, PADDING, PADS, counts_by_quotients, may_slice_by_quotients
from penstock.programs.python2_files import may_print_to_files, prints_to_file, takes_for_text
from penstock.programs.python2_generators import ends_quietly
from penstock.programs.python2_lists import LAZY, takes_for_lists, views_taken
from penstock.programs.python2_modules import MODULES, PREFIX
from penstock.programs.python2_names import TEXT_METHODS
from penstock.programs.python2_strings import gives_strings, replaced, taken_function
from penstock.programs.python2_unicode import leave_text, mark_bytes, wants_bytes

FIXERS = ("except", "exec", "ne", "numliterals", "paren", "print", "raise", "repr", "throw", "tuple_params", "unicode")
"""Of fissix: those for what Python 3 does not parse."""

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

TEXTS = frozenset({"str", "unicode"})
"""The type of text, which in Python 2 also decoded what literals and files gave."""

ATTRIBUTES = {
    **{f"func_{name}": f"__{name}__" for name in ("closure", "code", "defaults", "dict", "doc", "globals", "name")},
    "im_func": "__func__",
    "im_self": "__self__",
}

SPECIAL = {"next": "__next__", "__nonzero__": "__bool__", "__div__": "__truediv__", "__unicode__": "__str__"}
"""What methods of classes are called now."""

GONE_MODULES = MODULES.keys() - sys.stdlib_module_names
"""Text that imports one of these is Python 2; `pickle` is there in both."""

MARKS = BUILTINS | GONE | GONE_MODULES | LAZY | COUNTING | PADDING | {PADS}
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
    frozenset({"read", "decode"}),
)
"""Names that code mentions which may read or write bytes as text."""


class NeitherPythonError(SyntaxError):
    """Text that is neither Python 3 nor Python 2. Its line is that of Python 3's error."""


def parse(text: str, file: str) -> tuple[ast.Module, int | None]:
    """Text as Python 3's tree, and the line that says so if it is Python 2. Raises SyntaxError if it is neither."""
    try:
        tree = ast.parse(text, file)
        if line := prints_to_file(tree):
            return tree_of(text, file, SyntaxError("print >> file", (file, line, 1, None))), line
        return tree, None
    except SyntaxError as error:
        return tree_of(text, file, error), error.lineno or 1
    except UNPARSABLE as error:
        raise unparsable(error, file) from None


UNPARSABLE = (ValueError, MemoryError, RecursionError)
"""What Python's parser raises for null bytes, and for brackets in brackets."""


def unparsable(error: Exception, file: str) -> SyntaxError:
    """One of these as a SyntaxError."""
    return SyntaxError(str(error) or "too deeply nested", (file, 1, 1, None))


def tree_of(text: str, file: str, error: SyntaxError) -> ast.Module:
    """Text that Python 3 does not parse, as Python 3's tree. Raises NeitherPythonError; `error` is Python 3's."""
    try:
        converted = refactored(expanded(text))
        tree = ast.parse(converted, file)
    except (SyntaxError, *UNPARSABLE) as second:
        told = f"{error.msg} (nor does it parse as Python 2: {getattr(second, 'msg', second)})"
        raise NeitherPythonError(told, (file, error.lineno or 1, error.offset, error.text)) from None
    _keep_lines(tree, text, converted)
    return tree


def refactored(text: str, fixers: Sequence[str] = FIXERS) -> str:
    """Text as fissix's fixers change it. Raises ValueError if it is no Python 2."""
    from fissix.pgen2.parse import ParseError
    from fissix.pgen2.tokenize import TokenError
    from fissix.refactor import RefactoringTool

    names = [f"fissix.fixes.fix_{name}" for name in fixers]
    failed: Exception | None = None
    for print_function in (False, True):  # the text may have tabs and `except E, e` and yet a print function
        tool = RefactoringTool(names, {"print_function": print_function})
        parse = tool.driver.parse_tokens
        tool.driver.parse_tokens = lambda tokens, debug=False, parse=parse: parse(_parsable(tokens), debug)
        try:
            return str(tool.refactor_string(text if text.endswith("\n") else text + "\n", "program"))
        except (ParseError, TokenError, IndentationError, RecursionError) as error:
            failed = failed or error
    raise ValueError(_told(failed))


def _parsable(tokens: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Raises TokenError for characters that are in neither Python, and for more brackets in brackets than either takes:
    each takes the parser kilobytes."""
    from fissix.pgen2.grammar import opmap
    from fissix.pgen2.token import OP
    from fissix.pgen2.tokenize import TokenError

    depth = 0
    for each in tokens:
        if each[0] == OP and each[1] not in opmap:
            raise TokenError(f"invalid character {each[1]!r}", each[2])
        depth += (each[1] in _OPENING) - (each[1] in _CLOSING)
        if depth > _DEEPEST:
            raise TokenError("too many nested parentheses", each[2])
        yield each


_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_DEEPEST = 200


def _told(error: Exception | None) -> str:
    context = getattr(error, "context", None)  # of a ParseError: the token's prefix, and its line and column
    return f"line {context[1][0]}" if context else str(error.args[0] if error and error.args else error)


def expanded(text: str) -> str:
    """A tab at the beginning of a line reaches to the next multiple of eight columns, but in texts of many lines."""
    lines = text.splitlines(keepends=True)
    inside = _lines_in_strings(text) if "\t" in text else set()
    for number, line in enumerate(lines):
        rest = line.lstrip(" \t\f")
        if number not in inside and "\t" in line[: len(line) - len(rest)]:
            lines[number] = line[: len(line) - len(rest)].expandtabs(8) + rest
    return "".join(lines)


def _lines_in_strings(text: str) -> set[int]:
    """Numbers, from 0, of the lines that begin within a string."""
    from fissix.pgen2 import token, tokenize

    found: set[int] = set()
    with contextlib.suppress(tokenize.TokenError, IndentationError):  # which parsing will tell
        for kind, _, start, end, _ in tokenize.generate_tokens(iter(text.splitlines(keepends=True)).__next__):
            if kind == token.STRING:
                found.update(range(start[0], end[0]))
    return found


def _keep_lines(tree: ast.Module, before: str, after: str) -> None:
    """Some fixers add lines: nodes after them get the lines that they have in the file."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) == len(new):
        return
    import difflib

    lines: dict[int, int] = {}
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for j in range(j1, j2):
            lines[j + 1] = min(i1 + j - j1, max(i2 - 1, i1)) + 1
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.excepthandler, ast.arg, ast.keyword, ast.alias)):
            node.lineno = lines.get(node.lineno, node.lineno)
            node.end_lineno = max(node.lineno, lines.get(node.end_lineno or 0, node.end_lineno or 0))


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
        if (taken := taken_function(node)) is not None:
            return replaced(node, taken, _call("taking_strings", taken, taken))
        if gives_strings(node):
            return _call("strings", node, node)
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


def may_be_python2(code: CodeType, names: set[str]) -> bool:
    """Whether code that Python 3 compiles, and that mentions these names, may need what only Python 2 had."""
    named = bool(names & MARKS) or "next" in names or any(names >= each for each in FILES)
    return named or ("print" in names and may_print_to_files(code)) or may_slice_by_quotients(code)


def has_gone(tree: ast.Module) -> bool:
    """Whether there is something for `Gone`."""
    return bool(views_taken(tree)) or any(
        (isinstance(node, ast.Attribute) and node.attr in GONE)
        or (isinstance(node, ast.ClassDef) and _was_iterator(node))
        or _takes_next(node)
        for node in ast.walk(tree)
    )


def _takes_next(node: ast.AST) -> bool:
    """Whether it is `iterator.next()`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "next"
        and not (node.args or node.keywords)
    )


def _was_iterator(node: ast.ClassDef) -> bool:
    defined = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return defined >= ITERATOR and "__next__" not in defined


class Gone(Meaning):
    """For text that is not Python 2 otherwise: what dicts and iterators lack in Python 3, views of dicts that are taken
    for lists, and what was an iterator."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(None, divides=False)
        self._taken = views_taken(tree)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        gone = isinstance(node.func, ast.Attribute) and node.func.attr in GONE
        if gone or node in self._taken or _takes_next(node):
            return super().visit_Call(node)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return self.generic_visit(node)

    visit_BinOp = visit_Compare = visit_Import = visit_ImportFrom = visit_Attribute  # type: ignore[assignment]
    visit_Subscript = visit_FunctionDef = visit_Attribute  # type: ignore[assignment]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return super().visit_ClassDef(node) if _was_iterator(node) else self.generic_visit(node)


def futures(tree: ast.Module) -> set[str]:
    """What the text imports from __future__."""
    return {alias.name for node in tree.body if is_future(node) for alias in node.names}


def is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


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
