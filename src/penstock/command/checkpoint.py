"""`penstock checkpoint`: checkpoints on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from penstock.checkpoint.files import checkpoint_exists
from penstock.checkpoint.formats import Format
from penstock.checkpoint.inspect import table_of
from penstock.checkpoint.later import merge_checkpoints
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.replace import write_whole
from penstock.checkpoint.state import latest_checkpoint
from penstock.checkpoint.storage import locate
from penstock.command.programs import AsJson

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Inspect and convert checkpoints of Penstock and TensorFlow.\n\nA checkpoint is named by its prefix, as in "
    "`model.ckpt-1000`, or by the folder that it is in, which means the latest one there.",
)
_MOST_GRAPH_BYTES = 2 << 30


@app.command()
def inspect(
    prefix: Annotated[str, typer.Argument(help="Prefix or folder of a checkpoint, in any format.")],
    tensor: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Print the value of this one. Repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List a checkpoint's tensors, or print values.

    **Example:** `penstock checkpoint inspect train/ --tensor dense/kernel`
    """
    with CheckpointReader(_checkpoint(prefix)) as reader:
        if as_json:
            print(json.dumps(_described(reader, tensor)))
        elif not tensor:
            print(table_of(reader))
        else:
            for name in tensor:
                value = reader.array(name)
                print(f"{name}: {reader.entries[name].dtype} {list(value.shape)}\n{value}")


def _described(reader: CheckpointReader, tensors: list[str] | None) -> list[dict[str, object]]:
    """Values only of `tensors`, if there are some."""
    found = []
    for name in tensors or sorted(reader.entries):
        values = {"value": [*map(str, reader.array(name).ravel())]} if tensors else {}
        entry = reader.entries[name]
        nbytes = sum(piece.nbytes for piece in entry.pieces)
        found.append({"name": name, "dtype": entry.dtype, "shape": list(entry.shape), "bytes": nbytes, **values})
    return found


@app.command()
def convert(
    source: Annotated[str, typer.Argument(help="Prefix or folder of a checkpoint, in any format.")],
    destination: Annotated[str, typer.Argument(help="Prefix of the new checkpoint; may be that of the source.")],
    to: Annotated[Format, typer.Option(help="The new one's format.")],
) -> None:
    """Write a checkpoint, with its graph if there is one, in another format.

    **Example:** `penstock checkpoint convert train/model.ckpt-1000 out/model.ckpt --to tensorflow`
    """
    source = _checkpoint(source)
    with CheckpointReader(source) as reader:
        total = sum(piece.nbytes for entry in reader.entries.values() for piece in entry.pieces)
        count = len(reader.entries)
    with tqdm(total=total, unit="B", unit_scale=True, disable=None) as bar:
        merge_checkpoints([source], destination, to, progress=bar.update, links=False)
    print(f"{count} tensors, {total:,} bytes: {source} -> {destination} ({to})")
    _copy_graph(source + ".meta", destination + ".meta")


@app.command()
def project(
    source: Annotated[str, typer.Argument(help="Prefix or folder of a checkpoint, in any format.")],
    tensor: Annotated[
        list[str], typer.Option(metavar="NAME", help="A matrix, of which each row is shown. Repeatable.")
    ],
    folder: Annotated[Path, typer.Option(help="Where TensorBoard will look.")],
    metadata: Annotated[str, typer.Option(help="A file in that folder with a label, or columns, for each row.")] = "",
) -> None:
    """Show a checkpoint's vectors in TensorBoard's projector.

    **Example:** `penstock checkpoint project train/ --tensor embedding --metadata words.tsv --folder train/`
    """
    from penstock.summary.projector import ProjectorConfig, write_vectors

    config = ProjectorConfig()
    for name in tensor:
        config.embeddings.add(tensor_name=name, metadata_path=metadata)
    folder.mkdir(parents=True, exist_ok=True)
    for each in write_vectors(str(folder), config, _checkpoint(source)).embeddings:
        rows, width = each.tensor_shape
        print(f"{each.tensor_name}: {rows:,} vectors of {width} -> {folder / each.tensor_path}")
    print(f"now: tensorboard --logdir {folder}")


def _checkpoint(path: str) -> str:
    return path if checkpoint_exists(path) else latest_checkpoint(path) or path


def _copy_graph(source: str, destination: str) -> None:
    """The graph beside a checkpoint, if there is one, is the same in all formats."""
    storage, path = locate(source)
    if source != destination and storage.exists(path):
        write_whole(destination, storage.read(path, _MOST_GRAPH_BYTES))
        print(f"graph: {source} -> {destination}")
