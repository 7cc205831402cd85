"""`penstock tune program.py --space space.yaml --trials 50 [-- its arguments]` on the command line.

A program gets the values of a trial as flags. It says how good they are with `penstock.tune.report`, or writes a scalar
to its event files (--metric), or prints numbers (--pattern). The same command once more goes on where the search was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock import errors
from penstock.tune.attributes import best_of
from penstock.tune.results import PICTURE, TABLE
from penstock.tune.samplers import PRUNERS, SAMPLERS
from penstock.tune.study import run


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    words = list(arguments)
    own, rest = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    args = _parser().parse_args(own)
    name = args.name or Path(args.program).stem
    folder = args.folder or Path("tune") / name
    try:
        study = run(
            [args.program, *rest],
            args.space,
            args.trials,
            args.parallel,
            direction="maximize" if args.maximize else "minimize",
            sampler=args.sampler,
            pruner=args.pruner,
            seed=args.seed,
            name=name,
            folder=folder,
            storage=args.storage,
            on=args.on,
            cpus=args.cpus,
            gpus=args.gpus,
            memory=args.memory,
            metric=args.metric,
            pattern=args.pattern,
            timeout=args.timeout,
            trial_timeout=args.trial_timeout,
        )
    except KeyboardInterrupt:
        print("penstock tune: interrupted. The same command goes on.", file=sys.stderr)
        return 130
    except errors.OpError as error:
        print(f"penstock tune: {error.message}", file=sys.stderr)
        return 1
    best = best_of(study)
    if best is None:
        print(f"penstock tune: no trial has a value. {folder / TABLE} says why.", file=sys.stderr)
        return 1
    print(f"best value {best.value:.6g}, of trial {best.number}:")
    for parameter, value in best.params.items():
        print(f"  --{parameter}={value}")
    print(
        f"{folder} has {TABLE}, a picture ({PICTURE}) and each trial's log; `tensorboard --logdir {folder}` shows it."
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="penstock tune program.py --space FILE [--trials N] [--parallel N] [options] [-- arguments]",
    )
    parser.add_argument("program", help="a Python program with flags")
    parser.add_argument("--space", required=True, help="a file that describes what is searched (docs/tuning.md)")
    parser.add_argument("--trials", type=int, default=50, help="those there are already included (%(default)s)")
    parser.add_argument("--parallel", type=int, default=1, help="trials at the same time (%(default)s)")
    objective = parser.add_argument_group("objective")
    objective.add_argument("--metric", help="a scalar in the program's event files, such as loss or eval/loss")
    objective.add_argument("--pattern", help=r"numbers in its output: 'loss = (\S+)'; (?P<step>\d+) is the step")
    objective.add_argument("--maximize", action="store_true", help="the largest value is the best, not the smallest")
    search = parser.add_argument_group("search")
    search.add_argument("--sampler", choices=SAMPLERS, default="gp", help="(%(default)s)")
    search.add_argument("--pruner", choices=PRUNERS, default="none", help="ends trials that others have left behind")
    search.add_argument("--seed", type=int)
    search.add_argument("--timeout", type=float, help="seconds after which no trial begins")
    search.add_argument("--trial-timeout", type=float, help="seconds after which a trial has failed")
    machines = parser.add_argument_group("machines")
    machines.add_argument("--on", default="processes", help="processes of this machine (default), ray, a Ray's address")
    machines.add_argument("--cpus", type=float, help="threads of each trial's kernels (a fair part of the machine's)")
    machines.add_argument("--gpus", type=int, default=0, help="GPUs of each trial (%(default)s)")
    machines.add_argument("--memory", help="the most that a trial may allocate, such as 4G")
    files = parser.add_argument_group("files")
    files.add_argument("--name", help="the study's (the program's)")
    files.add_argument("--folder", type=Path, help="where all is kept (tune/NAME)")
    files.add_argument("--storage", help="another storage of Optuna's for the study, such as mysql://...")
    return parser
