"""Command-line flags as TF 1.x programs declare them (TF: tf.app.flags)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from penstock import absent as _absent


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered in ("true", "t", "1", "yes", "y"):
        return True
    if lowered in ("false", "f", "0", "no", "n"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is not a boolean: say true or false")


class _FlagValues:
    """The flags as attributes. The command line is parsed at the first look, or by `tf.app.run`."""

    def __init__(self) -> None:
        self._set(_parser=argparse.ArgumentParser(allow_abbrev=False), _values={}, _parsed=False)

    def _set(self, **private: Any) -> None:
        for name, value in private.items():
            object.__setattr__(self, name, value)

    def _define(self, name: str, default: Any, help: str | None, **more: Any) -> None:
        if name in self._values:
            raise ValueError(f"The flag '{name}' is defined twice.")
        text = (help or "").replace("%", "%%")
        self._parser.add_argument(f"--{name}", dest=name, default=argparse.SUPPRESS, help=text, **more)
        self._values[name] = default

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Take the flags out of `args` (the command line), and give what is left."""
        given, rest = self._parser.parse_known_args(sys.argv[1:] if args is None else list(args))
        self._values.update(vars(given))
        self._set(_parsed=True)
        return rest

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse `argv`, whose first element is the program; give the program and what is no flag."""
        rest = self._parse_flags(argv[1:])
        unknown = [a for a in rest if a.startswith("--") and a != "--"]
        if unknown and not known_only:
            raise ValueError(f"Unknown command line flag {unknown[0]!r}. Known: {', '.join(sorted(self._values))}")
        return [argv[0], *rest]

    def __getattr__(self, name: str) -> Any:
        if name == "__flags":  # programs of the time print them so
            return self.flag_values_dict()
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._parsed:
            self._parse_flags()
        try:
            return self._values[name]
        except KeyError:
            known = ", ".join(sorted(self._values)) or "none"
            raise AttributeError(f"No flag '{name}' is defined. Defined: {known}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Any:
        return iter(self._values)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def flag_values_dict(self) -> dict[str, Any]:
        """Every flag's name and value."""
        if not self._parsed:
            self._parse_flags()
        return dict(self._values)


FLAGS = _FlagValues()


def _definer(parse: Callable[[str], Any], kind: str) -> Callable[..., None]:
    def define(flag_name: str, default_value: Any, docstring: str | None = None, **_: Any) -> None:
        FLAGS._define(flag_name, default_value, docstring, type=parse)

    define.__doc__ = f"Define a flag that holds {kind} (TF: tf.app.flags.DEFINE_{kind.split()[-1]})."
    return define


DEFINE_string = _definer(str, "a string")
DEFINE_integer = _definer(int, "an integer")
DEFINE_float = _definer(float, "a float")


def DEFINE_boolean(flag_name: str, default_value: Any, docstring: str | None = None, **_: Any) -> None:
    """Define a flag that is given as `--name`, `--name=false` or `--noname` (TF: tf.app.flags.DEFINE_boolean)."""
    FLAGS._define(flag_name, default_value, docstring, type=_boolean, nargs="?", const=True)
    FLAGS._parser.add_argument(
        f"--no{flag_name}", dest=flag_name, action="store_false", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )


DEFINE_bool = DEFINE_boolean


def DEFINE_list(flag_name: str, default_value: Any, docstring: str | None = None, **_: Any) -> None:
    """Define a flag that holds strings, separated by commas (TF: tf.app.flags.DEFINE_list)."""
    if isinstance(default_value, str):
        default_value = default_value.split(",")
    FLAGS._define(flag_name, default_value, docstring, type=lambda text: text.split(","))


def DEFINE_enum(
    flag_name: str, default_value: Any, enum_values: Sequence[str], docstring: str | None = None, **_: Any
) -> None:
    """Define a flag that holds one of `enum_values` (TF: tf.app.flags.DEFINE_enum)."""
    FLAGS._define(flag_name, default_value, docstring, choices=list(enum_values))


_absent.tell_in(__name__)
