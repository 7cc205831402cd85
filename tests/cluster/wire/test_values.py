"""Values over a connection."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from penstock import dtypes
from penstock.cluster.wire.values import decode, encode, fresh_memory
from tests.cluster.wire.endpoints import two

_TORCH_DTYPES = sorted({d.torch for d in map(dtypes.as_dtype, range(1, 24)) if d.torch is not None}, key=str)


def _sent(value: Any) -> Any:
    """As the wire does it, without a socket."""
    pickled, beside = encode(value)
    memory = []
    for view in beside:
        memory.append(fresh_memory(view.nbytes))
        memory[-1][:] = np.frombuffer(view, np.uint8)
    return decode(bytes(pickled), memory)


@pytest.mark.parametrize("dtype", _TORCH_DTYPES, ids=str)
def test_tensors_of_every_dtype_arrive_bit_for_bit(dtype: torch.dtype) -> None:
    size = torch.empty((), dtype=dtype).element_size()
    for count in (1, 7, 5000):
        values = np.random.default_rng(count).integers(0, 2 if dtype == torch.bool else 256, count * size, np.uint8)
        tensor = torch.from_numpy(values).view(dtype)
        got = _sent(tensor)
        assert got.dtype == dtype and got.shape == tensor.shape
        assert got.view(torch.uint8).numpy().tobytes() == values.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (40, 50, 3)], ids=str)
def test_tensors_and_arrays_of_every_shape_arrive(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).standard_normal(shape)
    array = np.asarray(array)
    got = _sent([torch.from_numpy(array), array])
    assert got[0].shape == shape and got[0].dtype == torch.float64
    assert got[1].shape == shape and got[1].dtype == array.dtype
    np.testing.assert_array_equal(got[0].numpy(), array)
    np.testing.assert_array_equal(got[1], array)


def test_views_arrive_as_what_they_show() -> None:
    base = torch.arange(40_000.0).reshape(200, 200)
    views = [base.t(), base[::2, 3::5], base[5], base.expand(2, 200, 200), torch.complex(base, base).conj()]
    for view, got in zip(views, _sent(views), strict=True):
        assert torch.equal(view, got)
    arrays = [view.numpy()[..., ::-1] for view in views[:4]]
    for array, got in zip(arrays, _sent(arrays), strict=True):
        np.testing.assert_array_equal(array, got)


def test_strings_nested_values_and_other_arrays_arrive() -> None:
    strings = np.array([[b"a", b""], [b"\xff\x00", b"x" * 10_000]], dtype=object)
    scalar = np.array(b"scalar", dtype=object)
    half = np.arange(3000).astype(ml_dtypes.bfloat16)
    quantised = np.zeros(3000, dtype=np.dtype([("qint8", np.int8)]))
    texts = np.array(["a", "bc"])
    value = {"s": [strings, scalar], "t": (half, quantised, texts), "none": None}
    got = _sent(value)
    assert got["s"][0].tolist() == strings.tolist() and got["s"][1].item() == b"scalar"
    for a, b in zip(value["t"], got["t"], strict=True):  # type: ignore[arg-type]
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("count", [3, 5000, 400_000])
def test_what_arrives_can_be_written_and_is_not_the_senders(count: int) -> None:
    def grow(peer: object, tensor: torch.Tensor, array: np.ndarray[Any, Any]) -> Any:
        tensor += 1
        array += 1
        return tensor, array

    from penstock.cluster.wire.peer import Handler

    with two({"grow": Handler(grow)}) as peer:
        tensor, array = torch.zeros(count), np.zeros(count)
        got_tensor, got_array = peer.call("grow", tensor, array)
        assert (got_tensor == 1).all() and (got_array == 1).all()
        got_tensor += 1
        assert not tensor.any() and not array.any()


def test_a_tensor_that_requires_gradients_arrives_without_its_history() -> None:
    (got,) = _sent([torch.ones(3, requires_grad=True) * 2])
    assert got.tolist() == [2, 2, 2] and not got.requires_grad


def test_tensors_may_change_as_soon_as_tell_has_returned() -> None:
    import threading

    from penstock.cluster.wire.peer import Handler

    sums: list[float] = []
    done = threading.Event()

    def take(peer: object, tensor: torch.Tensor) -> None:
        sums.append(float(tensor.sum()))
        if len(sums) == 5:
            done.set()

    with two({"take": Handler(take, inline=True)}) as peer:
        for n in range(5):
            tensor = torch.full((1_000_000,), float(n))
            peer.tell("take", tensor)
            tensor.fill_(100)
        assert done.wait(10)
        assert sums == [n * 1_000_000.0 for n in range(5)]
