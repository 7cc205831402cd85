"""What the processes of `bench.tasks` run, with Penstock or TensorFlow as `tf`: nothing here needs either before.

A host starts a process for each entry of a cluster: its tasks, and the client that runs there. It answers lines of
JSON: ["start", spec, [[[job, index], ...], ...]], which ends the processes from before, and
["ask", processes, request, ...], which passes the request on and answers with all that they say.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

Spec = dict[str, list[str]]
Step = Callable[[], Any]
LARGE = 100 << 20
MODELS = {"small": ([784, 100, 10], 100), "large": ([784, 2048, 2048, 10], 32)}
"""The layers' sizes and the batch's."""


# --- programs: each makes a graph and a session, and returns steps by name --------------------------------------


def latency(tf: Any, spec: Spec, target: str, index: int) -> dict[str, Step]:
    """Steps of one, two and three tasks, with a node or two in each; the second task is a ps."""
    ones = np.ones((4, 4), np.float32)
    with tf.device("/job:worker/task:0"):
        own = tf.Variable(ones)
        one = tf.matmul(own, own)
    with tf.device("/job:ps/task:0"):
        variable = tf.Variable(ones)
    with tf.device("/job:worker/task:0"):
        two = tf.matmul(variable, variable)
    with tf.device("/job:worker/task:1"):
        three = tf.matmul(two, variable)
    return _steps(tf, target, {"1": one, "2": two, "3": three})


def throughput(tf: Any, spec: Spec, target: str, index: int) -> dict[str, Step]:
    """A large variable of one task is used in another."""
    found = {}
    here, there = "/job:worker/task:0", "/job:ps/task:0"
    for name, owner, user in (("send", here, there), ("get", there, here)):
        with tf.device(owner):
            value = tf.get_variable(name, [LARGE], tf.uint8, tf.ones_initializer())
        with tf.device(user):
            found[name] = tf.slice(value, [LARGE - 1], [1])
    return _steps(tf, target, found)


def many(tf: Any, spec: Spec, target: str, index: int) -> dict[str, Step]:
    """Steps that use one of the cluster's workers, and all."""
    sums = []
    for worker in range(len(spec["worker"])):
        with tf.device(f"/job:worker/task:{worker}"):
            variable = tf.Variable(np.ones(4, np.float32))
            sums.append(variable + 1.0)
    return _steps(tf, target, {"one": sums[0], "all": sums})


def _steps(tf: Any, target: str, fetches: dict[str, Any]) -> dict[str, Step]:
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return {name: functools.partial(session.run, fetch) for name, fetch in fetches.items()}


def train(tf: Any, spec: Spec, target: str, index: int, model: str, workers: int, together: bool) -> dict[str, Step]:
    """Between-graph training with variables on the ps, as worker `index` of `workers`; the first initialises."""
    sizes, batch = MODELS[model]
    random = np.random.RandomState(index)
    data = random.rand(batch, sizes[0]).astype(np.float32), random.randint(0, sizes[-1], batch)
    setter = tf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=tf.train.ClusterSpec(spec)
    )
    kind = f"{model}.{workers}.{'together' if together else 'alone'}"  # all queues of tokens have the same name
    with tf.device(setter), tf.container(kind), tf.variable_scope(kind):
        images = hidden = tf.placeholder(tf.float32, [None, sizes[0]])
        labels = tf.placeholder(tf.int64, [None])
        count = tf.train.create_global_step()
        for number, (before, after) in enumerate(pairwise(sizes)):
            weights = tf.get_variable(f"w{number}", [before, after])
            hidden = tf.matmul(hidden, weights) + tf.get_variable(f"b{number}", [after])
            if after != sizes[-1]:
                hidden = tf.nn.relu(hidden)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=hidden))
        optimizer = tf.train.GradientDescentOptimizer(1e-3)
        if together:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, workers)
        training = optimizer.minimize(loss, global_step=count)
        if together:
            with tf.control_dependencies([training]):
                training = tf.identity(count)
        initialize = tf.global_variables_initializer()
    filters = ["/job:ps", f"/job:worker/task:{index}"]
    session = tf.Session(target, config=tf.ConfigProto(device_filters=filters))
    if index == 0:
        session.run([initialize, *tf.get_collection(tf.GraphKeys.LOCAL_INIT_OP)])
    if together:
        if index == 0:
            session.run(optimizer.chief_init_op)
            optimizer.get_chief_queue_runner().create_threads(session, daemon=True, start=True)
            session.run(optimizer.get_init_tokens_op())
        else:
            session.run(optimizer.local_step_init_op)
    return {"train": lambda: session.run(training, {images: data[0], labels: data[1]})}


PROGRAMS: dict[str, Callable[..., dict[str, Step]]] = {
    "latency": latency,
    "throughput": throughput,
    "many": many,
    "train": train,
}


# --- a process of the cluster -----------------------------------------------------------------------------------


def serve(runtime: str, spec: Spec, tasks: Sequence[tuple[str, int]], pipe: Any) -> None:
    try:
        tf = _imported(runtime)
        servers = [tf.train.Server(spec, job_name=job, task_index=index) for job, index in tasks]
        target = servers[0].target if servers else f"grpc://{spec['worker'][0]}"
        index = tasks[0][1] if tasks else 0
    except BaseException:
        pipe.send({"error": traceback.format_exc()})
        raise
    pipe.send({"ready": True})
    steps: dict[str, Step] = {}
    while True:
        try:
            request, *rest = pipe.recv()
        except EOFError:
            return
        try:
            if request == "build":
                name, *options = rest
                with tf.Graph().as_default():
                    steps = PROGRAMS[name](tf, spec, target, index, *options)
                pipe.send(None)
            elif request == "time":
                pipe.send(median_time(steps[rest[0]], rest[1]))
            elif request == "count":
                pipe.send(timed(steps[rest[0]], rest[1]))
            elif request == "until":
                pipe.send(timed_until(steps[rest[0]], rest[1]))
        except BaseException:
            pipe.send({"error": traceback.format_exc()})


def _imported(runtime: str) -> Any:
    if runtime == "Penstock":
        import penstock

        return penstock
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    return tensorflow


def median_time(step: Step, seconds: float) -> float:
    for _ in range(3):
        step()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return median(times)


def timed(step: Step, count: int) -> tuple[float, float]:
    """The moments at which so many steps began and ended, on a clock that all processes share."""
    start = time.monotonic()
    for _ in range(count):
        step()
    return start, time.monotonic()


def timed_until(step: Step, target: int) -> tuple[float, float]:
    """The same for steps until one returns `target`.

    Synchronous workers cannot run a number of steps each: who has finished leaves the others waiting for its gradients.
    """
    start = time.monotonic()
    while step() < target:
        pass
    return start, time.monotonic()


# --- the host ---------------------------------------------------------------------------------------------------


class Host:
    def __init__(self, runtime: str) -> None:
        self._runtime = runtime
        self._context = multiprocessing.get_context("spawn")  # TensorFlow's forks would give requests the same numbers
        self._children: list[tuple[Any, Any]] = []

    def start(self, spec: Spec, processes: Sequence[Sequence[tuple[str, int]]]) -> None:
        self.end()
        for tasks in processes:
            ours, theirs = self._context.Pipe()
            child = self._context.Process(target=serve, args=(self._runtime, spec, tasks, theirs), daemon=True)
            child.start()
            theirs.close()
            self._children.append((child, ours))
        self._answers(range(len(processes)))

    def ask(self, who: Sequence[int], *request: Any) -> list[Any]:
        for number in who:
            self._children[number][1].send(request)
        return self._answers(who)

    def _answers(self, who: Sequence[int]) -> list[Any]:
        found = [self._children[number][1].recv() for number in who]
        for answer in found:
            if isinstance(answer, dict) and "error" in answer:
                raise RuntimeError(answer["error"])
        return found

    def end(self) -> None:
        for child, pipe in self._children:
            pipe.close()
            child.kill()
            child.join()
        self._children = []


def main() -> None:
    host = Host(sys.argv[1])
    for line in sys.stdin:
        what, *rest = json.loads(line)
        try:
            answer = {"answer": getattr(host, what)(*rest)}
        except Exception as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)
    host.end()


if __name__ == "__main__":
    main()
