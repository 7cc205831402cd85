"""`penstock run`: a TF 1.x program, unchanged."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from penstock.command.programs import Digits, ProgramFailed, own_errors, tell
from penstock.programs.report import REPORT
from penstock.programs.running import run_program

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
OF_A_PROGRAM = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
"""The rest of the command line is the program's."""


@app.command(context_settings=OF_A_PROGRAM)
def run(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="A Python program for TensorFlow 1.x.")],
    module: Annotated[
        bool, typer.Option("--module", "-m", help="PROGRAM is a module, as `python -m` takes it: trainer.task, pytest.")
    ] = False,
    strict_devices: Annotated[
        bool, typer.Option("--strict-devices", help="Asking for a GPU that is not there is an error.")
    ] = False,
    digits: Digits = False,
) -> None:
    """Run a TF 1.x program unchanged: its `import tensorflow` imports Penstock.

    Python 2 is converted, and what libraries have renamed since is put right, in this process only; a line at the end
    tells what. Everything after the program is passed to it. `penstock program.py` is the same.

    **Example:** `penstock run train.py --epochs=3`
    """
    file, package = _of_module(program) if module else (Path(program), None)
    if not file.is_file():
        raise typer.BadParameter(f"File {str(file)!r} does not exist.", param_hint="'PROGRAM'")
    try:
        with own_errors(file):
            run_program([str(file), *context.args], strict_devices, package)
    except ProgramFailed as failed:
        tell(failed)
        raise typer.Exit(1) from None
    finally:
        if line := REPORT.line():
            sys.stdout.flush()
            print(f"penstock run: {line}", file=sys.stderr)


def _of_module(module: str) -> tuple[Path, str]:
    """The file of a module, or of a package's __main__, in the current folder or installed; and its package."""
    path = Path(*module.split("."))
    within = module.rpartition(".")[0]
    for file, package in ((path / "__main__.py", module), (path.with_name(f"{path.name}.py"), within)):
        if file.is_file():
            return file, package
    for name, package in ((f"{module}.__main__", module), (module, within)):
        with suppress(ImportError):
            spec = find_spec(name)
            if spec is not None and spec.origin is not None:
                return Path(spec.origin), package
    return path.with_name(f"{path.name}.py"), within
