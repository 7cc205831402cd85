"""Workers with sessions of their own, whose gradients meet: as one that trains on all their examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.data_flow.later import Later

RNG = np.random.RandomState(7)
X = RNG.randn(4, 6, 5).astype(np.float32)  # steps, examples
IDS = RNG.randint(0, 4, (4, 6))
LIMIT = tf.RunOptions(timeout_in_ms=60000)


@pytest.fixture
def servers() -> Iterator[list[Any]]:
    workers, _ = tf.test.create_local_cluster(num_workers=3, num_ps=0)
    yield workers
    for server in workers:
        server.close()


class Worker:
    """A worker's graph, with its share of each batch; `wide` makes the gradients of a layer larger than a pack's
    whole."""

    def __init__(self, rank: int, servers: list[Any] | None, wide: int = 3, seed: int = 0) -> None:
        count = len(servers or [1])
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(seed)
            self.strategy = tf.contrib.distribute.CollectiveAllReduceStrategy()
            config = tf.ConfigProto()
            spec = None if servers is None else {"worker": [f"h:{i}" for i in range(count)]}
            self.strategy.configure(config, spec, "worker", rank)
            with self.strategy.scope():
                self.step = tf.train.get_or_create_global_step()
                self.x, self.ids = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.int64, [None])
                part = self.strategy.call_for_each_tower(self._model, wide)
                self.loss, self.train = self.strategy.reduce(tf.VariableAggregation.MEAN, part[0]), part[1]
                self.hooks = self.strategy.session_hooks()
            self.variables = tf.global_variables()
            start = tf.global_variables_initializer()
        share = 6 // count
        self._mine = slice(rank * share, (rank + 1) * share)
        self.session = tf.Session("" if servers is None else servers[rank].target, graph, config)
        self.begin = lambda: self.session.run(start, options=LIMIT)

    def _model(self, wide: int) -> Any:
        table = tf.get_variable("table", [4, 5])
        hidden = tf.layers.dense(self.x + tf.nn.embedding_lookup(table, self.ids), wide, activation=tf.nn.tanh)
        loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1) - 1))
        return loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, tf.train.get_global_step())

    def run(self, step: int) -> float:
        feeds = {self.x: X[step, self._mine], self.ids: IDS[step, self._mine]}
        return float(self.session.run([self.loss, self.train], feeds, LIMIT)[0])

    def values(self) -> dict[str, np.ndarray]:
        return {v.op.name: value for v, value in zip(self.variables, self.session.run(self.variables), strict=True)}


def together(calls: list[Any]) -> list[Any]:
    started = [Later(*call) for call in calls]
    return [each.result() for each in started]


@pytest.mark.parametrize("wide", [3, 4000])
def test_workers_train_as_one_on_all_examples(servers: list[Any], wide: int) -> None:
    workers = [Worker(rank, servers, wide, seed=rank) for rank in range(3)]  # what the first draws is what counts
    together([(worker.begin,) for worker in workers])
    start = workers[0].values()
    alone = Worker(0, None, wide)
    alone.begin()
    for variable in alone.variables:
        variable.load(start[variable.op.name], alone.session)
    for step in range(4):
        losses = together([(worker.run, step) for worker in workers])
        assert len(set(losses)) == 1
        np.testing.assert_allclose(losses[0], alone.run(step), rtol=1e-4)
    for worker in workers:
        for name, value in alone.values().items():
            np.testing.assert_allclose(worker.values()[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    first = workers[0].values()
    for worker in workers[1:]:
        for name, value in worker.values().items():
            np.testing.assert_array_equal(value, first[name])  # to the bit


def test_a_worker_that_goes_away_leaves_none_waiting(servers: list[Any]) -> None:
    workers = [Worker(rank, servers) for rank in range(3)]
    together([(worker.begin,) for worker in workers])
    together([(worker.run, 0) for worker in workers])
    steps = [Later(worker.run, 1) for worker in workers[:2]]
    assert steps[0].waits(0.3)
    workers[2].session.close()
    for step in steps:
        with pytest.raises(tf.errors.AbortedError, match="collective group"):
            step.result()
    for worker in workers[:2]:
        with pytest.raises(tf.errors.AbortedError):
            worker.run(1)


def test_at_the_end_workers_leave_together_or_do_not_care(servers: list[Any]) -> None:
    workers = [Worker(rank, servers) for rank in range(3)]
    together([(worker.begin,) for worker in workers])
    ends = [Later(worker.hooks[0].end, worker.session) for worker in workers[:2]]
    assert ends[0].waits(0.3)
    workers[2].hooks[0].end(workers[2].session)
    for end in ends:
        end.result()
    late = Later(workers[0].hooks[0].end, workers[0].session)
    assert late.waits(0.1)
    workers[1].session.close()
    late.result()


def test_the_first_worker_saves_and_a_task_that_does_not_train_is_refused() -> None:
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    assert strategy.should_checkpoint and strategy.num_replicas_in_sync == 1
    cluster = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
    strategy.configure(None, cluster, "worker", 1)
    assert not strategy.should_checkpoint and strategy.num_replicas_in_sync == 3
    assert strategy.worker_devices == ("/job:worker/task:1/device:CPU:0",)
    with pytest.raises(ValueError, match="/job:ps/task:0 does not train"):
        strategy.configure(None, cluster, "ps", 0)


def test_one_client_may_have_its_replicas_in_several_tasks(servers: list[Any]) -> None:
    devices = [f"/job:worker/task:{i}/device:CPU:0" for i in range(3)]
    strategy = tf.contrib.distribute.MirroredStrategy(devices)
    x = np.float32([[1], [2], [6]])

    def build(row: Any) -> Any:
        w = tf.get_variable("w", [1], initializer=tf.zeros_initializer())
        v = tf.get_variable("v", [1], initializer=tf.ones_initializer())
        loss = tf.reduce_sum(w * row + v)
        return tf.train.GradientDescentOptimizer(1.0).minimize(loss)

    with tf.Graph().as_default() as graph:
        with strategy.scope():
            iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors(x).repeat())
            train = strategy.group(strategy.call_for_each_tower(build, iterator.get_next()))
        places = {v.device for v in tf.global_variables()}
        start = [tf.global_variables_initializer(), iterator.initializer]
        with tf.Session(servers[1].target, graph) as session:
            session.run(start, options=LIMIT)
            session.run(train, options=LIMIT)
            found = session.run(tf.global_variables(), options=LIMIT)
    assert places == set(devices[:2])
    np.testing.assert_allclose(found, [[-3.0], [0.0]], atol=1e-6)  # the mean of 1, 2 and 6, and of 1


def test_workers_that_do_not_wait_for_each_other_still_learn() -> None:
    workers, ps = tf.test.create_local_cluster(num_workers=2, num_ps=2)
    spec = {"worker": ["h:1", "h:2"], "ps": ["h:3", "h:4"]}
    target = np.float32([1, -2, 3, 0.5])

    def train(index: int) -> float:
        with tf.Graph().as_default():
            strategy = tf.contrib.distribute.ParameterServerStrategy()
            strategy.configure(None, spec, "worker", index)

            def build() -> Any:
                w = tf.get_variable("w", [4], initializer=tf.zeros_initializer())
                x = tf.random_normal([16, 4])
                loss = tf.reduce_mean(tf.square(tf.linalg.matvec(x, w - target)))
                step = tf.train.get_or_create_global_step()
                return loss, tf.train.GradientDescentOptimizer(0.05).minimize(loss, step)

            loss, op = strategy.call_for_each_tower(build)
            assert {v.device.partition("/task")[0] for v in tf.global_variables()} == {"/job:ps"}
            hooks = [tf.train.StopAtStepHook(last_step=300)]
            with tf.train.MonitoredTrainingSession(workers[index].target, index == 0, hooks=hooks) as session:
                while not session.should_stop():
                    found, _ = session.run([loss, op])
        return float(found)

    try:
        assert max(together([(train, 0), (train, 1)])) < 0.01
    finally:
        for server in [*workers, *ps]:
            server.close()
