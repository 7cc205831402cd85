"""The entry point of TF 1.x programs (TF: tf.app)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from absl import app as _absl

from penstock import absent as _absent, flags as flags


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Parse the flags, call `main(argv without them)`, and exit with what it returns (TF: tf.app.run).

    `main` defaults to the function of that name in the program's main module. Words that look like flags but are
    not defined stay in argv, as in TF 1.x. The rest is absl's: `--help`, `--pdb`, and logging.
    """
    main = main or getattr(sys.modules["__main__"], "main", None)
    if main is None:
        raise ValueError("tf.app.run() needs a function `main(argv)` in the program's main module, or as an argument")
    _absl.run(main, None if argv is None else list(argv), flags_parser=partial(flags.FLAGS, known_only=True))


_absent.tell_in(__name__)
