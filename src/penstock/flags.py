"""Command-line flags as TF 1.x programs declare them: absl's, with TensorFlow's additions (TF: tf.app.flags)."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from types import CodeType
from typing import Any

import absl.app  # noqa: F401  (its flags, and those of absl.logging, are defined before the program's)
import numpy as np
from absl import flags as _absl
from absl.flags import *  # noqa: F403

from penstock import absent as _absent

_absl.disclaim_key_flags()  # flags defined by these functions belong to the program, and so appear in its --help
_absl.FLAGS["log_dir"].allow_override = True  # absl's is only for its log files, and many programs define their own

_OLD_KEYWORDS = {"flag_name": "name", "default_value": "default", "docstring": "help"}


_OF_FLAGS = frozenset({"value", "default", "present", "help", "serialize", "boolean"})
"""Attributes of flags."""


def _uses_flags(code: CodeType) -> bool:
    """Whether code reads attributes of flags, in its comprehensions too."""
    read = {each.argval for each in dis.get_instructions(code) if each.opname in {"LOAD_ATTR", "LOAD_METHOD"}}
    inner = (each for each in code.co_consts if isinstance(each, CodeType) and each.co_name.startswith("<"))
    return not _OF_FLAGS.isdisjoint(read) or any(map(_uses_flags, inner))


class _FlagValues(_absl.FlagValues):
    """The same `flags`, but accessing one of them parses the command line first. `FLAGS.__flags` has the values of the
    program's flags, as until TF 1.4, where the code that asks for it does not use what TF 1.5 had there, objects."""

    def __init__(self, flags: _absl.FlagValues) -> None:
        object.__setattr__(self, "__dict__", vars(flags))  # FlagValues would turn other attributes into flags

    def __getattr__(self, name: str) -> Any:
        if not self.is_parsed() and name in self:
            self(sys.argv)
        return super().__getattr__(name)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name != "__flags" or _uses_flags(sys._getframe(1).f_code):
            return found
        if not self.is_parsed():
            self(sys.argv)
        modules = {each.name: module for module, flags in self.flags_by_module_dict().items() for each in flags}
        return {each: found[each].value for each in found if not modules.get(found[each].name, "").startswith("absl.")}

    def _set_unknown_flag(self, name: str, value: Any) -> Any:
        """Keeps what a program sets without having declared it, as TensorFlow did until 1.4."""
        self[name] = _absl.Flag(_absl.ArgumentParser(), None, name, None, "set by the program")
        self[name].value = value  # as it is: a default would have to be text
        return value

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Parse `args` (the command line), and return what is not a flag: programs older than TF 1.5 call this."""
        return self([sys.argv[0], *(sys.argv[1:] if args is None else args)], known_only=True)[1:]


FLAGS = _FlagValues(_absl.FLAGS)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _with_old_keywords(define: Callable[..., Any]) -> Callable[..., Any]:
    """`define`, which also accepts flag_name, default_value and docstring, NumPy's numbers as defaults, and defaults of
    other types, which stay as they are (1e6 for an integer), as until TF 1.4."""

    @wraps(define)
    def defined(name: str, default: Any, help: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return define(name, default, help, *args, **kwargs)
        except _absl.IllegalFlagValueError:
            if isinstance(default, str):
                raise
        holder = define(name, None, help, *args, **kwargs)
        kwargs.get("flag_values", _absl.FLAGS)[name].value = default  # as a default it would have to be text
        return holder

    @wraps(define)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        words = {_OLD_KEYWORDS.get(key, key): _plain(value) for key, value in kwargs.items()}
        return defined(*map(_plain, args), **words)

    return renamed


DEFINE_string = _with_old_keywords(_absl.DEFINE_string)
DEFINE_boolean = DEFINE_bool = _with_old_keywords(_absl.DEFINE_boolean)
DEFINE_float = _with_old_keywords(_absl.DEFINE_float)
DEFINE_integer = _with_old_keywords(_absl.DEFINE_integer)

_absent.tell_in(__name__)
