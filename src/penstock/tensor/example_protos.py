"""tf.train.Example and its parts: TensorFlow's messages.

`WireExample` and `WireSequenceExample` read the same bytes, but leave each feature's list as it is on the wire
(`bytes_list`, `float_list` and `int64_list` are bytes): what the parsing ops pass to NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.tensor.messages import add_message, message_classes, new_file


def _containers(file: Any, step: str = "Feature") -> None:
    """The messages that hold features, on top of `Feature`; `step` is the type of those in lists."""
    add_message(file, "Features", "map Feature feature")
    add_message(file, "FeatureList", f"repeated {step} feature")
    add_message(file, "FeatureLists", "map FeatureList feature_list")
    add_message(file, "Example", "Features features")
    add_message(file, "SequenceExample", "Features context", "FeatureLists feature_lists")


def _build() -> dict[str, Any]:
    file = new_file("penstock/example.proto", "tensorflow")
    add_message(file, "BytesList", "repeated bytes value")
    add_message(file, "FloatList", "repeated float value")
    add_message(file, "Int64List", "repeated int64 value")
    add_message(file, "Feature", "BytesList bytes_list", "FloatList float_list", "Int64List int64_list", oneof="kind")
    _containers(file)
    wire = new_file("penstock/wire_example.proto", "penstock.wire")
    add_message(wire, "Feature", "bytes bytes_list", "bytes float_list", "bytes int64_list", oneof="kind")
    _containers(wire, "bytes")
    return message_classes(file, wire)


_classes = _build()

BytesList: Any = _classes["tensorflow.BytesList"]
FloatList: Any = _classes["tensorflow.FloatList"]
Int64List: Any = _classes["tensorflow.Int64List"]
Feature: Any = _classes["tensorflow.Feature"]
Features: Any = _classes["tensorflow.Features"]
FeatureList: Any = _classes["tensorflow.FeatureList"]
FeatureLists: Any = _classes["tensorflow.FeatureLists"]
Example: Any = _classes["tensorflow.Example"]
SequenceExample: Any = _classes["tensorflow.SequenceExample"]


def _take_truth_values(message: Any) -> None:
    """Protobuf until 4 took True and False for whole numbers, as programs write labels and flags."""
    make = message.__init__

    def init(self: Any, *arguments: Any, value: Any = None, **fields: Any) -> None:
        numbers = value if value is None or isinstance(value, list | tuple | np.ndarray) else list(value)
        try:
            make(self, *arguments, value=numbers, **fields)
        except TypeError:
            make(self, *arguments, value=as_numbers(() if numbers is None else numbers), **fields)

    message.__init__ = init


def as_numbers(values: Iterable[Any]) -> list[Any]:
    """The values, with 1 for True and 0 for False."""
    return [int(each) if isinstance(each, bool | np.bool_) else each for each in values]


_take_truth_values(Int64List)

WireExample: Any = _classes["penstock.wire.Example"]
WireSequenceExample: Any = _classes["penstock.wire.SequenceExample"]
WireFeature: Any = _classes["penstock.wire.Feature"]
