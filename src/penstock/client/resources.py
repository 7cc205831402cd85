"""Resources that a graph collects, to be created before its steps run (TF: tensorflow.python.ops.resources)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from penstock.graph.convert import constant
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, add_to_collection, get_collection, name_scope
from penstock.ops.basic import group
from penstock.ops.gather import boolean_mask


class Resource(NamedTuple):
    """A handle, the operation that creates what it leads to, and whether that exists."""

    handle: Tensor
    create: Operation
    is_initialized: Tensor


def register_resource(handle: Tensor, create_op: Operation, is_initialized_op: Tensor, is_shared: bool = True) -> None:
    """Puts a resource, of all workers or of this one, into the graph's collection."""
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    add_to_collection(key, Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Any]:
    return get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    return get_collection(GraphKeys.LOCAL_RESOURCES)


def initialize_resources(resource_list: Iterable[Any], name: str = "init") -> Operation:
    """An operation that creates them all."""
    return group(*[resource.create for resource in resource_list], name=name)


def report_uninitialized_resources(
    resource_list: Iterable[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """The names, a string vector, of those (by default of all that the graph has) that do not exist when it runs."""
    watched = list(shared_resources() + local_resources() if resource_list is None else resource_list)
    with name_scope(name):
        if not watched:
            return constant(np.empty(0, object), "string")
        ready = get_op("Pack")([resource.is_initialized for resource in watched])
        names = constant([resource.handle.name for resource in watched])
        return boolean_mask(names, get_op("LogicalNot")(ready))
