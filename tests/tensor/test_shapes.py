"""Static shapes: dimensions, shapes, and the rules that join them."""

from __future__ import annotations

import copy
import operator
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from penstock.tensor import shapes
from penstock.tensor.dtypes import float32
from penstock.tensor.shapes import Dimension, TensorShape, broadcast_shape, merge_dim, shape_of

S = TensorShape
D = Dimension


# ---- Dimension


def test_sizes_are_formatted_as_numbers() -> None:
    assert (f"{D(1234):,}", f"{D(7):>3d}", f"{D(7)}", f"{D(None)}") == ("1,234", "  7", "7", "?")


@pytest.mark.parametrize(
    ("function", "left", "right", "value"),
    [
        (operator.add, 3, 4, 7),
        (operator.sub, 10, 3, 7),
        (operator.mul, 3, 4, 12),
        (operator.floordiv, 7, 2, 3),
        (operator.mod, 9, 4, 1),
    ],
)
def test_dimensions_calculate_on_either_side_of_an_int(
    function: Callable[..., Any], left: int, right: int, value: int
) -> None:
    for result in (function(D(left), right), function(left, D(right)), function(D(left), D(right))):
        assert type(result) is Dimension
        assert result.value == value
    for unknown in (function(D(left), None), function(None, D(right)), function(D(None), D(right))):
        assert type(unknown) is Dimension
        assert unknown.value is None


def test_dimensions_refuse_true_division_and_foreign_operands() -> None:
    with pytest.raises(TypeError, match="'Dimension' and 'int', please use // instead"):
        D(4) / 2
    with pytest.raises(TypeError, match="'int' and 'Dimension', please use // instead"):
        4 / D(2)
    for foreign in ("a", 2.5, -1, [2]):
        with pytest.raises(TypeError, match="unsupported operand"):
            D(4) + foreign
    with pytest.raises(ValueError, match="Dimension -2 must be >= 0"):
        D(3) - 5


def test_comparing_with_an_unknown_dimension_gives_none() -> None:
    functions = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
    for function in functions:
        assert function(D(3), None) is None
        assert function(D(None), D(3)) is None
        assert function(D(None), D(None)) is None
    assert [f(D(3), 4) for f in functions] == [False, True, True, True, False, False]
    assert [f(D(4), D(4)) for f in functions] == [True, False, False, True, False, True]


def test_a_dimension_equals_only_integers() -> None:
    for other in ("a", 3.5, object(), -1):
        assert (D(3) == other) is False
        assert (D(3) != other) is True
    for equal in (np.int32(3), 3.0, "3"):
        assert (D(3) == equal) is True


def test_dimensions_are_made_of_whole_numbers_and_nothing_else() -> None:
    assert D(D(3)).value == 3
    assert D(D(None)).value is None
    assert type(D(np.int64(3)).value) is int
    with pytest.raises(ValueError, match="Dimension -1 must be >= 0"):
        D(-1)
    for whole in (3.0, np.float32(3), "3", np.array([3])):
        assert type(D(whole).value) is int
        assert D(whole).value == 3
    for error, bad in ((TypeError, [3]), (TypeError, float32), (TypeError, object()), (ValueError, "a")):
        with pytest.raises(error):
            D(bad)
    with pytest.raises(ValueError, match=r"Ambiguous dimension: 2\.5"):
        D(2.5)


def test_a_known_dimension_is_an_integer_to_python_and_numpy() -> None:
    assert int(D(3)) == 3
    assert range(10)[D(3)] == 3
    assert np.zeros([D(2), 3]).shape == (2, 3)
    assert float(D(3)) == 3.0
    for function in (int, lambda d: range(10)[d]):
        with pytest.raises(TypeError):
            function(D(None))
    with pytest.raises(TypeError, match="unhashable"):
        hash(D(3))


def test_a_dimension_is_always_true() -> None:
    assert [bool(D(v)) for v in (3, 0, None)] == [True, True, True]


def test_dimensions_merge_when_they_can_be_equal() -> None:
    assert D(3).merge_with(None).value == 3
    assert D(None).merge_with(4).value == 4
    assert D(3).is_compatible_with(None)
    assert not D(3).is_compatible_with(4)
    for method in (D(3).merge_with, D(3).assert_is_compatible_with):
        with pytest.raises(ValueError, match="Dimensions 3 and 4 are not compatible"):
            method(4)


def test_dimensions_print_as_tensorflow_prints_them() -> None:
    assert (str(D(4)), str(D(None))) == ("4", "?")
    assert (repr(D(4)), repr(D(None))) == ("Dimension(4)", "Dimension(None)")


# ---- TensorShape: construction and printing


def _name(value: object) -> str:
    """The same in every process."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ([], ()),
        (3, (3,)),
        (D(3), (3,)),
        (D(None), (None,)),
        ([2, None], (2, None)),
        ((D(2), None, D(None)), (2, None, None)),
        (S([2, None]), (2, None)),
        (torch.Size([2, 3]), (2, 3)),
        (np.array([2, 3]), (2, 3)),
        (range(3), (0, 1, 2)),
        ((d for d in (4, 5)), (4, 5)),
        ([np.int64(2), True], (2, 1)),
        (["12", None], (12, None)),
    ],
    ids=_name,
)
def test_a_shape_is_made_from(value: Any, expected: tuple[int | None, ...] | None) -> None:
    sizes = S(value).tuple
    assert sizes == expected
    assert all(type(d) in (int, type(None)) for d in sizes or ())


@pytest.mark.parametrize("value", ["12", b"12", [[1]], object(), float32], ids=_name)
def test_a_shape_is_not_made_from(value: Any) -> None:
    with pytest.raises(TypeError):
        S(value)


@pytest.mark.parametrize("value", [[2.5], 2.5, ["a"]], ids=_name)
def test_a_shape_is_not_made_from_numbers_that_are_not_whole(value: Any) -> None:
    with pytest.raises(ValueError, match=r"Ambiguous dimension: 2\.5|invalid literal"):
        S(value)


@pytest.mark.parametrize("value", [[-1, 2], -2, (d for d in (3, -1)), np.array([-1])], ids=_name)
def test_negative_sizes_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"Dimension -[12] must be >= 0"):
        S(value)


@pytest.mark.parametrize("value", [None, [], [2, None], [0]], ids=repr)
def test_a_shape_survives_its_proto_copying_and_pickling(value: Any) -> None:
    shape = S(value)
    for twin in (
        S(shape.as_proto()),
        copy.copy(shape),
        copy.deepcopy(shape),
        pickle.loads(pickle.dumps(shape)),
    ):
        assert twin.tuple == shape.tuple


def test_an_unknown_size_is_minus_one_in_a_proto() -> None:
    proto = S([2, None]).as_proto()
    assert proto == TensorShapeProto(dim=[TensorShapeProto.Dim(size=2), TensorShapeProto.Dim(size=-1)])
    assert S(None).as_proto() == TensorShapeProto(unknown_rank=True)
    with pytest.raises(ValueError, match="Dimension -2 must be >= 0"):
        S(TensorShapeProto(dim=[TensorShapeProto.Dim(size=-2)]))


def test_shapes_print_as_tensorflow_prints_them() -> None:
    assert [str(S(v)) for v in (None, [], [3], [None, 10])] == ["<unknown>", "()", "(3,)", "(?, 10)"]
    assert repr(S([None, 10])) == "TensorShape([Dimension(None), Dimension(10)])"
    assert (repr(S(None)), repr(S([]))) == ("TensorShape(None)", "TensorShape([])")


def test_a_shape_cannot_be_changed_through_its_public_names() -> None:
    shape = S([2])
    for name in ("tuple", "dims", "rank", "ndims", "other"):
        with pytest.raises(AttributeError):
            setattr(shape, name, (3,))
    dims = shape.dims
    assert dims is not None
    dims.append(D(4))
    assert shape == [2]


# ---- TensorShape: reading


def test_rank_and_length_of_known_and_unknown_shapes() -> None:
    assert (S([2, 3]).rank, S([2, 3]).ndims, len(S([2, 3]))) == (2, 2, 2)
    assert (S(None).rank, S(None).ndims, S(None).dims) == (None, None, None)
    assert S([])
    assert not S(None)
    with pytest.raises(ValueError, match="length of shape with unknown rank"):
        len(S(None))
    with pytest.raises(ValueError, match="iterate over a shape with unknown rank"):
        iter(S(None))


def test_iteration_and_indexing_give_dimensions_and_slices_give_shapes() -> None:
    shape = S([1, None, 3])
    assert [type(d) for d in shape] == [Dimension] * 3
    assert [d.value for d in shape] == [1, None, 3]
    assert shape.dims is not None
    assert [d.value for d in shape.dims] == [1, None, 3]
    assert type(shape[0]) is Dimension
    assert shape[-1].value == 3
    assert type(shape[1:]) is TensorShape
    assert shape[1:].tuple == (None, 3)
    assert shape[::2].tuple == (1, 3)
    with pytest.raises(IndexError):
        shape[3]
    assert np.zeros(S([2, 3])).shape == (2, 3)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (slice(1, None), None),
        (slice(None), None),
        (slice(1, 3), (None, None)),
        (slice(None, 2), (None, None)),
        (slice(3, 1), ()),
        (slice(None, -1), None),
        (slice(-2, None), None),
    ],
)
def test_a_slice_of_an_unknown_rank_is_known_when_its_ends_are(key: slice, expected: Any) -> None:
    assert S(None)[key].tuple == expected


def test_an_unknown_rank_gives_unknown_sizes_and_takes_no_step() -> None:
    assert S(None)[5].value is None
    with pytest.raises(ValueError, match="step"):
        S(None)[0:4:2]


def test_num_elements_is_the_product_of_known_sizes() -> None:
    assert [S(v).num_elements() for v in ([2, 3], [], [0, 4], [None], None)] == [6, 1, 0, None, None]


def test_only_shapes_without_unknowns_are_fully_defined() -> None:
    assert [S(v).is_fully_defined() for v in ([2, 3], [], [2, None], None)] == [True, True, False, False]
    S([0]).assert_is_fully_defined()
    with pytest.raises(ValueError, match=r"Shape \(\?,\) is not fully defined"):
        S([None]).assert_is_fully_defined()


def test_as_list_needs_a_known_rank() -> None:
    assert S([2, None]).as_list() == [2, None]
    with pytest.raises(ValueError, match="as_list"):
        S(None).as_list()


def test_shapes_are_equal_when_all_sizes_are_known_and_the_same() -> None:
    assert S([2, 3]) == S([2, 3])
    assert S([2, 3]) == [2, 3]
    assert S([2]) == (D(2),)
    assert S(None) == S(None)
    assert S([None]) != S([2])
    for other in ("junk", object()):
        assert S([2]) != other
        assert operator.eq(S([2]), other) is False
    for wrong in ([-1], [1.5]):
        with pytest.raises(ValueError, match=r"Dimension -1 must be|Ambiguous dimension"):
            operator.eq(S([2]), wrong)
    assert len({S([2, 3]), S([2, 3]), S(None), S(None)}) == 2


def test_an_unknown_size_is_equal_to_itself_only() -> None:
    shape, twin = S([None, None, 3]), S([None, None, 3])
    assert shape == shape
    assert shape[1:] == shape[1:]
    assert S(shape) == shape
    assert copy.copy(shape) == shape
    assert shape.dims == list(shape)
    for a, b in ((shape, twin), (shape, [None, None, 3]), (shape[1:], twin[1:]), (shape[1:], shape[:2])):
        assert operator.eq(a, b) is False
        assert operator.ne(a, b) is True
        assert list(a) != list(S(b))
    assert shape[2:] == twin[2:]


def test_the_inequality_of_unknown_ranks_is_an_error() -> None:
    for a, b in ((S(None), S(None)), (S(None), [2]), (S([2]), None)):
        with pytest.raises(ValueError, match="inequality of unknown TensorShapes is undefined"):
            operator.ne(a, b)


def test_code_inside_compares_what_is_known() -> None:
    same = shapes.same_sizes
    assert same(S([2, None]), S([2, None]))
    assert same(S(None), S(None))
    assert same(None, None)
    for a, b in ((S([2, None]), S([2, 3])), (S(None), S([])), (S(None), None)):
        assert not same(a, b)
        assert not same(b, a)


# ---- TensorShape: two shapes


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        ([2, None], [None, 3], (2, 3)),
        ([None], [None], (None,)),
        (None, [3], (3,)),
        ([3], None, (3,)),
        (None, None, None),
    ],
)
def test_compatible_shapes_merge(a: Any, b: Any, merged: Any) -> None:
    assert S(a).is_compatible_with(b)
    S(a).assert_is_compatible_with(b)
    assert S(a).merge_with(b).tuple == merged


@pytest.mark.parametrize(("a", "b"), [([2], [3]), ([2], [2, 3]), ([], [1]), ([None, 2], [4, 3])])
def test_contradicting_shapes_are_both_named(a: Any, b: Any) -> None:
    assert not S(a).is_compatible_with(b)
    for method in (S(a).merge_with, S(a).assert_is_compatible_with):
        with pytest.raises(ValueError, match="compatible") as raised:
            method(b)
        assert str(S(a)) in str(raised.value)
        assert str(S(b)) in str(raised.value)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([2, 3], [2, 4], (2, None)),
        ([2, None], [2, None], (2, None)),
        ([None], [3], (None,)),
        ([2, 3], [2], None),
        (None, [2], None),
        ([], [], ()),
    ],
)
def test_the_most_specific_compatible_shape_keeps_what_agrees(a: Any, b: Any, expected: Any) -> None:
    assert S(a).most_specific_compatible_shape(b).tuple == expected


def test_shapes_concatenate_with_anything_that_is_a_shape() -> None:
    assert S([2]).concatenate([3]).tuple == (2, 3)
    assert operator.add(S([2]), [3, None]).tuple == (2, 3, None)
    assert operator.add([1], S([2])).tuple == (1, 2)
    assert (S([2]) + S([3])).tuple == (2, 3)
    assert S([2]).concatenate(None).tuple is None
    assert S(None).concatenate(3).tuple is None
    with pytest.raises(ValueError, match=r"Ambiguous dimension: 1\.5"):
        S([2]) + 1.5


def test_ranks_are_checked_when_both_are_known() -> None:
    S([2]).assert_same_rank(None)
    S([2]).assert_same_rank([None])
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(2, 3\) must have the same rank"):
        S([2]).assert_same_rank([2, 3])
    S(None).assert_has_rank(2)
    with pytest.raises(ValueError, match=r"Shape must be rank 2 but is rank 1: Shape \(2,\) must have rank 2"):
        S([2]).assert_has_rank(2)


def test_with_rank_fills_in_an_unknown_rank_only() -> None:
    assert S(None).with_rank(2).tuple == (None, None)
    shape = S([2, 3])
    assert shape.with_rank(2) is shape
    assert shape.with_rank_at_least(2) is shape
    assert shape.with_rank_at_most(2) is shape
    assert S(None).with_rank_at_least(2).tuple is None
    assert S(None).with_rank_at_most(2).tuple is None
    with pytest.raises(ValueError, match=r"Shape \(2, 3\) must have rank 3"):
        shape.with_rank(3)
    with pytest.raises(
        ValueError, match=r"must be at least rank 3 but is rank 2: Shape \(2, 3\) must have rank at least 3"
    ):
        shape.with_rank_at_least(3)
    with pytest.raises(
        ValueError, match=r"must be at most rank 1 but is rank 2: Shape \(2, 3\) must have rank at most 1"
    ):
        shape.with_rank_at_most(1)


# ---- helpers


def test_helpers_make_the_shapes_they_name() -> None:
    assert shapes.unknown_shape().tuple is None
    assert shapes.unknown_shape(2).tuple == (None, None)
    assert shapes.unknown_shape(rank=0).tuple == ()
    assert shapes.scalar().tuple == ()
    assert shapes.vector(D(3)).tuple == (3,)
    assert shapes.matrix(3, None).tuple == (3, None)
    assert shape_of((2, None)).tuple == (2, None)
    shape = S([2])
    assert shapes.as_shape(shape) is shape
    assert shapes.as_shape([2]) == shape
    dimension = D(2)
    assert shapes.as_dimension(dimension) is dimension
    assert shapes.as_dimension(2).value == 2
    assert [shapes.dimension_value(v) for v in (D(3), D(None), 4, None)] == [3, None, 4, None]
    assert shapes.dimension_at_index(S([5]), 0).value == 5


BROADCASTS = [
    ([2, 3], [2, 3], (2, 3)),
    ([2, 3], [3], (2, 3)),
    ([2, 1], [1, 3], (2, 3)),
    ([], [4, 5], (4, 5)),
    ([0], [1], (0,)),
    ([2, None], [1], (2, None)),
    ([4, None], [3], (4, 3)),
    ([None], [None], (None,)),
    ([None], [1], (None,)),
    ([None], [3], (3,)),
    ([None], [0], (None,)),
    ([None, 1, 3], [5, 3], (None, 5, 3)),
    (None, [3], None),
    (None, None, None),
]


@pytest.mark.parametrize(("a", "b", "expected"), BROADCASTS)
def test_broadcasting_is_symmetric_and_knows_what_it_can(a: Any, b: Any, expected: Any) -> None:
    assert broadcast_shape(S(a), S(b)).tuple == expected
    assert broadcast_shape(S(b), S(a)).tuple == expected


def test_broadcasting_agrees_with_numpy_on_every_small_shape() -> None:
    sizes = (0, 1, 2, 3)
    small = [(), *((m,) for m in sizes), *((m, n) for m in sizes for n in sizes)]
    for a in small:
        for b in small:
            try:
                expected: Any = np.broadcast_shapes(a, b)
            except ValueError:
                with pytest.raises(ValueError, match="Incompatible shapes"):
                    broadcast_shape(S(a), S(b))
            else:
                assert broadcast_shape(S(a), S(b)).tuple == expected


@pytest.mark.parametrize(("a", "b"), [([2], [3]), ([2, 3], [3, 3]), ([0], [2]), ([None, 4], [2, 5])])
def test_shapes_that_do_not_broadcast_are_both_named(a: Any, b: Any) -> None:
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting") as raised:
        broadcast_shape(S(a), S(b))
    assert str(S(a)) in str(raised.value)
    assert str(S(b)) in str(raised.value)


def test_merge_dim_joins_sizes_and_says_what_disagrees() -> None:
    assert [merge_dim(*pair, "x") for pair in ((None, None), (None, 3), (3, None), (3, 3), (0, None))] == [
        None,
        3,
        3,
        3,
        0,
    ]
    with pytest.raises(ValueError, match="inner dimensions of a and b are 3 and 4"):
        merge_dim(3, 4, "inner dimensions of a and b")
