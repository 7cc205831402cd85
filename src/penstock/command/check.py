"""`penstock check`: what is in a program's way."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from penstock.command.programs import AsJson
from penstock.programs.check import Checked, check as check_programs

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
_COLOURS = {"missing": "red", "syntax": "red", "package": "magenta", "module": "magenta", "data": "magenta"}


@app.command()
def check(
    programs: Annotated[list[Path], typer.Argument(help="Programs, notebooks, or folders of them.", exists=True)],
    as_json: AsJson = False,
) -> int:
    """Say beforehand what is in the way of programs, with file and line.

    What Penstock lacks of TensorFlow, packages that are not installed, data files that are not there; and what
    `penstock run` deals with. The modules beside a program are read, too. Nothing is run. The status is 0 if nothing is
    in the way, 1 if something is, 2 if the command was wrong.

    **Example:** `penstock check train.py models/`
    """
    found = check_programs(programs)
    if as_json:
        print(json.dumps(_plain(found)))
    else:
        _show(found)
    return int(found.lacks)


def _plain(found: Checked) -> dict[str, object]:
    parts: dict[str, list[Any]] = {
        "findings": found.findings,
        "packages": sorted(found.packages.values(), key=lambda each: each.module),
        "data": found.data,
        "downloads": found.downloads,
    }
    told = {name: [dataclasses.asdict(each) for each in part] for name, part in parts.items()}
    return {"files": len(found.files), "names": sorted(found.uses), **told}


def _show(found: Checked) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for each in found.findings:
        if each.level == "lacks":
            colour = _COLOURS.get(each.kind, "yellow")
            console.print(f"[bold]{escape(each.file)}:{each.line}[/]: [{colour}]{each.kind}[/]: {escape(each.message)}")
    _list(console, "dealt with", [each.what for each in found.findings if each.level == "handled"])
    _list(console, "packages", [each.pip for each in found.packages.values() if each.installed])
    _list(console, "data", [each.found for each in found.data if each.found])
    _list(console, "data that it makes, or does without", [e.path for e in found.data if e.made and not e.found])
    _list(console, "downloads", [each.address or f"{each.file}:{each.line}" for each in found.downloads])
    files = f"{len(found.files)} {'file' if len(found.files) == 1 else 'files'}"
    kinds = Counter(each.kind for each in found.findings if each.level == "lacks")
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    console.print(f"{files}, {len(found.uses)} names of TensorFlow: {told or 'nothing is in the way'}")


def _list(console: Console, title: str, names: list[str]) -> None:
    if names:
        shown = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in Counter(names).items())
        console.print(f"{title}: {escape(shown)}")
