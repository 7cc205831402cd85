"""What is in a checkpoint, as text."""

from __future__ import annotations

import math
import re

from penstock import errors
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.storage import Path
from penstock.export import export


def table_of(reader: CheckpointReader) -> str:
    """A line for each tensor (name, type, shape, parts if it is in several, bytes), and one for their sum."""
    rows = []
    elements = total = 0
    for name, entry in sorted(reader.entries.items()):
        parts = f"{len(entry.pieces)} parts" if len(entry.pieces) > 1 else ""
        nbytes = sum(piece.nbytes for piece in entry.pieces)
        rows.append((name, entry.dtype, str(list(entry.shape)), parts, f"{nbytes:,}"))
        elements, total = elements + math.prod(entry.shape), total + nbytes
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join(f"{{:{'>' if at == 4 else '<'}{width}}}" for at, width in enumerate(widths))
    lines = [form.format(*row) for row in rows]
    return "\n".join([*lines, f"{len(rows)} tensors, {elements:,} elements, {total:,} bytes"])


@export("contrib.framework.print_tensors_in_checkpoint_file")
def print_tensors_in_checkpoint_file(
    file_name: Path,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Print names, shapes or values of a checkpoint's tensors, and the number of elements.

    all_tensors: the values of all; all_tensor_names: the names of all; otherwise the value of `tensor_name`, or without
    it, names, types and shapes. Tensors whose name matches `count_exclude_pattern` do not count. Errors are printed.
    TF: tensorflow.python.tools.inspect_checkpoint.print_tensors_in_checkpoint_file.
    """
    try:
        with CheckpointReader(file_name) as reader:
            if all_tensors or all_tensor_names:
                for name in sorted(reader.entries):
                    print("tensor_name: ", name)
                    if all_tensors:
                        print(reader.get_tensor(name))
            elif tensor_name:
                print("tensor_name: ", tensor_name)
                print(reader.get_tensor(tensor_name))
            else:
                print(reader.debug_string().decode())
            counted = [
                entry.shape
                for name, entry in reader.entries.items()
                if not count_exclude_pattern or not re.search(count_exclude_pattern, name)
            ]
            print(f"# Total number of params: {sum(map(math.prod, counted))}")
    except errors.OpError as error:
        print(error.message)
