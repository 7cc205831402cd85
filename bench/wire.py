"""Calls between two processes of one machine: Penstock's connections beside Ray's actors and TensorFlow's gRPC.

A row is a way between the processes, a column a size. The first table sends a tensor to the other process, the second
gets one from there; both tell the time from before the call until its answer is there (the median of many calls, one
at a time, of several starts of the processes in turns with the other ways). Values are dropped after use, so that both
sides may use their memory again, as they do from one step of training to the next.

Ray's rows are calls of an actor's method that takes an array or returns one. TensorFlow's are steps of two servers, in
which a node of one task uses a variable of the other; it has no smaller call, and its "empty" is a step that does
nothing on the other task.

`--tensorflow PYTHON` names a Python that has TensorFlow; `--ways` chooses. `--out FILE` writes the tables there too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.machine import describe_machine

SIZES = {"empty": 0, "4 KB": 4 << 10, "100 KB": 100 << 10, "1 MB": 1 << 20, "100 MB": 100 << 20}
_TOKEN = b"of a benchmark"
_OPTIONS: dict[str, dict[str, Any]] = {
    "shared memory": {},
    "Unix socket": {"shared_bytes": 0},
    "TCP": {"local": False},
}
Call = Callable[[], Any]
Calls = tuple[Callable[[int], Call], Callable[[int], Call]]
"""From a size, the call to time: one that sends, and one that gets."""


# --- ways between processes ------------------------------------------------------------------------------------


def _serve(way: str) -> None:
    """The other process of Penstock's ways."""
    import torch

    from penstock.cluster.wire import Endpoint, Handler, Identity, WireOptions

    values = {size: torch.ones(size, dtype=torch.uint8) for size in SIZES.values()}
    service = {
        "take": Handler(lambda peer, *args: None),
        "take inline": Handler(lambda peer, *args: None, inline=True),
        "value": Handler(lambda peer, size: values[size]),
    }
    with Endpoint(Identity("/job:ps/replica:0/task:0", 1), _TOKEN, service, WireOptions(**_OPTIONS[way])) as endpoint:
        print(endpoint.listen("127.0.0.1"), flush=True)
        sys.stdin.read()


@contextlib.contextmanager
def penstock(way: str, inline: bool = False) -> Iterator[Calls]:
    import torch

    from penstock.cluster.wire import Endpoint, Identity, WireOptions

    command = [sys.executable, "-m", "bench.wire", "--serve", way]
    options = WireOptions(**_OPTIONS[way])
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
        Endpoint(Identity("client", 1), _TOKEN, {}, options) as endpoint,
    ):
        assert server.stdin is not None and server.stdout is not None
        peer = endpoint.peer(f"127.0.0.1:{server.stdout.readline().strip()}")
        method = "take inline" if inline else "take"

        def send(size: int) -> Call:
            value = (torch.ones(size, dtype=torch.uint8),) if size else ()
            return lambda: peer.call(method, *value)

        yield send, lambda size: lambda: peer.call("value", size)
        server.stdin.close()


@contextlib.contextmanager
def ray(_: str) -> Iterator[Calls]:
    import numpy as np
    import ray as _ray

    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # it would write a token into the home directory

    class Actor:
        def __init__(self) -> None:
            self.values = {size: np.ones(size, np.uint8) for size in SIZES.values()}

        def take(self, *values: Any) -> None:
            pass

        def value(self, size: int) -> Any:
            return self.values[size]

    _ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=1 << 30)
    try:
        remote: Any = _ray.remote(num_cpus=0)(Actor)
        actor = remote.remote()

        def send(size: int) -> Call:
            value = (np.ones(size, np.uint8),) if size else ()
            return lambda: _ray.get(actor.take.remote(*value))

        yield send, lambda size: lambda: _ray.get(actor.value.remote(size))
    finally:
        _ray.shutdown()


_TENSORFLOW = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
task, sizes, ports, seconds = int(sys.argv[1]), eval(sys.argv[2]), eval(sys.argv[3]), float(sys.argv[4])
spec = tf.train.ClusterSpec({"t": ["127.0.0.1:%d" % port for port in ports]})
server = tf.train.Server(spec, job_name="t", task_index=task)
if task:
    server.join()
here, there = "/job:t/task:0/cpu:0", "/job:t/task:1/cpu:0"
steps = {}
for size in sizes:
    for mine, other in ((here, there), (there, here)):
        with tf.device(mine):
            value = tf.get_variable("v%d_%d" % (size, mine == here), [max(size, 1)], tf.uint8, tf.ones_initializer())
        with tf.device(other if size else there):
            steps[size, mine == here] = tf.slice(value, [size - 1], [1]).op if size else tf.no_op()
with tf.Session(server.target) as sess:
    sess.run(tf.global_variables_initializer())
    for (size, sends), op in steps.items():
        call = sess.make_callable(op)
        for _ in range(3):
            call()
        times, end = [], time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(size, int(sends), sorted(times)[len(times) // 2], flush=True)
"""


def tensorflow(python: str, seconds: float) -> dict[tuple[str, int], float]:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as a, socket.create_server(("127.0.0.1", 0)) as b:
        ports = [s.getsockname()[1] for s in (a, b)]
    rest = [repr(list(SIZES.values())), repr(ports), str(seconds)]
    quiet: dict[str, Any] = {"stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([python, "-c", _TENSORFLOW, "1", *rest], stdout=subprocess.DEVNULL, **quiet) as other:
        try:
            done = subprocess.run(
                [python, "-c", _TENSORFLOW, "0", *rest], check=True, stdout=subprocess.PIPE, timeout=300, **quiet
            )
        finally:
            other.kill()
    lines = (line.split() for line in done.stdout.splitlines())
    return {("send" if sends == "1" else "get", int(size)): float(s) for size, sends, s in lines}


# --- timing and tables ----------------------------------------------------------------------------------------


def time_calls(calls: Calls, seconds: float) -> dict[tuple[str, int], float]:
    """The median of each call's times."""
    found = {}
    for kind, of_size in zip(("send", "get"), calls, strict=True):
        for size in SIZES.values():
            call = of_size(size)
            for _ in range(3):
                call()
            times: list[float] = []
            end = time.perf_counter() + seconds
            while len(times) < 5 or time.perf_counter() < end:
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
            found[kind, size] = median(times)
    return found


def table(kind: str, figures: dict[str, dict[tuple[str, int], float]]) -> str:
    lines = ["| | " + " | ".join(SIZES) + " | GB/s |", "|---" * (len(SIZES) + 2) + "|"]
    largest = max(SIZES.values())
    for way, times in figures.items():
        cells = [_text(times[kind, size]) for size in SIZES.values()]
        lines.append(f"| {way} | {' | '.join(cells)} | {largest / times[kind, largest] / 1e9:.1f} |")
    return "\n".join(lines)


def _text(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


WAYS: dict[str, Callable[[], contextlib.AbstractContextManager[Calls]]] = {
    "shared memory": lambda: penstock("shared memory"),
    "shared memory, inline": lambda: penstock("shared memory", inline=True),
    "Unix socket": lambda: penstock("Unix socket"),
    "TCP": lambda: penstock("TCP"),
    "Ray": lambda: ray("Ray"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", nargs="*", choices=[*WAYS, "TensorFlow"], default=[*WAYS, "TensorFlow"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each size")
    parser.add_argument("--tensorflow", metavar="PYTHON")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--serve", choices=_OPTIONS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        _serve(args.serve)
        return
    ways = [way for way in args.ways if way != "TensorFlow" or args.tensorflow]
    found: dict[str, list[dict[tuple[str, int], float]]] = {way: [] for way in ways}
    for round_ in range(args.rounds):
        for way in ways[round_ % len(ways) :] + ways[: round_ % len(ways)]:
            if way == "TensorFlow":
                found[way].append(tensorflow(args.tensorflow, args.seconds))
            else:
                with WAYS[way]() as calls:
                    found[way].append(time_calls(calls, args.seconds))
    figures = {way: {key: median(times[key] for times in rounds) for key in rounds[0]} for way, rounds in found.items()}
    text = "\n\n".join(
        [f"{describe_machine()}; {args.rounds} rounds.", "Send:", table("send", figures), "Get:", table("get", figures)]
    )
    print(text)
    if args.out:
        args.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
