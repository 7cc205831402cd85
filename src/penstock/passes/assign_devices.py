"""PLACE, while there is one device: every node goes there, and asking for another is an error."""

from __future__ import annotations

from penstock import errors
from penstock.graph.device_spec import DeviceSpec
from penstock.graph.step_graph import StepGraph
from penstock.runtime.devices import CPU_NAME

_CPU = DeviceSpec.from_string(CPU_NAME)


def assign_devices(graph: StepGraph, soft_placement: bool) -> StepGraph:
    """Set each node's device. InvalidArgumentError, naming node and line, for a device that is not there.

    With `soft_placement` (ConfigProto.allow_soft_placement) such a node runs on the CPU instead.
    """
    feasible = {
        asked: DeviceSpec.from_string(asked).is_compatible_with(_CPU) for asked in {n.device for n in graph.nodes}
    }
    for node in graph.nodes:
        if not feasible[node.device] and not soft_placement:
            source = node.source
            line = f" (built at {source.user_line})" if source is not None and source.user_line else ""
            raise errors.InvalidArgumentError(
                source.node_def if source is not None else None,
                source,
                f"Cannot assign a device for operation {node.name}: it was explicitly assigned to {node.device}, but "
                f"available devices are [ {CPU_NAME} ]{line}. Make sure the device specification refers to a valid "
                "device, or set allow_soft_placement in the session's ConfigProto.",
            )
        node.device = CPU_NAME
    return graph
