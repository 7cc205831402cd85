"""`penstock port`: programs as text for Penstock and Python 3."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.checkpoint.replace import write_whole
from penstock.programs.port_files import PortedFile, port_programs

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command()
def port(
    programs: Annotated[list[Path], typer.Argument(help="Programs, notebooks, or folders of them.", exists=True)],
    write: Annotated[bool, typer.Option("--write", help="Change the files themselves.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the new text of one program to this file.")] = None,
) -> int:
    """Write TF 1.x programs as they are written today: `import penstock as tf`, Python 3, current names and arguments.

    The modules of its own that a program imports are ported with it. Prints the changes (a unified diff), unless they
    are to be written. What may be different is told on stderr. The status is 1 if a file is neither Python 3 nor
    Python 2; then none is changed.

    **Example:** `penstock port train.py --write`
    """
    if output is not None and (write or len(programs) > 1 or programs[0].is_dir()):
        raise typer.BadParameter("it is for one program, without --write", param_hint="--output")
    files = list(port_programs(programs))
    for file in files:
        for line, note in file.now.notes:
            print(f"{file.path}: line {line} of the new text: {note}", file=sys.stderr)
    if output is not None:
        _write_first(files, output)
        return 0
    for file in files:
        if write and file.changes:
            path, mode = file.path.resolve(), file.path.stat().st_mode
            write_whole(path, file.now.text.encode())
            path.chmod(mode)
            print(file.path, file=sys.stderr)
        elif not write:
            old, new = file.before.splitlines(keepends=True), file.now.text.splitlines(keepends=True)
            sys.stdout.writelines(difflib.unified_diff(old, new, str(file.path), str(file.path)))
    return 0


def _write_first(files: list[PortedFile], output: Path) -> None:
    write_whole(output, files[0].now.text.encode())
    if modules := [str(file.path) for file in files[1:] if file.changes]:
        first = f"{files[0].path} imports what must be ported as well, or plain Python runs neither"
        print(f"{first}: penstock port {' '.join(modules)} --write", file=sys.stderr)
