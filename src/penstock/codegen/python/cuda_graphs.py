"""CUDA graphs: a segment's launches on a GPU, captured once and then replayed by one call.

A GPU computes small kernels faster than Python launches them. So a segment whose nodes only launch is run normally a
few times, then captured, and replayed in later steps: values are copied into the tensors that it was captured with, and
out of those that it fills. All graphs of a device share one memory pool, in which one graph's results may overlap
another's intermediate values, so a replay holds the device's lock from copying in to copying out. Kernels of different
threads share one stream anyway.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
from torch.overrides import TorchFunctionMode

from penstock.devices.device import Device
from penstock.graph.node_kernel import abilities
from penstock.graph.opdef import Bound, PassThrough
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.traits import only_launches
from penstock.runtime.resources import VariableState
from penstock.runtime.stand_ins import StandInCall
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

_LOG = logging.getLogger("penstock")
MODES = ("auto", "off")
LEAST = 2
"""The number of kernels from which a segment is worth capturing."""
RUNS_BEFORE = 3
"""Runs before capture, in which libraries choose algorithms and allocate persistent memory."""
MOST_RECORDINGS = 4
"""The most captures of one segment: one whose variables constantly get new buffers runs normally."""

R = TypeVar("R")
Run = Callable[..., tuple[Any, ...]]


class Recorder(Protocol):
    """The `recorder` of a device that supports capture."""

    lock: threading.Lock
    """Held while one of its graphs is captured or replayed."""

    def record(self, launch: Callable[[], R]) -> tuple[Callable[[], None], R]:
        """Call `launch` and capture its launches without running them; returns a function that replays them, and the
        result of `launch`."""


def capturing_on(device: Device) -> Capturing | None:
    """How segments are captured on `device`; None if they are not: no GPU, or PENSTOCK_CUDA_GRAPHS is "off".

    Raises ValueError if its value is not in MODES.
    """
    mode = os.environ.get("PENSTOCK_CUDA_GRAPHS") or "auto"
    if mode not in MODES:
        raise ValueError(f"PENSTOCK_CUDA_GRAPHS must be one of {', '.join(MODES)}, got {mode!r}")
    recorder: Recorder | None = getattr(device, "recorder", None)
    return Capturing(device, recorder) if recorder is not None and mode != "off" else None


class Capturing:
    """Which nodes of a plan can be in a captured segment, and how to capture one."""

    def __init__(self, device: Device, recorder: Recorder) -> None:
        self._device, self._recorder = device, recorder
        self._known: dict[Node, bool] = {}

    def takes(self, node: Node, kernels: Mapping[Node, Any]) -> bool:
        """Whether `node` only launches kernels: its op is declared so, and its kernel runs on tensors without
        contents."""
        if node not in self._known:
            self._known[node] = only_launches(node.op) and (
                isinstance(kernels[node], Bound) or _runs_without_contents(node, kernels, self._device.kernel_type)
            )
        return self._known[node]

    def order(self, graph: StepGraph, kernels: Mapping[Node, Any]) -> list[tuple[Node, bool]] | None:
        """The order in which the nodes of a graph run, if they are all in one captured segment, as `find_hazards`
        expects it; otherwise None. No reads of variables then need to be copied because of other segments.
        """
        whole = all(node.op is FEED or self.takes(node, kernels) for node in graph.nodes)
        return [(node, False) for node in graph.nodes] if whole else None

    def captured(self, run: Run, nodes: Sequence[Node], kernels: Mapping[Node, Any]) -> Run:
        """`run`, the function of a segment of `nodes`, captured; or `run` itself if that is not worthwhile."""
        own = [kernels[n] for n in nodes if not isinstance(kernels[n], Bound | PassThrough | None)]
        if len(own) < LEAST:
            return run
        bound = (kernels.get(e.node) for n in nodes for e in n.inputs)
        states = [k.value for k in bound if isinstance(k, Bound) and isinstance(k.value, VariableState)]
        waiting = [settled for kernel in own if (settled := abilities(kernel).settled) is not None]
        return CapturedSegment(run, self._recorder, self._device.torch, states, waiting, nodes[0].name)


# --- which nodes ----------------------------------------------------------------------------------------


class _NothingFromTheHost(TorchFunctionMode):
    """Inside, making a tensor from host data fails: on a GPU that is a synchronous copy."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.tensor, torch.as_tensor, torch.from_numpy):
            raise TypeError(f"{func.__name__} copies from the host")
        return func(*args, **(kwargs or {}))


def _runs_without_contents(node: Node, kernels: Mapping[Node, Any], kernel_type: str) -> bool:
    """Whether the kernel of `node` runs on shapes alone, so that it does not wait for the GPU.

    It is run on torch's "meta" device, whose tensors have no contents, so that looking at contents fails. Its results
    must also be such tensors, and variables must keep their buffers.
    """

    def declared(edge: Edge) -> tuple[DType, TensorShape]:
        kernel = kernels.get(edge.node)
        held = kernel.value if isinstance(kernel, Bound) else None
        if isinstance(held, VariableState):
            return held.dtype, held.shape
        return edge.dtype.base_dtype, edge.node.shapes[edge.port]

    try:
        call = StandInCall(node, kernel_type, torch.device("meta"), declared)
        with _NothingFromTheHost():
            results = call.run()
    except Exception:  # any error: it does more than launch, or its shapes are unknown
        return False
    launched = all(isinstance(r, VariableState) or (isinstance(r, torch.Tensor) and r.is_meta) for r in results)
    return launched and all(state.value is value for state, value in call.states.items())


# --- running --------------------------------------------------------------------------------------------


class CapturedSegment:
    """A segment's function: `run` itself at first, and whenever the capture does not fit.

    Any number of threads may call it. `states`: the variables that `run` is bound to. `waiting`: functions that say
    whether kernels are final.
    """

    def __init__(
        self,
        run: Run,
        recorder: Recorder,
        device: torch.device,
        states: Sequence[VariableState],
        waiting: Sequence[Callable[[], bool]],
        name: str,
    ) -> None:
        self._run, self._recorder, self._device = run, recorder, device
        self._states, self._waiting, self._name = states, waiting, name
        self._runs = itertools.count(1)
        self._left = MOST_RECORDINGS
        self._recording: _Recording | None = None

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        if self._recording is None and not self._is_ready():
            return self._run(*values)
        states = sorted({*self._states, *(v for v in values if isinstance(v, VariableState))}, key=id)
        with contextlib.ExitStack() as held:
            held.enter_context(self._recorder.lock)
            for state in states:  # other threads that change them wait, or their changes come first
                held.enter_context(state.lock)
            recording = self._recording
            if recording is None or not recording.is_of(states):
                recording = self._recording = self._recorded(states, values)
            if recording is not None and recording.fits(values):
                return recording.run(values)
        return self._run(*values)

    def _is_ready(self) -> bool:
        return self._left > 0 and next(self._runs) > RUNS_BEFORE and all(settled() for settled in self._waiting)

    def _recorded(self, states: list[VariableState], values: tuple[Any, ...]) -> _Recording | None:
        """A capture for the variables' current buffers and values like these; None if there is none."""
        self._left -= 1
        buffers = {state: state.value for state in states}
        if self._left < 0 or not all(_is_on(v, self._device) for v in (*buffers.values(), *values)):
            return None
        inputs = tuple(torch.empty_like(v).copy_(v) if isinstance(v, torch.Tensor) else v for v in values)
        try:
            replay, outputs = self._recorder.record(lambda: self._run(*inputs))
            if any(state.value is not buffer for state, buffer in buffers.items()):
                raise RuntimeError("a variable got another buffer")
            if not all(_is_on(output, self._device) for output in outputs):
                raise RuntimeError("it gives what is not on the device")
        except Exception as error:
            for state, buffer in buffers.items():
                state.value = buffer
            self._left = 0
            _LOG.warning("The segment of %s runs without a CUDA graph: %s", self._name, error)
            return None
        return _Recording(buffers, inputs, outputs, replay)


def _is_on(value: Any, device: torch.device) -> bool:
    return isinstance(value, VariableState) or (isinstance(value, torch.Tensor) and value.device == device)


@dataclass(slots=True)
class _Recording:
    """A graph, with the tensors that it reads and writes, which stay in place while it is used."""

    buffers: dict[VariableState, Any]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    replay: Callable[[], None]

    def is_of(self, states: list[VariableState]) -> bool:
        """Whether the variables are the same and have the same buffers."""
        return len(states) == len(self.buffers) and all(self.buffers.get(s) is s.value is not None for s in states)

    def fits(self, values: tuple[Any, ...]) -> bool:
        return all(
            held.shape == v.shape and held.dtype == v.dtype and held.device == v.device
            if isinstance(held, torch.Tensor) and isinstance(v, torch.Tensor)
            else held is v
            for held, v in zip(self.inputs, values, strict=True)
        )

    def run(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        for held, value in zip(self.inputs, values, strict=True):
            if isinstance(held, torch.Tensor):
                held.copy_(value)
        self.replay()
        return tuple(o.clone() if isinstance(o, torch.Tensor) else o for o in self.outputs)
