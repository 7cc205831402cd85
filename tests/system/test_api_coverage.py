"""The symbols of TensorFlow 1.x that public programs use most: all there, but for those listed here by name.

`tests/data/tf1_symbols.json` holds 90% (tier 1) and 97% (tier 2) of the uses in some five thousand public files.
A leading dot marks a method or attribute of a class.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import penstock as tf
from penstock.checkpoint.reader import CheckpointReader
from penstock.session.step_timeline import StepTimeline

SYMBOLS: dict[str, list[str]] = json.loads((Path(__file__).parent.parent / "data" / "tf1_symbols.json").read_text())

NOT_YET = (".Estimator.fit",)  # tf.contrib.learn
"""Families that are not part of Penstock yet, by the beginnings of their names."""

MISSING: set[str] = set()
"""Symbols of the families that are, which are missing still: none."""

CLASSES: dict[str, Any] = {
    "Optimizer": tf.train.Optimizer,
    "Saver": tf.train.Saver,
    "Builder": tf.saved_model.Builder,
    "Estimator": tf.estimator.Estimator,
    "FileWriter": tf.summary.FileWriter,
    "EMA": tf.train.ExponentialMovingAverage,
    "CheckpointReader": CheckpointReader,
    "Dataset": tf.data.Dataset,
    "Iterator": tf.data.Iterator,
    "PyRecordWriter": tf.python_io.TFRecordWriter,
    "Queue": tf.QueueBase,
    "Reader": tf.ReaderBase,
    "SyncReplicas": tf.train.SyncReplicasOptimizer,
    "Timeline": StepTimeline,
    # the fields of a message are its instances'
    **{kind.__name__: kind() for kind in (tf.ConfigProto, tf.GraphDef, tf.RunMetadata, tf.train.Example)},
}


def resolve(name: str) -> Any:
    """The object, or AttributeError. Methods of messages are protobuf's own."""
    found: Any = tf
    if name.startswith("."):
        owner, name = name[1:].split(".", 1)
        found = CLASSES.get(owner) or _class_of(owner)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _class_of(owner: str) -> Any:
    return getattr(tf, owner, None) or getattr(tf.train, owner, None) or getattr(tf.nn.rnn_cell, owner)


@pytest.mark.parametrize("tier", SYMBOLS)
def test_every_symbol_of_a_tier_is_there_or_listed(tier: str) -> None:
    missing = set()
    for name in SYMBOLS[tier]:
        if name.startswith(NOT_YET):
            continue
        try:
            resolve(name)
        except AttributeError:
            missing.add(name)
    assert missing == MISSING & set(SYMBOLS[tier])
    counted = [name for name in SYMBOLS[tier] if not name.startswith(NOT_YET)]
    assert len(missing) <= (0 if tier == "tier1" else 0.03) * len(counted)
