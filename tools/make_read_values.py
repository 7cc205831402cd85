"""Make tests/data/read_values.npz: TensorFlow's results for the programs of tests/engine/random_reads.py.

Run it where TensorFlow is installed: `python tools/make_read_values.py tests/data [first [end]]`; the file's results of
other programs are kept. Each program runs with one thread and with several; those with varying results are omitted, and
counted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.engine.random_reads import STEPS, build, read_values

PROGRAMS = 20_000


def _configs(tf: Any) -> list[Any]:
    """Without optimisation, which takes longer than everything else, fails for program 3290 and hangs for 5110."""
    one, several = tf.ConfigProto(inter_op_parallelism_threads=1), tf.ConfigProto(inter_op_parallelism_threads=4)
    for config in (one, several):
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
    return [one, several]


def _values(tf: Any, seed: int) -> np.ndarray | None:
    """The fetches of all steps, in a row; None where they differ."""
    with tf.Graph().as_default():
        fetches, start = build(tf, seed)
        runs = []
        for config in _configs(tf):
            with tf.Session(config=config) as session:
                session.run(start)
                runs.append(np.concatenate([np.ravel(session.run(fetches)) for _ in range(STEPS)]))
    return runs[0] if all(np.array_equal(runs[0], other) for other in runs) else None


def main(folder: Path, first: int = 0, end: int = PROGRAMS) -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    path = folder / "read_values.npz"
    values = read_values(path) if path.exists() else {}
    left_out = 0
    for seed in range(first, end):
        values.pop(seed, None)
        found = _values(tf, seed)
        if found is None:
            left_out += 1
            continue
        assert (found == found.astype(np.uint8)).all(), f"program {seed} gives what no byte holds"
        values[seed] = found.astype(np.uint8)
    print(f"{end - first} programs, {left_out} left out; {len(values)} in all")
    seeds = sorted(values)
    np.savez_compressed(
        path,
        seeds=np.array(seeds, np.uint32),
        sizes=np.array([len(values[seed]) for seed in seeds], np.uint16),
        values=np.concatenate([values[seed] for seed in seeds]),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
