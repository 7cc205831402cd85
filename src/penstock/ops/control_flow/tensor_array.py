"""`TensorArray`: an array of tensors, written and read one at a time in loops (TF: tf.TensorArray)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, counted_as, more_nodes, name_scope
from penstock.ops import tensor_array as ops
from penstock.ops.array import shape
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.sequences import range as range_
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape


class _Known:
    """What is known about the elements' shape, shared by all `TensorArray` objects of one array."""

    def __init__(self, shape: TensorShape) -> None:
        self.shape = shape


@export("TensorArray")
class TensorArray:
    """An array of tensors of one dtype that lives for one step (TF: tf.TensorArray).

    Methods that write return the array *after* the write, which must be used from then on: each has a `flow`, which
    orders ops on the array and connects gradients. It can be a loop variable of `tf.while_loop`.

    Each element is written once and, with `clear_after_read`, read once. With `infer_shape` all have the same shape.
    `colocate_with_first_write_call` has no effect: the client does not control where the array is.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        """A new array of `size` elements (an int32 scalar), or with `handle` another view of an existing one.

        dynamic_size: whether writing beyond the end makes it grow. element_shape: what all elements' shapes
        have in common. Raises ValueError or TypeError for conflicting arguments.
        """
        if handle is not None:
            given = {"tensor_array_name": tensor_array_name, "size": size, "dynamic_size": dynamic_size}
            for argument, value in {**given, "clear_after_read": clear_after_read}.items():
                if value is not None:
                    raise ValueError(f"Cannot provide both a handle and {argument} at the same time")
            if element_shape is not None:
                raise ValueError("Cannot provide both a handle and element_shape at the same time")
        elif size is None:
            raise ValueError("Size must be provided if handle is not provided")
        elif flow is not None:
            raise ValueError("Cannot provide a flow tensor unless handle is also provided")
        self._dtype = as_dtype(dtype).base_dtype
        self._known = _Known(TensorShape(element_shape))
        self._infer_shape = infer_shape
        self._dynamic = dynamic_size or False
        self._size = size
        if handle is not None:
            self._handle = handle
            self._flow = convert_to_tensor(0.0, name="flow") if flow is None else flow
            return
        with name_scope(name, "TensorArray", [size]) as scope:
            self._handle, self._flow = ops.TENSOR_ARRAY_V3(
                size,
                dtype=self._dtype,
                element_shape=self._known.shape,
                dynamic_size=self._dynamic,
                clear_after_read=True if clear_after_read is None else clear_after_read,
                identical_element_shapes=infer_shape,
                tensor_array_name=tensor_array_name or "",
                name=scope,
            )

    # --- properties -----------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The dtype of all elements."""
        return self._dtype

    @property
    def handle(self) -> Tensor:
        """The reference to the array, a resource."""
        return self._handle

    @property
    def flow(self) -> Tensor:
        """A scalar that is available once all writes up to this `TensorArray` are done."""
        return self._flow

    @property
    def element_shape(self) -> TensorShape:
        """What is known about the shape of all elements."""
        return self._known.shape

    @property
    def dynamic_size(self) -> bool:
        """Whether writing beyond the end makes the array grow."""
        return self._dynamic

    @property
    def graph(self) -> Any:
        return self._handle.graph

    def __repr__(self) -> str:
        name, dtype = self._handle.op.name, self._dtype.name
        return f"<tf.TensorArray {name!r} dtype={dtype} element_shape={self.element_shape}>"

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, int32 []."""
        if not self._dynamic and self._size is not None:
            return convert_to_tensor(self._size, "int32")
        return ops.TENSOR_ARRAY_SIZE_V3(self._handle, self._flow, name=name)

    # --- as a loop variable ---------------------------------------------------------------------------

    @property
    def _loop_flow(self) -> Tensor:
        """The loop variable for this array."""
        return self._flow

    def _with_flow(self, flow: Tensor) -> TensorArray:
        """The same array at a different time."""
        after = object.__new__(TensorArray)
        after.__dict__.update(self.__dict__)
        after._flow = flow
        return after

    def identity(self) -> TensorArray:
        """This array, after the current control dependencies."""
        return self._with_flow(identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array of gradients that belongs to `source`, the same in all calls for it.

        Values written to the same index are added. From now on this array does not grow.
        """
        with name_scope(name, "TensorArrayGrad", [self._handle]):
            flow = self._flow if flow is None else flow
            handle, _ = ops.TENSOR_ARRAY_GRAD_V3(self._handle, flow, source=source)
            with control_dependencies([handle]):
                flow = identity(flow, name="gradient_flow")
            grad = TensorArray(self._dtype, handle=handle, flow=flow, infer_shape=self._infer_shape)
            grad._known = self._known
            return grad

    # --- reading --------------------------------------------------------------------------------------

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at `index` (int32 []). The step raises InvalidArgumentError if there is none."""
        value = ops.TENSOR_ARRAY_READ_V3(self._handle, index, self._flow, dtype=self._dtype, name=name)
        return self._shaped(value, self.element_shape)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, [size, ...]; they must have the same shape."""
        with name_scope(name, "TensorArrayStack", [self._handle]):
            with counted_as(1):  # TensorFlow asks the array
                size = self.size()
            return self.gather(range_(0, size))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at `indices` (int32 [n]), stacked, [n, ...]."""
        value = ops.TENSOR_ARRAY_GATHER_V3(
            self._handle, indices, self._flow, dtype=self._dtype, element_shape=self.element_shape, name=name
        )
        return self._shaped(value, TensorShape([None]).concatenate(self.element_shape))

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, concatenated along their first dimension, the only one in which they may differ."""
        dims = self.element_shape.tuple
        except0 = TensorShape(None if not dims else dims[1:])
        value, _ = ops.TENSOR_ARRAY_CONCAT_V3(
            self._handle, self._flow, dtype=self._dtype, element_shape_except0=except0, name=name
        )
        count = None if self._dynamic or self._size is None else ops.known_size(self._size)
        if count is not None and dims and dims[0] is not None:
            value.set_shape(TensorShape([count * dims[0]]).concatenate(except0))
        return value

    def _shaped(self, value: Tensor, shape: TensorShape) -> Tensor:
        value.set_shape(shape)
        return value

    # --- writing --------------------------------------------------------------------------------------

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """This array after writing `value` to `index` (int32 []). Raises ValueError for an invalid shape."""
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = convert_to_tensor(value, self._dtype, name="value")
            self._learn(value.shape)
            return self._with_flow(ops.TENSOR_ARRAY_WRITE_V3(self._handle, index, value, self._flow))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """This array after writing the rows of `value` to the indices from 0 on."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            value = convert_to_tensor(value, self._dtype, name="value")
            rows = _rows(value)
            more_nodes(4 if isinstance(rows, int) else 0)  # TensorFlow takes it from the shape
            return self.scatter(range_(0, rows), value)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """This array after writing row i of `value` to `indices[i]` (int32 [n])."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = convert_to_tensor(value, self._dtype, name="value")
            flow = ops.TENSOR_ARRAY_SCATTER_V3(self._handle, indices, value, self._flow)
            self._learn(value.shape[1:])
            return self._with_flow(flow)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """This array after setting its elements to parts of `value` with `lengths` (ints [size]) rows each."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = convert_to_tensor(value, self._dtype, name="value")
            lengths = convert_to_tensor(lengths)
            if lengths.dtype.name != "int64":
                lengths = cast(lengths, "int64")
            flow = ops.TENSOR_ARRAY_SPLIT_V3(self._handle, value, lengths, self._flow)
            if value.shape.ndims is not None:
                self._learn(TensorShape([_one_length(lengths)]).concatenate(value.shape[1:]))
            return self._with_flow(flow)

    def _learn(self, shape: TensorShape) -> None:
        """Record that elements have `shape`, if all have one. Raises ValueError if others have a different one, or if
        it does not fit the shape that all were said to have."""
        if not self.element_shape.is_compatible_with(shape):
            raise ValueError(
                f"Inconsistent shapes: saw {shape} but expected {self.element_shape} (infer_shape={self._infer_shape})"
            )
        if self._infer_shape:
            self._known.shape = self.element_shape.merge_with(shape)

    # --- the end --------------------------------------------------------------------------------------

    def close(self, name: str | None = None) -> Operation:
        """An operation that frees all elements; the array cannot be used afterwards."""
        return ops.TENSOR_ARRAY_CLOSE_V3(self._handle, name=name)

    pack = stack
    unpack = unstack


def _rows(value: Tensor) -> Any:
    known = value.shape.tuple
    return known[0] if known and known[0] is not None else shape(value)[0]


def _one_length(lengths: Tensor) -> int | None:
    """The length of all parts, if it is the same and known now."""
    known = constant_value(lengths)
    return int(known[0]) if known is not None and len(known) and (known == known[0]).all() else None
