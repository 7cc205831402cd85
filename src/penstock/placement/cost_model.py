"""The cost model (white paper section 3.2.1): bytes of each tensor, seconds of each node on each type of device.

Estimates are computed from shapes, registered counts of operations (`@OP.flops`) and a device's speeds; if a node was
measured in earlier steps, its measured time is used instead. Measurements can be kept in a file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.cost_graph_pb2 import CostGraphDef

from penstock.analysis.sizes import UNKNOWN_DIM, Sizes
from penstock.checkpoint.replace import write_whole
from penstock.export import export
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.traits import is_free
from penstock.placement.machines import SimulatedDevice

KEPT = 16
"""How many measurements of each node are kept."""


@export("placement.CostModel")
class CostModel(Sizes):
    """Costs of nodes: bytes (see Sizes) and seconds. Measured times take precedence over estimates."""

    def __init__(self, unknown_dim: int = UNKNOWN_DIM) -> None:
        super().__init__(unknown_dim)
        self._measured: dict[str, list[float]] = {}

    # --- estimates ------------------------------------------------------------------------------------

    def seconds(self, node: Node, device: SimulatedDevice) -> float:
        """How long `node` takes on `device`, measured or estimated."""
        measured = self._measured.get(_key(node, device.type))
        return typical(measured) if measured else self.estimate(node, device)

    def estimate(self, node: Node, device: SimulatedDevice) -> float:
        """The time from shapes alone: the arithmetic or the memory traffic, whichever takes longer, and the launch."""
        if is_free(node.op):
            return 0.0
        outputs = [Edge(node, port) for port in range(len(node.dtypes))]
        traffic = 0.0 if node.op.aliases else sum(map(self.bytes, (*node.inputs, *outputs)))
        speeds = device.speeds
        return speeds.launch + max(self.flops(node) / speeds.flops, traffic / speeds.bytes_per_second)

    def flops(self, node: Node) -> float:
        """Multiplications and additions, as far as they are counted: of a node that stands for several, theirs."""
        if "body" in node.attrs:
            return sum(map(self.flops, node.attrs["body"].nodes))
        if node.op.flops_fn is None:
            return 0.0
        outputs = [Edge(node, port) for port in range(len(node.dtypes))]
        return node.op.flops_fn(node, [self.dims(e) for e in node.inputs], [self.dims(e) for e in outputs])

    # --- measurements ---------------------------------------------------------------------------------

    def record(self, node: Node, device_type: str, seconds: float) -> None:
        """Adds a measurement of `node` on a device of this type.

        What counts is the mean of the last 16 (of which the sum over nodes is that of steps; that of medians is less),
        except those that something else, such as another program, has made longest.
        """
        kept = self._measured.setdefault(_key(node, device_type), [])
        kept.append(seconds)
        del kept[:-KEPT]

    @property
    def measurements(self) -> int:
        """How many nodes have been measured."""
        return len(self._measured)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the measurements to a file, atomically."""
        write_whole(path, json.dumps({"version": 2, "measured": self._measured}, indent=0).encode())

    @staticmethod
    def load(path: str | os.PathLike[str], unknown_dim: int = UNKNOWN_DIM) -> CostModel:
        """The saved model. Raises ValueError, naming the file, if the file is not a saved model."""
        model = CostModel(unknown_dim)
        try:
            found = json.loads(Path(path).read_bytes())
            if found["version"] != 2:
                raise ValueError(f"version {found['version']}")
            model._measured = {str(key): [float(s) for s in times] for key, times in found["measured"].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{os.fspath(path)} is not a saved cost model: {error}") from error
        return model

    def cost_graph(self, graph: StepGraph, devices: dict[str, SimulatedDevice]) -> Any:
        """The costs of a placed graph, as a `RunMetadata.cost_graph` message."""
        message = CostGraphDef()
        index = {node: i for i, node in enumerate(graph.nodes)}
        final = {edge.node for edge in graph.fetches} | set(graph.targets)
        for node in graph.nodes:
            entry = message.node.add(name=node.name, device=node.device, id=index[node], is_final=node in final)
            for edge in node.inputs:
                entry.input_info.add(preceding_node=index[edge.node], preceding_port=edge.port)
            entry.control_input.extend(index[control] for control in node.controls)
            for port, dtype in enumerate(node.dtypes):
                edge = Edge(node, port)
                output = entry.output_info.add(size=int(self.bytes(edge)), dtype=dtype.base_dtype.as_datatype_enum)
                output.shape.CopyFrom(node.shapes[port].as_proto())
            if node.device in devices:
                entry.compute_cost = entry.compute_time = int(self.seconds(node, devices[node.device]) * 1e6)
        return message


def typical(times: list[float]) -> float:
    """The mean of all but the largest eighth."""
    kept = sorted(times)[: max(1, len(times) - (len(times) + 7) // 8)]
    return sum(kept) / len(kept)


def _key(node: Node, device_type: str) -> str:
    return f"{device_type} {node.op.name} {node.name}"
