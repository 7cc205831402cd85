"""A program that is started once for each task. Parameter servers serve until they are killed; workers train until
there is a file `stop` in the folder, and say what they found after each step. The chief, worker 0, saves checkpoints.

`python -m tests.cluster.chaos.between` imports all that it needs, and becomes the program in a new process for each
line that it reads: JSON, [name, log file, spec, job, index, folder, mode]. It writes "NAME PID" for each, and
"NAME PID STATUS" when one has ended. All end with it.

Each worker adds 1 to a number on one parameter server, and 0.5 to each element of a matrix on another, with values that
travel to the worker and back. If the mode is "sync", both workers' gradients, all of them -1, make one update.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import select
import signal
import time
from pathlib import Path
from typing import Any

import penstock as tf
from tests.cluster.chaos import injected
from tests.cluster.chaos.program import DEADLINE_S, Phases, say, time_calls

INTERVAL = 10
"""Steps between two checkpoints."""
WIDTH = 300
"""360 KB: they travel through shared memory."""
PAUSE_S = 0.01


class _Saver(tf.train.Saver):
    def restore(self, sess: Any, save_path: Any) -> None:
        injected.phase = "restoring"
        say(f"restoring {str(save_path).rpartition('-')[2]} {_saved(save_path)}")
        super().restore(sess, save_path)
        injected.phase = "training"


def _saved(path: Any) -> str:
    """What an asynchronous step would find in a checkpoint, of each worker."""
    reader = tf.train.load_checkpoint(path)
    if not reader.has_tensor("count_0"):
        return ""
    found = [(reader.get_tensor(f"count_{i}"), reader.get_tensor(f"halves_{i}")) for i in range(2)]
    return " ".join(f"{count} {2 * halves.min()} {2 * halves.max()}" for count, halves in found)


def asynchronous(index: int, step: Any) -> list[Any]:
    """What a step fetches: the global step, and what this worker has added up."""
    for worker in range(2):
        count = tf.get_variable(f"count_{worker}", initializer=0.0)
        halves = tf.get_variable(f"halves_{worker}", initializer=tf.zeros([WIDTH, WIDTH]))
        if worker == index:
            mine, matrix = count, halves
    one = tf.cos(0.0 * mine.read_value())
    half = 0.5 * tf.cos(0.0 * matrix.read_value())
    with tf.control_dependencies([mine.assign_add(one), matrix.assign_add(half)]):
        reads = [step.assign_add(1), mine.read_value(), matrix.read_value()]
    with tf.device(matrix.device):
        return [*reads[:2], 2.0 * tf.reduce_min(reads[2]), 2.0 * tf.reduce_max(reads[2])]


def synchronous(index: int, step: Any) -> tuple[list[Any], Any]:
    """What a step fetches, the global step before and after the variables; and the hook that it needs."""
    some = [tf.get_variable(f"some_{i}", initializer=0.0) for i in range(2)]
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 2, total_num_replicas=2)
    train = optimizer.minimize(-(some[0] + some[1]), step)
    with tf.control_dependencies([train]):
        first = tf.identity(step.read_value())
    with tf.control_dependencies([first]):
        values = [tf.identity(each.read_value()) for each in some]
    with tf.control_dependencies(values):
        return [first, *values, tf.identity(step.read_value())], optimizer.make_session_run_hook(index == 0)


def main(spec: dict[str, list[str]], job: str, index: int, directory: str, mode: str) -> None:
    server = tf.train.Server(spec, job, index, dead_s=2.0)
    if job == "ps":
        say("serves")
        server.join()
    os.environ["CHAOS_CLIENT"] = client_of(index)
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=spec)):
        step = tf.train.get_or_create_global_step()
        hooks = []
        if mode == "sync":
            fetches, hook = synchronous(index, step)
            hooks.append(hook)
        else:
            fetches = asynchronous(index, step)
    scaffold = tf.train.Scaffold(saver=_Saver(save_relative_paths=True)) if index == 0 else None
    saving = tf.train.CheckpointSaverHook(directory, save_steps=INTERVAL, scaffold=scaffold, listeners=[Phases()])
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    if mode != "sync":  # a synchronous step waits for others, however long they take
        config.operation_timeout_in_ms = int(1000 * DEADLINE_S)
    stop = Path(directory) / "stop"
    while not stop.exists():
        try:
            with tf.train.MonitoredTrainingSession(
                server.target,
                is_chief=index == 0,
                checkpoint_dir=directory,
                scaffold=scaffold,
                hooks=hooks,
                chief_only_hooks=[saving],
                save_checkpoint_steps=None,
                save_checkpoint_secs=None,
                save_summaries_steps=None,
                log_step_count_steps=None,
                config=config,
                stop_grace_period_secs=2,
            ) as session:
                injected.phase = "training"
                while not stop.exists():
                    values: Any = session.run(fetches)
                    say(f"step {' '.join(str(float(value)) for value in values)}")
                    time.sleep(PAUSE_S)
        except tf.errors.DeadlineExceededError as error:
            say(f"again {type(error).__name__} {str(error).splitlines()[0]}")
    say("ended")


def client_of(index: int) -> str:
    return f"client of worker:{index}"


def next_order() -> list[Any] | None:
    """Returns in each new process what it is to do, and in the first one None, when there is nothing more to read."""
    running: dict[int, str] = {}
    rest = ""
    while True:
        if select.select([0], [], [], 0.01)[0]:
            read = os.read(0, 1 << 16).decode()
            if not read:
                break
            *lines, rest = (rest + read).split("\n")
            for name, *order in map(json.loads, lines):
                pid = os.fork()
                if not pid:
                    return order
                running[pid] = name
                print(name, pid, flush=True)
        pid, status = os.waitpid(-1, os.WNOHANG) if running else (0, 0)
        if pid:
            print(running.pop(pid), pid, os.waitstatus_to_exitcode(status), flush=True)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
    return None


def load_all() -> None:
    """What is imported now, processes that are started later need not import."""
    for module in ("penstock.cluster.master.master", "penstock.cluster.server"):
        importlib.import_module(module)
    for build in (asynchronous, synchronous):
        with tf.Graph().as_default():
            build(0, tf.train.get_or_create_global_step())


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1)
    time_calls()
    tf.logging.set_verbosity(tf.logging.INFO)
    load_all()
    order = next_order()
    if order is not None:
        log, *arguments = order
        with open(log, "ab") as file, open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        main(*arguments)
