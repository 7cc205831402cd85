"""TFRecord files that are cut short, or in which bits have changed: the damage is found, and no wrong record given."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import penstock as tf
from penstock.records import TFRecords
from penstock.records.tfrecord import framed
from tests.records.test_records import some_records, write

KINDS = ["", "GZIP", "ZLIB"]


def _read(path: Path, data: bytes, compression: str) -> tuple[list[bytes], bool]:
    """The records that come of `data`, and whether an error came after them."""
    path.write_bytes(data)
    found = []
    try:
        with TFRecords(path, compression) as records:
            found.extend(records)
    except tf.errors.DataLossError as error:
        assert str(path) in error.message
        return found, True
    return found, False


def _file(folder: Path, compression: str) -> tuple[Path, bytes, list[bytes]]:
    records = some_records(40, 60)
    path = Path(write(folder / "records", records, compression))
    return path, path.read_bytes(), records


def _check_truncations(folder: Path, compression: str, count: int) -> None:
    path, data, records = _file(folder, compression)
    ends = {sum(len(r) + 16 for r in records[:n]): n for n in range(len(records) + 1)}  # no damage: fewer records
    for size in random.Random(1).sample(range(len(data)), count):
        found, damaged = _read(path, data[:size], compression)
        assert found == records[: len(found)]
        assert damaged != (size == 0 or (compression == "" and size in ends)), size


def _check_flips(folder: Path, compression: str, count: int) -> None:
    path, data, records = _file(folder, compression)
    harmless = set()
    for bit in random.Random(2).sample(range(8 * len(data)), count):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        found, damaged = _read(path, bytes(changed), compression)
        assert found == records[: len(found)]
        if not damaged:
            assert found == records
            harmless.add(bit)
    # What changes nothing: in gzip's header whether it is text, the time, the level and the system (bytes 3 to 9), and
    # the bits behind the last symbol (before the checksum of 4 or 8 bytes).
    header, footer = {"": (0, 0), "GZIP": (10, 8), "ZLIB": (0, 4)}[compression]
    last = len(data) - footer - 1
    assert all(bit // 8 in range(3, header) or (footer and bit // 8 == last) for bit in harmless)


@pytest.mark.parametrize("compression", KINDS)
def test_files_cut_short_are_found(compression: str, tmp_path: Path) -> None:
    _check_truncations(tmp_path, compression, 100)


@pytest.mark.parametrize("compression", KINDS)
def test_changed_bits_are_found(compression: str, tmp_path: Path) -> None:
    _check_flips(tmp_path, compression, 500)


@pytest.mark.slow
@pytest.mark.parametrize("compression", KINDS)
def test_files_cut_short_anywhere_are_found(compression: str, tmp_path: Path) -> None:
    _check_truncations(tmp_path, compression, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("compression", KINDS)
def test_any_changed_bit_is_found(compression: str, tmp_path: Path) -> None:
    _check_flips(tmp_path, compression, 10_000)


def test_records_before_the_damage_come_first_and_the_error_says_where_it_is(tmp_path: Path) -> None:
    path, data, records = _file(tmp_path, "")
    begin = sum(len(r) + 16 for r in records[:20])
    path.write_bytes(data[: begin + 13] + b"!" + data[begin + 14 :])
    source = TFRecords(path)
    assert source.read(1000) == records[:20]
    for _ in range(2):
        with pytest.raises(tf.errors.DataLossError, match=rf"corrupted record at {begin} of {path} \(record 20"):
            source.read(1)


def test_a_length_beyond_all_memory_is_a_truncated_record(tmp_path: Path) -> None:
    header = (1 << 50).to_bytes(8, "little")
    path = tmp_path / "records"
    path.write_bytes(header + framed([header])[-4:] + b"data")
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
        TFRecords(path).read(1)
