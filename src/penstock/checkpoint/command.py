"""`penstock checkpoint convert|inspect`: checkpoints on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import get_args

from tqdm import tqdm

from penstock import errors
from penstock.checkpoint.files import checkpoint_exists
from penstock.checkpoint.inspect import table_of
from penstock.checkpoint.later import merge_checkpoints
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.replace import write_whole
from penstock.checkpoint.state import latest_checkpoint
from penstock.checkpoint.storage import locate
from penstock.checkpoint.writer import Format

_MOST_GRAPH_BYTES = 2 << 30


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="penstock checkpoint", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    prefix = "prefix of a checkpoint of Penstock or TensorFlow (either format), or a directory: its latest one"
    convert = commands.add_parser("convert", help="write a checkpoint in another format")
    convert.add_argument("source", help=prefix)
    convert.add_argument("destination", help="prefix of the new checkpoint; may be that of the source")
    convert.add_argument("--to", choices=get_args(Format), required=True)
    inspect = commands.add_parser("inspect", help="list the tensors of a checkpoint, or print values")
    inspect.add_argument("prefix", help=prefix)
    inspect.add_argument("--tensor", action="append", metavar="NAME", help="print the value of this one (repeatable)")
    args = parser.parse_args(arguments)
    try:
        if args.command == "convert":
            _convert(_checkpoint(args.source), args.destination, args.to)
        else:
            _inspect(_checkpoint(args.prefix), args.tensor or [])
    except BrokenPipeError:  # the reader of the list, such as `head`, has seen enough
        sys.stderr.close()
    except errors.OpError as error:
        print(f"penstock checkpoint: {error.message}", file=sys.stderr)
        return 1
    return 0


def _checkpoint(path: str) -> str:
    return path if checkpoint_exists(path) else latest_checkpoint(path) or path


def _convert(source: str, destination: str, format: Format) -> None:
    with CheckpointReader(source) as reader:
        total = sum(piece.nbytes for entry in reader.entries.values() for piece in entry.pieces)
        count = len(reader.entries)
    with tqdm(total=total, unit="B", unit_scale=True, disable=None) as bar:
        merge_checkpoints([source], destination, format, progress=bar.update, links=False)
    print(f"{count} tensors, {total:,} bytes: {source} -> {destination} ({format})")
    _copy_graph(source + ".meta", destination + ".meta")


def _copy_graph(source: str, destination: str) -> None:
    """The graph beside a checkpoint, if there is one, is the same in all formats."""
    storage, path = locate(source)
    if source != destination and storage.exists(path):
        write_whole(destination, storage.read(path, _MOST_GRAPH_BYTES))
        print(f"graph: {source} -> {destination}")


def _inspect(prefix: str, names: list[str]) -> None:
    with CheckpointReader(prefix) as reader:
        if not names:
            print(table_of(reader))
        for name in names:
            value = reader.get_tensor(name)
            print(f"{name}: {reader.entries[name].dtype} {list(value.shape)}\n{value}")
