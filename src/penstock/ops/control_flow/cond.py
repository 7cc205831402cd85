"""Conditionals (white paper section 4.4; TF: tf.cond, tf.case)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.constants import constant_value
from penstock.graph.contexts import ControlFlowContext, outside
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, get_default_graph, more_nodes, name_scope
from penstock.nested import tree
from penstock.ops.basic import identity
from penstock.ops.control_flow.nest import flatten, map_structure, pack_like
from penstock.tensor.dtypes import bool as bool_dtype


class CondContext(ControlFlowContext):
    """One branch of a conditional: `branch` is 1 for a true `pred`."""

    def __init__(self, name: str, pred: Tensor, pivot: Tensor, branch: int) -> None:
        super().__init__(name)
        self.pred, self.branch = pred, branch
        self._pivot = pivot
        pivot.op._control_flow_context = self

    @property
    def pivot(self) -> Operation:
        return self._pivot.op

    def _bring_in(self, tensor: Tensor) -> Tensor:
        with outside(self.outer):
            op = get_op("RefSwitch" if tensor.dtype._is_ref_dtype else "Switch")
            switched = op(tensor, self.pred, name=f"{self.name}/{tensor.op.name.split('/')[-1]}/Switch")[self.branch]
        switched.op._control_flow_context = self
        return switched


def make_branches(pred: Tensor, name: str) -> tuple[CondContext, CondContext]:
    """The contexts of the true and the false branch of `pred`."""
    graph = get_default_graph()
    p_false, p_true = get_op("Switch")(pred, pred, name="Switch")
    pivot_true, pivot_false = identity(p_true, name="switch_t"), identity(p_false, name="switch_f")
    pred = identity(pred, name="pred_id")
    for tensor in (p_true, pivot_true, pivot_false, pred):
        graph.prevent_fetching(tensor.op)  # everything that is only on one branch
    scope = graph.get_name_scope()
    return CondContext(scope or name, pred, pivot_true, 1), CondContext(scope or name, pred, pivot_false, 0)


@export("cond")
def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """What `true_fn()` builds if `pred` is true in the step, otherwise what `false_fn()` builds (TF: tf.cond).

    pred: a scalar bool tensor. Both functions return the same structure with the same dtypes; only the nodes of one
    run, but their inputs from outside are always computed. Without `strict`, a list of one tensor is returned as that
    tensor. An operation that a function returns counts as a bool tensor: `pred`, once the operation has run. Raises
    TypeError or ValueError if the branches do not match, or one returns None.
    """
    for new, old, name_of_new in [(true_fn, fn1, "true_fn"), (false_fn, fn2, "false_fn")]:
        if new is not None and old is not None:
            raise TypeError(f"cond was given {name_of_new} twice, under its old name as well.")
    true_fn, false_fn = true_fn if fn1 is None else fn1, false_fn if fn2 is None else fn2
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool; use a Python if, or tf.constant(pred).")
    with name_scope(name, "cond", [pred]):
        pred = convert_to_tensor(pred, bool_dtype)
        if pred.shape.ndims not in (None, 0):
            raise ValueError(f"cond needs a scalar pred; {pred.name} has shape {pred.shape}")
        when_true, when_false = make_branches(pred, "cond")
        originals_t, flat_t = _build_branch(when_true, true_fn, strict, "true_fn")
        originals_f, flat_f = _build_branch(when_false, false_fn, strict, "false_fn")
        _check_same(originals_t, originals_f, flat_t, flat_f)
        merged = [_merge(f, t) for f, t in zip(flat_f, flat_t, strict=True)]
    return pack_like(originals_t, merged)


def _build_branch(context: CondContext, fn: Callable[[], Any], strict: bool, role: str) -> tuple[Any, list[Any]]:
    """What `fn` returns (the only item of a list or tuple, unless `strict`), and its leaves as tensors of the
    branch."""
    with context.entered():
        original = fn()
        if original is None:
            raise ValueError(f"{role} must have a return value. To do nothing, return tf.no_op().")
        if not strict and isinstance(original, list | tuple) and len(original) == 1:
            original = original[0]
        return original, [_leaf(context, leaf) for leaf in flatten(original)]


def _done(context: CondContext, op: Operation) -> Tensor:
    """An operation that a branch returns stands for the value of `pred`, once it has run."""
    with control_dependencies([op]):
        return identity(context._pivot, name="control_dependency")


def _leaf(context: CondContext, leaf: Any) -> Any:
    if leaf is None:
        raise ValueError("a branch of cond returned None among its values")
    if isinstance(leaf, Operation):
        return _done(context, leaf)
    if isinstance(leaf, IndexedSlices):
        shape = leaf.dense_shape
        return IndexedSlices(_inside(context, leaf.values), _inside(context, leaf.indices),
                             None if shape is None else _inside(context, shape))  # fmt: skip
    if isinstance(leaf, SparseTensor):
        parts = (leaf.indices, leaf.values, leaf.dense_shape)
        return SparseTensor(*(_inside(context, part) for part in parts))
    if hasattr(leaf, "_loop_flow"):  # a TensorArray: its flow says which branch wrote
        return leaf._with_flow(_inside(context, leaf._loop_flow))
    if hasattr(leaf, "_with_parts"):  # a RaggedTensor
        return leaf._with_parts([_inside(context, part) for part in leaf._parts])
    return _inside(context, convert_to_tensor(leaf))


def _inside(context: CondContext, value: Any) -> Tensor:
    """A tensor of the branch; references are read there."""
    tensor = convert_to_tensor(value)
    if tensor.dtype._is_ref_dtype:
        more_nodes(-1)  # TensorFlow merges the references
        return identity(tensor)
    return context.capture(tensor)


def _check_same(original_t: Any, original_f: Any, flat_t: list[Any], flat_f: list[Any]) -> None:
    try:
        tree.assert_same_structure(original_t, original_f)
    except (TypeError, ValueError) as error:
        kind = "types" if isinstance(error, TypeError) else "values"
        raise type(error)(f"Incompatible return {kind} of true_fn and false_fn: {error}") from None
    if not flat_t:
        raise ValueError("true_fn and false_fn must return at least one result.")
    for t, f in zip(flat_t, flat_f, strict=True):
        if type(t) is not type(f) and isinstance(t, Tensor) != isinstance(f, Tensor):
            raise TypeError(
                f"Incompatible return types of true_fn and false_fn: {type(t).__name__}, {type(f).__name__}"
            )
        if hasattr(t, "_with_parts") and t.ragged_rank != f.ragged_rank:
            raise ValueError(f"true_fn and false_fn return ragged ranks {t.ragged_rank} and {f.ragged_rank}")
        if t.dtype.base_dtype != f.dtype.base_dtype:
            raise ValueError(
                "Outputs of true_fn and false_fn must have the same type: "
                f"{t.dtype.base_dtype.name}, {f.dtype.base_dtype.name}"
            )


def _merge(when_false: Any, when_true: Any) -> Any:
    if isinstance(when_false, IndexedSlices):
        shape = None
        if when_false.dense_shape is not None and when_true.dense_shape is not None:
            shape = _merge(when_false.dense_shape, when_true.dense_shape)
        return IndexedSlices(
            _merge(when_false.values, when_true.values), _merge(when_false.indices, when_true.indices), shape
        )
    if isinstance(when_false, SparseTensor):
        return SparseTensor(
            _merge(when_false.indices, when_true.indices),
            _merge(when_false.values, when_true.values),
            _merge(when_false.dense_shape, when_true.dense_shape),
        )
    if hasattr(when_false, "_loop_flow"):
        return when_true._with_flow(_merge(when_false._loop_flow, when_true._loop_flow))
    if hasattr(when_true, "_with_parts"):
        parts = zip(when_false._parts, when_true._parts, strict=True)
        return when_true._with_parts([_merge(f, t) for f, t in parts])
    return get_op("Merge")([when_false, when_true], name="Merge")[0]


@export("case")
def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function of the first true predicate builds, or `default` (TF: tf.case).

    pred_fn_pairs: `(pred, fn)` pairs, or a dict of them. With `exclusive`, the step raises InvalidArgumentError for
    more than one true predicate; without `default`, also for none.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if isinstance(pred_fn_pairs, dict) and not isinstance(pred_fn_pairs, OrderedDict):
        pairs.sort(key=lambda pair: str(getattr(pair[0], "name", "")))  # as TensorFlow does: dicts had no order
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError("pred_fn_pairs must be (pred, callable) pairs")
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    if not pairs:
        if default is None:
            raise ValueError("case needs at least one pair, or a default")
        return default()
    from penstock.ops.logging import Assert

    with name_scope(name, "case", [p for p, _ in pairs]):
        preds = [convert_to_tensor(p, bool_dtype) for p, _ in pairs]
        checks = []
        stacked = get_op("Pack")(preds) if exclusive or default is None else None
        if exclusive:
            count = get_op("Sum")(get_op("Cast")(stacked, DstT="int32"), convert_to_tensor([0]))
            checks.append(Assert(get_op("LessEqual")(count, 1), ["case: more than one condition is true:", stacked]))
        if default is None:
            some = get_op("Any")(stacked, convert_to_tensor([0]))
            checks.append(Assert(some, ["case: none of the conditions is true, and there is no default:", stacked]))
            default = pairs[-1][1]
            preds, pairs = preds[:-1], pairs[:-1]
        fn: Callable[[], Any] = default
        for pred, (_, branch) in reversed(list(zip(preds, pairs, strict=True))):
            fn = _nested(pred, branch, fn, strict)
        with control_dependencies(checks):
            return fn() if pairs else map_structure(identity, fn())


def _nested(pred: Tensor, branch: Callable[[], Any], otherwise: Callable[[], Any], strict: bool) -> Callable[[], Any]:
    return lambda: cond(pred, branch, otherwise, strict=strict)


@export("switch_case")
def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str = "switch_case"
) -> Any:
    """What `branch_fns[branch_index]` builds; out of range, `default` or the last one (TF: tf.switch_case)."""
    fns = dict(branch_fns.items() if isinstance(branch_fns, dict) else enumerate(branch_fns))
    with name_scope(name, "switch_case", [branch_index]):
        index = convert_to_tensor(branch_index, "int32")
        known = constant_value(index)
        if known is not None and int(known) in fns:
            return fns[int(known)]()
        last = default or fns[max(fns)]
        rest = [(get_op("Equal")(index, k), fn) for k, fn in sorted(fns.items()) if fn is not last]
        return case(rest, last, strict=True) if rest else last()
