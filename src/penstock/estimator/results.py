"""Results of an evaluation, as a line in the log and as summaries, which are read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto import summary_pb2

from penstock import errors, gfile, logging
from penstock.graph.codec import make_tensor_proto
from penstock.graph.scopes import GraphKeys
from penstock.summary.writer import FileWriterCache, summary_iterator


def write_results(directory: str, results: Mapping[str, Any], step: int, checkpoint_path: str | None) -> None:
    """Log the results of an evaluation, and write their summaries to `directory`."""
    shown = ", ".join(f"{name} = {value!s}" for name, value in sorted(results.items()) if not isinstance(value, bytes))
    logging.info("Saving dict for global step %d: %s", step, shown)
    summary = summary_pb2.Summary()
    for name, value in results.items():
        if value is not None and name != GraphKeys.GLOBAL_STEP:
            _add(summary, name, value)
    writer = FileWriterCache.get(directory)
    writer.add_summary(summary, step)
    if checkpoint_path:
        logging.info("Saving 'checkpoint_path' summary for global step %d: %s", step, checkpoint_path)
        path = summary_pb2.Summary()
        path.value.add(tag="checkpoint_path", tensor=make_tensor_proto(checkpoint_path))
        writer.add_summary(path, step)
    writer.flush()


def read_results(pattern: str) -> Iterator[tuple[int, dict[str, float]]]:
    """The steps and results of the evaluations in these event files; none if their folder is not there yet."""
    try:
        paths = gfile.Glob(pattern)
    except errors.NotFoundError:
        return
    for path in paths:
        for event in summary_iterator(path):
            found = {value.tag: value.simple_value for value in event.summary.value if value.HasField("simple_value")}
            if found:
                yield event.step, found


def _add(summary: Any, name: str, value: Any) -> None:
    if isinstance(value, int | float | np.integer | np.floating):
        summary.value.add(tag=name, simple_value=float(value))
    elif isinstance(value, bytes):
        try:
            parts = summary_pb2.Summary.FromString(value).value
        except DecodeError:
            logging.warning("Skipping summary for %s, cannot parse string to Summary.", name)
            return
        for number, part in enumerate(parts):
            part.tag = f"{name}/{number}"
            summary.value.append(part)
    elif isinstance(value, np.ndarray):
        summary.value.add(tag=name, node_name=name, tensor=make_tensor_proto(value))
        logging.info("TensorBoard does not show the array %s without a plugin of its own.", name)
    else:
        logging.warning(
            "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or np.ndarray or a "
            "serialized string of Summary.",
            name,
        )
