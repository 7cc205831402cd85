"""A TF 1.x program for several processes: `trainer.py --ps_hosts=… --worker_hosts=… --job_name=… --task_index=…`."""

import tempfile

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "Comma-separated list of hostname:port pairs")
flags.DEFINE_string("worker_hosts", "", "Comma-separated list of hostname:port pairs")
flags.DEFINE_string("job_name", "", "One of 'ps', 'worker'")
flags.DEFINE_integer("task_index", 0, "Index of task within the job")
FLAGS = flags.FLAGS
STEPS = 300


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    worker = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        global_step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, 10])
        y = tf.placeholder(tf.float32, [None])
        weights = tf.Variable(tf.zeros([10, 1]), name="weights")
        bias = tf.Variable(tf.zeros([1]), name="bias")
        loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, weights) + bias, 1) - y))
        train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=global_step)
    supervisor = tf.train.Supervisor(
        is_chief=FLAGS.task_index == 0, logdir=tempfile.mkdtemp(), global_step=global_step, recovery_wait_secs=1
    )
    filters = tf.ConfigProto(device_filters=["/job:ps", worker])
    random = np.random.RandomState(FLAGS.task_index)
    with supervisor.managed_session(server.target, config=filters) as session:
        step, mine = 0, 0
        while not supervisor.should_stop() and step < STEPS:
            batch = random.randn(16, 10)
            _, value, step = session.run([train_op, loss, global_step], {x: batch, y: batch.sum(1) + 2})
            mine += 1
        place = f"{weights.op.name} on {weights.device}"
        print(f"worker {FLAGS.task_index}: {mine} steps, {place}, loss {value:.6f}")


if __name__ == "__main__":
    tf.app.run()
