"""Steps over several tasks of one machine, beside TensorFlow's gRPC runtime.

Both run the same programs (`bench/task_programs.py`): a Server in each process, and sessions in the worker that trains
or in a client's process of its own. Their processes run at the same time, and take turns: in each round each measures
for some time while those of the other wait. Figures are medians of the rounds, ratios say how many times faster
Penstock is. All with no busy neighbour, and with one that keeps a core busy.

- **Latency**: a step of two or three matrix products of 4 x 4, in 1, 2 or 3 tasks; the second is a ps with a variable.
- **Large values**: 100 MB, from the client's task to another and the other way: the step takes one element there.
- **Training**: steps a second of all workers together, with the variables on one ps. The small model has 79,510
  parameters (784, 100, 10), the large one 5.8 million (784, 2048, 2048, 10): 23 MB to each worker and 23 MB back in
  each step. Synchronous workers use SyncReplicasOptimizer.
- **Idle tasks**: a step that uses one task or all in a cluster of many tiny ones, which share one process.

`--tensorflow PYTHON` names a Python that has TensorFlow. `--sections` chooses; with `--results FILE` the figures of the
other sections come from there, and those of this run go there. `--out FILE` writes the tables there too.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.machine import describe_machine
from bench.neighbours import in_words, neighbours

PENSTOCK, TENSORFLOW = "Penstock", "TensorFlow"
Figures = dict[str, list[float]]
"""Each round's figure, by name: seconds, or for "/s" things a second."""
Measure = Callable[[], Figures]


class Runtime:
    """A host with the processes of a cluster."""

    def __init__(self, name: str, python: str) -> None:
        root = Path(__file__).resolve().parent.parent
        env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", PENSTOCK_CLUSTER_TOKEN=_TOKEN)
        if name == TENSORFLOW:
            env["PYTHONPATH"] = str(root)
        self.name = name
        self._process = subprocess.Popen(
            [python, "-m", "bench.task_programs", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("BENCH_STDERR") else subprocess.DEVNULL,
            text=True,
            env=env,
            cwd=root,
        )

    def start(self, jobs: dict[str, int], processes: list[list[tuple[str, int]]]) -> None:
        ports = iter(_free_ports(sum(jobs.values())))
        self._tell("start", {job: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for job, n in jobs.items()}, processes)

    def ask(self, who: list[int], *request: Any) -> list[Any]:
        found: list[Any] = self._tell("ask", who, *request)
        return found

    def _tell(self, *message: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        found = json.loads(line) if line else {"error": "its process ended"}
        if "error" in found:
            raise RuntimeError(f"{self.name}: {found['error']}")
        return found["answer"]

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


_TOKEN = secrets.token_hex(16)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


# --- sections: each yields groups of figures that are measured together -------------------------------------------


def latency(runtime: Runtime, seconds: float) -> Iterator[Measure]:
    runtime.start({"worker": 2, "ps": 1}, [[("worker", 0)], [("worker", 1)], [("ps", 0)], []])
    places = {"client in the worker": 0, "client outside": 3}
    for place, process in places.items():
        runtime.ask([process], "build", "latency")

        def measure(place: str = place, process: int = process) -> Figures:
            return {
                f"{tasks} task{'s' if tasks > 1 else ''}, {place}": runtime.ask([process], "time", str(tasks), seconds)
                for tasks in (1, 2, 3)
            }

        yield measure


def throughput(runtime: Runtime, seconds: float) -> Iterator[Measure]:
    runtime.start({"worker": 1, "ps": 1}, [[("worker", 0)], [("ps", 0)]])
    runtime.ask([0], "build", "throughput")
    yield lambda: {
        f"{way} 100 MB": runtime.ask([0], "time", name, seconds)
        for way, name in (("from the client's task", "send"), ("to the client's task", "get"))
    }


def train(runtime: Runtime, seconds: float, model: str) -> Iterator[Measure]:
    runtime.start({"worker": 4, "ps": 1}, [*([("worker", i)] for i in range(4)), [("ps", 0)]])
    for workers, together in ((1, False), (2, False), (4, False), (2, True), (4, True)):
        who = list(range(workers))
        for worker in who:  # the first initialises
            runtime.ask([worker], "build", "train", model, workers, together)
        rate = _Rate(runtime, who, together)
        rate.of(3)  # plans and compiles
        count = max(5, round(rate.of(5) * seconds / workers))
        kind = "synchronous" if together else "asynchronous"
        name = f"{workers} worker{'s' if workers > 1 else ''}, {kind}/s"

        def measure(name: str = name, rate: _Rate = rate, count: int = count) -> Figures:
            return {name: [rate.of(count)]}

        yield measure


class _Rate:
    """Of training: steps a second of all workers."""

    def __init__(self, runtime: Runtime, who: list[int], together: bool) -> None:
        self._runtime, self._who, self._together = runtime, who, together
        self._done = 0

    def of(self, count: int) -> float:
        """While each worker runs so many steps; together, while so many updates are made of a gradient of each."""
        self._done += count
        request = ("until", "train", self._done) if self._together else ("count", "train", count)
        spans = self._runtime.ask(self._who, *request)
        return len(spans) * count / (max(end for _, end in spans) - min(start for start, _ in spans))


def many(runtime: Runtime, seconds: float) -> Iterator[Measure]:
    for workers in (1, 4, 16, 64):
        runtime.start({"worker": workers}, [[("worker", i) for i in range(workers)], []])
        runtime.ask([1], "build", "many")

        def measure(workers: int = workers) -> Figures:
            return {
                f"{workers} task{'s' if workers > 1 else ''}, {name} used": runtime.ask([1], "time", name, seconds)
                for name in (("one", "all") if workers > 1 else ("one",))
            }

        yield measure


SECTIONS: dict[str, Callable[[Runtime, float], Iterator[Measure]]] = {
    "latency": latency,
    "throughput": throughput,
    "small": lambda runtime, seconds: train(runtime, seconds, "small"),
    "large": lambda runtime, seconds: train(runtime, seconds, "large"),
    "many": many,
}
TITLES = {
    "latency": "Latency",
    "throughput": "Large values",
    "small": "Training steps a second: the small model",
    "large": "Training steps a second: the large model",
    "many": "Idle tasks",
}
Results = dict[str, dict[str, dict[str, Figures]]]
"""Of a section, of a number of neighbours, of a runtime."""


def run(section: str, runtimes: list[Runtime], args: argparse.Namespace) -> dict[str, dict[str, Figures]]:
    found: dict[str, dict[str, Figures]] = {
        str(count): {runtime.name: {} for runtime in runtimes} for count in args.neighbours
    }
    for measures in zip(*(SECTIONS[section](runtime, args.seconds) for runtime in runtimes), strict=True):
        for count in args.neighbours:
            with neighbours(count, 600):
                for round_ in range(args.rounds + 1):
                    pairs = list(zip(runtimes, measures, strict=True))
                    for runtime, measure in pairs[:: 1 if round_ % 2 else -1]:
                        figures = measure()
                        for name, values in figures.items() if round_ else ():  # first, they warm up
                            found[str(count)][runtime.name].setdefault(name, []).extend(values)
        print(".", end="", file=sys.stderr, flush=True)
    return found


# --- tables ---------------------------------------------------------------------------------------------------


def report(results: Results) -> str:
    lines = []
    for section, title in TITLES.items():
        if section not in results:
            continue
        by_count = results[section]
        names = list(next(iter(by_count.values()))[PENSTOCK])
        runtimes = list(next(iter(by_count.values())))
        columns = [
            f"{runtime}, {in_words(int(count))}" if runtime else "times as fast"
            for count in by_count
            for runtime in [*runtimes, ""][: 3 if len(runtimes) > 1 else 1]
        ]
        rounds = len(next(iter(by_count.values()))[PENSTOCK][names[0]])
        lines += [
            f"## {title}",
            "",
            f"{rounds} rounds.",
            "",
            "| | " + " | ".join(columns) + " |",
            "|---" + "|---:" * len(columns) + "|",
        ]
        for name in names:
            cells = []
            for figures in by_count.values():
                medians = [median(figures[runtime][name]) for runtime in runtimes]
                cells += [_text(name, value) for value in medians]
                if len(medians) > 1:
                    ratio = medians[0] / medians[1]
                    cells.append(f"{ratio if name.endswith('/s') else 1 / ratio:.2f}")
            lines.append(f"| {name.removesuffix('/s')} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _text(name: str, value: float) -> str:
    if name.endswith("/s"):
        return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
    if "100 MB" in name:
        return f"{value * 1e3:.1f} ms, {(100 << 20) / value / 1e9:.1f} GB/s"
    return f"{value * 1e6:.0f} us" if value < 1e-3 else f"{value * 1e3:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", metavar="PYTHON")
    parser.add_argument("--sections", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--neighbours", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each figure in each round")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    pythons = {PENSTOCK: sys.executable} | ({TENSORFLOW: args.tensorflow} if args.tensorflow else {})
    results: Results = json.loads(args.results.read_text()) if args.results and args.results.exists() else {}
    runtimes = [Runtime(name, python) for name, python in pythons.items()]
    try:
        for section in args.sections:
            results[section] = run(section, runtimes, args)
    finally:
        for runtime in runtimes:
            runtime.end()
    if args.results:
        args.results.write_text(json.dumps(results, indent=1))
    text = f"{describe_machine()}.\n\n{report(results)}"
    print(text)
    if args.out:
        others = args.out.read_text().split("\n# ")[1:] if args.out.exists() else []
        mine = f"# Steps over tasks\n\n`python -m bench.tasks`: {(__doc__ or '').strip()}\n\n{text}"
        args.out.write_text("\n# ".join([mine, *others]))


if __name__ == "__main__":
    main()
