"""`python -m penstock program.py [arguments]` runs an unchanged TensorFlow 1.x program on Penstock.

`python -m penstock checkpoint ...` (or `penstock checkpoint ...`) converts and inspects checkpoints,
`python -m penstock cluster ...` starts and stops clusters of several processes, `python -m penstock tune ...` searches
for the hyperparameters of a program, `python -m penstock plan ...` predicts how it would train on other machines.
"""

from __future__ import annotations

import sys


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(
            "usage: python -m penstock program.py [arguments]\n       python -m penstock checkpoint convert|inspect\n"
            "       python -m penstock cluster start|status|logs|stop|token\n"
            "       python -m penstock tune program.py --space space.yaml --trials 50 [options] [-- arguments]\n"
            "       python -m penstock plan program.py --hardware machines.yaml [options] [-- arguments]"
        )
    if sys.argv[1] == "checkpoint":
        from penstock.checkpoint.command import main as checkpoint

        sys.exit(checkpoint(sys.argv[2:]))
    if sys.argv[1] == "cluster":
        from penstock.cluster.launch.command import main as cluster

        sys.exit(cluster(sys.argv[2:]))
    if sys.argv[1] == "tune":
        from penstock.tune.command import main as tune

        sys.exit(tune(sys.argv[2:]))
    if sys.argv[1] == "plan":
        from penstock.capacity.command import main as plan

        sys.exit(plan(sys.argv[2:]))
    from penstock.as_tensorflow import run_program

    run_program(sys.argv[1:])


if __name__ == "__main__":
    main()
