"""Flipped bits and truncations, at random places of checkpoints in each format, reach no value."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import errors
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slices import Slice, SlicedTensor
from penstock.checkpoint.writer import write_checkpoint

RECORDED = Path(__file__).parent.parent / "data" / "checkpoints"
WRITTEN = ("penstock", "tensorflow")
KINDS = [*WRITTEN, "first", "many"]
FULL = np.arange(12, dtype=np.int32).reshape(4, 3)
TENSORS: dict[str, Any] = {
    "scope/w": np.linspace(-1, 1, 40).reshape(5, 8),
    "scope/b": np.array([True, False, True]),
    "s": np.array([b"", b"word", b"x" * 200], object),
    "p": SlicedTensor((4, 3), (Slice((0, 0), FULL[:1]), Slice((1, 0), FULL[1:]))),
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.array(7, np.int64),
}


@pytest.fixture(params=KINDS)
def prefix(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param in WRITTEN:
        write_checkpoint(tmp_path / "m", TENSORS, format=request.param, max_shard_bytes=300)
    elif request.param == "first":
        shutil.copy(RECORDED / "parts_of_float32" / "v1", tmp_path / "m")
    else:
        write_checkpoint(tmp_path / "m", {f"w{i}": np.array(i) for i in range(200)}, format="tensorflow")
    return tmp_path / "m"


def contents(prefix: Path) -> dict[str, Any]:
    """What can be read: the values, or, for the checkpoint (`""`) and for tensors, the kind of the error."""
    try:
        reader = CheckpointReader(prefix)
    except errors.OpError as error:
        assert str(prefix) in error.message
        return {"": type(error)}
    found: dict[str, Any] = {}
    with reader:
        for name in reader.get_variable_to_shape_map():
            try:
                value = reader.get_tensor(name)
                found[name] = (value.dtype, value.shape, value.tolist())
            except errors.OpError as error:
                assert str(prefix) in error.message
                assert repr(name) in error.message
                found[name] = type(error)
    return found


def check(prefix: Path, flips: int, truncations: int, seed: int) -> tuple[int, int]:
    """How many changes to the files were noticed, of flips and of truncations."""
    rng = np.random.default_rng(seed)
    whole = contents(prefix)
    assert not any(isinstance(value, type) for value in whole.values())
    files = {path: path.read_bytes() for path in prefix.parent.iterdir()}
    sizes = np.array([len(data) for data in files.values()])
    noticed = [0, 0]
    for kind in [0] * flips + [1] * truncations:
        path = list(files)[int(rng.choice(len(files), p=sizes / sizes.sum()))]
        at = int(rng.integers(len(files[path])))
        changed = bytearray(files[path])
        if kind:
            del changed[at:]
        else:
            changed[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        found = contents(prefix)
        if "" not in found:
            assert found.keys() == whole.keys()
        for name, value in found.items():
            assert isinstance(value, type) or value == whole[name], (path.name, at, name)
        noticed[kind] += found != whole
        path.write_bytes(files[path])
    return noticed[0], noticed[1]


def test_flipped_bits_and_truncations_are_noticed_or_change_nothing(prefix: Path) -> None:
    flips, truncations = check(prefix, 150, 40, 0)
    assert flips > 100
    assert truncations > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_thousands_of_flipped_bits_and_truncations_are_noticed_or_change_nothing(prefix: Path, seed: int) -> None:
    """The seeds and kinds together: 10,000 flips and 1,000 truncations."""
    flips, truncations = check(prefix, 1250, 125, seed)
    assert flips > 900
    assert truncations > 70
