"""Graphs built under `replica_device_setter`, and the devices that TensorFlow gave their nodes.

With TensorFlow installed, `python -m tests.train.device_setters` writes `tests/data/device_setters.json` anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "data" / "device_setters.json"

HOSTS = {"ps": ["ps0:2222", "ps1:2222", "ps2:2222"], "worker": ["worker0:2222", "worker1:2222"]}


def _variables(tf: Any) -> None:
    v = tf.Variable([1, 2], name="v")
    w = tf.Variable(lambda: tf.zeros([2]), name="w")
    x = tf.Variable([2.0, 1.0], name="x")
    tf.add(w, x, name="sum")
    tf.get_variable("y", [3, 2], use_resource=True)
    v.assign_add([1, 1], name="more")


def _model(tf: Any) -> None:
    """As between-graph programs build it, with slots, a global step, a partitioned variable and a lookup."""
    step = tf.train.get_or_create_global_step()
    ids = tf.placeholder(tf.int64, [None], name="ids")
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(3)):
        table = tf.get_variable("table", [9, 4])
    hidden = tf.nn.embedding_lookup(table, ids, partition_strategy="div", name="lookup")
    kernel = tf.get_variable("kernel", [4, 2], initializer=tf.glorot_uniform_initializer())
    bias = tf.get_variable("bias", [2], initializer=tf.zeros_initializer())
    logits = tf.nn.bias_add(tf.matmul(hidden, kernel, name="product"), bias, name="logits")
    loss = tf.reduce_mean(logits, name="loss")
    tf.train.AdamOptimizer(0.1, name="adam").minimize(loss, step)


def _within(tf: Any) -> None:
    """Inner devices: partial, whole, other jobs, colocation, none."""
    with tf.device("/cpu:0"):
        tf.Variable(1.0, name="on_cpu")
        tf.constant(1.0, name="c_on_cpu")
    with tf.device("/job:ps/task:2"):
        tf.Variable(1.0, name="on_task")
    with tf.device("/job:ps"):
        tf.Variable(1.0, name="on_job")
        tf.constant(1.0, name="c_on_job")
    with tf.device("/job:worker/task:1/device:GPU:3"):
        tf.Variable(1.0, name="elsewhere")
    last = tf.Variable(1.0, name="last")
    with tf.colocate_with(last):
        tf.constant(2.0, name="beside")
        tf.Variable(3.0, name="v_beside")
    with tf.device(None):
        tf.constant(2.0, name="nowhere")
        tf.Variable(2.0, name="v_nowhere")
    with tf.device(lambda op: "/job:worker/task:1"):
        tf.constant(2.0, name="by_function")


def _state(tf: Any) -> None:
    """Queues and accumulators stay where they are asked for."""
    tf.FIFOQueue(3, [tf.float32], name="queue")
    tf.ConditionalAccumulator(tf.float32, shape=[], name="accumulator")
    tf.Variable(1.0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")


def _many(tf: Any) -> None:
    for i, size in enumerate((100, 3, 40, 7, 1, 60, 80, 2)):
        tf.get_variable(f"v{i}", [size])


def _synchronous(tf: Any, learning_rate: float = 0.5) -> None:
    """The chief's graph of `SyncReplicasOptimizer`: accumulators with their variables, tokens with the global step."""
    step = tf.train.get_or_create_global_step()
    w = tf.Variable([1.0, 2.0], name="w")
    table = tf.Variable([[1.0], [2.0], [3.0]], name="table")
    loss = tf.reduce_sum(w) + tf.reduce_sum(tf.gather(table, [0, 2], name="rows"))
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(learning_rate), replicas_to_aggregate=2, total_num_replicas=3
    )
    optimizer.minimize(loss, step)
    optimizer.get_init_tokens_op()
    optimizer.make_session_run_hook(is_chief=True)


def recorded() -> dict[str, dict[str, str]]:
    """The device of each node, by programs."""
    found = json.loads(RECORDED.read_text())
    return {
        program: {node: where for where, nodes in by_device.items() for node in nodes.split()}
        for program, by_device in found.items()
    }


Build = Callable[[Any], None]

PROGRAMS: dict[str, tuple[Build, Callable[[Any], Any]]] = {
    "round robin": (_variables, lambda tf: tf.train.replica_device_setter(ps_tasks=2)),
    "model": (_model, lambda tf: tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(HOSTS))),
    "model, a dict": (
        _model,
        lambda tf: tf.train.replica_device_setter(cluster=HOSTS, worker_device="/job:worker/task:1"),
    ),
    "model, a message": (
        _model,
        lambda tf: tf.train.replica_device_setter(
            cluster=tf.train.ClusterSpec(HOSTS).as_cluster_def(), worker_device="/job:worker/task:1/gpu:0"
        ),
    ),
    "within": (_within, lambda tf: tf.train.replica_device_setter(ps_tasks=3, worker_device="/job:worker/task:0")),
    "within, not merged": (_within, lambda tf: tf.train.replica_device_setter(ps_tasks=3, merge_devices=False)),
    "devices of parameter servers": (
        _within,
        lambda tf: tf.train.replica_device_setter(ps_tasks=3, ps_device="/job:ps/device:CPU:0", worker_device="/gpu:0"),
    ),
    "no job": (_within, lambda tf: tf.train.replica_device_setter(ps_tasks=3, ps_device="/cpu:0")),
    "no device of parameter servers": (_variables, lambda tf: tf.train.replica_device_setter(ps_tasks=3, ps_device="")),
    "another name of the job": (
        _variables,
        lambda tf: tf.train.replica_device_setter(cluster={"sun": ["sun0:2222"], **HOSTS}, ps_device="/job:sun"),
    ),
    "state": (_state, lambda tf: tf.train.replica_device_setter(ps_tasks=2)),
    "own ops": (_state, lambda tf: tf.train.replica_device_setter(ps_tasks=2, ps_ops=["FIFOQueueV2", "VariableV2"])),
    "own strategy": (
        _many,
        lambda tf: tf.train.replica_device_setter(ps_tasks=4, ps_strategy=lambda op: 3 - len(op.name) % 2),
    ),
    "synchronous": (
        _synchronous,
        lambda tf: tf.train.replica_device_setter(
            worker_device="/job:worker/task:1/cpu:0", cluster=tf.train.ClusterSpec(HOSTS)
        ),
    ),
}  # fmt: skip


def devices(tf: Any, name: str) -> dict[str, str]:
    """Of all nodes of a program, by their names."""
    build, setter = PROGRAMS[name]
    with tf.Graph().as_default() as graph:
        with tf.device(setter(tf)):
            build(tf)
        return {op.name: op.device for op in graph.get_operations()}


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    found = {}
    for program in PROGRAMS:
        by_device: dict[str, list[str]] = {}
        for node, where in devices(tensorflow, program).items():
            by_device.setdefault(where, []).append(node)
        found[program] = {where: " ".join(nodes) for where, nodes in by_device.items()}
    RECORDED.write_text(json.dumps(found, indent=0) + "\n")
