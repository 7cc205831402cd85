"""Turns C statements that differ only in names and literals into calls of one function.

Compile time depends on how much text is distinct, and grows faster than linearly with the length of a function. An
unrolled network, or the updates of many variables, repeats the same statement hundreds of times with other buffers and
constants; it is compiled once. A constant that is the same in all of them stays in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_TEXT = 6000
"""The most characters of statements in one function, if it can be divided."""
LEAST_TEXT = 100
"""The fewest characters for which a statement is worth a function; loops always are."""

_TAKEN = re.compile(r"\((NAME_\w+) \+ (\d+)\)|NAME_\w+|\((?:-?0x[0-9a-f.]+p[+-]\d+|-?NAN_f\d+|-?INF_f\d+)f?\)")
_PLACE = re.compile(r"@(\d+)@")
_RETURNS = re.compile(r"\b(?:FAIL|return)\b")
_BOUND = re.compile(r"\b(?:static|NAME_arena|NAME_table|NAME_given|goto)\b|[#@]")
"""What cannot be moved to another function."""


@dataclass(eq=False, slots=True)
class Pattern:
    """The common `text` of some statements, with the placeholders @0@, @1@ and so on for their arguments.

    types: the C types of the arguments. takes: the arguments of each statement (names and literals), in order.
    """

    text: str
    types: tuple[str, ...]
    takes: list[tuple[str, ...]] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """Finds statements of the same pattern in a function that is being written.

    types: the C types of names that can be arguments; other names are part of the text.
    """

    types: Mapping[str, str]
    distinct: int = 0
    """Characters of all statements so far, with repeated ones counted once."""
    patterns: dict[tuple[str, tuple[str, ...]], Pattern] = field(default_factory=dict)

    def add(self, text: str) -> Statement:
        """Adds a statement that `is_whole`."""
        if len(text) < LEAST_TEXT and "for (" not in text:
            return Statement(text)
        said, takes, types = _divided(text, self.types)
        pattern = self.patterns.get((said, types))
        if pattern is None:
            pattern = self.patterns[said, types] = Pattern(said, types)
            self.distinct += len(said)
        pattern.takes.append(takes)
        return Statement(text, pattern, takes)


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    pattern: Pattern | None = None
    takes: tuple[str, ...] = ()


def outlined(blocks: list[list[Statement]]) -> tuple[list[str], list[list[str]]]:
    """Returns functions, and the text of `blocks` of statements with calls of these functions where it is worth it.

    It is for repeated statements, and for all statements of a block that is too long for one function.
    """
    long = [sum(len(s.text) for s in block) > MOST_TEXT for block in blocks]
    numbers: dict[Pattern, int] = {}
    for block, is_long in zip(blocks, long, strict=True):
        for s in block:
            if s.pattern is not None and (is_long or len(s.pattern.takes) > 1):
                numbers.setdefault(s.pattern, len(numbers))
    fixed = {pattern: _same(pattern) for pattern in numbers}
    functions = [_function(number, pattern, fixed[pattern]) for pattern, number in numbers.items()]
    texts = [
        [_call(numbers[s.pattern], s, fixed[s.pattern]) if s.pattern in numbers else s.text for s in block]
        for block in blocks
    ]
    return functions, texts


def is_whole(text: str) -> bool:
    """Whether a statement has the same meaning in its own function."""
    return text.count("{") == text.count("}") and not text.startswith("}") and not _BOUND.search(text)


def _divided(text: str, types: Mapping[str, str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Returns the text with placeholders, its arguments, and their types."""
    names: dict[str, int] = {}
    takes: list[str] = []
    found: list[str] = []

    def replace(match: re.Match[str]) -> str:
        whole = match[0]
        name = match[1] or whole
        if name.startswith("NAME_"):
            if name not in types:
                return whole
            taken = name if match[2] == "0" else whole
            if taken not in names:
                names[taken] = len(takes)
                takes.append(taken)
                found.append(types[name])
            return f"@{names[taken]}@"
        takes.append(whole)
        found.append("f32 " if whole.endswith(("f)", "_f32)")) else "f64 ")
        return f"@{len(takes) - 1}@"

    return _TAKEN.sub(replace, text), tuple(takes), tuple(found)


def _same(pattern: Pattern) -> set[int]:
    """Returns the placeholders of literals that are the same in all statements."""
    literals = [i for i, take in enumerate(pattern.takes[0]) if "NAME_" not in take]
    return {i for i in literals if len({takes[i] for takes in pattern.takes}) == 1}


def _function(number: int, pattern: Pattern, fixed: set[int]) -> str:
    names = [take if i in fixed else f"NAME_p{i}" for i, take in enumerate(pattern.takes[0])]
    body = _PLACE.sub(lambda place: names[int(place[1])], pattern.text)
    params = [f"{t}const NAME_p{i}" for i, t in enumerate(pattern.types) if i not in fixed]
    returns = bool(_RETURNS.search(pattern.text))
    head = f"APART {'int' if returns else 'void'} NAME_s{number}({', '.join(params) or 'void'}) {{"
    return "\n".join([head, body, *(["return 0;"] if returns else []), "}"])


def _call(number: int, statement: Statement, fixed: set[int]) -> str:
    assert statement.pattern is not None
    call = f"NAME_s{number}({', '.join(take for i, take in enumerate(statement.takes) if i not in fixed)})"
    return f"if ({call}) return 1;" if _RETURNS.search(statement.pattern.text) else f"{call};"
