"""`penstock plan program.py --hardware machines.yaml [--replicas 1,2,4] [-- its arguments]` on the command line.

Runs a TF 1.x program until it trains, and predicts how it would train on the machines that a file describes: examples
per second, efficiency, where the time goes, memory, and what limits it. docs/capacity.md says how it is simulated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock import errors
from penstock.capacity.plan import plan_training
from penstock.capacity.watch import find_step
from penstock.placement.hardware import Hardware
from penstock.placement.training.faults import Faults
from penstock.placement.training.noise import Jitter
from penstock.placement.training.simulate import MODES
from penstock.placement.training.stages import SCHEDULES
from penstock.session.training_step import training_step


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    words = list(arguments)
    own, rest = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    args = _parser().parse_args(own)
    try:
        _plan(args, rest)
    except (ValueError, OSError) as error:
        print(f"penstock plan: {error}", file=sys.stderr)
        return 1
    except errors.OpError as error:
        print(f"penstock plan: {error.message}", file=sys.stderr)
        return 1
    return 0


def _plan(args: argparse.Namespace, rest: Sequence[str]) -> None:
    hardware = Hardware.load(args.hardware)  # before the program, which may take a while
    found = find_step([args.program, *rest], args.fetch)
    step = training_step(
        found.fetches, found.feeds, hardware, devices=args.devices, batch=args.batch, graph=found.graph
    )
    if args.step_seconds:
        step = step.lasting(args.step_seconds)
    plan = plan_training(
        step,
        hardware,
        args.replicas,
        args.mode,
        backup=args.backup,
        ps=args.ps,
        balance=args.balance,
        stages=args.stages,
        batches=args.batches,
        schedule=args.schedule,
        jitter=Jitter(args.spread, args.slow, args.slow_times, args.seed),
        faults=Faults(args.mtbf, args.restore, args.checkpoint) if args.mtbf else None,
        steps=args.steps,
    )
    print(plan.table())
    plan.save_picture(args.picture)
    print(f"{args.picture} shows it.")


def _replicas(text: str) -> list[int]:
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"numbers with commas are expected, such as 1,2,4, not {text!r}") from None
    if min(found) < 1:
        raise argparse.ArgumentTypeError("there is at least one replica")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock plan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="penstock plan program.py --hardware FILE [--replicas N,N,...] [--mode MODE] [options] [-- arguments]",
    )
    add = parser.add_argument
    add("program", help="a TF 1.x program, unchanged")
    add("--hardware", required=True, type=Path, help="a YAML file that describes a worker's machine, and job ps")
    add("--replicas", type=_replicas, default=_replicas("1,2,4,8,16,32,64,128,256"), help="(1,2,4,...,256)")
    add("--mode", choices=MODES, default="sync", help="(%(default)s)")
    add("--picture", type=Path, default=Path("plan.png"), help="a PNG that is written (%(default)s)")
    model = parser.add_argument_group("the step")
    model.add_argument("--fetch", default="", help="the name of what the step runs (the first step that trains)")
    model.add_argument("--batch", type=float, default=0.0, help="examples in a step, if it cannot be seen")
    model.add_argument("--step-seconds", type=float, help="what it takes on one replica, if that was measured")
    model.add_argument("--devices", type=int, default=1, help="devices of a replica, over which its nodes are placed")
    training = parser.add_argument_group("training")
    training.add_argument("--ps", type=int, default=0, help="parameter servers (as many as described)")
    training.add_argument(
        "--balance", type=float, default=0.0, help="of servers, 1: even (each has a variable in turn)"
    )
    training.add_argument("--backup", type=int, default=0, help="synchronous workers in addition, the last are dropped")
    training.add_argument("--stages", type=int, default=2, help="devices of each pipeline (%(default)s)")
    training.add_argument("--batches", type=int, default=0, help="small batches in a pipeline's step (4 a stage)")
    training.add_argument("--schedule", choices=SCHEDULES, default="1f1b", help="of pipelines (%(default)s)")
    training.add_argument("--steps", type=int, default=30, help="that are simulated (%(default)s)")
    noise = parser.add_argument_group("disturbances")
    noise.add_argument("--spread", type=float, default=0.0, help="of the logarithm of what computing takes")
    noise.add_argument("--slow", type=float, default=0.0, help="the chance that a replica is slow in a step")
    noise.add_argument("--slow-times", type=float, default=2.0, help="how many times slower it is then (%(default)s)")
    noise.add_argument("--mtbf", type=float, help="mean seconds between faults of a machine")
    noise.add_argument("--restore", type=float, default=60.0, help="seconds until training goes on (%(default)s)")
    noise.add_argument("--checkpoint", type=float, default=600.0, help="seconds between checkpoints (%(default)s)")
    noise.add_argument("--seed", type=int, default=0)
    return parser
