from __future__ import annotations

import contextlib
import io
import logging
import os
import pty
import re
import sys
import termios

import numpy as np
import pytest

from penstock.training_loop.progress import Progress


def lines_of(file: io.StringIO) -> list[str]:
    return file.getvalue().splitlines()


def test_lines_in_a_pipe_say_step_rate_time_left_and_values() -> None:
    file = io.StringIO()
    with Progress(total=4, description="Epoch 1/2", file=file, seconds=0) as progress:
        progress.update(1, {"loss": np.float32(0.123456), "accuracy": 0.5})
    lines = lines_of(file)
    assert re.fullmatch(
        r"Epoch 1/2: step 1/4 \(25%\), \S+ steps/s, \d:\d\d:\d\d left, loss = 0.1235, accuracy = 0.5", lines[0]
    )
    assert re.fullmatch(
        r"Epoch 1/2: step 1/4 \(25%\), \S+ steps/s, \d:\d\d:\d\d in all, loss = 0.1235, accuracy = 0.5", lines[1]
    )


def test_lines_come_no_more_often_than_asked() -> None:
    file = io.StringIO()
    with Progress(file=file, seconds=1000) as progress:
        for _ in range(1000):
            assert not progress.due
            progress.advance()
        assert lines_of(file) == []
    assert len(lines_of(file)) == 1 and lines_of(file)[0].startswith("step 1000, ")


def test_the_end_is_shown_once() -> None:
    file = io.StringIO()
    progress = Progress(file=file, initial=5)
    progress.update(6)
    progress.close()
    progress.close()
    progress.update(7)
    assert len(lines_of(file)) == 1


def on_terminal(program: object) -> str:
    """What `program(file)` writes to a terminal."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 120))
    text = b""
    with os.fdopen(master, "rb", buffering=0) as screen:
        with os.fdopen(slave, "w") as file:
            program(file)  # type: ignore[operator]
        with contextlib.suppress(OSError):  # the end
            while data := screen.read(1 << 16):
                text += data
    return text.decode()


def test_a_terminal_gets_a_bar_with_rate_and_values() -> None:
    def program(file: object) -> None:
        with Progress(total=10, description="Training", file=file, seconds=0) as progress:
            for step in range(1, 11):
                progress.update(step, {"loss": 1 / step})

    text = on_terminal(program)
    assert "Training: " in text and "10/10" in text and "steps/s" in text and "loss = 0.1" in text
    assert text.count("\n") == 1


def test_messages_appear_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(file: object) -> None:
        monkeypatch.setattr(sys, "stderr", file)
        handler = logging.StreamHandler(file)  # type: ignore[arg-type]
        logger = logging.getLogger("penstock")
        logger.addHandler(handler)
        try:
            with Progress(total=10, file=file, seconds=0) as progress:
                progress.update(3)
                logger.error("something happened")
                progress.update(4)
            assert handler in logger.handlers
        finally:
            logger.removeHandler(handler)

    # The bar is cleared, the message is a line of its own, and the bar is drawn again.
    assert re.search(r"\r *\rsomething happened\r\n\r.*3/10", on_terminal(program))


def test_a_session_that_continues_from_an_earlier_step_moves_the_bar_back() -> None:
    def program(file: object) -> None:
        with Progress(total=10, file=file, seconds=0) as progress:
            progress.update(8)
            progress.update(5)

    assert "5/10" in on_terminal(program).rpartition("8/10")[2]


def test_an_abandoned_bar_gives_the_loggers_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(file: object) -> None:
        monkeypatch.setattr(sys, "stderr", file)
        handler = logging.StreamHandler(file)  # type: ignore[arg-type]
        logger = logging.getLogger("penstock")
        logger.addHandler(handler)
        try:
            progress = Progress(total=10, file=file)
            assert handler not in logger.handlers
            del progress
            assert handler in logger.handlers
        finally:
            logger.removeHandler(handler)

    on_terminal(program)
