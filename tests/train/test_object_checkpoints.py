"""tf.train.Checkpoint saves objects by the names of attributes, in TensorFlow's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from conformance.object_checkpoints import RECORD, check
from conformance.object_models import MODELS
from penstock.checkpoint.writer import write_checkpoint
from penstock.train.object_graph import GRAPH_KEY

VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
def test_what_tensorflow_saved_is_restored_and_saved_under_the_same_keys(build: Any) -> None:
    assert check(tf, build, RECORD / build.__name__) == []


def test_the_exchange_notices_another_value(tmp_path: Path) -> None:
    (build,) = [each for each in MODELS if each.__name__ == "variables"]
    with tf.train.load_checkpoint(RECORD / "variables-1") as reader:
        values = {name: reader.array(name) for name in reader.get_variable_to_shape_map()}
    del values["step" + VALUE]
    write_checkpoint(tmp_path / "variables-1", values, format="tensorflow")
    (found,) = check(tf, build, tmp_path / "variables")
    assert "step" in found


def test_what_keys_escape_is_what_tensorflow_escapes(session: tf.Session, tmp_path: Path) -> None:
    parts = {"s/d.x:0": tf.Variable([1.0, 2.0]), "b": tf.Variable(3)}
    checkpoint = tf.train.Checkpoint(**parts)
    session.run(tf.global_variables_initializer())
    path = checkpoint.save(str(tmp_path / "new" / "model"))
    assert path == str(tmp_path / "new" / "model-1")
    assert tf.train.list_variables(path) == [
        (GRAPH_KEY, []), (f"b{VALUE}", []), (f"s.Sd..x:0{VALUE}", [2]), (f"save_counter{VALUE}", []),
    ]  # fmt: skip
    assert tf.train.latest_checkpoint(tmp_path / "new") == path
    assert tf.train.load_variable(path, f"save_counter{VALUE}") == 1
    nodes = tf.contrib.checkpoint.object_metadata(path).nodes
    assert {child.local_name for child in nodes[0].children} == {"s/d.x:0", "b", "save_counter"}


def test_values_are_found_by_the_names_of_attributes_whatever_variables_are_called(tmp_path: Path) -> None:
    def model(scope: str) -> Any:
        with tf.variable_scope(scope):
            weight = tf.get_variable("weight", [2])
            optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
            return tf.train.Checkpoint(weight=weight, optimizer=optimizer), optimizer.minimize(tf.reduce_sum(weight))

    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint, step = model("before")
        session.run(tf.global_variables_initializer())
        session.run(step)
        saved = session.run(checkpoint.weight)
        path = checkpoint.save(str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint, step = model("after")
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        np.testing.assert_array_equal(session.run(checkpoint.weight), saved)
        session.run(step)  # the momentum is 1, then 1.9
        np.testing.assert_allclose(session.run(checkpoint.weight), saved - np.float32(0.5 * 1.9), rtol=1e-6)


def test_objects_made_after_restore_are_restored_when_it_is_run(session: tf.Session, tmp_path: Path) -> None:
    source = tf.train.Checkpoint(part=tf.train.Checkpoint(v=tf.Variable(7.0)))
    session.run(tf.global_variables_initializer())
    path = source.save(str(tmp_path / "model"))
    late = tf.train.Checkpoint(part=tf.train.Checkpoint())
    status = late.restore(path)
    with pytest.raises(AssertionError, match=r"part/v.*has no variable in the program"):
        status.assert_consumed()
    status.assert_existing_objects_matched().run_restore_ops()
    late.part.v = tf.Variable(0.0)
    status.assert_consumed().run_restore_ops(session)
    assert session.run(late.part.v) == 7.0


def test_variables_without_a_value_in_the_checkpoint_are_initialised(session: tf.Session, tmp_path: Path) -> None:
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    small = tf.train.Checkpoint(a=a)
    session.run(tf.global_variables_initializer())
    path = small.save(str(tmp_path / "model"))
    session.run([a.assign(0.0), b.assign(0.0)])
    status = tf.train.Checkpoint(a=a, b=b).restore(path)
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_existing_objects_matched()
    status.expect_partial().initialize_or_restore(session)
    assert session.run([a, b]) == [1.0, 2.0]


def test_without_a_checkpoint_variables_are_initialised_and_nothing_else_may_be_asked(session: tf.Session) -> None:
    v = tf.Variable(5.0)
    checkpoint = tf.train.Checkpoint(v=v)
    status = checkpoint.restore(None)
    for ask in (status.assert_consumed, status.assert_existing_objects_matched, status.run_restore_ops):
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            ask()
    status.initialize_or_restore()
    assert session.run([v, checkpoint.save_counter]) == [5.0, 0]


@pytest.mark.parametrize("value", [3, {"a": 1}, "text", None])
def test_what_has_no_variables_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="expecting a trackable object"):
        tf.train.Checkpoint(x=value)


def test_a_tensor_and_what_is_marked_are_left_out(session: tf.Session, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expecting a trackable object"):
        tf.train.Checkpoint(x=tf.constant(1.0))
    holder = tf.contrib.checkpoint.Checkpointable()
    holder.kept = tf.Variable(1.0)
    holder.other = tf.contrib.checkpoint.NoDependency(tf.Variable(2.0))
    session.run(tf.global_variables_initializer())
    assert isinstance(holder.other, tf.Variable)
    names = dict(tf.train.list_variables(tf.train.Checkpoint(h=holder).write(str(tmp_path / "model"))))
    assert set(names) == {GRAPH_KEY, f"h/kept{VALUE}"}


def test_a_dict_with_other_keys_than_strings_is_an_error_when_it_is_saved(session: tf.Session, tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint()
    checkpoint.parts = {1: tf.Variable(1.0)}
    with pytest.raises(ValueError, match="key 1 of a dict is no string"):
        checkpoint.write(str(tmp_path / "model"))


def test_a_loss_scale_is_saved_with_the_optimizer_that_it_is_for(session: tf.Session, tmp_path: Path) -> None:
    v = tf.Variable([1.0])
    optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(), "dynamic")
    optimizer.minimize(tf.reduce_sum(v))
    session.run(tf.global_variables_initializer())
    path = tf.train.Checkpoint(o=optimizer, v=v).write(str(tmp_path / "model"))
    names = {name.removesuffix(VALUE) for name, _ in tf.train.list_variables(path)}
    assert names == {GRAPH_KEY, "v"} | {
        *("v/.OPTIMIZER_SLOT/o/base_optimizer/m", "v/.OPTIMIZER_SLOT/o/base_optimizer/v"),
        *("o/base_optimizer/beta1_power", "o/base_optimizer/beta2_power"),
        *("o/loss_scale/current_loss_scale", "o/loss_scale/good_steps"),
    }  # as TensorFlow 1.15 has them


def test_a_mapping_has_strings_as_keys_which_keep_their_values() -> None:
    mapping = tf.contrib.checkpoint.Mapping(a=1)
    with pytest.raises(TypeError, match="only string keys"):
        mapping[1] = 2
    with pytest.raises(ValueError, match="append-only"):
        mapping["a"] = 2


def test_what_a_module_marks_is_left_out_and_set_all_the_same(session: tf.Session, tmp_path: Path) -> None:
    class Marked(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept = tf.Variable(1.0)
            self.other = self._no_dependency(tf.Variable(2.0))

    module = Marked()
    session.run(tf.global_variables_initializer())
    assert session.run(module.other) == 2.0
    path = tf.train.Checkpoint(m=module).write(str(tmp_path / "model"))
    assert {name for name, _ in tf.train.list_variables(path)} == {GRAPH_KEY, f"m/kept{VALUE}"}


# --- checkpoints of names -----------------------------------------------------------------------------------


def test_a_checkpoint_of_a_saver_is_restored_by_the_names_of_variables(session: tf.Session, tmp_path: Path) -> None:
    v = tf.get_variable("scope/v", initializer=3.0)
    session.run(tf.global_variables_initializer())
    prefix = tf.train.Saver().save(session, str(tmp_path / "model"))
    session.run(v.assign(0.0))
    checkpoint = tf.train.Checkpoint()
    checkpoint.anything = [v]
    status = checkpoint.restore(prefix)
    with pytest.raises(AssertionError, match="not restored"):
        status.assert_consumed()
    status.initialize_or_restore(session)
    status.assert_consumed()
    assert session.run([v, checkpoint.save_counter]) == [3.0, 0]


def test_a_saver_restores_a_checkpoint_of_objects_by_the_names_that_variables_had(
    session: tf.Session, tmp_path: Path
) -> None:
    v = tf.get_variable("scope/v", initializer=3.0)
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(v * v)
    session.run(tf.global_variables_initializer())
    path = tf.train.Checkpoint(x=v, o=optimizer).save(str(tmp_path / "model"))
    session.run([each.assign(tf.zeros_like(each)) for each in tf.global_variables()])
    tf.train.Saver().restore(session, path)
    assert session.run(v) == 3.0
    checkpoint = str(tmp_path / "model-1")
    with tf.Graph().as_default(), tf.Session() as other:
        tf.get_variable("scope/w", initializer=3.0)
        with pytest.raises(tf.errors.NotFoundError, match=f"Key scope/w not found in checkpoint {checkpoint}"):
            tf.train.Saver().restore(other, path)


# --- damage ------------------------------------------------------------------------------------------------


def rewritten(source: str, target: Path, **changed: Any) -> str:
    with tf.train.load_checkpoint(source) as reader:
        values = {name: reader.array(name) for name in reader.get_variable_to_shape_map()}
    write_checkpoint(target, {**values, **changed}, format="tensorflow")
    return str(target)


@pytest.mark.parametrize(
    "graph",
    [b"\xff\xff", b"", b"\n\x07\n\x05\x08\x09\x12\x01v", b"\n\x07\x1a\x05\x08\x09\x12\x01m"],
    ids=["no message", "no objects", "a child that is not there", "a slot that is not there"],
)
def test_a_damaged_object_graph_is_data_loss_that_names_the_file(
    session: tf.Session, tmp_path: Path, graph: bytes
) -> None:
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    session.run(tf.global_variables_initializer())
    path = rewritten(checkpoint.save(str(tmp_path / "good")), tmp_path / "bad", **{GRAPH_KEY: np.array(graph, object)})
    with pytest.raises(tf.errors.DataLossError, match=f"object graph of checkpoint {path}"):
        checkpoint.restore(path)


def test_a_number_where_the_object_graph_belongs_is_data_loss(session: tf.Session, tmp_path: Path) -> None:
    path = str(tmp_path / "bad")
    write_checkpoint(path, {GRAPH_KEY: np.float32([1.0])}, format="tensorflow")
    with pytest.raises(tf.errors.DataLossError, match="not a string"):
        tf.contrib.checkpoint.object_metadata(path)


def test_another_shape_is_an_error_and_changes_nothing(session: tf.Session, tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(a=tf.Variable(1.0), v=tf.Variable([1.0, 2.0]))
    session.run(tf.global_variables_initializer())
    wrong = {f"v{VALUE}": np.zeros(3, np.float32), f"a{VALUE}": np.float32(9.0)}
    path = rewritten(checkpoint.save(str(tmp_path / "good")), tmp_path / "bad", **wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        checkpoint.restore(path).run_restore_ops()
    assert session.run(checkpoint.a) == 1.0


def test_without_such_a_checkpoint_restoring_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="nothing"):
        tf.train.Checkpoint().restore(str(tmp_path / "nothing"))
