"""tf.contrib.framework.nest."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import attrs
import pytest

import penstock as tf
from penstock import nest
from penstock.rnn_cell import LSTMStateTuple


def test_a_nest_is_taken_apart_and_put_together() -> None:
    structure = {"b": [1, (2, 3)], "a": LSTMStateTuple(4, 5)}
    assert nest.flatten(structure) == [4, 5, 1, 2, 3]
    assert nest.pack_sequence_as(structure, [4, 5, 1, 2, 3]) == structure
    assert nest.map_structure(lambda x: -x, structure)["a"] == LSTMStateTuple(-4, -5)
    with pytest.raises(TypeError, match="sequence"):
        nest.pack_sequence_as([1], 1)


def test_structures_are_compared_by_form_and_by_type() -> None:
    nest.assert_same_structure([1, (2,)], [3, (4,)])
    nest.assert_same_structure([1, 2], (3, 4), check_types=False)
    with pytest.raises(TypeError, match="type"):
        nest.assert_same_structure([1, 2], (3, 4))
    with pytest.raises(ValueError, match="number"):
        nest.assert_same_structure([1, 2], [3])


def test_a_nest_is_flattened_and_mapped_as_deep_as_a_shallow_one() -> None:
    shallow, deep = LSTMStateTuple(0, {"b": 1, "a": 2}), LSTMStateTuple([3, 4], {"b": (5,), "a": 6})
    assert nest.flatten_up_to(shallow, deep) == [[3, 4], 6, (5,)]
    assert nest.flatten_up_to(0, deep) == [deep]
    mapped = nest.map_structure_up_to(shallow, lambda x, y: (x, y), shallow, deep)
    assert mapped == LSTMStateTuple((0, [3, 4]), {"b": (1, (5,)), "a": (2, 6)})
    assert nest.flatten_up_to([0, 0], (1, [2]), check_types=False) == [1, [2]]
    for wrong, error in {((1, 2), (3,)): ValueError, ((1,), 3): TypeError}.items():
        with pytest.raises(error):
            nest.assert_shallow_structure(*wrong)
    with pytest.raises(ValueError, match="keys"):
        nest.assert_shallow_structure({"a": 1}, {"b": 2})
    with pytest.raises(TypeError, match="type"):
        nest.assert_shallow_structure([1], (2,))


def test_leaves_come_with_their_paths() -> None:
    structure = {"b": [1, LSTMStateTuple(2, 3)], "a": 4}
    assert nest.flatten_with_joined_string_paths(structure) == [("a", 4), ("b/0", 1), ("b/1/c", 2), ("b/1/h", 3)]
    assert nest.flatten_with_tuple_paths(structure)[2] == (("b", 1, "c"), 2)
    assert nest.map_structure_with_paths(lambda path, x: f"{path}={x}", [5, (6,)]) == ["0=5", ("1/0=6",)]


def test_nests_of_keys_are_flattened_with_their_values() -> None:
    assert nest.flatten_dict_items({1: 2, (3, (4,)): (5, (6,))}) == {1: 2, 3: 5, 4: 6}
    with pytest.raises(ValueError, match="unique"):
        nest.flatten_dict_items({1: 2, (1,): (3,)})


@attrs.define
class Sized:
    late: Any
    early: Any


class Many(list[int]):
    """A list of a class of its own."""


@pytest.mark.parametrize(
    "structure",
    [
        deque([1, 2]),
        Many([1, 2]),
        OrderedDict([("b", 2), ("a", 1)]),
        defaultdict(int, {"b": 2, "a": 1}),
        Sized(1, 2),
    ],
)
def test_a_nest_keeps_the_classes_that_it_is_made_of(structure: Any) -> None:
    """TensorFlow 2.21 takes the same for nests, in the same order."""
    assert nest.flatten(structure) == [1, 2]
    packed = nest.pack_sequence_as(structure, [1, 2])
    assert type(packed) is type(structure) and packed == structure
    mapped = nest.map_structure(lambda x, y: x + y, structure, structure)
    assert type(mapped) is type(structure) and nest.flatten(mapped) == [2, 4]


def test_types_are_compared_as_tensorflow_compares_them() -> None:
    nest.assert_same_structure({"a": 1}, OrderedDict(a=1))
    nest.assert_same_structure([1], Many([1]))
    nest.assert_same_structure(namedtuple("P", "x")(1), namedtuple("P", "x")(2))
    with pytest.raises(TypeError, match="type"):
        nest.assert_same_structure(namedtuple("P", "x")(1), namedtuple("Q", "x")(2))
    with pytest.raises(ValueError, match="keys"):
        nest.assert_same_structure({"a": 1}, {"b": 1})
    with pytest.raises(TypeError, match="type"):
        nest.map_structure(lambda x, y: x, [1], (1,))
    assert nest.map_structure(lambda x, y: (x, y), [1], (2,), check_types=False) == [(1, 2)]
    with pytest.raises(ValueError, match="at least one"):
        nest.map_structure(str)


def test_a_loop_takes_lists_for_tuples_but_no_other_keys() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        start = {"a": (1, 2), "n": 0}
        found = tf.while_loop(lambda s: s["n"] < 3, lambda s: {"a": [s["a"][1], s["a"][0]], "n": s["n"] + 1}, [start])
        assert session.run(found) == {"a": [2, 1], "n": 3}
        with pytest.raises(ValueError, match="keys"):
            tf.while_loop(lambda s: s["n"] < 3, lambda s: {"a": s["a"], "m": s["n"]}, [start])
