"""Variable scopes: names and defaults for `get_variable`, which creates a variable once and shares it afterwards.

TF: tf.variable_scope, tf.get_variable. The graph keeps the existing variables (`variable_store.py`), and each thread
its open scope.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from penstock.client.variable import VariableAggregation, VariableSynchronization
from penstock.client.variable_store import AUTO_REUSE, default_initializer, get_variable_store
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.scopes import GraphKeys, get_collection, get_default_graph, graph_of, name_scope
from penstock.old_names import old_arguments
from penstock.tensor.dtypes import as_dtype, float32


@export("no_regularizer")
def no_regularizer(_: Any) -> None:
    """A regularizer that does nothing: overrides that of an outer scope."""
    return


@export("VariableScope")
class VariableScope:
    """Defaults that `get_variable` takes from the scope it is called in (TF: tf.VariableScope).

    reuse: True to share only, False to create only, AUTO_REUSE for either. The other attributes are arguments
    of `get_variable`; name_scope is the name scope of the first opening.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._reuse = reuse
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    @property
    def name(self) -> str:
        return self._name

    @property
    def original_name_scope(self) -> str:
        return self._name_scope

    @property
    def reuse(self) -> Any:
        return self._reuse

    @property
    def initializer(self) -> Any:
        return self._initializer

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        return self._use_resource

    @property
    def regularizer(self) -> Any:
        return self._regularizer

    @property
    def caching_device(self) -> Any:
        return self._caching_device

    @property
    def partitioner(self) -> Any:
        return self._partitioner

    @property
    def custom_getter(self) -> Any:
        return self._custom_getter

    @property
    def constraint(self) -> Any:
        return self._constraint

    def reuse_variables(self) -> None:
        """Make this scope share variables and create none from now on."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: Any) -> None:
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        self._custom_getter = custom_getter

    def get_collection(self, name: Any) -> list[Any]:
        """The items of a collection whose names begin with this scope's name."""
        return get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: Any,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """The variable `name` of this scope, from `var_store`; missing arguments are the scope's."""
        # A variable's name depends on the variable scope alone, not on the name scope.
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                found = convert_to_tensor(initializer).dtype.base_dtype
                if found != as_dtype(dtype).base_dtype:
                    raise ValueError(
                        f"Initializer type '{found.name}' and explicit dtype '{as_dtype(dtype).name}' don't match."
                    )
            return var_store.get_variable(
                f"{self._name}/{name}" if self._name else name,
                shape=shape,
                dtype=_or(dtype, self._dtype),
                initializer=_or(initializer, self._initializer),
                regularizer=_or(regularizer, self._regularizer),
                reuse=_or(reuse, self._reuse),
                trainable=trainable,
                collections=collections,
                caching_device=_or(caching_device, self._caching_device),
                partitioner=_or(partitioner, self._partitioner),
                validate_shape=validate_shape,
                use_resource=_or(use_resource, self._use_resource),
                custom_getter=_or(custom_getter, self._custom_getter),
                constraint=_or(constraint, self._constraint),
                synchronization=synchronization,
                aggregation=aggregation,
            )


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def chosen_initializer(name: str, dtype: Any) -> Any:
    """What layers and cells give `get_variable`, and so a custom getter, for a weight without an initializer."""
    return _or(get_variable_scope().initializer, default_initializer(name, as_dtype(dtype)))


# --- the open scope -------------------------------------------------------------------------------------


class _Open(threading.local):
    """For one graph, in each thread: the innermost open scope, and how often each name was opened."""

    def __init__(self) -> None:
        self.scope = VariableScope(False)
        self.counts: dict[str, int] = {}


OPEN_KEY = ("__varscope",)
"""The collection of a graph whose first item is the open scope; libraries replace that item (PrettyTensor)."""


class _OpenScopes(list[Any]):
    """The collection of `OPEN_KEY`: its only item is the innermost scope that is open in this thread."""

    def __init__(self) -> None:
        super().__init__([None])  # of length one; the item is each thread's own
        self.here = _Open()

    def __getitem__(self, index: Any) -> Any:
        return [self.here.scope][index]

    def __setitem__(self, index: Any, scope: Any) -> None:
        [self.here.scope][index]  # IndexError for any but the first
        self.here.scope = scope

    def __iter__(self) -> Iterator[Any]:
        return iter([self.here.scope])


def _open() -> _Open:
    graph = get_default_graph()
    with graph._lock:
        held = graph._collections.get(OPEN_KEY)
        if held is None:
            held = graph._collections[OPEN_KEY] = _OpenScopes()
        assert isinstance(held, _OpenScopes)
        return held.here


@export("get_variable_scope")
def get_variable_scope() -> VariableScope:
    """The innermost open variable scope of this thread (TF: tf.get_variable_scope)."""
    return _open().scope


def _unique_name(prefix: str) -> str:
    """`prefix`, or `prefix_1` and so on when the current scope has opened it already."""
    state = _open()
    base = f"{state.scope.name}/{prefix}" if state.scope.name else prefix
    if not state.counts.get(base):
        return prefix
    index = 1
    while state.counts.get(f"{base}_{index}"):
        index += 1
    return f"{prefix}_{index}"


@contextlib.contextmanager
def pure_variable_scope(
    name_or_scope: str | VariableScope, *, name_scope: str | None = None, reuse: Any = None, **defaults: Any
) -> Iterator[VariableScope]:
    """Open a variable scope and no name scope. `defaults` are those of `VariableScope`."""
    state = _open()
    outer, counts = state.scope, state.counts
    if isinstance(name_or_scope, VariableScope):
        base, name = name_or_scope, name_or_scope.name  # an absolute name: the open scope does not matter
    else:
        base, name = outer, f"{outer.name}/{name_or_scope}" if outer.name else name_or_scope
    if name_scope is None:
        name_scope = base.original_name_scope if isinstance(name_or_scope, VariableScope) else name_or_scope
    getter = defaults.pop("custom_getter", None)
    settings = {
        key: _or(defaults.get(key), getattr(base, key))
        for key in (
            "initializer",
            "regularizer",
            "caching_device",
            "partitioner",
            "dtype",
            "use_resource",
            "constraint",
        )
    }
    getter = base.custom_getter if getter is None else _chained(getter, base.custom_getter)
    state.scope = VariableScope(reuse or base.reuse, name, custom_getter=getter, name_scope=name_scope, **settings)
    state.counts = {**counts, name: counts.get(name, 0) + 1}
    try:
        yield state.scope
    finally:
        if isinstance(name_or_scope, VariableScope):
            state.counts = {**counts, name: counts.get(name, 0) + 1}
        else:  # scopes inside may be opened again under the same names
            state.counts = {k: v for k, v in state.counts.items() if not k.startswith(name + "/")}
        state.scope = outer


def _chained(inner: Callable[..., Any], outer: Callable[..., Any] | None) -> Callable[..., Any]:
    """A custom getter that calls `inner`, whose getter is `outer` applied to the true one."""
    if outer is None:
        return inner

    @functools.wraps(inner)  # its arguments are inspected later
    def getter(true_getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, true_getter), *args, **kwargs)

    return getter


@export("variable_scope")
@old_arguments(
    "tf.variable_scope",
    "tf.variable_scope(name_or_scope, reuse=...)",
    order="name_or_scope reuse initializer regularizer caching_device",
    told_by=lambda reuse=None, **_: isinstance(reuse, bool),
)
@contextlib.contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Prefix the names of `get_variable` inside, and of nodes, and set its defaults (TF: tf.variable_scope).

    name_or_scope: a name, a scope to enter again (with its own settings), or None for `default_name` made
    unique. reuse: True shares variables (inner scopes too), AUTO_REUSE shares those that exist, None inherits.
    auxiliary_name_scope: False opens no name scope. values: determine the graph.

    Raises TypeError without a name or for an invalid one, ValueError for `reuse` without `name_or_scope`.
    """
    if name_or_scope is None and default_name is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if name_or_scope is not None and not isinstance(name_or_scope, str | VariableScope):
        raise TypeError(f"VariableScope: name_or_scope must be a string or VariableScope, not {name_or_scope!r}.")
    if reuse not in (None, True, False, AUTO_REUSE):
        raise ValueError("The reuse parameter must be True or False or None.")
    if not isinstance(auxiliary_name_scope, bool):
        raise TypeError(f"The auxiliary_name_scope must be True or False, not {auxiliary_name_scope!r}.")
    settings = {
        "initializer": initializer,
        "regularizer": regularizer,
        "caching_device": caching_device,
        "partitioner": partitioner,
        "custom_getter": custom_getter,
        "dtype": dtype,
        "use_resource": use_resource,
        "constraint": constraint,
    }
    graph = graph_of(values or ())
    with contextlib.ExitStack() as stack:
        if graph is not get_default_graph():
            stack.enter_context(graph.as_default())
        if name_or_scope is None:
            if reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            opened = _enter_name_scope(stack, default_name, auxiliary_name_scope)
            name_or_scope = _unique_name(default_name or "")
        elif isinstance(name_or_scope, VariableScope):
            _enter_name_scope(stack, name_or_scope.name.rpartition("/")[2], auxiliary_name_scope)
            opened = name_or_scope.original_name_scope
        else:
            opened = _enter_name_scope(stack, name_or_scope, auxiliary_name_scope)
        yield stack.enter_context(pure_variable_scope(name_or_scope, name_scope=opened, reuse=reuse, **settings))


def _enter_name_scope(stack: contextlib.ExitStack, name: str | None, wanted: bool) -> str:
    """Enter the name scope, or stay in the current one; returns its name with the final "/"."""
    graph = get_default_graph()
    current = graph.get_name_scope()
    if wanted and name:
        return stack.enter_context(graph.name_scope(name))
    return f"{current}/" if current else ""


@export("variable_op_scope")
@contextlib.contextmanager
def variable_op_scope(
    values: Any,
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> Iterator[VariableScope]:
    """TF 0.x's form of `variable_scope`."""
    with variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    ) as scope:
        yield scope


# --- variables ------------------------------------------------------------------------------------------


@export("get_variable")
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """The variable `name` of the current variable scope: created or shared, according to the scope's `reuse`.

    initializer: an initializer object or function of (shape, dtype), a function without arguments, or a value
    (then without `shape`); without one, glorot_uniform for floats and zeros for others. regularizer: a
    function of the variable whose result goes to the REGULARIZATION_LOSSES collection. custom_getter: a function called
    with the original getter and all arguments instead of this function.

    Raises ValueError if the variable exists but must not, does not exist but must, or has a different shape or dtype.
    TF: tf.get_variable.
    """
    return get_variable_scope().get_variable(
        get_variable_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@export("get_local_variable")
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Like `get_variable`, for a variable that is local and not trained (TF: tf.get_local_variable)."""
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        False,
        [*(collections or []), GraphKeys.LOCAL_VARIABLES],
        caching_device,
        partitioner,
        validate_shape,
        use_resource,
        custom_getter,
        constraint,
        synchronization,
        aggregation,
    )
