"""A task of a program that is started once for each: `python -m tests.cluster.chaos.between SPEC JOB INDEX FOLDER`.

SPEC is JSON. Parameter servers serve until they are killed, workers train for ever and say so after each step; the
chief saves checkpoints in FOLDER.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import penstock as tf

INTERVAL = 10


def main(spec: dict[str, list[str]], job: str, index: int, directory: str) -> None:
    server = tf.train.Server(spec, job, index, dead_s=2.0)
    if job == "ps":
        print("serves", flush=True)
        server.join()
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=spec)):
        step = tf.train.get_or_create_global_step()
        count = tf.get_variable("count", initializer=0.0)
        halves = tf.get_variable("halves", initializer=0.0)
        with tf.control_dependencies([count.assign_add(1.0), halves.assign_add(0.5)]):
            train = tf.train.get_global_step().assign_add(1)
    config = tf.ConfigProto(operation_timeout_in_ms=20000)
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=index == 0,
        checkpoint_dir=directory,
        save_checkpoint_steps=INTERVAL,
        save_checkpoint_secs=None,
        save_summaries_steps=None,
        log_step_count_steps=None,
        config=config,
        stop_grace_period_secs=2,
    ) as session:
        while True:
            now: Any = session.run([train, step, count, halves])
            print(f"step {now[0]} {now[2]} {now[3]}", flush=True)
            time.sleep(0.01)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    main(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
