"""Whole small steps in C: which nodes become one function (`regions.py`), and what each becomes (`emit.py`)."""

from __future__ import annotations

from penstock.codegen.regions import (
    ops_convolutions as ops_convolutions,
    ops_gathers as ops_gathers,
    ops_moves as ops_moves,
    ops_pools as ops_pools,
    ops_products as ops_products,
    ops_reductions as ops_reductions,
    ops_scans as ops_scans,
    ops_scatters as ops_scatters,
    ops_slices as ops_slices,
    ops_softmax as ops_softmax,
    ops_updates as ops_updates,
)
