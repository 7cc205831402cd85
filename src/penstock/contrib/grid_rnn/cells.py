"""Grids of one to three dimensions: the inputs and the output are the first's, which comes last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib.grid_rnn.grid import GridRNNCell
from penstock.export import export
from penstock.rnn.base import RNNCell
from penstock.rnn.cells import BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell


def _basic_lstm(forget_bias: float) -> Callable[[int], BasicLSTMCell]:
    return lambda num_units: BasicLSTMCell(num_units, forget_bias)


def _lstm(use_peepholes: bool, forget_bias: float) -> Callable[[int], LSTMCell]:
    return lambda num_units: LSTMCell(num_units, use_peepholes, forget_bias=forget_bias)


class _Grid1(GridRNNCell):
    """One dimension."""

    def _set(self, num_units: int, cell_fn: Callable[[int], Any], state_is_tuple: bool, output_is_tuple: bool) -> None:
        GridRNNCell.__init__(
            self, num_units, 1, 0, 0, 0, cell_fn=cell_fn, state_is_tuple=state_is_tuple, output_is_tuple=output_is_tuple
        )


class _Grid(GridRNNCell):
    """Several dimensions, of which the first has no state if there is a `non_recurrent_fn`."""

    num_dims = 2

    def _set(
        self,
        num_units: int,
        tied: bool,
        non_recurrent_fn: Callable[[Any], Any] | None,
        cell_fn: Callable[[int], Any],
        state_is_tuple: bool,
        output_is_tuple: bool,
    ) -> None:
        flat = None if non_recurrent_fn is None else 0
        GridRNNCell.__init__(
            self, num_units, self.num_dims, 0, 0, 0, flat, tied, cell_fn, non_recurrent_fn, state_is_tuple,
            output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid1BasicRNNCell")
class Grid1BasicRNNCell(_Grid1):
    """One dimension, of a BasicRNNCell."""

    def __init__(self, num_units: int, state_is_tuple: bool = True, output_is_tuple: bool = True) -> None:
        self._set(num_units, BasicRNNCell, state_is_tuple, output_is_tuple)


@export("contrib.grid_rnn.Grid1BasicLSTMCell")
class Grid1BasicLSTMCell(_Grid1):
    """One dimension, of a BasicLSTMCell."""

    def __init__(
        self, num_units: int, forget_bias: float = 1, state_is_tuple: bool = True, output_is_tuple: bool = True
    ) -> None:
        self._set(num_units, _basic_lstm(forget_bias), state_is_tuple, output_is_tuple)


@export("contrib.grid_rnn.Grid1LSTMCell")
class Grid1LSTMCell(_Grid1):
    """One dimension, of an LSTMCell."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:
        self._set(num_units, _lstm(use_peepholes, forget_bias), state_is_tuple, output_is_tuple)


class _Grid2(_Grid):
    """Two dimensions, of cells that take nothing but their size."""

    cell_type: type[RNNCell]

    def __init__(
        self,
        num_units: int,
        tied: bool = False,
        non_recurrent_fn: Callable[[Any], Any] | None = None,
        state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:
        self._set(num_units, tied, non_recurrent_fn, self.cell_type, state_is_tuple, output_is_tuple)


@export("contrib.grid_rnn.Grid2BasicRNNCell")
class Grid2BasicRNNCell(_Grid2):
    """Two dimensions, of BasicRNNCells."""

    cell_type = BasicRNNCell


@export("contrib.grid_rnn.Grid2GRUCell")
class Grid2GRUCell(_Grid2):
    """Two dimensions, of GRUCells."""

    cell_type = GRUCell


@export("contrib.grid_rnn.Grid2BasicLSTMCell")
class Grid2BasicLSTMCell(_Grid):
    """Two dimensions, of BasicLSTMCells."""

    def __init__(
        self,
        num_units: int,
        tied: bool = False,
        non_recurrent_fn: Callable[[Any], Any] | None = None,
        forget_bias: float = 1,
        state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:
        self._set(num_units, tied, non_recurrent_fn, _basic_lstm(forget_bias), state_is_tuple, output_is_tuple)


@export("contrib.grid_rnn.Grid2LSTMCell")
class Grid2LSTMCell(_Grid):
    """Two dimensions, of LSTMCells."""

    def __init__(
        self,
        num_units: int,
        tied: bool = False,
        non_recurrent_fn: Callable[[Any], Any] | None = None,
        use_peepholes: bool = False,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:
        self._set(num_units, tied, non_recurrent_fn, _lstm(use_peepholes, forget_bias), state_is_tuple, output_is_tuple)


@export("contrib.grid_rnn.Grid3LSTMCell")
class Grid3LSTMCell(Grid2LSTMCell):
    """Three dimensions, of LSTMCells."""

    num_dims = 3
