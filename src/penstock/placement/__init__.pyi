# Written by `python -m penstock.api.generate`.
from penstock.partition.compression import compress_transfers as compress_transfers
from penstock.placement.bounds import lower_bound as lower_bound
from penstock.placement.calibration import Speeds as Speeds
from penstock.placement.choice import Choice as Choice
from penstock.placement.configure import configure as configure
from penstock.placement.cost_model import CostModel as CostModel
from penstock.placement.description import known_machines as known_machines
from penstock.placement.greedy import greedy as greedy
from penstock.placement.hardware import Hardware as Hardware
from penstock.placement.links import Link as Link
from penstock.placement.links import Wire as Wire
from penstock.placement.machines import Host as Host
from penstock.placement.machines import SimulatedDevice as SimulatedDevice
from penstock.placement.simulator import simulate as simulate
from penstock.placement.strategies import best_of as best_of
from penstock.placement.strategies import one_device_each as one_device_each
from penstock.placement.strategies import register_strategy as register_strategy
from penstock.placement.timeline import Timeline as Timeline
from penstock.session.simulation import compare_strategies as compare_strategies
from penstock.session.simulation import predict_step as predict_step
from penstock.session.simulation import simulate_step as simulate_step
from penstock.session.simulation import step_choice as step_choice

__all__ = [
    "compress_transfers", "lower_bound", "Speeds", "Choice", "configure", "CostModel", "known_machines", "greedy",
    "Hardware", "Link", "Wire", "Host", "SimulatedDevice", "simulate", "best_of", "one_device_each",
    "register_strategy", "Timeline", "compare_strategies", "predict_step", "simulate_step", "step_choice"
]
