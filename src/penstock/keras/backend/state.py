"""What Keras keeps for a program: its session, the learning phase, counters of names; variables and their values."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from penstock.client.default_names import counts_of_layers, layer_counts
from penstock.client.variable import Variable
from penstock.export import export
from penstock.gradients.gradients import gradients as gradients_op
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.default_session import get_default_session
from penstock.graph.graph import Graph
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, control_dependencies, get_default_graph, name_scope, reset_default_graph
from penstock.keras.backend.settings import floatx
from penstock.ops.basic import group, placeholder_with_default
from penstock.ops.state import assign, is_variable_initialized
from penstock.session.session import Session
from penstock.tensor.dtypes import as_dtype

_session: Any = None
"""The session that Keras runs in unless there is a default one."""

_initialized: WeakKeyDictionary[Any, tuple[int, set[str]]] = WeakKeyDictionary()
"""For each session, how many variables its graph had when they were last initialised, and their names."""

_initializing = Lock()
"""Held while variables get their values: other threads wait for these, too."""

_tables: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""For each session, how many initialisers of tables its graph had when they were last run."""

after_new: WeakSet[Any] = WeakSet()
"""Models whose `restore_new(session)` is called when variables have got their first values: a checkpoint that was
loaded before they were made may have others for them."""

_learning_phases: WeakKeyDictionary[Graph, Any] = WeakKeyDictionary()
_uids: WeakKeyDictionary[Graph, dict[str, int]] = WeakKeyDictionary()
_names: WeakKeyDictionary[Graph, dict[str, int]] = WeakKeyDictionary()
"""Layers of the package `keras`, which counted its own."""


@export("keras.backend.get_session")
def get_session() -> Any:
    """The session that Keras runs in: the default one, the one of `set_session`, or one of its own.

    Variables and tables of its graph that have no value yet are initialised, so that new layers can be used at once.
    """
    global _session
    session = get_default_session()
    if session is None:
        if _session is None or _session.graph is not get_default_graph():
            _session = Session()
        session = _session
    if not (_manual or session.graph.finalized):
        _initialize_variables(session)
        _initialize_tables(session)
    return session


@export("keras.backend.set_session")
def set_session(session: Any) -> None:
    """Make `session` the one that Keras runs in."""
    global _session
    _session = session


@export("keras.backend.clear_session")
def clear_session() -> None:
    """Begin anew: an empty default graph, no session, names counted from the start."""
    global _session
    reset_default_graph()
    if _session is not None:
        _session.close()
    _session = None
    learning_phase()  # TensorFlow makes it here, which the seeds of what follows count


@export("keras.backend.manual_variable_initialization")
def manual_variable_initialization(value: bool) -> None:
    """Whether the program initialises variables itself; Keras then leaves them alone."""
    global _manual
    _manual = bool(value)


_manual = False


def _initialize_variables(session: Any) -> None:
    variables = session.graph.get_collection_ref(GraphKeys.GLOBAL_VARIABLES)
    count, _ = _initialized.get(session, (0, None))
    if count != len(variables):
        with _initializing:
            _initialize_new(session, list(variables))
        for model in list(after_new):
            model.restore_new(session)


def _initialize_new(session: Any, variables: list[Any]) -> None:
    count, known = _initialized.get(session, (0, set()))
    if count == len(variables):
        return
    new = [variable for variable in variables if variable.name not in known]
    with session.graph.as_default():
        has_value = session.run([is_variable_initialized(variable) for variable in new])
        missing = [variable.initializer for variable, there in zip(new, has_value, strict=True) if not there]
    if missing:
        session.run(missing)
    _initialized[session] = len(variables), known | {variable.name for variable in new}


def _initialize_tables(session: Any) -> None:
    initializers = session.graph.get_collection_ref(GraphKeys.TABLE_INITIALIZERS)
    done = _tables.setdefault(session, 0)
    if done < len(initializers):
        _tables[session] = len(initializers)
        session.run([op for op in initializers[done:] if op.type.startswith(("InitializeTable", "LookupTableImport"))])


@export("keras.backend.learning_phase")
def learning_phase() -> Any:
    """Whether layers are to behave as in training: a tensor that `fit` and `evaluate` feed, or what was set."""
    graph = get_default_graph()
    if graph not in _learning_phases:
        with control_dependencies(None), name_scope(""):
            _learning_phases[graph] = placeholder_with_default(False, [], name="keras_learning_phase").name
    phase = _learning_phases[graph]
    return graph.get_tensor_by_name(phase) if isinstance(phase, str) else phase


@export("keras.backend.set_learning_phase")
def set_learning_phase(value: int) -> None:
    """Build from now on as for training (1) or for inference (0)."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    _learning_phases[get_default_graph()] = int(value)


@export("keras.backend.learning_phase_scope")
@contextlib.contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """A block in which layers are built as for training (1) or for inference (0)."""
    graph = get_default_graph()
    before = _learning_phases.get(graph)
    set_learning_phase(value)
    try:
        yield
    finally:
        if before is None:
            del _learning_phases[graph]
        else:
            _learning_phases[graph] = before


@export("keras.backend.get_uid")
def get_uid(prefix: str = "") -> int:
    """How often this was called for `prefix` in this graph: numbers for names."""
    counts = _uids.setdefault(get_default_graph(), {})
    counts[prefix] = counts.get(prefix, 0) + 1
    return counts[prefix]


@export("keras.backend.reset_uids")
def reset_uids() -> None:
    """Count names from the start."""
    for counts in (_uids, _names, layer_counts):
        counts.pop(get_default_graph(), None)


_first_number = 0


def number_names_from(first: int) -> None:
    """How default names begin: 0 for "dense" before "dense_1", 1 for "dense_1"."""
    global _first_number
    _first_number = first


def unique_name(prefix: str) -> str:
    """A layer's default name in this graph: "dense", "dense_1", … Layers of tf.layers without a name count, too, as in
    TensorFlow 1.15: checkpoints have the numbers."""
    counts = _names.setdefault(get_default_graph(), {}) if _first_number else counts_of_layers()
    number = counts.get(prefix, _first_number)
    counts[prefix] = number + 1
    return f"{prefix}_{number}" if number else prefix


# --- variables and values -------------------------------------------------------------------------------


@export("keras.backend.variable")
def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """A variable with the initial value `value`; the session gives it that value before it is used.

    dtype: by default `floatx`, whatever that of an array is, but that of a tensor. Of a sparse matrix of SciPy a
    SparseTensor, of a variable one that begins as that does.
    """
    if hasattr(value, "tocoo"):
        return _sparse(value.tocoo(), dtype or value.dtype)
    if isinstance(value, Variable):
        value = value.initialized_value()
    if not isinstance(value, Tensor):
        value = np.asarray(value, as_dtype(dtype or floatx()).as_numpy_dtype)
    return Variable(value, dtype=dtype, name=name, constraint=constraint, trainable=True)


def _sparse(matrix: Any, dtype: Any) -> SparseTensor:
    """A matrix in coordinates, with its elements in the order of rows."""
    order = np.lexsort((matrix.col, matrix.row))
    places = np.stack([matrix.row, matrix.col], 1)[order].astype(np.int64)
    return SparseTensor(places, matrix.data[order].astype(as_dtype(dtype).as_numpy_dtype), matrix.shape)


@export("keras.backend.get_value")
def get_value(x: Any) -> Any:
    """The value of a variable or tensor, in Keras' session; numbers and arrays are their own."""
    if isinstance(x, int | float | np.generic | np.ndarray):
        return x
    return get_session().run(x)


eval_ = export("keras.backend.eval")(get_value)


@export("keras.backend.batch_get_value")
def batch_get_value(tensors: Any) -> list[Any]:
    """The values of variables, in one step."""
    return list(get_session().run(list(tensors))) if tensors else []


@export("keras.backend.set_value")
def set_value(x: Any, value: Any) -> None:
    """Set a variable."""
    batch_set_value([(x, value)])


@export("keras.backend.batch_set_value")
def batch_set_value(pairs: Any) -> None:
    """Set several variables, given as `(variable, array)`: in one step of their initialisers, fed with the arrays."""
    feeds: dict[Any, Any] = {}
    for variable, value in pairs:
        source = variable.initializer.inputs[1]
        if source in feeds:  # two variables with one initial value
            variable.load(np.asarray(value, source.dtype.as_numpy_dtype), get_session())
        else:
            feeds[source] = variable.initializer, np.asarray(value, source.dtype.as_numpy_dtype)
    if feeds:
        values = {source: value for source, (_, value) in feeds.items()}
        get_session().run([initializer for initializer, _ in feeds.values()], values)


# --- functions ------------------------------------------------------------------------------------------


@export("keras.backend.function")
def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **session_kwargs: Any) -> Any:
    """A function of a list of arrays for `inputs` that returns the values of `outputs`."""
    return Function(inputs, outputs, updates, name, **session_kwargs)


class Function:
    """`outputs` and `updates` as one step of the session, planned once and run for each call."""

    def __init__(self, inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> None:
        unknown = set(kwargs) - {"feed_dict", "fetches", "options", "run_metadata"}
        if unknown:
            raise ValueError(f"Invalid argument(s) of K.function: {', '.join(sorted(unknown))}")
        self.name = name
        self._one = not isinstance(outputs, list | tuple)
        self.inputs = list(inputs)
        self.outputs = [outputs] if self._one else list(outputs)
        self._fixed = kwargs.get("feed_dict") or {}  # whose values programs change between calls
        self._fetches = list(kwargs.get("fetches") or [])
        self._options = {key: kwargs[key] for key in ("options", "run_metadata") if kwargs.get(key) is not None}
        with control_dependencies(self.outputs):
            updated = [assign(*update) if isinstance(update, tuple) else update for update in updates or []]
            self._updates = group(*updated) if updated else None
        self._sparse = [i for i, each in enumerate(self.inputs) if isinstance(each, SparseTensor)]
        self._session: Any = None
        self._call: Any = None

    def __call__(self, inputs: Any = ()) -> Any:
        """The values of the outputs."""
        if not isinstance(inputs, list | tuple):
            raise TypeError("`inputs` should be a list or tuple.")
        if self._sparse:
            inputs = [_fed_sparse(x) if i in self._sparse else x for i, x in enumerate(inputs)]
        session = get_session()
        if session is not self._session:
            fetches = [self.outputs, self._fetches, self._updates if self._updates is not None else []]
            self._call = session.make_callable(fetches, [*self.inputs, *self._fixed])
            self._session = session
        values = self._call(*inputs, *self._fixed.values(), **self._options)[0]
        return values[0] if self._one else values


def _fed_sparse(value: Any) -> Any:
    """What a sparse placeholder takes: a sparse matrix of SciPy by its elements, others as they are."""
    if not hasattr(value, "tocoo"):
        return value
    matrix = value.tocoo()
    return SparseTensorValue(np.stack([matrix.row, matrix.col], 1).astype(np.int64), matrix.data, matrix.shape)


@export("keras.backend.gradients")
def gradients(loss: Any, variables: Any) -> list[Any]:
    """The derivatives of `loss`."""
    return gradients_op(loss, variables, colocate_gradients_with_ops=True)
