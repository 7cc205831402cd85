"""SGD step of an MLP 64-32-10, batch 32, in a MonitoredTrainingSession with an Estimator's hooks.

TensorFlow has no tf.estimator any more. This is the loop that its `train` consisted of: a dataset's batches, a global
step, hooks that look for NaN, log the loss and the steps per second, write summaries, and save every ten minutes.
"""

from __future__ import annotations

import tempfile
from types import ModuleType

from bench.workloads.mlp import LEARNING_RATE, Mlp
from bench.workloads.training import Step

_MODEL = Mlp(batch=32, widths=(64, 32, 10))


def build(tf: ModuleType) -> Step:
    tf.logging.set_verbosity(tf.logging.ERROR)
    folder = tempfile.TemporaryDirectory()
    global_step = tf.train.get_or_create_global_step()
    batches = tf.data.Dataset.from_tensors(_MODEL.data()).repeat()
    h, labels = tf.data.make_one_shot_iterator(batches).get_next()
    for number, (weights, biases) in enumerate(_MODEL.layers()):
        h = tf.nn.bias_add(tf.matmul(h, tf.Variable(weights)), tf.Variable(biases))
        if number < len(_MODEL.widths) - 2:
            h = tf.nn.relu(h)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h))
    train = tf.train.GradientDescentOptimizer(LEARNING_RATE).minimize(loss, global_step=global_step)
    tf.summary.scalar("loss", loss)
    hooks = [
        tf.train.NanTensorHook(loss),
        tf.train.LoggingTensorHook({"loss": loss, "step": global_step}, every_n_iter=100),
    ]
    session = tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder.name,
        hooks=hooks,
        save_checkpoint_secs=600,
        save_summaries_steps=100,
        log_step_count_steps=100,
    )

    def step(_folder: object = folder) -> float:  # which is there as long as the step is
        _, value = session.run([train, loss])
        return float(value)

    return step
