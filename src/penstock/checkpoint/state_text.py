"""CheckpointState in protocol buffers' text format, as TensorFlow writes and reads it.

TensorFlow's message cannot be declared here: the name would be taken when TensorFlow itself is loaded into
the process. Four fields of two types do not need protocol buffers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class CheckpointState:
    """Which checkpoints a directory has."""

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0


_STRINGS = ("model_checkpoint_path", "all_model_checkpoint_paths")
_REPEATED = ("all_model_checkpoint_paths", "all_model_checkpoint_timestamps")
_FIELDS = (*_STRINGS, "all_model_checkpoint_timestamps", "last_preserved_timestamp")

_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fF]?|-?(?:inf|infinity|nan)(?!\w))
      | (?P<name>[A-Za-z_]\w*)
      | (?P<mark>[:;,\[\]])
      | (?P<end>\Z)""",
    re.VERBOSE | re.IGNORECASE,
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_ESCAPED |= {mark: mark for mark in (b'"', b"'", b"\\", b"?")}
_PRINTED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}

_Token = tuple[str, str, int]  # kind, text, line


def format_state(state: CheckpointState) -> str:
    lines = [f"model_checkpoint_path: {_quoted(state.model_checkpoint_path)}"]
    lines += [f"all_model_checkpoint_paths: {_quoted(path)}" for path in state.all_model_checkpoint_paths]
    lines += [f"all_model_checkpoint_timestamps: {float(time)!r}" for time in state.all_model_checkpoint_timestamps]
    if state.last_preserved_timestamp:
        lines.append(f"last_preserved_timestamp: {float(state.last_preserved_timestamp)!r}")
    return "".join(line + "\n" for line in lines)


def parse_state(text: str) -> CheckpointState:
    """ValueError, with the line, for anything else than a CheckpointState."""
    state = CheckpointState()
    tokens = _tokens(text)
    token = next(tokens)
    while token[0] != "end":
        name = token[1]
        if token[0] != "name" or name not in _FIELDS:
            raise _unexpected(token, "a field of CheckpointState")
        kind = "string" if name in _STRINGS else "number"
        _expect(next(tokens), ":")
        token = next(tokens)
        if token[1] == "[" and name in _REPEATED:
            values, token = _list(tokens, kind)
        else:
            value, token = _value(token, tokens, kind)
            values = [value]
        if name in _REPEATED:
            getattr(state, name).extend(values)
        else:
            setattr(state, name, values[-1])
        if token[1] in (",", ";"):
            token = next(tokens)
    return state


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while True:
        space = _SPACE.match(text, at)
        start = space.end() if space else at
        line += text.count("\n", at, start)  # strings have no line ends in them
        found = _TOKEN.match(text, start)
        if found is None or found.lastgroup is None:
            raise ValueError(f"line {line}: cannot read {text[start : start + 40]!r}")
        yield found.lastgroup, found[0], line
        if found.lastgroup == "end":
            return
        at = found.end()


def _value(token: _Token, tokens: Iterator[_Token], kind: str) -> tuple[str | float, _Token]:
    """The value that begins with `token`, and the token after it. Strings in a row are one string."""
    if token[0] != kind:
        raise _unexpected(token, f"a {kind}")
    if kind == "number":
        return float(token[1].lower().removesuffix("f") if "inf" not in token[1].lower() else token[1]), next(tokens)
    data = b""
    while token[0] == "string":
        data += _unquoted(token)
        token = next(tokens)
    try:
        return data.decode(errors="surrogateescape"), token
    except UnicodeDecodeError as error:
        raise ValueError(f"line {token[2]}: {error}") from error


def _list(tokens: Iterator[_Token], kind: str) -> tuple[list[str | float], _Token]:
    values: list[str | float] = []
    token = next(tokens)
    while token[1] != "]":
        value, token = _value(token, tokens, kind)
        values.append(value)
        if token[1] != "]":
            _expect(token, ",")
            token = next(tokens)
            if token[1] == "]":
                raise _unexpected(token, f"a {kind}")
    return values, next(tokens)


def _expect(token: _Token, mark: str) -> None:
    if token[:2] != ("mark", mark):
        raise _unexpected(token, repr(mark))


def _unexpected(token: _Token, wanted: str) -> ValueError:
    found = "the end" if token[0] == "end" else repr(token[1])
    return ValueError(f"line {token[2]}: {found} where {wanted} belongs")


def _quoted(text: str) -> str:
    out = []
    for char in text:
        if char in _PRINTED:
            out.append(_PRINTED[char])
        elif "\udc80" <= char <= "\udcff":  # a byte of a file name that is not UTF-8
            out.append(f"\\{ord(char) - 0xDC00:03o}")
        else:
            out.append(char if char.isprintable() or ord(char) > 0x7F else f"\\{ord(char):03o}")
    return '"' + "".join(out) + '"'


def _unquoted(token: _Token) -> bytes:
    return _ESCAPE.sub(lambda found: _unescaped(found, token), token[1][1:-1].encode(errors="surrogateescape"))


def _unescaped(found: re.Match[bytes], token: _Token) -> bytes:
    octal, hexadecimal, short, long, mark = found.groups()
    try:
        if octal is not None:
            return bytes([int(octal, 8)])
        if hexadecimal is not None:
            return bytes([int(hexadecimal, 16)])
        if mark is not None:
            return _ESCAPED[mark]
        return chr(int(short or long, 16)).encode()
    except (ValueError, KeyError, OverflowError) as error:
        raise ValueError(f"line {token[2]}: {found[0]!r} stands for no character") from error
