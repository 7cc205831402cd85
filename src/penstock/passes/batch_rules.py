"""Rules for applying ops to many elements at once: nodes of the same or other ops, on tensors with an additional
dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.graph.constants import constant_value
from penstock.graph.convert import constant
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.traits import shape_class
from penstock.tensor.dtypes import int32
from penstock.tensor.shapes import TensorShape


class CannotBatch(Exception):
    """An op, or one with these inputs or attributes, has no batched form."""


@dataclass(frozen=True, slots=True)
class Batched:
    """The batched form of a tensor: if `batched`, the values for all elements, otherwise the common value.

    shape: what is known about one element's.
    """

    tensor: Tensor
    batched: bool
    shape: TensorShape

    @property
    def rank(self) -> int:
        if self.shape.ndims is None:
            raise CannotBatch("of unknown rank")
        return int(self.shape.ndims)


Rule = Callable[[Operation, Sequence[Batched]], Any]
_RULES: dict[str, Rule] = {}


def batched_outputs(op: Operation, inputs: Sequence[Batched]) -> list[Tensor]:
    """The outputs of `op` for many elements. CannotBatch, or what building nodes raises, where it has no such form."""
    rule = _RULES.get(op.type) or _element_wise_rule(op)
    if rule is None:
        raise CannotBatch(op.type)
    made = rule(op, inputs)
    return _flat(made) if isinstance(made, list | tuple) else [made]


def _flat(made: Any) -> list[Tensor]:
    return [t for item in made for t in (item if isinstance(item, list) else [item])]


def rule(*ops: str) -> Callable[[Rule], Rule]:
    def register(fn: Rule) -> Rule:
        _RULES.update(dict.fromkeys(ops, fn))
        return fn

    return register


def _same(op: Operation, inputs: Sequence[Tensor], **attrs: Any) -> list[Tensor]:
    """A node of the same op, with other inputs or attributes."""
    graph = inputs[0].graph
    return graph.add_node(op.op_def, list(inputs), {**op.attrs, **attrs}, op.name)._outputs


# --- element-wise ops -----------------------------------------------------------------------------------


def _element_wise_rule(op: Operation) -> Rule | None:
    found = shape_class(op.op_def)
    if found is None or not found.element_wise:
        return None
    return _broadcasting if found.kind == "broadcast" else _of_first


def _of_first(op: Operation, inputs: Sequence[Batched]) -> Any:
    """All inputs have the first one's shape, or are settings that are the same for all elements."""
    first, *others = inputs
    for each in others:
        is_setting = not each.batched and each.rank == 0
        if not is_setting and not (each.batched and each.rank == first.rank):
            raise CannotBatch(op.type)
    if not first.batched:
        raise CannotBatch(op.type)
    return _same(op, [each.tensor for each in inputs])


@rule("Equal", "NotEqual", "SelectV2")
def _broadcasting(op: Operation, inputs: Sequence[Batched]) -> Any:
    """Dimensions of size one are inserted after the first dimension of inputs of lower rank."""
    vectors = [each for each in inputs if each.batched or each.shape.ndims != 0]
    if len(vectors) == 1:
        return _same(op, [each.tensor for each in inputs])
    rank = max(each.rank for each in inputs)
    return _same(op, [_of_rank(each, rank) if each.batched else each.tensor for each in inputs])


def _of_rank(each: Batched, rank: int) -> Tensor:
    found = each.tensor
    for _ in range(rank - each.rank):
        found = get_op("ExpandDims")(found, 1)
    return found


@rule("Select")
def _select(op: Operation, inputs: Sequence[Batched]) -> Any:
    """Scalar conditions select whole elements; a vector of conditions selects rows."""
    condition, x, _ = inputs
    if not all(each.batched for each in inputs) or condition.rank not in (0, x.rank):
        raise CannotBatch(op.type)
    return _same(op, [each.tensor for each in inputs])


@rule("ClipByValue")
def _clip(op: Operation, inputs: Sequence[Batched]) -> Any:
    x, *limits = inputs
    if not x.batched or any(each.batched or each.rank for each in limits):
        raise CannotBatch(op.type)
    return _same(op, [each.tensor for each in inputs])


# --- shapes ---------------------------------------------------------------------------------------------


@rule("Shape", "Size", "Rank")
def _shape(op: Operation, inputs: Sequence[Batched]) -> Any:
    """All elements of a block have the same shape."""
    (x,) = inputs
    if op.type == "Rank":
        return constant(x.rank)
    out = op.attrs["out_type"]
    dims = _tail(get_op("Shape")(x.tensor, out_type=out), 1)
    return dims if op.type == "Shape" else get_op("Prod")(dims, 0)


def _tail(vector: Tensor, begin: int) -> Tensor:
    return get_op("StridedSlice")(vector, [begin], [0], [1], end_mask=1)


def _count(x: Tensor, dtype: Any) -> Tensor:
    """The number of elements, as a vector of one."""
    return get_op("StridedSlice")(get_op("Shape")(x, out_type=dtype), [0], [1], [1])


@rule("Reshape")
def _reshape(op: Operation, inputs: Sequence[Batched]) -> Any:
    x, shape = inputs
    if shape.batched:
        raise CannotBatch(op.type)
    whole = get_op("ConcatV2")([_count(x.tensor, shape.tensor.dtype), shape.tensor], 0)
    return _same(op, [x.tensor, whole])


@rule("ExpandDims")
def _expand_dims(op: Operation, inputs: Sequence[Batched]) -> Any:
    return _same(op, [inputs[0].tensor, _moved(inputs[1])])


@rule("Squeeze")
def _squeeze(op: Operation, inputs: Sequence[Batched]) -> Any:
    (x,) = inputs
    dims = op.attrs["squeeze_dims"] or [i for i, size in enumerate(_known(x)) if size == 1]
    return _same(op, [x.tensor], squeeze_dims=[d + 1 if d >= 0 else d for d in dims])


def _known(x: Batched) -> list[int]:
    sizes = x.shape.tuple
    if sizes is None or None in sizes:
        raise CannotBatch("of unknown shape")
    return [int(size) for size in sizes if size is not None]


@rule("EnsureShape")
def _ensure_shape(op: Operation, inputs: Sequence[Batched]) -> Any:
    return _same(op, [inputs[0].tensor], shape=TensorShape([None]).concatenate(op.attrs["shape"]))


@rule("Transpose")
def _transpose(op: Operation, inputs: Sequence[Batched]) -> Any:
    order = _value(inputs[1])
    return _same(op, [inputs[0].tensor, constant(np.concatenate([[0], order + 1]).astype(order.dtype))])


@rule("Tile")
def _tile(op: Operation, inputs: Sequence[Batched]) -> Any:
    times = _value(inputs[1])
    return _same(op, [inputs[0].tensor, constant(np.concatenate([[1], times]).astype(times.dtype))])


@rule("Pad", "PadV2", "MirrorPad")
def _pad(op: Operation, inputs: Sequence[Batched]) -> Any:
    x, paddings, *value = inputs
    amounts = _value(paddings)
    if any(each.batched for each in value):
        raise CannotBatch(op.type)
    whole = np.concatenate([np.zeros((1, 2), amounts.dtype), amounts])
    return _same(op, [x.tensor, constant(whole), *[each.tensor for each in value]])


# --- axes -----------------------------------------------------------------------------------------------


def _value(x: Batched) -> np.ndarray:
    """A setting whose value is statically known."""
    found = None if x.batched else constant_value(x.tensor)
    if found is None:
        raise CannotBatch("by an unknown value")
    return np.asarray(found)


def _moved(axis: Batched) -> Tensor:
    """Converts axes of an element to those of a batch."""
    known = _value(axis)
    return constant(np.where(known >= 0, known + 1, known).astype(known.dtype))


@rule("Max", "Min", "All", "Any")
def _reduce(op: Operation, inputs: Sequence[Batched]) -> Any:
    return _same(op, [inputs[0].tensor, _moved(inputs[1])])


@rule("Sum", "Prod")
def _add_up(op: Operation, inputs: Sequence[Batched]) -> Any:
    """Only for integers: the last bits of float sums depend on the order."""
    if not op._inputs[0].dtype.is_integer:
        raise CannotBatch(op.type)
    return _reduce(op, inputs)


@rule("ArgMax", "ArgMin", "Reverse", "ReverseV2")
def _along(op: Operation, inputs: Sequence[Batched]) -> Any:
    if op.type == "Reverse":
        raise CannotBatch(op.type)
    return _same(op, [inputs[0].tensor, _moved(inputs[1])])


@rule("OneHot")
def _one_hot(op: Operation, inputs: Sequence[Batched]) -> Any:
    if any(each.batched for each in inputs[1:]):
        raise CannotBatch(op.type)
    axis = op.attrs["axis"]
    return _same(op, [each.tensor for each in inputs], axis=axis + 1 if axis >= 0 else axis)


@rule("Pack")
def _pack(op: Operation, inputs: Sequence[Batched]) -> Any:
    axis = op.attrs["axis"]
    return _same(op, _all_batched(op, inputs), axis=axis + 1 if axis >= 0 else axis)


@rule("Unpack")
def _unpack(op: Operation, inputs: Sequence[Batched]) -> Any:
    axis = op.attrs["axis"]
    return _same(op, [inputs[0].tensor], axis=axis + 1 if axis >= 0 else axis)


@rule("ConcatV2")
def _concat(op: Operation, inputs: Sequence[Batched]) -> Any:
    *values, axis = inputs
    return _same(op, [*_all_batched(op, values), _moved(axis)])


def _all_batched(op: Operation, inputs: Sequence[Batched]) -> list[Tensor]:
    """`inputs`, with common values repeated for each element."""
    like = next((each.tensor for each in inputs if each.batched), None)
    if like is None:
        raise CannotBatch(op.type)
    found = []
    for each in inputs:
        if each.batched:
            found.append(each.tensor)
        else:
            ones = constant(np.ones(each.rank, np.int32))
            times = get_op("ConcatV2")([_count(like, int32), ones], 0)
            found.append(get_op("Tile")(get_op("ExpandDims")(each.tensor, 0), times))
    return found


@rule("Split")
def _split(op: Operation, inputs: Sequence[Batched]) -> Any:
    return _same(op, [_moved(inputs[0]), inputs[1].tensor])


@rule("StridedSlice")
def _strided_slice(op: Operation, inputs: Sequence[Batched]) -> Any:
    """The whole first dimension, then as before."""
    x, *settings = inputs
    begin, end, strides = map(_value, settings)
    masks = {name: int(op.attrs[name]) << 1 for name in op.attrs if name.endswith("_mask")}
    masks["begin_mask"] |= 1
    masks["end_mask"] |= 1
    vectors = [
        constant(np.concatenate([[first], v]).astype(v.dtype))
        for first, v in zip((0, 0, 1), (begin, end, strides), strict=True)
    ]
    return _same(op, [x.tensor, *vectors], **masks)


@rule("Slice")
def _slice(op: Operation, inputs: Sequence[Batched]) -> Any:
    begin, size = map(_value, inputs[1:])
    parts = [
        constant(np.concatenate([[first], v]).astype(v.dtype)) for first, v in zip((0, -1), (begin, size), strict=True)
    ]
    return _same(op, [inputs[0].tensor, *parts])


@rule("Gather", "GatherV2", "ResourceGather")
def _gather(op: Operation, inputs: Sequence[Batched]) -> Any:
    """Only from a common table, by each element's indices."""
    params, indices, *axis = inputs
    if params.batched or not indices.batched or (axis and _value(axis[0]) != 0) or op.attrs.get("batch_dims"):
        raise CannotBatch(op.type)
    return _same(op, [each.tensor for each in inputs])


@rule("LookupTableFindV2")
def _look_up(op: Operation, inputs: Sequence[Batched]) -> Any:
    table, keys, default = inputs
    if default.batched or default.rank or not keys.batched:
        raise CannotBatch(op.type)
    return _same(op, [table.tensor, keys.tensor, default.tensor])


# --- text -----------------------------------------------------------------------------------------------


@rule("DecodeRaw", "DecodeCSV")
def _decode(op: Operation, inputs: Sequence[Batched]) -> Any:
    """For strings of any shape. If raw strings differ in length, it is an error, and elements are computed one by
    one."""
    if not inputs[0].batched or any(each.batched for each in inputs[1:]):
        raise CannotBatch(op.type)
    return _same(op, [each.tensor for each in inputs])


@rule("ParseSingleExample")
def _parse_single_example(op: Operation, inputs: Sequence[Batched]) -> Any:
    """Only for dense features of known shapes: others differ between examples."""
    serialized, *defaults = inputs
    shapes = op.attrs["dense_shapes"]
    if op.attrs["num_sparse"] or any(each.batched for each in defaults):
        raise CannotBatch(op.type)
    if any(not shape.is_fully_defined() for shape in shapes):
        raise CannotBatch(op.type)
    *_, dense = get_op("ParseExample")(
        serialized.tensor,
        constant(np.array([], object)),
        [],
        [constant(key) for key in op.attrs["dense_keys"]],
        [each.tensor for each in defaults],
        sparse_types=[],
        Tdense=op.attrs["Tdense"],
        dense_shapes=shapes,
    )
    return list(dense)
