"""Looking into checkpoints, beginning from one, and the Save and Restore ops themselves."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op


def checkpoint(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable([1.0, 2.0], name="w")
        with tf.variable_scope("layer"):
            tf.get_variable("kernel", initializer=np.full((2, 2), 3.0, np.float32))
            tf.get_variable("bias", initializer=np.float32(4.0))
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(tmp_path / "model"))


def test_a_directory_stands_for_its_latest_checkpoint(tmp_path: Path) -> None:
    prefix = checkpoint(tmp_path)
    for place in (prefix, str(tmp_path)):
        assert tf.train.list_variables(place) == [("layer/bias", []), ("layer/kernel", [2, 2]), ("w", [2])]
        np.testing.assert_array_equal(tf.train.load_variable(place, "w:0"), [1.0, 2.0])
    reader = tf.train.NewCheckpointReader(prefix)
    assert reader.has_tensor("w")
    assert reader.get_variable_to_shape_map()["w"] == [2]
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.load_variable(str(tmp_path / "nothing"), "w")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="Couldn't find"):
        tf.train.load_checkpoint(str(tmp_path / "empty"))


def test_scalars_of_checkpoints_are_scalars_and_strings_bytes(tmp_path: Path, session: tf.Session) -> None:
    values = {"step": np.int64(7), "rate": np.float32(0.5), "word": b"abc", "words": np.array([b"a", b"b"], object)}
    for name, value in values.items():
        tf.Variable(value, name=name)
    session.run(tf.global_variables_initializer())
    reader = tf.train.load_checkpoint(tf.train.Saver().save(session, str(tmp_path / "m")))
    found = {name: reader.get_tensor(name) for name in values}
    assert {name: type(value) for name, value in found.items()} == {name: type(v) for name, v in values.items()}
    assert (found["step"], found["rate"], found["word"], found["words"].tolist()) == (7, 0.5, b"abc", [b"a", b"b"])
    assert tf.train.load_variable(str(tmp_path), "word") == b"abc"


def test_variables_begin_with_values_of_a_checkpoint(tmp_path: Path, session: tf.Session) -> None:
    prefix = checkpoint(tmp_path)
    a, b = tf.get_variable("a", [2]), tf.get_variable("b", [2], use_resource=True)
    tf.train.init_from_checkpoint(str(tmp_path), {"w": a})
    tf.train.init_from_checkpoint(prefix, [("w", "b")])
    with tf.variable_scope("mine"):
        kernel, bias = tf.get_variable("kernel", [2, 2]), tf.get_variable("bias", [])
    tf.train.init_from_checkpoint(prefix, {"layer/": "mine/"})
    session.run(tf.global_variables_initializer())
    np.testing.assert_array_equal(session.run(a), [1.0, 2.0])
    np.testing.assert_array_equal(session.run(b), [1.0, 2.0])
    np.testing.assert_array_equal(session.run(kernel), np.full((2, 2), 3.0))
    assert session.run(bias) == 4.0


def test_what_does_not_fit_a_checkpoint_is_refused(tmp_path: Path) -> None:
    prefix = checkpoint(tmp_path)
    a = tf.get_variable("a", [3])
    with pytest.raises(ValueError, match=r"Shape of variable a \(\(3,\)\) doesn't match .* tensor w \(\[2\]\)"):
        tf.train.init_from_checkpoint(prefix, {"w": a})
    with pytest.raises(ValueError, match="Tensor x is not found"):
        tf.train.init_from_checkpoint(prefix, {"x": a})
    with pytest.raises(ValueError, match="no variables in scope nowhere"):
        tf.train.init_from_checkpoint(prefix, {"layer/": "nowhere/"})


def test_new_checkpoints_are_given_as_they_come(tmp_path: Path) -> None:
    prefix = checkpoint(tmp_path)
    assert list(tf.train.checkpoints_iterator(str(tmp_path), timeout=0)) == [prefix]
    assert list(tf.train.checkpoints_iterator(str(tmp_path / "none"), timeout=0)) == []


# --- the ops --------------------------------------------------------------------------------------------


def save(path: Path, **tensors: object) -> tf.Operation:
    names = list(tensors)
    return get_op("SaveV2")(str(path), names, [""] * len(names), list(tensors.values()))


def test_restore_gives_whole_tensors_and_slices(tmp_path: Path, session: tf.Session) -> None:
    session.run(save(tmp_path / "m", a=tf.constant(np.arange(12).reshape(4, 3)), s=tf.constant(["x", "y"])))
    whole, part, text = get_op("RestoreV2")(
        str(tmp_path / "m"), ["a", "a", "s"], ["", "4 3 1,2:-", ""], dtypes=[tf.int64, tf.int64, tf.string]
    )
    assert whole.shape.ndims is None
    assert part.shape == [2, 3]
    values = session.run([whole, part, text])
    np.testing.assert_array_equal(values[0], np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(values[1], np.arange(12).reshape(4, 3)[1:3])
    assert values[2].tolist() == [b"x", b"y"]


def test_errors_of_the_ops_name_tensor_and_file(tmp_path: Path, session: tf.Session) -> None:
    session.run(save(tmp_path / "m", a=tf.constant([1.0])))
    restore = get_op("RestoreV2")
    with pytest.raises(tf.errors.NotFoundError, match=r"b not found in checkpoint .*m"):
        session.run(restore(str(tmp_path / "m"), ["b"], [""], dtypes=[tf.float32]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="a; expected dtype int32 does not equal original dtype float32"
    ):
        session.run(restore(str(tmp_path / "m"), ["a"], [""], dtypes=[tf.int32]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'a' has shape \[1\] in checkpoint .*, not \[4\]"):
        session.run(restore(str(tmp_path / "m"), ["a"], ["4 0,2"], dtypes=[tf.float32]))
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        session.run(restore(str(tmp_path / "none"), ["a"], [""], dtypes=[tf.float32]))
    with pytest.raises(ValueError, match="RestoreV2"):
        restore("m", ["a", "b"], ["", ""], dtypes=[tf.float32])


def test_shards_are_merged_into_one_checkpoint(tmp_path: Path, session: tf.Session) -> None:
    target = str(tmp_path / "m")
    shards = [get_op("ShardedFilename")(f"{target}_temp/part", i, 2) for i in range(2)]
    assert session.run(shards[1]).decode().endswith("m_temp/part-00001-of-00002")
    saves = [
        get_op("SaveV2")(shard, [name], [""], [tf.constant([value])])
        for shard, name, value in zip(shards, "ab", (1.0, 2.0), strict=True)
    ]
    with tf.control_dependencies(saves):
        merge = get_op("MergeV2Checkpoints")(tf.convert_to_tensor(shards), target)
    session.run(merge)
    assert tf.train.list_variables(target) == [("a", [1]), ("b", [1])]
    assert not os.path.exists(f"{target}_temp")
