"""Checkpoints in all formats: Penstock's (safetensors), TensorFlow's of today and its first."""

from __future__ import annotations

import copy
import json
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import penstock as tf
from penstock.checkpoint import bundle, first_format, index
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slices import Slice, SlicedTensor
from penstock.checkpoint.sorted_table import Table, dump_table
from penstock.checkpoint.writer import write_checkpoint
from tests.fuzz.kind import RECORDED, Kind, made
from tests.fuzz.mutate import change_bytes, change_file, change_json, change_message


def change_checkpoint(rng: random.Random, folder: Path) -> bool:
    """Bytes of files (then True), or the messages in them, with checksums that are right again."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    tables = [path for path in files if path.read_bytes().endswith(bundle.MAGIC)]
    jsons = [path for path in files if path.suffix == ".index" and path not in tables]
    tensors = [path for path in files if path.suffix == ".safetensors"]
    if rng.random() < 0.3 or not (tables or jsons):
        change_file(rng, folder)
        return True
    elif tables:
        _change_table(rng, rng.choice(tables))
    elif tensors and rng.random() < 0.3:
        _change_header(rng, rng.choice(tensors))
    else:
        _change_index(rng, rng.choice(jsons))
    return False


def _change_table(rng: random.Random, path: Path) -> None:
    data = path.read_bytes()
    items = dict(Table(lambda offset, size: data[offset : offset + size], len(data)))
    key = rng.choice(sorted(items))
    if path.suffix != ".index":
        message = first_format.SavedTensorSlices
    else:
        message = bundle._Entry if key else bundle._Header
    if rng.random() < 0.15:
        items[rng.choice([key[:-1], key + b"x", b"\0", b"\xff", b"", b"x" * 100_000])] = items.pop(key)
    elif rng.random() < 0.2:
        items[key] = change_bytes(rng, items[key])
    else:
        proto = message.FromString(items[key])
        change_message(rng, proto)
        items[key] = proto.SerializeToString()
    path.write_bytes(dump_table(sorted(items.items())))


def _change_index(rng: random.Random, path: Path) -> None:
    content = json.loads(path.read_bytes())
    content.pop("checksum", None)
    content = change_json(rng, copy.deepcopy(content))
    if isinstance(content, dict):
        content = {"checksum": index._checksum(content)} | content
    path.write_text(json.dumps(content))


def _change_header(rng: random.Random, path: Path) -> None:
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data.ljust(8, b"\0"))
    header = json.loads(data[8 : 8 + size])
    text = json.dumps(change_json(rng, header)).encode()
    said = rng.choice([len(text)] * 5 + [0, 2**40, 2**63, len(text) + 1])
    path.write_bytes(struct.pack("<Q", said) + text + data[8 + size :])


def _use_checkpoint(folder: Path, loaded: Callable[[], None]) -> Any:
    found: dict[str, Any] = {}
    with CheckpointReader(folder / "v") as reader:
        for name in reader.get_variable_to_shape_map():
            try:
                found[name] = reader.array(name)
            except tf.errors.OpError as error:
                found[name] = error
    return found


TENSORS: dict[str, Any] = {
    "scope/w": np.linspace(-1, 1, 40).reshape(5, 8),
    "scope/b": np.array([True, False, True]),
    "s": np.array([b"", b"word", b"x" * 200], object),
    "p": SlicedTensor((4, 3), tuple(Slice((i, 0), np.full((1, 3), i, np.int32)) for i in range(4))),
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.array(7, np.int64),
}


def _checkpoints(folder: Path) -> None:
    for form in ("penstock", "tensorflow"):
        write_checkpoint(made(folder / form) / "v", TENSORS, format=form, max_shard_bytes=300)
    many = {f"w{i}": np.array(i) for i in range(200)}
    write_checkpoint(made(folder / "many") / "v", many, format="tensorflow")
    for name in ("Adam", "parts_of_float32", "every_type_but_new_ones"):
        of_v2 = made(folder / name)
        for path in (RECORDED / "checkpoints" / name).glob("v2.*"):
            shutil.copy(path, of_v2 / path.name.replace("v2", "v", 1))
        shutil.copy(RECORDED / "checkpoints" / name / "v1", made(folder / f"{name}_v1") / "v")


KIND = Kind(_checkpoints, change_checkpoint, _use_checkpoint, 25, exact=True)
