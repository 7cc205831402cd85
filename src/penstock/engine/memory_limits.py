"""The memory that devices are said to have is all that steps use on them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from penstock import errors
from penstock.analysis.peak_memory import in_units
from penstock.analysis.sizes import Sizes
from penstock.devices.device import Device
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.passes.planned_memory import PlannedMemory
from penstock.placement.hardware import Hardware

_SHOWN = 5


def limits_of(devices: Sequence[Device], hardware: Hardware | None) -> dict[str, int]:
    """The bytes of each device that has a limit, registered with it or described."""
    described = {device.name: int(device.memory) for device in hardware.devices} if hardware is not None else {}
    found = {device.name: described.get(device.name) or device.memory_limit for device in devices}
    return {name: limit for name, limit in found.items() if limit}


def check_limits(graph: StepGraph, memory: PlannedMemory, limits: Mapping[str, int]) -> None:
    """Raises ResourceExhaustedError, which names the largest nodes, if a device has too little memory for its part of a
    step. Values only count where their sizes are known before the step."""
    if not limits:
        return
    sizes = memory.sizes
    state = dict.fromkeys(limits, 0)
    for node in graph.nodes:
        if node.device in state:
            state[node.device] += int(sizes.state_bytes(node))
    found = memory.of(graph)
    for device, limit in limits.items():
        values = found.peaks.get(device, 0) if found.exact else 0
        if state[device] + values > limit:
            largest = heapq.nlargest(_SHOWN, (n for n in graph.nodes if n.device == device), lambda n: _bytes(n, sizes))
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"The step does not fit into the memory of {device}: its variables take {in_units(state[device])} and "
                f"its values {in_units(values)} at once, but there are {in_units(limit)}. The largest nodes there:"
                + "".join(f"\n  {node.name} = {node.op.name}: {_shown(node, sizes)}" for node in largest),
            )


def _bytes(node: Node, sizes: Sizes) -> float:
    held = sizes.state_bytes(node)
    return held or sum(sizes.bytes(Edge(node, port)) for port in range(len(node.dtypes)))


def _shown(node: Node, sizes: Sizes) -> str:
    line = node.source.user_line if node.source is not None else ""
    return in_units(int(_bytes(node, sizes))) + (f" (built at {line})" if line else "")
