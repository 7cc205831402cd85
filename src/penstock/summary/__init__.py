"""Summaries: what TensorBoard shows of values, graphs and traces (section 9.1; TF: tf.summary)."""

from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryDescription

from penstock import absent as _absent
from penstock.summary.functions import (
    audio,
    histogram,
    histogram_summary,
    image,
    image_summary,
    merge,
    merge_all,
    merge_all_summaries,
    merge_summary,
    scalar,
    scalar_summary,
    tensor_summary,
    text,
)
from penstock.summary.writer import FileWriter, FileWriterCache, summary_iterator

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "audio",
    "histogram",
    "histogram_summary",
    "image",
    "image_summary",
    "merge",
    "merge_all",
    "merge_all_summaries",
    "merge_summary",
    "scalar",
    "scalar_summary",
    "summary_iterator",
    "tensor_summary",
    "text",
]

_absent.tell_in(__name__)
