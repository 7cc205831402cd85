"""Static shapes: what is known about a tensor's shape before it is computed.

A `TensorShape` keeps a plain tuple of sizes, None if a size is unknown, or None instead of the tuple if even the rank
is unknown. `Dimension` objects, which TensorFlow 1.x shows its users, are made only when someone asks for one; code
inside Penstock reads `shape.tuple`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast, overload

import numpy as np
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from penstock.export import export

Dims = tuple[int | None, ...] | None
"""The sizes of a shape; None is a shape of unknown rank."""

DimensionLike = Any  # int | None | Dimension | anything with __index__
ShapeLike = Any  # TensorShape | None | int | Dimension | Iterable[DimensionLike] | TensorShapeProto


def _size(value: DimensionLike) -> int | None:
    if value is None:
        return None
    if type(value) is Dimension:
        return value._value
    try:
        size = operator.index(value)
    except TypeError:
        size = _whole(value)
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return int(size)


def _whole(value: DimensionLike) -> int:
    """What `int` makes of a size that a program computed by "/", or read from its command line."""
    from penstock.tensor.dtypes import DType  # which imports torch; `penstock run` knows shapes without it

    try:
        if isinstance(value, DType):
            raise TypeError
        number = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
        size = int(number)
    except TypeError:
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, "
            f"got value {value!r} with type {type(value)!r}"
        ) from None
    if not isinstance(value, (str, bytes)) and size != number:
        raise ValueError(f"Ambiguous dimension: {value}")
    return size


@export("Dimension")
class Dimension:
    """One size of a shape, perhaps unknown.

    Arithmetic with an unknown size gives an unknown size, and comparison with one gives None. Like
    TensorFlow's, a `Dimension` has no hash.
    """

    __slots__ = ("_value",)

    _value: int | None

    def __init__(self, value: DimensionLike) -> None:
        self._value = _size(value)

    @property
    def value(self) -> int | None:
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __format__(self, spec: str) -> str:
        """As the number is: programs that are also for TensorFlow 2, whose sizes are ints, write f"{size:,}"."""
        return format(str(self) if self._value is None else self._value, spec)

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError("An unknown Dimension has no integer value")
        return self._value

    # Like TensorFlow's, it is always true: that of 0, and that which is not known, too.

    # mypy wants a bool from == and !=; TensorFlow's answer for an unknown size is None.
    def __eq__(self, other: object) -> bool | None:  # type: ignore[override]
        try:
            value = _size(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or value is None:
            return None
        return self._value == value

    def __ne__(self, other: object) -> bool | None:  # type: ignore[override]
        equal = self.__eq__(other)
        return equal if equal is None or equal is NotImplemented else not equal

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: DimensionLike) -> bool | None:
        value = _size(other)
        return None if self._value is None or value is None else self._value < value

    def __le__(self, other: DimensionLike) -> bool | None:
        value = _size(other)
        return None if self._value is None or value is None else self._value <= value

    def __gt__(self, other: DimensionLike) -> bool | None:
        value = _size(other)
        return None if self._value is None or value is None else self._value > value

    def __ge__(self, other: DimensionLike) -> bool | None:
        value = _size(other)
        return None if self._value is None or value is None else self._value >= value

    def __add__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.add, self, other)

    def __radd__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.add, other, self)

    def __sub__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.sub, self, other)

    def __rsub__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.sub, other, self)

    def __mul__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.mul, self, other)

    def __rmul__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.mul, other, self)

    def __floordiv__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.floordiv, self, other)

    def __rfloordiv__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.floordiv, other, self)

    def __mod__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.mod, self, other)

    def __rmod__(self, other: DimensionLike) -> Dimension:
        return _arithmetic(operator.mod, other, self)

    def __div__(self, other: DimensionLike) -> Dimension:
        """Python 2's `/` (TF: Dimension.__div__)."""
        return self // other

    def __truediv__(self, other: object) -> Dimension:
        raise TypeError(_NO_TRUE_DIVISION.format("Dimension", type(other).__name__))

    def __rtruediv__(self, other: object) -> Dimension:
        raise TypeError(_NO_TRUE_DIVISION.format(type(other).__name__, "Dimension"))

    def is_compatible_with(self, other: DimensionLike) -> bool:
        """Whether both can be the same size: they are equal or one is unknown."""
        value = _size(other)
        return self._value is None or value is None or self._value == value

    def assert_is_compatible_with(self, other: DimensionLike) -> None:
        """Raises ValueError, naming both sizes, unless they are compatible."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {as_dimension(other)} are not compatible")

    def merge_with(self, other: DimensionLike) -> Dimension:
        """The known one of two compatible sizes. Raises ValueError if they differ."""
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self._value)


_NO_TRUE_DIVISION = "unsupported operand type(s) for /: '{}' and '{}', please use // instead"


def _arithmetic(function: Callable[[int, int], int], left: DimensionLike, right: DimensionLike) -> Dimension:
    try:
        a, b = _size(left), _size(right)
    except (TypeError, ValueError):
        return cast("Dimension", NotImplemented)
    return Dimension(None if a is None or b is None else function(a, b))


@export("TensorShape")
class TensorShape:
    """The shape of a tensor, as far as it is known. Immutable and hashable.

    Like TensorFlow 1.x's, shapes with unknown sizes are equal only if the sizes are the same `Dimension` objects: those
    of one shape, or of slices of it. Code inside Penstock compares the tuples.
    """

    __slots__ = ("_dims", "_objects")

    _dims: Dims
    _objects: list[Dimension] | None  # made when a program asks for them

    def __init__(self, dims: ShapeLike) -> None:
        kind = type(dims)
        self._objects = None
        if dims is None:
            self._dims = None
        elif kind is tuple or kind is list:
            self._dims = tuple([d if d is None or (type(d) is int and d >= 0) else _size(d) for d in dims])
        elif isinstance(dims, TensorShape):
            self._dims, self._objects = dims._dims, dims.dims
        elif isinstance(dims, TensorShapeProto):
            self._dims = (
                None if dims.unknown_rank else tuple([None if dim.size == -1 else _size(dim.size) for dim in dims.dim])
            )
        else:
            self._dims = _sizes(dims)

    @property
    def tuple(self) -> Any:
        """The sizes as a tuple of ints, None if unknown; None for an unknown rank.

        Typed Any because shape rules check the rank first, in ways that a type checker cannot follow.
        """
        return self._dims

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes as `Dimension` objects; None for an unknown rank."""
        if self._objects is None and self._dims is not None:
            self._objects = [Dimension(d) for d in self._dims]
        return self._objects

    @property
    def rank(self) -> Any:
        """The number of dimensions; None if unknown. Typed Any for the same reason as `tuple`."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> Any:
        """TensorFlow's older name of `rank`."""
        return None if self._dims is None else len(self._dims)

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        """Whether the rank is known, so a scalar's shape is true."""
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self.dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims)

    @overload
    def __getitem__(self, key: int) -> Dimension: ...

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...

    def __getitem__(self, key: int | slice) -> Dimension | TensorShape:
        """A size, or the shape of a slice. If the rank is unknown, so is whatever the key does not determine."""
        sizes = self.dims
        if sizes is not None:
            return _shape_of_objects(sizes[key]) if isinstance(key, slice) else sizes[key]
        if not isinstance(key, slice):
            return Dimension(None)
        if key.step is not None:
            raise ValueError("Cannot take a slice with a step of a shape with unknown rank.")
        start = 0 if key.start is None else operator.index(key.start)
        stop = None if key.stop is None else operator.index(key.stop)
        if stop is None or start < 0 or stop < 0:
            return unknown_shape()
        return unknown_shape(max(0, stop - start))

    def __add__(self, other: ShapeLike) -> TensorShape:
        try:
            other = as_shape(other)
        except TypeError:
            return NotImplemented
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        try:
            first = as_shape(other)
        except TypeError:
            return NotImplemented
        return first.concatenate(self)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same known sizes, and the same objects as unknown ones.

        Raises ValueError where `other` has numbers that are no sizes.
        """
        try:
            second = as_shape(other)
        except TypeError:
            return NotImplemented
        if self is second or self._dims != second._dims:
            return self is second
        if self._dims is None or None not in self._dims:
            return True
        return all(a is b or a._value is not None for a, b in zip(self, second, strict=True))

    def __ne__(self, other: object) -> bool:
        """Whether shapes are not equal. Raises ValueError for unknown ranks, and where `__eq__` does."""
        try:
            second = as_shape(other)
        except TypeError:
            return NotImplemented
        if self._dims is None or second._dims is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return not self == second

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        sizes = ["?" if d is None else str(d) for d in self._dims]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __repr__(self) -> str:
        return f"TensorShape({self.dims!r})"

    def as_list(self) -> list[int | None]:
        """Raises ValueError for an unknown rank."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> TensorShapeProto:
        if self._dims is None:
            return TensorShapeProto(unknown_rank=True)
        return TensorShapeProto(dim=[TensorShapeProto.Dim(size=-1 if d is None else d) for d in self._dims])

    def num_elements(self) -> int | None:
        """The product of the sizes; None if any is unknown."""
        if self._dims is None:
            return None
        product = 1
        for d in self._dims:
            if d is None:
                return None
            product *= d
        return product

    def is_fully_defined(self) -> bool:
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError, naming the shape, if any part of it is unknown."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether one tensor can have both shapes."""
        a, b = self._dims, as_shape(other)._dims
        if a is None or b is None:
            return True
        return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ValueError, naming both shapes, unless they are compatible."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """What the two shapes say together. Raises ValueError, naming both, if they contradict each other."""
        second = as_shape(other)
        if not self.is_compatible_with(second):
            raise ValueError(f"Shapes {self} and {second} are not compatible: {self._difference(second)}")
        a, b = self._dims, second._dims
        if a is None:
            return second
        if b is None:
            return self
        return shape_of(tuple([y if x is None else x for x, y in zip(a, b, strict=True)]))

    def _difference(self, other: TensorShape) -> str:
        """How two shapes contradict each other."""
        a, b = self._dims or (), other._dims or ()
        if len(a) != len(b):
            return f"they must be equal rank, but are {len(a)} and {len(b)}"
        axis = next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if None not in (x, y) and x != y)
        return f"dimension {axis} in both shapes must be equal, but are {a[axis]} and {b[axis]}"

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """What both shapes agree on: sizes that differ become unknown, and so does the rank."""
        a, b = self._dims, as_shape(other)._dims
        if a is None or b is None or len(a) != len(b):
            return unknown_shape()
        return shape_of(tuple([x if x == y else None for x, y in zip(a, b, strict=True)]))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """This shape's sizes, then the other's; of unknown rank if either is."""
        a, b = self._dims, as_shape(other)._dims
        return unknown_shape() if a is None or b is None else shape_of(a + b)

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises ValueError, naming both shapes, if both ranks are known and differ."""
        other = as_shape(other)
        if self._dims is not None and other._dims is not None and len(self._dims) != len(other._dims):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def _misfit(self, be: str, have: str) -> str:
        """As operations say it, then as TensorShape does: programs' tests look for either."""
        return f"Shape must be {be} but is rank {len(self._dims or ())}: Shape {self} must have {have}"

    def assert_has_rank(self, rank: int | None) -> None:
        """Raises ValueError if the rank is known and different."""
        if self._dims is not None and rank is not None and len(self._dims) != rank:
            raise ValueError(self._misfit(f"rank {rank}", f"rank {rank}"))

    def with_rank(self, rank: int | None) -> TensorShape:
        """This shape with its rank filled in. Raises ValueError if its rank is known and different."""
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError if it is known to have a lower rank."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(self._misfit(f"at least rank {rank}", f"rank at least {rank}"))
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError if it is known to have a higher rank."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(self._misfit(f"at most rank {rank}", f"rank at most {rank}"))
        return self


def _sizes(value: Iterable[DimensionLike] | DimensionLike) -> Dims:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"Cannot convert {value!r} to a shape.")
    try:
        members = iter(value)
    except TypeError:
        return (_size(value),)
    return tuple([_size(d) for d in members])


def shape_of(dims: Dims) -> TensorShape:
    """A `TensorShape` around `dims`, unchecked: they are None, or a tuple of non-negative ints and Nones."""
    shape = TensorShape.__new__(TensorShape)
    shape._dims = dims
    shape._objects = None
    return shape


def _shape_of_objects(sizes: list[Dimension]) -> TensorShape:
    shape = shape_of(tuple([d._value for d in sizes]))
    shape._objects = sizes
    return shape


def as_shape(shape: ShapeLike) -> TensorShape:
    """The argument itself if it is a `TensorShape`."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None, ndims: int | None = None) -> TensorShape:
    """A shape of which at most the rank is known (`ndims` is its old name)."""
    rank = ndims if rank is None else rank
    return shape_of(None if rank is None else (None,) * rank)


def same_sizes(a: TensorShape | None, b: TensorShape | None) -> bool:
    """Whether both are known to the same extent and agree. (`==` is what programs are told: see `TensorShape`.)"""
    return a is b or (a is not None and b is not None and a._dims == b._dims)


def scalar() -> TensorShape:
    return shape_of(())


def vector(length: DimensionLike) -> TensorShape:
    return TensorShape((length,))


def matrix(rows: DimensionLike, cols: DimensionLike) -> TensorShape:
    return TensorShape((rows, cols))


def as_dimension(value: DimensionLike) -> Dimension:
    """The argument itself if it is a `Dimension`."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: DimensionLike) -> Any:
    """The int or None inside a `Dimension`; anything else is returned unchanged."""
    return dimension._value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """The size at `index`, unknown if the rank is."""
    return shape[index]


def broadcast_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """The shape of an elementwise result, by NumPy's rules.

    An unknown size combined with a size above 1 must turn out to be equal or 1, so the result is known; combined with 0
    or 1 it stays unknown. Raises ValueError, naming both shapes, if they cannot be broadcast.
    """
    x, y = a._dims, b._dims
    if x is None or y is None:
        return unknown_shape()
    if x == y:
        return a
    short, long = (x, y) if len(x) <= len(y) else (y, x)
    lead = len(long) - len(short)
    sizes = list(long[:lead])
    for s, t in zip(short, long[lead:], strict=True):
        if s == t or s == 1:
            sizes.append(t)
        elif t == 1:
            sizes.append(s)
        elif s is None:
            sizes.append(t if t else None)
        elif t is None:
            sizes.append(s if s else None)
        else:
            raise ValueError(
                f"Incompatible shapes for broadcasting: {a} and {b}. Dimensions must be equal, but are {s} and {t}"
            )
    return shape_of(tuple(sizes))


def adds_nothing(small: TensorShape, large: TensorShape) -> bool:
    """Whether broadcasting against `small` certainly leaves the shape of `large` unchanged, as far as both are
    known."""
    a, b = small._dims, large._dims
    if a == ():
        return True
    if a is None or b is None or len(a) > len(b):
        return False
    return all(s == 1 or (s is not None and s == d) for s, d in zip(reversed(a), reversed(b), strict=False))


def merge_dim(a: int | None, b: int | None, what: str) -> int | None:
    """The known one of two sizes that must agree. Raises ValueError, with both and `what`, if they differ."""
    if a is None or a == b:
        return b
    if b is None:
        return a
    raise ValueError(f"Dimensions must be equal, but {what} are {a} and {b}")
