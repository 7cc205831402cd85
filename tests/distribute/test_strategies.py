"""Replicas on several devices, which train together: as one replica on the whole batch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

RNG = np.random.RandomState(3)
X = RNG.randn(24, 4).astype(np.float32)
IDS = RNG.randint(0, 5, 24)
Y = X.sum(1, keepdims=True)
DEVICES = ["/cpu:0", "/cpu:1", "/cpu:2"]

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Adam": lambda: tf.train.AdamOptimizer(0.1),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.1),
}


def model(x: Any, ids: Any, y: Any, optimizer: Any = None) -> Any:
    """A loss with dense and sparse gradients, and the operation that trains."""
    table = tf.get_variable("table", [5, 3], initializer=tf.constant_initializer(np.linspace(0, 1, 15)))
    bias = tf.Variable([0.5], name="bias")
    hidden = tf.concat([x, tf.nn.embedding_lookup(table, ids)], 1)
    out = tf.layers.dense(hidden, 1, kernel_initializer=tf.constant_initializer(np.linspace(-1, 1, 7))) + bias
    loss = tf.losses.mean_squared_error(y, out)
    return loss, (optimizer or tf.train.AdamOptimizer(0.1)).minimize(loss, tf.train.get_or_create_global_step())


def trained(strategy: Any, make: Callable[[], Any], shared: bool) -> dict[str, np.ndarray]:
    """All variables after four steps on batches of 12."""
    with tf.Graph().as_default():
        data = tf.data.Dataset.from_tensor_slices((X, IDS, Y)).repeat()
        optimizer = make() if shared else None
        if strategy is None:
            iterator = data.batch(12).make_initializable_iterator()
            loss, train = model(*iterator.get_next(), optimizer or make())
        else:
            with strategy.scope():
                tf.train.get_or_create_global_step()
                iterator = strategy.make_dataset_iterator(data.batch(12))
                parts, ops = strategy.call_for_each_replica(
                    lambda x, ids, y: model(x, ids, y, optimizer or make()), iterator.get_next()
                )
                loss, train = strategy.reduce("MEAN", parts), strategy.group(ops)
        config = tf.ConfigProto(device_count={"CPU": 3})
        with tf.Session(config=config) as session:
            session.run([tf.global_variables_initializer(), iterator.initializer])
            losses = [session.run([loss, train])[0] for _ in range(4)]
            values = session.run({v.name: v for v in tf.global_variables()})
        return {**values, "losses": np.array(losses)}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("kind", ["mirrored", "one device", "central"])
def test_replicas_train_as_one_on_the_whole_batch(name: str, kind: str) -> None:
    strategy: Any = {
        "mirrored": lambda: tf.contrib.distribute.MirroredStrategy(DEVICES),
        "one device": lambda: tf.contrib.distribute.OneDeviceStrategy("/cpu:1"),
        "central": lambda: tf.distribute.experimental.CentralStorageStrategy(DEVICES[:2], "/cpu:2"),
    }[kind]()
    strategy.scales_loss = True
    expected = trained(None, OPTIMIZERS[name], False)
    for shared in (False, True):
        found = trained(strategy, OPTIMIZERS[name], shared)
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            np.testing.assert_allclose(found[key], value, rtol=2e-5, atol=1e-6, err_msg=key)
    assert expected["global_step:0"] == 4


def test_variables_are_spread_over_the_devices_and_computations_are_where_replicas_are() -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])

    def build() -> Any:
        with tf.device("/cpu:5"):  # overridden for variables
            variables = [tf.get_variable(f"v{i}", [size]) for i, size in enumerate((10, 4, 5, 1))]
        return variables, tf.add_n([tf.reduce_sum(v) for v in variables], name="total")

    variables, total = strategy.experimental_run_v2(build)
    assert [v.device for v in variables] == [f"/device:CPU:{i}" for i in (0, 1, 1, 1)]
    assert [t.op.device for t in strategy.unwrap(total)] == ["/device:CPU:0", "/device:CPU:1"]
    assert [t.op.name for t in strategy.unwrap(total)] == ["total", "replica_1/total"]
    assert tf.global_variables() == variables


def test_statistics_of_batches_are_averaged_over_replicas(graph: tf.Graph) -> None:
    strategy = tf.contrib.distribute.MirroredStrategy(DEVICES)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices(X).batch(24))
        layer = strategy.call_for_each_tower(
            lambda x: tf.layers.batch_normalization(x, momentum=0.9, training=True), iterator.get_next()
        )
        updates = tf.group(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    with tf.Session(config=strategy.update_config_proto(tf.ConfigProto())) as session:
        session.run([tf.global_variables_initializer(), iterator.initialize()])
        session.run([updates, *strategy.unwrap(layer)])
        found = session.run({v.op.name.split("/")[1]: v for v in tf.global_variables()})
    parts = X.reshape(3, 8, 4)
    np.testing.assert_allclose(found["moving_mean"], 0.1 * parts.mean(1).mean(0), rtol=1e-5)
    np.testing.assert_allclose(found["moving_variance"], 0.9 + 0.1 * parts.var(1).mean(0), rtol=1e-5)


def test_updates_in_replicas_are_combined_as_variables_say(graph: tf.Graph) -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])

    def build() -> Any:
        number = float(tf.distribute.get_replica_context().replica_id_in_sync_group + 1)
        made = {
            kind: tf.Variable(0.0, name=kind.name, aggregation=kind, trainable=False)
            for kind in tf.VariableAggregation
            if kind is not tf.VariableAggregation.NONE
        }
        updates = [v.assign_add(number, read_value=False) for v in made.values()]
        counted = tf.metrics.mean([number])[1]
        with pytest.raises(ValueError, match="give it an aggregation"):
            tf.Variable(0.0, trainable=False).assign(number)
        return updates, counted

    updates, counted = strategy.experimental_run_v2(build)
    with tf.Session(config=strategy.update_config_proto(tf.ConfigProto())) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run([strategy.unwrap(update) for update in updates])
        session.run(strategy.unwrap(counted))
        found = {v.op.name: session.run(v) for v in tf.global_variables() + tf.local_variables()}
    assert (found["SUM"], found["MEAN"], found["ONLY_FIRST_REPLICA"]) == (3, 1.5, 1)
    assert (found["mean_1/total"], found["mean_1/count"]) == (3, 2)  # replicas add to the same sums


def test_aggregation_by_the_first_replica_has_its_name_from_before_too() -> None:
    kinds = tf.VariableAggregation
    assert kinds.ONLY_FIRST_TOWER is kinds.ONLY_FIRST_REPLICA
    assert [kind.name for kind in kinds] == ["NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"]


def test_merged_calls_get_the_arguments_of_all_replicas(graph: tf.Graph) -> None:
    strategy = tf.contrib.distribute.MirroredStrategy(DEVICES)
    common = tf.constant(1.0)

    def build() -> Any:
        context = tf.contrib.distribute.get_tower_context()
        assert not tf.distribute.in_cross_replica_context()

        def merged(strategy: Any, parts: Any, also: Any, *, flag: bool) -> Any:
            assert also is common and flag and tf.distribute.in_cross_replica_context()
            assert [len(strategy.unwrap(part)) for part in parts] == [3, 1]
            return strategy.reduce(tf.VariableAggregation.SUM, parts[0], "/cpu:0")

        mine = tf.fill([2], float(context.tower_id))
        with tf.name_scope("inside"):
            return context.merge_call(merged, ((mine, common), common), {"flag": True})

    total = strategy.call_for_each_tower(build)
    assert total.op.name == "inside/AddN" and total.op.device == "/device:CPU:0"
    with tf.Session(config=strategy.update_config_proto(tf.ConfigProto())) as session:
        assert session.run(total).tolist() == [3, 3]


def test_mistakes_in_replicas_are_errors_of_the_caller(graph: tf.Graph) -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])

    def number() -> int:
        return int(tf.distribute.get_replica_context().replica_id_in_sync_group)

    def fails() -> None:
        if number() == 1:
            raise KeyError("in the second")
        tf.distribute.get_replica_context().merge_call(lambda strategy: None)

    def one_merges() -> None:
        if number() == 0:
            tf.distribute.get_replica_context().merge_call(lambda strategy: None)

    def other_variables() -> None:
        if number() == 1:
            tf.Variable(1.0, name="other")

    def no_gradient() -> Any:
        v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")
        loss = v * 1.0 if number() else v * w
        return tf.train.GradientDescentOptimizer(1.0).minimize(loss, var_list=[v, w])

    def mixed() -> None:
        with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
            pass

    for fn, kind, message in (
        (fails, KeyError, "in the second"),
        (one_merges, RuntimeError, "all must call it equally often"),
        (other_variables, RuntimeError, "variable that the first one did not: other"),
        (no_gradient, ValueError, "Only some replicas have a gradient for w:0"),
        (mixed, RuntimeError, "cannot be mixed"),
        (lambda: strategy.experimental_run_v2(number), RuntimeError, "cannot have replicas"),
    ):
        with pytest.raises(kind, match=message):  # type: ignore[call-overload]
            strategy.experimental_run_v2(fn)
    assert not tf.distribute.has_strategy() and tf.distribute.get_replica_context().num_replicas_in_sync == 1
    with pytest.raises(ValueError, match="Duplicate devices"):
        tf.distribute.MirroredStrategy(["/cpu:0", "/device:CPU:0"])


def test_each_replica_takes_batches_of_its_own_from_input_functions(graph: tf.Graph) -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])

    def input_fn(context: Any) -> Any:
        assert (context.num_input_pipelines, context.num_replicas_in_sync) == (1, 2)
        return tf.data.Dataset.range(7).batch(context.get_per_replica_batch_size(4))

    iterator = strategy.make_input_fn_iterator(input_fn)
    taken = strategy.experimental_run(lambda x: x * 10, iterator)
    with tf.Session(config=strategy.update_config_proto(tf.ConfigProto())) as session:
        session.run(iterator.initialize())
        found = [[part.tolist() for part in session.run(strategy.unwrap(taken))] for _ in range(2)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(strategy.unwrap(taken))
    assert found == [[[0, 10], [20, 30]], [[40, 50], [60]]]


def test_creators_of_variables_are_called_from_the_innermost(graph: tf.Graph) -> None:
    seen: list[Any] = []

    def outer(next_creator: Any, **kwargs: Any) -> Any:
        seen.append(("outer", kwargs["name"]))
        return next_creator(**kwargs)

    def inner(next_creator: Any, **kwargs: Any) -> Any:
        seen.append(("inner", kwargs["name"]))
        return next_creator(**{**kwargs, "name": "renamed", "trainable": False})

    with tf.variable_creator_scope(outer), tf.variable_creator_scope(inner):
        found = tf.Variable(1.0, True, None, True, None, "v")
    assert found.op.name == "renamed" and not tf.trainable_variables()
    assert seen == [("inner", "v"), ("outer", "renamed")]
