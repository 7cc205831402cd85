"""Strings matched and replaced by RE2's regular expressions (TF: RegexReplace, RegexFullMatch, …)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.ops.kernel_tools import invalid
from penstock.ops.regular_expressions import compiled
from penstock.ops.strings import each


def _rewriter(rewrite: bytes) -> tuple[int, Callable[[re.Match[str]], str]]:
    """The highest group that `rewrite` names, and what makes its text for a match."""
    pieces: list[str | int] = []
    for escape, plain in re.findall(r"\\(.?)|([^\\]+)", rewrite.decode("utf-8", "surrogateescape"), re.DOTALL):
        if plain:
            pieces.append(plain)
        elif escape == "\\" or (escape.isdigit() and escape.isascii()):
            pieces.append(escape if escape == "\\" else int(escape))
        else:
            break  # RE2 writes nothing after an escape that it does not know

    def text(match: re.Match[str]) -> str:
        return "".join((match[piece] or "") if isinstance(piece, int) else piece for piece in pieces)

    return max((piece for piece in pieces if isinstance(piece, int)), default=0), text


def _replacer(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[bytes], bytes]:
    expression, (groups, write) = compiled(pattern), _rewriter(rewrite)
    if groups > expression.groups:
        return lambda raw: raw

    def replace(raw: bytes) -> bytes:
        text, found, at, last = raw.decode("utf-8", "surrogateescape"), [], 0, -1
        while at <= len(text):
            match = expression.search(text, at)
            if match is None:
                break
            found.append(text[at : match.start()])
            if match.start() == match.end() == last:  # nothing, right after a match: not another one
                found.append(text[last : last + 1])
                at = last + 1
                continue
            found.append(write(match))
            at = last = match.end()
            if not everywhere:
                break
        return ("".join(found) + text[at:]).encode("utf-8", "surrogateescape")

    return replace


def _full_match(pattern: bytes) -> Kernel:
    matches = compiled(pattern).fullmatch

    def match(x: np.ndarray) -> torch.Tensor:
        found = [matches(text.decode("utf-8", "surrogateescape")) is not None for text in x.flat]
        return torch.tensor(found, dtype=torch.bool).reshape(x.shape)

    return match


# --- ops ------------------------------------------------------------------------------------------------

_GLOBAL = "replace_global: bool = true"
REGEX_REPLACE = define_op(
    "RegexReplace", "input: string, pattern: string, rewrite: string", "output: string", attrs=[_GLOBAL]
)
STATIC_REGEX_REPLACE = define_op(
    "StaticRegexReplace",
    "input: string",
    "output: string",
    attrs=["pattern: string", "rewrite: string", _GLOBAL],
)
REGEX_FULL_MATCH = define_op("RegexFullMatch", "input: string, pattern: string", "output: bool")
STATIC_REGEX_FULL_MATCH = define_op("StaticRegexFullMatch", "input: string", "output: bool", attrs=["pattern: string"])

for _op in (REGEX_REPLACE, STATIC_REGEX_REPLACE, REGEX_FULL_MATCH, STATIC_REGEX_FULL_MATCH):
    _op.shape(shape_rules.unchanged)
    _op.not_differentiable()


@REGEX_REPLACE.kernel("CPU")
def regex_replace_kernel(n: Any) -> Kernel:
    everywhere = n["replace_global"]

    def replace(x: np.ndarray, pattern: np.ndarray, rewrite: np.ndarray) -> np.ndarray:
        return each(_replacer(_scalar(pattern, "Pattern"), _scalar(rewrite, "Rewrite"), everywhere))(x)

    return replace


def _scalar(value: np.ndarray, what: str) -> bytes:
    if value.ndim:
        raise invalid(f"{what} must be scalar, but received {list(value.shape)}")
    return value.item()


STATIC_REGEX_REPLACE.kernel("CPU")(lambda n: each(_replacer(n["pattern"], n["rewrite"], n["replace_global"])))
REGEX_FULL_MATCH.kernel("CPU")(lambda n: lambda x, pattern: _full_match(_scalar(pattern, "Pattern"))(x))
STATIC_REGEX_FULL_MATCH.kernel("CPU")(lambda n: _full_match(n["pattern"]))


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Each match of `pattern` (RE2) replaced by `rewrite`, in which \1 is the first group (TF: tf.regex_replace).

    Only the first match when not `replace_global`. InvalidArgumentError for a pattern that is none.
    """
    if isinstance(pattern, str | bytes) and isinstance(rewrite, str | bytes):
        return STATIC_REGEX_REPLACE(input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name)
    return REGEX_REPLACE(input, pattern, rewrite, replace_global=replace_global, name=name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether each whole string matches `pattern` (RE2); bool (TF: tf.strings.regex_full_match)."""
    if isinstance(pattern, str | bytes):
        return STATIC_REGEX_FULL_MATCH(input, pattern=pattern, name=name)
    return REGEX_FULL_MATCH(input, pattern, name=name)
