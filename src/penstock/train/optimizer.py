"""`Optimizer`: gradients, then an update for each variable (section 4.1; TF: tf.train.Optimizer)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.client.replicas import here, scaled_by_replicas
from penstock.client.resource_variable import ResourceVariable
from penstock.client.trackable import Trackable, TrackableReference
from penstock.client.variable import Variable
from penstock.client.variables import trainable_variables
from penstock.export import export
from penstock.gradients.gradients import gradients
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, control_dependencies, get_default_graph, name_scope
from penstock.ops.basic import gate_tuple, group
from penstock.ops.state import assign_add, is_reference
from penstock.tensor.dtypes import bfloat16, float16, float32, float64, resource
from penstock.train import slot_creator

GradAndVar = tuple[Any, Any]


class Updates:
    """What an optimizer defines: its slots and tensors, and one variable's update in its four forms."""

    def _create_slots(self, var_list: list[Any]) -> None:
        """Make the slots of the variables."""

    def _prepare(self) -> None:
        """Make tensors of the hyperparameters, in the optimizer's name scope."""

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _apply_dense")

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _resource_apply_dense")

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        """`grad` has no duplicate rows."""
        raise NotImplementedError(f"{type(self).__name__} defines no _apply_sparse")

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _resource_apply_sparse")


@export("train.Optimizer")
class Optimizer(Updates, Trackable):
    """Base class of optimizers.

    A subclass defines `_create_slots` (the variables that it needs for each trained one), `_prepare` (tensors of the
    hyperparameters), `_apply_dense` and, for gradients of gathers, `_apply_sparse`; for resource variables
    `_resource_apply_dense` and `_resource_apply_sparse`; and `_finish` for work that follows all updates.
    """

    _has_own_slots = True
    """Whether checkpoints of objects ask it for slots, not another optimizer that it passes the question to."""
    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[Any, Any] = {}

    def get_name(self) -> str:
        return self._name

    # --- the two halves of training ---------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """An operation that takes one step of training: `compute_gradients`, then `apply_gradients`.

        Raises ValueError if the loss depends on none of the variables.
        """
        grads_and_vars = self.compute_gradients(  # by name: subclasses may take them as **kwargs
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support "
                f"gradients, between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[GradAndVar]:
        """`(gradient, variable)` pairs; a gradient is a tensor, an IndexedSlices, or None.

        var_list: the variables (by default all trainable ones). gate_gradients: GATE_OP makes the gradients of an
        operation available together, GATE_GRAPH all at once, GATE_NONE each as soon as it is computed. grad_loss: the
        derivative to start from. Raises ValueError without variables, TypeError for what is not a variable.
        """
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        if callable(loss) and not hasattr(loss, "op"):
            loss = loss()
        loss = scaled_by_replicas(loss)
        if grad_loss is None:
            self._assert_valid_dtypes([loss])
        variables = trainable_variables() if var_list is None else _flat(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        for variable in variables:
            if not isinstance(variable, Variable | Tensor):
                raise TypeError(f"Argument is not a tf.Variable: {variable}")
        grads = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            aggregation_method=aggregation_method,
            gate_gradients=gate_gradients == Optimizer.GATE_OP,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == Optimizer.GATE_GRAPH and any(g is not None for g in grads):
            grads = gate_tuple(grads)
        pairs = list(zip(grads, variables, strict=True))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None and v.dtype != resource])
        return pairs

    def apply_gradients(
        self, grads_and_vars: Iterable[GradAndVar], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """An operation that changes each variable by its gradient, then adds one to `global_step`.

        It joins the TRAIN_OP collection. Raises ValueError if there are no variables or no gradients, TypeError for a
        gradient that is not a tensor.
        """
        pairs = [(_as_gradient(grad), variable) for grad, variable in grads_and_vars]
        if here.replica is not None:  # one update, with the gradients of all replicas
            together: Operation = here.replica.merge_call(self._apply_together, (pairs, global_step, name))
            return together
        if not pairs:
            raise ValueError("No variables provided.")
        for _, variable in pairs:
            if not isinstance(variable, Variable | Tensor):
                raise TypeError(f"Variable must be a tf.Variable: {variable}")
        changed = [variable for grad, variable in pairs if grad is not None]
        if not changed:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        with control_dependencies(None):
            self._create_slots(changed)
        with name_scope(name, self._name, changed) as scope:
            self._prepare()
            updates = []
            for grad, variable in pairs:
                if grad is not None:
                    with (
                        name_scope(f"update_{variable.op.name}"),
                        get_default_graph().colocate_with(variable.op),
                    ):
                        updates.append(self._update(grad, variable))
            train_op = self._finish_step(updates, global_step, scope)
        train_ops = get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
        if train_op not in train_ops:
            train_ops.append(train_op)
        return train_op

    def _apply_together(self, strategy: Any, pairs: Any, global_step: Any, name: str | None) -> Operation:
        return self.apply_gradients(strategy.reduce_gradients(pairs), global_step, name)

    def _finish_step(self, updates: list[Any], global_step: Any, scope: str) -> Operation:
        if global_step is None:
            done = self._finish(updates, scope)
        else:
            with (
                control_dependencies([self._finish(updates, "update")]),
                get_default_graph().colocate_with(global_step.op),
            ):
                if is_reference(global_step):
                    done = assign_add(global_step, 1, name=scope)
                else:
                    done = global_step.assign_add(1, name=scope, read_value=False)
        return done.op if isinstance(done, Tensor) else done

    def _update(self, grad: Any, variable: Any) -> Any:
        """The operation that updates one variable, using the hook for its kind and the gradient's."""
        sparse = isinstance(grad, IndexedSlices)
        constraint = getattr(variable, "constraint", None)
        if not isinstance(variable, Variable):
            raise NotImplementedError(f"Trying to update a Tensor {variable}")
        if sparse and constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        if isinstance(variable, ResourceVariable):
            if sparse:
                return self._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices)
            update = self._resource_apply_dense(grad, variable)
        elif sparse:
            return self._apply_sparse_duplicate_indices(grad, variable)
        else:
            update = self._apply_dense(grad, variable)
        if constraint is None:
            return update
        with control_dependencies([update]):
            return variable.assign(constraint(variable.read_value()))

    # --- slots ------------------------------------------------------------------------------------------

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot `name` of `var`, or None."""
        return self._slots.get(name, {}).get(_var_key(var))

    def get_slot_names(self) -> list[str]:
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """All variables of the optimizer in the current graph, by name."""
        graph = get_default_graph()
        own = [v for v in self._non_slot_variables() if v.graph is graph]
        for slots in self._slots.values():
            own += [slot for (owner, _), slot in slots.items() if owner is graph]
        return sorted(own, key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """The slot, created with the initial value `val` and the name `{var}/{op_name}` if it does not exist."""
        return self._slot(var, slot_name, lambda: slot_creator.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        return self._slot(
            var,
            slot_name,
            lambda: slot_creator.create_slot_with_initializer(var, initializer, shape, dtype, op_name),
        )

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        return self._slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, op_name))

    def _slot(self, var: Any, slot_name: str, create: Callable[[], Any]) -> Any:
        slots, key = self._slot_dict(slot_name), _var_key(var)
        if key not in slots:
            slots[key] = create()
        return slots[key]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable of the whole optimizer, colocated with `colocate_with`; created once per graph."""
        key = (name, colocate_with.graph)
        if key not in self._non_slot_dict:
            with get_default_graph().colocate_with(colocate_with.op):
                self._non_slot_dict[key] = Variable(
                    initial_value,
                    trainable=False,
                    name=name,
                    use_resource=isinstance(colocate_with, ResourceVariable),
                )
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> list[Any]:
        return list(self._non_slot_dict.values())

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The variables of the whole optimizer in the current graph; slots are saved beside their variables."""
        own = {key[0]: variable for key, variable in self._non_slot_dict.items() if key[1] is get_default_graph()}
        tracked = {**vars(self).get("_tracked", {}), **dict(sorted(own.items()))}
        return [TrackableReference(name, ref) for name, ref in tracked.items()]

    # --- what subclasses may replace --------------------------------------------------------------------

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        """Like `_apply_sparse`, for a gradient that may have duplicate rows: adds them up first."""
        values, indices = _deduplicate_indexed_slices(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        values, distinct = _deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(values, handle, distinct)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        """The operation that ends after all updates and anything that follows them."""
        return group(*update_ops, name=name_scope)

    # --- small things -----------------------------------------------------------------------------------

    def _valid_dtypes(self) -> set[Any]:
        return {float16, bfloat16, float32, float64}

    def _assert_valid_dtypes(self, tensors: list[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in valid:
                names = sorted(dtype.name for dtype in valid)
                raise ValueError(f"Invalid type {tensor.dtype.base_dtype!r} for {tensor.name}, expected: {names}.")

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _hyper_tensor(self, value: Any, name: str) -> Tensor:
        """A hyperparameter, which may be a number, a tensor, a variable or a function, as a tensor."""
        return convert_to_tensor(self._call_if_callable(value), name=name)


def like(value: Tensor, var: Any) -> Tensor:
    """A hyperparameter in the dtype of a variable."""
    dtype = var.dtype.base_dtype
    return value if value.dtype.base_dtype == dtype else get_op("Cast")(value, DstT=dtype)


def _deduplicate_indexed_slices(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The slices with duplicate rows summed."""
    found = _found_by_unique(indices)
    if found is not None:
        return values, found
    distinct, positions = get_op("Unique")(indices)
    strided_slice, shape = get_op("StridedSlice"), get_op("Shape")(distinct)
    count = strided_slice(shape, [0], [1], [1], shrink_axis_mask=1)
    return get_op("UnsortedSegmentSum")(values, positions, count), distinct


def _found_by_unique(indices: Tensor) -> Tensor | None:
    """What Unique found, if that is what these are, as in the gradient of a lookup of sparse ids."""
    while indices.op.type in ("Reshape", "Identity"):
        indices = indices.op.inputs[0]
    return indices if indices.op.type == "Unique" and indices.value_index == 0 else None


def _as_gradient(grad: Any) -> Any:
    if grad is None or isinstance(grad, IndexedSlices | Tensor):
        return grad
    try:
        return convert_to_tensor(grad)
    except TypeError:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad!r}") from None


def _flat(var_list: Any) -> list[Any]:
    if isinstance(var_list, Variable | Tensor):
        return [var_list]
    if isinstance(var_list, dict):
        var_list = [var_list[key] for key in sorted(var_list)]
    return [v for item in var_list for v in (_flat(item) if isinstance(item, list | tuple) else [item])]


def _var_key(var: Any) -> tuple[Any, str]:
    return var.op.graph, var.op.name
