r"""RE2's regular expressions by Python's `re`: read by RE2's rules, written out in Python's, flags and all.

Matching backtracks, so there are patterns, such as `(a*)*b`, that take time where RE2 does not. Refused: `\C` (a
byte) and scripts such as `\p{Greek}`.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from penstock import errors
from penstock.ops.kernel_tools import invalid

Ranges = list[tuple[int, int]]  # of characters, both ends included

# Bytes that are no UTF-8 are decoded as surrogates, which nothing but themselves may match: RE2 never matches them.
_SURROGATES = (0xD800, 0xDFFF)


def _ranges(text: str) -> Ranges:
    """Of "a-zA-Z": pairs of characters with any one between them."""
    return [(ord(text[i]), ord(text[i + 2])) for i in range(0, len(text), 3)]


_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\0-\x7f", "blank": "\t-\t - ", "cntrl": "\0-\x1f\x7f-\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@[-`{-~", "space": "\t-\r - ",
    "upper": "A-Z", "word": "0-9A-Za-z_-_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_PERL = {"d": "0-9", "s": "\t-\n\f-\r - ", "w": "0-9A-Za-z_-_"}
_CHARS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}

_ESCAPED = re.compile(
    r"\\(?:(?P<octal>0[0-7]{0,2}|[1-7][0-7]{1,2})|x(?P<hex>[0-9A-Fa-f]{2})|x\{(?P<code>[0-9A-Fa-f]+)\}"
    r"|(?P<named>[afnrtv])|(?P<plain>[!-/:-@\[-`{-~ \x00-\x1f\x7f]))"
)
_CLASS = re.compile(r"\\(?:(?P<perl>[dDsSwW])|(?P<not>[pP])(?:\{(?P<no>\^?)(?P<name>\w+)\}|(?P<one>\w)))")
_POSIX_CLASS = re.compile(r"\[:(\^?)(\w+):\]")
_REPEAT = re.compile(r"[*+?]|\{(?P<low>\d+)(?P<range>,(?P<high>\d*))?\}")
_GROUP = re.compile(r"\((?:\?(?:P<\w+>|(?P<on>[imsU]*)(?P<off>-[imsU]+)?(?P<end>[:)])))?")
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
_PLACES = {"\\A": r"\A", "\\z": r"\Z", "\\b": r"(?a:\b)", "\\B": r"(?a:(?!\b))"}


@dataclass(frozen=True)
class _Flags:
    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


@lru_cache(256)
def compiled(pattern: bytes) -> re.Pattern[str]:
    """RE2's `pattern` for texts in UTF-8, other bytes as surrogates; InvalidArgumentError where it is none."""
    try:
        text = pattern.decode()
    except UnicodeDecodeError:
        raise invalid(f"Invalid pattern: {pattern!r}, error: invalid UTF-8") from None
    try:
        return re.compile(_Reader(text).translated())
    except (re.error, OverflowError, RecursionError) as error:
        raise invalid(f"Invalid pattern: {text}, error: {error}") from None


class _Reader:
    """`parts` grows by what was read up to `at`; `before` says whether that may be repeated."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.parts: list[str] = []
        self.flags = _Flags()
        self.groups: list[_Flags] = []  # the flags outside of each open group
        self.before = "nothing"  # or "atom", or "repetition"

    def refuse(self, why: str) -> errors.InvalidArgumentError:
        return invalid(f"Invalid pattern: {self.text}, error: {why}")

    def take(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        found = expression.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def translated(self) -> str:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "(":
                self.group()
            elif char == ")":
                if not self.groups:
                    raise self.refuse("unexpected ): " + self.text)
                self.flags, self.at = self.groups.pop(), self.at + 1
                self.atom(")")
            elif char == "|":
                self.at, self.before = self.at + 1, "nothing"
                self.parts.append("|")
            elif repeat := self.take(_REPEAT):
                self.repeat(repeat)
            elif char == "[":
                self.at += 1
                self.set()
            elif char == "\\":
                self.escape()
            else:
                self.at += 1
                self.plain(char)
        if self.groups:
            raise self.refuse("missing ): " + self.text)
        return "".join(self.parts)

    def atom(self, text: str) -> None:
        self.parts.append(text)
        self.before = "atom"

    def cased(self, text: str) -> None:
        """What is the same in upper and lower case where the flag says so."""
        self.atom(f"(?i:{text})" if self.flags.i else text)

    def plain(self, char: str) -> None:
        if char == ".":
            self.atom(r"[^\ud800-\udfff]" if self.flags.s else r"[^\n\ud800-\udfff]")
        elif char in "^$":  # as a group, for Python repeats no bare place; its "$" also matches before a last newline
            several, whole = (r"(?m:^)", r"(?:\A)") if char == "^" else (r"(?m:$)", r"(?:\Z)")
            self.atom(several if self.flags.m else whole)
        else:
            self.cased(re.escape(char))

    def group(self) -> None:
        found = self.take(_GROUP)
        if found is None or (found[0] == "(" and self.text.startswith("?", self.at)):
            raise self.refuse("invalid perl operator: (?" + self.text[self.at + 1 : self.at + 3])
        if found["end"] is None:
            self.groups.append(self.flags)
            self.parts.append("(")
            self.before = "nothing"
            return
        changed = replace(self.flags, **dict.fromkeys(found["on"], True))
        changed = replace(changed, **dict.fromkeys((found["off"] or "-")[1:], False))
        if found["end"] == ":":
            self.groups.append(self.flags)
            self.parts.append("(?:")
            self.before = "nothing"
        self.flags = changed  # of the rest of the group that it stands in, or of the one that it opens

    def repeat(self, found: re.Match[str]) -> None:
        operator = found[0]
        if self.before == "nothing":
            raise self.refuse("missing argument to repetition operator: " + operator)
        if self.before == "repetition":
            raise self.refuse("bad repetition operator: " + operator)
        if found["low"]:
            low, high = int(found["low"]), int(found["high"] or found["low"])
            if max(low, high) > 1000 or high < low:
                raise self.refuse("invalid repetition size: " + operator)
        lazy = self.text.startswith("?", self.at)
        self.at += lazy
        self.parts.append(operator + ("?" if lazy != self.flags.U else ""))
        self.before = "repetition"

    def escape(self) -> None:
        if place := _PLACES.get(self.text[self.at : self.at + 2]):
            self.at += 2
            self.atom(f"(?:{place})")
        elif quoted := self.take(_QUOTED):
            for char in quoted[1]:
                self.cased(re.escape(char))
        elif (ranges := self.char_class()) is not None:
            self.cased(_set_text(ranges))
        else:
            self.cased(re.escape(chr(self.escaped_char())))

    def char_class(self) -> Ranges | None:
        r"""The characters of \d, \pL and such, if one comes here."""
        found = self.take(_CLASS)
        if found is None:
            return None
        if perl := found["perl"]:
            ranges, negated = _ranges(_PERL[perl.lower()]), perl.isupper()
        else:
            ranges = _category(found["name"] or found["one"])
            negated = (found["not"] == "P") != (found["no"] == "^")
            if not ranges:
                raise self.refuse(f"invalid character class range, or a script, which is not supported: {found[0]}")
        return _complement(ranges) if negated else ranges

    def escaped_char(self) -> int:
        found = self.take(_ESCAPED)
        code = -1
        if found is not None:
            if found["octal"]:
                code = int(found["octal"], 8)
            elif digits := found["hex"] or found["code"]:
                code = int(digits, 16)
            else:
                code = _CHARS[found["named"]] if found["named"] else ord(found["plain"])
        if not 0 <= code <= sys.maxunicode:
            shown = self.text[self.at : self.at + 2] if found is None else found[0]
            raise self.refuse("invalid escape sequence: " + shown if len(shown) > 1 else "trailing \\")
        return code

    # --- [sets] -----------------------------------------------------------------------------------------

    def set(self) -> None:
        start = self.at - 1
        negated = self.text.startswith("^", self.at)
        self.at += negated
        ranges: Ranges = []
        first = self.at
        while not self.text.startswith("]", self.at) or self.at == first:
            if self.at >= len(self.text):
                raise self.refuse("missing ]: " + self.text[start:])
            ranges += self.member(start)
        self.at += 1
        self.cased(_set_text([*ranges, _SURROGATES] if negated else ranges, negated))

    def member(self, start: int) -> Ranges:
        """The next class, character or range of a set."""
        if posix := self.take(_POSIX_CLASS):
            if posix[2] not in _POSIX:
                raise self.refuse("invalid character class range: " + posix[0])
            ranges = _ranges(_POSIX[posix[2]])
            return _complement(ranges) if posix[1] else ranges
        if (found := self.char_class()) is not None:
            return found
        begin = self.at
        low = high = self.char(start)
        if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
            self.at += 1
            high = self.char(start)
        if high < low:
            raise self.refuse("invalid character class range: " + self.text[begin : self.at])
        return [(low, high)]

    def char(self, start: int) -> int:
        if self.at >= len(self.text):
            raise self.refuse("missing ]: " + self.text[start:])
        if self.text[self.at] == "\\":
            return self.escaped_char()
        self.at += 1
        return ord(self.text[self.at - 1])


def _set_text(ranges: Ranges, negated: bool = False) -> str:
    if not ranges:
        return r"(?!)"
    members = (re.escape(chr(low)) + (f"-{re.escape(chr(high))}" if high > low else "") for low, high in ranges)
    return f"[{'^' if negated else ''}{''.join(members)}]"


def _complement(ranges: Ranges) -> Ranges:
    """All other characters; surrogates are none."""
    found, after = [], 0
    for low, high in sorted([*ranges, _SURROGATES]):
        if low > after:
            found.append((after, low - 1))
        after = max(after, high + 1)
    return [*found, (after, sys.maxunicode)] if after <= sys.maxunicode else found


@lru_cache(32)
def _category(name: str) -> Ranges:
    """The characters of a general category of Unicode: "L", "Lu", "Any"."""
    if name == "Any":
        return _complement([])
    low, high = _SURROGATES
    characters = [
        i for i in range(sys.maxunicode + 1) if unicodedata.category(chr(i)).startswith(name) and not low <= i <= high
    ]
    runs = (list(run) for _, run in groupby(enumerate(characters), lambda pair: pair[1] - pair[0]))
    return [(run[0][1], run[-1][1]) for run in runs]
