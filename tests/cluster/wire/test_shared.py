"""Large values between processes of one host."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import numpy as np
import pytest
import torch

from penstock.cluster.wire import WireOptions
from penstock.cluster.wire.peer import Handler, Peer
from penstock.cluster.wire.shared import Borrower, Budget, Lender
from tests.cluster.wire.endpoints import ECHO, endpoint, two

SIZE = 1 << 20


class _Pair:
    """A lender and a borrower, without a connection."""

    def __init__(self, limit: int) -> None:
        self.budget = Budget(limit)
        self.lender = Lender(self.budget)
        self.returned: list[int] = []
        self.borrower = Borrower(self.returned.append)

    def send(self, *arrays: np.ndarray[Any, Any]) -> list[Any] | None:
        segment = self.lender.lend([memoryview(array) for array in arrays])
        if segment is None:
            return None
        if not segment.known:
            self.borrower.add(segment.number, os.dup(segment.fd))
            segment.known = True
        return self.borrower.borrow(segment.number, [array.nbytes for array in arrays])

    def give_back(self) -> None:
        while self.returned:
            self.lender.returned(self.returned.pop())


def _array(value: int, size: int = SIZE) -> np.ndarray[Any, Any]:
    return np.full(size, value, np.uint8)


def test_a_segment_is_used_again_when_the_last_tensor_in_it_is_gone() -> None:
    pair = _Pair(3 * SIZE)
    got = pair.send(_array(1), _array(2, 1000))
    assert got is not None
    assert (got[0] == 1).all() and (got[1] == 2).all()
    tensor = torch.frombuffer(got[1], dtype=torch.int32)[7:]
    del got
    assert not pair.returned
    view = tensor.view(-1, 1)
    del tensor
    gc.collect()
    assert not pair.returned
    del view
    assert pair.returned == [1]
    pair.give_back()
    again = pair.send(_array(3), _array(4, 1000))
    assert again is not None and (again[0] == 3).all()
    del again
    assert pair.returned == [1]


def test_no_more_than_the_limit_is_lent() -> None:
    pair = _Pair(3 * SIZE)
    kept = [pair.send(_array(n)) for n in range(5)]
    assert [got is None for got in kept] == [False, False, False, True, True]
    del kept[1]
    assert pair.send(_array(9)) is None  # not given back yet
    pair.give_back()
    assert pair.send(_array(9)) is not None


def test_free_segments_make_room_for_larger_ones() -> None:
    pair = _Pair(4 * SIZE)
    for _ in range(3):
        pair.send(_array(1))
    pair.give_back()
    assert pair.send(_array(2, 4 * SIZE)) is not None
    assert sorted(pair.lender.dropped()) == [1, 2, 3]
    pair.lender.close()
    assert pair.send(_array(1)) is None
    assert pair.budget.take(4 * SIZE)


def _keep(kept: list[Any]) -> Handler:
    def keep(peer: Peer, tensor: torch.Tensor) -> None:
        kept.append(tensor)

    return Handler(keep)


@pytest.mark.parametrize("local", [True, False], ids=["Unix", "TCP"])
@pytest.mark.parametrize("shared_bytes", [0, 8 * SIZE])
def test_values_that_are_kept_stay_what_they_were(local: bool, shared_bytes: int) -> None:
    """Beyond the limit they come through the socket."""
    kept: list[torch.Tensor] = []
    options = WireOptions(local=local, shared_bytes=shared_bytes)
    with two({"keep": _keep(kept), **ECHO}, options) as peer:
        for n in range(20):
            peer.call("keep", torch.full((SIZE,), n, dtype=torch.uint8))
            assert peer.call("echo", torch.full((SIZE,), n))[0].sum() == n * SIZE
        assert [int(tensor.sum()) for tensor in kept] == [n * SIZE for n in range(20)]
    assert [int(tensor.sum()) for tensor in kept] == [n * SIZE for n in range(20)]  # the connection is gone


def test_a_stream_of_values_in_one_direction_uses_few_segments() -> None:
    def drop(peer: Peer, tensor: torch.Tensor) -> None:
        assert (tensor == tensor[0]).all()

    with two({"drop": Handler(drop)}) as peer:
        for n in range(50):
            peer.call("drop", torch.full((SIZE,), n % 100, dtype=torch.uint8))
            time.sleep(0.005)
        lender = peer._connection._lender
        assert lender is not None and len(lender._segments) <= 3


def test_a_task_of_another_host_is_reached_by_tcp() -> None:
    with endpoint("/job:worker/replica:0/task:0") as worker, endpoint() as client:
        port = worker.listen("127.0.0.1")
        worker._local_name = "penstock-of-another-host"
        assert client.peer(f"127.0.0.1:{port}").call("echo", 1) == (1,)
