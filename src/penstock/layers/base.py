"""The base class of layers: a variable scope, variables created at the first call, losses and updates."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.api.named import named
from penstock.client.default_names import counts_of_layers, snake_case
from penstock.client.partitioned_variable import PartitionedVariable
from penstock.client.variable import Variable
from penstock.client.variable_scope import VariableScope, chosen_initializer, get_variable, variable_scope
from penstock.client.weights import WithWeights
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_default_graph, name_scope
from penstock.ops.array import shape as shape_of
from penstock.ops.cast import cast
from penstock.ops.control_flow.nest import flatten, map_structure
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


@export("layers.Layer")
class Layer(WithWeights):
    """A function of tensors that owns variables (TF: tf.layers.Layer).

    Subclasses define `build(input_shape)`, which creates variables with `add_weight`, and `call(inputs)`. The scope is
    `name`, or the class's name in lower case, made unique ("dense", "dense_1"); default layer names count from 1
    ("dense_1"), as in TensorFlow. `_reuse` shares variables, and `_scope` is a scope to use unchanged, which the
    functions (`tf.layers.dense`) pass for a name.
    """

    _built_when_it_can_be = False
    """Whether `build` may leave the layer as it was, as that of a Sequential without layers."""

    _untracked = frozenset(
        {"_arguments", "_given_scope", "_trainable_weights", "_non_trainable_weights", "_losses", "_updates"}
        | {"_metrics", "_initial_weights", "_inbound_nodes", "_outbound_nodes"}
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A library's own `build`, called by a program or by another layer, is not called again, as in TensorFlow,
        where each says so itself; a program's says so by calling its superclass's."""
        super().__init_subclass__(**kwargs)
        if "build" in vars(cls) and cls.__module__.startswith("penstock.") and not cls._built_when_it_can_be:
            cls.build = _saying_so(vars(cls)["build"])  # type: ignore[method-assign, assignment]

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        self._reuse = kwargs.pop("_reuse", None)
        scope = kwargs.pop("_scope", None)
        self._given_scope = name if scope is None and self._reuse else scope
        self.activity_regularizer = kwargs.pop("activity_regularizer", None)
        if kwargs:
            raise TypeError(f"{type(self).__name__} does not take {', '.join(map(repr, kwargs))}")
        self.trainable = trainable
        self.built = False
        self._dtype = as_dtype(dtype) if dtype is not None else None
        self._given_name = name
        self._name = name or getattr(scope, "name", "") or _counted(snake_case(type(self).__name__))
        self._scope: VariableScope | None = None
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._losses: list[Tensor] = []
        self._updates: list[Any] = []
        self._of_inputs: set[int] = set()  # ids of the losses that depend on inputs
        self._inside = False

    # --- for subclasses ---------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Create the variables; called once, before the first `call`, unless the program has called it."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The layer's function of its inputs."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output for inputs of `input_shape`."""
        raise NotImplementedError(f"{type(self).__name__} does not compute output shapes")

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        constraint: Any = None,
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Create (or, in a scope that reuses, share) a variable of the layer."""
        trainable = trainable and self.trainable
        known = len(get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES))
        with contextlib.nullcontext() if self._inside else self._open(None) as opened:
            self._scope = self._scope or opened
            dtype = as_dtype(dtype or self._dtype or "float32")
            initializer = named("initializers", initializer)
            if initializer is None:
                initializer = chosen_initializer(name, dtype)
            variable = get_variable(
                name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                regularizer=named("regularizers", regularizer),
                trainable=trainable,
                constraint=named("constraints", constraint),
                partitioner=partitioner,
                **kwargs,
            )
        self._losses += get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES)[known:]  # of a new variable
        self._track_trackable(variable, name, overwrite=True)
        parts = variable if isinstance(variable, PartitionedVariable) else [variable]
        (self._trainable_weights if trainable else self._non_trainable_weights).extend(parts)
        return variable

    add_variable = add_weight

    _activity_is_of_a_sample = True

    def _activity_loss(self, output: Any) -> Any:
        """What `activity_regularizer` says of an output, for each sample, as in TensorFlow 1.15."""
        loss = convert_to_tensor(self.activity_regularizer(output))
        return loss / cast(shape_of(output)[0], loss.dtype) if self._activity_is_of_a_sample else loss

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add to the layer's losses and to the collection REGULARIZATION_LOSSES."""
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            self._losses.append(loss)
            if inputs is not None:
                self._of_inputs.add(id(loss))
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add ops to run with each training step to the layer's updates and to the collection UPDATE_OPS."""
        for update in updates if isinstance(updates, list | tuple) else [updates]:
            update = getattr(update, "op", update)  # not its value: a step that runs updates gets None for each
            self._updates.append(update)
            get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

    # --- for users --------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Apply the layer: the first call creates the variables, later ones reuse them.

        inputs: of a program's own layer any nest; arrays and numbers in it become tensors, and anything else is passed
        on. `build` gets the nest of shapes, or None if something has no shape.
        """
        scope = kwargs.pop("scope", None)
        inputs = convert_to_tensor(inputs) if isinstance(inputs, Variable) else map_structure(_as_input, inputs)
        leaves = flatten(inputs)
        shapes = map_structure(lambda x: x.shape, inputs) if all(hasattr(x, "shape") for x in leaves) else None
        first = getattr(leaves[0], "dtype", None) if leaves else None
        if self._dtype is None and first is not None and first.is_floating:
            self._dtype = first.base_dtype
        with self._open(scope) as opened:
            self._scope = opened
            if not self.built:
                self.build(shapes)
                self.built = True
            outputs = self.call(inputs, *args, **kwargs)
            if self.activity_regularizer is not None:
                with name_scope("ActivityRegularizer"):
                    self.add_loss(self._activity_loss(outputs), inputs)
        return outputs

    apply = __call__

    @contextlib.contextmanager
    def _open(self, scope: Any) -> Iterator[VariableScope]:
        """The layer's variable scope, and the name scope that it was first opened in."""
        given = scope if scope is not None else self._given_scope
        before, self._inside = self._inside, True
        with contextlib.ExitStack() as stack:
            if self._scope is None and not isinstance(given, VariableScope):
                default = self._given_name or snake_case(type(self).__name__)
                given = default if given is None and self._reuse else given  # not made unique: it is there already
                opened = stack.enter_context(variable_scope(given, default_name=default, reuse=self._reuse))
            else:
                again: Any = self._scope or given
                reuse = True if self.built else self._reuse
                opened = stack.enter_context(variable_scope(again, reuse=reuse, auxiliary_name_scope=False))
                stack.enter_context(name_scope(again.original_name_scope))
            try:
                yield opened
            finally:
                self._inside = before

    @property
    def name(self) -> str:
        return self._name

    @property
    def scope_name(self) -> str:
        if self._scope is None:
            raise ValueError("The layer has no scope before its first call")
        return self._scope.name

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def trainable_weights(self) -> list[Any]:
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        return self._non_trainable_weights + ([] if self.trainable else self._trainable_weights)

    @property
    def weights(self) -> list[Any]:
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    @property
    def losses(self) -> list[Tensor]:
        """The losses added by its regularizers and by `add_loss`."""
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        return list(self._updates)

    def get_losses_for(self, inputs: Any) -> list[Tensor]:
        """The losses that depend on the inputs of calls; for None, those that do not, as of regularizers."""
        unconditional = [loss for loss in self._losses if id(loss) not in self._of_inputs]
        return unconditional if inputs is None else [loss for loss in self._losses if id(loss) in self._of_inputs]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates, which depend on the inputs of calls; for None, there are none."""
        return [] if inputs is None else list(self._updates)


def _as_input(value: Any) -> Any:
    return convert_to_tensor(value) if isinstance(value, np.ndarray | np.generic | int | float) else value


def _saying_so(build: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    @functools.wraps(build)
    def built(layer: Any, input_shape: Any) -> None:
        build(layer, input_shape)
        layer.built = True

    return built


def _counted(base: str) -> str:
    """The default name of a layer of this graph. Those of tf.keras go on from it: after two "dense", "dense_2"."""
    names = counts_of_layers()
    names[base] = names.get(base, 0) + 1
    return f"{base}_{names[base]}"


def spatial(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """One number for all spatial dims, or one for each."""
    try:
        return (operator.index(value),) * rank
    except TypeError:
        pass
    try:
        numbers = tuple(int(v) for v in value)  # dims of a shape are also accepted
    except TypeError:
        numbers = ()
    if len(numbers) != rank:
        raise ValueError(f"{name} must be an int or {rank} of them, got {value!r}")
    return numbers


def channel_axis(data_format: str, ndims: int) -> int:
    """The channel axis: data_format is "channels_last" or "channels_first"."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"data_format must be 'channels_last' or 'channels_first', got {data_format!r}")
    return ndims - 1 if data_format == "channels_last" else 1


def known_channels(shape: Any, axis: int, layer: Any) -> int:
    """The size of the channel axis; raises ValueError if it is not known."""
    shape = TensorShape(shape)
    size = None if shape.ndims is None else shape.as_list()[axis]
    if size is None:
        raise ValueError(f"{type(layer).__name__} needs to know the size of axis {axis} of its input, got {shape}")
    return size
