"""tf.contrib.framework.nest."""

from __future__ import annotations

import pytest

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
