"""Bars of notebooks (tqdm's) are widgets of Jupyter, which is not there when a notebook or a program is run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.report import REPORT


def patch(module: Any) -> None:
    """As text, like those of programs: with and without ipywidgets."""

    class tqdm_notebook(module.std_tqdm):
        """tqdm's bar of notebooks, as text. display: whether it is shown at once, which a text always is."""

        def __init__(self, *args: Any, display: bool = True, **options: Any) -> None:
            REPORT.use("a bar of tqdm for notebooks, as text", sys._getframe(1))
            super().__init__(*args, **options)

    def tnrange(*args: int, **options: Any) -> Any:
        return tqdm_notebook(range(*args), **options)

    module.tqdm = module.tqdm_notebook = tqdm_notebook
    module.trange = module.tnrange = tnrange


PATCHES: dict[str, Callable[[Any], None]] = {"tqdm.notebook": patch}
