"""The entry point of TF 1.x programs (TF: tf.app)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from penstock import absent as _absent, flags as flags


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Parse the flags, call `main(argv without them)`, and exit with what it returns (TF: tf.app.run).

    `main` defaults to the function of that name in the program's main module. Words that look like flags but are
    not defined stay in argv, as in TF 1.x.
    """
    argv = list(sys.argv if argv is None else argv)
    rest = flags.FLAGS(argv, known_only=True)
    if main is None:
        main = getattr(sys.modules["__main__"], "main", None)
        if main is None:
            raise ValueError("tf.app.run() needs a function `main(argv)` in the program's main module, or as argument")
    sys.exit(main(rest))


_absent.tell_in(__name__)
