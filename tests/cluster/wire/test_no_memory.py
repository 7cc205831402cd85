"""Messages for which the receiver has no memory."""

from __future__ import annotations

import queue
from contextlib import suppress
from typing import Any

import pytest
import torch

from penstock import errors
from penstock.cluster.wire import Handler, Missing, WireOptions, frames
from tests.cluster.wire.endpoints import WORKER, two

BYTES = WireOptions(local=False)
SMALL, LARGE = 50_000, 1_000_000
"""The second in parts."""


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_what_does_not_fit_fails_its_call_or_comes_as_missing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
    service = {
        "call": Handler(lambda peer, value: None),
        "tell": Handler(lambda peer, *args: told.put(args), inline=True, takes_missing=True),
    }

    def no_memory(size: int) -> Any:
        raise MemoryError

    values = torch.zeros(size), torch.zeros(3, size, dtype=torch.int8).numpy()
    with two(service, BYTES) as peer:
        with monkeypatch.context() as patch:
            patch.setattr(frames, "fresh_memory", no_memory)
            with pytest.raises(errors.ResourceExhaustedError, match=f"{WORKER} has no memory for the {4 * size} bytes"):
                peer.call("call", values[0])
            peer.tell("tell", "name", *values)
            assert told.get(timeout=10) == ("name", Missing(4 * size), Missing(3 * size))
        peer.tell("tell", values[0])
        assert torch.equal(told.get(timeout=10)[0], values[0])
        peer.call("call", None)


def test_what_is_told_to_a_handler_that_needs_it_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(size: int) -> Any:
        raise MemoryError

    with two({"tell": Handler(lambda peer, value: None, inline=True)}, BYTES) as peer:
        monkeypatch.setattr(frames, "fresh_memory", no_memory)
        with suppress(errors.UnavailableError):  # the other side may have closed it before all was sent
            peer.tell("tell", torch.zeros(SMALL))
        with pytest.raises(errors.UnavailableError):
            peer.call("tell", None, timeout=10)
