"""The programs in the README and in docs/ run, and print what the text says they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUNNABLE = [page for page in PAGES if "```output" in page.read_text()]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_a_page_prints_what_it_says(page: Path) -> None:
    """In a process of its own: a page registers ops, and uses the default graph as its readers will."""
    blocks = re.findall(r"^```(python|output)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    program = "\n".join(code for kind, code in blocks if kind == "python")
    expected = "".join(text for kind, text in blocks if kind == "output")
    found = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    assert found.stdout == expected


def test_there_are_pages_to_run() -> None:
    assert {page.name for page in RUNNABLE} >= {"README.md", "adding-an-op.md"}
