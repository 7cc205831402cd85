"""The simulator as a tool: how a step would run on real or hypothetical hardware, and how placements compare."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from penstock.devices.device import Device
from penstock.export import export
from penstock.graph.scopes import get_default_graph
from penstock.passes.prune import prune
from penstock.placement.choice import Choice, Strategy
from penstock.placement.constraints import find_groups
from penstock.placement.cost_model import CostModel
from penstock.placement.hardware import Hardware
from penstock.placement.place import make_choice
from penstock.placement.simulator import simulate
from penstock.placement.strategies import strategy_named
from penstock.placement.timeline import Timeline
from penstock.session.collection import no_collection
from penstock.session.fetches import FetchPlan


@export("placement.step_choice")
@no_collection()
def step_choice(
    fetches: Any, feeds: Iterable[Any], hardware: Hardware, costs: CostModel | None = None, graph: Any = None
) -> Choice:
    """The step for `fetches` and fed tensors `feeds` as strategies see it, on `hardware`."""
    graph = graph or get_default_graph()
    wanted = FetchPlan(graph, fetches)
    step = prune([graph.as_graph_element(feed) for feed in feeds], wanted.tensors, wanted.targets)
    groups = find_groups(step, [_device(d) for d in hardware.devices], soft=False)
    return make_choice(step, groups, costs or CostModel(), hardware)


@export("placement.simulate_step")
@no_collection()
def simulate_step(
    fetches: Any,
    feeds: Iterable[Any] = (),
    hardware: Hardware | None = None,
    strategy: str | Strategy = "greedy",
    costs: CostModel | None = None,
    graph: Any = None,
) -> Timeline:
    """How one step would run on `hardware` when placed by `strategy`: `print(timeline.text())` shows it.

    fetches, feeds: as for Session.run, feeds without values. hardware: by default this machine's devices; see
    placement/hardware.py for hypothetical ones. Paper 3.2.1.
    """
    choice = step_choice(fetches, feeds, hardware or _this_machine(), costs, graph)
    decide = strategy_named(strategy) if isinstance(strategy, str) else strategy
    return simulate(choice.problem, decide(choice))


@export("placement.compare_strategies")
@no_collection()
def compare_strategies(
    fetches: Any,
    feeds: Iterable[Any] = (),
    hardware: Hardware | None = None,
    strategies: Iterable[str] = ("single", "round_robin", "greedy"),
    costs: CostModel | None = None,
    graph: Any = None,
) -> str:
    """A table of the simulator's predictions for each strategy."""
    choice = step_choice(fetches, feeds, hardware or _this_machine(), costs, graph)
    lines = [f"{'strategy':<14}{'ms':>10}{'transfers':>11}{'MB sent':>9}  peak MB of each device"]
    for name in strategies:
        t = simulate(choice.problem, strategy_named(name)(choice))
        sent = sum(choice.problem.value_bytes[x.value] for x in t.transfers if x.value >= 0) / 1e6
        peaks = " ".join(f"{peak / 1e6:.2f}" for peak in t.peak)
        lines.append(f"{name:<14}{t.seconds * 1e3:>10.3f}{len(t.transfers):>11}{sent:>9.2f}  {peaks}")
    return "\n".join(lines)


def _this_machine() -> Hardware:
    from penstock.devices.registry import devices_for

    return Hardware.of(devices_for())


def _device(simulated: Any) -> Device:
    """A device used only to ask what it could run."""
    kernel_type = "GPU" if simulated.type == "GPU" else "CPU"
    return Device(simulated.name, simulated.type, torch.device("cpu"), int(simulated.memory), 0, kernel_type)
