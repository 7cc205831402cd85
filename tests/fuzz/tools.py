"""What the tools read: traces for their viewer, descriptions of hardware, and programs and notebooks."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

import penstock as tf
from penstock.placement import Hardware, plan_training, training_step
from penstock.programs import notebook, source
from penstock.programs.check import check
from penstock.programs.port_files import port_file
from penstock.trace import record
from penstock.trace.viewer.page import write_page
from tests.fuzz.kind import RECORDED, Kind, made
from tests.fuzz.mutate import change_bytes, change_file, change_json

# --- traces ---------------------------------------------------------------------------------------------


def _traces(folder: Path) -> None:
    path = made(folder / "penstock") / "trace.json.gz"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ones([4, 4])
        _, y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.matmul(v, x)), [0, x])
        with record(path, memory=True):
            session.run(y)
    recorded = json.loads(gzip.decompress((RECORDED / "traces.json.gz").read_bytes()))
    trace = recorded["network"]["timelines"][0]["trace"]
    (made(folder / "tensorflow") / "trace.json").write_text(json.dumps(trace))
    pairs = [{"ph": phase, "name": "a", "ts": t, "pid": 1, "tid": 2} for t, phase in enumerate("BBEBEE")]
    (made(folder / "pairs") / "trace.json").write_text(json.dumps(pairs))


def _change_trace(rng: random.Random, folder: Path) -> None:
    path = next(folder.glob("trace.json*"), None)
    if path is None or not path.is_file() or rng.random() < 0.2:
        change_file(rng, folder)
        return
    zipped = path.suffix == ".gz"
    data = gzip.decompress(path.read_bytes()) if zipped else path.read_bytes()
    match rng.randrange(10):
        case 0:
            data += rng.choice([b" ", b"[", b"{"]) * rng.choice([1000, 2_000_000, 200_000_000 if zipped else 1])
        case 1 | 2 | 3:
            data = change_bytes(rng, data)
        case _:
            data = json.dumps(change_json(rng, json.loads(data))).encode()
    path.write_bytes(gzip.compress(data, 1) if zipped else data)


def _use_trace(folder: Path, loaded: Callable[[], None]) -> Any:
    path = next(folder.glob("trace.json*"), folder / "trace.json")
    write_page(path, folder / "page.html")
    return "right"


TRACE = Kind(_traces, _change_trace, _use_trace, 4, times=130)  # of a zipped one: its text is much longer

# --- hardware -------------------------------------------------------------------------------------------

_FLAT = """
devices:
  - {name: "/device:CPU:0", flops: 5.0e+10, bytes_per_second: 1.0e+10, launch: 3.0e-6}
  - {name: "/device:GPU:0", like: p100, memory: 8.0e+9}
links:
  default: {latency: 1.0e-5, bytes_per_second: 1.2e+10}
  pairs:
    - {from: "/device:CPU:0", to: "/device:GPU:0", like: pcie3, through: [riser]}
wires: {riser: 1.2e+10}
"""
_MACHINES = """
machines:
  small: {cores: 8, devices: [{type: CPU, like: xeon_2013}, {type: GPU, count: 2, like: k40}],
          inside: {like: pcie3}, card: {like: 10gbe}}
tasks:
  - {job: ps, count: 2, machine: small}
  - {job: worker, count: 4, machine: p100x4}
switch: 1.0e+12
"""
_ALIASES = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'x'}]" for i in range(9))


def _hardware(folder: Path) -> None:
    (made(folder / "flat") / "machine.yaml").write_text(_FLAT)
    (made(folder / "machines") / "machine.yaml").write_text(_MACHINES)


def _change_hardware(rng: random.Random, folder: Path) -> None:
    path = folder / "machine.yaml"
    if not path.is_file() or rng.random() < 0.1:
        change_file(rng, folder)
        return
    match rng.randrange(8):
        case 0:
            path.write_text(
                path.read_text()
                + rng.choice([_ALIASES, "a: &a [*a]", "? [1]\n: 2", "a: !!python/name:os.system", "\t"])
            )
        case 1 | 2:
            path.write_bytes(change_bytes(rng, path.read_bytes()))
        case _:
            path.write_text(yaml.safe_dump(change_json(rng, yaml.safe_load(path.read_text()))))


def _use_hardware(folder: Path, loaded: Callable[[], None]) -> Any:
    hardware = Hardware.load(folder / "machine.yaml")
    loaded()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [8, 4])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, tf.get_variable("w", [4, 2]))))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        step = training_step(train, [x], hardware, graph=graph)
    plan_training(step, hardware, [1, 2], steps=2)
    return "right"


HARDWARE = Kind(_hardware, _change_hardware, _use_hardware, 4)

# --- programs -------------------------------------------------------------------------------------------

_PROGRAM = """import os, sys
import numpy as np
import tensorflow as tf
from tensorflow.contrib import layers

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_integer("steps", 10, "how many")


def network(x, width=4):
    h = tf.nn.relu(tf.matmul(x, tf.Variable(tf.zeros([4, width]))))
    return layers.fully_connected(h, 2)


def main(_):
    data = np.load("data.npy") if os.path.exists("data.npy") else np.ones([3, 4], np.float)
    with tf.Session() as session:
        session.run(tf.initialize_all_variables())
        for step in xrange(FLAGS.steps):
            print "step %d" % step, 7 / 2


if __name__ == "__main__":
    tf.app.run()
"""


def _programs(folder: Path) -> None:
    (made(folder / "text") / "program.py").write_text(_PROGRAM)
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": part.splitlines(True)}
        for part in (_PROGRAM.partition("def main")[0], "%matplotlib inline\n!ls\nprint 'done'")
    ]
    book = {"cells": cells, "metadata": {"kernelspec": {"language": "python", "name": "python2", "display_name": "2"}}}
    text = json.dumps({**book, "nbformat": 4, "nbformat_minor": 2})
    (made(folder / "notebook") / "program.ipynb").write_text(text)


def _change_program(rng: random.Random, folder: Path) -> None:
    path = next(folder.glob("program.*"), None)
    if path is None or not path.is_file() or rng.random() < 0.1:
        change_file(rng, folder)
    elif path.suffix == ".ipynb" and rng.random() < 0.6:
        path.write_text(json.dumps(change_json(rng, json.loads(path.read_text()))))
    else:
        lines = change_bytes(rng, path.read_bytes()).splitlines(True)
        path.write_bytes(b"".join(lines[:3000]))  # each takes the converter 0.2 ms and 7 KB


def _use_program(folder: Path, loaded: Callable[[], None]) -> Any:
    """It is read, looked into and written anew, but never run."""
    path = next(folder.glob("program.*"), folder / "program.py")
    check([path])
    try:
        if path.suffix == ".ipynb":
            notebook.translate(notebook.read(str(path)))
        else:
            source.translate(source.read(path), str(path))
        port_file(path)
    except SyntaxError as error:
        if error.filename is None or error.lineno is None:
            raise
        return "SyntaxError"
    return "right"


PROGRAM = Kind(_programs, _change_program, _use_program, 4)
