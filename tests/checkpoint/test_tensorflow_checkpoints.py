"""Checkpoints in TensorFlow's formats: those that TensorFlow wrote, and the parts that make up the format."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import penstock as tf
from conformance.checkpoints import RECORD, from_file, read_all
from penstock import errors
from penstock.checkpoint import bundle, first_format
from penstock.checkpoint.files import checkpoint_exists, delete_checkpoint, get_checkpoint_mtimes
from penstock.checkpoint.masked_crc import masked, unmasked
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slice_keys import WHOLE_EXTENT, slice_key
from penstock.checkpoint.slices import Slice, SlicedTensor
from penstock.checkpoint.snappy import decompress
from penstock.checkpoint.sorted_table import Table, dump_table
from penstock.checkpoint.storage import locate
from penstock.checkpoint.writer import write_checkpoint


def test_checkpoints_that_tensorflow_wrote_are_read_and_restored_bit_for_bit() -> None:
    assert read_all(RECORD) == []


def test_what_is_known_of_a_checkpoint_of_tensorflow_is_that_of_any_other() -> None:
    for name in ("v2", "v1"):
        prefix = RECORD / "Adam" / name
        assert ("net/dense/kernel/Adam_1", [5, 7]) in tf.train.list_variables(prefix)
        assert tf.contrib.framework.list_variables(str(prefix)) == tf.train.list_variables(prefix)
        assert tf.train.load_variable(prefix, "global_step:0") == 3
        reader = tf.train.load_checkpoint(prefix)
        assert reader.get_variable_to_dtype_map()["net/dense/bias"] == np.float32
        assert b"net/dense/kernel (DT_FLOAT) [5,7]\n" in reader.debug_string()


# --- finding, deleting and dating -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v2", "v1"])
def test_a_checkpoint_of_tensorflow_is_found_dated_and_deleted(tmp_path: Path, name: str) -> None:
    for path in (RECORD / "Adam").glob(name + "*"):
        shutil.copy(path, tmp_path / path.name)
        os.utime(tmp_path / path.name, (1.5e9, 1.5e9))
    (tmp_path / f"{name}.meta").touch()
    tf.train.update_checkpoint_state(tmp_path, tmp_path / name)
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / name)
    assert checkpoint_exists(tmp_path / name)
    assert get_checkpoint_mtimes([tmp_path / name]) == [1.5e9]
    delete_checkpoint(tmp_path / name)
    assert not checkpoint_exists(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", f"{name}.meta"]


def test_a_sharded_checkpoint_of_the_first_format_is_named_by_a_pattern(tmp_path: Path) -> None:
    shutil.copy(RECORD / "Adam" / "v1", tmp_path / "m-7-00000-of-00002")
    shutil.copy(RECORD / "parts_of_float32" / "v1", tmp_path / "m-7-00001-of-00002")
    pattern = str(tmp_path / "m-7-?????-of-00002")
    tf.train.update_checkpoint_state(tmp_path, pattern)
    assert tf.train.latest_checkpoint(tmp_path) == pattern
    reader = CheckpointReader(pattern)
    expected = from_file(RECORD / "Adam") | from_file(RECORD / "parts_of_float32")
    assert reader.get_variable_to_shape_map().keys() == expected.keys()
    for name, value in reader.read(expected).items():
        assert value.tobytes() == expected[name].tobytes()
    delete_checkpoint(pattern)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_a_file_that_is_no_checkpoint_is_not_deleted_as_one(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("my notes")
    delete_checkpoint(tmp_path / "model")
    assert (tmp_path / "model").exists()
    with pytest.raises(errors.DataLossError, match=r"model is corrupt: it does not end as a table does"):
        CheckpointReader(tmp_path / "model")


@pytest.mark.parametrize("suffix", [".index", ".data-00000-of-00001"])
def test_the_name_of_a_file_of_a_checkpoint_is_told_from_its_prefix(suffix: str) -> None:
    with pytest.raises(errors.DataLossError, match=r"use the prefix of their names: .*/Adam/v2$"):
        CheckpointReader(str(RECORD / "Adam" / "v2") + suffix)


def test_signs_of_patterns_in_names_are_signs(tmp_path: Path) -> None:
    for name in ("m[1]", "m?"):
        shutil.copy(RECORD / "Adam" / "v1", tmp_path / name)
        assert checkpoint_exists(tmp_path / name)
        assert CheckpointReader(tmp_path / name).get_tensor("global_step") == 3


# --- writing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.name for path in RECORD.iterdir()))
def test_what_is_written_has_the_bytes_of_tensorflows_data(tmp_path: Path, name: str) -> None:
    """Tensors are in another order there, but each has the same bytes, the same checksum and the same message."""
    theirs = bundle.parse_bundle((RECORD / name / "v2.index").read_bytes(), "v2.index")
    with CheckpointReader(RECORD / name / "v2") as reader:
        tensors: dict[str, Any] = reader.read(theirs.tensors)
        for key, entry in theirs.tensors.items():
            if len(entry.pieces) > 1:
                parts = tuple(Slice(p.start, reader.get_slice(key, p.start, p.shape)) for p in entry.pieces)
                tensors[key] = SlicedTensor(entry.shape, parts)
    write_checkpoint(tmp_path / "m", tensors, format="tensorflow")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.data-00000-of-00001", "m.index"]
    ours = bundle.parse_bundle((tmp_path / "m.index").read_bytes(), "m.index")
    assert ours.tensors.keys() == theirs.tensors.keys()
    for key, entry in ours.tensors.items():
        other = theirs.tensors[key]
        assert (entry.dtype, entry.shape) == (other.dtype, other.shape)
        described = [{(p.start, p.shape, p.nbytes, p.crc) for p in e.pieces} for e in (entry, other)]
        assert described[0] == described[1]


@pytest.mark.parametrize("path", sorted(RECORD.glob("*/v1")), ids=lambda path: path.parent.name)
def test_what_is_written_in_the_first_format_has_tensorflows_messages(tmp_path: Path, path: Path) -> None:
    theirs = first_format.open_first_format(*locate(path))
    assert theirs is not None
    with CheckpointReader(path) as reader:
        tensors: dict[str, Any] = reader.read(theirs.tensors)
        for key, entry in theirs.tensors.items():
            if len(entry.pieces) > 1:
                parts = tuple(Slice(p.start, reader.get_slice(key, p.start, p.shape)) for p in entry.pieces)
                tensors[key] = SlicedTensor(entry.shape, parts)
    write_checkpoint(tmp_path / "m", {"w": np.zeros(3)})
    write_checkpoint(tmp_path / "m", {"w": np.zeros(3)}, format="tensorflow")
    write_checkpoint(tmp_path / "m", tensors, format="tensorflow-v1")
    assert [file.name for file in tmp_path.iterdir()] == ["m"]  # the others are replaced
    assert _items(tmp_path / "m") == _items(path)


def _items(path: Path) -> list[tuple[bytes, bytes]]:
    data = path.read_bytes()
    return list(Table(lambda offset, size: data[offset : offset + size], len(data)))


def test_a_bundle_that_replaces_one_has_the_usual_names_and_other_formats_leave_nothing(tmp_path: Path) -> None:
    for value in range(4):
        write_checkpoint(tmp_path / "m", {"w": np.full(3, value)}, format="tensorflow")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["m.data-00000-of-00001", "m.index"]
    write_checkpoint(tmp_path / "m", {"w": np.zeros(3)})
    assert not (tmp_path / "m.data-00000-of-00001").exists()


def test_without_hard_links_a_bundle_that_replaces_one_has_an_empty_file_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(source: str, target: str) -> None:
        raise PermissionError(1, "no links here")

    write_checkpoint(tmp_path / "m", {"w": np.zeros(3)}, format="tensorflow")
    monkeypatch.setattr(os, "link", link)
    write_checkpoint(tmp_path / "m", {"w": np.ones(3)}, format="tensorflow")
    names = ["m.data-00000-of-00002", "m.data-00001-of-00002", "m.index"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert CheckpointReader(tmp_path / "m").get_tensor("w").tolist() == [1, 1, 1]


def test_bundles_are_written_behind_urls(tmp_path: Path) -> None:
    for value in range(3):
        write_checkpoint("memory://bundle/m", {"w": np.full(3, value)}, format="tensorflow")
        assert CheckpointReader("memory://bundle/m").get_tensor("w").tolist() == [value] * 3
    delete_checkpoint("memory://bundle/m")
    assert not checkpoint_exists("memory://bundle/m")


def test_parts_of_a_tensor_come_from_several_checkpoints(tmp_path: Path) -> None:
    full = np.arange(12).reshape(4, 3)
    for number, rows in enumerate([slice(0, 1), slice(1, 4)]):
        part = SlicedTensor((4, 3), (Slice((rows.start, 0), full[rows]),))
        tensors = {"p": part, f"w{number}": np.full(2, number)}
        write_checkpoint(tmp_path / f"part{number}", tensors, format="tensorflow", partly=True)
    with pytest.raises(errors.NotFoundError, match="part0 has only parts of 'p': 9 elements are missing"):
        CheckpointReader(tmp_path / "part0").get_tensor("p")
    paths = [str(tmp_path / "part0"), str(tmp_path / "part1")]
    with tf.Session() as session:
        session.run(tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=paths, destination_prefix=str(tmp_path / "m")))
    reader = CheckpointReader(tmp_path / "m")
    assert reader.get_tensor("p").tolist() == full.tolist()
    assert reader.get_slice("p", (0, 1), (3, 2)).tolist() == full[:3, 1:].tolist()
    assert reader.get_tensor("w1").tolist() == [1, 1]
    assert not checkpoint_exists(paths[0])


def test_a_name_that_begins_like_keys_of_parts_is_refused_in_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="keys of parts"):
        write_checkpoint(tmp_path / "m", {"\0w": np.zeros(2)}, format="tensorflow")
    assert list(tmp_path.iterdir()) == []


# --- what cannot be read ---------------------------------------------------------------------------------


def forge(prefix: Path, key: bytes, edit: Any) -> None:
    """Change a message of the index."""
    path = prefix.with_name(prefix.name + ".index")
    data = path.read_bytes()
    items = dict(Table(lambda offset, size: data[offset : offset + size], len(data)))
    message = (bundle._Entry if key else bundle._Header).FromString(items[key])
    edit(message)
    items[key] = message.SerializeToString()
    path.write_bytes(dump_table(sorted(items.items())))


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    write_checkpoint(tmp_path / "m", {"w": np.arange(4), "b": np.zeros(2)}, format="tensorflow")
    return tmp_path / "m"


def test_a_bundle_for_later_readers_is_called_that(prefix: Path) -> None:
    forge(prefix, b"", lambda header: setattr(header.version, "min_consumer", 2))
    with pytest.raises(errors.UnimplementedError, match=r"m\.index has version 1 of .* of version 2 or later"):
        CheckpointReader(prefix)


def test_a_bundle_of_another_endianness_is_called_that(prefix: Path) -> None:
    forge(prefix, b"", lambda header: setattr(header, "endianness", 1))
    with pytest.raises(errors.UnimplementedError, match=r"m\.index is of a big-endian machine"):
        CheckpointReader(prefix)


def test_a_tensor_of_a_type_that_penstock_lacks_is_listed_and_the_others_are_read(prefix: Path) -> None:
    forge(prefix, b"w", lambda entry: setattr(entry, "dtype", 21))
    reader = CheckpointReader(prefix)
    assert reader.get_variable_to_shape_map() == {"w": [4], "b": [2]}
    assert b"w (DT_VARIANT) [4]" in reader.debug_string()
    assert reader.get_tensor("b").tolist() == [0, 0]
    with pytest.raises(errors.UnimplementedError, match=r"tensor 'w' of checkpoint .*/m is of variant"):
        reader.get_tensor("w")


FORGERIES: dict[str, Any] = {
    "other type": lambda entry: setattr(entry, "dtype", 1),
    "other shape": lambda entry: entry.shape.dim.add(size=2),
    "negative dimension": lambda entry: setattr(entry.shape.dim[0], "size", -4),
    "enormous shape": lambda entry: setattr(entry.shape.dim[0], "size", 2**62),
    "unknown file": lambda entry: setattr(entry, "shard_id", 1),
    "negative file": lambda entry: setattr(entry, "shard_id", -1),
    "negative offset": lambda entry: setattr(entry, "offset", -1),
    "negative size": lambda entry: setattr(entry, "size", -32),
    "parts that are not there": lambda entry: entry.slices.add().extent.add(start=0, length=2),
    "parts of other rank": lambda entry: entry.slices.add(),
}


@pytest.mark.parametrize("edit", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_entry_of_a_bundle_is_refused(prefix: Path, edit: Any) -> None:
    forge(prefix, b"w", edit)
    reader = CheckpointReader(prefix)
    for look in (lambda: reader.get_tensor("w"), reader.get_variable_to_shape_map):
        with pytest.raises(errors.DataLossError, match=r"m\.index is corrupt: tensor 'w'"):
            look()


def test_an_offset_beyond_the_data_names_file_and_tensor(prefix: Path) -> None:
    forge(prefix, b"w", lambda entry: setattr(entry, "offset", 1 << 50))
    with pytest.raises(errors.DataLossError, match=r"m\.data-00000-of-00001: tensor 'w' ends at byte"):
        CheckpointReader(prefix).get_tensor("w")


def test_half_a_data_file_costs_the_tensors_that_it_lost(tmp_path: Path) -> None:
    tensors = {f"w{n}": np.full(100, n) for n in range(6)}
    write_checkpoint(tmp_path / "m", tensors, format="tensorflow", max_shard_bytes=2400)
    os.truncate(tmp_path / "m.data-00001-of-00002", 1200)
    reader = CheckpointReader(tmp_path / "m")
    for name in ("w0", "w1", "w2", "w3"):
        assert reader.get_tensor(name).tolist() == tensors[name].tolist()
    for name in ("w4", "w5"):
        with pytest.raises(errors.DataLossError, match=rf"m\.data-00001-of-00002: tensor '{name}' ends at byte"):
            reader.get_tensor(name)


def test_a_missing_data_file_of_a_bundle_is_named_with_the_tensor(prefix: Path) -> None:
    prefix.with_name("m.data-00000-of-00001").unlink()
    with pytest.raises(errors.NotFoundError, match=r"m\.data-00000-of-00001: tensor 'w'"):
        CheckpointReader(prefix).get_tensor("w")


# --- the parts of the format ------------------------------------------------------------------------------


def test_keys_of_parts_are_those_of_tensorflow() -> None:
    data = (RECORD / "parts_of_float32" / "v2.index").read_bytes()
    keys = {key for key, _ in Table(lambda offset, size: data[offset : offset + size], len(data))}
    assert slice_key("rows", [(2, 1), (0, 5)]) in keys
    assert slice_key("tiles", [(0, 6), (20, 10)]) in keys
    assert slice_key("w", [WHOLE_EXTENT]) == b"\0w\0\1\1\1\x80\x7f"
    assert slice_key("w\0", []) == b"\0w\0\xff\0\1\0"


def test_numbers_of_the_first_format_that_are_too_wide_are_cut_as_in_tensorflow() -> None:
    message = first_format.SavedTensorSlices()
    message.data.data.half_val.append(0x10000 | 0x3C00)
    assert first_format._value(message.data.data, "float16", (1,)).tolist() == [1.0]


extents = st.lists(st.tuples(st.integers(0, 2**62), st.integers(-1, 2**62)), max_size=3)


@given(st.lists(st.tuples(st.text("\0aé\U0010ffff", max_size=4), extents), max_size=8))
def test_keys_of_parts_have_the_order_of_what_they_encode(parts: list[tuple[str, list[tuple[int, int]]]]) -> None:
    plain = sorted(parts, key=lambda part: (part[0].encode(), len(part[1]), part[1]))
    assert sorted(parts, key=lambda part: slice_key(*part)) == plain
    assert len({slice_key(*part) for part in parts}) == len({(name, tuple(found)) for name, found in parts})


@given(st.dictionaries(st.binary(max_size=6), st.binary(max_size=40), max_size=50))
def test_a_table_gives_what_went_into_it(content: dict[bytes, bytes]) -> None:
    data = dump_table(sorted(content.items()))
    table = Table(lambda offset, size: data[offset : offset + size], len(data))
    assert dict(table) == content
    assert all(table.get(key) == value for key, value in content.items())
    assert table.get(b"\xff" * 7) is None


def test_a_table_has_several_blocks() -> None:
    content = {b"key%03d" % n: bytes([n]) * 30_000 for n in range(100)}
    data = dump_table(content.items())
    reads: list[int] = []

    def read(offset: int, size: int) -> bytes:
        reads.append(offset)
        return data[offset : offset + size]

    table = Table(read, len(data))
    assert table.get(b"key057") == content[b"key057"]
    assert len(reads) == 3  # footer, index, one block
    assert dict(table) == content


@given(st.integers(0, 2**32 - 1))
def test_a_masked_checksum_is_unmasked(crc: int) -> None:
    assert unmasked(masked(crc)) == crc


@pytest.mark.parametrize(
    ("packed", "plain"),
    [
        (b"\0", b""),
        (b"\5\x10hello", b"hello"),
        (b"\x14\0a\x4a\1\0", b"a" * 20),  # a copy that overlaps itself, with an offset of two bytes
        (b"\x0a\4ab\x11\2", b"ab" * 5),  # with one of one byte and three bits
        (b"\x08\x0cabcd\x0f\4\0\0\0", b"abcdabcd"),  # with one of four bytes
        (b"\x64\xf0\x63" + b"x" * 100, b"x" * 100),
        (b"\xac\2\xf4\x2b\1" + b"y" * 300, b"y" * 300),
    ],
)
def test_snappy_blocks_are_decompressed(packed: bytes, plain: bytes) -> None:
    assert decompress(packed) == plain


@pytest.mark.parametrize(
    "packed", [b"", b"\xff" * 9, b"\5\x10hell", b"\4\x10hello", b"\5\1\1", b"\5\0a\x0d\0", b"\2\xf4"]
)
def test_what_is_no_snappy_block_is_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match=r"Snappy|outside"):
        decompress(packed)


def test_a_table_of_compressed_blocks_is_read() -> None:
    import google_crc32c

    plain = dump_table([(b"key", b"value")])
    block = plain[: plain.index(b"value") + 5] + b"\0\0\0\0\1\0\0\0"
    packed = bytes([len(block), (len(block) - 1) << 2]) + block + b"\1"
    begin = packed + masked(google_crc32c.value(packed)).to_bytes(4, "little")
    empty = b"\0\0\0\0\1\0\0\0\0"
    empty += masked(google_crc32c.value(empty)).to_bytes(4, "little")
    index = b"\0\3\2key" + bytes([0, len(packed) - 1]) + b"\0\0\0\0\1\0\0\0\0"
    index += masked(google_crc32c.value(index)).to_bytes(4, "little")
    footer = bytes([len(begin), 8, len(begin) + len(empty), len(index) - 5]).ljust(40, b"\0") + plain[-8:]
    data = begin + empty + index + footer
    assert dict(Table(lambda offset, size: data[offset : offset + size], len(data))) == {b"key": b"value"}


def test_a_variable_of_quantised_numbers_keeps_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = np.array([1, -2], np.int8).view([("qint8", np.int8)])
    fed = tf.placeholder(tf.qint8, [2])
    names = {"prefix": str(tmp_path / "m"), "tensor_names": ["q"], "shape_and_slices": [""]}
    save, restore = tf.raw_ops.SaveV2(**names, tensors=[fed]), tf.raw_ops.RestoreV2(**names, dtypes=[tf.qint8])
    for format in ("penstock", "tensorflow"):
        monkeypatch.setenv("PENSTOCK_CHECKPOINT_FORMAT", format)
        with tf.Session() as session:
            session.run(save, {fed: value})
            assert session.run(restore)[0].tolist() == value.tolist()
        assert CheckpointReader(tmp_path / "m").get_tensor("q").dtype == value.dtype
