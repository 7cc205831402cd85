"""`python -m penstock ...`: the command line (penstock/command/)."""

from __future__ import annotations

import os.path
import sys


def main() -> None:
    from penstock.command.app import main as run

    sys.exit(run())


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # As for the command `penstock`: the current folder, which `-m` puts here, may have a logging.py of a program.
        sys.path[0] = os.path.dirname(sys.executable)
    main()
