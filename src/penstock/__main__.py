"""`python -m penstock program.py [arguments]` runs an unchanged TensorFlow 1.x program on Penstock.

`python -m penstock checkpoint ...` (or `penstock checkpoint ...`) converts and inspects checkpoints,
`python -m penstock cluster ...` starts and stops clusters of several processes.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(
            "usage: python -m penstock program.py [arguments]\n       python -m penstock checkpoint convert|inspect\n"
            "       python -m penstock cluster start|status|logs|stop|token"
        )
    if sys.argv[1] == "checkpoint":
        from penstock.checkpoint.command import main as checkpoint

        sys.exit(checkpoint(sys.argv[2:]))
    if sys.argv[1] == "cluster":
        from penstock.cluster.launch.command import main as cluster

        sys.exit(cluster(sys.argv[2:]))
    import penstock.as_tensorflow  # noqa: F401

    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)  # as in `python program.py`
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
