"""Who imports whom: the contracts in pyproject.toml, which `make check` enforces, and what documents say of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LINT = Path(sys.executable).with_name("lint-imports")


def _folders_in_contract() -> list[set[str]]:
    layers = ({name.strip() for name in layer.split(":")} for layer in CONTRACTS[0]["layers"])
    folders = [{name for name in layer if (ROOT / "src" / "penstock" / name).is_dir()} for layer in layers]
    return [layer - {"examples"} for layer in folders if layer - {"examples"}]


def test_the_table_of_the_architecture_is_the_contract() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text[text.index("| folder |") :].split("\n\n")[0]
    rows = [set(re.findall(r"`(\w+)/`", row.split("|")[1])) for row in table.splitlines()[2:]]
    assert rows == _folders_in_contract()


ENGINE = ["analysis", "codegen", "devices", "engine", "graph", "partition", "passes", "placement", "runtime", "session"]


def test_no_file_and_no_class_of_the_engine_has_the_name_of_another() -> None:
    files = [path for folder in ENGINE for path in (ROOT / "src" / "penstock" / folder).rglob("*.py")]
    names = Counter(path.name for path in files if path.name != "__init__.py")
    names += Counter(name for path in files for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE))
    assert {name for name, times in names.items() if times > 1} == set()


def test_the_files_of_the_glossary_are_there() -> None:
    named = re.findall(r"`([\w/]+(?:\.py|\.md|/))`", (ROOT / "docs" / "glossary.md").read_text())
    assert len(named) > 20
    missing = [name for name in named if not ((ROOT / "src" / "penstock" / name).exists() or (ROOT / name).exists())]
    assert missing == []


def test_at_most_five_imports_are_excepted() -> None:
    assert sum(len(contract.get("ignore_imports", ())) for contract in CONTRACTS) <= 5


@pytest.mark.skipif(not LINT.exists(), reason="import-linter is not installed")
@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        (
            "graph/scopes.py",
            "def f():\n    from penstock.engine import plan\n",
            "graph is not allowed to import",
        ),
        ("analysis/frames.py", "import penstock.analysis.guards\n", "No cycles are allowed in penstock.analysis"),
    ],
)
def test_an_import_upwards_or_in_a_circle_is_refused(tmp_path: Path, file: str, line: str, said: str) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "penstock", tmp_path / "penstock", ignore=ignored)
    with (tmp_path / "penstock" / file).open("a") as module:
        module.write(line)
    command = [str(LINT), "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 1 and said in found.stdout, found.stdout[-2000:]
