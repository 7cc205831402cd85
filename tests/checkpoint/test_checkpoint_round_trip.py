"""What goes into a checkpoint comes out of it, and other tools can read the data files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.torch import load_file

from penstock import errors
from penstock.checkpoint.files import list_variables
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slices import Slice, SlicedTensor
from penstock.checkpoint.writer import write_checkpoint

NUMPY_DTYPES: list[Any] = [
    np.bool_,
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    *(np.complex64, np.complex128),
]
TORCH_DTYPES = [
    torch.bool,
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    *(torch.float16, torch.float32, torch.float64, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
    *(torch.complex64, torch.complex128),
]
SHAPES = [(), (0,), (3,), (2, 3), (2, 0, 3), (1,) * 8]


def assert_same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if got.dtype == object:
        assert got.tolist() == want.tolist()
    else:
        assert got.tobytes() == want.tobytes()  # NaNs included


@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_numpy_arrays_of_every_type_and_shape_come_back(tmp_path: Path, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    tensors = {f"s{i}": rng.integers(0, 2, shape).astype(dtype) for i, shape in enumerate(SHAPES)}
    write_checkpoint(tmp_path / "m", tensors)
    reader = CheckpointReader(tmp_path / "m")
    assert reader.get_variable_to_dtype_map() == dict.fromkeys(tensors, np.dtype(dtype))
    for name, value in tensors.items():
        assert_same(reader.get_tensor(name), value)


@pytest.mark.parametrize("dtype", TORCH_DTYPES, ids=str)
def test_torch_tensors_of_every_type_come_back_as_the_matching_arrays(tmp_path: Path, dtype: torch.dtype) -> None:
    value = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    write_checkpoint(tmp_path / "m", {"w": value, "column": value[:, 1:2], "empty": value[:0], "one": value[0, 1]})
    read = CheckpointReader(tmp_path / "m").read(["w", "column", "empty", "one"])
    assert read["w"].dtype.name == str(dtype).removeprefix("torch.")
    assert read["w"].astype(np.complex128).tolist() == [[0, 1, 1], [1, 0, 1]]
    assert read["column"].astype(np.complex128).tolist() == [[1], [0]]
    assert read["empty"].shape == (0, 3)
    assert read["one"].shape == ()


def test_strings_come_back_as_objects_of_bytes(tmp_path: Path) -> None:
    tensors = {
        "bytes": np.array([[b"", b"\0a\0"], [b"\xff" * 1000, b"b"]], object),
        "text": np.array(["é", "x"], object),
        "fixed": np.array([b"ab", b"c"]),
        "unicode": np.array("word"),
        "none": np.array([], object).reshape(0, 4),
    }
    write_checkpoint(tmp_path / "m", tensors)
    read = CheckpointReader(tmp_path / "m").read(tensors)
    assert_same(read["bytes"], tensors["bytes"])
    assert read["text"].tolist() == ["é".encode(), b"x"]
    assert read["fixed"].tolist() == [b"ab", b"c"]
    assert_same(read["unicode"], np.array(b"word", object))
    assert read["none"].shape == (0, 4)
    assert read["none"].dtype == object


def test_the_value_is_saved_whatever_the_memory_layout(tmp_path: Path) -> None:
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    z = torch.tensor([1 + 2j, 3 - 4j])
    tensors: dict[str, Any] = {
        "fortran": np.asfortranarray(base),
        "strided": base[:, ::-1, ::2],
        "big_endian": base.astype(">f4"),
        "scalar": np.float64(2.5),
        "conjugated": z.conj(),
        "negated": z.conj().imag,
        "transposed": torch.from_numpy(base).permute(2, 0, 1),
        "parameter": torch.nn.Parameter(torch.ones(2)),
    }
    write_checkpoint(tmp_path / "m", tensors)
    read = CheckpointReader(tmp_path / "m").read(tensors)
    for name in ("fortran", "strided", "big_endian"):
        np.testing.assert_array_equal(read[name], tensors[name])
    assert read["big_endian"].dtype == np.dtype("<f4")
    assert_same(read["scalar"], np.array(2.5))
    assert read["conjugated"].tolist() == [1 - 2j, 3 + 4j]
    assert read["negated"].tolist() == [-2.0, 4.0]
    np.testing.assert_array_equal(read["transposed"], base.transpose(2, 0, 1))
    assert read["parameter"].tolist() == [1, 1]


def test_empty_tensors_that_numpy_made_are_saved(tmp_path: Path) -> None:
    empty = torch.from_numpy(np.array([], np.int64))
    assert empty.stride() == (0,)
    write_checkpoint(tmp_path / "c", {"empty": empty})
    with CheckpointReader(tmp_path / "c") as reader:
        assert_same(reader.get_tensor("empty"), np.array([], np.int64))


def test_read_arrays_are_writable_and_independent(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"w": np.zeros(3)})
    reader = CheckpointReader(tmp_path / "m")
    first = reader.get_tensor("w")
    first += 1
    assert reader.get_tensor("w").tolist() == [0, 0, 0]


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: name != "__metadata__")
values = st.one_of(
    hnp.arrays(
        st.sampled_from([np.dtype(d) for d in NUMPY_DTYPES if np.dtype(d).isbuiltin == 1]),
        hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
    ),
    hnp.arrays(object, hnp.array_shapes(min_dims=0, min_side=0, max_side=3), elements=st.binary()),
)


@settings(max_examples=40)
@given(tensors=st.dictionaries(names, values, max_size=4), max_shard_bytes=st.integers(1, 200))
def test_any_mapping_comes_back(tmp_path: Path, tensors: dict[str, Any], max_shard_bytes: int) -> None:
    write_checkpoint(tmp_path / "m", tensors, max_shard_bytes=max_shard_bytes)
    reader = CheckpointReader(tmp_path / "m")
    assert reader.get_variable_to_shape_map() == {name: list(value.shape) for name, value in tensors.items()}
    for name, value in reader.read(tensors).items():
        assert_same(value, tensors[name])


def test_a_large_checkpoint_read_in_parallel_keeps_the_names_apart(tmp_path: Path) -> None:
    tensors = {f"w{i}": np.full(1 << 19, i, np.float32) for i in range(12)}  # 24 MiB
    write_checkpoint(tmp_path / "m", tensors, max_shard_bytes=5 << 20)
    read = CheckpointReader(tmp_path / "m").read(reversed(tensors))
    assert list(read) == list(reversed(tensors))
    assert all((value == int(name[1:])).all() for name, value in read.items())


def test_shards_hold_at_most_the_given_bytes_or_one_tensor(tmp_path: Path) -> None:
    tensors = {f"w{i}": np.zeros(25, np.float32) for i in range(5)} | {"x": np.zeros(100, np.float32)}
    write_checkpoint(tmp_path / "m", tensors, max_shard_bytes=250)
    files = sorted(path.name for path in tmp_path.glob("m.data-*"))
    assert [re.sub(r"\.[0-9a-f]{16}\.", ".", name) for name in files] == [
        f"m.data-{i:05d}-of-00004.safetensors" for i in range(4)
    ]
    assert len(CheckpointReader(tmp_path / "m").read(tensors)) == 6


def test_an_empty_checkpoint_is_a_checkpoint(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {})
    assert list_variables(tmp_path / "m") == []


def test_data_files_are_safetensors_files(tmp_path: Path) -> None:
    tensors = {
        "w": torch.rand(3, 5),
        "b": torch.rand(7).bfloat16(),
        "n": torch.tensor(7),
        "z": torch.ones(2) * 1j,
    }
    write_checkpoint(tmp_path / "m", tensors | {"s": np.array([b"ab"], object), "odd": np.int8(3)})
    (path,) = tmp_path.glob("m.data-*")
    read = load_file(path)
    for name in ("w", "b", "n"):
        assert torch.equal(read[name], tensors[name])
    assert torch.equal(torch.view_as_complex(read["z"]), tensors["z"])
    assert bytes(read["s"].tolist()).endswith(b"ab")


def test_a_partitioned_variable_is_read_whole_or_by_region(tmp_path: Path) -> None:
    full = np.arange(30, dtype=np.int32).reshape(5, 6)
    sliced = SlicedTensor((5, 6), (Slice((0, 0), full[:2]), Slice((2, 0), full[2:, :4]), Slice((2, 4), full[2:, 4:])))
    words = np.array([b"a", b"bb", b"ccc"], object)
    strings = SlicedTensor((3,), (Slice((2,), words[2:]), Slice((0,), words[:2])))
    write_checkpoint(tmp_path / "m", {"w": sliced, "s": strings, "plain": full}, max_shard_bytes=40)
    reader = CheckpointReader(tmp_path / "m")
    assert reader.get_variable_to_shape_map()["w"] == [5, 6]
    for name in ("w", "plain"):
        assert_same(reader.get_tensor(name), full)
        assert_same(reader.get_slice(name, (1, 3), (3, 2)), full[1:4, 3:5])
        assert_same(reader.get_slice(name, (5, 0), (0, 6)), full[5:])
        with pytest.raises(errors.InvalidArgumentError, match="no region"):
            reader.get_slice(name, (4, 0), (2, 6))
    assert_same(reader.get_tensor("s"), words)


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ([((0,), np.zeros(2)), ((1,), np.zeros(2))], "overlap"),
        ([((0,), np.zeros(3))], "3 elements"),
        ([((2,), np.zeros(4))], "not inside"),
        ([((0, 0), np.zeros((2, 2)))], "not inside"),
        ([((0,), np.zeros(2)), ((2,), np.zeros(2, np.float32))], "one type"),
        ([], "0 elements"),
    ],
)
def test_slices_that_do_not_make_up_the_tensor_are_refused(tmp_path: Path, slices: Any, message: str) -> None:
    value = SlicedTensor((4,), tuple(Slice(start, part) for start, part in slices))
    with pytest.raises(errors.InvalidArgumentError, match=f"'w'.*{message}"):
        write_checkpoint(tmp_path / "m", {"w": value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "value",
    [
        np.array([{}], object),
        np.array(["\udc80"], object),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(2, np.longdouble),
        np.zeros(2, [("a", "i4")]),
        torch.zeros(2).to_sparse(),
        torch.zeros(2, device="meta"),
        [1.0],
    ],
    ids=str,
)
def test_a_value_that_no_checkpoint_can_hold_is_refused_by_name(tmp_path: Path, value: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="'w'"):
        write_checkpoint(tmp_path / "m", {"a": np.zeros(2), "w": value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "__metadata__", "\ud800", 3])
def test_an_unusable_name_is_refused(tmp_path: Path, name: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="name of a tensor"):
        write_checkpoint(tmp_path / "m", {"a": np.zeros(2), name: np.zeros(2)})
