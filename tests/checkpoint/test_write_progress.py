"""Long writes show how far they are."""

from __future__ import annotations

import io
import logging
import sys
from pathlib import Path

import numpy as np
import pytest

from penstock.checkpoint import write_progress
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.writer import write_checkpoint


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every write is a long one."""
    monkeypatch.setattr(write_progress, "_LEAST_BYTES", 0)
    monkeypatch.setattr(write_progress, "_SECONDS_BEFORE_BAR", 0.0)
    monkeypatch.setattr(write_progress, "_SECONDS_BETWEEN_LINES", 0.0)


@pytest.mark.parametrize("format_", ["penstock", "tensorflow"])
def test_a_terminal_shows_a_bar(format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    write_checkpoint(tmp_path / "model-7", {"w": np.zeros(3 << 18, np.float32)}, format=format_)  # type: ignore[arg-type]
    assert "Saving model-7" in terminal.getvalue()
    with CheckpointReader(tmp_path / "model-7") as reader:
        assert reader.get_tensor("w").shape == (3 << 18,)


def test_elsewhere_there_are_lines_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        write_checkpoint(tmp_path / "model-7", {"w": np.zeros(3 << 18, np.float32)})
    assert any(text.startswith("Saving model-7: 0.0 of 0.0 GB") for text in caplog.messages)
