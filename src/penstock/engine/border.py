"""The border of a step: conversion of inputs and outputs. A client has arrays; calls of functions have kernels'
values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from penstock.graph.step_graph import Edge
from penstock.runtime.values import array_feed_converter, array_fetch_converter, feed_converter, fetch_converter
from penstock.tensor.dtypes import resource

Converter = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Border:
    """Converters of values at the border; None: they pass unchanged.

    arrays: whether kernels that can take and return arrays are fed and fetched arrays. feed: takes an edge and a
    device. fetch: takes an edge, the device, whether it may show memory of a feed, a constant, a variable or another
    fetch, and whether that of a variable.
    """

    arrays: bool
    feed: Callable[[Edge, torch.device], Converter | None]
    fetch: Callable[[Edge, torch.device, bool, bool], Converter | None]


def _feed(edge: Edge, device: torch.device) -> Converter:
    return feed_converter(edge.node.attrs["tensor"], device)


def _fetch(edge: Edge, device: torch.device, shared: bool, of_state: bool) -> Converter:
    declared = edge.node.op.outputs
    old_handle = (
        edge.dtype._is_ref_dtype and len(declared) == 1 and declared[0].type_attr is None
    )  # that of a table or a stack
    if edge.dtype.base_dtype == resource or old_handle:
        raise TypeError(f"{edge.name} is a handle of a resource and cannot be fetched; fetch its value.")
    return fetch_converter(edge.dtype, device, shared)


CLIENT = Border(True, _feed, _fetch)
"""For steps: arrays in and out, and outputs belong to the client."""


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value.copy()


CALL = Border(False, lambda edge, device: None, lambda edge, device, shared, of_state: _copied if of_state else None)
"""For calls of functions: inputs and outputs are not written to, except variables whose memory they would show."""

TAKING = Border(False, _feed, CALL.fetch)
"""Of what takes elements for a step: fed by its client, fetched by its rest."""


TASK = Border(False, lambda edge, device: None if device.type == "cpu" else lambda value: _moved(value, device), _fetch)
"""For a task's parts of a step: the master has converted what was fed."""


def _moved(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def array_feed(edge: Edge) -> Converter:
    return array_feed_converter(edge.node.attrs["tensor"], edge.node.shapes[0])


def array_fetch(first: bool) -> Converter:
    """For a new array whose memory only other fetches of the same array show."""
    return array_fetch_converter(copy=not first)
