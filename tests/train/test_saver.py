"""`Saver`: what is written, read back, kept and deleted; and that a restore that cannot succeed changes nothing."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.checkpoint.reader import CheckpointReader

KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


def initialised(session: tf.Session) -> None:
    session.run(tf.global_variables_initializer())


# --- save and restore -----------------------------------------------------------------------------------


@KINDS
def test_what_is_saved_is_restored_in_another_session_without_initialisation(
    tmp_path: Path, use_resource: bool
) -> None:
    w = tf.Variable([1.5, 2.5], name="w", use_resource=use_resource)
    n = tf.Variable(7, name="n", dtype=tf.int64, use_resource=use_resource)
    saver = tf.train.Saver()
    with tf.Session() as session:
        initialised(session)
        prefix = saver.save(session, str(tmp_path / "model"))
    assert prefix == str(tmp_path / "model")
    with tf.Session() as session:
        assert saver.restore(session, prefix) is None
        np.testing.assert_array_equal(session.run(w), [1.5, 2.5])
        assert session.run(n) == 7


@pytest.mark.parametrize(
    "value",
    [
        np.array([True, False]), np.int8([1, -2]), np.uint16([1, 65535]), np.float16([1.5]), np.float64([1 / 3]),
        np.complex64([1 + 2j]), np.array([b"one", b"\xff"], object), np.zeros((0, 3), np.float32), np.float32(3),
    ],
    ids=lambda v: f"{v.dtype}{list(v.shape)}",
)  # fmt: skip
def test_every_kind_of_value_comes_back_as_it_was(value: Any, tmp_path: Path, session: tf.Session) -> None:
    v = tf.Variable(value, name="v", trainable=False)
    saver = tf.train.Saver()
    initialised(session)
    prefix = saver.save(session, str(tmp_path / "model"))
    with tf.Session() as fresh:
        saver.restore(fresh, prefix)
        found = np.asarray(fresh.run(v))
    assert found.dtype == np.asarray(value).dtype
    np.testing.assert_array_equal(found, value)


def test_bfloat16_comes_back_bit_for_bit(tmp_path: Path, session: tf.Session) -> None:
    v = tf.Variable(np.array([1.5, -0.0, np.nan]).astype(tf.bfloat16.as_numpy_dtype), name="v", trainable=False)
    saver = tf.train.Saver()
    initialised(session)
    prefix = saver.save(session, str(tmp_path / "model"))
    with tf.Session() as fresh:
        saver.restore(fresh, prefix)
        assert fresh.run(v).view(np.uint16).tolist() == session.run(v).view(np.uint16).tolist()


def test_a_dict_gives_names_in_the_checkpoint(tmp_path: Path, session: tf.Session) -> None:
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    initialised(session)
    prefix = tf.train.Saver({"first": a, "second": b}).save(session, str(tmp_path / "model"))
    assert tf.train.list_variables(prefix) == [("first", []), ("second", [])]
    tf.train.Saver({"first": b}).restore(session, prefix)
    assert session.run([a, b]) == [1.0, 1.0]


def test_an_optimizers_state_goes_along_under_tensorflows_names(tmp_path: Path, session: tf.Session) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(w * w), global_step=step)
    saver = tf.train.Saver()
    initialised(session)
    session.run(train)
    prefix = saver.save(session, str(tmp_path / "model"), global_step=step)
    assert prefix.endswith("model-1")
    names = [name for name, _ in tf.train.list_variables(prefix)]
    assert names == ["beta1_power", "beta2_power", "global_step", "w", "w/Adam", "w/Adam_1"]
    session.run(train)
    after = session.run(w)
    saver.restore(session, prefix)
    session.run(train)
    np.testing.assert_array_equal(session.run(w), after)


def test_restoring_with_reshape_takes_another_shape_of_the_same_size(tmp_path: Path, session: tf.Session) -> None:
    flat = tf.Variable(np.arange(6, dtype=np.float32), name="flat")
    square = tf.Variable(np.zeros((2, 3), np.float32), name="square")
    initialised(session)
    prefix = tf.train.Saver({"v": flat}).save(session, str(tmp_path / "model"))
    tf.train.Saver({"v": square}, reshape=True).restore(session, prefix)
    np.testing.assert_array_equal(session.run(square), [[0, 1, 2], [3, 4, 5]])


def test_slices_of_a_partitioned_variable_are_one_tensor_in_the_checkpoint(tmp_path: Path, session: tf.Session) -> None:
    parts = [tf.Variable(np.full((2, 3), i, np.float32), name=f"w/part_{i}") for i in range(2)]
    for i, part in enumerate(parts):
        part._set_save_slice_info(tf.Variable.SaveSliceInfo("w", [4, 3], [2 * i, 0], [2, 3]))
    saver = tf.train.Saver(parts)
    initialised(session)
    prefix = saver.save(session, str(tmp_path / "model"))
    np.testing.assert_array_equal(tf.train.load_variable(prefix, "w")[:, 0], [0, 0, 1, 1])
    whole = tf.Variable(np.zeros((4, 3), np.float32), name="whole")
    tf.train.Saver({"w": whole}).restore(session, prefix)
    np.testing.assert_array_equal(session.run(whole)[:, 0], [0, 0, 1, 1])
    session.run([part.assign(part * 0) for part in parts])
    saver.restore(session, prefix)
    np.testing.assert_array_equal(session.run(parts[1]), np.ones((2, 3)))


def test_saving_while_another_thread_trains_writes_values_that_were_there(tmp_path: Path) -> None:
    w = tf.Variable(np.zeros(100_000, np.float32), name="w")
    count = w.assign_add(np.ones(100_000, np.float32)).op
    saver = tf.train.Saver()
    stop = threading.Event()
    with tf.Session() as session:
        initialised(session)

        def train() -> None:
            while not stop.is_set():
                session.run(count)

        thread = threading.Thread(target=train)
        thread.start()
        try:
            prefixes = [saver.save(session, str(tmp_path / f"m{i}"), write_meta_graph=False) for i in range(3)]
        finally:
            stop.set()
            thread.join()
        for prefix in prefixes:
            with CheckpointReader(prefix) as reader:
                assert (reader.get_tensor("w") >= 0).all()  # reading verifies the checksum


# --- the nodes ------------------------------------------------------------------------------------------


def test_save_and_restore_are_nodes_with_tensorflows_names(graph: tf.Graph) -> None:
    tf.Variable([1.0], name="w")
    tf.Variable([1.0], name="r", use_resource=True)
    saver = tf.train.Saver()
    definition = saver.as_saver_def()
    assert definition.filename_tensor_name == "save/Const:0"
    assert definition.save_tensor_name == "save/control_dependency:0"
    assert definition.restore_op_name == "save/restore_all"
    save = graph.get_operation_by_name("save/SaveV2")
    assert [t.name for t in save.inputs] == [
        "save/Const:0", "save/SaveV2/tensor_names:0", "save/SaveV2/shape_and_slices:0", "r/Read/ReadVariableOp:0", "w:0"
    ]  # fmt: skip
    assert graph.get_operation_by_name("save/RestoreV2").outputs[0].consumers()[0].type == "AssignVariableOp"


def test_a_finalized_graph_can_be_saved_and_restored(graph: tf.Graph, tmp_path: Path, session: tf.Session) -> None:
    w = tf.Variable(1.0, name="w")
    saver, init = tf.train.Saver(), tf.global_variables_initializer()
    graph.finalize()
    session.run(init)
    prefix = saver.save(session, str(tmp_path / "model"))
    saver.restore(session, prefix)
    assert session.run(w) == 1.0


# --- which checkpoints are kept -------------------------------------------------------------------------


def test_the_latest_few_are_kept_and_the_state_file_names_them(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="w")
    saver = tf.train.Saver(max_to_keep=2)
    initialised(session)
    prefixes = [saver.save(session, str(tmp_path / "model"), global_step=i) for i in range(4)]
    assert saver.last_checkpoints == prefixes[2:]
    assert tf.train.latest_checkpoint(str(tmp_path)) == prefixes[3]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == prefixes[2:]
    names = {name.split(".")[0] for name in os.listdir(tmp_path)}
    assert names == {"model-2", "model-3", "checkpoint"}
    assert (tmp_path / "model-3.meta").exists()
    assert not (tmp_path / "model-1.meta").exists()


def test_no_maximum_keeps_all_and_records_only_the_latest(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="w")
    saver = tf.train.Saver(max_to_keep=None)
    initialised(session)
    prefixes = [saver.save(session, str(tmp_path / "model"), global_step=i) for i in range(7)]
    assert all(map(tf.train.checkpoint_exists, prefixes))
    assert saver.last_checkpoints == []
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == [state.model_checkpoint_path] == prefixes[-1:]


def test_a_checkpoint_cannot_have_the_name_of_its_state_file(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="w")
    saver = tf.train.Saver()
    initialised(session)
    for name, latest in (("checkpoint", None), ("mine", "mine")):
        with pytest.raises(ValueError, match="'latest_filename' collides with 'save_path'"):
            saver.save(session, str(tmp_path / name), latest_filename=latest)


def test_one_of_every_so_many_hours_stays(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="w")
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1e-9)
    initialised(session)
    prefixes = [saver.save(session, str(tmp_path / "model"), global_step=i) for i in range(3)]
    assert all(map(tf.train.checkpoint_exists, prefixes))


def test_a_prefix_saved_again_counts_once(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="w")
    saver = tf.train.Saver(max_to_keep=2)
    initialised(session)
    for name in ("a", "b", "a", "a"):
        saver.save(session, str(tmp_path / name))
    assert saver.last_checkpoints == [str(tmp_path / "b"), str(tmp_path / "a")]


def test_a_restarted_program_recovers_the_count(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="w")
    initialised(session)
    first = tf.train.Saver(max_to_keep=2)
    old = [first.save(session, str(tmp_path / "model"), global_step=i) for i in range(2)]
    second = tf.train.Saver(max_to_keep=2)
    second.recover_last_checkpoints([*old, str(tmp_path / "never-was")])
    assert second.last_checkpoints == old
    second.save(session, str(tmp_path / "model"), global_step=2)
    assert not tf.train.checkpoint_exists(old[0])
    assert tf.train.checkpoint_exists(old[1])


def test_options_about_names_and_files(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="w")
    saver = tf.train.Saver(pad_step_number=True, save_relative_paths=True)
    initialised(session)
    prefix = saver.save(session, str(tmp_path / "m"), global_step=7, latest_filename="state", write_meta_graph=False)
    assert prefix.endswith("m-00000007")
    assert 'model_checkpoint_path: "m-00000007"' in (tmp_path / "state").read_text()
    assert tf.train.latest_checkpoint(str(tmp_path), "state") == prefix
    assert not (tmp_path / "m-00000007.meta").exists()
    saver.save(session, str(tmp_path / "other"), write_state=False)
    assert tf.train.latest_checkpoint(str(tmp_path), "state") == prefix


def test_the_last_directory_is_made_but_not_those_above_it(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="w")
    saver = tf.train.Saver()
    initialised(session)
    assert saver.save(session, str(tmp_path / "new" / "model"))
    with pytest.raises(ValueError, match=r"Parent directory of .*model doesn't exist"):
        saver.save(session, str(tmp_path / "no" / "such" / "model"))


def test_paths_may_be_path_objects_and_relative(
    tmp_path: Path, session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = tf.Variable(1.0, name="w")
    saver = tf.train.Saver()
    initialised(session)
    saver.restore(session, saver.save(session, tmp_path / "model"))
    monkeypatch.chdir(tmp_path)
    assert saver.save(session, "here") == "here"
    saver.restore(session, "here")
    assert tf.train.latest_checkpoint(".") == "./here"
    assert session.run(w) == 1.0


# --- errors ---------------------------------------------------------------------------------------------


def test_a_missing_tensor_is_named_and_nothing_changes(tmp_path: Path, session: tf.Session) -> None:
    w = tf.Variable(1.0, name="w")
    initialised(session)
    prefix = tf.train.Saver().save(session, str(tmp_path / "model"))
    extra = tf.Variable(2.0, name="extra")
    session.run([extra.initializer, w.assign(5.0)])
    with pytest.raises(tf.errors.NotFoundError, match=r"Key extra not found in checkpoint .*model"):
        tf.train.Saver().restore(session, prefix)
    assert session.run(w) == 5.0


@KINDS
def test_another_shape_names_both_and_the_file_and_nothing_changes(
    use_resource: bool, tmp_path: Path, session: tf.Session
) -> None:
    a = tf.Variable(1.0, name="a", use_resource=use_resource)
    w = tf.Variable([1.0, 2.0], name="w", use_resource=use_resource)
    initialised(session)
    prefix = tf.train.Saver().save(session, str(tmp_path / "model"))
    other = tf.Variable([[1.0, 2.0, 3.0]], name="other", use_resource=use_resource)
    session.run([other.initializer, a.assign(9.0)])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.train.Saver({"a": a, "w": other}).restore(session, prefix)
    for text in ("other", "(1, 3)", "(2,)", "tensor w", prefix):
        assert text in str(caught.value)
    assert session.run(a) == 9.0
    assert session.run(w).tolist() == [1.0, 2.0]


def test_another_dtype_is_named(tmp_path: Path, session: tf.Session) -> None:
    w = tf.Variable(1.0, name="w")
    initialised(session)
    prefix = tf.train.Saver({"w": w}).save(session, str(tmp_path / "model"))
    double = tf.Variable(np.float64(1.0), name="double")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"double is float64, tensor w is float32"):
        tf.train.Saver({"w": double}).restore(session, prefix)


def test_a_damaged_file_is_an_error_and_nothing_changes(tmp_path: Path, session: tf.Session) -> None:
    a, b = tf.Variable(np.zeros(1000, np.float32), name="a"), tf.Variable(np.zeros(1000, np.float32), name="b")
    saver = tf.train.Saver()
    initialised(session)
    prefix = saver.save(session, str(tmp_path / "model"))
    (data,) = tmp_path.glob("model.data*")
    contents = bytearray(data.read_bytes())
    contents[-1] ^= 1
    data.write_bytes(contents)
    session.run([a.assign(np.ones(1000, np.float32)), b.assign(np.ones(1000, np.float32))])
    with pytest.raises(tf.errors.DataLossError, match=r"(?s)tensor 'b'.*save/RestoreV2"):
        saver.restore(session, prefix)
    assert session.run(a).sum() == 1000


def test_an_uninitialised_variable_cannot_be_saved_and_no_file_is_left(tmp_path: Path, session: tf.Session) -> None:
    tf.Variable(1.0, name="weights")
    with pytest.raises(tf.errors.FailedPreconditionError, match="weights"):
        tf.train.Saver().save(session, str(tmp_path / "model"))
    assert os.listdir(tmp_path) == []


def test_arguments_that_do_not_fit_are_refused(tmp_path: Path, session: tf.Session) -> None:
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    assert tf.train.Saver(allow_empty=True).save(session, str(tmp_path / "m")) is None
    w = tf.Variable(1.0, name="w")
    initialised(session)
    saver = tf.train.Saver()
    with pytest.raises(TypeError, match="Variable to save is not a Variable: 3"):
        tf.train.Saver([3])
    with pytest.raises(ValueError, match="At least two variables have the same name: w"):
        tf.train.Saver([w, w])
    with pytest.raises(ValueError, match="will be restored with two names"):
        tf.train.Saver({"a": w, "b": w})
    with pytest.raises(TypeError, match="'sess' must be a Session"):
        saver.save(None, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="must not contain path components"):
        saver.save(session, str(tmp_path / "m"), latest_filename="a/b")
    with pytest.raises(ValueError, match="Can't load save_path when it is None"):
        saver.restore(session, None)
    with pytest.raises(ValueError, match=r"not a valid checkpoint: .*nope"):
        saver.restore(session, str(tmp_path / "nope"))


def test_a_deferred_saver_builds_its_nodes_when_told_to(tmp_path: Path, session: tf.Session) -> None:
    saver = tf.train.Saver(defer_build=True)
    w = tf.Variable(1.0, name="w")
    with pytest.raises(RuntimeError, match="build"):
        saver.save(session, str(tmp_path / "m"))
    saver.build()
    initialised(session)
    saver.restore(session, saver.save(session, str(tmp_path / "m")))
    assert session.run(w) == 1.0
    with pytest.raises(ValueError, match="build cannot be deferred"):
        tf.train.Saver([w], defer_build=True)
