"""`penstock cluster start|status|logs|stop|token`: clusters of this machine on the command line."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from penstock import errors
from penstock.cluster.launch import places
from penstock.cluster.launch.cluster import connect, start
from penstock.cluster.launch.control import Control
from penstock.cluster.spec import full_name
from penstock.cluster.token import new_token

_FOLLOW_S = 0.3


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    args = _parser().parse_args(arguments)
    try:
        match args.command:
            case "start":
                _start(args)
            case "status":
                _status(args.name)
            case "logs":
                _logs(args.name, args.task, args.follow)
            case "stop":
                _stop(args.name, args.all)
            case "token":
                print(new_token())
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
    except KeyboardInterrupt:
        return 130
    except errors.OpError as error:
        print(f"penstock cluster: {error.message}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    begin = commands.add_parser("start", help="start a cluster that runs until it is stopped")
    begin.add_argument("jobs", help="how many tasks each job has: worker=2,ps=1")
    begin.add_argument("--name", default="default", help="sessions connect to penstock://NAME (%(default)s)")
    begin.add_argument("--on", default="processes", help="processes of this machine (default), ray, or a Ray's address")
    begin.add_argument("--cpus", type=float, help="threads of each task's kernels (a fair part of this machine's)")
    begin.add_argument("--gpus", type=int, default=0, help="GPUs of each task (%(default)s)")
    begin.add_argument("--memory", help="the most that a task may allocate, such as 4G")
    begin.add_argument("--no-replace", action="store_true", help="do not replace tasks that die")
    status = commands.add_parser("status", help="list clusters, or the tasks of one")
    status.add_argument("name", nargs="?")
    logs = commands.add_parser("logs", help="print what tasks have written last")
    logs.add_argument("name", nargs="?", default="default")
    logs.add_argument("task", nargs="?", help="such as worker:0; without it, all")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    stop = commands.add_parser("stop", help="stop a cluster: what its tasks hold, such as variables, is gone")
    stop.add_argument("name", nargs="?", default="default")
    stop.add_argument("--all", action="store_true", help="stop all of this user")
    commands.add_parser("token", help="print a new token, for PENSTOCK_CLUSTER_TOKEN")
    return parser


def _start(args: argparse.Namespace) -> None:
    cluster = start(
        args.jobs,
        args.name,
        on=args.on,
        cpus=args.cpus,
        gpus=args.gpus,
        memory=args.memory,
        replace=not args.no_replace,
    )
    try:
        cluster.detach()
    except BaseException:
        cluster.stop()
        raise
    _status(args.name)
    print(f"Connect with tf.Session({cluster.target!r}); stop it with `penstock cluster stop {args.name}`.")


def _status(name: str | None) -> None:
    found = [name] if name else places.names()
    if not found:
        print("No cluster runs.")
    for each in found:
        try:
            with Control.of(each) as control:
                status = control.ask("status")
        except errors.UnavailableError as error:
            print(f"{each}: {error.message}")
            continue
        ready = sum(task["state"] == "ready" for task in status["tasks"])
        age = time.strftime("%H:%M:%S", time.gmtime(time.time() - status["started"]))
        print(f"{each}: {ready} of {len(status['tasks'])} tasks ready, on {status['on']}, for {age}")
        if name:
            _table(status["tasks"])


def _table(tasks: Sequence[dict[str, object]]) -> None:
    head = ("task", "state", "address", "pid", "restarts", "why it died last")
    rows = [[str(task[key]) for key in ("task", "state", "address", "pid", "restarts", "why")] for task in tasks]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _logs(name: str, task: str | None, follow: bool) -> None:
    with Control.of(name) as control:
        tasks = [full_name(task)] if task else [each["task"] for each in control.ask("status")["tasks"]]
        seen = dict.fromkeys(tasks, 0)
        while True:
            for each in tasks:
                text, seen[each] = control.ask("output", task=each, after=seen[each])
                if text and len(tasks) > 1:
                    print(f"=== {each}")
                print(text, end="", flush=True)
            if not follow:
                return
            time.sleep(_FOLLOW_S)


def _stop(name: str, every: bool) -> None:
    for each in places.names() if every else [name]:
        connect(each).stop()
        print(f"{each} is stopped.")
