"""Files of records: what TensorFlow writes and reads, places in them, blocks, URLs."""

from __future__ import annotations

import gzip
import os
import random
import zlib
from pathlib import Path

import fsspec
import pytest

import penstock as tf
from penstock.records import FixedLengthRecords, RecordSource, TextLines, TFRecords
from penstock.records.streams import READ

WRITTEN_BY_TENSORFLOW = {  # the records b"x" and b"hello", by tf.io.TFRecordWriter of TensorFlow 2.21
    "": "01000000000000000175de4178503daa610500000000000000eab2043e68656c6c6fbb1f1c19",
    "ZLIB": "789c63648000c6d27b8e1501b6ab1259a102af36b1d865a4e6e4e4ef9697910400876e08ad",
    "GZIP": "1f8b080000000000000363648000c6d27b8e1501b6ab1259a102af36b1d865a4e6e4e4ef969791040058bb4d4126000000",
}
UNPACK = {"": bytes, "ZLIB": zlib.decompress, "GZIP": gzip.decompress}


def write(path: Path | str, records: list[bytes], compression: str = "") -> str:
    with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions(compression)) as writer:
        for record in records:
            writer.write(record)
    return os.fspath(path)


def some_records(count: int, longest: int, seed: int = 0) -> list[bytes]:
    draw = random.Random(seed)
    return [draw.randbytes(draw.randrange(longest)) for _ in range(count)]


@pytest.mark.parametrize("compression", WRITTEN_BY_TENSORFLOW)
def test_files_that_tensorflow_wrote_are_read(compression: str, tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(bytes.fromhex(WRITTEN_BY_TENSORFLOW[compression]))
    options = tf.python_io.TFRecordOptions(compression)
    assert list(tf.python_io.tf_record_iterator(path, options)) == [b"x", b"hello"]


@pytest.mark.parametrize("compression", WRITTEN_BY_TENSORFLOW)
def test_files_are_written_as_tensorflow_writes_them(compression: str, tmp_path: Path) -> None:
    path = Path(write(tmp_path / "records", [b"x", b"hello"], compression))
    unpack = UNPACK[compression]
    assert unpack(path.read_bytes()) == unpack(bytes.fromhex(WRITTEN_BY_TENSORFLOW[compression]))


def test_options_may_be_numbers_names_or_nothing(tmp_path: Path) -> None:
    kinds = tf.python_io.TFRecordCompressionType
    for options in (kinds.ZLIB, "ZLIB", tf.io.TFRecordOptions(kinds.ZLIB, compression_level=1), None, "", kinds.NONE):
        tf.io.TFRecordWriter(tmp_path / "records", options).write(b"one")  # closed when nobody refers to it
        assert list(tf.io.tf_record_iterator(str(tmp_path / "records"), options)) == [b"one"]
    with pytest.raises(ValueError, match="compression_type 'LZ4' is none of"):
        tf.io.TFRecordOptions("LZ4")


def test_a_flushed_record_can_be_read_while_the_file_is_written(tmp_path: Path) -> None:
    for compression in ("", "GZIP"):
        writer = tf.io.TFRecordWriter(tmp_path / "records", compression)
        writer.write(b"first")
        writer.flush()
        with TFRecords(tmp_path / "records", compression) as records:
            assert records.read(1) == [b"first"]
        writer.close()
        writer.close()
        with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
            writer.write(b"second")


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="nothing-here"):
        list(tf.python_io.tf_record_iterator(tmp_path / "nothing-here"))
    with pytest.raises(tf.errors.NotFoundError, match="no-folder/records"):
        tf.python_io.TFRecordWriter(tmp_path / "no-folder" / "records")
    with pytest.raises(tf.errors.FailedPreconditionError, match=tmp_path.name):
        TextLines(tmp_path)
    with pytest.raises(tf.errors.NotFoundError, match="nothing-here"):
        TFRecords("memory://nothing-here")


def test_records_are_read_from_where_their_url_says() -> None:
    records = some_records(100, 1000)
    write("memory://somewhere/records", records, "GZIP")
    assert list(tf.python_io.tf_record_iterator("memory://somewhere/records", tf.io.TFRecordOptions("GZIP"))) == records
    with fsspec.open("memory://somewhere/text", "wb") as file:
        file.write(b"a\nb\n")
    assert list(TextLines("memory://somewhere/text")) == [b"a", b"b"]


def test_records_longer_than_a_block_and_shorter_ones_are_read_alike(tmp_path: Path) -> None:
    records = [b"", b"a" * (2 * READ + 5), b"b", b"c" * READ, *some_records(1000, 2000), b"d" * (READ - 16), b""]
    for compression in ("", "ZLIB"):
        path = write(tmp_path / "records", records, compression)
        assert list(TFRecords(path, compression)) == records


def test_the_offset_of_a_record_is_that_of_its_header(tmp_path: Path) -> None:
    with TFRecords(write(tmp_path / "records", [b"ab", b"", b"cde"])) as records:
        offsets = [(records.offset, records.number, records.read(1)) for _ in range(4)]
    assert offsets == [(0, 0, [b"ab"]), (18, 1, [b""]), (34, 2, [b"cde"]), (53, 3, [])]


@pytest.mark.parametrize(
    ("data", "lines"),
    [  # recorded with TensorFlow 2.21's TextLineReader
        (b"a\r\nb\rc\n\nd", [b"a", b"b\rc", b"", b"d"]),
        (b"a\r\r\nb\r", [b"a\r", b"b"]),
        (b"\n\na", [b"", b"", b"a"]),
        (b"", []),
    ],
)
def test_lines_end_where_tensorflow_ends_them(data: bytes, lines: list[bytes], tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(data)
    assert list(TextLines(tmp_path / "text")) == lines
    assert list(TextLines(tmp_path / "text", skip_header_lines=2)) == lines[2:]


def test_lines_longer_than_a_block_stay_whole(tmp_path: Path) -> None:
    lines = [b"a" * (3 * READ), b"", b"b" * (READ - 1), b"c", b"d" * READ]
    (tmp_path / "text").write_bytes(b"\n".join(lines))
    assert list(TextLines(tmp_path / "text")) == lines


@pytest.mark.parametrize(
    ("arguments", "records"),
    [  # recorded with TensorFlow 2.21's FixedLengthRecordReader, but for the last two
        ({"record_bytes": 4}, [b"0123", b"4567", b"89ab", b"cdef", b"ghij"]),
        ({"record_bytes": 4, "header_bytes": 1, "footer_bytes": 2}, [b"1234", b"5678", b"9abc", b"defg"]),
        ({"record_bytes": 6, "hop_bytes": 8}, [b"012345", b"89abcd"]),
        (
            {"record_bytes": 6, "header_bytes": 5, "footer_bytes": 3, "hop_bytes": 2},
            [b"56789a", b"789abc", b"9abcde", b"bcdefg"],
        ),
        ({"record_bytes": 40}, []),
        ({"record_bytes": 4, "header_bytes": 30}, []),
        ({"record_bytes": 2, "hop_bytes": 15}, [b"01", b"fg"]),
    ],
)
@pytest.mark.parametrize("compression", UNPACK)
def test_records_of_fixed_length(
    arguments: dict[str, int], records: list[bytes], compression: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"0123456789abcdefghij"
    packed = {"": data, "ZLIB": zlib.compress(data), "GZIP": gzip.compress(data)}[compression]
    (tmp_path / "records").write_bytes(packed)
    assert list(FixedLengthRecords(tmp_path / "records", compression=compression, **arguments)) == records


def test_a_hop_over_more_than_has_been_read_leads_to_the_next_record(tmp_path: Path) -> None:
    data = random.Random(0).randbytes(3 * READ)
    (tmp_path / "records").write_bytes(data)
    for record, hop in ((7, READ // 3), (100, READ - 50), (READ, READ + 1), (READ // 2, 100_000)):
        expected = [data[at : at + record] for at in range(0, len(data) - record + 1, hop)]
        assert list(FixedLengthRecords(tmp_path / "records", record, hop_bytes=hop)) == expected


@pytest.mark.parametrize("compression", UNPACK)
def test_what_is_left_behind_the_last_record_is_refused_where_datasets_ask(compression: str, tmp_path: Path) -> None:
    data = {"": bytes, "ZLIB": zlib.compress, "GZIP": gzip.compress}[compression](b"0123456789")
    (tmp_path / "records").write_bytes(data)
    with pytest.raises(tf.errors.InvalidArgumentError, match="body length 9 bytes, which is not an exact multiple"):
        list(FixedLengthRecords(tmp_path / "records", 4, 1, compression=compression, exact=True))
    assert len(list(FixedLengthRecords(tmp_path / "records", 4, 1, 1, compression=compression, exact=True))) == 2


def _sources(folder: Path) -> list[tuple[type[RecordSource], tuple]]:
    records = some_records(3000, 400)
    write(folder / "plain", records)
    write(folder / "packed", records, "GZIP")
    (folder / "text").write_bytes(b"\n".join(record.replace(b"\n", b"") for record in records))
    return [
        (TFRecords, (folder / "plain",)),
        (TFRecords, (folder / "packed", "GZIP")),
        (TextLines, (folder / "text",)),
        (TextLines, (folder / "text", "", 3)),
        (FixedLengthRecords, (folder / "plain", 100, 7, 9)),
        (FixedLengthRecords, (folder / "packed", 100, 7, 9, 90, "GZIP")),
    ]


def test_a_source_goes_on_at_any_place_that_it_or_another_was_at(tmp_path: Path) -> None:
    draw = random.Random(0)
    for kind, arguments in _sources(tmp_path):
        whole = list(kind(*arguments))
        source, other = kind(*arguments), kind(*arguments)
        first = source.number
        found, places = [], [source.position]
        while some := source.read(draw.randrange(1, 300)):
            found += some
            places.append(source.position)
        assert found == whole
        for place in draw.sample(places, 10):
            other.seek(place)
            assert other.position[2] == place.number
            assert other.read(50) == whole[place.number - first :][:50]


def test_blocks_and_single_records_may_be_mixed(tmp_path: Path) -> None:
    for kind, arguments in _sources(tmp_path):
        source, found = kind(*arguments), []
        while some := source.read(3) + source.read_block():
            found += some
        assert found == list(kind(*arguments))
