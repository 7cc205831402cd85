"""Compare every registered op with TensorFlow: `python -m conformance.run`, or `make conformance`.

TensorFlow runs in its own process, under the Python named by --tensorflow (or CONFORMANCE_TENSORFLOW), so it is not a
dependency of Penstock. `--record FILE` saves samples and TensorFlow's results for the tests.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from conformance.compare import difference, usable
from conformance.known import KNOWN, RANDOM

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "data" / "conformance.jsonl.gz"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tensorflow", default=os.environ.get("CONFORMANCE_TENSORFLOW"), help="a Python that has it")
    parser.add_argument("--record", type=Path, help=f"keep TensorFlow's results ({RECORD.relative_to(ROOT)})")
    parser.add_argument("--ops", nargs="+", help="only these")
    parser.add_argument("--out", type=Path, help="write the table here too")
    args = parser.parse_args()
    if args.tensorflow:
        from conformance.samples import samples
        from conformance.state import state_samples

        chosen = [s for s in (*samples(), *state_samples()) if not args.ops or s["op"] in args.ops]
        theirs = run_framework(args.tensorflow, "tensorflow", chosen)
        pairs = [(s, r) for s, r in zip(chosen, theirs, strict=True) if usable(r)]
        print(f"{len(chosen) - len(pairs)} of {len(chosen)} samples are of types for which TensorFlow has no kernel.")
    else:
        print(f"No --tensorflow given: comparing with the results recorded in {RECORD.relative_to(ROOT)}.")
        pairs = [p for p in read_record(RECORD) if not args.ops or p[0]["op"] in args.ops]
    if args.record:
        write_record(args.record, pairs)
    ours = run_framework(sys.executable, "penstock", [s for s, _ in pairs])
    text, unexplained = report(zip(pairs, ours, strict=True))
    print(text)
    if args.out:
        args.out.write_text(text + "\n")
    return 1 if unexplained else 0


def run_framework(python: str, name: str, chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All results, in order. A process that dies in a sample is restarted after it."""
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, tqdm(total=len(chosen), desc=name, unit="sample") as bar:
        source, target = Path(folder) / "samples", Path(folder) / "results"
        while len(results) < len(chosen):
            source.write_text("".join(json.dumps(s) + "\n" for s in chosen[len(results) :]))
            target.write_text("")
            with open(Path(folder) / "log", "w") as log:
                process = subprocess.Popen(
                    [python, "-m", "conformance.runner", name, str(source), str(target)],
                    cwd=ROOT, stdout=log, stderr=log,
                )  # fmt: skip
                while process.poll() is None:
                    time.sleep(0.5)
                    bar.update(len(results) + target.read_text().count("\n") - bar.n)
            done = [json.loads(line) for line in target.read_text().splitlines()]
            results += done
            if len(results) < len(chosen):
                if not done and not results:
                    raise RuntimeError(f"{name} does not start:\n{(Path(folder) / 'log').read_text()[-2000:]}")
                results.append({"op": chosen[len(results)]["op"], "error": "crash", "message": "the process died"})
            bar.update(len(results) - bar.n)
    return results


def write_record(path: Path, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        for sample, result in pairs:
            if sample["op"] in RANDOM and "values" in result:
                result = {**result, "values": [{**v, "data": ""} for v in result["values"]], "gradients": None}
            file.write(json.dumps([sample, result], separators=(",", ":")).encode() + b"\n")


def read_record(path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    with gzip.open(path, "rt") as file:
        return [(sample, result) for sample, result in map(json.loads, file)]


def reason_for(op: str, found: str) -> str | None:
    """The documented reason of a difference, or None."""
    return next((why for pattern, why in KNOWN.get(op, []) + KNOWN.get("*", []) if re.match(pattern, found)), None)


def report(results: Iterable[tuple[tuple[dict[str, Any], dict[str, Any]], dict[str, Any]]]) -> tuple[str, int]:
    """A table of the differences, and the number without a reason."""
    counts: Counter[str] = Counter()
    explained: dict[tuple[str, str], int] = defaultdict(int)
    open_: list[tuple[str, str, str]] = []
    for (sample, theirs), ours in results:
        counts[sample["op"]] += 1
        found = difference(sample, ours, theirs)
        if found is None:
            continue
        why = reason_for(sample["op"], found)
        if why:
            explained[sample["op"], why] += 1
        else:
            open_.append((sample["op"], sample["what"], found))
    differing = {op for op, _ in explained} | {op for op, _, _ in open_}
    lines = [
        f"{len(counts)} ops, {counts.total()} samples: {len(counts) - len(differing)} conform on all of them, "
        f"{len({op for op, _ in explained} - {op for op, _, _ in open_})} but for documented differences, "
        f"{len({op for op, _, _ in open_})} differ without a reason.",
        "",
        "| op | samples | why they differ |",
        "|---|---|---|",
        *(f"| {op} | {n} of {counts[op]} | {why} |" for (op, why), n in sorted(explained.items())),
        *(f"| {op} | {what} | **{found}** |" for op, what, found in open_),
    ]
    return "\n".join(lines), len(open_)


if __name__ == "__main__":
    sys.exit(main())
