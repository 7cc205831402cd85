"""PLACE: which device each node runs on (white paper sections 3.2.1 and 4.3).

As `tf.placement`: `configure` a session's strategy, `register_strategy` one of your own, `simulate_step` on real or
imagined `Hardware`, `compare_strategies`, `compress_transfers` of one tensor.
"""

from penstock.partition.compression import compress_transfers as compress_transfers
from penstock.placement.configure import configure as configure
from penstock.placement.cost_model import CostModel as CostModel
from penstock.placement.hardware import Hardware as Hardware, Link as Link, SimulatedDevice as SimulatedDevice
from penstock.placement.simulator import Timeline as Timeline, simulate as simulate
from penstock.placement.strategies import Choice as Choice, register_strategy as register_strategy
from penstock.session.simulation import (
    compare_strategies as compare_strategies,
    simulate_step as simulate_step,
    step_choice as step_choice,
)
