"""Cells of notebooks as Python: what is IPython's in them calls `get_ipython()`, each on its own line."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize

from penstock.programs.python2_parsing import UNPARSABLE

WATCHING = frozenset({"capture", "prun", "time", "timeit"})
"""Magics that only watch what they run."""

_CELL = re.compile(r"((?:[ \t]*(?:#[^\n]*)?\n)*)[ \t]*%%(\w+)([^\n]*)\n?")
_ASSIGNED = re.compile(r"^(\s*[\w., \[\]'\"]+?\s*=\s*)([%!])(?!=)(.+)$")
_LINE = re.compile(r"^(\s*)(%|!!?)\s?([\w.]*)(.*)$")
_HELP = re.compile(r"^(\s*)(\?{1,2}\S.*|[\w.%*]+\?{1,2})\s*;?$")
_OPTIONS = re.compile(r"^(\s+-[nrp]\s*\d+|\s+-[a-z]+)*")


def plain(text: str) -> str:
    """A cell without magics, moved to the left if all of it is indented; its lines keep their numbers."""
    text = textwrap.dedent(text)
    head = _CELL.match(text)
    if head and head[2] not in WATCHING:
        call = f"get_ipython().run_cell_magic({head[2]!r}, {head[3].strip()!r}, {text[head.end() :]!r})"
        return head[1] + call
    if head:
        watched = _OPTIONS.sub("", head[3]).strip() if head[2] == "timeit" else ""
        text = f"{head[1]}{watched}\n{text[head.end() :]}"
    try:
        ast.parse(text)
        return text
    except (SyntaxError, *UNPARSABLE):
        return _lines_without(text)


def _lines_without(text: str) -> str:
    done: list[str] = []
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        found = _without_magic(line)
        if found == line or _is_open("\n".join(done)):
            done.append(line)
            continue
        blank = 0
        while line.rstrip().endswith("\\") and lines:  # a command over several lines
            line = line.rstrip()[:-1] + lines.pop(0)
            blank += 1
        done += [_without_magic(line), *[""] * blank]
    return "\n".join(done)


def _without_magic(line: str) -> str:
    if match := _ASSIGNED.match(line):
        before, sign, rest = match.groups()
        name, _, words = rest.strip().partition(" ")
        call = f"run_line_magic({name!r}, {words!r})" if sign == "%" else f"getoutput({rest.strip()!r})"
        return f"{before}get_ipython().{call}"
    if match := _HELP.match(line):
        return f"{match[1]}pass"
    if not (match := _LINE.match(line)):
        return line
    indent, sign, name, rest = match.groups()
    if sign != "%":
        return f"{indent}get_ipython().system({(name + rest).strip()!r})"
    if not name:
        return line
    if name in WATCHING:
        return indent + (_OPTIONS.sub("", rest).strip() or "pass")
    return f"{indent}get_ipython().run_line_magic({name!r}, {rest.strip()!r})"


def _is_open(text: str) -> bool:
    """Whether the text ends within brackets or a string, where a line that begins with % is none of IPython's."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            pass
    except tokenize.TokenError as error:
        return "EOF" in str(error) or "unterminated triple" in str(error)
    except SyntaxError:
        pass
    return False
