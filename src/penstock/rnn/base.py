"""`RNNCell`: one step of a recurrent network, and the variables it makes at its first call."""

from __future__ import annotations

import contextlib
import copy
import numbers
from dataclasses import dataclass
from typing import Any

from penstock import logging
from penstock.client.default_names import snake_case
from penstock.client.trackable import TrackableReference
from penstock.client.variable_scope import chosen_initializer, get_variable, get_variable_scope, variable_scope
from penstock.client.variable_store import AUTO_REUSE
from penstock.client.weights import WithWeights
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, counted_as, get_default_graph, name_scope
from penstock.ops.array import shape
from penstock.ops.control_flow.nest import flatten, map_structure
from penstock.ops.filling import zeros
from penstock.ops.stacking import stack
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape

MSG_OTHER_WEIGHTS = (
    "A %s that was first called with inputs of size %s has inputs of size %s in %s: it gets other weights there, as "
    "until TensorFlow 1.0. Make a cell for each layer: [make_cell() for _ in range(layers)] instead of [cell] * layers."
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a cell is called: the variable scope, and the size of its inputs if that is known."""

    scope: str
    depth: int | None

    @classmethod
    def of(cls, inputs: Any, scope: Any) -> _Place:
        size = inputs.shape[-1].value if isinstance(inputs, Tensor) and inputs.shape.ndims else None
        return cls("/".join(filter(None, (get_variable_scope().name, getattr(scope, "name", scope)))), size)

    def has_other_weights_than(self, place: _Place) -> bool:
        return None not in (self.depth, place.depth) and self.depth != place.depth and self.scope != place.scope


@export("rnn_cell.RNNCell", "contrib.rnn.LayerRNNCell", "contrib.rnn.RNNCell")
class RNNCell(WithWeights):
    """One step: (output, new state) from (inputs [batch, n], state) (TF: tf.nn.rnn_cell.RNNCell).

    A subclass defines its `state_size` and `output_size` (ints, TensorShapes or nests of them, without the batch) and
    has either `call(inputs, state)`, whose variables go to a scope named after the class and are shared by all calls of
    the cell, or its own `__call__(inputs, state, scope=None)`, which then manages its variables itself.
    """

    _untracked = frozenset({"_variables", "_elsewhere", "_unused"})
    # Subclasses need not call __init__.
    _name: str | None = None
    _reuse: Any = None
    _scope: Any = None
    _name_scope: str = ""
    _dtype: Any = None
    _first: Any = None  # the place of the first call
    _unused: Any = None  # as it was before
    built = False

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, _reuse: Any = None, **kwargs: Any
    ) -> None:
        """trainable: whether variables made by `add_variable` are. name: the name of its variable scope."""
        self.trainable = trainable
        self._name, self._reuse = name, kwargs.pop("reuse", _reuse)
        self._dtype = None if dtype is None else as_dtype(dtype).name
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {', '.join(sorted(kwargs))}")

    # --- what a subclass defines ---------------------------------------------------------------------------

    @property
    def state_size(self) -> Any:
        """The size of each part of the state, in its structure."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def build(self, inputs_shape: TensorShape) -> None:
        """Make variables by `add_variable`, before the first `call`."""
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """(output, new state)."""
        raise NotImplementedError("Abstract method")

    # --- calling ----------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        """(output, new state). scope: for the variables, instead of the one named after the class.

        All calls add nodes to the name scope of the first.
        """
        first = self._first is None
        place = _Place.of(inputs, scope)
        if first:
            self._first, self._unused = place, copy.deepcopy(self)
            if self._scope is None:
                self._open_scope(scope)
        elif self._first is not None and self._first.has_other_weights_than(place):
            return self._at(place)(inputs, state, scope, *args, **kwargs)
        reuse = True if not first and self._reuse is not AUTO_REUSE else self._reuse
        with contextlib.ExitStack() as scopes:
            opening = variable_scope(self._scope, reuse=reuse, custom_getter=self._collect, auxiliary_name_scope=first)
            scopes.enter_context(opening)
            if first:
                self._name_scope = f"{get_default_graph().get_name_scope()}/"
            else:
                scopes.enter_context(name_scope(self._name_scope))
            if not self.built:
                inputs = map_structure(lambda value: convert_to_tensor(value, name="inputs"), inputs)
                if self._dtype is None:
                    self._dtype = _variable_dtype(inputs, state)
                shapes = map_structure(lambda value: value.shape, inputs)
                self.build(shapes)
                self.built = True
            return self.call(inputs, state, *args, **kwargs)

    def _at(self, place: _Place) -> RNNCell:
        """A cell like this one for a place where its weights do not fit, as before TF 1.1, when a cell had none of its
        own: `[cell] * 3` was three layers, and the first could have inputs of another size."""
        made = self.__dict__.setdefault("_elsewhere", {})
        if place.scope not in made:
            made[place.scope] = copy.deepcopy(self._unused)
            logging.warning(MSG_OTHER_WEIGHTS, self._base_name, self._first.depth, place.depth, place.scope)
        return made[place.scope]

    def _open_scope(self, scope: Any) -> None:
        settings: dict[str, Any] = {"reuse": self._reuse, "auxiliary_name_scope": False}
        if self._reuse:  # then the name must be the existing one
            opening = variable_scope(scope if scope is not None else self._base_name, **settings)
        else:
            opening = variable_scope(scope, self._base_name, **settings)
        with opening as found:
            self._scope = found

    @property
    def _base_name(self) -> str:
        return self._name or snake_case(type(self).__name__)

    def _collect(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """A custom getter that records the variables that the cell uses."""
        variable = getter(*args, **kwargs)
        if not any(variable is known for known in self.variables):
            self.variables.append(variable)
        return variable

    def add_variable(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        **kwargs: Any,
    ) -> Any:
        """`get_variable` in the cell's scope, of the dtype of the cell's inputs."""
        dtype = dtype or self._dtype or get_variable_scope().dtype
        if initializer is None:
            initializer = chosen_initializer(name, dtype)
        trainable = trainable and getattr(self, "trainable", True)
        return get_variable(name, shape, dtype, initializer, regularizer, trainable, **kwargs)

    add_weight = add_variable

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """Its variables by their names in the cell's scope, and cells that are attributes."""
        parts = super()._checkpoint_dependencies
        inner = {id(v) for part in parts for v in getattr(part.ref, "variables", ())}
        inner |= {id(part.ref) for part in parts}
        scope = "" if self._scope is None else f"{self._scope.name}/"
        own = [v for v in self.variables if id(v) not in inner]
        return [TrackableReference(v.op.name.removeprefix(scope), v) for v in own] + parts

    def __deepcopy__(self, memo: dict[int, Any]) -> RNNCell:
        """A copy of the cell: inner cells are copied, parts of the graph are shared."""
        copied = memo[id(self)] = object.__new__(type(self))
        for key, value in vars(self).items():
            if isinstance(value, RNNCell) or (isinstance(value, list) and any(isinstance(v, RNNCell) for v in value)):
                value = copy.deepcopy(value, memo)
            copied.__dict__[key] = list(value) if isinstance(value, list) else value
        return copied

    # --- properties ------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._base_name if self._scope is None else self._scope.name.rpartition("/")[2]

    @property
    def scope_name(self) -> str:
        if self._scope is None:
            raise ValueError(f'No name available for layer scope because the cell "{self.name}" has not been used yet.')
        return self._scope.name

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def variables(self) -> list[Any]:
        """All variables that `call` and `build` used, including those of inner cells."""
        return self.__dict__.setdefault("_variables", [])

    @property
    def weights(self) -> list[Any]:
        return self.variables

    @property
    def trainable_variables(self) -> list[Any]:
        return [variable for variable in self.variables if variable.trainable]

    @property
    def trainable_weights(self) -> list[Any]:
        return self.trainable_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        return [variable for variable in self.variables if not variable.trainable]

    @property
    def non_trainable_weights(self) -> list[Any]:
        return self.non_trainable_variables

    @property
    def losses(self) -> list[Any]:
        """The losses that `add_loss` has added. Those of regularizers are in the collection REGULARIZATION_LOSSES."""
        return self.__dict__.setdefault("_losses", [])

    @property
    def updates(self) -> list[Any]:
        """What `add_update` has added."""
        return self.__dict__.setdefault("_updates", [])

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add to the cell's losses and to the collection REGULARIZATION_LOSSES."""
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            self.losses.append(loss)
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add ops to run with each training step to the cell's updates and to the collection UPDATE_OPS."""
        for update in updates if isinstance(updates, list | tuple) else [updates]:
            self.updates.append(update)
            get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

    # --- states -----------------------------------------------------------------------------------------

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """`zero_state` for the batch size and dtype of `inputs`, or for the given ones. Raises ValueError without
        either."""
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            batch_size, dtype = shape(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype are required to make the initial state when inputs is None")
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros with the structure of `state_size`, [batch_size, size] each."""
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return zeros_of(self.state_size, batch_size, dtype)


def is_like_cell(cell: Any) -> bool:
    """Whether it can be used as a cell, whatever its class (TF: rnn_cell_impl._like_rnncell)."""
    return callable(cell) and all(hasattr(cell, name) for name in ("output_size", "state_size", "zero_state"))


def assert_like_cell(name: str, cell: Any) -> None:
    """Raises TypeError unless it can (TF: rnn_cell_impl.assert_like_rnncell). name: of the argument."""
    if not is_like_cell(cell):
        raise TypeError(
            f"The argument {name!r} ({cell}) is not an RNNCell: it needs output_size, state_size and zero_state, and "
            "to be callable"
        )


def zeros_of(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros of [batch_size, size] for each of `sizes`, in its structure."""

    def make(size: Any) -> Tensor:
        dims = TensorShape(size).as_list() if not isinstance(size, numbers.Integral) else [int(size)]
        known = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
        computed = isinstance(batch_size, Tensor) and batch_size.op.type == "StridedSlice"
        with counted_as(8 if known is not None and not computed else 10):  # TensorFlow does not see through a slice
            if known is not None:
                return zeros([int(known), *dims], dtype)
            value = zeros(stack([convert_to_tensor(batch_size, "int32"), *dims]), dtype)
            value.set_shape([None, *dims])
            return value

    return map_structure(make, sizes)


def like_cell(cell: Any) -> None:
    """Raises TypeError unless `cell` can be called as a cell."""
    kind = type(cell)
    if not (hasattr(kind, "output_size") or hasattr(cell, "output_size")) or not callable(cell):
        raise TypeError(f"cell must be an instance of RNNCell, not {cell!r}")


def _variable_dtype(inputs: Any, state: Any) -> str | None:
    """The dtype of the inputs if they are floats (for a wrapper whose inputs are ids, that of the state)."""
    for value in [*flatten(inputs), *flatten(state)]:
        dtype = as_dtype(value.dtype).base_dtype if hasattr(value, "dtype") else None
        if dtype is not None and (dtype.is_floating or dtype.is_complex):
            return str(dtype.name)
    return None
