"""What runs in a trial's process: a program, as `python -m penstock program.py` runs it, or a pickled function."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import random
import resource
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from penstock.tune import reporting
from penstock.tune.job import HopelessError, Job
from penstock.tune.reporting import Channel, Connection, Pruned


def live(job: Job, connection: socket.socket) -> NoReturn:
    """Carry out the job, and end the process."""
    channel = Connection(connection)
    reporting.connect(channel if job.metric is None and job.pattern is None else Deaf())
    os.environ[reporting.FOLDER] = job.folder
    with contextlib.suppress(FileNotFoundError):
        os.chdir(job.place)
    if job.memory is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (job.memory, job.memory))
    for seed in (random.seed, np.random.seed, torch.seed):  # after a fork, all have the nursery's
        seed()
    status = 1
    try:
        status = _status(job, channel)
        gc.collect()  # closes the files that nobody has closed
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)  # to free all that the nursery has imported takes a second, as its pages would be copied


def _status(job: Job, channel: Channel) -> int:
    """How the process is to end."""
    try:
        channel.ask({"do": "begun"})
        if job.program:
            from penstock.tune import programs

            programs.run(job)
        else:
            channel.ask({"do": "result", "value": _call(job, channel)})
    except Pruned:
        channel.ask({"do": "pruned"})
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
            return 1
        return (end.code or 0) & 255
    except BaseException as error:
        traceback.print_exc()
        hopeless = isinstance(error, HopelessError)
        channel.ask({"do": "failed", "why": str(error) if hopeless else describe(error), "hopeless": hopeless})
        return 1
    return 0


class Deaf:
    """The channel of a program whose values are found elsewhere: they must not be counted twice."""

    def ask(self, message: Mapping[str, Any]) -> Any:
        return False


def describe(error: BaseException) -> str:
    """In one line, as at the end of a traceback."""
    return traceback.format_exception_only(error)[-1].strip() or type(error).__name__


def _call(job: Job, channel: Channel) -> Any:
    import cloudpickle

    from penstock.tune.functions import call

    function, path = cloudpickle.loads(Path(job.function).read_bytes())
    sys.path[:] = path
    return call(cloudpickle.loads(function), job.number, job.values, channel)
