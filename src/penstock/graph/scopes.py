"""The default graph, and the functions that act on it (TF: tf.name_scope, tf.device, …)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from penstock.export import export
from penstock.graph.default_stacks import default_graphs
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor

_shared = Graph()
"""The graph that all threads share: the default where none is made one."""


@export("get_default_graph")
def get_default_graph() -> Graph:
    """The graph that new nodes of this thread go to."""
    found: Graph | None = default_graphs.innermost()
    return _shared if found is None else found


@export("reset_default_graph")
def reset_default_graph() -> None:
    """Start over with an empty default graph; raises AssertionError inside a `graph.as_default()` block."""
    global _shared
    if default_graphs.stack:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs; build a new tf.Graph().")
    _shared = Graph()


def graph_of(inputs: Iterable[Any]) -> Graph:
    """The graph of the first graph element among `inputs`, or the default graph.

    A default graph inside a function takes tensors from the graph around it, so it comes first.
    """
    for item in inputs:
        graph = item.graph if isinstance(item, Tensor | Operation) else getattr(item, "graph", None)
        if isinstance(graph, Graph):
            default = get_default_graph()
            return default if default.takes_from(graph) else graph
    return get_default_graph()


@export("name_scope", "keras.backend.name_scope")
class name_scope(contextlib.ContextDecorator):
    """Prefix the names built inside (TF: tf.name_scope). `values` only determine the graph.

    Entering gives the scope with its final "/", for use as a node's name. `name`: the name that was chosen.
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None) -> None:
        self.name = default_name if name is None else name
        self._given, self._values = (name, default_name, values), values
        self._stack: contextlib.ExitStack | None = None

    def _recreate_cm(self) -> name_scope:
        return name_scope(*self._given)  # a decorated function may call itself

    def __enter__(self) -> str:
        if self.name is None and self._values is not None:
            raise ValueError("At least one of name and default_name must be provided.")
        graph = graph_of(list(self._values or ()))
        with contextlib.ExitStack() as stack:
            if graph is not get_default_graph():
                stack.enter_context(graph.as_default())
            scope = stack.enter_context(graph.name_scope(self.name))
            self._stack = stack.pop_all()
        return scope

    def __exit__(self, *error: Any) -> bool | None:
        assert self._stack is not None
        return self._stack.__exit__(*error)


@export("control_dependencies")
def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Nodes built inside run after `control_inputs` (TF: tf.control_dependencies)."""
    return get_default_graph().control_dependencies(control_inputs)


@export("device")
def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Ask for a device for the nodes built inside (TF: tf.device; white paper section 4.3)."""
    return get_default_graph().device(device_name_or_function)


@export("colocate_with")
def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Nodes built inside share the device of `op` (TF: tf.colocate_with)."""
    return graph_of([op]).colocate_with(op, ignore_existing)


@export("container")
def container(container_name: str) -> AbstractContextManager[str]:
    """State built inside lives in the named container (TF: tf.container; white paper section 4.7)."""
    return get_default_graph().container(container_name)


@export("add_to_collection")
def add_to_collection(name: Any, value: Any) -> None:
    get_default_graph().add_to_collection(name, value)


@export("add_to_collections")
def add_to_collections(names: Any, value: Any) -> None:
    get_default_graph().add_to_collections(names, value)


@export("get_collection")
def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    return get_default_graph().get_collection(key, scope)


@export("get_collection_ref")
def get_collection_ref(key: Any) -> list[Any]:
    return get_default_graph().get_collection_ref(key)


@export("get_all_collection_keys")
def get_all_collection_keys() -> list[Any]:
    return get_default_graph().get_all_collection_keys()


@export("GraphKeys")
class GraphKeys:
    """Names of the collections that the library itself uses (TF: tf.GraphKeys)."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    VARIABLES = "variables"  # TF 0.x's name for GLOBAL_VARIABLES


# --- seeds ----------------------------------------------------------------------------------------------

DEFAULT_GRAPH_SEED = 87654321


@export("set_random_seed", "random.set_random_seed")
def set_random_seed(seed: int | None) -> None:
    """Seed the random ops of the default graph (TF: tf.set_random_seed): the same program draws the same."""
    get_default_graph().seed = seed


@export("get_seed", "random.get_seed")
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """`(graph seed, op seed)` for a new random op: (None, None) if neither is set.

    Without an op seed, the number of nodes so far is used, so that each op of a seeded graph draws differently: as many
    as TensorFlow 1.x would have.
    """
    graph = get_default_graph()
    if graph.seed is None and op_seed is None:
        return None, None
    if op_seed is None:
        op_seed = seed_count()
    seeds = ((DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed) % (2**31 - 1), op_seed % (2**31 - 1))
    # (0, 0) means "unseeded" in an OpDef's seed and seed2.
    return (0, 2**31 - 1) if seeds == (0, 0) else seeds


def seed_count() -> int:
    """How many nodes TensorFlow 1.x would have for what is in the default graph, as far as `counted_as` says so."""
    graph = get_default_graph()
    return graph.version + graph.more_in_tensorflow


def set_seed_count(nodes: int) -> None:
    """What follows comes after that many nodes."""
    graph = get_default_graph()
    graph.more_in_tensorflow = nodes - graph.version


def more_nodes(nodes: int) -> None:
    """TensorFlow 1.15 makes so many more nodes here; if negative, fewer."""
    get_default_graph().more_in_tensorflow += nodes


@contextlib.contextmanager
def counted_as(nodes: int) -> Iterator[None]:
    """What is built inside counts as that many nodes for the seeds of what follows: TensorFlow 1.x makes so many."""
    begin = seed_count()
    yield
    set_seed_count(begin + nodes)
