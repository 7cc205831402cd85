"""What happened in a step, as a RunMetadata message (TF: tf.RunMetadata; TensorBoard and Timeline read it)."""

from __future__ import annotations

import time
from typing import Any

from penstock.graph.device_spec import DeviceSpec
from penstock.graph.step_graph import StepGraph
from penstock.graph.transfer_ops import TRANSFERS
from penstock.placement.cost_model import CostModel
from penstock.runtime.observer import Observer


def record_step(run_metadata: Any, graph: StepGraph, observer: Observer, traced: bool) -> None:
    """Fill `run_metadata`; with a trace, `step_stats` has the start and duration of every node that ran.

    If memory was measured, also what each node allocated: `total_bytes`, `peak_bytes`, and `live_bytes`, which fetched
    values and variables still hold after the step. `allocator_bytes_in_use` is the peak of the whole step's values
    while the node ran; the largest of these is the step's peak.
    """
    run_metadata.Clear()
    if not traced:
        return
    for device, part in (observer.parts or {graph.nodes[0].device if graph.nodes else "": observer}).items():
        _record_device(run_metadata.step_stats.dev_stats.add(device=device), part)


def record_costs(costs: CostModel, graph: StepGraph, observer: Observer) -> None:
    """Record how long nodes took in a traced step, without what they waited for, for later placements."""
    here = graph.nodes[0].device if graph.nodes else ""
    for device, part in (observer.parts or {here: observer}).items():
        kind = DeviceSpec.from_string(device).device_type or "CPU"
        for node, start, end in part.runs:
            if node.op.name not in TRANSFERS:
                costs.record(node, kind, (end - start) * 1e-9)


def _record_device(device: Any, observer: Observer) -> None:
    if not observer.starts:
        return  # a step that consists of constants runs no node
    nexts = [start for _, start in observer.starts[1:]] + [observer.end or time.time_ns()]
    ends = [after if node.op.traits.waits else end for (node, _, end), after in zip(observer.runs, nexts, strict=True)]
    uses = observer.allocations.uses[1:] if observer.allocations is not None else [None] * len(ends)
    for (node, start), end, use in zip(observer.starts, ends, uses, strict=True):
        stats = device.node_stats.add(
            node_name=node.name,
            all_start_micros=start // 1000,
            op_end_rel_micros=max(1, (end - start) // 1000),
            all_end_rel_micros=max(1, (end - start) // 1000),
            all_start_nanos=start,
            op_end_rel_nanos=end - start,
            all_end_rel_nanos=end - start,
            timeline_label=f"{node.name} = {node.op.name}({', '.join(e.node.name for e in node.inputs)})",
        )
        for port, (dtype, shape) in enumerate(zip(node.dtypes, node.shapes, strict=True)):
            output = stats.output.add(slot=port)
            output.tensor_description.dtype = dtype.base_dtype.as_datatype_enum
            output.tensor_description.shape.CopyFrom(shape.as_proto())
        if use is not None:
            stats.memory.add(
                allocator_name="cpu",
                total_bytes=use.total,
                peak_bytes=use.peak,
                live_bytes=use.live,
                allocator_bytes_in_use=use.in_use,
            )
