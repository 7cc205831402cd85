"""A plan as text."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.placement.training.replica import ReplicaStep
from penstock.placement.training.result import Training
from penstock.placement.training.surroundings import Cluster


def table(step: ReplicaStep, cluster: Cluster, trainings: Sequence[Training]) -> str:
    """What a replica does, a line for each number of replicas, and what does not fit."""
    of = f"{step.devices} devices" if step.devices > 1 else cluster.device.name.rsplit("/device:", 1)[-1]
    lines = [
        f"One replica ({of}): {step.examples:g} examples in {step.seconds + step.update:.4g} s, {step.alone:.4g} "
        f"examples/s alone; gets {step.pull / 1e6:.4g} MB of parameters, gives {step.push / 1e6:.4g} MB of gradients.",
    ]
    kinds = list(dict.fromkeys(kind for training in trainings for kind in training.spent))
    kinds = [kind for kind in kinds if any(training.shares[kind] >= 5e-4 for training in trainings)]
    lines += ["", f"{'replicas':>8} {'examples/s':>11} {'step s':>8} {'speedup':>8} {'efficiency':>10}  "
              + " ".join(f"{kind:>10}" for kind in kinds) + f" {'GB/device':>10}  limited by"]  # fmt: skip
    for training in trainings:
        count = f"{training.replicas}+{training.backup}" if training.backup else f"{training.replicas}"
        shares = " ".join(f"{100 * training.shares.get(kind, 0.0):>9.1f}%" for kind in kinds)
        mark = "!" if _too_much(cluster, training) else " "
        lines.append(
            f"{count:>8} {training.examples_per_second:>11.5g} {training.step_seconds:>8.4g} {training.speedup:>8.4g} "
            f"{100 * training.efficiency:>9.1f}%  {shares} {training.memory['worker'] / 1e9:>10.3g}{mark} "
            f"{training.bottleneck}"
        )
    last = trainings[-1]
    if "server" in last.memory:
        lines.append(
            f"{cluster.servers} parameter servers have {last.memory['server'] / 1e9:.3g} GB of variables each."
        )
    if last.mode == "async":
        behind = ", ".join(f"{training.staleness:.3g} of {training.replicas}" for training in trainings)
        lines.append(f"Updates by others between reading and updating: {behind}.")
    excesses = dict.fromkeys(_excess(cluster, training) for training in trainings)
    lines += [f"Exceeds memory: {text}." for text in excesses if text]
    return "\n".join(lines)


def _too_much(cluster: Cluster, training: Training) -> bool:
    return bool(cluster.device.memory) and training.memory["worker"] > cluster.device.memory


def _excess(cluster: Cluster, training: Training) -> str:
    if _too_much(cluster, training):
        needed, has, where = training.memory["worker"], cluster.device.memory, "on a device"
    elif cluster.server_memory and training.memory.get("server", 0.0) > cluster.server_memory:
        needed, has, where = training.memory["server"], cluster.server_memory, "of variables on a parameter server"
    else:
        return ""
    return f"{needed / 1e9:.3g} GB {where} that has {has / 1e9:.3g}"
