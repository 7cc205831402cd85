"""The global step, as hooks read it."""

from __future__ import annotations

from penstock.client.ref_variable import RefVariable
from penstock.client.variable import Variable
from penstock.graph.operation import Tensor
from penstock.train.global_step import get_global_step


def needed_global_step(who: object) -> Tensor:
    """The global step of the default graph as a tensor that a training step gives the value from before it.

    That holds for variables, which are read by a node built with them. A step that does not train, or trains several
    times, shows only afterwards what it did. Raises RuntimeError if there is no global step.
    """
    found = get_global_step()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {type(who).__name__}.")
    if isinstance(found, RefVariable):
        return found.value()
    return found._as_graph_element() if isinstance(found, Variable) else found
