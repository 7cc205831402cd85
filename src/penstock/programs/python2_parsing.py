"""Python 2 text parsed, in memory, line by line: what Python 3 does not parse is converted by fissix (a maintained
lib2to3)."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.programs.python2_files import prints_to_file

FIXERS = ("except", "exec", "ne", "numliterals", "paren", "print", "raise", "repr", "throw", "tuple_params", "unicode")
"""Of fissix: those for what Python 3 does not parse."""


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
