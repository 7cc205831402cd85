"""What a task does: it owns devices, state and the parts of steps that run on them."""

from penstock.cluster.worker.worker import Worker

__all__ = ["Worker"]
