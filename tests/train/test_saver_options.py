"""`Saver`'s options: shards, formats, nodes of older graphs, and how a restore that cannot succeed says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op


def initialised(session: tf.Session) -> None:
    session.run(tf.global_variables_initializer())


def test_all_that_does_not_fit_is_listed_at_once_and_nothing_changes(tmp_path: Path, session: tf.Session) -> None:
    kept = tf.Variable(1.0, name="kept")
    tf.Variable([1.0, 2.0], name="a")
    tf.Variable(3, name="b")
    tf.Variable([[1.0]], name="layer/kernel")
    initialised(session)
    prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as other:
        kept = tf.Variable(5.0, name="kept")
        tf.Variable([1.0, 2.0, 3.0], name="a")
        tf.Variable(3.0, name="b")
        tf.Variable([[1.0]], name="layer_1/kernel")
        tf.Variable([[1.0]], name="zoo")
        initialised(other)
        with pytest.raises(tf.errors.NotFoundError) as caught:
            tf.train.Saver().restore(other, prefix)
        assert other.run(kept) == 5.0
    text = str(caught.value)
    for part in (
        "Key layer_1/kernel not found", "nor zoo", "it has layer/kernel", "variable a has shape (3,)",
        "tensor a has (2,)", "variable b is float32, tensor b is int32", "tf.train.Saver(var_list)",
    ):  # fmt: skip
        assert part in text


def test_reshaping_to_another_number_of_elements_is_refused_before_anything_changes(
    tmp_path: Path, session: tf.Session
) -> None:
    first = tf.Variable([1.0], name="first")
    w = tf.Variable(np.arange(6.0), name="w")
    initialised(session)
    prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    other = tf.Variable(np.zeros((2, 2)), name="other")
    session.run([other.initializer, first.assign([9.0])])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"other has 4 elements, tensor w has shape \(6,\)"):
        tf.train.Saver({"first": first, "w": other}, reshape=True).restore(session, prefix)
    assert session.run(first).tolist() == [9.0]
    del w


def test_a_partitioned_variable_of_another_size_is_refused_before_anything_changes(
    tmp_path: Path, session: tf.Session
) -> None:
    first = tf.Variable([1.0], name="first")
    with tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2)):
        tf.get_variable("w", [4, 2], initializer=tf.ones_initializer())
    initialised(session)
    prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as other:
        first = tf.Variable([2.0], name="first")
        with tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2)):
            tf.get_variable("w", [6, 2], initializer=tf.ones_initializer())
        initialised(other)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"w/part_0 has shape \(6, 2\), tensor w has \(4, 2\)"):
            tf.train.Saver().restore(other, prefix)
        assert other.run(first).tolist() == [2.0]


def test_a_sharded_save_has_a_node_for_each_device_and_leaves_one_checkpoint(tmp_path: Path) -> None:
    with tf.device("/cpu:0"):
        tf.Variable([1.0, 2.0], name="a")
    with tf.device("/cpu:1"):
        tf.Variable([3.0], name="b")
    with tf.device("/job:localhost/task:0/cpu:1"):
        tf.Variable(4, name="c")
    saver = tf.train.Saver(sharded=True)
    nodes = {node.name: node for node in tf.get_default_graph().as_graph_def().node}
    assert [n for n in nodes if nodes[n].op == "SaveV2"] == ["save/SaveV2", "save/SaveV2_1", "save/SaveV2_2"]
    assert [n for n in nodes if nodes[n].op == "ShardedFilename"][1] == "save/ShardedFilename_1"
    assert nodes["save/MergeV2Checkpoints"].input[1] == "save/Const"
    assert saver.as_saver_def().sharded
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        initialised(session)
        prefix = saver.save(session, str(tmp_path / "m"), global_step=3)
        assert tf.train.list_variables(prefix) == [("a", [2]), ("b", [1]), ("c", [])]
        assert not [path for path in tmp_path.iterdir() if "_temp" in path.name]
        session.run([v.assign(v * 0) for v in tf.global_variables()])
        saver.restore(session, prefix)
        assert [session.run(v).tolist() for v in tf.global_variables()] == [[1.0, 2.0], [3.0], 4]


def test_checkpoints_of_the_first_format_are_one_file_and_are_restored_kept_and_deleted_as_others(
    tmp_path: Path, session: tf.Session
) -> None:
    w, s = tf.Variable(1.0, name="w"), tf.Variable([b"a", b""], name="s")
    h = tf.get_variable("h", [3], tf.float16, tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2))
    initialised(session)
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1, max_to_keep=1)
    assert saver.saver_def.version == tf.train.SaverDef.V1
    for step in (1, 2):
        prefix = saver.save(session, str(tmp_path / "m"), global_step=step)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "m-2", "m-2.meta"]
    session.run([w.assign(2.0), s.assign([b"", b"b"]), *(part.assign(part * 0) for part in h)])
    tf.train.Saver().restore(session, tf.train.latest_checkpoint(str(tmp_path)))
    assert session.run(w) == 1.0 and session.run(s).tolist() == [b"a", b""]
    assert session.run(tf.convert_to_tensor(h)).tolist() == [1.0, 1.0, 1.0]
    with tf.Graph().as_default(), tf.Session() as other:
        again = tf.train.import_meta_graph(f"{prefix}.meta")
        again.restore(other, prefix)
        again.save(other, str(tmp_path / "again"), write_meta_graph=False)
    assert sorted(tf.train.list_variables(tmp_path / "again")) == [("h", [3]), ("s", [2]), ("w", [])]
    assert (tmp_path / "again").is_file()


def test_a_format_that_is_none_is_refused() -> None:
    tf.Variable(1.0)
    with pytest.raises(ValueError, match="'parquet' is no format"):
        tf.train.Saver(write_version="parquet")


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("by_environment", [False, True])
def test_the_format_is_said_to_the_saver_or_by_the_environment(
    by_environment: bool, sharded: bool, tmp_path: Path, session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    tf.Variable(1.0, name="w")
    initialised(session)
    if by_environment:
        monkeypatch.setenv("PENSTOCK_CHECKPOINT_FORMAT", "tensorflow")
        saver = tf.train.Saver(sharded=sharded)
    else:
        saver = tf.train.Saver(sharded=sharded, write_version="tensorflow")
    saver.restore(session, saver.save(session, str(tmp_path / "m")))
    names = ["checkpoint", "m.data-00000-of-00001", "m.index", "m.meta"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_saver_def_of_a_scope_is_named_from_there(graph: tf.Graph) -> None:
    with tf.name_scope("tower"):
        tf.Variable(1.0, name="w")
        saver = tf.train.Saver()
    assert saver.to_proto().restore_op_name == "tower/save/restore_all"
    inner = saver.to_proto(export_scope="tower")
    assert (inner.filename_tensor_name, inner.restore_op_name) == ("save/Const:0", "save/restore_all")
    assert saver.to_proto(export_scope="other") is None
    again = tf.train.Saver.from_proto(inner, import_scope="tower")
    assert again.saver_def == saver.saver_def
    assert inner.restore_op_name == "save/restore_all"


# --- the nodes of graphs of 2015 and 2016 ---------------------------------------------------------------


def test_nodes_of_older_graphs_save_and_restore(tmp_path: Path, session: tf.Session) -> None:
    path = str(tmp_path / "old")
    session.run(get_op("Save")(path, ["a", "b"], [tf.constant([1.0, 2.0]), tf.constant(7)]))
    assert session.run(get_op("Restore")(path, "a", dt=tf.float32)).tolist() == [1.0, 2.0]
    assert session.run(get_op("Restore")(path, "b", dt=tf.int32)) == 7
    parts = [tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]
    session.run(get_op("SaveSlices")(path, ["w", "w"], ["2 2 0,1:-", "2 2 1,1:-"], parts))
    read = get_op("RestoreSlice")
    assert session.run(read(path, "w", "", dt=tf.float32)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    column = read(path, "w", "2 2 -:1,1", dt=tf.float32)
    assert column.shape.as_list() == [2, 1]
    assert session.run(column).tolist() == [[2.0], [4.0]]
    with pytest.raises(tf.errors.NotFoundError, match=r"'nothing' not found in checkpoint files .*old"):
        session.run(read(path, "nothing", "", dt=tf.float32))


def test_shards_of_older_graphs_are_found_by_their_pattern(tmp_path: Path, session: tf.Session) -> None:
    base = str(tmp_path / "old")
    for number, name in enumerate("ab"):
        shard = get_op("ShardedFilename")(base, number, 2)
        session.run(get_op("Save")(shard, [name], [tf.constant(float(number))]))
    pattern = get_op("ShardedFilespec")(base, 2)
    assert session.run(pattern) == f"{base}-?????-of-00002".encode()
    assert session.run(get_op("Restore")(pattern, "b", dt=tf.float32)) == 1.0


def test_a_graph_with_restore_nodes_of_old_is_restored_by_its_saver(tmp_path: Path, session: tf.Session) -> None:
    w, n = tf.Variable([1.0], name="w"), tf.Variable(2, name="n")
    initialised(session)
    prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    path = tf.constant("model", name="save/Const")
    save = get_op("SaveSlices")(path, ["w", "n"], ["", ""], [w._ref(), n._ref()], name="save/save")
    with tf.control_dependencies([save]):
        done = tf.identity(path, name="save/control_dependency")
    restores = [tf.assign(v, get_op("RestoreSlice")(path, v.op.name, "", dt=v.dtype.base_dtype)) for v in (w, n)]
    everything = tf.group(*restores, name="save/restore_all")
    saver_def = tf.train.SaverDef(
        filename_tensor_name=path.name, save_tensor_name=done.name, restore_op_name=everything.name, max_to_keep=5
    )
    saver = tf.train.Saver(saver_def=saver_def)
    session.run([w.assign([0.0]), n.assign(0)])
    saver.restore(session, prefix)
    assert session.run([w, n]) == [[1.0], 2]
    again = saver.save(session, str(tmp_path / "again"))
    assert tf.train.list_variables(again) == [("n", []), ("w", [1])]


@pytest.mark.parametrize("write_version", ["penstock", "tensorflow"])
@pytest.mark.parametrize("background", [False, True])
def test_parts_of_a_variable_on_several_devices_are_one_tensor(
    background: bool, write_version: str, tmp_path: Path
) -> None:
    def in_turn(op: Any) -> str:
        return f"/cpu:{op.name.partition('part_')[2][:1] or 0}"

    with (
        tf.device(in_turn),
        tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2)),
    ):
        w = tf.get_variable("w", [4, 2], initializer=tf.ones_initializer())
    tf.Variable([b"some", b"text"], name="t", dtype=tf.string)
    saver = tf.train.Saver(sharded=True, write_version=write_version)
    assert len([op for op in tf.get_default_graph().get_operations() if op.type == "SaveV2"]) == 3
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        initialised(session)
        prefix = saver.save(session, str(tmp_path / "m"), background=background)
        assert tf.train.list_variables(prefix) == [("t", [2]), ("w", [4, 2])]
        assert tf.train.load_variable(prefix, "w").tolist() == np.ones((4, 2)).tolist()
        session.run([part.assign(part * 0) for part in w])
        saver.restore(session, prefix)
        assert session.run(tf.convert_to_tensor(w)).tolist() == np.ones((4, 2)).tolist()
        assert session.run("t:0").tolist() == [b"some", b"text"]


# --- names of what is saved in parts: recorded from TensorFlow ----------------------------------------------------


def _halves(resource: bool = False) -> Any:
    return tf.get_variable(
        "p", initializer=np.arange(20.0).reshape(4, 5), use_resource=resource, partitioner=_TWO
    )  # fmt: skip


def _slice(name: str, full_name: str, start: int = 0) -> Any:
    variable = tf.Variable([20.0], name=name)
    variable._set_save_slice_info(tf.Variable.SaveSliceInfo(full_name, [2], [start], [1]))
    return variable


_TWO = tf.fixed_size_partitioner(2)


@pytest.mark.parametrize("resource", [False, True])
def test_a_partitioned_variable_is_saved_and_restored_under_the_name_that_a_dict_gives(
    resource: bool, tmp_path: Path, session: tf.Session
) -> None:
    whole = _halves(resource)
    session.run(tf.global_variables_initializer())
    for number, named in enumerate(({"new": whole}, {"new": list(whole)})):
        saver = tf.train.Saver(named)
        prefix = saver.save(session, str(tmp_path / f"m{number}"))
        assert tf.train.list_variables(prefix) == [("new", [4, 5])]
        session.run([part.assign(tf.zeros_like(part)) for part in whole])
        saver.restore(session, prefix)
        assert session.run(tf.convert_to_tensor(whole)).tolist() == np.arange(20.0).reshape(4, 5).tolist()


def test_a_part_is_saved_as_a_whole_where_a_dict_names_it_alone(tmp_path: Path, session: tf.Session) -> None:
    part = _slice("v", "full")
    session.run(part.initializer)
    prefix = tf.train.Saver({"alone": part}).save(session, str(tmp_path / "m"))
    assert tf.train.list_variables(prefix) == [("alone", [1])]


@pytest.mark.parametrize(
    ("var_list", "message"),
    [
        (lambda: {"a": [_slice("v", "full"), _slice("w", "fuller", 1)]}, "from the same tensor: full != fuller"),
        (lambda: {"a": [tf.Variable([1.0], name="full")]}, "Slices must all be slices"),
        (lambda: [tf.Variable([1.0], name="full"), _slice("v", "full")], "Mixing slices and .* same name: full"),
        (lambda: [_slice("v", "full"), tf.Variable([1.0], name="full")], "Mixing slices and .* same name: full"),
        (lambda: [_halves(), _slice("v", "p")], "Mixing slices and .* same name: p"),
    ],
)
def test_variables_that_do_not_make_up_one_tensor_cannot_have_its_name(var_list: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.train.Saver(var_list())


def test_the_parts_of_a_tensor_may_be_listed_one_by_one(tmp_path: Path, session: tf.Session) -> None:
    parts = [_slice("v", "full"), _slice("w", "full", 1)]
    session.run(tf.global_variables_initializer())
    prefix = tf.train.Saver(parts).save(session, str(tmp_path / "m"))
    assert tf.train.list_variables(prefix) == [("full", [2])]
