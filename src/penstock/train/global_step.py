"""The global step: the variable that counts steps of training (TF: tf.train.get_or_create_global_step)."""

from __future__ import annotations

import logging
from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.variable import Variable, VariableAggregation
from penstock.client.variable_scope import get_variable
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_default_graph
from penstock.tensor.dtypes import int64

_LOG = logging.getLogger(__name__)


@export("train.global_step")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The value of the global step, a tensor of one element, in `sess`."""
    return int(sess.run(global_step_tensor).item())


@export("train.get_global_step", "contrib.framework.get_global_step", "contrib.slim.get_global_step")
def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of `graph` (by default the default graph): the item of its GLOBAL_STEP collection, or the tensor
    "global_step:0"; None if there is none.

    Raises TypeError if it is not a scalar integer variable.
    """
    graph = graph or get_default_graph()
    held = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(held) > 1:
        _LOG.error("Multiple tensors in global_step collection.")
        return None
    if held:
        found: Any = held[0]
    else:
        try:
            found = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(found)
    return found


@export("train.create_global_step", "contrib.framework.create_global_step", "contrib.slim.create_global_step")
def create_global_step(graph: Graph | None = None) -> Any:
    """A new global step, an int64 scalar variable that starts at 0. Raises ValueError if there is one already."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=zeros_initializer(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


@export(
    "train.get_or_create_global_step",
    "contrib.framework.get_or_create_global_step",
    "contrib.slim.get_or_create_global_step",
)
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step of `graph` (by default the default graph), created if there is none."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


@export("train.assert_global_step", "contrib.framework.assert_global_step", "contrib.slim.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """Raises TypeError unless it is a scalar integer variable, or a tensor of one."""
    if not isinstance(global_step_tensor, Variable | Tensor):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor!r}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        dtype = global_step_tensor.dtype
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype!r}')
    if global_step_tensor.get_shape().ndims != 0 and global_step_tensor.get_shape().is_fully_defined():
        shape = global_step_tensor.get_shape()
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
