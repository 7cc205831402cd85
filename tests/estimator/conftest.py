from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def logs_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is logged between tests, when pytest has no handler, gives the logger one and ends its propagation."""
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", True)
