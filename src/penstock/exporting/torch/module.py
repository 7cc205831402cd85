"""`tf.to_torch`: what a session computes, as a module of torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from penstock.export import export
from penstock.exporting.inference_graph import pruned_graph, simplified
from penstock.exporting.names import named
from penstock.exporting.program import Program
from penstock.exporting.torch.interpreter import Interpreter
from penstock.exporting.weights import read_variables, use_values, variable_name, variables_of
from penstock.graph.default_session import get_default_session
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys
from penstock.graph.step_graph import StepGraph
from penstock.runtime.values import to_runtime
from penstock.tensor.dtypes import as_dtype


@export("to_torch")
def to_torch(fetches: Any, feeds: Any, session: Any = None) -> torch.nn.Module:
    """What `session.run(fetches, {feed: ...})` computes, as a `torch.nn.Module` that takes the feeds in order.

    fetches: a tensor, a list, or a dict of tensors; the module returns a tensor, a tuple, or a dict. feeds: a tensor or
    a list. Tensors may be given by name, as to `session.run`. Variables have their values in `session` (the default
    one), and their names in `state_dict`: trainable ones are parameters, so that the module can be trained on, others
    are buffers. `torch.export.export(module, inputs)` makes a program for inputs of these shapes, or with its
    `dynamic_shapes` for any sizes of some dimensions, with torch's `while_loop` and `cond` where the graph has them.

    Raises UnimplementedError, naming all nodes that torch cannot run by itself, with the lines that built them.
    """
    session = session or get_default_session()
    given, wanted = (named(tensors, getattr(session, "graph", None)) for tensors in (feeds, fetches))
    tensors = list(wanted.values())
    fetches = wanted if isinstance(fetches, Mapping) else tensors if isinstance(fetches, list | tuple) else tensors[0]
    graph = pruned_graph(list(given.values()), tensors, tells=True)
    values = {variable_name(node): value for node, value in read_variables(session, variables_of(graph)).items()}
    return GraphModule(list(given.values()), fetches, values, _trainable(graph))


def _trainable(graph: StepGraph) -> set[str]:
    """The names of variables that optimizers would train."""
    sources = {node.source.graph: None for node in graph.nodes if node.source is not None}
    kept = [v for found in sources for v in found.get_collection(GraphKeys.TRAINABLE_VARIABLES)]
    return {variable.op.name for variable in kept}


class GraphModule(torch.nn.Module):
    """A graph whose variables are parameters and buffers. For each shapes of its inputs, what depends on them only is
    computed once."""

    def __init__(
        self, feeds: list[Tensor], fetches: Any, values: Mapping[str, np.ndarray], trainable: set[str]
    ) -> None:
        super().__init__()
        self._feeds, self._fetches = feeds, fetches
        self._interpreters: dict[Any, Interpreter] = {}
        for name, value in values.items():
            if "." in name:
                raise ValueError(f"torch allows no dots in names of parameters: rename the variable {name!r}")
            tensor = to_runtime(np.asarray(value), as_dtype(value.dtype), torch.device("cpu")).clone()
            if name in trainable and tensor.is_floating_point():
                self.register_parameter(name, torch.nn.Parameter(tensor))
            else:
                self.register_buffer(name, tensor)
        self._weights = list(values)
        self._interpreter((), torch.device("cpu"))  # what cannot be run is said now

    def forward(self, *inputs: torch.Tensor) -> Any:
        if len(inputs) != len(self._feeds):
            names = ", ".join(feed.name for feed in self._feeds)
            raise TypeError(f"it takes {len(self._feeds)} inputs ({names}), not {len(inputs)}")
        taken = [self._taken(feed, value) for feed, value in zip(self._feeds, inputs, strict=True)]
        weights = {name: getattr(self, name) for name in self._weights}
        tensors = [*taken, *weights.values()]
        device = tensors[0].device if tensors else torch.device("cpu")
        shapes = tuple(tuple(map(_known, value.shape)) for value in taken)
        found = self._interpreter(shapes, device).run(taken, weights)
        if isinstance(self._fetches, Mapping):
            return dict(zip(self._fetches, found, strict=True))
        return tuple(found) if isinstance(self._fetches, list | tuple) else found[0]

    def _taken(self, feed: Tensor, value: Any) -> torch.Tensor:
        tensor = torch.as_tensor(value)
        wanted = feed.dtype.base_dtype.torch
        if tensor.dtype != wanted:
            raise TypeError(f"{feed.name} is of {wanted}, not {tensor.dtype}")
        return tensor

    def _interpreter(self, shapes: tuple[tuple[int | None, ...], ...], device: torch.device) -> Interpreter:
        """`shapes` may be empty: they are any then."""
        key = shapes, device
        if key in self._interpreters:
            return self._interpreters[key]
        with _disable_current_modes():  # torch.export's, to which constants would have no values
            graph = pruned_graph(self._feeds, list(named(self._fetches).values()), shapes)
            values = {node: getattr(self, variable_name(node)) for node in variables_of(graph)}
            known = use_values(graph, values, constants=False)
            made = self._interpreters[key] = Interpreter(Program(simplified(known)), device)
        return made


def _known(size: Any) -> int | None:
    """A size, unless `torch.export` is asked to leave it open: torch stands something else for that."""
    return size if isinstance(size, int) else None
